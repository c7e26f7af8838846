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


class Answer(NamedTuple):
    """What became of n states: whether each reached the target, and how near it came.

    `score` ``(n,)`` runs from 0 to 1 with the boundary at 0.5; None where the model gives labels only.
    """

    reached: NDArray[np.bool_]
    score: NDArray[np.float64] | None


Asks: TypeAlias = Generator[NDArray[Any], Answer, None]


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
    history: list[Update] = field(default_factory=list)
    generator: torch.Generator = field(init=False)
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.seed)
        self.rng = np.random.default_rng(self.seed)

    def report(self, success_share: float) -> None:
        """Note the state of things after an update of the policy."""
        self.history.append(Update(self.n_queries, success_share, self.candidates.best_proximity))
