"""A strong reference for networks: sequential linear programs with the network's own gradient, from several starts.

At a valid state the network is taken to be linear within a trust region. The nearest state that is valid then is a
knapsack with one constraint, solved exactly; what the network does not agree with is drawn back towards the valid state.
All starts go down together.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from protocol.arrays import Bools, Floats

from optimum.task import Optimum, Task

# A changed cell costs its price however small its change is: a unit is taken to cost what it does at this change.
LEAST_CHANGE = 0.05
STEPS, FIRST_REGION, LEAST_REGION = 120, 0.5, 1e-3
# Between the program's answer and the valid state before, where it is asked what still holds.
BACK = np.array([0.0, 0.05, 0.15, 0.3, 0.5, 0.75])
# Log-odds beyond zero: in single precision the last bits depend on the size of the batch.
LEAD = 1e-4


def of_network(
    network: torch.nn.Module, series: Floats, task: Task, starts: Iterable[Floats], n_series: int = 6
) -> Optimum | None:
    """Give the least costly state that was found to have log-odds above zero; None if none was found.

    Parameters
    ----------
    network
        Gives the log-odds of the target class: ``(n, K, D)`` -> ``(n,)``.
    series
        Of the target class ``(n, K, D)``, to start from.
    task
        What is minimised.
    starts
        States to start from beside them: what a search has found.
    n_series
        How many of the series, the nearest first.
    """
    flat = np.clip(series.reshape(len(series), -1), task.low, task.high)
    flat = np.where(task.discrete, task.original, flat)
    flat = flat[np.argsort(task.costs(flat), kind="stable")[:n_series]]
    x = np.concatenate([np.array([np.ravel(s) for s in starts]).reshape(-1, flat.shape[1]), flat])
    x = x[_logits(network, task, x)[0] > LEAD]
    if not len(x):
        return None
    cost, region = task.costs(x), np.full(len(x), FIRST_REGION)
    for _ in range(STEPS):
        going = np.flatnonzero(region > LEAST_REGION)
        if not len(going):
            break
        better, found, costs = _step(network, task, x[going], cost[going], region[going])
        x[going[better]], cost[going[better]] = found[better], costs[better]
        region[going] *= np.where(better, 1.3, 0.5)
    best = int(cost.argmin())
    return Optimum(task.series(x[best]), float(cost[best]))


def _step(
    network: torch.nn.Module, task: Task, x: Floats, cost: Floats, region: Floats
) -> tuple[Bools, Floats, Floats]:
    """One program of each of n valid states ``(n, cells)``: whether it gained, the state and its cost."""
    logit, slope = _logits(network, task, x, slopes=True)
    away = np.abs(x - task.original)
    weight = np.where(task.discrete, np.inf, task.weight + task.price / np.maximum(away, LEAST_CHANGE))
    low, high = np.maximum(task.low, x - region[:, None]), np.minimum(task.high, x + region[:, None])
    low, high = np.where(task.discrete, x, low), np.where(task.discrete, x, high)
    wanted = LEAD - logit + (slope * x).sum(1)
    near = _knapsack(slope, wanted, weight, task.original, low, high)
    tried = near[:, None] + BACK[:, None] * (x - near)[:, None]
    # On the way back, a cell that the program left as it was stays so: it would cost its price.
    tried = np.where(
        (near == task.original)[:, None] & (away < 0.1)[:, None] & (BACK[:, None] < 0.5), near[:, None], tried
    )
    flat = tried.reshape(-1, x.shape[1])
    valid = _logits(network, task, flat)[0] > LEAD
    costs = np.where(valid, task.costs(flat), np.inf).reshape(len(x), len(BACK))
    first = costs.argmin(1)
    rows = np.arange(len(x))
    return costs[rows, first] < cost * (1 - 1e-5), tried[rows, first], costs[rows, first]


def _knapsack(slope: Floats, wanted: Floats, weight: Floats, now: Floats, low: Floats, high: Floats) -> Floats:
    """Minimise ``weight @ |x - now|`` with ``slope @ x >= wanted`` between `low` and `high`: ``(n, cells)``.

    A cell is as it was until the multiplier makes it worth its cost, then at its limit; between two multipliers that
    differ by nothing, part of the way.
    """
    rest, limit = np.clip(now, low, high), np.where(slope > 0, high, low)
    ratio = weight / np.maximum(np.abs(slope), 1e-30)
    order = np.argsort(ratio, axis=1)
    gain = np.take_along_axis(slope * (limit - rest), order, 1)
    missing = (wanted - (slope * rest).sum(1))[:, None] - (gain.cumsum(1) - gain)
    share = np.zeros_like(gain)
    np.put_along_axis(share, order, np.clip(missing / np.maximum(gain, 1e-30), 0, 1) * (gain > 0), 1)
    return rest + share * (limit - rest)


def _logits(network: torch.nn.Module, task: Task, x: Floats, slopes: bool = False) -> tuple[Floats, Floats]:
    """The network's log-odds ``(n,)`` of flat states ``(n, cells)``, and their gradient if asked for."""
    rows = torch.tensor(x.reshape(-1, *task.shape), dtype=torch.float32, requires_grad=slopes)
    with torch.set_grad_enabled(slopes):
        logits = network(rows)
    if not slopes:
        return logits.numpy().astype(float), x[:0]
    (gradient,) = torch.autograd.grad(logits.sum(), rows)
    return logits.detach().numpy().astype(float), gradient.numpy().astype(float).reshape(x.shape)
