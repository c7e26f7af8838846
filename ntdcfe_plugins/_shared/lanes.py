"""Edits drawn as edits: before in grey, after in colour, the window shaded, the level or the shift marked."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Features
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.kinds import BUILT_IN, PLACE
from ntdcfe.problem.words import number_in_words
from ntdcfe_plugins._shared.answer import Answer, Lane
from ntdcfe_plugins._shared.drawing import COLOURS, as_text, runs, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEFORE, AFTER, MARK = "0.6", COLOURS[0], COLOURS[1]
# A listed feature with more values than this has numbers at its axis, not names.
MOST_NAMED = 8
# The limits that stopped an edit, as its sentence names them.
LIMIT = re.compile(r", not (?:above|below) -?[0-9.e+-]*[0-9]")
SIGNS = {"at_least": "≥ ", "at_most": "≤ ", "level": "= "}


def draw_lane(axis: Axes, answer: Answer, lane: Lane, width: int = 100, lines: int = 3, size: float = 9.5) -> None:
    """One lane: the features of some edits before and after, what each edit does, and the sentence above it.

    Parameters
    ----------
    axis : Axes
    answer : Answer
    lane : Lane
    width : int
        Most characters in a line of the sentence.
    lines : int
        Most lines of the sentence.
    size : float
        Of the letters of the sentence, in points.
    """
    features = list(lane.features)
    feature, wide = answer.features[features[0]], len(features) > 1
    before, after = answer.before[:, features], answer.after[:, features]
    look: dict[str, Any] = {"drawstyle": "steps-mid"} if feature.choices is not None else {}
    windows = [(edit.first_step, edit.last_step + 1) for edit in lane.edits]
    for first, stop in windows or runs(answer.differs[:, features].any(1)):
        axis.axvspan(first - 0.5, stop - 0.5, color=AFTER, alpha=0.1, linewidth=0, zorder=0)
    thin: dict[str, Any] = {"linewidth": 0.5, "alpha": 0.4} if wide else {}
    axis.plot(before, color=BEFORE, zorder=2, **{"linewidth": 1.1, **thin, **look})
    shown = answer.differs[:, features]
    for first, stop in windows:
        shown[first:stop] = True
    shown = _near(shown)
    axis.plot(np.where(shown, after, np.nan), color=AFTER, zorder=3, **{"linewidth": 1.8, **thin, **look})
    if wide:  # many thin lines hide how far they move: their means show it
        known = ~np.isnan(before).all(1)
        means = np.full((2, len(before)), np.nan)
        means[:, known] = np.nanmean(before[known], axis=1), np.nanmean(after[known], axis=1)
        axis.plot(means[0], color="0.3", linewidth=1.6, zorder=4)
        axis.plot(np.where(shown.any(1), means[1], np.nan), color=AFTER, linewidth=2.0, zorder=4)
        before, after = means[0][:, None], means[1][:, None]
    elif not look:
        axis.fill_between(
            np.arange(len(before)), before[:, 0], after[:, 0], color=AFTER, alpha=0.15, linewidth=0, zorder=1
        )
    for edit, (old, new) in zip(lane.edits, _stages(lane.edits, before, after), strict=True):
        _mark(axis, edit, old, new)
    if feature.choices is not None and len(feature.choices) <= MOST_NAMED:
        names = [as_text(textwrap.shorten(feature.describe(value), 16, placeholder="…")) for value in feature.choices]
        axis.set_yticks(feature.choices, names)
        margin = 0.35 * float(np.ptp(feature.choices) / max(len(feature.choices) - 1, 1) or 1.0)
        axis.set_ylim(min(feature.choices) - margin, max(feature.choices) + margin)
    else:
        axis.locator_params(axis="y", nbins=4)
        axis.margins(y=0.16)
    texts = [edit.text for edit in lane.edits]
    if not texts:
        texts = [lane.text if len(lane.text) <= width * lines else answer.windows(lane)]
    axis.set_title("\n".join(wrapped(text, width, lines) for text in texts), loc="left", fontsize=size)
    tidy(axis)


def step_axis(axis: Axes, features: Features, n_steps: int) -> None:
    """Whole steps below the lanes, by their names where they have some."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    named = features.step_names is not None
    axis.xaxis.set_major_locator(MaxNLocator(nbins=7 if named else 9, integer=True))
    if not named:
        axis.set_xlabel("time step", fontsize=9)
        return

    def name(at: float, _: Any) -> str:
        whole = at == round(at) and 0 <= at < n_steps
        return as_text(textwrap.shorten(features.step_name(int(at), bare=True), 12, placeholder="…")) if whole else ""

    axis.xaxis.set_major_formatter(FuncFormatter(name))


def wrapped(text: str, width: int, lines: int = 3) -> str:
    """Text in so many lines at most, none of it read as a formula."""
    return as_text("\n".join(textwrap.wrap(text, width, max_lines=lines, placeholder=" …")))


def _near(changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The changed cells ``(K, n)`` and their neighbours in time, so that lines meet."""
    padded = np.pad(changed, ((1, 1), (0, 0)))
    return np.asarray(padded[:-2] | padded[1:-1] | padded[2:])


def _stages(
    edits: tuple[Edit, ...], before: NDArray[Any], after: NDArray[Any]
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """The values ``(K, 1)`` before and after each edit, one after the other; the last ends at what was handed out."""
    stages, steps = [before] * bool(edits), np.arange(len(before))
    for edit in edits[:-1]:
        inside = ((steps >= edit.first_step) & (steps <= edit.last_step))[None]
        if edit.kind in PLACE:
            values = BUILT_IN[PLACE[edit.kind]].apply(stages[-1].T, inside, np.full((1, 1), edit.value))
        else:  # what a kind of the user's does is known by what was handed out
            values = after.T
        stages.append(np.where(inside, values, stages[-1].T).T)
    return list(zip(stages, [*stages[1:], after], strict=False))


def _mark(axis: Axes, edit: Edit, before: NDArray[Any], after: NDArray[Any]) -> None:
    """What one edit does: a line at a level, arrows of a shift, the end of a ramp, the top of a bump, the middle of a
    swing."""
    first, last = edit.first_step, edit.last_step
    ends = [first - 0.5, last + 0.5]
    if edit.kind in SIGNS:
        axis.plot(ends, [edit.value] * 2, color=MARK, linestyle=(0, (4, 1.5)), linewidth=1.3, zorder=4)
        below = edit.kind == "at_least"
        _label(axis, ends[0], edit.value, SIGNS[edit.kind] + number_in_words(edit.value), below, "left")
    elif edit.kind in ("shift", "ramp", "bump"):
        _arrow(axis, edit, before, after)
    elif edit.kind == "swing":
        known = after[first : last + 1]
        middle = float(np.nanmean(known)) if not np.isnan(known).all() else 0.0
        axis.plot(ends, [middle] * 2, color=MARK, linestyle=(0, (1, 1.2)), linewidth=1.2, zorder=4)
        _label(axis, ends[0], middle, f"swing {100 * edit.value:.0f}%", False, "left")


def _arrow(axis: Axes, edit: Edit, before: NDArray[Any], after: NDArray[Any]) -> None:
    """An arrow from before to after with the number of a shift, a ramp or a bump; it says where a limit stopped it."""
    step = _calm_step(before, edit)
    if step is None:
        return
    low, high = float(np.nanmean(before[step])), float(np.nanmean(after[step]))
    look = {"arrowstyle": "-|>", "color": MARK, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", (step, high), (step, low), zorder=5, arrowprops=look)
    text = f"{'+' if edit.value > 0 else '-'}{number_in_words(abs(edit.value))}"
    text += "".join(LIMIT.findall(edit.text))
    share = step / max(len(before) - 1, 1)
    side = "left" if share < 0.1 else "right" if share > 0.9 or edit.kind == "ramp" else "center"
    _label(axis, step, high, text, edit.value < 0, side)


def _calm_step(before: NDArray[Any], edit: Edit) -> int | None:
    """The step at which an arrow is read best: the end of a ramp, the middle of a bump; for a shift, a calm one in
    the middle third."""
    known = np.flatnonzero(~np.isnan(before[edit.first_step : edit.last_step + 1]).all(1)) + edit.first_step
    if not len(known) or edit.kind == "ramp":
        return int(known[-1]) if len(known) else None
    if edit.kind == "bump":
        return int(known[np.abs(known - (edit.first_step + edit.last_step) / 2).argmin()])
    middle = known[len(known) // 3 : len(known) - len(known) // 3]
    values = np.nanmean(before[middle], axis=1)
    slope = np.abs(np.gradient(values)) if len(values) > 1 else np.zeros(1)
    away = np.abs(np.arange(len(middle)) - (len(middle) - 1) / 2) / len(middle)
    return int(middle[np.argmin(slope / (np.ptp(values) or 1.0) + 0.2 * away)])


def _label(axis: Axes, x: float, y: float, text: str, below: bool, side: str) -> None:
    axis.annotate(
        as_text(text), (x, y), (4 if side == "left" else 0, -3 if below else 3), textcoords="offset points", ha=side,
        va="top" if below else "bottom", fontsize=8.5, color=MARK, weight="bold", zorder=6, annotation_clip=False,
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
    )  # fmt: skip
