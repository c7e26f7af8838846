"""One answer of a search as pictures and letters need it: the answer itself, or one of its options."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Counterfactual, Features, InvalidInputError
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.feature import Feature
from ntdcfe.problem.space import stand_ins
from ntdcfe.problem.survival import Survived
from ntdcfe.problem.units import units_of
from ntdcfe.problem.words import Change, changes, sentences, when

# A sentence of more letters is summed up where it has to be read; so many windows of it are told.
LONG, MOST_WINDOWS = 130, 3


class Lane(NamedTuple):
    """What is told together: the positions of one feature or of neighbouring ones, their edits, and the sentence."""

    features: range
    edits: tuple[Edit, ...]
    text: str


class Answer(NamedTuple):
    """One answer; `before` and `after` have one value a feature ``(K, F)``, NaN where a cell is missing."""

    features: Features
    before: NDArray[Any]
    after: NDArray[Any]
    static: bool
    edits: tuple[Edit, ...]
    runs: tuple[Change, ...]
    proximity: float
    sparsity: int
    survival: Survived | None

    @property
    def differs(self) -> NDArray[np.bool_]:
        """Which cells ``(K, F)`` changed; a gap is no change."""
        return np.asarray((self.before != self.after) & ~np.isnan(self.before))

    @property
    def changed(self) -> list[int]:
        """Positions of the changed features, those with the largest changes in units first."""
        gaps = np.isnan(self.before)
        units = units_of(stand_ins(self.before, gaps), self.features, gaps)
        size = np.nansum(np.abs(self.after - self.before) / units, axis=0)
        return [int(i) for i in np.argsort(-size, kind="stable") if self.differs[:, i].any()]

    @property
    def told(self) -> int:
        """How many things have to be done: edits, and runs of features without one; not what follows by a rule."""
        follows = {name for name, f in zip(self.features.names, self.features, strict=True) if f.role != "actionable"}
        spoken = follows | {self.features.names[i] for edit in self.edits for i in self._range(edit)}
        return sum(edit.feature not in follows for edit in self.edits) + sum(r.feature not in spoken for r in self.runs)

    def same_as(self, cf: Counterfactual) -> bool:
        """Whether it is the answer of the search, not another of its options."""
        return cf.x is not None and np.array_equal(self.after, cf.features.encode(np.atleast_2d(cf.x)), equal_nan=True)

    def sentences(self) -> list[str]:
        """One sentence an edit; for features without an edit, one of their runs."""
        return sentences(self.runs, self.edits, self.features.names)

    def in_short(self) -> list[str]:
        """The sentences; one of many values says only by how much and where, so that it can be read."""
        told = self.sentences()
        spoken = {i for edit in self.edits for i in self._range(edit)}
        untold = [i for i in self._in_order() if i not in spoken]
        runs = zip(told[len(self.edits) :], untold, strict=True)
        return told[: len(self.edits)] + [text if len(text) <= LONG else self._summed(i) for text, i in runs]

    def lanes(self) -> list[Lane]:
        """Edits of the same features together, in their order; then each changed feature that has no edit."""
        of: dict[range, list[Edit]] = {}
        for edit in self.edits:
            of.setdefault(self._range(edit), []).append(edit)
        lanes = [Lane(where, tuple(edits), "; ".join(e.text for e in edits)) for where, edits in of.items()]
        spoken = {i for lane in lanes for i in lane.features}
        untold = [i for i in self._in_order() if i not in spoken]
        texts = dict(zip(untold, self.sentences()[len(self.edits) :], strict=True))
        return lanes + [Lane(range(i, i + 1), (), texts[i]) for i in self.changed if i not in spoken]

    def windows(self, lane: Lane) -> str:
        """Where a feature without an edit changes, in a few words; the sentence has the values."""
        return f"{self.features.names[lane.features[0]]!r} changes {'; '.join(self._windows(lane.features[0]))}"

    def _windows(self, i: int) -> list[str]:
        name = self.features.names[i]
        return [when(self.features, run.first_step, run.last_step, len(self.before)).strip()
                for run in self.runs if run.feature == name]  # fmt: skip

    def _summed(self, i: int) -> str:
        """By how much a feature changes, and where, in one line."""
        feature, name, windows = self.features[i], self.features.names[i], self._windows(i)
        more = len(windows) - MOST_WINDOWS
        where = ", ".join(windows[:MOST_WINDOWS]) + (f" and in {more} more place{'s' * (more > 1)}" if more > 0 else "")
        change = (self.after - self.before)[self.differs[:, i], i]
        if feature.choices is not None:
            return f"change {name!r} {where}"
        least, most = change[np.abs(change).argmin()], change[np.abs(change).argmax()]
        if (change > 0).any() and (change < 0).any():
            return f"move {name!r} by {change.min():.3g} to +{change.max():.3g} {where}"
        amounts = dict.fromkeys(f"{abs(size):.3g}" for size in (least, most))
        return f"{'raise' if most > 0 else 'lower'} {name!r} by {' to '.join(amounts)} {where}"

    def _range(self, edit: Edit) -> range:
        return range(self.features.index(edit.feature), self.features.index(edit.last_feature) + 1)

    def _in_order(self) -> list[int]:
        """Positions of the changed features in the order in which their runs are told."""
        return list(dict.fromkeys(self.features.index(run.feature) for run in self.runs))


def answers_of(cf: Counterfactual) -> dict[str, Answer]:
    """The options of a search by their names, the simplest first."""
    order = ("simplest", "nearest", "sturdiest")
    names = sorted(cf.options, key=lambda name: order.index(name) if name in order else len(order))
    return {name: answer_of(cf, name) for name in names}


def answer_of(cf: Counterfactual, option: str | None = None) -> Answer:
    """The answer of a search, or one of its options.

    Parameters
    ----------
    cf : Counterfactual
    option : {"simplest", "nearest", "sturdiest"}, optional
    """
    if cf.x is None:
        raise InvalidInputError(f"there is nothing to show: no counterfactual was found ({cf.status}).")
    if option is not None and option not in cf.options:
        raise InvalidInputError(f"option must be one of {list(cf.options)}, got {option!r}.")
    chosen = cf if option is None else cf.options[option]
    x = cf.x if option is None else cf.options[option].x
    before, after = (cf.features.encode(np.atleast_2d(series)) for series in (cf.original, x))
    runs = changes(before, after, cf.features)
    return Answer(
        cf.features, before, after, cf.original.ndim == 1, chosen.edits, runs, chosen.proximity,
        chosen.sparsity or 0, chosen.survival,
    )  # fmt: skip


def value_in_words(feature: Feature, value: float, unit: str = "") -> str:
    """A value as a person reads it: a category by its name, a number with up to six digits, and its unit."""
    if feature.choices is not None:
        return feature.describe(value)
    if np.isnan(value):
        return "missing"
    shown = np.format_float_positional(value, precision=6, fractional=False, trim="-")
    shown = shown if 1e-6 <= abs(value) < 1e15 or value == 0 else f"{value:.6g}"
    return f"{shown} {unit}".strip()


def cost_in_words(answer: Answer) -> str:
    """How far the answer is, in one phrase."""
    what = "feature" if answer.static else "cell"
    return f"{answer.sparsity} {what}{'s' * (answer.sparsity != 1)} changed, proximity {answer.proximity:.4g}"
