"""Which of many valid states a person would call different: by what they change, then by which way, then by how far."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.problem import Problem
from ntdcfe.problem.space import Space

# A change that goes nearly as far as another one in all that the other changes, and changes more, has a needless part:
# so nearly (rule of thumb).
NEARLY = 0.9
# Two answers that change the same features in the same direction differ if they do by this share of the change (rule
# of thumb).
APART = 0.25


def different(problem: Problem, states: NDArray[Any], n: int) -> list[int]:
    """Positions of up to n of the states ``(m, K, F)``, which are in order of preference.

    First those that change different sets of features; then the same features in other directions, or to other
    categories; then to values that are well apart; then the others. States with a needless change come last.
    """
    space, order = problem.space, np.arange(len(states))
    last = needless(problem, states)
    changed, ways = _changed(space, states), directions(space, states)
    chosen: list[int] = []
    for some in (order[~last], order[last]):
        for keys in (changed, ways):
            known = {keys[i].tobytes() for i in chosen}
            for i in some:
                if len(chosen) < n and i not in chosen and keys[i].tobytes() not in known:
                    known.add(keys[i].tobytes())
                    chosen.append(int(i))
        for apart in (APART, 0.0):
            for i in some:
                if len(chosen) < n and i not in chosen and _apart(space, states, i, chosen, ways) >= apart:
                    chosen.append(int(i))
    return chosen


def needless(problem: Problem, states: NDArray[Any]) -> NDArray[np.bool_]:
    """Which states ``(m, K, F)`` change more than another one that goes no further in what it changes ``(m,)``.

    Unless the other one costs more: a term of the user's may want features to change together. In a series, those that
    change all features of an earlier one, and more.
    """
    space = problem.space
    changed = _changed(space, states)
    cost = problem.objective.cost(states) if len(states) else np.zeros(0)
    found = np.zeros(len(states), bool)
    change = (states - space.original)[:, 0] if space.n_steps == 1 else None
    for i, own in enumerate(changed):
        # Those that change all of these features, and more:
        more = (changed >= own).all(1) & (changed.sum(1) > own.sum())
        if change is None:
            found[i:] |= more[i:]
            continue
        as_far = (change * np.sign(change[i]) >= NEARLY * np.abs(change[i])) & ~space.discrete
        as_far |= (states[:, 0] == states[i, 0]) & space.discrete
        found |= more & (as_far | ~own).all(1) & (NEARLY * cost[i] <= cost)
    return found


def _changed(space: Space, states: NDArray[Any]) -> NDArray[np.bool_]:
    """The features that states ``(m, K, F)`` change ``(m, F)``."""
    return np.asarray((states != space.original).any(1))


def directions(space: Space, states: NDArray[Any]) -> NDArray[np.float64]:
    """What is done to each feature: whether it rises or falls in sum; of a row's category, which it is ``(m, F)``."""
    ways = np.sign((states - space.original).sum(1))
    if space.n_steps > 1:
        return np.where(space.discrete, _changed(space, states), ways) + 0.0
    return np.where(space.discrete, np.where(_changed(space, states), states[:, 0] + 2.0, 0.0), ways) + 0.0


def _apart(space: Space, states: NDArray[Any], i: int, chosen: list[int], ways: NDArray[np.float64]) -> float:
    """How far a state is from the nearest chosen one that does the same, as a share of its own change."""
    same = [j for j in chosen if (ways[j] == ways[i]).all()]
    if not same:
        return np.inf

    def far(others: NDArray[Any]) -> NDArray[np.float64]:
        distance = np.abs(others - states[i]) / space.units
        return np.asarray(np.where(space.discrete, others != states[i], distance).sum((-2, -1)))

    return float(far(states[same]).min() / max(float(far(space.original)), 1e-300))
