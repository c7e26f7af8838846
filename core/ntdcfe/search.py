"""What every search is given and what it is told: the ask-and-tell face.

A search is a function of a :class:`Search` that returns a generator. It yields states
``(n, K, F)`` to be predicted and is sent an :class:`Answer` about them; the driver does the rest.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from ntdcfe.candidates import Candidates
from ntdcfe.environment import Environment
from ntdcfe.settings import SearchSettings

# Bounds the memory of a batch: at 144 x 963 it has 57 rows.
VALUES_IN_A_BATCH = 8_000_000
# Where that makes batches small, up to so many times as many of them make up for it.
MORE_BATCHES = 1.4
# How many of one batch are kept: the next will have better.
MOST_OF_A_BATCH = 8


class Answer(NamedTuple):
    """What became of n states: whether each reached the target, and how near it came.

    `score` ``(n,)`` runs from 0 to 1 with the boundary at 0.5; None where the model gives labels only.
    """

    reached: NDArray[np.bool_]
    score: NDArray[np.float64] | None

    def padded(self, n: int) -> Answer:
        """The same about n states: those that follow were not reached."""
        if n == len(self.reached):
            return self
        missing = (0, n - len(self.reached))
        return Answer(np.pad(self.reached, missing), None if self.score is None else np.pad(self.score, missing))


Asks: TypeAlias = Generator[NDArray[Any], Answer, None]


class Outcome(NamedTuple):
    """What became of a batch: states ``(n, K, F)``, whether each is valid, its score and its cost ``(n,)``."""

    states: NDArray[Any]
    valid: NDArray[np.bool_]
    score: NDArray[np.float64] | None
    cost: NDArray[np.float64]


class Update(NamedTuple):
    """One entry of a search's history."""

    n_queries: int
    success_share: float
    best_proximity: float


@dataclass
class Search:
    """The search for one instance: what it works with, and what it has found so far."""

    environment: Environment
    settings: SearchSettings
    candidates: Candidates
    seed: int
    n_queries: int = 0
    n_calls: int = 0
    n_proposed: int = 0
    """Rows if none had been asked twice."""
    n_batches: int = 0
    """Calls if none had to be split."""
    first_found: int | None = None
    """Rows it took to the first counterfactual of a batched search."""
    history: list[Update] = field(default_factory=list)
    generator: torch.Generator = field(init=False)
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.seed)
        self.rng = np.random.default_rng(self.seed)

    @property
    def batch_rows(self) -> int:
        """Rows in a batch: as set, fewer where the rows left have to last for the calls left, or memory is short."""
        return int(min(self._affordable_rows, max(16, VALUES_IN_A_BATCH // self.environment.original.size)))

    @property
    def _affordable_rows(self) -> int:
        settings = self.settings
        if settings.max_queries is None or settings.max_calls is None:
            return settings.batch_rows
        rows, calls = settings.max_queries, settings.max_calls
        if len(self.environment.original) > 1:  # a row of a table has few cells: what is not needed is not asked
            rows, calls = rows - self.n_proposed, max(1, calls - self.n_batches)
        return min(settings.batch_rows, max(16, rows // calls))

    def left(self, share: float = 1.0) -> bool:
        """Whether less than that share of the rows and calls is used up."""
        rows, calls = self.settings.max_queries or np.inf, self.settings.max_calls or np.inf
        calls *= min(MORE_BATCHES, self._affordable_rows / self.batch_rows)
        # Two calls are set aside: for the step off the boundary, and for the last check.
        return self.n_queries < share * rows and self.n_batches < share * (calls - 2)

    def report(self, success_share: float) -> None:
        """Note the state of things after an update of the policy."""
        self.history.append(Update(self.n_queries, success_share, self.candidates.best_proximity))

    def ask(
        self, proposals: NDArray[Any], previous: NDArray[Any] | None = None
    ) -> Generator[NDArray[Any], Answer, Outcome]:
        """Project proposals ``(n, K, F)``, ask about them, keep what is valid.

        Those that cannot be made to obey are `previous` again, the original if not given.
        """
        states = self.environment.project(proposals, previous)
        self.n_proposed += len(states)
        answer = yield states
        return self.keep(states, answer)

    def keep(self, states: NDArray[Any], answer: Answer) -> Outcome:
        """Take those states ``(n, K, F)`` that reached the target, and are plausible, among the candidates."""
        reached, plausible = answer.reached.copy(), self.candidates.plausible
        if plausible is not None and reached.any():
            reached[reached] = plausible(states[reached])
        cost, sparsity = self.environment.cost_and_sparsity(states)
        if reached.any():
            if self.first_found is None:
                self.first_found = self.n_queries - len(states) + int(reached.argmax()) + 1
            most = max(MOST_OF_A_BATCH, self.settings.n_counterfactuals)
            self.candidates.extend(states[reached], cost[reached], sparsity[reached], most)
        return Outcome(states, reached, answer.score, cost)
