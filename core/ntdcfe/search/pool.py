"""The pool: the paper's set O of distinct valid counterfactuals, the least costly first."""

from __future__ import annotations

from bisect import insort
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.objective import VALUES_AT_ONCE
from ntdcfe.problem.problem import Problem
from ntdcfe.search.different import different


class Entry(NamedTuple):
    """A valid state ``(K, F)`` and what it costs."""

    cost: float
    sparsity: int
    state: NDArray[Any]


class Pool:
    """Valid states of one search, the least costly first, ties broken by sparsity.

    Beside the best of all it keeps the best of each niche: of those that change most the same feature in the same
    direction, and of those that change the same set of features.

    Parameters
    ----------
    problem : Problem
    keep : int
        How many of the best are kept, and how many niches of each kind.
    """

    def __init__(self, problem: Problem, keep: int = 100) -> None:
        self.problem = problem
        self.keep = keep
        self._seen: set[bytes] = set()
        self._entries: list[Entry] = []
        self._niches: dict[tuple[int, bool], Entry] = {}
        self._sets: dict[bytes, Entry] = {}  # the best of those that change the same features
        self._diverse: dict[int, list[NDArray[Any]]] = {}  # what was told last, until a state is taken in or forgotten

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def states(self) -> list[NDArray[Any]]:
        """The kept states ``(K, F)``, the best first."""
        return [entry.state for entry in self._entries]

    @property
    def best(self) -> NDArray[Any] | None:
        """The best state ``(K, F)``, None while there is none."""
        return self._entries[0].state if self._entries else None

    @property
    def best_cost(self) -> float:
        """Cost of the best, infinity while there is none."""
        return self._entries[0].cost if self._entries else np.inf

    @property
    def best_proximity(self) -> float:
        """Proximity of the best, infinity while there is none."""
        return float(self.problem.objective.proximity(self._entries[0].state[None])[0]) if self._entries else np.inf

    def niches(self) -> list[Entry]:
        """The best of those that lead with the same feature in the same direction, the best niche first."""
        return sorted(self._niches.values(), key=lambda entry: entry[:2])

    def add(self, x: NDArray[Any]) -> bool:
        """Take a valid state ``(K, F)`` in; tells whether it was new (and so, in Algorithm 1, ends the episode)."""
        key = key_of(x)
        if key in self._seen:
            return False
        self._diverse = {}
        self._seen.add(key)
        plausible, objective = self.problem.plausible, self.problem.objective
        if plausible is None or plausible(x[None])[0]:
            cost, sparsity = objective.cost_and_sparsity(x[None])
            self._insert(Entry(float(cost[0]), int(sparsity[0]), x.copy()))
        return True

    def extend(
        self, x: NDArray[Any], cost: NDArray[np.float64], sparsity: NDArray[np.int64], most: int | None = None
    ) -> None:
        """Take valid and plausible states ``(n, K, F)`` of known cost in, where they are good enough to be kept.

        Beside those that lead in their niche, at most the `most` best of them.
        """
        self._diverse = {}
        last = self._entries[-1].cost if len(self._entries) >= self.keep else np.inf
        best = np.argsort(cost, kind="stable")[:most]
        for i in best[cost[best] < last].tolist():
            key = key_of(x[i])
            if key not in self._seen:
                self._seen.add(key)
                self._insert(Entry(float(cost[i]), int(sparsity[i]), x[i].copy()))
        leads, rises, sets = self._by_feature(x)
        self._niches = self._updated(self._niches, _leaders(leads, rises, cost), x, cost, sparsity)
        self._sets = self._updated(self._sets, _least_of_sets(sets, cost), x, cost, sparsity)

    def replace(self, x: NDArray[Any]) -> None:
        """Keep these valid states ``(n, K, F)`` only."""
        self._entries, self._seen = [], set()
        self.extend(x, *self.problem.objective.cost_and_sparsity(x))

    def retain(self, x: NDArray[Any]) -> None:
        """Forget all but these valid states ``(n, K, F)``, niches included."""
        self._niches, self._sets, self._diverse = {}, {}, {}
        self._entries, self._seen = [], set()
        if len(x):
            self.extend(x, *self.problem.objective.cost_and_sparsity(x))

    def diverse(self, n: int) -> list[NDArray[Any]]:
        """Up to `n` states that differ in what they change, see :func:`different`; the best first."""
        if n not in self._diverse:
            self._diverse[n] = self._different(n)
        return list(self._diverse[n])

    def _different(self, n: int) -> list[NDArray[Any]]:
        known = [*self._entries, *self._niches.values(), *self._sets.values()]
        entries = sorted(known, key=lambda entry: entry[:2])
        pool = list({entry.state.tobytes(): entry.state for entry in entries}.values())
        if n == 1 or not pool:
            return pool[:n]
        return [pool[i] for i in sorted(different(self.problem, np.array(pool), n))]

    def _insert(self, entry: Entry) -> None:
        insort(self._entries, entry, key=lambda kept: kept[:2])
        del self._entries[self.keep :]
        # States that were seen and not kept may come again: remembering all of them would grow without bounds.
        if len(self._seen) > 100 * self.keep:
            self._seen = {key_of(kept.state) for kept in self._entries}

    def _updated(
        self,
        groups: dict[Any, Entry],
        least: dict[Any, int],
        x: NDArray[Any],
        cost: NDArray[np.float64],
        sparsity: NDArray[np.int64],
    ) -> dict[Any, Entry]:
        """The best of each group, after rows of `x` that are the least costly of theirs; the best groups are kept."""
        for group, i in least.items():
            if cost[i] < (groups[group].cost if group in groups else np.inf):
                groups[group] = Entry(float(cost[i]), int(sparsity[i]), x[i].copy())
        if len(groups) > self.keep:
            groups = dict(sorted(groups.items(), key=lambda item: item[1][:2])[: self.keep])
        return groups

    def _by_feature(self, x: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.uint8]]:
        """Of states ``(n, K, F)`` the feature that changes most, whether it rises ``(n,)``, and all that change.

        The last are bits ``(n, F / 8)``. A few states at a time: what is kept of each is small.
        """
        at_once = max(1, VALUES_AT_ONCE // x[0].size) if len(x) else 1
        parts = [self._of_some(x[start : start + at_once]) for start in range(0, max(len(x), 1), at_once)]
        leads, rises, sets = (np.concatenate(part) for part in zip(*parts, strict=True))
        return leads, rises, sets

    def _of_some(self, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        space = self.problem.space
        change = x - space.original
        shift = change.sum(1)
        size = np.einsum("nkf->nf", np.abs(change, out=change))  # half the time of .sum(1)
        if space.discrete.any():
            size = np.where(space.discrete, np.count_nonzero(change, axis=1), size)
            shift = np.where(space.discrete, size, shift)
        leads = self.problem.objective.of_features(size).argmax(1)
        return leads, shift[np.arange(len(shift)), leads] > 0, np.packbits(size > 0, axis=1)


def _least_of_sets(sets: NDArray[np.uint8], cost: NDArray[np.float64]) -> dict[bytes, int]:
    """The least costly row of each set of changed features, which are bits ``(n, F / 8)``."""
    width, bits = sets.shape[1], sets.tobytes()
    return {bits[width * i : width * (i + 1)]: i for i in np.argsort(-cost, kind="stable").tolist()}


def _leaders(
    leads: NDArray[np.int64], rises: NDArray[np.bool_], cost: NDArray[np.float64]
) -> dict[tuple[int, bool], int]:
    """The least costly row of each niche: the feature that changes most ``(n,)``, and whether it rises ``(n,)``."""
    order = np.argsort(cost, kind="stable")
    _, first = np.unique(2 * leads[order] + rises[order], return_index=True)
    return {(int(leads[i]), bool(rises[i])): int(i) for i in order[first]}


def key_of(state: NDArray[Any]) -> bytes:
    """A digest of a state ``(K, F)``: thousands of large states themselves would take gigabytes."""
    return blake2b(state.tobytes(), digest_size=16).digest()
