"""Lists of edits under test: which of them hold under noise, by sequential tests with fresh draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.tuning import TestTuning


@dataclass(eq=False)
class Tested:
    """One list of edits ``(1, m)``, its state ``(K, F)``, its cost, and how it did in its draws."""

    cost: float
    edits: EditLists
    state: NDArray[Any]
    draws: int = 0
    held: int = 0

    @cached_property
    def features(self) -> frozenset[int]:
        """The features that it edits."""
        return frozenset(self.edits.feature[0][self.edits.kind[0] >= 0].tolist())

    def count(self, held: NDArray[np.bool_]) -> None:
        """Take further draws into account."""
        self.draws += len(held)
        self.held += int(held.sum())


class Tests:
    """The lists of one search: those that wait for a test, and those that have passed.

    Parameters
    ----------
    tuning : TestTuning
    at_least : float
        The share of draws that has to hold; 1 without noise.
    minimal : bool
        Whether lists that edit more features than a cheaper one, and all of its, are of no use.
    """

    def __init__(self, tuning: TestTuning, at_least: float, minimal: bool = False) -> None:
        self.tuning = tuning
        self.minimal = minimal
        self.at_least = at_least
        self.stages = tuning.stages if at_least < 1 else (1,)
        self.of_a_set = tuning.of_a_set
        self.waiting: list[Tested] = []
        self.passed: list[Tested] = []
        self._proven: dict[frozenset[int], Tested] = {}
        self.boldness = 0.5
        """Which of the waiting lists is tested next, as a share of them by cost: 0 for the cheapest."""

    @property
    def best_cost(self) -> float:
        """What the cheapest list that has passed costs, infinity while there is none."""
        return self.passed[0].cost if self.passed else np.inf

    @property
    def limit(self) -> float:
        """What a list has to cost less than to be worth a test."""
        return self.passed[-1].cost if len(self.passed) >= self.tuning.elites else np.inf

    def wait(self, cost: NDArray[np.float64], lists: EditLists, states: NDArray[Any]) -> None:
        """Lists that reached the target once wait for a test: costs ``(n,)``, n lists, states ``(n, K, F)``."""
        for own, edits, state in zip(cost.tolist(), lists.packed().each(), states, strict=True):
            self.waiting.append(Tested(own, edits, state.copy(), 1, 1))

    def next(self, rows: int) -> list[Tested]:
        """The lists to be tested now, with no more than so many draws; they no longer wait."""
        limit = self.limit
        self.waiting = sorted((t for t in self.waiting if t.cost < limit), key=lambda tested: tested.cost)
        begun = [t for t in self.waiting if t.draws > 1]
        fresh = [t for t in self.waiting if t.draws <= 1][: self.tuning.kept]
        start = max(0, int(self.boldness * (len(fresh) - 1)) - 1)
        chosen: list[Tested] = []
        for tested in [*begun, *fresh[start:], *fresh[:start][::-1]]:
            rows -= self.missing(tested)
            if rows < 0:
                break
            chosen.append(tested)
        gone = set(map(id, chosen))
        self.waiting = [t for t in [*begun, *fresh] if id(t) not in gone]
        return chosen

    def missing(self, tested: Tested) -> int:
        """Draws that a list needs to end the stage of the test that it is in."""
        return next(stage for stage in (*self.stages, np.inf) if stage > tested.draws) - tested.draws  # type: ignore[return-value]

    def judge(self, tested: Tested) -> None:
        """Put a list where it belongs after a stage: on, among those that passed, or away."""
        most_missed = round((1 - self.at_least) * tested.draws)
        passed = tested.draws - tested.held <= most_missed
        first = tested.draws == self.stages[0]
        # Adaptive: tests that fail ask for costlier lists, which are safer, tests that succeed for cheaper ones.
        self.boldness = min(max(self.boldness + (-0.08 if passed and first else 0.04 * (not passed)), 0.0), 1.0)
        if passed and tested.draws >= self.stages[-1]:
            self.passed.append(tested)
        elif passed:
            self.waiting.append(tested)

    @property
    def bases(self) -> list[Tested]:
        """The lists to build upon, the cheapest first: those that passed, and those that held in a first stage."""
        least = 1 if self.boldness <= self.tuning.trusting else self.stages[0]
        begun = [t for t in self.waiting if t.draws >= least and t.held == t.draws]
        return cheapest([*self.passed, *begun], self.tuning.elites, self.of_a_set, self.minimal)

    def sort(self) -> list[Tested]:
        """Keep the cheapest that passed, few of each set of features; return those that fell behind in later draws."""
        least = self.at_least - self.tuning.hold
        known = list({id(tested): tested for tested in [*self.passed, *self._proven.values()]}.values())
        held = [tested for tested in known if tested.held >= least * tested.draws]
        fallen = [tested for tested in self.passed if tested.held < least * tested.draws]
        # Cheaper lists that have passed by luck must not push out one that has held often.
        proven = [tested for tested in held if tested.draws >= self.tuning.proven]
        self._proven = {t.features: t for t in cheapest(proven, len(proven), 1)}
        self.passed = cheapest(held, self.tuning.elites, self.of_a_set, self.minimal)
        return fallen

    def reprice(self, price: Callable[[list[Tested]], NDArray[np.float64]]) -> None:
        """Other costs ``(n,)`` from now on, and all elites may be of one set; what costs infinitely much is dropped."""
        self.of_a_set = self.tuning.elites
        lists = list({id(t): t for t in [*self.passed, *self.waiting, *self._proven.values()]}.values())
        for tested, cost in zip(lists, price(lists).tolist(), strict=True):
            tested.cost = cost
        self.passed = sorted((t for t in self.passed if t.cost < np.inf), key=lambda tested: tested.cost)
        self.waiting = [t for t in self.waiting if t.cost < np.inf]
        self._proven = {features: t for features, t in self._proven.items() if t.cost < np.inf}


def cheapest(lists: Iterable[Tested], n: int, of_a_set: int, minimal: bool = False) -> list[Tested]:
    """The n cheapest lists, of which no more than so many edit the same set of features.

    Where sets are to be `minimal`, none that edits all features of a cheaper one and more.
    """
    sets: dict[frozenset[int], int] = {}
    kept: list[Tested] = []
    for tested in sorted(lists, key=lambda tested: tested.cost):
        if len(kept) >= n:
            break
        features = tested.features
        sets[features] = sets.get(features, 0) + 1
        needless = minimal and any(other.features < features for other in kept)
        if sets[features] <= of_a_set and not needless:
            kept.append(tested)
    return kept
