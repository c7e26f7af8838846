"""Which moves of single cells make up for a near miss, and for how little, from answers of yes and no.

A state that just misses the target tells which moves mend it, each alone. What such a move gains is a unit: in a
forest, a vote.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Answer, Search
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.scaling import between


class Moves(NamedTuple):
    """Moves of single cells: their positions ``(m,)``, and 1 for up, -1 for down ``(m,)``."""

    cell: NDArray[np.int64]
    sign: NDArray[np.float64]

    def take(self, rows: Any) -> Moves:
        """Those of them."""
        return Moves(self.cell[rows], self.sign[rows])


class NearMiss(NamedTuple):
    """A flat state ``(K * F,)`` that just misses the target, and the share of new moves that mend it, by a sample."""

    state: NDArray[Any]
    rate: float


class Measured:
    """Measures moves, and remembers which of them held.

    Parameters
    ----------
    search : Search

    Attributes
    ----------
    worthwhile : bool
        Whether a round may pay.
    few : bool or None
        Whether few moves decide; None as long as it was not asked.
    tried : bool
        Whether there was a round.
    rounds : int
        How many rounds paid.
    """

    def __init__(self, search: Search) -> None:
        self.search, self.tuning = search, search.settings.tuning.additive
        self.worthwhile, self.rounds = True, 0
        self.few: bool | None = None
        self.tried = False
        space, self._size = search.space, search.space.original.size
        # Moves are counted like cells: first all of them up, then all of them down.
        self._free = np.flatnonzero(np.tile((space.movable & ~space.discrete).ravel(), 2))
        self._held, self._tried = np.zeros(2 * self._size), np.zeros(2 * self._size)
        self.discrete = np.tile(space.discrete, space.n_steps)
        self._low = np.broadcast_to(space.low, space.original.shape).ravel()
        self._high = np.broadcast_to(space.high, space.original.shape).ravel()

    @property
    def n_moves(self) -> int:
        """How many moves there are at most."""
        return len(self._free)

    def few_decide(self, base: Base) -> Generator[NDArray[Any], Answer, bool]:
        """Whether few of all moves mend a near miss at a small expense."""
        tuning, rng = self.tuning, self.search.rng
        cells, prices = base.changed(tuning.most_cells)
        if not len(cells):
            return False
        expense = tuning.small * float(np.quantile(prices, tuning.expense))
        candidates = self._less_of(base, cells[: tuning.near_misses])
        moves = self.possible(base)
        sample = moves.take(rng.permutation(len(moves.cell))[: tuning.tries])
        rows = [candidates, *(self.moved(candidate, sample, expense) for candidate in candidates)]
        valid = yield from base.ask(np.concatenate(rows))
        mended = valid[len(candidates) :].reshape(len(candidates), -1)[~valid[: len(candidates)]]
        return bool(mended.size) and bool(mended.mean() < tuning.few)

    def possible(self, base: Base) -> Moves:
        """Moves away from the original, within limits."""
        cell, sign = self._free % self._size, np.where(self._free < self._size, 1.0, -1.0)
        now = base.flat[cell]
        room = np.where(sign > 0, self._high[cell] > now, self._low[cell] < now)
        return Moves(cell, sign).take(room & ((now - base.original[cell]) * sign >= 0))

    def ends(self, moves: Moves) -> NDArray[Any]:
        """The limits of the moves ``(m,)``, or as good as."""
        space, most = self.search.space, self.search.settings.tuning.surrogate.unlimited
        original, furthest = space.original.ravel()[moves.cell], most * np.tile(space.units, space.n_steps)[moves.cell]
        end = np.where(moves.sign > 0, self._high[moves.cell], self._low[moves.cell])
        return np.where(np.isfinite(end), end, original + moves.sign * furthest)

    def with_share(self, base: Base, shares: NDArray[np.float64]) -> NDArray[Any]:
        """The base with shares ``(n,)`` of its change, within limits ``(n, K * F)``."""
        states = between(base.original, base.flat, shares[:, None], self.discrete)
        return np.clip(states, np.minimum(self._low, base.flat), np.maximum(self._high, base.flat))

    def values(self, state: NDArray[Any], moves: Moves, expense: Any) -> NDArray[Any]:
        """Where the moves ``(m,)`` take their cells of a flat state, for an expense each."""
        step = self.search.objective.change_for(np.broadcast_to(expense, moves.cell.shape), moves.cell)
        value = state[moves.cell] + moves.sign * step
        return np.clip(value, self._low[moves.cell], self._high[moves.cell])

    def moved(self, state: NDArray[Any], moves: Moves, expense: Any) -> NDArray[Any]:
        """A flat state after each of the moves ``(m, K * F)``."""
        states = np.repeat(state[None], len(moves.cell), axis=0)
        states[np.arange(len(states)), moves.cell] = self.values(state, moves, expense)
        return states

    def brought_back(self, base: Base, cells: NDArray[np.int64], kept: Any) -> NDArray[Any]:
        """The values of changed cells ``(n,)`` when those shares of their change are kept."""
        discrete = self.search.space.discrete[cells % len(self.search.space.discrete)]
        shares = np.broadcast_to(np.asarray(kept, float), cells.shape)
        return between(base.original[cells], base.flat[cells], shares, discrete)

    def near_miss(self, base: Base, moves: Moves, most: float) -> Generator[NDArray[Any], Answer, NearMiss | None]:
        """A state that misses the target by as little as possible: the one that most of a sample of moves mend.

        Candidates give up one of the cells that cost less, or a little of one of those that cost more.
        """
        tuning, rng = self.tuning, self.search.rng
        cells, _ = base.changed(self._size)
        half = (len(cells) + 1) // 2
        cheap, dear = (rng.permutation(part)[: tuning.near_misses] for part in (cells[-half:], cells[:half]))
        candidates = np.concatenate([base.with_cells(cheap, base.original[cheap]), self._less_of(base, dear)])
        sample = self._promising(moves, tuning.samples)
        rows = [candidates, *(self.moved(candidate, sample, most) for candidate in candidates)]
        valid = yield from base.ask(np.concatenate(rows))
        held = valid[len(candidates) :].reshape(len(candidates), -1)
        mended = np.where(valid[: len(candidates)], -1, held.sum(1))
        best = int(mended.argmax())
        if mended[best] < 0:
            return None
        new = self._held[self._number(sample)] == 0
        # As if half a move more had held, of twice as many.
        return NearMiss(candidates[best], float((held[best][new].sum() + 0.5) / (new.sum() + tuning.samples)))

    def mending(
        self, base: Base, missing: NearMiss, moves: Moves, most: float
    ) -> Generator[NDArray[Any], Answer, Moves]:
        """The moves that mend a near miss, each alone: those that held before one by one, others in groups first.

        Group testing: a group has so many members that it is about as likely to hold as not.
        """
        tuning, known = self.tuning, self._held[self._number(moves)] > 0
        size = int(np.clip(tuning.groups_holding / missing.rate, 1, tuning.most_together))
        first, rest = moves.take(known), moves.take(self.search.rng.permutation(np.flatnonzero(~known)))
        rest = rest.take(slice(size * (tuning.scan if known.any() else tuning.most_rows)))
        group = np.arange(len(rest.cell)) // size
        rows = np.repeat(missing.state[None], group.max(initial=-1) + 1, axis=0)
        rows[group, rest.cell] = self.values(missing.state, rest, most)
        valid = yield from base.ask(np.concatenate([self.moved(missing.state, first, most), rows]))
        held, suspects = first.take(valid[: len(first.cell)]), rest.take(valid[len(first.cell) :][group])
        self._tried[self._number(rest)] += 1
        if size > 1 and len(suspects.cell):
            suspects = suspects.take(slice(tuning.most_rows))
            suspects = suspects.take((yield from base.ask(self.moved(missing.state, suspects, most))))
        held = Moves(*(np.concatenate(columns) for columns in zip(held, suspects, strict=True)))
        self._held[self._number(held)] += 1
        return held

    def least_expense(
        self, base: Base, missing: NearMiss, moves: Moves, most: float
    ) -> Generator[NDArray[Any], Answer, tuple[Moves, NDArray[np.float64]]]:
        """For how little each of the moves mends a near miss; the least costly of them."""
        amounts = most * np.array(self.tuning.amounts)
        pairs = moves.take(np.repeat(np.arange(len(moves.cell)), len(amounts) - 1))
        valid = yield from base.ask(self.moved(missing.state, pairs, np.tile(amounts[:-1], len(moves.cell))))
        enough = np.column_stack([valid.reshape(-1, len(amounts) - 1), np.ones(len(moves.cell), bool)])
        least = amounts[enough.argmax(1)]
        more = base.price(self.values(base.flat, moves, least), moves.cell) - base.price_now(moves.cell)
        order = np.argsort(more, kind="stable")[: self.tuning.most_moves]
        return moves.take(order), least[order]

    def _less_of(self, base: Base, cells: NDArray[np.int64]) -> NDArray[Any]:
        """The base with a little less of the change of one cell, for each of them."""
        return base.with_cells(cells, self.brought_back(base, cells, 1 - 1 / self.tuning.levels**2))

    def _number(self, moves: Moves) -> NDArray[np.int64]:
        """Their places in the record."""
        return moves.cell + np.where(moves.sign > 0, 0, self._size)

    def _promising(self, moves: Moves, n: int) -> Moves:
        """At most n of the moves: those that held most often, then those that were tried least, at random."""
        number = self._number(moves)
        tried = self.search.rng.random(len(number)) + self._tried[number]
        return moves.take(np.lexsort((tried, -self._held[number]))[:n])
