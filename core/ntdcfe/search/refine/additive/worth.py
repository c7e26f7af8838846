"""What the changed cells are worth, in units, and which moves gain as many: the choices of the knapsack."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Answer
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.knapsack import Choices
from ntdcfe.search.refine.additive.measure import Measured, Moves


def choices_of(measured: Measured, base: Base) -> Generator[NDArray[Any], Answer, Choices | None]:
    """What the cells could take instead of what they have, or None where nothing was found."""
    cells, prices = base.changed(measured.tuning.most_cells)
    if not len(cells):
        return None
    most = float(np.quantile(prices, measured.tuning.expense))
    moves = measured.possible(base)
    missing = yield from measured.near_miss(base, moves, most)
    if missing is None:
        return None
    moves = yield from measured.mending(base, missing, moves, most)
    if not len(moves.cell):
        return None
    moves, expense = yield from measured.least_expense(base, missing, moves, most)
    return (yield from Worth(measured, base, moves, expense, most).choices(cells, prices))


class Worth:
    """Counts in units: the least costly moves of different cells, each of which makes up for a near miss.

    Parameters
    ----------
    measured : Measured
    base : Base
    moves, expense : Moves, array (m,)
        Moves that mend a near miss, and for how little; the least costly first.
    most : float
        The most that a move may cost.
    """

    def __init__(self, measured: Measured, base: Base, moves: Moves, expense: NDArray[np.float64], most: float) -> None:
        self.measured, self.base, self.tuning = measured, base, measured.tuning
        self.moves, self.expense, self.most = moves, expense, most
        _, first = np.unique(moves.cell, return_index=True)
        first = np.sort(first)[: self.tuning.units + 1]  # one more, for the cell that is given up itself
        self._cells, self._values = moves.cell[first], measured.values(base.flat, moves.take(first), expense[first])

    def choices(
        self, cells: NDArray[np.int64], prices: NDArray[np.float64]
    ) -> Generator[NDArray[Any], Answer, Choices]:
        """Changed cells given up or brought back, and moves that gain one unit or several."""
        worth = yield from self._units_of(cells)
        known = worth > 0
        parts = [Choices(cells[known], self.base.original[cells[known]], -prices[known], -worth[known])]
        parts.append((yield from self._parts_of(cells, prices, worth)))
        parts.append(self._gaining(self.expense, 1))
        least = self.expense
        for gain in range(2, self.tuning.most_gain + 1):
            enough = np.flatnonzero(worth >= gain)
            if not len(enough) or not np.isfinite(least).any():
                break
            cell = enough[[worth[enough].argmin()]]
            lacking = self._states(cells[cell], np.zeros(1), worth[cell] - gain)[0]
            least = yield from self._least_for(lacking, least)
            parts.append(self._gaining(least, gain))
        return Choices.concatenate(parts)

    def _states(self, cells: NDArray[np.int64], kept: NDArray[np.float64], count: NDArray[np.int64]) -> NDArray[Any]:
        """The base with each of the `cells` ``(n,)`` brought back to a share, and `count` ``(n,)`` units of others."""
        rows = self.base.with_cells(cells, self.measured.brought_back(self.base, cells, kept))
        taken = self._cells != cells[:, None]  # (n, units): not the cell itself
        taken &= taken.cumsum(1) <= count[:, None]
        row, unit = np.nonzero(taken)
        rows[row, self._cells[unit]] = self._values[unit]
        return rows

    def _units_of(self, cells: NDArray[np.int64]) -> Generator[NDArray[Any], Answer, NDArray[np.int64]]:
        """How many units make up for each cell given up ``(n,)``; 0 where none of the counts is enough."""
        n, count = len(cells), np.arange(1, self.tuning.units + 1)
        rows = self._states(np.repeat(cells, len(count)), np.zeros(n * len(count)), np.tile(count, n))
        valid = (yield from self.base.ask(rows)).reshape(n, -1)
        return np.where(valid.any(1), count[valid.argmax(1)], 0)

    def _parts_of(
        self, cells: NDArray[np.int64], prices: NDArray[np.float64], worth: NDArray[np.int64]
    ) -> Generator[NDArray[Any], Answer, Choices]:
        """Cells that are worth several units, brought back to a part of their change."""
        shares, discrete = np.array(self.tuning.parts), self.measured.search.space.discrete
        several = np.flatnonzero((worth > 1) & ~discrete[cells % len(discrete)])
        i, share, count = (grid.ravel() for grid in np.meshgrid(several, shares, np.arange(1, self.tuning.units)))
        order = np.lexsort((count, share, i))
        order = order[count[order] < worth[i[order]]]  # a part that needs as many as the whole cell is of no use
        i, share, count = i[order], share[order], count[order]
        valid = yield from self.base.ask(self._states(cells[i], share, count))
        i, share, count = i[valid], share[valid], count[valid]
        _, first = np.unique(np.column_stack([i, share]), axis=0, return_index=True)  # the fewest units
        i, share, count = i[first], share[first], count[first]
        value = self.measured.brought_back(self.base, cells[i], share)
        return Choices(cells[i], value, self.base.price(value, cells[i]) - prices[i], -count)

    def _least_for(
        self, lacking: NDArray[Any], at_least: NDArray[np.float64]
    ) -> Generator[NDArray[Any], Answer, NDArray[np.float64]]:
        """For how little each of the moves mends a flat state that lacks several units; infinity if none does."""
        amounts = self.most * np.array(self.tuning.amounts[1:])
        as_in_base = (lacking == self.base.flat)[self.moves.cell]
        row, column = np.nonzero((amounts >= at_least[:, None]) & as_in_base[:, None])
        valid = yield from self.base.ask(self.measured.moved(lacking, self.moves.take(row), amounts[column]))
        least = np.full(len(at_least), np.inf)
        np.minimum.at(least, row[valid], amounts[column[valid]])
        return least

    def _gaining(self, expense: NDArray[np.float64], gain: int) -> Choices:
        """The moves at that expense ``(m,)``, where it is finite, each gaining so many units."""
        found = np.flatnonzero(np.isfinite(expense))
        moves = self.moves.take(found)
        value = self.measured.values(self.base.flat, moves, expense[found])
        more = self.base.price(value, moves.cell) - self.base.price_now(moves.cell)
        return Choices(moves.cell, value, more, np.full(len(found), gain))
