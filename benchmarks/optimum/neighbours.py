"""A strong reference for nearest neighbours: linear programs over sets of neighbours, from several starts.

Say which of the target class are to be among the neighbours, and which of the others may be: then "nearer than" is
linear in the series, and the nearest series a linear program. Its answer has neighbours of its own, which make the next
program, until nothing is gained. That is a local optimum; several starts make it a strong one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from protocol.arrays import Floats
from scipy.optimize import linprog

from optimum.task import Optimum, Reached, Task

# A changed cell costs its price however small its change is: the program's cost of a unit is that at this change or
# more (reweighted L1).
LEAST_CHANGE = 0.05
# By how much nearer a neighbour has to be, in squared distance, as a share of its largest.
LEAD = 1e-9
ROUNDS, FURTHER_ROWS = 8, 6


def of_neighbours(
    classifier: Any, y: Any, task: Task, reached: Reached, starts: Iterable[Floats], n_series: int = 6
) -> Optimum | None:
    """Give the least costly state that was found to have most of its neighbours in the target class.

    Parameters
    ----------
    classifier
        Scikit-learn's, fitted on rows of ``K * D`` cells, with equal weights.
    y
        Labels ``(n,)`` of what it was fitted on.
    task
        What is minimised.
    reached
        The model's own word.
    starts
        States to start from beside series of the target class: what a search has found.
    n_series
        How many of those, the nearest first.
    """
    known = np.asarray(classifier._fit_X, dtype=float)
    series = known[y == 1]
    series = np.where(task.discrete, task.original, np.clip(series, task.low, task.high))
    order = np.argsort(task.costs(series), kind="stable")[:n_series]
    best: Optimum | None = None
    for start in [*(np.ravel(x) for x in starts), *series[order]]:
        state = _descended(known[y == 1], known[y == 0], classifier.n_neighbors, task, start, reached)
        if state is not None and (best is None or task.cost(state) < best.cost):
            best = Optimum(task.series(state), task.cost(state))
    return best


def _descended(ours: Floats, others: Floats, k: int, task: Task, x: Floats, reached: Reached) -> Floats | None:
    """The best state of programs with the neighbours of the one before; None if none is valid."""
    best, cost = None, np.inf
    if reached(task.series(x)):
        best, cost = x, task.cost(x)
    wanted = k // 2 + 1  # even votes go to the first class
    for _ in range(ROUNDS):
        near = np.argsort(_far(ours, x), kind="stable")[:wanted]
        away = np.argsort(_far(others, x), kind="stable")[k - wanted :]
        change = _program(ours[near], others[away], task, x)
        if change is None:
            return best
        x = task.original + change
        if not (reached(task.series(x)) and task.cost(x) < cost * (1 - 1e-4)):
            return best
        best, cost = x, task.cost(x)
    return best


def _far(points: Floats, x: Floats) -> Floats:
    """Squared distances of `x` from points ``(n, cells)``, but for the square of `x` itself ``(n,)``."""
    return np.asarray((points**2).sum(1) - 2 * points @ x)


def _program(near: Floats, away: Floats, task: Task, x: Floats) -> Floats | None:
    """The least costly change after which all of `near` are nearer than all of `away`; None if there is none.

    Few of `away` are in the way: those are taken up that the answer without them has too near.
    """
    now = np.where(task.discrete, x, task.original)  # discrete cells stay as in the start
    weight = task.weight + task.price / np.maximum(np.abs(x - now), LEAST_CHANGE)
    free = np.flatnonzero(~task.discrete)
    up, down = (task.high - now)[free], (now - task.low)[free]
    bounds = [*((0, most) for most in np.concatenate([up, down])), (None, None)]
    lead = LEAD * float(np.abs(_far(away, now)).max())
    taken = list(range(min(FURTHER_ROWS, len(away))))
    while True:
        both, sign = np.concatenate([near, away[taken]]), np.repeat([1.0, -1.0], [len(near), len(taken)])
        slope = -2 * both[:, free] * sign[:, None]
        solved = linprog(
            np.concatenate([weight[free], weight[free], [0.0]]),
            A_ub=np.hstack([slope, -slope, -sign[:, None]]),
            b_ub=-sign * _far(both, now) - lead * (sign < 0),
            bounds=bounds,
            method="highs",
        )
        if solved.x is None:
            return None
        change = now - task.original
        change[free] += solved.x[: len(free)] - solved.x[len(free) : -1]
        far = _far(away, task.original + change)
        too_near = np.flatnonzero(far < solved.x[-1] + lead / 2)
        more = [i for i in too_near[np.argsort(far[too_near])].tolist() if i not in taken][:FURTHER_ROWS]
        if not more:
            return change
        taken += more
