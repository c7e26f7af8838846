"""The features of a series in the order of its columns.

Inside the engine a series has one value per *feature*: a one-hot group is a single discrete
feature whose value is the position of its hot column. :meth:`Features.encode` and
:meth:`Features.decode` translate between the model's columns and these values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.feature import Category, Continuous, Discrete, Feature, OneHot, Role
from ntdcfe.problem.reprs import typed_back


@dataclass(frozen=True, repr=False)
class Features:
    """The features of a series in the order of its columns.

    Parameters
    ----------
    features : sequence of Feature
    actionable_steps : slice, sequence of int, or boolean mask (K,), optional
        The time steps that may be changed; all if not given. ``slice(10, None)`` when
        steps 0 to 9 are past.
    step_names : sequence, optional
        What the steps are called in sentences: years, dates; "step 3" if not given.

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
    step_names: Sequence[Any] | None = None
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        features = tuple(self.features)
        if not features or not all(isinstance(f, Feature) for f in features):
            raise InvalidInputError(
                f"features must be a non-empty list of Continuous, Discrete, Category, Ordered or OneHot, "
                f"got {self.features!r}."
            )
        names = tuple(f.name or f"feature {i}" for i, f in enumerate(features))
        if len(set(names)) < len(names):
            raise InvalidInputError(f"feature names must be distinct, got {names}.")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "names", names)
        steps = self.actionable_steps
        if steps is not None and not isinstance(steps, slice):
            object.__setattr__(self, "actionable_steps", tuple(np.atleast_1d(steps).tolist()))

        if self.step_names is not None:
            object.__setattr__(self, "step_names", tuple(map(str, self.step_names)))

    __repr__ = typed_back

    def step_name(self, step: int, bare: bool = False) -> str:
        """What a step is called; `bare` without the word in front, where one stands before it already."""
        if self.step_names is not None and step < len(self.step_names):
            return str(self.step_names[step])
        return str(step) if bare else f"step {step}"

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
        if names is None:
            return cls([Continuous(**common)] * n, actionable_steps)
        return cls([Continuous(name=str(name), **common) for name in names], actionable_steps)

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

    @cached_property
    def n_columns(self) -> int:
        """How many columns the model sees; asked for with every batch."""
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

        A missing value (NaN in all columns of the feature) stays one. Integers become floating numbers.
        """
        columns = columns if columns.dtype.kind == "f" else columns.astype(float)
        groups = self.groups()
        values = np.take(columns, [group.start for group in groups], axis=-1)
        for i, (feature, group) in enumerate(zip(self.features, groups, strict=True)):
            if feature.choices is None:
                continue  # a number is its own value
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
            if not np.isin(known, np.asarray(feature.choices, columns.dtype)).all():
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
