"""The pictures of one counterfactual: lanes of edits, lines of a row, the paper's four panels, the options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ntdcfe import Counterfactual
from ntdcfe.problem.words import outcome_in_words
from ntdcfe_plugins._shared.answer import Answer, Lane, cost_in_words
from ntdcfe_plugins._shared.drawing import (
    MARKERS,
    as_text,
    draw_lanes,
    lane_label,
    lane_scales,
    line_look,
    pyplot,
    shade_steps,
    tidy,
)
from ntdcfe_plugins._shared.lanes import draw_lane, step_axis, wrapped
from ntdcfe_plugins._shared.row import draw_row, draw_rows, unchanged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def headings(cf: Counterfactual, answer: Answer, title: str | None, wanted: str | None = None) -> list[str]:
    """What stands above a picture: what is wanted, how sure and how far it is, and what has to be said beside it."""
    lines = [title] if title else []
    if cf.status == "already_target":
        return [*lines, f"Nothing has to change: the model already says {outcome_in_words(cf.prediction)}."]
    if wanted is None:
        wanted = cf.target if cf.prediction is None else outcome_in_words(cf.prediction)
    lines += [f"The model says {outcome_in_words(cf.present)}. For {wanted} instead:"]
    held = [] if answer.survival is None else [str(answer.survival)]
    lines += [" ".join([*held, f"{cost_in_words(answer)}."])]
    return lines + [f"({reservation})" for reservation in cf.reservations()]


def lanes_picture(answer: Answer, heading: Sequence[str], most: int) -> Figure:
    """One lane for each edit."""
    lanes = answer.lanes()
    shown = lanes[:most]
    foot = [f"further: {lane.text}" for lane in lanes[most : most + 2]]
    foot += [f"and {len(lanes) - most - 2} more"] if len(lanes) > most + 2 else []
    foot += [unchanged(answer, 120)]
    lines = sum(max(len(lane.edits), 1) for lane in shown)
    figure, axes = pyplot().subplots(
        len(shown), 1, sharex=True, squeeze=False, layout="constrained",
        figsize=(8.6, 0.6 + 1.3 * len(shown) + 0.2 * (len(heading) + len(foot) + lines)),
    )  # fmt: skip
    for axis, lane in zip(axes[:, 0], shown, strict=True):
        draw_lane(axis, answer, lane)
    step_axis(axes[-1, 0], answer.features, len(answer.before))
    _framed(figure, heading, foot)
    return figure


def row_picture(answer: Answer, heading: Sequence[str], most: int, units: Mapping[str, str]) -> Figure:
    """One line for each changed feature of a row of a table."""
    shown = answer.changed[:most]
    more = len(answer.changed) - len(shown)
    foot = [f"{more} smaller change{'s' * (more != 1)} not shown"] * bool(more) + [unchanged(answer)]
    height = 0.7 + 0.62 * max(len(shown), 1) + 0.2 * (len(heading) + len(foot))
    figure, axis = pyplot().subplots(figsize=(8.6, height), layout="constrained")
    draw_row(axis, answer, shown, units)
    _framed(figure, heading, foot)
    return figure


def _framed(figure: Figure, heading: Sequence[str], foot: Sequence[str]) -> None:
    """The words above and below a picture."""
    if heading:
        figure.suptitle("\n".join(wrapped(line, 110) for line in heading), fontsize=10.5, x=0.01, ha="left")
    figure.supxlabel("\n".join(wrapped(line, 125, 2) for line in foot), fontsize=8.5, color="0.35", x=0.01, ha="left")


def panels_picture(cf: Counterfactual, answer: Answer, title: str | None, most: int) -> Figure:
    """The paper's four panels: all features before and after, then the changed ones, each in its own scale."""
    plt = pyplot()
    before, after, changed = answer.before, answer.after, np.array(answer.changed, np.intp)
    detail = changed[:most]
    lanes = max(len(detail), 1)
    figure, axes = plt.subplots(
        2, 2, figsize=(10, 4.2 + 0.55 * lanes), sharex=True, sharey="row", layout="constrained",
        height_ratios=(2.6, 0.6 + 0.7 * lanes),
    )  # fmt: skip
    quiet = np.setdiff1d(np.arange(before.shape[1]), detail)
    spans = answer.differs
    for axis, values in zip(axes[0], (before, after), strict=True):
        axis.plot(values[:, quiet], color="0.75", linewidth=0.7, zorder=1)
        for rank, i in enumerate(detail):
            axis.plot(values[:, i], label=as_text(cf.features.names[i]), zorder=3, **line_look(rank))
        shade_steps(axis, spans)
        tidy(axis)
    axes[0, 0].set_title(f"original: the model says {as_text(outcome_in_words(cf.present))}", fontsize=10)
    axes[0, 1].set_title(f"counterfactual: the model says {as_text(outcome_in_words(cf.prediction))}", fontsize=10)
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
    heading = [title] if title else [cost_in_words(answer)]
    heading += [] if answer.survival is None else [str(answer.survival)]
    heading += [f"({reservation})" for reservation in cf.reservations()]
    figure.suptitle("\n".join(wrapped(line, 120) for line in heading), fontsize=11)
    return figure


def options_picture(
    cf: Counterfactual, answers: Mapping[str, Answer], title: str | None, most: int, units: Mapping[str, str]
) -> Figure:
    """The answers side by side; of series, what has to be done against how far it is above them."""
    if len(np.atleast_2d(cf.original)) == 1:
        shown = list(dict.fromkeys(i for answer in answers.values() for i in answer.changed))[: 2 * most]
        figure, axis = pyplot().subplots(figsize=(8.6, 2.3 + 0.5 * len(shown)), layout="constrained")
        draw_rows(axis, answers, shown, units)
    else:
        figure = _front_and_lanes(answers, most)
    heading = [*([title] if title else []), f"The model says {outcome_in_words(cf.present)}. For {cf.target} instead:"]
    heading += [f"({reservation})" for reservation in cf.reservations()]
    figure.suptitle("\n".join(wrapped(line, 120) for line in heading), fontsize=11)
    return figure


def _front_and_lanes(answers: Mapping[str, Answer], most: int) -> Figure:
    """What has to be done against how far it is; below it, one column of lanes for each answer."""
    lanes = {name: answer.lanes()[:most] for name, answer in answers.items()}
    places = max(1, *map(len, lanes.values()))
    below = 0.8 + 1.35 * places
    figure = pyplot().figure(figsize=(max(8.6, 4.4 * len(answers)), 3.4 + below), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(3.4, below))
    _front(top.subplots(), answers)
    columns = bottom.subfigures(1, len(answers), squeeze=False)[0]
    for column, (name, answer) in zip(columns, answers.items(), strict=True):
        _column(column, answer, lanes[name], f"{name}\n{cost_in_words(answer)}", places)
    return figure


def _front(axis: Axes, answers: Mapping[str, Answer]) -> None:
    """What has to be done against the distance, the survival as colour."""
    counts = np.array([answer.told for answer in answers.values()], float)
    far = np.array([answer.proximity for answer in answers.values()])
    shares = [np.nan if answer.survival is None else 100 * answer.survival.share for answer in answers.values()]
    colours = _colours()
    for (name, answer), count, y, share, marker in zip(answers.items(), counts, far, shares, MARKERS, strict=False):
        held = "" if np.isnan(share) else f", holds in {share:.0f}%"
        what = "edit" if answer.edits else "run"
        axis.scatter(
            [count], [y], s=110, marker=marker, color="white" if np.isnan(share) else colours.to_rgba(share),
            edgecolors="0.2", zorder=3, alpha=0.9,
            label=f"{name}: {count:.0f} {what}{'' if count == 1 else 's'}, proximity {y:.4g}{held}",
        )  # fmt: skip
    axis.set(xlim=(0, 1.1 * counts.max() + 0.5), ylim=(0, 1.15 * far.max() or 1.0))
    axis.figure.legend(loc="outside upper center", ncols=len(answers), fontsize=8.5, frameon=False, handletextpad=0.2)
    axis.set(xlabel="what has to be done: edits, or runs of changed cells", ylabel="proximity (nearer is better)")
    axis.locator_params(axis="x", integer=True)
    tidy(axis)
    noises = {answer.survival.noise for answer in answers.values() if answer.survival is not None}
    off = f"values off by {100 * max(noises):g}%" if len(noises) == 1 else "values a little off"
    bar = axis.figure.colorbar(colours, ax=axis, pad=0.01)
    bar.set_label(f"holds in % of cases,\n{off}", fontsize=8.5)
    bar.ax.tick_params(labelsize=9)


def _colours() -> Any:
    """From a share in percent to its colour."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(0, 100), "cividis")


def _column(figure: Any, answer: Answer, lanes: Sequence[Lane], heading: str, places: int) -> None:
    """The lanes of one option, below each other, in so many places."""
    axes = figure.subplots(places, 1, sharex=True, squeeze=False)[:, 0]
    for axis, lane in zip(axes, lanes, strict=False):
        draw_lane(axis, answer, lane, width=58, size=8, lines=2)
    for axis in axes[len(lanes) :]:
        axis.set_axis_off()
    last = axes[max(len(lanes) - 1, 0)]
    step_axis(last, answer.features, len(answer.before))
    last.tick_params(labelbottom=True)
    more = len(answer.lanes()) - len(lanes)
    figure.suptitle(heading + (f"; {more} more features" if more else ""), fontsize=9.5)
