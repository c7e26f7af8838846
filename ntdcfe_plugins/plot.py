"""Pictures of counterfactuals, after the paper's figures. Needs matplotlib (extra ``plot``).

Every picture can be read without colour: line styles, markers and shading show the same as the colours do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Counterfactual, Features, InvalidInputError
from ntdcfe_plugins._shared.answer import answer_of, answers_of
from ntdcfe_plugins._shared.changes import cells
from ntdcfe_plugins._shared.drawing import (
    COLOURS,
    MARKERS,
    STYLES,
    as_text,
    draw_lanes,
    draw_points,
    lane_label,
    lane_scales,
    plain_ticks,
    pyplot,
    tidy,
)
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins._shared.pictures import headings, lanes_picture, options_picture, panels_picture, row_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# More lanes than this are too thin to read.
MOST_FEATURES = 6
# Lines of a row of a table are not as high.
MOST_LINES = 12


@silent()
def plot_counterfactual(
    cf: Counterfactual,
    title: str | None = None,
    max_features: int = MOST_FEATURES,
    option: str | None = None,
    units: Mapping[str, str] | None = None,
    words: bool = True,
) -> Figure:
    """What would have to change.

    For a series one lane for each edit: before in grey, after in colour, the window shaded, the level or the shift
    drawn, and the sentence above it. An answer without edits, searched for cell by cell, has four panels as in the
    paper: the original, the counterfactual, and the changed features of both. For static data there is one line
    for each changed feature, from value to value.

    Parameters
    ----------
    cf : Counterfactual
        One that was found.
    title : str, optional
        Stands above the panels.
    max_features : int
        Most lanes, or changed features drawn in detail; those with the largest changes where there are no edits.
    option : {"simplest", "nearest", "sturdiest"}, optional
        Which of the options is drawn; the answer itself if not given.
    units : mapping of str to str, optional
        From a feature's name to the unit that stands behind its values, for static data.
    words : bool
        Whether the decision, the survival, the costs and what has to be said beside them stand above the lanes; for
        pages that say so themselves.

    Returns
    -------
    matplotlib.figure.Figure
    """
    answer = answer_of(cf, option)
    if max_features < 1:
        raise InvalidInputError(f"max_features must be at least 1, got {max_features!r}.")
    heading = headings(cf, answer, title, cf.target if option else None) if words else [title] if title else []
    if len(answer.before) == 1:
        return row_picture(answer, heading, max(max_features, MOST_LINES), units or {})
    if answer.edits:
        return lanes_picture(answer, heading, max_features)
    return panels_picture(cf, answer, title, max_features)


@silent()
def plot_options(
    cf: Counterfactual,
    title: str | None = None,
    max_features: int = MOST_FEATURES,
    units: Mapping[str, str] | None = None,
) -> Figure:
    """The options of a search side by side.

    Of series there is one column of lanes for each, below a picture of how much has to be changed against how far.
    Of a row of a table there is one line for each changed feature and one column for each option.

    Parameters
    ----------
    cf : Counterfactual
        One with options.
    title : str, optional
    max_features : int
        Most changed features drawn of each option.
    units : mapping of str to str, optional
        From a feature's name to the unit that stands behind its values, for static data.

    Notes
    -----
    An option without edits is counted by its runs of changed cells: each of them would have to be said.
    """
    if not cf.options:
        raise InvalidInputError(f"there is nothing to draw: the search has no options ({cf.status}).")
    return options_picture(cf, answers_of(cf), title, max_features, units or {})


def _differs(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells ``(K, F)`` changed; a gap is no change."""
    return (before != after) & ~np.isnan(before)


@silent()
def plot_learning(cf: Counterfactual, title: str | None = None) -> Figure:
    """The learning curve: share of successful episodes and the best proximity against the rows asked.

    The last point of the best proximity is the answer, after refinement.

    Parameters
    ----------
    cf : Counterfactual
        With a `history`: of a search that played episodes.
    title : str, optional
    """
    if not cf.history:
        raise InvalidInputError(f"there is nothing to draw: the search has no history ({cf.status}).")
    plt = pyplot()
    rows = [update.rows for update in cf.history]
    share = [100 * update.success_share for update in cf.history]
    best = [update.best_proximity for update in cf.history]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    axes[0].plot(rows, share, color=COLOURS[0], marker=MARKERS[0], markersize=4)
    axes[0].set(ylabel="successful episodes, %", ylim=(-3, 103), title="episodes that reach the target")
    axes[1].plot(rows, best, color=COLOURS[1], linestyle=STYLES[1], marker=MARKERS[1], markersize=4, label="episodes")
    if cf.x is not None and cf.rows > rows[-1]:
        axes[1].plot([rows[-1], cf.rows], [best[-1], cf.proximity], color="0.45", linestyle=":", label="refinement")
        axes[1].plot(cf.rows, cf.proximity, color="black", marker=MARKERS[6], markersize=11, linestyle="none",
                     label="answer")  # fmt: skip
    if np.isfinite(best).any():
        axes[1].set_yscale("log")
        plain_ticks(axes[1].yaxis)
        axes[1].legend(fontsize=9, frameon=False)
    axes[1].set(ylabel="best proximity (L1)", title="best counterfactual so far (by its cost)")
    for axis in axes:
        axis.set_xlabel("rows sent to the model")
        axis.title.set_fontsize(10)
        tidy(axis)
        axis.margins(x=0.04)
    if title:
        figure.suptitle(as_text(title), fontsize=11)
    return figure


@silent()
def plot_tradeoff(table: Sequence[Mapping[str, Any]], title: str | None = None, narrow: bool = False) -> Figure:
    """Proximity against sparsity over methods: nearer to the lower left corner is better.

    Parameters
    ----------
    table : sequence of mappings
        One for each method and instance, with ``method``, ``success``, ``l1`` and ``sparsity``, such as
        the rows of :func:`ntdcfe_plugins.compare.compare`.
    title : str, optional
    narrow : bool
        For a phone: the legend stands below.

    Notes
    -----
    Small points are instances, large ones the means of a method over its successes. A hollow mean
    stands for a method that failed on some of them, so its mean is over the easier ones.
    """
    plt = pyplot()
    methods = list(dict.fromkeys(row["method"] for row in table))
    height = 3.6 + 0.22 * -(-len(methods) // 2) if narrow else 4.4
    figure, axis = plt.subplots(figsize=(4.2, height) if narrow else (7.2, 4.4), layout="constrained")
    for rank, method in enumerate(methods):
        rows = [row for row in table if row["method"] == method]
        good = [row for row in rows if row["success"]]
        look: dict[str, Any] = {
            "color": COLOURS[rank % len(COLOURS)],
            "marker": MARKERS[rank % len(MARKERS)],
            "linestyle": "none",
        }
        share = 100 * len(good) / len(rows)
        if not good:
            axis.plot([], [], markerfacecolor="white", label=as_text(f"{method} (0%)"), **look)
            continue
        x, y = np.array([(row["sparsity"], row["l1"]) for row in good], dtype=float).T
        axis.plot(x, y, alpha=0.35, markersize=4, zorder=2, **look)
        look |= {"markersize": 11, "markeredgewidth": 1.6, "zorder": 4}
        face = look["color"] if share == 100 else "white"
        axis.plot(x.mean(), y.mean(), markerfacecolor=face, label=as_text(f"{method} ({share:.0f}%)"), **look)
    if any(row["success"] and min(row["sparsity"], row["l1"]) > 0 for row in table):
        axis.set(xscale="log", yscale="log")
        plain_ticks(axis.xaxis, axis.yaxis)
    axis.set(xlabel="sparsity: changed cells (fewer is better)", ylabel="proximity: L1 (nearer is better)")
    figure.legend(
        title="method (success)", fontsize=9, title_fontsize=9, frameon=False, markerscale=0.75, alignment="left",
        loc="outside lower left" if narrow else "outside right center", ncols=2 if narrow else 1,
    )  # fmt: skip
    if title:
        axis.set_title(as_text(title), fontsize=11)
    tidy(axis)
    axis.margins(0.06)
    axis.grid(True, which="minor", color="0.95", linewidth=0.5)
    return figure


@silent()
def plot_methods(
    original: NDArray[Any],
    counterfactuals: Mapping[str, NDArray[Any] | None],
    features: Features | None = None,
    title: str | None = None,
    max_features: int = MOST_FEATURES,
    columns: int = 3,
) -> Figure:
    """One instance as several methods change it: one panel for each method, with the same lanes and scales.

    Parameters
    ----------
    original : array (K, D), or (D,) for static data
    counterfactuals : mapping
        From a method's name to its counterfactual, of the same shape, or None.
    features : Features, optional
        For the names of columns.
    title : str, optional
    max_features : int
        Most columns drawn: those that most methods change, then those that change most.
    columns : int
        Most panels beside each other; 1 for a phone.
    """
    if columns < 1:
        raise InvalidInputError(f"columns must be at least 1, got {columns!r}.")
    plt = pyplot()
    before = np.atleast_2d(np.asarray(original, dtype=float))
    after = {name: None if x is None else np.atleast_2d(np.asarray(x, float)) for name, x in counterfactuals.items()}
    found = [x for x in after.values() if x is not None]
    names = _column_names(before.shape[1], features)
    votes = sum((_differs(before, x).any(0).astype(float) for x in found), np.zeros(before.shape[1]))
    known = np.nan_to_num(np.concatenate([before, *found]))
    spread = np.ptp(known, axis=0)
    moved = sum((np.nansum(np.abs(x - before), 0) for x in found), np.zeros(before.shape[1]))
    moved /= np.where(spread, spread, 1.0)
    shown = np.sort(np.lexsort((-moved, -votes))[: min(max_features, max(np.count_nonzero(votes), 1))])
    scales = lane_scales([before, *found], shown)
    columns = min(len(after), columns)
    lines = -(-len(after) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.4 * columns + 0.8, lines * (0.9 + 0.42 * len(shown))), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    draw = draw_points if np.ndim(original) == 1 else draw_lanes
    for axis, (method, x) in zip(axes.flat, after.items(), strict=False):
        if x is None:
            axis.set_title(f"{as_text(method)}\nnone found", fontsize=10, color="0.35")
            draw(axis, before, None, np.zeros_like(before, dtype=bool), shown, scales)
        else:
            size, changed = cells(before, x, features)
            axis.set_title(f"{as_text(method)}\nL1 {size.sum():.3g}, {changed.sum()} cells", fontsize=10)
            draw(axis, x, before, cells(before, x, None)[1], shown, scales)
    for axis in axes.flat[len(after) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_yticks(-np.arange(len(shown)), [lane_label(names[i], scales[i]) for i in shown])
    if np.ndim(original) == 2:
        for axis in axes[-1]:
            axis.set_xlabel("time step")
    else:
        figure.supxlabel("○ before   ◆ after; each feature from its least to its greatest value here", fontsize=9)
    if title:
        figure.suptitle(as_text(title), fontsize=11)
    return figure


def _column_names(n: int, features: Features | None) -> list[str]:
    """One name for each column of the model; those of one-hot columns include the category."""
    if features is None:
        return [f"feature {i}" for i in range(n)]
    return [
        name if feature.n_columns == 1 else f"{name} = {feature.describe(j)}"
        for name, feature in zip(features.names, features, strict=True)
        for j in range(feature.n_columns)
    ]
