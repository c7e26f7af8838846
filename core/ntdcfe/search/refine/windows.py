"""Short changes that cost less than the best answer: one feature up or down in one window of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Search


@dataclass(frozen=True, repr=False)
class WindowTuning:
    """Numbers of the windows; rules of thumb, chosen on four datasets (benchmarks/results/limits.md).

    Parameters
    ----------
    narrowest, most : int
        Steps of the shortest windows; others have twice as many, four times as many and so on. At most so many states.
    cheaper : float
        What a state may cost, as a share of what the best answer does.
    """

    narrowest: int = 4
    most: int = 240
    cheaper: float = 0.95

    __repr__ = typed_back


def windows(search: Search) -> NDArray[Any]:
    """Give states ``(n, K, F)``, one at least: every window side by side, every feature, both ways, or some of them."""
    space, tuning = search.space, search.settings.tuning.windows
    n_steps = len(space.original)
    widths = [tuning.narrowest * 2**i for i in range(n_steps.bit_length()) if tuning.narrowest * 2**i < n_steps]
    first, last = np.array([(k, k + width) for width in widths or [n_steps] for k in range(0, n_steps, width)]).T
    features = np.flatnonzero((space.movable & ~space.discrete).any(0))
    place, feature, sign = (grid.ravel() for grid in np.meshgrid(np.arange(len(first)), features, [-1.0, 1.0]))
    some = search.rng.permutation(len(place))[: min(tuning.most, search.budget.widest)]
    place, feature, sign = place[some], feature[some], sign[some]
    expense = tuning.cheaper * search.pool.best_cost / (last - first)[place] - search.objective.price_of_cell
    change = sign * search.objective.change_for(np.maximum(expense, 0.0), feature)
    steps = np.arange(n_steps)
    inside = (steps >= first[place, None]) & (steps < last[place, None])
    states = np.repeat(space.original[None], max(1, len(place)), axis=0)
    states[np.arange(len(place)), :, feature] += inside * change[:, None]
    return states
