"""Starts from the user's other series, where they may serve as references."""

from __future__ import annotations

import numpy as np

from ntdcfe.search.base import Asks, Search

# The most of the budget that goes into asking about references, and how many valid ones are enough (rules of thumb).
SHARE, ENOUGH = 0.2, 4


def from_references(search: Search) -> Asks:
    """Ask about the references as far as the space allows them, the nearest first, until a few are valid.

    What may not change is as in the original, so that a reference need not be valid although its own series is.
    """
    space, references = search.space, search.references
    assert references is not None
    states = space.project(np.where(np.isnan(references), space.original, references).astype(space.dtype))
    states = states[(states != space.original).any((1, 2))]
    states = states[np.argsort(search.objective.cost(states), kind="stable")]
    for start in range(0, len(states), search.budget.batch_size):
        if not search.left(SHARE) or len(search.pool) >= ENOUGH:
            return
        yield from search.ask(states[start : start + search.budget.batch_size])
