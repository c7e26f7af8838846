"""Small spaces: every state that there is, asked once. What is found is the optimum, and nothing is asked twice."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edits import Editor
from ntdcfe.problem.space import Space
from ntdcfe.search.base import Answer, Asks, Found, Search
from ntdcfe.search.options import agreed_first, retested

# Every state is asked about where there are no more than this (rule of thumb: as many as the default budget has rows).
MOST_STATES = 10_000
# Answers of a kind that are tried under noise (rule of thumb).
MOST_TESTED = 8
# States that the second model agrees with, of which the simplest answer is chosen (rule of thumb).
MOST_AGREED = 32


def is_small(search: Search) -> bool:
    """Whether the budget is enough for every state that the series may take."""
    rows = search.settings.max_rows
    return n_states(search.space) <= min(MOST_STATES, math.inf if rows is None else rows // 2)


def n_states(space: Space) -> float:
    """How many states there are, infinite where a number may take any value or go as far as it likes."""
    total = 1.0
    for i in np.flatnonzero(space.movable.any(0)):
        values = space.limits.values(int(i))
        cells = int(space.movable[:, i].sum())
        # A number of states beyond any budget counts as infinite, so that no power overflows.
        if values is None or cells * math.log(max(len(values), 1)) > math.log(MOST_STATES):
            return math.inf
        total *= float(len(values)) ** cells
    return total


def exhaustive(search: Search) -> Generator[NDArray[Any], Answer, list[NDArray[Any]]]:
    """Ask about every state but the original; returns the cheapest of those that the second model agrees with."""
    agreed: list[tuple[float, NDArray[Any]]] = []
    space, size = search.space, search.budget.batch_size
    cells = np.argwhere(space.movable)
    values = [some for _, f in cells if (some := space.limits.values(int(f))) is not None]
    total = math.prod(len(some) for some in values)
    asked = np.empty((0, *space.original.shape), space.dtype)
    for start in range(0, total, size):
        # A number from 0 to the total, read in a mixed radix, names one combination of values.
        code = np.arange(start, min(start + size, total))
        states = np.repeat(space.original[None], len(code), axis=0)
        for (step, feature), some in zip(cells, values, strict=True):
            code, digit = np.divmod(code, len(some))
            states[:, step, feature] = some[digit]
        states = _new(space.project(states), asked, space)
        asked = np.concatenate([asked, states])
        if len(states):
            outcome = yield from search.ask(states)
            valid = np.flatnonzero(outcome.valid)
            if search.second is not None and len(valid):
                valid = valid[search.second(outcome.states[valid])]
                agreed += [(float(outcome.cost[i]), outcome.states[i]) for i in valid]
                agreed = sorted(agreed, key=lambda pair: pair[0])[:MOST_AGREED]
    return [state for _, state in agreed]


def exact_answers(search: Search, agreed: list[NDArray[Any]]) -> dict[str, list[Found]]:
    """The kinds of answers in a small space: the nearest, and the cheapest as edits of those that edits lead to.

    `agreed` are states that the second model agrees with, if there is one: they are not the cheapest of all.
    """
    nearest = search.pool.states
    if not nearest:
        return {}
    states = list({state.tobytes(): state for state in [*nearest, *agreed]}.values())
    editor, found = Editor(search.space, search.problem.kinds), {}
    if "simplest" in search.settings.options:
        lists = editor.from_states(np.array(states))
        cost = search.objective.cost_of_edits(np.array(states), editor.effort(lists))
        exact = (editor.states(lists) == np.array(states)).all((1, 2))
        order = [i for i in np.argsort(cost, kind="stable") if exact[i]]
        simplest = [Found(states[i], lists.take(slice(i, i + 1)).packed()) for i in order]
        found["simplest"] = agreed_first(search, simplest)
    if "nearest" in search.settings.options:
        found["nearest"] = [Found(state) for state in nearest]
        agreed_first(search, found["nearest"][:1])  # the nearest is the nearest, whatever the second model says of it
    return found


def tested_exact(search: Search) -> Asks:
    """Try the first answers of each kind under noise, which moves whole numbers, too: of the simplest, until one holds.

    The nearest stays the nearest, whether it holds or not.
    """
    wanted, rng = search.settings.n_counterfactuals, np.random.default_rng([search.seed, 2])
    if not (search.space.movable & ~search.space.discrete).any():  # there is nothing that noise would change
        return
    for kind, answers in search.found.items():
        most = 1 if kind == "nearest" else MOST_TESTED
        search.found[kind] = (yield from retested(search, answers[:most], wanted, rng)) + answers[most:]


def _new(states: NDArray[Any], asked: NDArray[Any], space: Space) -> NDArray[Any]:
    """The states ``(n, K, F)`` that differ from the original, from each other, and from those asked already."""
    states = states[(states != space.original).any((1, 2))]
    both = np.concatenate([asked, states]).reshape(-1, space.original.size)
    _, first = np.unique(both, axis=0, return_index=True)
    return states[np.sort(first[first >= len(asked)]) - len(asked)]
