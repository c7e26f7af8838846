"""Pictures of counterfactuals, after the paper's figures. Needs matplotlib (extra ``plot``).

Every picture can be read without colour: line styles, markers and shading show the same as the colours do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Continuous, Counterfactual, Feature, Features, InvalidInputError
from ntdcfe.problem.space import stand_ins
from ntdcfe.problem.units import units_of
from ntdcfe_plugins._shared.changes import cells
from ntdcfe_plugins._shared.drawing import (
    COLOURS,
    MARKERS,
    STYLES,
    draw_lanes,
    draw_points,
    lane_label,
    lane_scales,
    line_look,
    plain_ticks,
    pyplot,
    shade_steps,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# More lanes than this are too thin to read.
MOST_FEATURES = 6


def plot_counterfactual(cf: Counterfactual, title: str | None = None, max_features: int = MOST_FEATURES) -> Figure:
    """The changes: four panels for a series, as in the paper, or one for static data.

    For a series the panels have the original, the counterfactual, and the changed features of both, with the
    changed spans shaded; each changed feature has a lane in its own scale. For static data the panel has the
    value of each changed feature before and after.

    Parameters
    ----------
    cf : Counterfactual
        One that was found.
    title : str, optional
        Stands above the panels.
    max_features : int
        Most changed features drawn in detail, those with the largest changes.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if cf.x is None:
        raise InvalidInputError(f"there is nothing to draw: no counterfactual was found ({cf.status}).")
    if max_features < 1:
        raise InvalidInputError(f"max_features must be at least 1, got {max_features!r}.")
    before, after = (cf.features.encode(np.atleast_2d(x)) for x in (cf.original, cf.x))
    gaps = np.isnan(before)
    units = units_of(stand_ins(before, gaps), cf.features, gaps)
    size = np.nansum(np.abs(after - before) / units, axis=0)  # (F,)
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    draw, what = (_static, "features") if cf.x.ndim == 1 else (_four_panels, "cells")
    heading = title or f"{cf.sparsity} {what if cf.sparsity != 1 else what[:-1]} changed, proximity {cf.proximity:.3g}"
    return draw(cf, before, after, order, max_features, heading)


def _four_panels(
    cf: Counterfactual,
    before: NDArray[Any],
    after: NDArray[Any],
    changed: NDArray[np.intp],
    max_features: int,
    title: str,
) -> Figure:
    plt = pyplot()
    detail = changed[:max_features]
    lanes = max(len(detail), 1)
    figure, axes = plt.subplots(
        2, 2, figsize=(10, 4.2 + 0.55 * lanes), sharex=True, sharey="row", layout="constrained",
        height_ratios=(2.6, 0.6 + 0.7 * lanes),
    )  # fmt: skip
    quiet = np.setdiff1d(np.arange(before.shape[1]), detail)
    spans = _differs(before, after)
    for axis, values in zip(axes[0], (before, after), strict=True):
        axis.plot(values[:, quiet], color="0.75", linewidth=0.7, zorder=1)
        for rank, i in enumerate(detail):
            axis.plot(values[:, i], label=cf.features.names[i], zorder=3, **line_look(rank))
        shade_steps(axis, spans)
        tidy(axis)
    axes[0, 0].set_title(f"original: the model says {_show(cf.present)}", fontsize=10)
    axes[0, 1].set_title(f"counterfactual: the model says {_show(cf.prediction)}", fontsize=10)
    axes[0, 0].set_ylabel("value, all features")
    scales = lane_scales((before, after), detail)
    draw_lanes(axes[1, 0], before, None, spans, detail, scales)
    draw_lanes(axes[1, 1], after, before, spans, detail, scales)
    axes[1, 0].set_yticks(-np.arange(len(detail)), [lane_label(cf.features.names[i], scales[i]) for i in detail])
    some = f"; the largest {len(detail)}" if len(detail) < len(changed) else ""
    axes[1, 0].set_title(f"changed features, before ({len(changed)} of {before.shape[1]}{some})", fontsize=10)
    axes[1, 1].set_title("changed features, after (grey: before)", fontsize=10)
    for axis in axes[1]:
        axis.set_xlabel("time step")
    figure.suptitle(title, fontsize=11)
    return figure


def _differs(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells ``(K, F)`` changed; a gap is no change."""
    return (before != after) & ~np.isnan(before)


def _static(
    cf: Counterfactual,
    before: NDArray[Any],
    after: NDArray[Any],
    changed: NDArray[np.intp],
    max_features: int,
    title: str,
) -> Figure:
    """One track for each changed feature: its value before and after, and the other values that it could take."""
    plt = pyplot()
    shown = changed[: max(max_features, 12)]
    figure, axis = plt.subplots(figsize=(7, 1.3 + 0.62 * max(len(shown), 1)), layout="constrained")
    for row, i in enumerate(shown):
        feature, (old, new) = cf.features[i], (before[0, i], after[0, i])
        choices = feature.choices
        if choices is not None and len(choices) <= MOST_FEATURES:
            places = {value: rank / max(len(choices) - 1, 1) for rank, value in enumerate(choices)}
            start, end = places[old], places[new]
            for value, place in places.items():
                axis.plot(place, row, marker="|", color="0.6", markersize=9, zorder=1)
                if value not in (old, new):
                    axis.text(place, row + 0.2, feature.describe(value), ha="center", va="top", fontsize=8, color="0.5")
        else:
            low, high = _track(feature, old, new)
            start, end = (old - low) / (high - low), (new - low) / (high - low)
            for place, value in ((0, low), (1, high)):
                if abs(place - start) > 0.12:  # else it would run into the old value
                    axis.text(place, row + 0.2, f"{value:.3g}", ha="center", va="top", fontsize=8, color="0.6")
        axis.plot([0, 1], [row, row], color="0.8", linewidth=2.5, zorder=0, solid_capstyle="round")
        axis.annotate("", (end, row), (start, row), arrowprops={"arrowstyle": "-|>", "color": COLOURS[0], "lw": 1.8,
                                                               "shrinkA": 4, "shrinkB": 4})  # fmt: skip
        axis.plot(start, row, marker="o", markerfacecolor="white", color="0.25", markersize=8, zorder=3)
        axis.plot(end, row, marker="D", color=COLOURS[0], markersize=7, zorder=3)
        axis.text(start, row + 0.2, feature.describe(old), ha="center", va="top", fontsize=9, color="0.25")
        axis.text(end, row - 0.2, feature.describe(new), ha="center", va="bottom", fontsize=9, weight="bold")
    axis.set_yticks(range(len(shown)), [textwrap.fill(cf.features.names[i], 28) for i in shown], fontsize=10)
    axis.set(xlim=(-0.08, 1.08), ylim=(max(len(shown), 1) - 0.35, -0.65), xticks=[])
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    axis.set_title(f"{title}\nthe model says {_show(cf.present)}, then {_show(cf.prediction)}", fontsize=10)
    rest = [f"{len(before[0]) - len(changed)} of {len(before[0])} features unchanged"]
    rest += [f"{len(changed) - len(shown)} smaller changes not shown"] if len(shown) < len(changed) else []
    axis.set_xlabel(f"○ before   ◆ after   ({'; '.join(rest)})", fontsize=9, color="0.3")
    return figure


def _track(feature: Feature, old: float, new: float) -> tuple[float, float]:
    """The ends of the track of a number: its bounds if they are near enough, else some way around the change."""
    reach = 1.5 * abs(new - old)
    low, high = min(old, new) - reach, max(old, new) + reach
    if isinstance(feature, Continuous):
        near = 8 * reach  # a bound far away would squeeze the change to a point
        bottom, top = feature.limits
        low = bottom if low - near <= bottom <= min(old, new) else low
        high = top if max(old, new) <= top <= high + near else high
    return low, high


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
        axes[1].plot(
            [rows[-1], cf.rows], [best[-1], cf.proximity], color="0.45", linestyle=":", label="refinement"
        )
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
        figure.suptitle(title, fontsize=11)
    return figure


def plot_tradeoff(table: Sequence[Mapping[str, Any]], title: str | None = None) -> Figure:
    """Proximity against sparsity over methods: nearer to the lower left corner is better.

    Parameters
    ----------
    table : sequence of mappings
        One for each method and instance, with ``method``, ``success``, ``l1`` and ``sparsity``, such as
        the rows of :func:`ntdcfe_plugins.compare.compare`.
    title : str, optional

    Notes
    -----
    Small points are instances, large ones the means of a method over its successes. A hollow mean
    stands for a method that failed on some of them, so its mean is over the easier ones.
    """
    plt = pyplot()
    methods = list(dict.fromkeys(row["method"] for row in table))
    figure, axis = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
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
            axis.plot([], [], markerfacecolor="white", label=f"{method} (0%)", **look)
            continue
        x, y = np.array([(row["sparsity"], row["l1"]) for row in good], dtype=float).T
        axis.plot(x, y, alpha=0.35, markersize=4, zorder=2, **look)
        look |= {"markersize": 11, "markeredgewidth": 1.6, "zorder": 4}
        face = look["color"] if share == 100 else "white"
        axis.plot(x.mean(), y.mean(), markerfacecolor=face, label=f"{method} ({share:.0f}%)", **look)
    if any(row["success"] and min(row["sparsity"], row["l1"]) > 0 for row in table):
        axis.set(xscale="log", yscale="log")
        plain_ticks(axis.xaxis, axis.yaxis)
    axis.set(xlabel="sparsity: changed cells (fewer is better)", ylabel="proximity: L1 (nearer is better)")
    figure.legend(
        title="method (success)", fontsize=9, title_fontsize=9, loc="outside right center", frameon=False,
        markerscale=0.75, alignment="left",
    )  # fmt: skip
    if title:
        axis.set_title(title, fontsize=11)
    tidy(axis)
    axis.margins(0.06)
    axis.grid(True, which="minor", color="0.95", linewidth=0.5)
    return figure


def plot_methods(
    original: NDArray[Any],
    counterfactuals: Mapping[str, NDArray[Any] | None],
    features: Features | None = None,
    title: str | None = None,
    max_features: int = MOST_FEATURES,
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
    """
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
    columns = min(len(after), 3)
    lines = -(-len(after) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.4 * columns + 0.8, lines * (0.9 + 0.42 * len(shown))), sharex=True, sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    draw = draw_points if np.ndim(original) == 1 else draw_lanes
    for axis, (method, x) in zip(axes.flat, after.items(), strict=False):
        if x is None:
            axis.set_title(f"{method}\nnone found", fontsize=10, color="0.35")
            draw(axis, before, None, np.zeros_like(before, dtype=bool), shown, scales)
        else:
            size, changed = cells(before, x, features)
            axis.set_title(f"{method}\nL1 {size.sum():.3g}, {changed.sum()} cells", fontsize=10)
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
        figure.suptitle(title, fontsize=11)
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


def _show(outcome: Any) -> str:
    return f"{outcome:.4g}" if isinstance(outcome, float) else str(outcome)


