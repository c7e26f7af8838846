"""The state that the rounds start from, cell by cell."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Answer, Search


@dataclass
class Best:
    """The least costly valid state of all that were asked about, as a flat row ``(K * F,)``, and what it costs."""

    flat: NDArray[Any]
    cost: float


@dataclass(frozen=True)
class Base:
    """A valid state as a flat row ``(K * F,)``, what it costs, and the best that was found starting from it."""

    search: Search
    flat: NDArray[Any]
    cost: float
    best: Best

    @staticmethod
    def of(search: Search, state: NDArray[Any], cost: float) -> Base:
        """A valid state ``(K, F)`` of that cost."""
        return Base(search, state.ravel().copy(), cost, Best(state.ravel().copy(), cost))

    def moved_on(self) -> Base:
        """The best found so far as the base of what comes next."""
        return Base(self.search, self.best.flat, self.best.cost, self.best)

    @property
    def original(self) -> NDArray[Any]:
        """The series ``(K * F,)``."""
        return self.search.space.original.ravel()

    def price(self, values: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What single cells cost at those values, the price of a changed cell included."""
        objective, change = self.search.objective, values - self.original[cells]
        return np.asarray(objective.of_changes(change, cells) + objective.price_of_cell * (change != 0))

    def price_now(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What single cells cost as they are."""
        return self.price(self.flat[cells], cells)

    def changed(self, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The changed cells and their prices, the dearest first, at most so many."""
        cells = np.flatnonzero(self.flat != self.original)
        price = self.price_now(cells)
        order = np.argsort(-price, kind="stable")[:most]
        return cells[order], price[order]

    def with_cells(self, cells: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
        """The state with one cell set to a value, for each of them ``(n, K * F)``."""
        states = np.repeat(self.flat[None], len(cells), axis=0)
        states[np.arange(len(cells)), cells] = values
        return states

    def ask(self, rows: NDArray[Any]) -> Generator[NDArray[Any], Answer, NDArray[np.bool_]]:
        """Which of flat states ``(n, K * F)`` are valid, in as few questions as may be.

        None is once the budget is used up.
        """
        search = self.search
        most = max(1, min(search.budget.widest, search.settings.tuning.additive.most_rows))
        valid = np.zeros(len(rows), bool)
        for start in range(0, len(rows), most):
            if not search.may_ask():  # patience ends no round that has begun
                break
            part = slice(start, start + most)
            outcome = yield from search.ask(rows[part].reshape(-1, *search.space.original.shape))
            valid[part] = outcome.valid
            best = int(np.where(outcome.valid, outcome.cost, np.inf).argmin())
            if outcome.valid[best] and outcome.cost[best] < self.best.cost:
                self.best.flat, self.best.cost = outcome.states[best].ravel().copy(), float(outcome.cost[best])
        return valid
