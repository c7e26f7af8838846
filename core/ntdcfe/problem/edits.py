"""The named changes that a person would say, and what they do to a series.

A counterfactual is a short list of edits, each a feature, a window of steps, a kind and a number. Many lists are
worked on at once: :class:`~ntdcfe.problem.edit_lists.EditLists` holds them as arrays, :class:`Editor` knows what
they do to one series.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.problem.edit_numbers import EditNumbers
from ntdcfe.problem.kind import in_window
from ntdcfe.problem.kinds import BUILT_IN, PLACE
from ntdcfe.problem.kinds_used import Kinds
from ntdcfe.problem.objective import VALUES_AT_ONCE, Touched
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


class Editor(EditNumbers):
    """What edits do to one series.

    Parameters
    ----------
    space : Space
    kinds : Kinds, optional
        Of edits; the built-in ones if not given.
    """

    def __init__(self, space: Space, kinds: Kinds | None = None) -> None:
        super().__init__(space, kinds)
        self.features = np.flatnonzero(space.movable.any(0))
        self.steps = np.flatnonzero(space.movable.any(1))
        units, which = np.unique(space.units, return_inverse=True)
        written = zip(np.array(list(map(_decimals, units.tolist())))[which], space.features.precisions, strict=True)
        self.decimals = np.array([decimals if p is None else p for decimals, p in written])
        self._precisions = np.unique(np.append(self.decimals, DECIMALS_OF_RATIOS)).tolist()
        # Limits that come from the reach are not the user's, and are said with as many digits as other numbers.
        self.low, self.high = _written(space.low, self.decimals, np.ceil), _written(space.high, self.decimals, np.floor)
        given = np.isfinite([getattr(feature, "limits", (0.0, 0.0)) for feature in space.features])
        self.low = np.where(given[:, 0], space.low, self.low)
        self.high = np.where(given[:, 1], space.high, self.high)
        self._limits = np.ascontiguousarray(self.low.T), np.ascontiguousarray(self.high.T)
        self._lowest, self._highest = self.low.min(0), self.high.max(0)
        self._down, self._up = (self.low - space.original).max(0), (self.high - space.original).min(0)
        # What edits make of a series keeps their limits, and needs no projection if those are all that there is.
        low, high = self.low.astype(space.dtype), self.high.astype(space.dtype)
        self._obeys = space.has_limits_only and bool((low >= space.low).all() and (high <= space.high).all())

    def states(self, lists: EditLists) -> NDArray[Any]:
        """The series after each list ``(n, K, F)``, as the space allows it."""
        return self.states_and_touched(lists)[0]

    def states_and_touched(self, lists: EditLists) -> tuple[NDArray[Any], Touched | None]:
        """The same, and which features of which states may have changed; None if a constraint may change any.

        Edits are applied one after the other, each within the limits.
        """
        states = np.repeat(self.space.original[None], len(lists.kind), axis=0)
        rows, edits = one_for_each_feature(lists)
        # What a list does to one feature is independent of what it does to another: first the first edits of all of
        # them, then the second ones, and so on.
        turn, by_kind = _occurrence(rows * len(self.units) + edits.feature), _order_of(edits.kind)
        for now in range(turn.max(initial=-1) + 1):
            these = by_kind[turn[by_kind] == now]
            for start in range(0, len(these), self._at_once):
                some = these[start : start + self._at_once]
                row, edit = rows[some], edits.take(some)
                before = states[row, :, edit.feature] if now else self._values.take(edit.feature, axis=0)
                states[row, :, edit.feature] = self.apply(edit, before)[0]
        states = states if self._obeys else self.space.project(states)
        if self.space.constrained:
            return states, None
        first = (turn == 0).nonzero()[0]
        return states, Touched.of(states, rows[first], edits.feature[first])

    def changed(self, states: NDArray[Any], touched: Touched | None) -> NDArray[np.bool_]:
        """Which features of states ``(n, K, F)`` differ from the original ``(n, F)``: some of those touched."""
        if touched is None:
            return np.asarray((states != self.space.original).any(1))
        changed = np.zeros((len(states), len(self.units)), bool)
        before = self._values.take(touched.features, axis=0)
        changed[touched.rows, touched.features] = (touched.values != before).any(1)
        return changed

    def effort(self, lists: EditLists) -> NDArray[np.float64]:
        """How many edits each list counts as ``(n,)``: one of several features is more than one edit."""
        return np.asarray((self.kinds.effort[lists.kind] * (1 + MORE_FOR_TWICE * np.log2(lists.width))).sum(1))

    def capped(self, lists: EditLists) -> NDArray[np.bool_]:
        """Which lists have an edit of several features that a limit stops somewhere ``(n,)``: it cannot be said."""
        out = np.zeros(len(lists.kind), bool)
        broad = (lists.width > 1) & (lists.kind != NONE)
        if broad.any():
            rows, places = broad.nonzero()
            edit = lists.take((rows, places))
            low, high = self._reach_of(edit)
            away = self.changed_by(edit)
            out[rows[(away > high) | (away < low) | ~self.kinds.scaled[edit.kind]]] = True
        return out

    def _reach_of(self, edit: EditLists) -> tuple[NDArray[Any], NDArray[Any]]:
        """How far the features of single edits may all be moved down and up, columns ``(n,)``."""
        starts = edit.width.cumsum() - edit.width
        features = np.repeat(edit.feature, edit.width) + _places_in(edit.width)
        return np.maximum.reduceat(self._down[features], starts), np.minimum.reduceat(self._up[features], starts)

    def apply(self, edit: EditLists, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Values ``(n, K)`` after single edits, columns ``(n,)``: within the limits, and as if there were none."""
        if (edit.kind[1:] < edit.kind[:-1]).any():  # those of one kind are to stand together
            order = _order_of(edit.kind)
            within, after = self.apply(edit.take(order), values[order])
            back = np.argsort(order)
            return within[back], after[back]
        inside, after = in_window(edit.first, edit.last, self.space.n_steps), values.copy()
        for which, rows in runs_of_kinds(edit.kind):
            after[rows] = self._done(which, values[rows], inside[rows], edit.number[rows, None])
        # np.where and np.clip would take three times as long.
        np.copyto(after, values, where=~inside)
        low, high = (limits.take(edit.feature, axis=0) for limits in self._limits)
        within = np.minimum(np.maximum(after, low), high)
        np.copyto(within, values, where=after == values)
        return within, after

    def _done(
        self, which: int, values: NDArray[Any], inside: NDArray[np.bool_], number: NDArray[Any]
    ) -> NDArray[Any]:
        """What a kind does to values ``(n, K)``; what a kind of the user's makes no number of stays as it was."""
        if which < len(BUILT_IN):
            return self.kinds.all[which].apply(values, inside, number)
        done = np.asarray(self.kinds.all[which].apply(values.copy(), inside.copy(), number.copy()))
        if done.shape != values.shape:
            name = type(self.kinds.all[which]).__name__
            raise InvalidInputError(f"{name}.apply must return values {values.shape}, got {done.shape}.")
        return np.where(np.isfinite(done), done, values)

    def rounded(self, lists: EditLists) -> EditLists:
        """The same with numbers that a person would write."""
        number = lists.number
        decimals = np.where(self.kinds.scaled[lists.kind], self.decimals[lists.feature], DECIMALS_OF_RATIOS)
        for d in self._precisions:
            number = np.where(decimals == d, number.round(d) + 0.0, number)
        # A level beyond a limit is the limit.
        low, high = self._lowest[lists.feature], self._highest[lists.feature]
        number = np.where(self.kinds.is_value[lists.kind], np.minimum(np.maximum(number, low), high), number)
        return lists.replaced(number=np.where(self.space.discrete[lists.feature], lists.number, number))

    def from_states(self, states: NDArray[Any]) -> EditLists:
        """About the same changes as in states ``(n, K, F)``: one edit for each feature that rises, or falls, in them.

        A feature that does both gets one edit for each direction.
        """
        change = states - self.space.original
        features = np.flatnonzero((change != 0).any((0, 1)))
        at_once = max(1, VALUES_AT_ONCE // len(change[..., 0].ravel()))
        parts = [self._of_features(states, some) for some in np.split(features, range(at_once, len(features), at_once))]
        return EditLists.side_by_side(parts).packed()

    def _of_features(self, states: NDArray[Any], features: NDArray[np.int64]) -> EditLists:
        """The same for some of the features ``(m,)``: those that rise and those that fall, side by side."""
        space, rows = self.space, np.arange(len(states))[:, None]
        values = states[:, :, features]  # (n, K, m)
        change = values - space.original[:, features]
        parts = []
        for sign in (1.0, -1.0):
            moved = sign * change > 0
            size = np.where(moved, np.abs(change), 0.0)
            edit = EditLists.empty(len(states), len(features))
            edit.feature[:] = features
            edit.first[:] = moved.argmax(1)
            edit.last[:] = space.n_steps - 1 - moved[:, ::-1].argmax(1)
            kind, number = PLACE["shift"], sign * size.max(1)
            if space.n_steps == 1:
                kind, number = PLACE["level"], values[:, 0]
            discrete = space.discrete[features]
            largest = values[rows, size.argmax(1), np.arange(len(features))]
            edit.number[:] = np.where(discrete, largest, number)
            edit.kind[:] = np.where(moved.any(1), np.where(discrete, PLACE["set"], kind), NONE)
            if space.n_steps > 1 and not self.kinds.used[PLACE["shift"]]:
                shift = EditLists(edit.codes.reshape(5, -1), edit.number.ravel())
                other = self.of_kind(shift, shift.kind, shift.number)
                shift = EditLists.where(shift.kind == PLACE["shift"], other, shift)
                edit = EditLists(shift.codes.reshape(edit.codes.shape), shift.number.reshape(edit.number.shape))
            parts.append(edit)
        # Of each feature what rises, then what falls.
        order = np.arange(2 * len(features)).reshape(2, -1).T.ravel()
        both = EditLists.side_by_side(parts).take((slice(None), order))
        return both.take((slice(None), (both.kind != NONE).any(0)))



def runs_of_kinds(kinds: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """The kinds of single edits ``(n,)`` in order, and the rows that are of each; empty places are left out."""
    ends = (*((kinds[1:] != kinds[:-1]).nonzero()[0] + 1).tolist(), len(kinds))
    for start, end in zip((0, *ends), ends, strict=False):
        if start < end and kinds[start] != NONE:
            yield int(kinds[start]), slice(start, end)


def _order_of(kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of single edits ``(n,)`` with those of one kind together."""
    return np.argsort(kinds, kind="stable")


def one_for_each_feature(lists: EditLists) -> tuple[NDArray[np.int64], EditLists]:
    """The edits of all lists in order, as single edits of one feature each, and the lists that they are of ``(m,)``.

    An edit of several neighbouring features becomes as many edits; empty places are left out.
    """
    flat = lists.flat
    at = (flat.kind != NONE).nonzero()[0]
    rows, edits = at // lists.number.shape[1], flat.take(at)
    if (edits.width == 1).all():
        return rows, edits
    of = np.repeat(np.arange(len(rows)), edits.width)
    each = edits.take(of)
    return rows[of], each.replaced(feature=each.feature + _places_in(edits.width), width=1)


def _occurrence(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the same have come before each of the keys ``(n,)``."""
    order, place, before = np.argsort(keys, kind="stable"), np.arange(len(keys)), np.empty(len(keys), np.int64)
    in_order, first = keys.take(order), np.zeros(len(keys), np.int64)
    # Where each run of equal keys begins: the last place so far at which the key is another than before.
    np.copyto(first[1:], place[1:], where=in_order[1:] != in_order[:-1])
    before[order] = place - np.maximum.accumulate(first)
    return before


def _places_in(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... for each of the groups of these sizes ``(n,)``, one after the other ``(sum,)``."""
    ends = sizes.cumsum()
    return np.arange(sizes.sum()) - np.repeat(ends - sizes, sizes)


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
    return max(-300, min(300, math.ceil(-math.log10(SHARE_OF_UNIT * unit))))
