"""The one face of all moves in the space of edits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.draws import Drawer

#: The numbers ``(n, m)`` with which the edits of lists would change nothing, or least.
Numbers: TypeAlias = NDArray[np.float64]
#: Gives lists that hold ``(n, m)``, one for each that is to be changed; few moves want any.
Others: TypeAlias = Callable[[], EditLists]


class EditMove(ABC):
    """One way to make a list of edits cheaper: a mutation operator.

    Parameters
    ----------
    editor : Drawer
    """

    #: How often it is tried at first, beside the others.
    chance: ClassVar[float] = 0.06

    def __init__(self, editor: Drawer) -> None:
        self.editor = editor

    @abstractmethod
    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """The lists, each with its edit at `place` ``(n,)`` changed; `lists` may be written into.

        What is the same for all moves of a base is worked out once: `neutral`.
        """


def at_places(numbers: Numbers, place: NDArray[np.int64]) -> NDArray[np.float64]:
    """The number at that place ``(n,)`` of each list ``(n,)``."""
    return numbers[np.arange(len(place)), place]


def towards_nothing(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Shares ``(n,)`` of an effect that is to become weaker, of any order of magnitude below all of it."""
    return 1 - 0.5 ** rng.uniform(0.5, 6, n)
