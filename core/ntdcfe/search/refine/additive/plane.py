"""The least costly change to the other side of a plane: cells in the order of what they gain for their cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Asks
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.measure import Measured
from ntdcfe.search.refine.additive.slopes import Slopes, slopes_of

# A change may cost nothing, where a feature has no weight.
TINY = 1e-12


@dataclass(frozen=True, repr=False)
class PlaneTuning:
    """Numbers of the search beside a plane; rules of thumb, chosen on four datasets (benchmarks/results/limits.md).

    Parameters
    ----------
    favours : tuple of float
        How much more cells outside of the present change have to gain for their cost: a trust region of many sizes.
    noises : tuple of float
        How inexact the gains are taken to be, as deviations of their logarithms.
    least, budgets : float, int
        What a change may cost, as shares of what the present one does: so many from the least on.
    best, closer : int
        So many orders of cells are looked at more closely, so often.
    """

    favours: tuple[float, ...] = (0.8, 1.0, 1.25, 1.6, 2.2, 3.0, 5.0)
    noises: tuple[float, ...] = (0.0, 0.15, 0.3)
    least: float = 0.4
    budgets: int = 10
    best: int = 8
    closer: int = 2

    __repr__ = typed_back


def plane_round(measured: Measured, base: Base) -> Asks:
    """Measure the slopes; then the least that each of several orders of cells has to cost to be enough."""
    tuning, rng = measured.search.settings.tuning.plane, measured.search.rng
    slopes = yield from slopes_of(measured, base)
    if slopes is None:
        return
    filled = Filled(base, slopes)
    favour, noise = (grid.ravel() for grid in np.meshgrid(tuning.favours, tuning.noises))
    value = np.log(slopes.gain / np.maximum(filled.cost, TINY)) - np.where(slopes.new, np.log(favour)[:, None], 0.0)
    value += noise[:, None] * rng.normal(size=value.shape)
    orders = filled.ordered(value)
    low = np.full(len(orders), tuning.least * base.cost)
    high = np.full(len(orders), base.cost)
    for closer in range(1 + tuning.closer):
        if closer:
            best = np.argsort(high, kind="stable")[: tuning.best]
            orders, low, high = orders[best], low[best], high[best]
        budgets = low[:, None] + (high - low)[:, None] * np.arange(tuning.budgets) / tuning.budgets
        rows = filled.states(np.repeat(orders, tuning.budgets, axis=0), budgets.ravel())
        valid = (yield from base.ask(rows)).reshape(budgets.shape)
        first = np.where(valid.any(1), valid.argmax(1), tuning.budgets)
        steps = np.column_stack([budgets, high])
        at = np.arange(len(orders))
        low, high = steps[at, np.maximum(first - 1, 0)], steps[at, first]


class Filled:
    """Changes made of cells in some order, as far as a cost reaches; the last of them goes a part of its way.

    Parameters
    ----------
    base : Base
    slopes : Slopes
    """

    def __init__(self, base: Base, slopes: Slopes) -> None:
        self.base, self.slopes = base, slopes
        self.cost = base.price(slopes.end, slopes.cell) - base.price(slopes.start, slopes.cell)
        """What each costs ``(m,)``."""
        self._price = np.where(slopes.further, 0.0, base.search.objective.price_of_cell)  # of changing the cell at all
        # Discrete cells have no slope: they stay as they are.
        cells = np.arange(base.flat.size)
        discrete = base.search.space.discrete[cells % len(base.search.space.discrete)]
        self._ground = np.where(discrete, base.flat, base.original)
        self._spent = float(base.price(self._ground, cells).sum())

    def ordered(self, value: NDArray[np.float64]) -> NDArray[np.int64]:
        """Orders by values ``(n, m)``, the highest first; what goes further comes after what it goes on from."""
        slopes = self.slopes
        place = np.zeros(self.base.flat.size, int)
        present = np.flatnonzero(~slopes.new)
        place[slopes.cell[present]] = present
        further = np.flatnonzero(slopes.further)
        value = value.copy()
        value[:, further] = np.minimum(value[:, further], value[:, place[slopes.cell[further]]])
        return np.argsort(-value, axis=1, kind="stable")

    def states(self, orders: NDArray[np.int64], budgets: NDArray[np.float64]) -> NDArray[Any]:
        """States that cost so much ``(n,)``, of cells in those orders ``(n, m)``: ``(n, K * F)``."""
        slopes, at = self.slopes, np.arange(len(orders))[:, None]
        before = np.cumsum(self.cost[orders], axis=1) - self.cost[orders]
        share = np.empty(orders.shape)
        room = budgets[:, None] - self._spent - before - self._price[orders]
        share[at, orders] = np.clip(room / np.maximum(self.cost - self._price, TINY)[orders], 0.0, 1.0)
        rows = np.repeat(self._ground[None], len(orders), axis=0)
        for some in (~slopes.further, slopes.further):
            rows[:, slopes.cell[some]] += share[:, some] * (slopes.end - slopes.start)[some]
        return rows
