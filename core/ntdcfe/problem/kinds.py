"""The kinds of edits: what each does to a window of a series, and how it is said.

A kind of your own is one class, a subclass of :class:`Kind`, and takes part by
``SearchSettings(kinds=[*KINDS, Mine])``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Window:
    """n windows of the original: the values of a feature ``(n, K)``, and which of them are inside ``(n, K)``.

    What is asked of them is computed when a kind asks for it, since most kinds do not.
    """

    values: Array
    inside: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def low(self) -> Array:
        """The least value of each window ``(n,)``."""
        return np.asarray(np.where(self.inside, self.values, np.inf).min(1))

    @property
    def high(self) -> Array:
        """The largest value of each window ``(n,)``."""
        return np.asarray(np.where(self.inside, self.values, -np.inf).max(1))

    @property
    def mean(self) -> Array:
        """The mean of each window ``(n,)``."""
        return np.asarray((self.values * self.inside).sum(1) / np.maximum(self.inside.sum(1), 1))


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
    ...         return 1 + change / np.maximum(np.abs(window.mean), 1e-9)
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
    of_window: ClassVar[bool] = True
    #: Whether it needs more than one step to be of use.
    needs_steps: ClassVar[bool] = True

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


class Shift(Kind):
    """Adds a value."""

    name = "shift"
    chance = 0.3
    of_window = False

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """Values plus the number."""
        return values + number

    def neutral(self, window: Window) -> Array:
        """Zero."""
        return np.zeros(len(window))

    def number_for(self, change: Array, window: Window) -> Array:
        """The change itself."""
        return change

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Raise or lower by."""
        return f"{'raise' if rises else 'lower'} {name} by {number}{when}"

    def shown(self, number: float) -> float:
        """Its size: the verb has the direction."""
        return abs(number)


class AtLeast(Kind):
    """Raises what is below a level to it."""

    name = "at_least"
    chance = 0.2
    is_value = True
    of_window = False

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """Values, or the level where they are below it."""
        return np.maximum(values, number)

    def neutral(self, window: Window) -> Array:
        """The least value."""
        return window.low

    def number_for(self, change: Array, window: Window) -> Array:
        """The least value, raised."""
        return window.low + np.abs(change)

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Keep at or above."""
        return f"keep {name} at {number} or above{when}"

    def fits(self, change: Array) -> NDArray[np.bool_]:
        """Upwards only."""
        return np.asarray(change > 0)


class AtMost(Kind):
    """Lowers what is above a level to it."""

    name = "at_most"
    chance = 0.2
    is_value = True
    of_window = False

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """Values, or the level where they are above it."""
        return np.minimum(values, number)

    def neutral(self, window: Window) -> Array:
        """The largest value."""
        return window.high

    def number_for(self, change: Array, window: Window) -> Array:
        """The largest value, lowered."""
        return window.high - np.abs(change)

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Keep at or below."""
        return f"keep {name} at {number} or below{when}"

    def fits(self, change: Array) -> NDArray[np.bool_]:
        """Downwards only."""
        return np.asarray(change < 0)


class Level(Kind):
    """Holds one value; in a row of a table, takes it."""

    name = "level"
    chance = 0.12
    is_value = True
    of_window = False
    needs_steps = False

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """The level."""
        return number + 0 * values

    def neutral(self, window: Window) -> Array:
        """The mean: no level leaves a series as it is, this one changes it least."""
        return window.mean

    def number_for(self, change: Array, window: Window) -> Array:
        """The mean, moved."""
        return window.mean + change

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Hold at."""
        return f"hold {name} at {number}{when}"


class Swing(Kind):
    """Scales the values about their mean in the window."""

    name = "swing"
    chance = 0.08
    effort = 2.0
    scaled = False

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """The mean plus the scaled difference from it."""
        mean = (values * window).sum(1, keepdims=True) / np.maximum(window.sum(1, keepdims=True), 1)
        return mean + number * (values - mean)

    def neutral(self, window: Window) -> Array:
        """One."""
        return np.ones(len(window))

    def number_for(self, change: Array, window: Window) -> Array:
        """Less where the change goes down, more where it goes up, by its size beside the span of the window."""
        ratio = np.abs(change) / np.maximum(window.high - window.low, 1e-12)
        return np.where(change < 0, 1 / (1 + 2 * ratio), np.minimum(1 + ratio, 4.0))

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Reduce or increase to a share."""
        more = float(number) - 100
        verb = "increase" if more > 0 else "reduce"
        return f"{verb} the swing of {name} by {abs(more):g}%{when}"


class Ramp(Kind):
    """Adds a value that grows from nothing to the end of the window."""

    name = "ramp"
    chance = 0.1
    effort = 1.5

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """Values plus a growing share of the number."""
        grown = window.cumsum(1) / np.maximum(window.sum(1, keepdims=True), 1)
        return np.asarray(values + number * grown)

    def neutral(self, window: Window) -> Array:
        """Zero."""
        return np.zeros(len(window))

    def number_for(self, change: Array, window: Window) -> Array:
        """Half as much again: its mean is half of it."""
        return 1.5 * change

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Let it rise or fall by."""
        return f"let {name} {'rise' if rises else 'fall'} by {number}{when}"

    def shown(self, number: float) -> float:
        """Its size: the verb has the direction."""
        return abs(number)


class Bump(Kind):
    """Adds a value that grows from nothing to the middle of the window and shrinks back: a change without a jump."""

    name = "bump"
    chance = 0.15
    effort = 1.5

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """Values plus a share of the number, the whole of it in the middle."""
        count = window.sum(1, keepdims=True)
        place = window.cumsum(1)
        return np.asarray(values + number * np.minimum(place, count + 1 - place) / np.maximum((count + 1) // 2, 1))

    def neutral(self, window: Window) -> Array:
        """Zero."""
        return np.zeros(len(window))

    def number_for(self, change: Array, window: Window) -> Array:
        """Half as much again: its mean is half of it."""
        return 1.5 * change

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Let it rise or fall and come back."""
        return f"let {name} {'rise' if rises else 'fall'} by up to {number} and come back{when}"

    def shown(self, number: float) -> float:
        """Its size: the verb has the direction."""
        return abs(number)


class Set(Level):
    """Sets a feature with listed values, which have no weaker form; the space takes the nearest that is listed."""

    name = "set"
    chance = 1.0
    discrete = True

    def say(self, name: str, number: str, rises: bool, when: str) -> str:
        """Set to."""
        return f"set {name} to {number}{when}"


BUILT_IN: tuple[Kind, ...] = (Shift(), AtLeast(), AtMost(), Level(), Swing(), Ramp(), Bump(), Set())
PLACE = {kind.name: i for i, kind in enumerate(BUILT_IN)}
#: The names of the built-in kinds.
KINDS: tuple[str, ...] = tuple(PLACE)
