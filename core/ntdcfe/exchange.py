"""Give up a changed cell for others that cost less together.

Models of thresholds, forests above all, are won by many small changes in the right cells. Which cells those are shows
only at the boundary, where one of them decides. To hit upon one by chance takes hundreds of tries; a crowd of cells
holds far more often, and is then halved until what is left of it costs less than the cell given up. What held is
remembered, of the cell and of its feature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment

# How many cells are to take the place of one in the end, and how often.
COUNTS, CHANCES = np.array([1, 2, 3]), np.array([0.6, 0.25, 0.15])
# How many times as many are taken at first; what pays most is taken most.
CROWDS = np.array([1, 4, 16, 64])
# Most cells of a crowd; and the share of all moves that it may take.
MOST, MOST_OF_MOVES = int(CROWDS[-1]), 0.25
# The share of the price of the cell given up that those taken for it may cost in the end.
LEAST_SHARE, MOST_SHARE = 0.1, 0.95
# How often a crowd is halved in a batch; after so many batches in vain it is given up.
SPLITS, VAIN = 2, 2
# The most of a batch that halves crowds, and the most crowds that wait for it.
MOST_HALVED, MOST_WAITING = 0.6, 40
# What a feature is taken to have done before anything is known, and the tries that its record counts for in its cells.
HELD_BEFORE, TRIED_BEFORE, TRIES_OF_FEATURE = 0.3, 6.0, 1.0
# What a size of crowds is taken to have done before anything is known.
CROWDS_HELD, CROWDS_TRIED = 1.0, 4.0


class Crowds(NamedTuple):
    """Exchanges of one cell for a crowd: the cell ``(n,)``, moves ``(n, MOST)`` if `used`, what each may cost ``(n,)``.

    `vain` ``(n,)`` counts the batches that could not halve it.
    """

    given_up: NDArray[np.int64]
    moves: NDArray[np.int64]
    used: NDArray[np.bool_]
    expense: NDArray[np.float64]
    vain: NDArray[np.int64]

    def take(self, rows: Any) -> Crowds:
        """Those rows of all columns."""
        return Crowds(*(column[rows] for column in self))

    @staticmethod
    def concatenate(parts: list[Crowds]) -> Crowds:
        """All parts, in order."""
        return Crowds(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


NOBODY = Crowds(np.empty(0, int), np.empty((0, MOST), int), np.empty((0, MOST), bool), np.empty(0), np.empty(0, int))


class Trial(NamedTuple):
    """Exchanges to ask about: states ``(n, K, F)`` of `crowds`.

    The first ``2 * SPLITS * n_halved`` are halves of the first of those `under_way`, the rest are new, of sizes `size`.
    """

    states: NDArray[Any]
    crowds: Crowds
    under_way: Crowds
    n_halved: int
    size: NDArray[np.int64]


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
        self._crowds_held, self._crowds_tried = np.full(len(CROWDS), CROWDS_HELD), np.full(len(CROWDS), CROWDS_TRIED)
        self._units, self._weights = (environment.per_cell(each) for each in (environment.units, environment.weights))
        self._discrete = environment.per_cell(environment.discrete)

    @property
    def possible(self) -> bool:
        """Whether there are cells to take: numbers that may be moved."""
        return len(self._free) > 0

    def propose(self, base: NDArray[Any], n: int, under_way: Crowds, rng: np.random.Generator) -> Trial:
        """About n exchanges of changed cells of `base` ``(K, F)``: halves of crowds under way, and new ones."""
        now = base.ravel()
        # What was to be given up may be gone, or have become cheaper.
        worth = self._change(now, under_way.given_up)
        under_way = under_way.take(worth > under_way.expense)
        n_halved = min(len(under_way.given_up), int(n * MOST_HALVED) // (2 * SPLITS))
        halved = under_way.take(slice(n_halved))
        parts = []
        for half in _halves(halved.used, rng):
            parts += [halved._replace(used=halved.used & part) for part in (half, ~half)]
        new, size = self._new(now, n - 2 * SPLITS * n_halved, rng)
        crowds = Crowds.concatenate([*parts, new])
        return Trial(self._states(now, crowds).reshape(-1, *base.shape), crowds, under_way, n_halved, size)

    def learn(self, trial: Trial, valid: NDArray[np.bool_], better: NDArray[np.bool_]) -> Crowds:
        """Remember what held; returns the crowds that are under way now, the smallest first.

        Of many moves, each is to blame or to thank for its share.
        """
        crowds, n_halved, now = trial.crowds, trial.n_halved, trial.under_way
        n_members = crowds.used.sum(1)
        row, column = np.nonzero(crowds.used)
        moves, share = crowds.moves[row, column], 1 / n_members[row]
        np.add.at(self._tried, moves, share)
        np.add.at(self._held, moves, share * valid[row])
        n_halves = 2 * SPLITS * n_halved
        np.add.at(self._crowds_tried, trial.size, 1.0)
        np.add.at(self._crowds_held, trial.size, valid[n_halves:])

        # Of the halves that held, the smallest goes on, unless it is what was looked for.
        members = np.where(valid, n_members, MOST + 1)[:n_halves].reshape(2 * SPLITS, n_halved)
        smallest = members.argmin(0) * n_halved + np.arange(n_halved)
        held = members.min(0, initial=MOST + 1) <= MOST
        goes_on = crowds.take(smallest[held & ~better[smallest]])
        again = now.take(np.flatnonzero(~held))
        again = again._replace(vain=again.vain + 1)
        new = crowds.take(n_halves + np.flatnonzero(valid[n_halves:] & ~better[n_halves:]))
        rest = [goes_on._replace(vain=0 * goes_on.vain), again.take(again.vain < VAIN), now.take(slice(n_halved, None))]
        left = Crowds.concatenate([*rest, new])
        return left.take(np.argsort(left.used.sum(1), kind="stable")[:MOST_WAITING])

    def _change(self, now: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the changes of cells ``(n,)`` of a state ``(K * F,)`` cost, without the price of a changed cell."""
        change = np.abs(now[cells] - self.environment.original.ravel()[cells]) / self._units[cells]
        return np.asarray(self._weights[cells] * np.where(self._discrete[cells], change > 0, change))

    def _new(self, now: NDArray[Any], n: int, rng: np.random.Generator) -> tuple[Crowds, NDArray[np.int64]]:
        """Crowds for changed cells, costly ones more often, and which of the sizes they are of ``(n,)``."""
        cells, price = np.flatnonzero(now != self.environment.original.ravel()), self.environment.sparsity_weight
        cost = self._change(now, cells) + price
        given_up = rng.choice(len(cells), n, p=cost / cost.sum())
        count = rng.choice(COUNTS, n, p=CHANCES)
        # What a row wins, if a crowd that holds takes more rows until it is halved often enough.
        wins = self._crowds_held / self._crowds_tried
        wins /= 1 + wins * 2 * SPLITS * np.log2(CROWDS)
        size = rng.choice(len(CROWDS), n, p=wins / wins.sum())
        most = int(np.clip(MOST_OF_MOVES * len(self._free), COUNTS[-1], MOST))
        used = np.arange(MOST) < np.minimum(count * CROWDS[size], most)[:, None]
        moves = np.zeros(used.shape, int)
        moves[used] = self._free[rng.choice(len(self._free), int(used.sum()), p=self._chances())]
        expense = rng.uniform(LEAST_SHARE, MOST_SHARE, n) * np.maximum(cost[given_up] / count - price, 0.0)
        return Crowds(cells[given_up], moves, used, expense, np.zeros(n, int)), size

    def _states(self, now: NDArray[Any], crowds: Crowds) -> NDArray[Any]:
        """The state ``(K * F,)`` after each of the exchanges ``(n, K * F)``."""
        n = len(crowds.given_up)
        rows = np.repeat(now[None], n, axis=0)
        rows[np.arange(n), crowds.given_up] = self.environment.original.ravel()[crowds.given_up]
        row, column = np.nonzero(crowds.used)
        downward, cell = np.divmod(crowds.moves[row, column], now.size)
        step = crowds.expense[row] / self._weights[cell] * self._units[cell]
        rows[row, cell] += np.where(downward, -step, step).astype(rows.dtype)
        return rows

    def _chances(self) -> NDArray[np.float64]:
        """How often each of the free moves is tried: what held tends to hold again."""
        by_feature = (2, *self.environment.original.shape)
        held, tried = self._held.reshape(by_feature), self._tried.reshape(by_feature)
        rate = (held.sum(1, keepdims=True) + HELD_BEFORE) / (tried.sum(1, keepdims=True) + TRIED_BEFORE)
        rate = (held + TRIES_OF_FEATURE * rate) / (tried + TRIES_OF_FEATURE)
        chances = rate.ravel()[self._free] ** 2
        return np.asarray(chances / chances.sum())


def _halves(used: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """A half of those used in each row ``(n, MOST)``, for each split ``(SPLITS, n, MOST)``.

    Members are in no order, so that any that stand together are as good as drawn.
    """
    place, members = used.cumsum(1) - 1, used.sum(1)[:, None]
    turn = (rng.random(len(used))[:, None] * members).astype(int)
    # Each split cuts between the cuts of the others.
    between = np.arange(SPLITS)[:, None, None] * members // (2 * SPLITS)
    return np.asarray((place + turn + between) % np.maximum(members, 1) < members // 2)
