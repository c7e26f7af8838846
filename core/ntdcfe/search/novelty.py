"""Novelty search: of labels alone, a label that was not seen before is a step on the way (Lehman and Stanley, 2011).

Where a model has many classes and the wanted one is rarely said, neither a score nor a first success tells where to go.
States at which the model says other labels are kept, changed further, and mixed with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Asks, Search
from ntdcfe.search.edits.draws import Drawer


@dataclass(frozen=True, repr=False)
class NoveltyTuning:
    """Numbers of the novelty search; rules of thumb.

    Parameters
    ----------
    fewest_labels : int
        Labels that the model has to have said: of two, the other one is the target.
    batches : int
        Batches after each round of episodes without success.
    strength : float
        Units that a random edit moves its feature by at most.
    crossed, between : float
        Shares of the proposals that take features from another kept state, and that lie between two of them.
    """

    fewest_labels: int = 3
    batches: int = 10
    strength: float = 3.0
    crossed: float = 0.35
    between: float = 0.25

    __repr__ = typed_back


def explore(search: Search) -> Asks:
    """Batches of states made of kept ones, until something is found."""
    tuning = search.settings.tuning.novelty
    if len(search.seen) < tuning.fewest_labels:
        return
    drawer = Drawer(search.space, search.problem.kinds)
    for _ in range(tuning.batches):
        if len(search.pool) or not search.left():
            return
        yield from search.ask(_proposals(search, drawer, search.budget.batch_size))


def _proposals(search: Search, drawer: Drawer, n: int) -> NDArray[Any]:
    """n states made of kept ones ``(n, K, F)``; all labels are taken equally often."""
    rng, tuning = search.novelty_rng, search.settings.tuning.novelty
    base, other = _picked(search, n), _picked(search, n)
    how = rng.random(n)
    between = base + rng.uniform(0, 1.3, (n, 1, 1)) * (other - base)
    crossed = np.where(rng.random((n, 1, base.shape[2])) < 0.5, base, other)
    edited = base.copy()
    for _ in range(2):
        edit = drawer.draw(n, tuning.strength, rng)
        rows = np.arange(n)
        edited[rows, :, edit.feature] = drawer.apply(edit, edited[rows, :, edit.feature])[0]
    crosses = (how < tuning.crossed)[:, None, None]
    mixes = (how >= 1 - tuning.between)[:, None, None] & ~search.space.discrete
    return np.where(crosses, crossed, np.where(mixes, between, edited))


def _picked(search: Search, n: int) -> NDArray[Any]:
    """n kept states ``(n, K, F)``, of each label equally often."""
    labels = list(search.seen)
    picked, place = search.novelty_rng.integers(len(labels), size=n), search.novelty_rng.random(n)
    kept = [search.seen[labels[i]] for i in picked]
    return np.array([states[int(p * len(states))] for states, p in zip(kept, place, strict=True)])
