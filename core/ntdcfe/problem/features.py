"""What each column is, who may change it, between which bounds, at what cost.

Inside the engine a series has one value per *feature*: a one-hot group is a single discrete
feature whose value is the position of its hot column. :meth:`Features.encode` and
:meth:`Features.decode` translate between the model's columns and these values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.reprs import typed_back

Role = Literal["actionable", "non_actionable", "immutable"]
Direction = Literal["rise", "fall"]
Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Feature:
    """What all kinds of features share.

    Parameters
    ----------
    name : str, optional
        Shown in results; ``"feature 3"`` if not given.
    role : {"actionable", "non_actionable", "immutable"}
        The agent may change it; only a causal rule may; nobody may.
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
    """

    labels: Sequence[str] = ()
    values: Sequence[float] | None = None
    direction: Direction | None = None

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

    @property
    def choices(self) -> tuple[float, ...]:
        """The positions that it may take."""
        return tuple(map(float, range(len(self.labels)))) if self.values is None else tuple(self.values)

    def describe(self, value: float) -> str:
        """The name at that position."""
        return self.labels[int(value)]


@dataclass(frozen=True, repr=False)
class OneHot(Feature):
    """One choice spread over several adjacent columns, exactly one of which is 1.

    Parameters
    ----------
    categories : sequence of str, or int
        The names of the columns in their order, or how many there are.
    """

    categories: Sequence[str] | int = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self.categories
        names = tuple(str(i) for i in range(names)) if isinstance(names, int) else tuple(str(c) for c in names)
        if len(names) < 2:
            raise InvalidInputError(f"{self}: a one-hot group needs at least two categories, got {self.categories!r}.")
        object.__setattr__(self, "categories", names)

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


@dataclass(frozen=True, repr=False)
class Features:
    """The features of a series in the order of its columns.

    Parameters
    ----------
    features : sequence of Feature
    actionable_steps : slice, sequence of int, or boolean mask (K,), optional
        The time steps that may be changed; all if not given. ``slice(10, None)`` when
        steps 0 to 9 are past.

    Examples
    --------
    >>> Features.continuous(3).names
    ('feature 0', 'feature 1', 'feature 2')
    >>> Features.from_dict({
    ...     "income": {"bounds": (0, None), "direction": "rise"},
    ...     "rating": {"values": [1, 2, 3], "weight": 2.0},
    ...     "region": {"categories": ["north", "south"], "role": "immutable"},
    ... }).n_columns
    4
    """

    features: Sequence[Feature]
    actionable_steps: slice | ArrayLike | None = None
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        features = tuple(self.features)
        if not features or not all(isinstance(f, Feature) for f in features):
            raise InvalidInputError(
                f"features must be a non-empty list of Continuous, Discrete, Category or OneHot, got {self.features!r}."
            )
        names = tuple(f.name or f"feature {i}" for i, f in enumerate(features))
        if len(set(names)) < len(names):
            raise InvalidInputError(f"feature names must be distinct, got {names}.")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "names", names)

    __repr__ = typed_back

    @classmethod
    def continuous(
        cls,
        n: int,
        names: Sequence[str] | None = None,
        actionable_steps: slice | ArrayLike | None = None,
        **common: Any,
    ) -> Features:
        """`n` continuous features; `common` (``bounds``, ``scale``, ...) holds for each of them."""
        if names is not None and len(names) != n:
            raise InvalidInputError(f"names must have one entry a feature: {n} features, {len(names)} names.")
        listed = [None] * n if names is None else [str(name) for name in names]
        return cls([Continuous(name=name, **common) for name in listed], actionable_steps)

    @classmethod
    def from_dict(
        cls,
        description: Mapping[str, Feature | Mapping[str, Any]],
        actionable_steps: slice | ArrayLike | None = None,
    ) -> Features:
        """From name to description: ``values`` makes it discrete, ``labels`` a category in one column, ``categories``
        one-hot, else continuous.
        """
        return cls([_described(str(name), entry) for name, entry in description.items()], actionable_steps)

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.features)

    def __getitem__(self, index: int) -> Feature:
        return self.features[index]

    @property
    def n_columns(self) -> int:
        """How many columns the model sees."""
        return sum(f.n_columns for f in self.features)

    def index(self, name: str | int) -> int:
        """Position of the feature with that name or position."""
        if isinstance(name, str):
            if name in self.names:
                return self.names.index(name)
        elif -len(self) <= name < len(self):
            return int(name) % len(self)
        raise InvalidInputError(f"there is no feature {name!r}; the features are {self.names}.")

    @property
    def weights(self) -> NDArray[np.float64]:
        """Feasibility weights ``(F,)``."""
        return np.array([f.weight for f in self.features], dtype=float)

    @property
    def discrete(self) -> NDArray[np.bool_]:
        """Which features take listed values ``(F,)``."""
        return np.array([f.choices is not None for f in self.features])

    @property
    def precisions(self) -> tuple[int | None, ...]:
        """Decimals of each feature's changed cells, None where they are not rounded."""
        return tuple(f.precision if isinstance(f, Continuous) else None for f in self.features)

    def has_role(self, role: Role) -> NDArray[np.bool_]:
        """Which features have that role ``(F,)``."""
        return np.array([f.role == role for f in self.features])

    def step_mask(self, n_steps: int) -> NDArray[np.bool_]:
        """Which of `n_steps` time steps may be changed ``(K,)``."""
        mask = np.zeros(n_steps, dtype=bool)
        if self.actionable_steps is None:
            mask[:] = True
            return mask
        steps = self.actionable_steps
        if not isinstance(steps, slice):
            steps = np.asarray(steps)
            if steps.size == 0:
                steps = steps.astype(int)
        try:
            mask[steps] = True
        except IndexError:
            raise InvalidInputError(
                f"actionable_steps must pick from the {n_steps} steps of the series, got {self.actionable_steps!r}."
            ) from None
        if not mask.any():
            raise InvalidInputError(f"actionable_steps leaves no time step to change: got {self.actionable_steps!r}.")
        return mask

    def encode(self, columns: NDArray[Any]) -> NDArray[Any]:
        """The model's columns ``(..., D)`` as one value a feature ``(..., F)``; checks listed values.

        A missing value (NaN in all columns of the feature) stays one.
        """
        values = np.empty((*columns.shape[:-1], len(self)), dtype=columns.dtype)
        for i, (feature, group) in enumerate(zip(self.features, self.groups(), strict=True)):
            part = columns[..., group]
            missing = np.isnan(part).all(-1)
            known = part[~missing]
            if isinstance(feature, OneHot):
                if not (np.isin(known, (0, 1)).all() and (known.sum(-1) == 1).all()):
                    raise InvalidInputError(
                        f"{self.names[i]!r}: the columns of a one-hot group must hold a single 1, rest 0."
                    )
                values[..., i] = np.where(missing, np.nan, part.argmax(-1))
                continue
            values[..., i] = part[..., 0]
            if feature.choices is not None and not np.isin(known, np.asarray(feature.choices, columns.dtype)).all():
                got = np.setdiff1d(known, np.asarray(feature.choices, columns.dtype))[:3].tolist()
                raise InvalidInputError(
                    f"{self.names[i]!r}: the series has {got}, which its values {feature.choices} do not list."
                )
        return values

    def decode(self, values: NDArray[Any]) -> NDArray[Any]:
        """One value a feature ``(..., F)`` as the model's columns ``(..., D)``."""
        if self.n_columns == len(self):
            return values
        columns = np.empty((*values.shape[:-1], self.n_columns), dtype=values.dtype)
        for i, group in enumerate(self.groups()):
            width, value = group.stop - group.start, values[..., i, None]
            if width > 1:
                value = np.where(np.isnan(value), value, value == np.arange(width, dtype=values.dtype))
            columns[..., group] = value
        return columns

    def groups(self) -> list[slice]:
        """The model's columns of each feature."""
        stops = np.cumsum([f.n_columns for f in self.features]).tolist()
        return [slice(stop - f.n_columns, stop) for f, stop in zip(self.features, stops, strict=True)]


def _described(name: str, entry: Feature | Mapping[str, Any]) -> Feature:
    if isinstance(entry, Feature):
        if entry.name not in (None, name):
            raise InvalidInputError(f"feature {name!r} is described by one that is named {entry.name!r}.")
        return type(entry)(**{**{f.name: getattr(entry, f.name) for f in fields(entry)}, "name": name})
    if not isinstance(entry, Mapping):
        raise InvalidInputError(f"feature {name!r}: a dict or a Feature is needed, got {entry!r}.")
    options = dict(entry)
    kind: type[Feature] = Continuous
    for sign, other in (("values", Discrete), ("labels", Category), ("categories", OneHot)):
        kind = other if sign in options else kind
    known = {f.name for f in fields(kind)} - {"name"}
    if unknown := set(options) - known:
        raise InvalidInputError(
            f"feature {name!r}: {kind.__name__} does not take {sorted(unknown)}, only {sorted(known)}."
        )
    return kind(name=name, **options)
