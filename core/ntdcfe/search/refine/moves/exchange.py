"""Give up a changed cell for others that cost less together.

Models of thresholds, forests above all, are won by many small changes in the right cells. Which cells those are shows
only at the boundary, where one of them decides. To hit upon one by chance takes hundreds of tries; a group of cells
holds far more often, and is then halved until what is left of it costs less than the cell given up: group testing.
What held is remembered, of the cell and of its feature, as a Beta prior would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.problem import Problem
from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Outcome, Search
from ntdcfe.search.draws import weighted
from ntdcfe.search.refine.moves.base import Memory, Move


@dataclass(frozen=True, repr=False)
class ExchangeTuning:
    """Numbers of the exchanges, measured on five forests of the paper's cases (benchmarks/results/paper-published.md).

    Parameters
    ----------
    counts, chances : tuple
        How many cells are to take the place of one in the end, and how often.
    groups : tuple of int
        How many times as many are taken at first; what pays most is taken most.
    most_of_moves : float
        The share of all moves that a group may take.
    least_expense, most_expense : float
        The share of the price of the cell given up that those taken for it may cost in the end.
    splits, failed_splits : int
        How often a group is halved in a batch; after so many batches in which no half held it is given up.
    most_halved, most_waiting : float, int
        The most of a batch that halves groups, and the most groups that wait for it.
    held_before, tried_before : float
        What a feature is taken to have done before anything is known.
    tries_of_feature : float
        The tries that its feature's record counts for in a cell.
    groups_held, groups_tried : float
        What a size of groups is taken to have done before anything is known.
    """

    counts: tuple[int, ...] = (1, 2, 3)
    chances: tuple[float, ...] = (0.6, 0.25, 0.15)
    groups: tuple[int, ...] = (1, 4, 16, 64)
    most_of_moves: float = 0.25
    least_expense: float = 0.1
    most_expense: float = 0.95
    splits: int = 2
    failed_splits: int = 2
    most_halved: float = 0.6
    most_waiting: int = 40
    held_before: float = 0.3
    tried_before: float = 6.0
    tries_of_feature: float = 1.0
    groups_held: float = 1.0
    groups_tried: float = 4.0

    __repr__ = typed_back

    @property
    def most(self) -> int:
        """Most cells of a group."""
        return self.groups[-1]


class Groups(NamedTuple):
    """Exchanges of one cell for a group: the cell ``(n,)``, moves ``(n, most)`` if `used`, what each may cost ``(n,)``.

    `failed` ``(n,)`` counts the batches in which no half of it held.
    """

    given_up: NDArray[np.int64]
    moves: NDArray[np.int64]
    used: NDArray[np.bool_]
    expense: NDArray[np.float64]
    failed: NDArray[np.int64]

    def take(self, rows: Any) -> Groups:
        """Those rows of all columns."""
        return Groups(*(column[rows] for column in self))

    @staticmethod
    def concatenate(parts: list[Groups]) -> Groups:
        """All parts, in order."""
        return Groups(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @staticmethod
    def none(most: int) -> Groups:
        """No group at all."""
        none = np.empty(0, int)
        return Groups(none, np.empty((0, most), int), np.empty((0, most), bool), np.empty(0), none)


class Trial(NamedTuple):
    """Exchanges to ask about: states ``(n, K, F)`` of `groups`.

    The first ``2 * splits * n_halved`` are halves of the first of those `under_way`, the rest are new, of sizes `size`.
    """

    states: NDArray[Any]
    groups: Groups
    under_way: Groups
    n_halved: int
    size: NDArray[np.int64]


class Exchange(Move):
    """Exchanges of one descent; which moves of cells held is remembered by all of them together."""

    least_share = 0.5
    informs = False

    def __init__(self, search: Search, memory: Memory) -> None:
        super().__init__(search, memory)
        self.tuning = search.settings.tuning.exchange
        if memory.exchanged is None and self._worthwhile:
            memory.exchanged = Exchanges(search.problem, self.tuning)
        self._under_way = Groups.none(self.tuning.most)
        self._trial: Trial | None = None

    @property
    def _worthwhile(self) -> bool:
        space, settings = self.search.space, self.search.settings
        # The few cells of a table's row have been tried by now; among very many cells no single one decides.
        return (
            space.n_steps > 1
            and space.original.size <= settings.tuning.surrogate.most_cells
            and settings.shape != "to_end"
        )

    @property
    def possible(self) -> bool:
        """Whether there are cells to take: numbers that may be moved, and are worth asking about."""
        return self.memory.exchanged is not None and self.memory.exchanged.possible

    def propose(self, base: NDArray[Any], n: int) -> NDArray[Any]:
        """Halves of groups under way, and new groups."""
        self._trial = self.memory.exchanged.propose(base, n, self._under_way, self.search.rng)
        return self._trial.states

    def learn(self, outcome: Outcome, better: NDArray[np.bool_]) -> None:
        """Groups that held are halved next."""
        if self._trial is not None and len(better):
            self._under_way = self.memory.exchanged.learn(self._trial, outcome.valid, better)
        self._trial = None


class Exchanges:
    """Proposes exchanges and remembers which moves, a cell up or down, held in them.

    Parameters
    ----------
    problem : Problem
    tuning : ExchangeTuning
    """

    def __init__(self, problem: Problem, tuning: ExchangeTuning) -> None:
        self.space, self.objective, self.tuning = problem.space, problem.objective, tuning
        size = self.space.original.size
        # Moves are counted like cells: first all of them up, then all of them down.
        self._free = np.flatnonzero(np.tile((self.space.movable & ~self.space.discrete).ravel(), 2))
        self._held, self._tried = np.zeros(2 * size), np.zeros(2 * size)
        n_sizes = len(tuning.groups)
        self._groups_held, self._groups_tried = (
            np.full(n_sizes, tuning.groups_held), np.full(n_sizes, tuning.groups_tried)
        )  # fmt: skip

    @property
    def possible(self) -> bool:
        """Whether there are cells to take: numbers that may be moved."""
        return len(self._free) > 0

    def propose(self, base: NDArray[Any], n: int, under_way: Groups, rng: np.random.Generator) -> Trial:
        """About n exchanges of changed cells of `base` ``(K, F)``: halves of groups under way, and new ones."""
        now, splits = base.ravel(), self.tuning.splits
        # The cell to be given up may have been taken back since, or have become cheaper than its group.
        worth = self._change(now, under_way.given_up)
        under_way = under_way.take(worth > under_way.expense)
        n_halved = min(len(under_way.given_up), int(n * self.tuning.most_halved) // (2 * splits))
        halved = under_way.take(slice(n_halved))
        parts = []
        for half in _halves(halved.used, splits, rng):
            parts += [halved._replace(used=halved.used & part) for part in (half, ~half)]
        new, size = self._new(now, n - 2 * splits * n_halved, rng)
        groups = Groups.concatenate([*parts, new])
        return Trial(self._states(now, groups).reshape(-1, *base.shape), groups, under_way, n_halved, size)

    def learn(self, trial: Trial, valid: NDArray[np.bool_], better: NDArray[np.bool_]) -> Groups:
        """Remember what held; returns the groups that are under way now, the smallest first.

        Of many moves, each is to blame or to thank for its share.
        """
        groups, n_halved, now, tuning = trial.groups, trial.n_halved, trial.under_way, self.tuning
        splits, none = tuning.splits, tuning.most + 1  # more than any group has
        n_members = groups.used.sum(1)
        row, column = np.nonzero(groups.used)
        moves, share = groups.moves[row, column], 1 / n_members[row]
        np.add.at(self._tried, moves, share)
        np.add.at(self._held, moves, share * valid[row])
        n_halves = 2 * splits * n_halved
        np.add.at(self._groups_tried, trial.size, 1.0)
        np.add.at(self._groups_held, trial.size, valid[n_halves:])

        # The smallest half that held is halved next, unless it is cheap enough already.
        members = np.where(valid, n_members, none)[:n_halves].reshape(2 * splits, n_halved)
        smallest = members.argmin(0) * n_halved + np.arange(n_halved)
        held = members.min(0, initial=none) < none
        goes_on = groups.take(smallest[held & ~better[smallest]])
        again = now.take(np.flatnonzero(~held))
        again = again._replace(failed=again.failed + 1)
        new = groups.take(n_halves + np.flatnonzero(valid[n_halves:] & ~better[n_halves:]))
        rest = [
            goes_on._replace(failed=0 * goes_on.failed),
            again.take(again.failed < tuning.failed_splits),
            now.take(slice(n_halved, None)),
        ]
        left = Groups.concatenate([*rest, new])
        return left.take(np.argsort(left.used.sum(1), kind="stable")[: tuning.most_waiting])

    def _change(self, now: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the changes of cells ``(n,)`` of a state ``(K * F,)`` cost, without the price of a changed cell."""
        return self.objective.of_changes(now[cells] - self.space.original.ravel()[cells], cells)

    def _new(self, now: NDArray[Any], n: int, rng: np.random.Generator) -> tuple[Groups, NDArray[np.int64]]:
        """Groups for changed cells, costly ones more often, and which of the sizes they are of ``(n,)``."""
        tuning, price = self.tuning, self.objective.price_of_cell
        cells = np.flatnonzero(now != self.space.original.ravel())
        cost = self._change(now, cells) + price
        given_up = weighted(cost, n, rng)
        count = np.array(tuning.counts)[weighted(np.array(tuning.chances), n, rng)]
        # Expected successes a row: a group that holds takes further rows until it is halved often enough.
        wins = self._groups_held / self._groups_tried
        wins /= 1 + wins * 2 * tuning.splits * np.log2(tuning.groups)
        size = weighted(wins, n, rng)
        most = int(min(max(tuning.most_of_moves * len(self._free), tuning.counts[-1]), tuning.most))
        used = np.arange(tuning.most) < np.minimum(count * np.array(tuning.groups)[size], most)[:, None]
        moves = np.zeros(used.shape, int)
        moves[used] = self._free[weighted(self._chances(), int(used.sum()), rng)]
        expense = rng.uniform(tuning.least_expense, tuning.most_expense, n)
        expense *= np.maximum(cost[given_up] / count - price, 0.0)
        return Groups(cells[given_up], moves, used, expense, np.zeros(n, int)), size

    def _states(self, now: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """The state ``(K * F,)`` after each of the exchanges ``(n, K * F)``."""
        n = len(groups.given_up)
        rows = np.repeat(now[None], n, axis=0)
        rows[np.arange(n), groups.given_up] = self.space.original.ravel()[groups.given_up]
        row, column = np.nonzero(groups.used)
        downward, cell = np.divmod(groups.moves[row, column], now.size)
        step = self.objective.change_for(groups.expense[row], cell)
        rows[row, cell] += np.where(downward, -step, step).astype(rows.dtype)
        return rows

    def _chances(self) -> NDArray[np.float64]:
        """How often each of the free moves is tried: what held tends to hold again."""
        tuning, by_feature = self.tuning, (2, *self.space.original.shape)
        held, tried = self._held.reshape(by_feature), self._tried.reshape(by_feature)
        rate = (held.sum(1, keepdims=True) + tuning.held_before) / (tried.sum(1, keepdims=True) + tuning.tried_before)
        rate = (held + tuning.tries_of_feature * rate) / (tried + tuning.tries_of_feature)
        return np.asarray(rate.ravel()[self._free] ** 2)


def _halves(used: NDArray[np.bool_], splits: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A half of those used in each row ``(n, most)``, for each split ``(splits, n, most)``.

    Members are in no order, so that any that stand together are as good as drawn.
    """
    place, members = used.cumsum(1) - 1, used.sum(1)[:, None]
    turn = (rng.random(len(used))[:, None] * members).astype(int)
    # Each split cuts between the cuts of the others.
    between = np.arange(splits)[:, None, None] * members // (2 * splits)
    return np.asarray((place + turn + between) % np.maximum(members, 1) < members // 2)
