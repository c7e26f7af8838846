"""Give up a changed cell for one to three others that cost less together.

Models of thresholds, forests above all, are won by many small changes in the right cells. Which cells those are shows
only at the boundary, where one of them decides: what held is remembered, of the cell and of its feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment

# How many cells are taken for one, and how often.
COUNTS, CHANCES = np.array([1, 2, 3]), np.array([0.6, 0.25, 0.15])
# The share of the price of the cell given up that those taken for it may cost.
LEAST_SHARE, MOST_SHARE = 0.1, 0.95
# What a feature is taken to have done before anything is known, and the tries that its record counts for in its cells.
HELD_BEFORE, TRIED_BEFORE, TRIES_OF_FEATURE = 0.3, 6.0, 1.0


class Trial(NamedTuple):
    """Exchanges to ask about: states ``(n, K, F)``, and the moves each takes ``(n, 3)``, `used` or not."""

    states: NDArray[Any]
    moves: NDArray[np.int64]
    used: NDArray[np.bool_]


class Exchanges:
    """Proposes exchanges and remembers which moves, a cell up or down, held in them.

    Parameters
    ----------
    environment : Environment
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        size = environment.original.size
        # Moves are counted like cells: first all of them up, then all of them down.
        self._free = np.flatnonzero(np.tile((environment.movable & ~environment.discrete).ravel(), 2))
        self._held, self._tried = np.zeros(2 * size), np.zeros(2 * size)
        n_steps = len(environment.original)
        self._units, self._weights = np.tile(environment.units, n_steps), np.tile(environment.weights, n_steps)
        self._discrete = np.tile(environment.discrete, n_steps)

    @property
    def possible(self) -> bool:
        """Whether there are cells to take: numbers that may be moved."""
        return len(self._free) > 0

    def propose(self, base: NDArray[Any], n: int, rng: np.random.Generator) -> Trial:
        """About n exchanges of changed cells of `base` ``(K, F)``, costly ones more often."""
        original, now, price = self.environment.original.ravel(), base.ravel(), self.environment.sparsity_weight
        cells = np.flatnonzero(now != original)
        change = np.where(self._discrete[cells], 1.0, np.abs(now[cells] - original[cells]) / self._units[cells])
        cost = self._weights[cells] * change + price
        given_up = rng.choice(len(cells), n, p=cost / cost.sum())
        count = rng.choice(COUNTS, n, p=CHANCES)[:, None]
        moves = self._free[rng.choice(len(self._free), (n, len(COUNTS)), p=self._chances())]
        used = np.arange(len(COUNTS)) < count
        upward, cell = moves < now.size, moves % now.size

        budget = np.maximum(cost[given_up, None] / count - price, 0.0)
        size = rng.uniform(LEAST_SHARE, MOST_SHARE, (n, 1)) * budget / self._weights[cell] * self._units[cell]
        rows, at = np.repeat(now[None], n, axis=0), np.arange(n)
        rows[at, cells[given_up]] = original[cells[given_up]]
        for i in range(len(COUNTS)):
            step = np.where(used[:, i], np.where(upward, size, -size)[:, i], 0.0)
            rows[at, cell[:, i]] += step.astype(rows.dtype)
        return Trial(rows.reshape(n, *base.shape), moves, used)

    def learn(self, trial: Trial, valid: NDArray[np.bool_]) -> None:
        """Remember what held: of several moves, each is to blame or to thank for its share."""
        share = np.broadcast_to(1 / trial.used.sum(1, keepdims=True), trial.used.shape)
        held = trial.used & valid[:, None]
        np.add.at(self._tried, trial.moves[trial.used], share[trial.used])
        np.add.at(self._held, trial.moves[held], share[held])

    def _chances(self) -> NDArray[np.float64]:
        """How often each of the free moves is tried: what held tends to hold again."""
        by_feature = (2, *self.environment.original.shape)
        held, tried = self._held.reshape(by_feature), self._tried.reshape(by_feature)
        rate = (held.sum(1, keepdims=True) + HELD_BEFORE) / (tried.sum(1, keepdims=True) + TRIED_BEFORE)
        rate = (held + TRIES_OF_FEATURE * rate) / (tried + TRIES_OF_FEATURE)
        chances = rate.ravel()[self._free] ** 2
        return np.asarray(chances / chances.sum())
