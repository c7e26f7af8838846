"""A row of a table drawn for whoever decides about it: one line a changed feature, from value to value."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ntdcfe import Continuous, Feature
from ntdcfe_plugins._shared.answer import Answer, value_in_words
from ntdcfe_plugins._shared.drawing import COLOURS, as_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More values than this are not all marked on a track.
MOST_MARKS = 6
# Where the columns of the picture stand, in widths of it: name, before, arrow, after, track.
NAME, OLD, NEW, TRACK, END = 0.0, 0.46, 0.51, 0.72, 0.98
ARROW = {"arrowstyle": "-|>", "color": COLOURS[0], "lw": 1.6}


def draw_row(axis: Axes, answer: Answer, shown: Sequence[int], units: Mapping[str, str]) -> None:
    """One line for each shown feature: its name, its value before and after, and where these lie on its scale.

    Parameters
    ----------
    axis : Axes
    answer : Answer
        Of static data.
    shown : sequence of int
        Positions of the features.
    units : mapping
        From a feature's name to the unit behind its values.
    """
    notes = {answer.features.index(edit.feature): _note(edit.text) for edit in answer.edits}
    for row, i in enumerate(shown):
        feature, name, (old, new) = answer.features[i], answer.features.names[i], _values(answer, i)
        unit = units.get(name, "")
        note = "follows by a rule" if feature.role == "non_actionable" else notes.get(i, "")
        axis.text(NAME, row, as_text(textwrap.fill(name, 34)), va="center", fontsize=11)
        was, then = (as_text(value_in_words(feature, value, unit)) for value in (old, new))
        axis.text(OLD, row, was, ha="right", va="center", fontsize=11, color="0.4")
        axis.annotate("", (NEW - 0.005, row), (OLD + 0.012, row), arrowprops=ARROW)
        axis.text(NEW + 0.01, row, then, va="center", fontsize=12, weight="bold")
        if note:
            axis.text(NEW + 0.01, row + 0.3, as_text(note), va="center", fontsize=8, color="0.35", style="italic")
        _draw_track(axis, feature, old, new, row)
    for place, text in ((NAME, "what changes"), (OLD, "now"), (NEW + 0.01, "then")):
        axis.text(place, -0.72, text, ha="right" if place == OLD else "left", va="center", fontsize=8.5, color="0.45")
    for row in range(len(shown) + 1):
        axis.axhline(row - 0.5, color="0.88", linewidth=0.8, zorder=0)
    axis.set(xlim=(-0.01, 1.01), ylim=(max(len(shown), 1) - 0.4, -0.95))
    axis.set_axis_off()


def draw_rows(axis: Axes, answers: Mapping[str, Answer], shown: Sequence[int], units: Mapping[str, str]) -> None:
    """Several answers beside each other: one line for each shown feature, one column for each answer.

    Below them stand the number of changes, how often each still holds under noise, and its distance.

    Parameters
    ----------
    axis : Axes
    answers : mapping
        From the name of each answer to it; of static data, all of the same row.
    shown : sequence of int
        Positions of the features.
    units : mapping
        From a feature's name to the unit behind its values.
    """
    first = next(iter(answers.values()))
    places = np.linspace(0.36, 1.0, len(answers) + 1)
    heads = ["now", *answers]
    for place, head in zip(places, heads, strict=True):
        axis.text(place, -0.72, head, ha="right", va="center", fontsize=10, color="0.3")
    for row, i in enumerate(shown):
        feature, name = first.features[i], first.features.names[i]
        unit, old = units.get(name, ""), first.before[0, i]
        axis.text(0, row, as_text(textwrap.fill(name, 26)), va="center", fontsize=10.5)
        was = as_text(value_in_words(feature, old, unit))
        axis.text(places[0], row, was, ha="right", va="center", fontsize=10.5, color="0.4")
        for place, answer in zip(places[1:], answers.values(), strict=True):
            same = not answer.differs[0, i]
            text = "as now" if same else value_in_words(feature, answer.after[0, i], unit)
            look: dict[str, Any] = {"color": "0.6"} if same else {"weight": "bold", "color": COLOURS[0]}
            axis.text(place, row, as_text(text), ha="right", va="center", fontsize=10.5, **look)
    measures = _measures(answers)
    for rank, (text, cells) in enumerate(measures.items()):
        line = len(shown) + 0.75 * rank
        axis.text(0, line, text, va="center", fontsize=9.5, color="0.35")
        for place, cell in zip(places[1:], cells, strict=True):
            axis.text(place, line, cell, ha="right", va="center", fontsize=9.5, color="0.35")
    for row in range(len(shown) + 1):
        axis.axhline(row - 0.5, color="0.88", linewidth=0.8, zorder=0)
    axis.set(xlim=(-0.01, 1.01), ylim=(len(shown) + 0.75 * len(measures) - 0.35, -1.0))
    axis.set_axis_off()


def _measures(answers: Mapping[str, Answer]) -> dict[str, list[str]]:
    """What tells the answers apart, beside their values: one line each, one cell an answer."""
    noises = {answer.survival.noise for answer in answers.values() if answer.survival is not None}
    off = f"values off by {100 * max(noises):g}%" if len(noises) == 1 else "values a little off"
    held = ["not asked" if a.survival is None or not a.survival.draws else f"{100 * a.survival.share:.0f}%"
            for a in answers.values()]  # fmt: skip
    return {
        "changes to make": [str(answer.told) for answer in answers.values()],
        f"still holds, {off}": held,
        "distance (proximity)": [f"{answer.proximity:.4g}" for answer in answers.values()],
    }


def unchanged(answer: Answer, most: int = 160) -> str:
    """The features that stay as they are, with their values, in one short line."""
    still = [i for i in range(len(answer.features)) if not answer.differs[:, i].any()]
    if not still:
        return "every feature changes"
    listed = [
        answer.features.names[i]
        + (f" {value_in_words(answer.features[i], answer.before[0, i])}" if len(answer.before) == 1 else "")
        for i in still
    ]
    head = f"{len(still)} of {len(answer.features)} features unchanged: "
    return head + textwrap.shorten(", ".join(listed), most, placeholder=" …")


def _values(answer: Answer, i: int) -> tuple[float, float]:
    return float(answer.before[0, i]), float(answer.after[0, i])


def _note(text: str) -> str:
    """What a sentence says in brackets at its end: how far it may go."""
    return text[text.rindex("(") + 1 : -1] if text.endswith(")") and "further)" in text else ""


def _draw_track(axis: Axes, feature: Feature, old: float, new: float, row: int) -> None:
    """Where the two values lie: among the listed ones, or between the ends of a scale."""
    choices = feature.choices
    marks: dict[float, float] = {}  # from places on the track to values that are told there
    if choices is not None and len(choices) <= MOST_MARKS:
        places = {value: rank / max(len(choices) - 1, 1) for rank, value in enumerate(choices)}
        start, end = places[old], places[new]
        marks = {places[choices[0]]: choices[0], places[choices[-1]]: choices[-1]}
        axis.plot([_at(p) for p in places.values()], [row] * len(places), marker="|", color="0.6", markersize=8,
                  linestyle="none", zorder=1)  # fmt: skip
    else:
        low, high = _track(feature, old, new)
        start, end = (old - low) / (high - low), (new - low) / (high - low)
        bounds = feature.limits if isinstance(feature, Continuous) else (low, high)
        marks = {place: value for place, value in ((0.0, low), (1.0, high)) if value in bounds}
    axis.plot([_at(0), _at(1)], [row, row], color="0.85", linewidth=2.2, zorder=0, solid_capstyle="round")
    axis.annotate("", (_at(end), row), (_at(start), row), arrowprops={**ARROW, "shrinkA": 4, "shrinkB": 4})
    axis.plot(_at(start), row, marker="o", markerfacecolor="white", color="0.25", markersize=7, zorder=3)
    axis.plot(_at(end), row, marker="D", color=COLOURS[0], markersize=6, zorder=3)
    for place, value in marks.items():
        text = textwrap.shorten(value_in_words(feature, value), 14, placeholder="…")
        axis.text(_at(place), row + 0.3, as_text(text), ha="center", va="center", fontsize=8, color="0.5")


def _at(share: float) -> float:
    return TRACK + share * (END - TRACK)


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
