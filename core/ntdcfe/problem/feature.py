"""What one column is, who may change it, between which bounds, at what cost: a number, a listed value, a category."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.reprs import typed_back

Role = Literal["actionable", "non_actionable", "immutable"]
Direction = Literal["rise", "fall"]
Bounds = tuple[float | None, float | None]
Moves = Mapping[str, Iterable[str]] | Iterable[tuple[str, Iterable[str]]]


@dataclass(frozen=True, kw_only=True, repr=False)
class Feature:
    """What all kinds of features share.

    Parameters
    ----------
    name : str, optional
        Shown in results; ``"feature 3"`` if not given.
    role : {"actionable", "non_actionable", "immutable"}
        The agent may change it; only a causal rule may; it never changes.
    weight : float
        Feasibility weight (> 0): what one unit of change costs. Small means easy to change.
    """

    name: str | None = None
    role: Role = "actionable"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.role not in get_args(Role):
            raise InvalidInputError(f"{self}: role must be one of {get_args(Role)}, got {self.role!r}.")
        if not (isinstance(self.weight, (int, float)) and 0 < self.weight < math.inf):
            raise InvalidInputError(f"{self}: weight must be a positive number, got {self.weight!r}.")
        direction = getattr(self, "direction", None)
        if direction not in (None, *get_args(Direction)):
            raise InvalidInputError(f"{self}: direction must be 'rise', 'fall' or None, got {direction!r}.")

    __repr__ = typed_back

    def __str__(self) -> str:
        return f"feature {self.name!r}" if self.name else "feature"

    @property
    def n_columns(self) -> int:
        """How many columns of the model's input it takes."""
        return 1

    @property
    def choices(self) -> tuple[float, ...] | None:
        """The values it may take, None if it is continuous."""
        return None

    @property
    def allowed(self) -> dict[float, tuple[float, ...]] | None:
        """From each of its values to those that it may become; None if each may become every other one."""
        return None

    @property
    def ordered(self) -> bool:
        """Whether its values are names in an order, which rise and fall."""
        return False

    def describe(self, value: float) -> str:
        """A value of this feature as a person would read it."""
        return f"{value:.4g}"


@dataclass(frozen=True, repr=False)
class Continuous(Feature):
    """A number; the agent adds to it.

    Parameters
    ----------
    bounds : (float or None, float or None), optional
        Lower and upper limit of every changed cell.
    direction : {"rise", "fall"}, optional
        The one way in which it may change.
    scale : float, optional
        Its unit of change; taken from bounds or from the series itself if not given.
    precision : int, optional
        Decimals of every changed cell: 0 for whole numbers, 2 for cents. A changed cell is rounded
        before the model sees it, never out of bounds; other cells stay as they are.
    """

    bounds: Bounds | None = None
    direction: Direction | None = None
    scale: float | None = None
    precision: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.limits
        if math.isnan(low) or math.isnan(high) or low > high:
            raise InvalidInputError(f"{self}: bounds must be (lower, upper) with lower <= upper, got {self.bounds!r}.")
        if self.scale is not None and not (isinstance(self.scale, Real) and 0 < self.scale < math.inf):
            raise InvalidInputError(f"{self}: scale must be a positive number, got {self.scale!r}.")
        decimals = 0 if self.precision is None else self.precision
        if isinstance(decimals, bool) or not isinstance(decimals, int) or abs(decimals) > 100:
            raise InvalidInputError(f"{self}: precision must be a whole number of decimals, got {self.precision!r}.")

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds with infinity for an open side."""
        try:
            low, high = (None, None) if self.bounds is None else self.bounds
            return (-math.inf if low is None else float(low), math.inf if high is None else float(high))
        except (TypeError, ValueError):
            raise InvalidInputError(f"{self}: bounds must be a pair (lower, upper), got {self.bounds!r}.") from None


@dataclass(frozen=True, repr=False)
class Discrete(Feature):
    """One of a list of numbers; the agent sets it.

    Parameters
    ----------
    values : sequence of float
        The values it may take.
    direction : {"rise", "fall"}, optional
        The one way in which it may change, for ordered values.
    """

    values: Sequence[float] = ()
    direction: Direction | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            values = tuple(float(v) for v in self.values)
        except (TypeError, ValueError):
            raise InvalidInputError(f"{self}: values must be numbers, got {self.values!r}.") from None
        if len(values) < 1 or len(set(values)) < len(values) or not all(map(math.isfinite, values)):
            raise InvalidInputError(
                f"{self}: values must be distinct finite numbers, at least one, got {self.values!r}."
            )
        object.__setattr__(self, "values", values)

    @property
    def choices(self) -> tuple[float, ...]:
        """The values it may take."""
        return tuple(self.values)


@dataclass(frozen=True, repr=False)
class Category(Feature):
    """One of a list of names in a single column, which holds positions in that list; the agent sets it.

    Parameters
    ----------
    labels : sequence of str
        The names; the column holds 0 for the first of them, 1 for the second, and so on.
    values : sequence of int, optional
        The positions that it may take; all if not given.
    direction : {"rise", "fall"}, optional
        The one way in which the position may change, where the names are in an order.
    moves : mapping of str to sequence of str, optional
        From a name to those that it may become; a name without an entry stays as it is. Every name may become every
        other one if not given. What counts is the value in the series that is explained, at each step.

    Examples
    --------
    >>> home = Category(["rents", "owns", "lives with parents"], moves={"lives with parents": ["rents", "owns"]})
    """

    labels: Sequence[str] = ()
    values: Sequence[float] | None = None
    direction: Direction | None = None
    moves: Moves | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        labels = tuple(map(str, self.labels))
        values = range(len(labels)) if self.values is None else self.values
        positions = tuple(float(value) for value in values)
        if not positions or not set(positions) <= set(map(float, range(len(labels)))):
            raise InvalidInputError(
                f"{self}: values must be positions among the {len(labels)} labels, got {self.values!r}."
            )
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "values", None if positions == tuple(map(float, range(len(labels)))) else positions)
        object.__setattr__(self, "moves", _checked(self, self.moves, labels))

    @property
    def allowed(self) -> dict[float, tuple[float, ...]] | None:
        """From each position to those that it may become; None if each may become every other one."""
        return _positions(self.moves, self.labels)

    @property
    def ordered(self) -> bool:
        """Whether the names are in an order: those that have a direction are."""
        return self.direction is not None

    @property
    def choices(self) -> tuple[float, ...]:
        """The positions that it may take."""
        return tuple(map(float, range(len(self.labels)))) if self.values is None else tuple(self.values)

    def describe(self, value: float) -> str:
        """The name at that position."""
        return self.labels[int(value)]


@dataclass(frozen=True, repr=False)
class Ordered(Category):
    """Names in an order, from the lowest to the highest, in a single column: schooling, a rating, a class of service.

    As :class:`Category`, but its values rise and fall, and sentences say so.

    Examples
    --------
    >>> schooling = Ordered(["school", "bachelor", "master"], direction="rise", name="schooling")
    """

    @property
    def ordered(self) -> bool:
        """They always are."""
        return True


@dataclass(frozen=True, repr=False)
class OneHot(Feature):
    """One choice spread over several adjacent columns, exactly one of which is 1.

    Parameters
    ----------
    categories : sequence of str, or int
        The names of the columns in their order, or how many there are.
    direction : {"rise", "fall"}, optional
        The one way in which the choice may change, where the columns are in an order.
    moves : mapping of str to sequence of str, optional
        From a category to those that it may become; a category without an entry stays as it is. Every category may
        become every other one if not given. What counts is the value in the series that is explained, at each step.

    Examples
    --------
    >>> status = OneHot(["single", "married", "divorced"], moves={"single": ["married"], "married": ["divorced"]})
    """

    categories: Sequence[str] | int = ()
    direction: Direction | None = None
    moves: Moves | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.categories
        names = tuple(str(i) for i in range(names)) if isinstance(names, int) else tuple(str(c) for c in names)
        if len(names) < 2:
            raise InvalidInputError(f"{self}: a one-hot group needs at least two categories, got {self.categories!r}.")
        object.__setattr__(self, "categories", names)
        object.__setattr__(self, "moves", _checked(self, self.moves, names))

    @property
    def allowed(self) -> dict[float, tuple[float, ...]] | None:
        """From each position to those that it may become; None if each may become every other one."""
        assert not isinstance(self.categories, int)
        return _positions(self.moves, self.categories)

    @property
    def ordered(self) -> bool:
        """Whether the columns are in an order: those that have a direction are."""
        return self.direction is not None

    @property
    def n_columns(self) -> int:
        """One column a category."""
        return len(self.choices)

    @property
    def choices(self) -> tuple[float, ...]:
        """Positions of the hot column."""
        assert not isinstance(self.categories, int)
        return tuple(float(i) for i in range(len(self.categories)))

    def describe(self, value: float) -> str:
        """The name of the category."""
        assert not isinstance(self.categories, int)
        return self.categories[int(value)]


def _checked(feature: Feature, moves: Any, names: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    """Moves as pairs of a name and those that it may become; raises where they are not among the `names`."""
    if moves is None:
        return None
    try:
        pairs = dict(moves)
        if any(isinstance(others, str) for others in pairs.values()):
            raise TypeError
        listed = {str(name): tuple(map(str, others)) for name, others in pairs.items()}
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{feature}: moves must be a dict from a category to a list of categories, got {moves!r}."
        ) from None
    if unknown := {name for one, others in listed.items() for name in (one, *others)} - set(names):
        raise InvalidInputError(f"{feature}: moves names {sorted(unknown)}, the categories are {list(names)}.")
    return tuple(listed.items())


def _positions(moves: Any, names: Sequence[str]) -> dict[float, tuple[float, ...]] | None:
    """Checked moves as positions among the names, each name with an entry."""
    if moves is None:
        return None
    place = {name: float(i) for i, name in enumerate(names)}
    to = dict(moves)
    return {place[name]: tuple(place[other] for other in to.get(name, ())) for name in place}
