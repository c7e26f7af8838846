"""What a change of one feature does, done by another: where thresholds decide, cell by cell shows which is nearer."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Answer, Search
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.tighten import tightened

Bases: TypeAlias = Generator[NDArray[Any], Answer, list[Base]]


@dataclass(frozen=True, repr=False)
class SubstituteTuning:
    """Numbers of the substitutes (rules of thumb).

    Parameters
    ----------
    most : int
        At most so many states are asked about.
    given_up : int
        Features of the best answer that are given up in turn, the dearest of them.
    expenses : tuple of float
        What the change of the other feature may cost at first, as shares of what was given up: not every cell needs as
        much as the others, and how much each of them needs is found out afterwards.
    tightened : int
        Features that are looked at cell by cell, those with the least costly states.
    near : float
        They are looked at finely where a coarse look comes within so many times the cost of the best answer.
    """

    most: int = 400
    given_up: int = 3
    expenses: tuple[float, ...] = (1.0, 3.0, 10.0)
    tightened: int = 4
    near: float = 1.3

    __repr__ = typed_back


def substituted(search: Search) -> Bases:
    """Valid states where the best answer's change of one feature is done by another, brought back cell by cell."""
    tuning = search.settings.tuning.substitutes
    states, taken = _states(search)
    if not len(states):
        return []
    outcome = yield from search.ask(states)
    order = np.argsort(outcome.cost, kind="stable")
    order = order[outcome.valid[order]]
    _, first = np.unique(taken[order], return_index=True)
    bases, best = [], search.pool.best_cost
    for i in order[np.sort(first)[: tuning.tightened]]:
        base = yield from tightened(search, Base.of(search, outcome.states[i], float(outcome.cost[i])))
        if base.cost < tuning.near * best:
            base = yield from tightened(search, base, finely=True)
        bases.append(base)
    return sorted(bases, key=lambda base: base.cost)


def _states(search: Search) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """States ``(n, K, F)`` and the feature ``(n,)`` that each of them changes in place of another."""
    space, tuning, objective = search.space, search.settings.tuning.substitutes, search.objective
    best = search.pool.states[0]
    size = np.abs(best - space.original).sum(0)
    prices = objective.of_features(np.where(space.features.discrete, (best != space.original).sum(0), size))
    dearest = np.argsort(-prices, kind="stable")[: tuning.given_up]
    continuous = np.flatnonzero((space.movable & ~space.discrete).any(0))
    spans = _spans(best != space.original)  # (3, F, K)
    grids = np.meshgrid(dearest[prices[dearest] > 0], continuous, [-1.0, 1.0], tuning.expenses, np.arange(len(spans)))
    given_up, taken, sign, share, span = (grid.ravel() for grid in grids)
    some = np.flatnonzero(given_up != taken)
    some = search.rng.permutation(some)[: min(tuning.most, search.budget.widest)]
    given_up, taken, sign, share, span = (values[some] for values in (given_up, taken, sign, share, span))
    inside = spans[span, given_up]  # (n, K)
    expense = share * prices[given_up] / inside.sum(1)
    states, rows = np.repeat(best[None], len(some), axis=0), np.arange(len(some))
    states[rows, :, given_up] = space.original.T[given_up]
    states[rows, :, taken] += inside * (sign * objective.change_for(expense, taken))[:, None]
    return states, taken


def _spans(changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of each feature's changed cells ``(K, F)``: themselves, all from the first to the last, and all ``(3, F, K)``."""
    changed = changed.T
    begun, ended = np.logical_or.accumulate(changed, 1), np.logical_or.accumulate(changed[:, ::-1], 1)[:, ::-1]
    return np.array([changed, begun & ended, np.ones_like(changed)])
