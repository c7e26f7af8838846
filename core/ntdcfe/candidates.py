"""The paper's set O: distinct valid counterfactuals, nearest first."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment
from ntdcfe.errors import InvalidInputError

#: ``(n, K, D)`` or ``(n, D)``, as the model sees them ``-> (n,)`` bool
Plausible = Callable[[NDArray[Any]], Any]


class Entry(NamedTuple):
    """A valid state ``(K, F)`` and what it costs."""

    cost: float
    sparsity: int
    state: NDArray[Any]


class Candidates:
    """Valid states of one search, the least costly first, ties broken by sparsity.

    Parameters
    ----------
    environment : Environment
    plausible : callable, optional
        Takes states ``(n, K, F)`` and tells which may enter ``(n,)``.
    keep : int
        How many of the best are kept, and how many of those that lead in their niche.
    """

    def __init__(
        self,
        environment: Environment,
        plausible: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None,
        keep: int = 100,
    ) -> None:
        self.environment = environment
        self.plausible = plausible
        self.keep = keep
        self.n_implausible = 0
        self._seen: set[bytes] = set()
        self._entries: list[Entry] = []
        self._niches: dict[tuple[int, bool], Entry] = {}
        self._sets: dict[bytes, Entry] = {}  # the best of those that change the same features

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def n_sets(self) -> int:
        """How many different sets of features valid states change."""
        return len(self._sets)

    @property
    def states(self) -> list[NDArray[Any]]:
        """The kept states ``(K, F)``, the best first."""
        return [entry.state for entry in self._entries]

    @property
    def best_cost(self) -> float:
        """Cost of the best, infinity while there is none."""
        return self._entries[0].cost if self._entries else np.inf

    @property
    def best_proximity(self) -> float:
        """Proximity of the best, infinity while there is none."""
        return float(self.environment.proximity(self._entries[0].state[None])[0]) if self._entries else np.inf

    def niches(self) -> list[Entry]:
        """The best of those that lead with the same feature in the same direction, the best niche first."""
        return sorted(self._niches.values(), key=lambda entry: entry[:2])

    def add(self, x: NDArray[Any]) -> bool:
        """Take a valid state ``(K, F)`` in; tells whether it was new (and so, in Algorithm 1, ends the episode)."""
        key = _key(x)
        if key in self._seen:
            return False
        self._seen.add(key)
        if self.plausible is not None and not self.plausible(x[None])[0]:
            self.n_implausible += 1
            return True
        self._insert(
            Entry(float(self.environment.cost(x[None])[0]), int(self.environment.sparsity(x[None])[0]), x.copy())
        )
        return True

    def extend(
        self, x: NDArray[Any], cost: NDArray[np.float64], sparsity: NDArray[np.int64], most: int | None = None
    ) -> None:
        """Take valid and plausible states ``(n, K, F)`` of known cost in, where they are good enough to be kept.

        Beside those that lead in their niche, at most the `most` best of them.
        """
        last = self._entries[-1].cost if len(self._entries) >= self.keep else np.inf
        best = np.argsort(cost, kind="stable")[:most]
        for i in best[cost[best] < last]:
            key = _key(x[i])
            if key not in self._seen:
                self._seen.add(key)
                self._insert(Entry(float(cost[i]), int(sparsity[i]), x[i].copy()))
        size, shift = self._by_feature(x)
        leaders = _leaders(size * self.environment.weights / self.environment.units, shift, cost)
        self._niches = self._updated(self._niches, leaders, x, cost, sparsity)
        self._sets = self._updated(self._sets, _least_of_sets(size, cost), x, cost, sparsity)

    def replace(self, x: NDArray[Any]) -> None:
        """Keep these valid states ``(n, K, F)`` only."""
        self._entries, self._seen = [], set()
        self.extend(x, *self.environment.cost_and_sparsity(x))

    def retain(self, x: NDArray[Any]) -> None:
        """Forget all but these valid states ``(n, K, F)``, niches included."""
        self._niches, self._sets = {}, {}
        self._entries, self._seen = [], set()
        if len(x):
            self.extend(x, *self.environment.cost_and_sparsity(x))

    def diverse(self, n: int) -> list[NDArray[Any]]:
        """Up to `n` states, the best first, that share less than half of the cells they change; then others."""
        known = [*self._entries, *self._niches.values(), *self._sets.values()]
        entries = sorted(known, key=lambda entry: entry[:2])
        pool = list({entry.state.tobytes(): entry.state for entry in entries}.values())
        changed = [state != self.environment.original for state in pool]
        chosen: list[int] = []
        for overlap in (0.5, 1.0, np.inf):
            for i, cells in enumerate(changed):
                if len(chosen) == n:
                    break
                shared = [(cells & changed[j]).sum() / max((cells | changed[j]).sum(), 1) for j in chosen]
                if i not in chosen and all(share < overlap for share in shared):
                    chosen.append(i)
        return [pool[i] for i in sorted(chosen)]

    def _insert(self, entry: Entry) -> None:
        insort(self._entries, entry, key=lambda kept: kept[:2])
        del self._entries[self.keep :]
        # What was seen and not kept may come again; remembering all of it would grow without bounds.
        if len(self._seen) > 100 * self.keep:
            self._seen = {_key(kept.state) for kept in self._entries}

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

    def _by_feature(self, x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """How much each feature of states ``(n, K, F)`` changes, and in sum ``(n, F)``."""
        environment = self.environment
        change = x - environment.original
        shift = change.sum(1)
        size = np.abs(change, out=change).sum(1)
        if environment.discrete.any():
            size = np.where(environment.discrete, np.count_nonzero(change, axis=1), size)
            shift = np.where(environment.discrete, size, shift)
        return size, shift


def _least_of_sets(size: NDArray[Any], cost: NDArray[np.float64]) -> dict[bytes, int]:
    """The least costly row of each set of changed features, from how much each changes ``(n, F)``."""
    sets = np.packbits(size > 0, axis=1)
    return {sets[i].tobytes(): int(i) for i in np.argsort(-cost, kind="stable")}


def _leaders(size: NDArray[Any], shift: NDArray[Any], cost: NDArray[np.float64]) -> dict[tuple[int, bool], int]:
    """The least costly row of each niche: the feature that changes most, and whether it rises."""
    feature = size.argmax(1)
    rises = shift[np.arange(len(shift)), feature] > 0
    order = np.argsort(cost, kind="stable")
    _, first = np.unique(2 * feature[order] + rises[order], return_index=True)
    return {(int(feature[i]), bool(rises[i])): int(i) for i in order[first]}


def _key(state: NDArray[Any]) -> bytes:
    """A digest: thousands of large states themselves would take gigabytes."""
    return blake2b(state.tobytes(), digest_size=16).digest()


class LocalOutlierDetector:
    """A ready in-distribution test for those who have reference data, after the paper's appendix.

    Wraps scikit-learn's ``LocalOutlierFactor(novelty=True)``; needs scikit-learn.

    Parameters
    ----------
    reference : array (N, K, D) or (N, D)
        Series that count as usual.
    **options
        Passed on to ``LocalOutlierFactor``.
    """

    def __init__(self, reference: NDArray[Any], **options: Any) -> None:
        try:
            from sklearn.neighbors import LocalOutlierFactor
        except ImportError as missing:
            raise ImportError("LocalOutlierDetector needs scikit-learn: pip install scikit-learn") from missing
        reference = np.asarray(reference, dtype=float)
        if reference.ndim not in (2, 3) or len(reference) < 2 or not np.isfinite(reference).all():
            raise InvalidInputError(
                f"reference must be (N, K, D) or (N, D) with N >= 2 and no NaN, got shape {reference.shape}."
            )
        options = {"n_neighbors": min(20, len(reference) - 1), **options}
        self._detector = LocalOutlierFactor(novelty=True, **options).fit(reference.reshape(len(reference), -1))

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows are in distribution ``(n,)``."""
        return np.asarray(self._detector.predict(rows.reshape(len(rows), -1)) == 1)
