"""The optimum of a linear model: a knapsack of cells, each of which is moved the way that helps."""

from __future__ import annotations

import numpy as np
from protocol.arrays import Floats
from scipy.optimize import Bounds, LinearConstraint, milp

from optimum.task import Optimum, Reached, Task

# By how much further than the boundary the answer has to be: the solver keeps constraints to a millionth.
LEAD = 1e-5


def of_linear(slope: Floats, constant: float, task: Task, reached: Reached) -> Optimum | None:
    """Give the least costly state in which ``slope @ x + constant`` is positive; None where there is none.

    Without a price of cells and discrete ones it is the closed form: the cells with most gain for their cost, moved to
    their limits, the last of them in part. The program below has that answer, and with the price that of whole cells.

    Parameters
    ----------
    slope
        Of each cell, ``(K * D,)``.
    constant
        What is added.
    task
        What is minimised.
    reached
        The model's own word.
    """
    now = task.original
    furthest = np.where(slope > 0, task.high, task.low)
    for i in np.flatnonzero(task.discrete):
        values = task.values[i]
        assert values is not None
        furthest[i] = values[np.argmax(slope[i] * values)]
    move = furthest - now
    gain, discrete = slope * move, task.discrete
    gain /= -(float(slope @ now) + constant)  # as shares of what is missing
    useful = np.flatnonzero(gain > 0)
    n = len(useful)
    # Shares of each cell's move, then whether it moves at all.
    expense = np.where(discrete, task.weight, task.weight * np.abs(move))[useful]
    moved = LinearConstraint(np.hstack([np.eye(n), -np.eye(n)]), -np.inf, 0)
    solved = milp(
        np.concatenate([expense, np.full(n, task.price)]),
        integrality=np.concatenate([discrete[useful], np.full(n, task.price > 0)]),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(np.concatenate([gain[useful], np.zeros(n)])[None], 1 + LEAD, np.inf), moved],
        options={"time_limit": 20.0, "mip_rel_gap": 1e-3},
    )
    if solved.x is None:
        return None
    x = now.copy()
    share = np.where(solved.x[:n] < 1e-9, 0.0, solved.x[:n])
    x[useful] += share * move[useful]
    if not reached(task.series(x)):
        raise RuntimeError("the model does not put the program's answer in the target class")
    return Optimum(
        task.series(x), task.cost(x), float(solved.fun if solved.mip_dual_bound is None else solved.mip_dual_bound)
    )
