"""A multiple-choice knapsack: of every cell at most one choice, so that the gains suffice at the least cost."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Choices(NamedTuple):
    """What single cells could take: positions ``(m,)`` among the K * F cells, values, and what each costs and gains.

    `cost` is what it costs more than now, `gain` in whole units; both are negative for a change that is given back.
    """

    cell: NDArray[np.int64]
    value: NDArray[Any]
    cost: NDArray[np.float64]
    gain: NDArray[np.int64]

    @staticmethod
    def concatenate(parts: list[Choices]) -> Choices:
        """All parts, in order."""
        return Choices(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def solved(now: NDArray[Any], choices: Choices, taken_part: NDArray[np.bool_], margins: int, span: int) -> NDArray[Any]:
    """The least costly states, by dynamic programming over the units gained.

    Parameters
    ----------
    now : array (K * F,)
        The present state.
    choices : Choices
    taken_part : array (draws, m)
        Which choices there are in each draw.
    margins : int
        States are given for gains of at least 0, 1, ... margins - 1.
    span : int
        Units that may be given up before others make up for them, or gained before others are given up.

    Returns
    -------
    array (draws * margins, K * F)
    """
    draws = len(taken_part)
    least = np.full((draws, 2 * span + margins), np.inf)
    least[:, span] = 0.0  # by units gained, from -span on
    trace = []
    for cell in np.unique(choices.cell):
        before, picked = least, np.full(least.shape, -1)
        least = before.copy()
        for i in np.flatnonzero(choices.cell == cell):
            gain = int(choices.gain[i])
            if abs(gain) >= least.shape[1]:
                continue
            cost = np.full(least.shape, np.inf)
            if gain >= 0:
                cost[:, gain:] = before[:, : least.shape[1] - gain]
            else:
                cost[:, :gain] = before[:, -gain:]
            cost += np.where(taken_part[:, i], choices.cost[i], np.inf)[:, None]
            better = cost < least
            least[better], picked[better] = cost[better], i
        trace.append(picked)
    ends = np.stack([span + need + least[:, span + need :].argmin(1) for need in range(margins)], axis=1).ravel()
    draw = np.repeat(np.arange(draws), margins)
    states = np.repeat(now[None], len(ends), axis=0)
    possible = np.isfinite(least[draw, ends])
    for picked in reversed(trace):
        i = picked[draw, ends]
        rows = np.flatnonzero(i >= 0)
        states[rows, choices.cell[i[rows]]] = choices.value[i[rows]]
        ends = ends - np.where(i >= 0, choices.gain[i], 0)
    return np.unique(states[possible], axis=0)
