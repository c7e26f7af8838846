"""One counterfactual on its way down: what to ask about next, and what to make of the answers.

In one batch a descent proposes states of several moves, and the union of what held one by one the last time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.users import called, numbers
from ntdcfe.search.base import Outcome, Search
from ntdcfe.search.refine.moves import MOVES, Memory, Move


@dataclass(frozen=True, repr=False)
class DescentTuning:
    """Numbers of a descent; rules of thumb, chosen on the paper's cases (benchmarks/results/paper-published.md).

    Parameters
    ----------
    forgetting, credit_for_gain, credit_for_nothing : float
        The share of a batch that a move gets goes with its credit: what it won lately, and a little for nothing.
    won_lately : float
        How many times the credit for nothing counts as having won.
    least_gain : float
        A gain below this share of the cost is none.
    unions : tuple of int
        How many improvements of the last batch are tried together.
    """

    forgetting: float = 0.8
    credit_for_gain: float = 20.0
    credit_for_nothing: float = 0.02
    won_lately: float = 1.5
    least_gain: float = 0.003
    unions: tuple[int, ...] = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)

    __repr__ = typed_back


def moves_of(search: Search) -> Sequence[Any]:
    """The moves that take part: ours, then the user's."""
    return (*MOVES, *search.settings.moves)


class Descent:
    """One counterfactual on its way down.

    Parameters
    ----------
    search : Search
    base : array (K, F)
        A valid state.
    cost : float
    memory : Memory
        Shared with the other descents of the search.
    """

    def __init__(self, search: Search, base: NDArray[Any], cost: float, memory: Memory) -> None:
        self.search = search
        self.base, self.cost = base, cost
        self.stale = 0
        """Batches since the last gain."""
        self.tuning = search.settings.tuning.descent
        self._moves: list[Move] = [move(search, memory) for move in moves_of(search)]
        self._least = np.array([move.least_share for move in self._moves])
        self._most = np.array([move.most_share for move in self._moves])
        self._credit = np.ones(len(self._moves))  # what each move won lately
        self._unions = base[None][:0]
        self._ends = np.empty(0, int)  # of the blocks proposed last: the unions, then each move's

    def propose(self, n: int) -> list[NDArray[Any]]:
        """About n states to ask about next, in blocks ``(m, K, F)``: unions, then those of each move."""
        room = max(4, n - len(self._unions))
        possible = np.array([move.possible for move in self._moves])
        share = np.clip(self._credit / self._credit.sum(), self._least, self._most) * possible
        counts = (room * share / share.sum()).astype(int)
        blocks = [self._unions]
        for move, count, may in zip(self._moves, counts, possible, strict=True):
            count = max(move.fewest, int(count))
            blocks.append(self._proposed(move, count) if may and count else self.base[None][:0])
        self._ends = np.cumsum([len(block) for block in blocks])
        return blocks

    def _proposed(self, move: Move, n: int) -> NDArray[Any]:
        """About n states of that move; one of the user's gets a copy, and what it makes no number of stays."""
        if type(move) in MOVES:
            return move.propose(self.base, n)
        name = f"{type(move).__name__}.propose"
        states = numbers(name, "states", ("m", *self.base.shape), called(name, move.propose, self.base.copy(), n))
        return np.where(np.isfinite(states), states, self.base)

    @property
    def n_proposed(self) -> int:
        """How many states it proposed last."""
        return int(self._ends[-1])

    @property
    def informative(self) -> NDArray[np.bool_]:
        """Which of the states proposed last tell something about the cells that they change."""
        return np.repeat([True, *(move.informs for move in self._moves)], np.diff(self._ends, prepend=0))

    def wins_by(self, kind: type[Move]) -> bool:
        """Whether a move of that kind has won lately, and its share."""
        tuning = self.tuning
        i = next(i for i, move in enumerate(self._moves) if isinstance(move, kind))
        lately = tuning.won_lately * tuning.credit_for_nothing / (1 - tuning.forgetting)
        return bool(self._credit[i] > max(lately, self._least[i] * self._credit.sum()))

    def learn(self, outcome: Outcome) -> None:
        """Move to the best of what was proposed; what held one by one is tried together next."""
        tuning = self.tuning
        better = outcome.valid & (outcome.cost < self.cost - 1e-9)
        joins = np.zeros(len(better), bool)
        for move, start, end in zip(self._moves, self._ends, self._ends[1:], strict=False):
            part = outcome.take(slice(start, end))
            move.learn(part if type(move) in MOVES else part.copy(), better[start:end].copy())
            joins[start:end] = move.joins
        self._unions = self._joined(outcome, better & joins)
        self._credit = tuning.forgetting * self._credit + tuning.credit_for_nothing
        self.stale += 1
        if better.any():
            i = int(np.where(better, outcome.cost, np.inf).argmin())
            gain, block = 1 - float(outcome.cost[i]) / self.cost, int(np.searchsorted(self._ends, i, side="right"))
            # The gain of a union is credited to the first move.
            self._credit[max(block - 1, 0)] += tuning.credit_for_gain * gain
            by = self._moves[block - 1] if block else None
            for move in self._moves:
                move.moved(by)
            if gain > tuning.least_gain:
                self.stale = 0
            self.base, self.cost = outcome.states[i], float(outcome.cost[i])

    def _joined(self, outcome: Outcome, held: NDArray[np.bool_]) -> NDArray[Any]:
        """The best 2, 3, 4, ... of what held, together, as far as they change different cells ``(m, K, F)``."""
        sizes = self.tuning.unions
        order = np.flatnonzero(held)
        order = order[np.argsort(outcome.cost[order], kind="stable")][: sizes[-1]]
        base = self.base.ravel()
        states = outcome.states[order].reshape(len(order), base.size)
        taken, together, unions = np.zeros(base.size, bool), base.copy(), []
        for state, cells in zip(states, states != base, strict=True):
            if not (taken & cells).any():
                taken |= cells
                together[cells] = state[cells]
                unions.append(together.copy())
        picked = sorted({min(size, len(unions)) - 1 for size in sizes}) if len(unions) > 1 else []
        return np.array([unions[i] for i in picked], base.dtype).reshape(len(picked), *self.base.shape)
