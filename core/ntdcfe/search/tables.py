"""Rows of a table: one feature after the other, the most promising first.

What single features do to the score tells which to change together, so that sparse counterfactuals are found
from below rather than shrunk from above; where they do nothing alone and several counterfactuals are wanted, what
they do in the company of others does. Where a model gives labels only, and several counterfactuals are wanted,
features that do nothing alone are put together at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Asks, Search
from ntdcfe.search.screening import screen, worth_screening


@dataclass(frozen=True, repr=False)
class TableTuning:
    """Numbers of the search in rows of a table; rules of thumb, chosen on DiCE's datasets (benchmarks/results/dice.md).

    Parameters
    ----------
    share_for_singles, share_for_sets : float
        Share of the budget for single features, and for sets that are put together at random; sets that the score
        tells may have twice that.
    bases : int
        How many sets are built upon.
    most_together : int
        Most changes that are put together at random.
    most_choices : int
        Most values of a discrete feature that are tried.
    """

    share_for_singles: float = 0.4
    share_for_sets: float = 0.5
    bases: int = 6
    most_together: int = 4
    most_choices: int = 4

    __repr__ = typed_back


def grow(search: Search) -> Asks:
    """Single features at a few values each; then, as long as none is valid and the score rises, sets of them."""
    space, pool, n, tuning = search.space, search.pool, search.budget.batch_size, search.settings.tuning.tables
    asked: list[tuple[Changes, NDArray[np.bool_], NDArray[np.float64] | None]] = []
    complete = True
    for singles in _singles(search, n):
        if not search.left(tuning.share_for_singles):
            complete = False
            break
        outcome = yield from search.ask(singles)
        asked.append((Changes.of(outcome.states, space.original), outcome.valid, outcome.score))
    if not asked:
        return
    parts, valid = [entry[0] for entry in asked], np.concatenate([entry[1] for entry in asked])
    scores = [entry[2] for entry in asked if entry[2] is not None]
    known = Changes.concatenate(parts)
    search.singles = Singles(known, valid, np.concatenate(scores) if len(scores) == len(asked) else None, complete)
    if len(scores) < len(asked):
        if search.settings.n_counterfactuals > 1:
            yield from _random_sets(search, known.take(np.flatnonzero(~valid)))
        return
    score = np.concatenate(scores)
    gain, feature = score - np.median(score), known.first  # most features do nothing alone
    bases: NDArray[Any] | None = None  # those of the last batch; at first, the single changes
    while not len(pool) and search.left(2 * tuning.share_for_sets):
        # Every base that is not valid yet, with every change of a feature that it leaves alone:
        best = np.flatnonzero(~valid)[np.argsort(-score[~valid], kind="stable")[: tuning.bases]]
        some = known.states(best, space.original) if bases is None else bases[best]
        alone = (some == space.original)[:, 0, feature]
        promise = np.where(alone & (gain > 0), score[best, None] + gain, -np.inf)
        order = np.argsort(-promise, axis=None, kind="stable")[: min(n, np.isfinite(promise).sum())]
        if not len(order):
            break
        base, single = np.divmod(order, len(gain))
        change = known.states(single, space.original) - space.original
        bases, valid, answers, _ = yield from search.ask(some[base] + change)
        assert answers is not None
        score = answers
    if not len(pool) and search.settings.n_counterfactuals > 1 and worth_screening(search):
        yield from screen(search, known.states(np.arange(len(known)), space.original), _ends(search))


def _random_sets(search: Search, idle: Changes) -> Asks:
    """Two to four changes that did nothing alone, together, as long as nothing is valid."""
    space, rng, n, tuning = search.space, search.rng, search.budget.batch_size, search.settings.tuning.tables
    if len(idle) < 2:
        return
    while not len(search.pool) and search.left(tuning.share_for_sets):
        rank = rng.random((n, len(idle))).argsort(1).argsort(1)
        together = rank < rng.integers(2, tuning.most_together + 1, n)[:, None]
        states = np.repeat(space.original[None], n, axis=0)
        for row, chosen in enumerate(together):
            change = idle.states(np.flatnonzero(chosen), space.original) - space.original
            states[row] += change.sum(0)
        yield from search.ask(states)


class Changes(NamedTuple):
    """n states ``(n, K, F)`` by the cells in which they differ from the original: few, in rows of ten thousand.

    `cells` and `values` are of all states in their order, `ends` ``(n,)`` tells where those of each end.
    """

    cells: NDArray[np.int64]
    values: NDArray[Any]
    ends: NDArray[np.int64]

    @staticmethod
    def of(states: NDArray[Any], original: NDArray[Any]) -> Changes:
        """Those of states ``(n, K, F)``."""
        changed = (states != original).reshape(len(states), -1)
        return Changes(np.nonzero(changed)[1], states.reshape(len(states), -1)[changed], changed.sum(1).cumsum())

    @staticmethod
    def concatenate(parts: Sequence[Changes]) -> Changes:
        """Those of all parts, in order."""
        counts = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
        cells, values = (np.concatenate([part[i] for part in parts]) for i in range(2))
        return Changes(cells, values, counts.cumsum())

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.ends)

    @property
    def first(self) -> NDArray[np.int64]:
        """The first changed cell of each state ``(n,)``, 0 where none is."""
        start = self.ends - np.diff(self.ends, prepend=0)
        return np.where(start < self.ends, np.append(self.cells, 0)[start], 0)

    def take(self, rows: NDArray[np.int64]) -> Changes:
        """Those of some of the states ``(m,)``."""
        counts = np.diff(self.ends, prepend=0)[rows]
        at = np.repeat(self.ends[rows] - counts.cumsum(), counts) + np.arange(counts.sum())
        return Changes(self.cells[at], self.values[at], counts.cumsum())

    def states(self, rows: NDArray[np.int64], original: NDArray[Any]) -> NDArray[Any]:
        """Some of the states ``(m, K, F)``."""
        some = self.take(rows)
        states = np.repeat(original.reshape(1, -1), len(rows), axis=0)
        states[np.repeat(np.arange(len(rows)), np.diff(some.ends, prepend=0)), some.cells] = some.values
        return states.reshape(-1, *original.shape)


class Singles(NamedTuple):
    """What n single changes do: whether each is valid ``(n,)``, and its score ``(n,)`` if the model has one.

    `complete` tells whether every feature was asked about, at both ends of its reach.
    """

    changes: Changes
    valid: NDArray[np.bool_]
    score: NDArray[np.float64] | None
    complete: bool


def _ends(search: Search) -> NDArray[np.float64]:
    """How far down and up each feature may go ``(2, F)``."""
    space, original = search.space, search.space.original[0]
    furthest = search.settings.tuning.surrogate.unlimited * space.units
    return np.clip([space.low[0], space.high[0]], original - furthest, original + furthest)


def _singles(search: Search, n: int) -> Iterator[NDArray[Any]]:
    """The original with one feature at another value, in batches of n ``(n, 1, F)``.

    First the ends of each feature's reach, then half the way. Made when they are asked for: all of them together
    would take memory with the square of the number of features.
    """
    space, rng, tuning = search.space, search.rng, search.settings.tuning
    original, ends = space.original[0], _ends(search)
    numbers = np.flatnonzero(space.movable[0] & ~space.discrete)
    features, values = [np.repeat(numbers, 2)], [ends[:, numbers].T.ravel()]
    for i in np.flatnonzero(space.movable[0] & space.discrete):
        choices = space.choices[i]
        assert choices is not None
        others = choices != original[i]
        if i in space.limits.forbidden:
            others &= ~space.limits.forbidden[i][0]
        values.append(rng.permutation(choices[others])[: tuning.tables.most_choices])
        features.append(np.full(len(values[-1]), i))
    half = ((original + ends) / 2)[:, numbers].T.ravel()
    order = np.argsort(np.concatenate(features), kind="stable")
    feature = np.concatenate([np.concatenate(features)[order], features[0]])
    value = np.concatenate([np.concatenate(values)[order], half])
    waiting = np.empty((0, *space.original.shape), space.dtype)
    for start in range(0, len(feature), n):
        some = slice(start, start + n)
        states = np.repeat(space.original[None], len(feature[some]), axis=0)
        states[np.arange(len(states)), 0, feature[some]] = value[some]
        states = space.project(states)
        changed = (states != space.original).any((1, 2))
        states = states if changed.all() else states[changed]  # copies of wide rows take longer than all else here
        waiting = np.concatenate([waiting, states]) if len(waiting) else states
        if len(waiting) >= n:
            yield waiting[:n]
            waiting = waiting[n:]
    if len(waiting):
        yield waiting
