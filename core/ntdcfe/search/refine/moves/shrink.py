"""Give changes back: of windows, of features, of random cells, and of single cells by bisection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Outcome, Search
from ntdcfe.search.draws import one_of
from ntdcfe.search.refine.moves.base import Memory, Move
from ntdcfe.search.refine.scaling import between


@dataclass(frozen=True, repr=False)
class ShrinkTuning:
    """Numbers of shrinking; rules of thumb.

    Parameters
    ----------
    share_alone : float
        The share of proposals that take single cells back, each by bisection.
    spare : float
        How many times as many others are made as are asked about: some have been asked about before.
    """

    share_alone: float = 0.3
    spare: float = 1.5

    __repr__ = typed_back


class Shrink(Move):
    """The change multiplied by a share from 0 to 1 in some of its cells."""

    most_share = 1.0
    fewest = 2

    def __init__(self, search: Search, memory: Memory) -> None:
        super().__init__(search, memory)
        self.tuning = search.settings.tuning.shrink
        self._step = np.ones(search.space.original.size)
        """The share of its change that each cell is next asked to give up alone."""
        self._alone = np.empty(0, int)
        self._asked_of: NDArray[Any] | None = None

    def propose(self, base: NDArray[Any], n: int) -> NDArray[Any]:
        """Single cells first, then others that have not been asked about since the last move."""
        cells = np.flatnonzero(base != self.search.space.original)
        if self.search.settings.shape == "to_end":
            return self._times(base, cells, _suffix_shrinks(cells, base.shape, n, self.search.rng))
        single = self._singles(base, cells, int(n * self.tuning.share_alone))
        ratio = _shrinks(cells, base.shape, int((n - len(single)) * self.tuning.spare), self.search.rng)
        return self._times(base, cells, np.concatenate([single, self._unasked(base, ratio, n - len(single))]))

    def learn(self, outcome: Outcome, better: NDArray[np.bool_]) -> None:
        """A cell that was refused alone is next asked for half as much."""
        self._step[self._alone[~better[: len(self._alone)]]] /= 2

    def moved(self, by: Move | None) -> None:
        """After a move of another kind cells that were refused may give way."""
        if by is not None and by is not self:
            self._step[:] = 1.0

    def _singles(self, base: NDArray[Any], cells: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """What to multiply the change by ``(m, cells)``: one cell in each, those with most to give first."""
        space, objective = self.search.space, self.search.objective
        worth = np.zeros(base.size)
        worth[cells] = objective.of_changes((base - space.original).ravel()[cells], cells)
        worth *= self._step
        worth.reshape(base.shape)[:, space.discrete] = 0.0
        self._alone = np.argsort(-worth, kind="stable")[: min(n, np.count_nonzero(worth))]
        ratio = np.ones((len(self._alone), len(cells)))
        ratio[np.arange(len(ratio)), np.searchsorted(cells, self._alone)] -= self._step[self._alone]
        return ratio

    def _unasked(self, base: NDArray[Any], ratio: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """The first n rows of `ratio` ``(m, cells)`` that have not been asked about since the last move."""
        if self._asked_of is not base:
            self._asked_of, self._asked = base, np.empty(0)
            self._mark = self.search.rng.random(ratio.shape[1])
        marks = ratio @ self._mark
        _, first = np.unique(marks, return_index=True)
        new = np.sort(first[~np.isin(marks[first], self._asked)])[:n]
        self._asked = np.concatenate([self._asked, marks[new]])
        return ratio[new]

    def _times(self, base: NDArray[Any], cells: NDArray[np.int64], ratio: NDArray[np.float64]) -> NDArray[Any]:
        """The change with its cells multiplied by `ratio` ``(n, cells)``: states ``(n, K, F)``."""
        space = self.search.space
        states = np.repeat(space.original.reshape(1, -1), len(ratio), axis=0)
        discrete = space.discrete[cells % len(space.discrete)]
        states[:, cells] = between(space.original.ravel()[cells], base.ravel()[cells], ratio, discrete)
        return states.reshape(-1, *base.shape)


def _shrinks(cells: NDArray[np.int64], shape: tuple[int, ...], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What to multiply the changes of `cells` by: nothing, or part, of a window, of features, or of random cells.

    `cells` are positions in a series of that shape ``(K, F)``; the result is ``(n, cells)``.
    """
    n_steps, n_features = shape
    steps, features = np.divmod(cells, n_features)
    step, feature = np.divmod(one_of(cells, n, rng), n_features)
    # A window around a changed cell, of any order of magnitude, on one side or both, of one feature or all.
    width: NDArray[np.int64] = (n_steps ** rng.random(n)).astype(int) - (rng.random(n) < 0.5)
    first = step - np.where(rng.random(n) < 0.33, 0, width)
    last = step + np.where(rng.random(n) < 0.33, 0, width)
    in_time = (steps >= first[:, None]) & (steps <= last[:, None])
    in_features = (features == feature[:, None]) | (rng.random(n) < 0.15)[:, None]
    factor = np.where(rng.random(n) < 0.5, 0.0, 1 - 0.5 ** rng.uniform(0.3, 5, n))
    chosen = in_time & in_features
    # Or any subset: of the features, the more of them there are the likelier, or of the changed cells.
    kind = rng.random(n)
    of_features = kind < 0.3 * (1 - 1 / np.sqrt(len(np.unique(features))))
    of_cells = ~of_features & (kind > 0.75)
    subset = rng.random((of_features.sum(), n_features)) < rng.random(of_features.sum())[:, None]
    chosen[of_features] = subset[:, features]
    chosen[of_cells] = rng.random((of_cells.sum(), len(cells))) < (rng.random(of_cells.sum()) ** 2)[:, None]
    return np.where(chosen, factor[:, None], 1.0)


def _suffix_shrinks(
    cells: NDArray[np.int64], shape: tuple[int, ...], n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Like `_shrinks`, but what is left of a feature's change still holds to the end: start later, or be weaker."""
    n_steps, n_features = shape
    steps, features = np.divmod(cells, n_features)
    changed, first = np.unique(features, return_index=True)  # cells are in order of time
    picked = rng.integers(0, len(changed), n)
    start = steps[first[picked]]
    later = start + (n_steps - start) ** rng.random(n)
    factor = np.where(rng.random(n) < 0.3, 0.0, 1 - 0.5 ** rng.uniform(0.3, 7, n))[:, None]
    change = np.where((rng.random(n) < 0.5)[:, None], np.where(steps < later[:, None], 0.0, 1.0), factor)
    in_features = (features == changed[picked, None]) | (rng.random(n) < 0.15)[:, None]
    return np.where(in_features, change, 1.0)
