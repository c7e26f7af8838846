"""The built-in kinds of edits, one class each; :data:`BUILT_IN` lists them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.kind import Array, Kind, Window


class Shift(Kind):
    """Adds a value."""

    name = "shift"
    chance = 0.3
    depends_on_window = False
    nothing = 0.0
    times_change = 1.0

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
    depends_on_window = False

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
    depends_on_window = False

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
    depends_on_window = False
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
    nothing = 1.0

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
        """Reduce or increase by a percentage."""
        more = float(number) - 100
        verb = "increase" if more > 0 else "reduce"
        return f"{verb} the swing of {name} by {abs(more):g}%{when}"


class Ramp(Kind):
    """Adds a value that grows from nothing to the end of the window."""

    name = "ramp"
    chance = 0.1
    effort = 1.5
    nothing = 0.0
    times_change = 1.5

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """Values plus a growing share of the number."""
        place = window.cumsum(1)
        grown = place / np.maximum(place[:, -1:], 1)
        return np.asarray(values + number * grown)

    def neutral(self, window: Window) -> Array:
        """Zero."""
        return np.zeros(len(window))

    def number_for(self, change: Array, window: Window) -> Array:
        """One and a half times the change: between what matches it at the peak, 1, and on average, 2."""
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
    nothing = 0.0
    times_change = 1.5

    def apply(self, values: Array, window: NDArray[np.bool_], number: Array) -> Array:
        """Values plus a share of the number, the whole of it in the middle."""
        place = window.cumsum(1, dtype=np.int32)
        count = place[:, -1:]
        return np.asarray(values + number * np.minimum(place, count + 1 - place) / np.maximum((count + 1) // 2, 1))

    def neutral(self, window: Window) -> Array:
        """Zero."""
        return np.zeros(len(window))

    def number_for(self, change: Array, window: Window) -> Array:
        """One and a half times the change: between what matches it at the peak, 1, and on average, 2."""
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
