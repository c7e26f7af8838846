"""Screening: what each feature does in the company of others, where alone it does nothing.

A single change in a row of a table may leave the score as it is, as among the nearest neighbours of a far class. States
with many features drawn at random show the main effects (a screening design), and these tell which few single changes
to put together.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.space import Space
from ntdcfe.search.base import Asks, Search


@dataclass(frozen=True, repr=False)
class ScreeningTuning:
    """Numbers of the screening; rules of thumb.

    Parameters
    ----------
    ridge : float
        Of the regression, as a share of the mean diagonal.
    most_features : int
        Features of the greatest effect that are put together.
    sizes : tuple of int
        How many of them at a time, each as often as the others.
    features_a_row : int
        The answers of a batch tell little of more features than so many times its rows.
    """

    ridge: float = 0.1
    most_features: int = 8
    sizes: tuple[int, ...] = (2, 3, 4)
    features_a_row: int = 10

    __repr__ = typed_back


def worth_screening(search: Search) -> bool:
    """Whether there is more than one feature to change, and few enough to learn of from a batch."""
    movable = int(search.space.movable[0].sum())
    return 1 < movable <= search.settings.tuning.screening.features_a_row * search.budget.batch_size


def screen(search: Search, singles: NDArray[Any], ends: NDArray[np.float64]) -> Asks:
    """One batch with many features at once, and one of the sets of single changes that it promises.

    Parameters
    ----------
    search : Search
    singles : array (m, 1, F)
        The original with one feature changed.
    ends : array (2, F)
        How far down and up each feature may go.
    """
    outcome = yield from search.ask(_many_at_random(search, ends))
    if outcome.score is None or not np.ptp(outcome.score) > 0:
        return
    tuning = search.settings.tuning.screening
    columns = _Columns(search.space, ends)
    effects = _effects(columns.of(outcome.states), outcome.score, tuning.ridge)
    sets = _promising_sets(search, singles, columns.of(singles) @ effects)
    if len(sets):
        yield from search.ask(sets)


def _many_at_random(search: Search, ends: NDArray[np.float64]) -> NDArray[Any]:
    """States ``(n, 1, F)`` with two to all features drawn from their whole reach."""
    space, rng, n = search.space, search.rng, search.budget.batch_size
    movable = np.flatnonzero(space.movable[0])
    states = np.repeat(space.original[None], n, axis=0)
    together = rng.random((n, len(movable))).argsort(1) < rng.integers(2, len(movable) + 1, (n, 1))
    for rows, i in zip(together.T, movable, strict=True):
        choices = space.choices[i]
        drawn = rng.uniform(ends[0, i], ends[1, i], n) if choices is None else rng.choice(choices, n)
        states[rows, 0, i] = drawn[rows]
    return states


class _Columns:
    """What a regression sees of a state: a number's change as a share of its reach, and which category it is."""

    def __init__(self, space: Space, ends: NDArray[np.float64]) -> None:
        self.original = space.original[0]
        self.reach = np.maximum(np.ptp(ends, axis=0), 1e-300)
        self.numbers = np.flatnonzero(space.movable[0] & ~space.discrete)
        self.categories = [
            (i, value)
            for i in np.flatnonzero(space.movable[0] & space.discrete)
            for value in space.choices[i]  # type: ignore[union-attr]
            if value != self.original[i]
        ]

    def of(self, states: NDArray[Any]) -> NDArray[np.float64]:
        """Of states ``(n, 1, F)``: ``(n, columns)``."""
        moved = ((states[:, 0] - self.original) / self.reach)[:, self.numbers]
        return np.column_stack([moved, *(states[:, 0, i] == value for i, value in self.categories)])


def _effects(seen: NDArray[np.float64], score: NDArray[np.float64], ridge: float) -> NDArray[np.float64]:
    """What each column ``(n, columns)`` adds to the score ``(n,)``: a ridge regression."""
    centred = seen - seen.mean(0)
    gram = centred.T @ centred
    gram[np.diag_indices_from(gram)] += ridge * np.trace(gram) / len(gram) + 1e-9
    return np.asarray(np.linalg.solve(gram, centred.T @ (score - score.mean())))


def _promising_sets(search: Search, singles: NDArray[Any], effect: NDArray[np.float64]) -> NDArray[Any]:
    """Sets ``(n, 1, F)`` of the single changes ``(m, 1, F)``, as many of each size, those of greatest effect first."""
    tuning, original = search.settings.tuning.screening, search.space.original
    best: dict[int, int] = {}  # the single change of greatest effect, of each feature
    for i in np.argsort(-effect, kind="stable"):
        if effect[i] > 0 and len(best) < tuning.most_features:
            best.setdefault(int((singles[i] != original)[0].argmax()), int(i))
    sets = []
    for size in tuning.sizes:
        together = sorted(itertools.combinations(best.values(), size), key=lambda some: -effect[list(some)].sum())
        sets += together[: search.budget.batch_size // len(tuning.sizes)]
    return np.array([original + (singles[list(some)] - original).sum(0) for some in sets])
