"""The one face of all moves: propose, learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Outcome, Search
from ntdcfe.search.refine.surrogate import Promises, Surrogate


@dataclass
class Memory:
    """What all descents of a search have learnt of the cells.

    `promises` are the regression's latest reading, None where there is none worth using; `exchanged` is what the
    exchanges remember.
    """

    surrogate: Surrogate
    promises: Promises | None = None
    exchanged: Any = field(default=None)


class Move(ABC):
    """One way to make a valid state cheaper: a mutation operator, one object for each descent.

    How many states each move may propose follows from what it won lately (adaptive operator selection), within its
    shares. A move of your own is a class with :meth:`propose`, given as ``SearchSettings(moves=[...])``.

    Parameters
    ----------
    search : Search
    memory : Memory
        Shared with the other descents of the search.
    """

    #: The least and the most of a batch that it takes, while it is possible.
    least_share: float = 0.2
    most_share: float = 0.6
    #: Fewest states that it is asked for.
    fewest: int = 0
    #: Whether what it improved in different cells may be tried together in the next batch.
    joins: bool = True
    #: Whether the answers to its proposals tell something about the cells that it changed.
    informs: bool = True

    def __init__(self, search: Search, memory: Memory) -> None:
        self.search = search
        self.memory = memory

    @property
    def possible(self) -> bool:
        """Whether it has something to propose."""
        return True

    @abstractmethod
    def propose(self, base: NDArray[Any], n: int) -> NDArray[Any]:
        """About `n` states ``(m, K, F)`` that may be valid and cost less than the valid `base` ``(K, F)``."""

    def learn(self, outcome: Outcome, better: NDArray[np.bool_]) -> None:
        """What became of the states proposed last, and which of them are valid and cost less ``(m,)``."""

    def moved(self, by: Move | None) -> None:
        """The descent has moved to another base, by a proposal of that move (None: by several joined)."""
