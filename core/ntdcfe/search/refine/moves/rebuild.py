"""Build another change that should do what the present one does: the cells that a regression finds most efficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Outcome, Search
from ntdcfe.search.draws import one_of, weighted
from ntdcfe.search.refine.moves.base import Memory, Move


@dataclass(frozen=True, repr=False)
class RebuildTuning:
    """Numbers of rebuilding; rules of thumb.

    Parameters
    ----------
    amplitudes, amplitudes_of_rows : tuple of float
        Shares of their reach that added cells are moved by: models of thresholds want little, linear ones all. All
        of it more often, until something else has won; of a row's few cells, little is never enough.
    kept : tuple of float
        Shares of the present change that are kept, the most efficient cells first.
    goals : tuple of float
        How far past the boundary the regression should see the rebuilt change, as a multiple of the present one.
    """

    amplitudes: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0)
    amplitudes_of_rows: tuple[float, ...] = (0.5, 0.75, 1.0, 1.0)
    kept: tuple[float, ...] = (0.0, 0.3, 0.6, 0.8, 0.9)
    goals: tuple[float, ...] = (0.9, 1.0, 1.1, 1.3, 1.6, 2.2)

    __repr__ = typed_back


class Rebuild(Move):
    """Part of the present change, and cells that promise most for their cost."""

    joins = False

    def __init__(self, search: Search, memory: Memory) -> None:
        super().__init__(search, memory)
        self.tuning = search.settings.tuning.rebuild
        series = search.space.n_steps > 1
        self._amplitudes = np.array(self.tuning.amplitudes if series else self.tuning.amplitudes_of_rows)
        self._credit = np.ones(len(self._amplitudes))
        self._kept, self._goals = np.array(self.tuning.kept), np.array(self.tuning.goals)
        self._units = np.tile(search.space.units, search.space.n_steps)
        self._picked = np.empty(0, int)

    @property
    def possible(self) -> bool:
        """Whether the regression has something to say."""
        return self.memory.promises is not None

    def propose(self, base: NDArray[Any], n: int) -> NDArray[Any]:
        """The most efficient part of the present change is kept; cells that promise most for their cost are added.

        They are moved by a share of their reach, until the regression says that the boundary is passed. Discrete
        cells are kept as they are.
        """
        space, objective, rng, known = self.search.space, self.search.objective, self.search.rng, self.memory.promises
        assert known is not None
        self._picked = weighted(self._credit, n, rng)
        amplitude = self._amplitudes[self._picked][:, None]
        change = (base - space.original).ravel()
        cells = np.flatnonzero(change)
        change = change[cells]

        # What each changed cell gives for its cost now, and its place among them.
        held = known.effects[:, cells] * (change / self._units[cells])
        discrete = space.discrete[cells % len(space.discrete)]
        efficiency = held / (objective.of_changes(change, cells) + objective.price_of_cell)
        rank = np.argsort(np.argsort(-efficiency, axis=1), axis=1)

        draw = rng.integers(0, len(held), n)
        kept = rank[draw] < (one_of(self._kept, n, rng) * len(cells))[:, None]
        kept |= discrete
        goal = np.maximum(held.sum(1), 1e-9)[draw] * one_of(self._goals, n, rng)
        missing = goal - (held[draw] * kept).sum(1)

        # Which of the promising cells are among the changed cells that are kept.
        stay = np.zeros((n, base.size), bool)
        stay[:, cells] = kept
        stays = stay.ravel().take(known.order.take(draw, axis=0) + base.size * np.arange(n)[:, None])
        gain = known.gain.take(draw, axis=0) * amplitude * ~stays
        added = (np.cumsum(gain, 1) - gain < missing[:, None]) & (gain > 0)
        rows = np.repeat(space.original.reshape(1, -1), n, axis=0)
        row, place = added.nonzero()  # few
        moves = known.move[draw[row], place] * amplitude[row, 0]
        rows[row, known.order[draw[row], place]] += moves.astype(rows.dtype)
        rows[:, cells] += np.where(kept, change, 0.0)
        return rows.reshape(n, *base.shape)

    def learn(self, outcome: Outcome, better: NDArray[np.bool_]) -> None:
        """Amplitudes that won are taken more often."""
        np.add.at(self._credit, self._picked[: len(better)][better], 1)
