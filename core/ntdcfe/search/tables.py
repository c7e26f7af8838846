"""Rows of a table: one feature after the other, the most promising first.

What single features do to the score tells which to change together, so that sparse counterfactuals are found
from below rather than shrunk from above. Where a model gives labels only, and several counterfactuals are wanted,
features that do nothing alone are put together at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Asks, Outcome, Search


@dataclass(frozen=True, repr=False)
class TableTuning:
    """Numbers of the search in rows of a table; rules of thumb, chosen on DiCE's datasets (benchmarks/results/dice.md).

    Parameters
    ----------
    share_for_singles, share_for_sets : float
        Share of the budget for single features and, with them, for sets (twice that while nothing is valid).
    bases : int
        How many sets are built upon.
    most_together : int
        Most changes that are put together at random.
    most_choices : int
        Most values of a discrete feature that are tried.
    """

    share_for_singles: float = 0.4
    share_for_sets: float = 0.5
    bases: int = 6
    most_together: int = 4
    most_choices: int = 4

    __repr__ = typed_back


def grow(search: Search) -> Asks:
    """Single features at a few values each; then, as long as too few are valid and the score rises, sets of them."""
    space, pool, n, tuning = search.space, search.pool, search.budget.batch_size, search.settings.tuning.tables
    singles = _singles(search)
    asked: list[Outcome] = []
    while sum(len(outcome.states) for outcome in asked) < len(singles) and search.budget.left(tuning.share_for_singles):
        asked.append((yield from search.ask(singles[n * len(asked) : n * (len(asked) + 1)])))
    if not asked:
        return
    if any(outcome.score is None for outcome in asked):
        if search.settings.n_counterfactuals > 1:
            yield from _random_sets(search, asked)
        return
    bases, valid, score = (np.concatenate([outcome[i] for outcome in asked]) for i in range(3))  # type: ignore[misc]
    change, gain = bases - space.original, score - np.median(score)  # most features do nothing alone
    feature = (change[:, 0] != 0).argmax(1)
    while pool.n_sets < search.settings.n_counterfactuals and search.budget.left(
        tuning.share_for_sets if len(pool) else 2 * tuning.share_for_sets
    ):
        # What is valid needs nothing more. Every other base with every change of a feature that it leaves alone:
        best = np.flatnonzero(~valid)[np.argsort(-score[~valid], kind="stable")[: tuning.bases]]
        alone = (bases[best] == space.original)[:, 0, feature]
        promise = np.where(alone & (gain > 0), score[best, None] + gain, -np.inf)
        order = np.argsort(-promise, axis=None, kind="stable")[: min(n, np.isfinite(promise).sum())]
        if not len(order):
            return
        base, single = np.divmod(order, len(gain))
        bases, valid, answers, _ = yield from search.ask(bases[best[base]] + change[single])
        assert answers is not None
        score = answers


def _random_sets(search: Search, asked: list[Outcome]) -> Asks:
    """Two to four changes that did nothing alone, together, as long as too few sets of features are valid."""
    space, rng, n, tuning = search.space, search.rng, search.budget.batch_size, search.settings.tuning.tables
    idle = np.concatenate([outcome.states[~outcome.valid] for outcome in asked]) - space.original
    if len(idle) < 2:
        return
    while search.pool.n_sets < search.settings.n_counterfactuals and search.budget.left(tuning.share_for_sets):
        rank = rng.random((n, len(idle))).argsort(1).argsort(1)
        together = rank < rng.integers(2, tuning.most_together + 1, n)[:, None]
        yield from search.ask(space.original + np.tensordot(together.astype(idle.dtype), idle, 1))


def _singles(search: Search) -> NDArray[Any]:
    """The original with one feature at another value ``(n, 1, F)``: the ends of its reach, then half the way."""
    space, rng, tuning = search.space, search.rng, search.settings.tuning
    original, furthest = space.original[0], tuning.surrogate.unlimited * space.units
    ends = np.clip([space.low[0], space.high[0]], original - furthest, original + furthest)
    whole, half = [], []
    for i in np.flatnonzero(space.movable[0]):
        if (choices := space.choices[i]) is not None:
            others = rng.permutation(choices[choices != original[i]])
            whole += [(i, value) for value in others[: tuning.tables.most_choices]]
            continue
        whole += [(i, end) for end in ends[:, i]]
        half += [(i, (original[i] + end) / 2) for end in ends[:, i]]
    feature, value = zip(*whole, *half, strict=True)
    states = np.repeat(space.original[None], len(feature), axis=0)
    states[np.arange(len(feature)), 0, feature] = value
    states = space.project(states)
    return states[(states != space.original).any((1, 2))]
