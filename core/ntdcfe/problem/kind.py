"""The one face of all kinds of edits: what each does to a window of a series, and how it is said.

A kind of your own is one class, a subclass of :class:`Kind`, and takes part by
``SearchSettings(kinds=[*KINDS, Mine])``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# Up to so many steps, which of them are in a window is looked up: two tables of a megabyte at most.
MOST_LOOKED_UP = 1_000


@dataclass(eq=False)
class Window:
    """n windows of the original, each a feature ``(n,)`` from its first to its last step ``(n,)``, both included.

    All else is computed on demand: most kinds use none of it.

    Parameters
    ----------
    original : array (F, K)
        The series.
    feature, first, last : array of int (n,)
    """

    original: Array
    feature: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def values(self) -> Array:
        """The values of the feature ``(n, K)``."""
        return np.asarray(self.original.take(self.feature, axis=0))

    @cached_property
    def inside(self) -> NDArray[np.bool_]:
        """Which of them are in the window ``(n, K)``."""
        return in_window(self.first, self.last, self.original.shape[1])

    @cached_property
    def low(self) -> Array:
        """The least value of each window ``(n,)``."""
        return np.asarray(np.where(self.inside, self.values, np.inf).min(1))

    @cached_property
    def high(self) -> Array:
        """The largest value of each window ``(n,)``."""
        return np.asarray(np.where(self.inside, self.values, -np.inf).max(1))

    @cached_property
    def mean(self) -> Array:
        """The mean of each window ``(n,)``."""
        return np.asarray((self.values * self.inside).sum(1) / np.maximum(self.inside.sum(1), 1))


def in_window(first: NDArray[np.int64], last: NDArray[np.int64], n_steps: int) -> NDArray[np.bool_]:
    """Which of the steps are from the first to the last ``(n,)``, both included: ``(n, K)``."""
    if n_steps <= MOST_LOOKED_UP:
        from_first, to_last = _steps_beside(n_steps)
        return from_first.take(first, axis=0) & to_last.take(last, axis=0)
    steps = np.arange(n_steps)
    return np.asarray((steps >= first[:, None]) & (steps <= last[:, None]))


@lru_cache(maxsize=4)
def _steps_beside(n_steps: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which steps come no earlier, and which no later, than each of the steps: ``(K, K)`` each."""
    steps = np.arange(n_steps)
    return steps >= steps[:, None], steps <= steps[:, None]


class Kind(ABC):
    """One way to change a feature within a window of steps, by one number.

    A kind of your own says what it does, by which number it does nothing, and how it reads; it takes part in the
    search, in sentences, saved results, pictures and adapters.

    Examples
    --------
    >>> class Scale(Kind):
    ...     name, scaled = "scale", False
    ...
    ...     def apply(self, values, window, number):
    ...         return values * number
    ...
    ...     def neutral(self, window):
    ...         return np.ones(len(window))
    ...
    ...     def number_for(self, change, window):
    ...         return 1 + change / np.where(window.mean == 0, 1.0, window.mean)
    ...
    ...     def say(self, name, number, rises, when):
    ...         return f"take {number}% of {name}{when}"
    >>> from ntdcfe import KINDS, SearchSettings
    >>> settings = SearchSettings(kinds=[*KINDS, Scale])
    """

    #: What it is called in an :class:`~ntdcfe.problem.edits.Edit`.
    name: ClassVar[str]
    #: How often it is drawn, beside the others.
    chance: ClassVar[float] = 0.1
    #: How many edits it counts as: what takes more words to act on costs more.
    effort: ClassVar[float] = 1.0
    #: Whether it is for features with listed values.
    discrete: ClassVar[bool] = False
    #: Whether its number is in the feature's own scale, not a ratio.
    scaled: ClassVar[bool] = True
    #: Whether its number is a value that the feature may take, and so within its limits.
    is_value: ClassVar[bool] = False
    #: Whether what it does to a step depends on the other steps of the window.
    depends_on_window: ClassVar[bool] = True
    #: Whether it needs more than one step to be of use.
    needs_steps: ClassVar[bool] = True
    #: What :meth:`neutral` of a built-in kind gives for every window, where that is one number: it is then not asked.
    nothing: ClassVar[float | None] = None
    #: What :meth:`number_for` of a built-in kind multiplies the change by, where that is one number: the same.
    times_change: ClassVar[float | None] = None

    @abstractmethod
    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """The values ``(n, K)`` of a feature after the edit by `number` ``(n, 1)``; only the window's are taken."""

    @abstractmethod
    def neutral(self, window: Window) -> Array:
        """The number ``(n,)`` that changes nothing, or least: weaker is nearer to it."""

    @abstractmethod
    def number_for(self, change: Array, window: Window) -> Array:
        """The number ``(n,)`` that changes the window by about `change` ``(n,)``, up or down."""

    @abstractmethod
    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """The edit as a sentence; `number` is its size in words, `rises` whether its number is positive."""

    def shown(self, number: float) -> float:
        """What stands for its number in the sentence: a ratio in percent."""
        return number if self.scaled else round(100 * number)

    def fits(self, change: Array) -> NDArray[np.bool_]:
        """Whether it can change a window in that direction ``(n,)``."""
        return np.ones(len(change), bool)
