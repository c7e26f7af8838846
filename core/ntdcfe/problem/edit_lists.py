"""Many lists of edits at once, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The kind of an empty place.
NONE = -1
_COLUMNS = ("kind", "feature", "width", "first", "last")


@dataclass(eq=False, slots=True)
class EditLists:
    """n lists of up to m edits.

    Two arrays, so that taking and putting edits costs few calls: lists are short, and there are many of them. Not
    frozen, because that takes twice as long to make; the arrays are not replaced.

    Parameters
    ----------
    codes : array of int (5, n, m)
        Kind, first feature, number of neighbouring features, first and last step; the kind is -1 where a place is
        empty.
    number : array (n, m)
        By how much.
    """

    codes: NDArray[np.int64]
    number: NDArray[np.float64]

    @staticmethod
    def of(kind: Any, feature: Any, width: Any, first: Any, last: Any, number: Any) -> EditLists:
        """From columns of one shape, ``(n, m)``, or ``(n,)`` for single edits; or a number for all of a column."""
        number = np.asarray(number, float)
        codes = np.empty((5, *number.shape), np.int64)
        codes[0], codes[1], codes[2], codes[3], codes[4] = kind, feature, width, first, last
        return EditLists(codes, number)

    @staticmethod
    def empty(n: int, m: int) -> EditLists:
        """Lists without an edit."""
        codes = np.zeros((5, n, m), np.int64)
        codes[0], codes[2] = NONE, 1
        return EditLists(codes, np.zeros((n, m)))

    @staticmethod
    def concatenate(parts: list[EditLists]) -> EditLists:
        """All lists, in order; shorter ones are filled up with empty places."""
        together = EditLists.empty(sum(map(len, parts)), max(part.number.shape[1] for part in parts))
        start = 0
        for part in parts:
            n, m = part.number.shape
            together.codes[:, start : start + n, :m], together.number[start : start + n, :m] = part.codes, part.number
            start += n
        return together

    @staticmethod
    def side_by_side(parts: list[EditLists]) -> EditLists:
        """The edits of several parts of the same lists, in order."""
        codes = np.concatenate([part.codes for part in parts], axis=2)
        return EditLists(codes, np.concatenate([part.number for part in parts], axis=1))

    @staticmethod
    def where(condition: NDArray[np.bool_], one: EditLists, other: EditLists) -> EditLists:
        """The edits of `one` where the condition holds, else those of the `other`."""
        return EditLists(np.where(condition, one.codes, other.codes), np.where(condition, one.number, other.number))

    @property
    def kind(self) -> NDArray[np.int64]:
        """Places among :class:`~ntdcfe.problem.kinds_used.Kinds`, -1 where a place is empty."""
        return self.codes[0]

    @property
    def feature(self) -> NDArray[np.int64]:
        """The first of the features that an edit is of."""
        return self.codes[1]

    @property
    def width(self) -> NDArray[np.int64]:
        """How many neighbouring features an edit is of."""
        return self.codes[2]

    @property
    def first(self) -> NDArray[np.int64]:
        """First step of the window."""
        return self.codes[3]

    @property
    def last(self) -> NDArray[np.int64]:
        """Last step of the window, included."""
        return self.codes[4]

    def __len__(self) -> int:
        return len(self.number)

    @property
    def n_edits(self) -> NDArray[np.int64]:
        """How many edits each list has ``(n,)``."""
        return (self.kind != NONE).sum(1)

    @property
    def flat(self) -> EditLists:
        """The edits of all lists, empty places included, as single edits: columns ``(n * m,)``."""
        return EditLists(self.codes.reshape(len(self.codes), -1), self.number.reshape(-1))

    def each(self) -> list[EditLists]:
        """Every list by itself, without its empty places, for lists that are packed."""
        ends = np.maximum(self.n_edits, 1).tolist()
        return [EditLists(self.codes[:, i : i + 1, :m], self.number[i : i + 1, :m]) for i, m in enumerate(ends)]

    def widened(self, m: int) -> EditLists:
        """The same with at least m places."""
        return self if m <= self.number.shape[1] else EditLists.concatenate([self, EditLists.empty(0, m)])

    def take(self, rows: Any) -> EditLists:
        """Those of the lists; with a pair of rows and places, single edits."""
        if isinstance(rows, np.ndarray) and rows.dtype.kind == "i":  # by far the most frequent, so by the fastest way
            return EditLists(self.codes.take(rows, axis=1), self.number.take(rows, axis=0))
        at = rows if isinstance(rows, tuple) else (rows,)
        return EditLists(self.codes[(slice(None), *at)], self.number[at])

    def copy(self) -> EditLists:
        """The same, to be written into."""
        return EditLists(self.codes.copy(), self.number.copy())

    def replaced(self, number: Any = None, **columns: Any) -> EditLists:
        """The same with some columns replaced."""
        codes = self.codes
        if columns:
            codes = codes.copy()
            for name, values in columns.items():
                codes[_COLUMNS.index(name)] = values
        return EditLists(codes, self.number if number is None else np.asarray(number, float))

    def packed(self) -> EditLists:
        """The same with all empty places at the end, and no more of them than needed."""
        empty = self.kind == NONE
        most = max(1, int((~empty).sum(1).max(initial=0)))
        if (empty[:, :-1] <= empty[:, 1:]).all():
            return EditLists(self.codes[:, :, :most], self.number[:, :most])
        order = np.argsort(empty, axis=1, kind="stable")[:, :most]
        return self.take((np.arange(len(self))[:, None], order))

    def last_of_each_feature(self) -> EditLists:
        """The same without edits that a later edit of the same feature undoes: in a table each sets a value."""
        undone = self.kind != NONE
        rows, places = np.nonzero(undone)
        key = rows * (self.feature.max(initial=0) + 1) + self.feature[rows, places]
        # From the last place to the first: what comes first of each feature is kept.
        last = len(key) - 1 - np.unique(key[::-1], return_index=True)[1]
        undone[rows[last], places[last]] = False
        return self.replaced(kind=np.where(undone, NONE, self.kind)).packed() if undone.any() else self

    def at(self, place: NDArray[np.int64]) -> EditLists:
        """The edit at that place ``(n,)`` of each list, columns ``(n,)``."""
        at = np.arange(len(place)) * self.number.shape[1] + place
        return EditLists(self.codes.reshape(len(self.codes), -1).take(at, axis=1), self.number.take(at))

    def put(self, rows: NDArray[Any] | None, place: NDArray[np.int64], edits: EditLists) -> None:
        """Write single edits, columns ``(n,)``, to that place ``(n,)`` of the lists marked ``(n,)``, None for all."""
        if rows is None:
            at = np.arange(len(place))
        else:
            at = rows.nonzero()[0]
            place, edits = place.take(at), edits.take(at)
        self.codes[:, at, place] = edits.codes
        self.number[at, place] = edits.number
