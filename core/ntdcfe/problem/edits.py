"""The named changes that a person would say, and what they do to a series.

A counterfactual is a short list of edits, each a feature, a window of steps, a kind and a number. Many lists are
worked on at once: :class:`~ntdcfe.problem.edit_lists.EditLists` holds them as arrays, :class:`Editor` knows what
they do to one series.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.problem.kind import Window
from ntdcfe.problem.kinds import BUILT_IN, PLACE
from ntdcfe.problem.kinds_used import Kinds
from ntdcfe.problem.space import Space

# A number is rounded to steps of at most this share of its feature's unit: what a person would write (rule of thumb).
SHARE_OF_UNIT = 0.02
# Ratios are whole percents.
DECIMALS_OF_RATIOS = 2
# What an edit counts more if it is of twice as many features (rule of thumb).
MORE_FOR_TWICE = 0.5


class Edit(NamedTuple):
    """One named change of a counterfactual.

    `feature` is its name; the window runs from `first_step` to `last_step`, both included; `kind` says what is done
    there ("shift", "at_least", "at_most", "level", "swing", "ramp", "bump", "set", or the name of a kind of the user's
    own), `value` by how much, and `text` is the sentence. An edit of several neighbouring features runs from `feature`
    to `last_feature`.
    """

    feature: str
    first_step: int
    last_step: int
    kind: str
    value: float
    text: str
    last_feature: str

    def __str__(self) -> str:
        return self.text


class Editor:
    """What edits do to one series.

    Parameters
    ----------
    space : Space
    kinds : Kinds, optional
        Of edits; the built-in ones if not given.
    """

    def __init__(self, space: Space, kinds: Kinds | None = None) -> None:
        self.space = space
        self.kinds = Kinds() if kinds is None else kinds
        self.units = space.units
        self._values = np.ascontiguousarray(space.original.T)
        self.features = np.flatnonzero(space.movable.any(0))
        self.steps = np.flatnonzero(space.movable.any(1))
        written = zip(space.units, space.features.precisions, strict=True)
        self.decimals = np.array([_decimals(unit) if p is None else p for unit, p in written])
        # Limits that come from the reach are not the user's, and are said with as many digits as other numbers.
        self.low, self.high = _written(space.low, self.decimals, np.ceil), _written(space.high, self.decimals, np.floor)
        given = np.isfinite([getattr(feature, "limits", (0.0, 0.0)) for feature in space.features])
        self.low = np.where(given[:, 0], space.low, self.low)
        self.high = np.where(given[:, 1], space.high, self.high)

    def states(self, lists: EditLists) -> NDArray[Any]:
        """The series after each list ``(n, K, F)``, as the space allows it."""
        return self.space.project(self.applied(lists))

    def applied(self, lists: EditLists) -> NDArray[Any]:
        """The series after each list ``(n, K, F)``, edits one after the other, each within the limits."""
        states = np.repeat(self.space.original[None], len(lists.kind), axis=0)
        for place in range(lists.kind.shape[1]):
            kind, width = lists.kind[:, place], lists.width[:, place]
            rows = np.flatnonzero((kind != NONE) & (width == 1))
            edit = lists.take((rows, place))
            states[rows, :, edit.feature] = self.apply(edit, states[rows, :, edit.feature])[0]
            for row in np.flatnonzero((kind != NONE) & (width > 1)):
                self._apply_to_many(lists.take((row, place)), states[row])
        return states

    def _apply_to_many(self, edit: EditLists, state: NDArray[Any]) -> None:
        """Write into a state ``(K, F)`` what one edit of several features makes of them."""
        at = slice(edit.first, edit.last + 1), slice(edit.feature, edit.feature + edit.width)
        values = state[at]
        after = self.kinds.all[int(edit.kind)].apply(values.T, np.ones(values.T.shape, bool), edit.number).T
        state[at] = np.where(after == values, values, np.clip(after, self.low[at], self.high[at]))

    def effort(self, lists: EditLists) -> NDArray[np.float64]:
        """How many edits each list counts as ``(n,)``: one of several features is more than one edit."""
        return np.asarray((self.kinds.effort[lists.kind] * (1 + MORE_FOR_TWICE * np.log2(lists.width))).sum(1))

    def capped(self, lists: EditLists) -> NDArray[np.bool_]:
        """Which lists have an edit of several features that a limit stops somewhere ``(n,)``: it cannot be said."""
        out = np.zeros(len(lists.kind), bool)
        for place in np.flatnonzero((lists.width > 1).any(0)):
            rows = np.flatnonzero((lists.kind[:, place] != NONE) & (lists.width[:, place] > 1))
            edit = lists.take((rows, place))
            low, high = self._reach_of(edit)
            away = self.changed_by(edit)
            out[rows] = (away > high) | (away < low) | ~self.kinds.scaled[edit.kind]
        return out

    def _reach_of(self, edit: EditLists) -> tuple[NDArray[Any], NDArray[Any]]:
        """How far the features of single edits may all be moved down and up, columns ``(n,)``."""
        down, up = (self.low - self.space.original).max(0), (self.high - self.space.original).min(0)
        ends = [slice(f, f + w) for f, w in zip(edit.feature.tolist(), edit.width.tolist(), strict=True)]
        return np.array([down[end].max() for end in ends]), np.array([up[end].min() for end in ends])

    def apply(self, edit: EditLists, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Values ``(n, K)`` after single edits, columns ``(n,)``: within the limits, and as if there were none."""
        inside, after = self._inside(edit), values.copy()
        for which in np.unique(edit.kind):
            rows = edit.kind == which
            after[rows] = self._done(which, values[rows], inside[rows], edit.number[rows, None])
        after = np.where(inside, after, values)
        low, high = self.low[:, edit.feature].T, self.high[:, edit.feature].T
        return np.where(after == values, values, np.clip(after, low, high)), after

    def _done(
        self, which: int, values: NDArray[Any], inside: NDArray[np.bool_], number: NDArray[Any]
    ) -> NDArray[Any]:
        """What a kind does to values ``(n, K)``; what a kind of the user's makes no number of stays as it was."""
        if which < len(BUILT_IN):
            return self.kinds.all[which].apply(values, inside, number)
        done = np.asarray(self.kinds.all[which].apply(values.copy(), inside, number))
        if done.shape != values.shape:
            name = type(self.kinds.all[which]).__name__
            raise InvalidInputError(f"{name}.apply must return values {values.shape}, got {done.shape}.")
        return np.where(np.isfinite(done), done, values)

    def _inside(self, edit: EditLists) -> NDArray[np.bool_]:
        """Which steps are in the window of single edits ``(n, K)``."""
        steps = np.arange(self.space.n_steps)
        return (steps >= edit.first[:, None]) & (steps <= edit.last[:, None])

    def window(self, edit: EditLists) -> Window:
        """What the original is like in the windows of single edits, columns ``(n,)``."""
        return Window(self._values[edit.feature], self._inside(edit))

    def neutral(self, edit: EditLists) -> NDArray[np.float64]:
        """The numbers ``(n,)`` with which single edits would change nothing, or least."""
        return self._by_kind(edit.kind, lambda kind, window: kind.neutral(window), edit)

    def weakened(self, edit: EditLists, ratio: NDArray[np.float64]) -> EditLists:
        """Single edits with their numbers moved to that share ``(n,)`` of their effect; set ones stay as they are."""
        neutral = self.neutral(edit)
        number = neutral + (edit.number - neutral) * ratio
        return edit.replaced(number=np.where(self.space.discrete[edit.feature], edit.number, number))

    def changed_by(self, edit: EditLists) -> NDArray[np.float64]:
        """About how far single edits move their feature, up or down, in its own scale ``(n,)``."""
        away, ratios = edit.number - self.neutral(edit), np.flatnonzero(~self.kinds.scaled[edit.kind])
        if len(ratios):
            window = self.window(edit.take(ratios))
            away[ratios] *= window.high - window.low
        return away

    def of_kind(self, edit: EditLists, kind: NDArray[np.int64], change: NDArray[np.float64]) -> EditLists:
        """Single edits of that kind ``(n,)`` in the same windows, changing them by about `change` ``(n,)``."""
        kind = self.kinds.fitting(kind, change)
        number = self._by_kind(kind, lambda k, window, c: k.number_for(c, window), edit, change)
        return edit.replaced(kind=kind, number=number)

    def rounded(self, lists: EditLists) -> EditLists:
        """The same with numbers that a person would write."""
        number = lists.number.copy()
        decimals = np.where(self.kinds.scaled[lists.kind], self.decimals[lists.feature], DECIMALS_OF_RATIOS)
        for d in np.unique(decimals):
            number = np.where(decimals == d, np.round(number, int(d)) + 0.0, number)
        # A level beyond a limit is the limit.
        low, high = self.low.min(0)[lists.feature], self.high.max(0)[lists.feature]
        number = np.where(self.kinds.is_value[lists.kind], np.clip(number, low, high), number)
        return lists.replaced(number=np.where(self.space.discrete[lists.feature], lists.number, number))

    def from_states(self, states: NDArray[Any]) -> EditLists:
        """About the same changes as in states ``(n, K, F)``: one edit for each feature that rises, or falls, in them.

        A feature that does both gets one edit for each direction.
        """
        space = self.space
        change = states - space.original
        parts = []
        for feature in np.flatnonzero((change != 0).any((0, 1))):
            for sign in (1.0, -1.0):
                moved = sign * change[:, :, feature] > 0
                rows = moved.any(1)
                if not rows.any():
                    continue
                size = np.where(moved, np.abs(change[:, :, feature]), 0.0)
                edit = EditLists.empty(len(states), 1)
                edit.feature[:, 0] = feature
                edit.first[:, 0] = moved.argmax(1)
                edit.last[:, 0] = space.n_steps - 1 - moved[:, ::-1].argmax(1)
                if space.discrete[feature]:
                    place = size.argmax(1)
                    edit.kind[rows, 0] = PLACE["set"]
                    edit.number[:, 0] = states[np.arange(len(states)), place, feature]
                elif space.n_steps == 1:
                    edit.kind[rows, 0] = PLACE["level"]
                    edit.number[:, 0] = states[:, 0, feature]
                else:
                    edit.kind[rows, 0] = PLACE["shift"]
                    edit.number[:, 0] = sign * size.max(1)
                    if not self.kinds.used[PLACE["shift"]]:
                        shift = edit.take((slice(None), 0))
                        other = self.of_kind(shift, shift.kind, shift.number)
                        edit = EditLists.where(rows, other, shift).take((slice(None), None))
                parts.append(edit)
        return EditLists.side_by_side(parts).packed()

    def _by_kind(self, kinds: NDArray[np.int64], number: Any, edit: EditLists, *columns: Any) -> NDArray[np.float64]:
        """What `number` of each kind gives for the windows of single edits, columns ``(n,)``, of these kinds."""
        out = np.zeros(len(kinds))
        for which in np.unique(kinds):
            if which != NONE:
                rows = np.flatnonzero(kinds == which)
                window, some = self.window(edit.take(rows)), (column[rows] for column in columns)
                out[rows] = number(self.kinds.all[which], window, *some)
        return out if self.kinds.usual else np.where(np.isfinite(out), out, 0.0)


def _written(limits: NDArray[Any], decimals: NDArray[np.int64], towards: Any) -> NDArray[Any]:
    """Limits ``(K, F)`` with as many decimals ``(F,)`` as numbers of their feature are written with."""
    steps = 10.0 ** decimals.astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = towards(limits * steps) / steps
    return np.where(np.isfinite(rounded), rounded, limits)


def _decimals(unit: float) -> int:
    """Decimals with which a number of that unit is written."""
    if not (math.isfinite(unit) and unit > 0):
        return 6
    return int(np.clip(math.ceil(-math.log10(SHARE_OF_UNIT * unit)), -300, 300))
