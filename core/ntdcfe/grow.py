"""Rows of a table: one feature after the other, the most promising first.

What single features do to the score tells which to change together, so that sparse counterfactuals are found
from below rather than shrunk from above. Where a model gives labels only, and several counterfactuals are wanted,
features that do nothing alone are put together at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment
from ntdcfe.search import Asks, Outcome, Search
from ntdcfe.surrogate import UNLIMITED

# Share of the budget for single features and, with them, for sets (twice that while nothing is valid).
SHARE_FOR_SINGLES, SHARE_FOR_SETS = 0.4, 0.5
# How many sets are built upon.
BASES = 6
# Most changes that are put together at random.
MOST_TOGETHER = 4
# Most values of a discrete feature that are tried.
MOST_CHOICES = 4


def grow(search: Search) -> Asks:
    """Single features at a few values each; then, as long as too few are valid and the score rises, sets of them."""
    environment, candidates, n = search.environment, search.candidates, search.batch_rows
    singles = _singles(environment, search.rng)
    asked: list[Outcome] = []
    while sum(len(outcome.states) for outcome in asked) < len(singles) and search.left(SHARE_FOR_SINGLES):
        asked.append((yield from search.ask(singles[n * len(asked) : n * (len(asked) + 1)])))
    if not asked:
        return
    if any(outcome.score is None for outcome in asked):
        if search.settings.n_counterfactuals > 1:
            yield from _random_sets(search, asked)
        return
    bases, valid, score = (np.concatenate([outcome[i] for outcome in asked]) for i in range(3))  # type: ignore[misc]
    change, gain = bases - environment.original, score - np.median(score)  # most features do nothing alone
    feature = (change[:, 0] != 0).argmax(1)
    while candidates.n_sets < search.settings.n_counterfactuals and search.left(
        SHARE_FOR_SETS if len(candidates) else 2 * SHARE_FOR_SETS
    ):
        # What is valid needs nothing more. Every other base with every change of a feature that it leaves alone:
        best = np.flatnonzero(~valid)[np.argsort(-score[~valid], kind="stable")[:BASES]]
        alone = (bases[best] == environment.original)[:, 0, feature]
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
    environment, rng, n = search.environment, search.rng, search.batch_rows
    idle = np.concatenate([outcome.states[~outcome.valid] for outcome in asked]) - environment.original
    if len(idle) < 2:
        return
    while search.candidates.n_sets < search.settings.n_counterfactuals and search.left(SHARE_FOR_SETS):
        rank = rng.random((n, len(idle))).argsort(1).argsort(1)
        together = rank < rng.integers(2, MOST_TOGETHER + 1, n)[:, None]
        yield from search.ask(environment.original + np.tensordot(together.astype(idle.dtype), idle, 1))


def _singles(environment: Environment, rng: np.random.Generator) -> NDArray[Any]:
    """The original with one feature at another value ``(n, 1, F)``: the ends of its reach, then half the way."""
    original, furthest = environment.original[0], UNLIMITED * environment.units
    ends = np.clip([environment.low[0], environment.high[0]], original - furthest, original + furthest)
    whole, half = [], []
    for i in np.flatnonzero(environment.movable[0]):
        if (choices := environment.choices[i]) is not None:
            whole += [(i, value) for value in rng.permutation(choices[choices != original[i]])[:MOST_CHOICES]]
            continue
        whole += [(i, end) for end in ends[:, i]]
        half += [(i, (original[i] + end) / 2) for end in ends[:, i]]
    feature, value = zip(*whole, *half, strict=True)
    states = np.repeat(environment.original[None], len(feature), axis=0)
    states[np.arange(len(feature)), 0, feature] = value
    states = environment.project(states)
    return states[(states != environment.original).any((1, 2))]
