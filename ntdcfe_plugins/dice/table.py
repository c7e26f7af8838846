"""The columns of a DiCE table in the engine's terms: features, states, and rows of the right types again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import Category, Continuous, Feature, Features, InvalidInputError
from ntdcfe.problem.constraints import Constraint
from ntdcfe.problem.space import Space


@dataclass(frozen=True)
class SeriesColumns:
    """A series ``(K, D)`` as columns of a DiCE table, step by step, and back.

    Calling it does what DiCE wants of a model's ``func``: columns to series ``(n, K, D)``. Given to
    :class:`NTDCFE` as `series`, changes are searched for as in a series, not column by column.

    Parameters
    ----------
    n_steps : int
        K.
    names : sequence of str
        The D channels.

    Examples
    --------
    >>> layout = SeriesColumns(3, ["load", "wind"])
    >>> layout.columns
    ['load_0', 'wind_0', 'load_1', 'wind_1', 'load_2', 'wind_2']
    >>> layout.to_series(layout.to_frame([[1, 4], [2, 5], [3, 6]])).shape
    (1, 3, 2)
    """

    n_steps: int
    names: Sequence[str]

    @property
    def columns(self) -> list[str]:
        """The names of the K * D columns."""
        return [f"{name}_{step}" for step in range(self.n_steps) for name in self.names]

    def to_frame(self, X: ArrayLike) -> pd.DataFrame:
        """Series ``(K, D)`` or ``(n, K, D)`` as rows of a table."""
        X = np.asarray(X)
        if X.shape[-2:] != (self.n_steps, len(self.names)):
            raise InvalidInputError(
                f"the series must be {(self.n_steps, len(self.names))}, or a batch of such, got {X.shape}."
            )
        return pd.DataFrame(X.reshape(-1, X.shape[-1] * X.shape[-2]), columns=self.columns)

    def to_series(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Rows of a table as series ``(n, K, D)``; other columns are left out."""
        return frame[self.columns].to_numpy().reshape(len(frame), self.n_steps, len(self.names))

    def ranges(self, bounds: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
        """``features=`` for ``dice_ml.Data``, from one range a channel."""
        return {f"{name}_{step}": list(bounds[name]) for step in range(self.n_steps) for name in self.names}

    def precisions(self, decimals: int) -> dict[str, list[Any]]:
        """``type_and_precision=`` for ``dice_ml.Data``."""
        return {column: ["float", decimals] for column in self.columns}

    def __call__(self, frame: pd.DataFrame, **_: Any) -> NDArray[Any]:
        """As a model's ``func``: DiCE passes its data interface along."""
        return self.to_series(frame)


@dataclass(frozen=True)
class Column:
    """A column of the queries as one number a row: its value, or the position of its category."""

    dtype: Any
    feature: Feature
    levels: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, column: pd.Series, data: Any, permitted: Sequence[Any] | None, options: Mapping[str, Any]) -> Column:
        """What the data interface and the query's dtype say of a column, within a permitted range."""
        name, declared = column.name, list(data.permitted_range[column.name])
        numbers = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in declared)
        if numbers and len(declared) == 2:
            try:
                if any(isinstance(value, str) for value in column):
                    raise TypeError
                column.to_numpy(dtype=float)
                bounds = tuple(_number(value) for value in (declared if permitted is None else permitted))
            except (TypeError, ValueError):
                raise ValueError(
                    f"Feature {name} has the range {declared}: its values and its permitted range must be numbers."
                ) from None
            dtype = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
            bounds = _held_by(dtype, bounds, name)
            described: dict[str, Any] = {"bounds": bounds, "precision": _precision(column, data, declared)}
            mad = (getattr(data, "mad", None) or {}).get(name, 0)
            if not (isinstance(mad, Real) and mad <= 0):
                described["scale"] = mad
            return cls(dtype, _feature(Continuous, {"name": name, **described, **options}))
        # DiCE takes any list of numbers for a range and turns a public category into text: what is
        # listed are the values, and they are of the query's type.
        if wrong := [value for value in (*column, *declared) if not isinstance(value, Hashable)]:
            raise ValueError(f"Feature {name} has {wrong[0]!r} for a category, among {declared}.")
        listed = sorted(declared) if numbers else declared
        levels, dtype = _levels(listed, column)
        # 17 of the data is 17.0 in a query of floats: a permitted range may have either.
        position = {str(level): i for spelling in (listed, levels) for i, level in enumerate(spelling)}
        for category in () if permitted is None else permitted:
            if str(category) not in position:
                raise UserConfigValidationException(
                    f"The category {category} does not occur in the training data for feature {name}. "
                    f"Allowed categories are {declared}"
                )
        allowed = levels if permitted is None else permitted
        values = list(dict.fromkeys(position[str(category)] for category in allowed))
        return cls(dtype, _feature(Category, {"name": name, "values": values, "labels": levels, **options}), levels)

    def encode(self, column: pd.Series) -> NDArray[np.float64]:
        """Rows of the column as numbers ``(n,)``."""
        if not self.levels:
            return column.to_numpy(dtype=float)
        position = {level: i for i, level in enumerate(self.levels)}
        if unknown := [value for value in column if value not in position]:
            raise ValueError(
                f"Feature {column.name} has a value outside the dataset: {unknown[0]!r}, not one of {self.levels}."
            )
        return np.array([position[value] for value in column], dtype=float)

    def decode(self, values: NDArray[Any]) -> Any:
        """Numbers ``(n,)`` as rows of the column, in its dtype."""
        if not self.levels:
            return pd.Series(values).astype(self.dtype)
        levels = np.empty(len(self.levels), dtype=object)
        levels[:] = self.levels
        return pd.Series(levels[values.astype(int)]).astype(self.dtype)


@dataclass(frozen=True)
class Table:
    """The queries' columns in the engine's terms: states ``(n, F)``, or ``(n, K, D)`` of a series."""

    columns: list[str]
    coded: dict[str, Column]
    """In the order of the engine's columns."""
    features: Features
    forced: NDArray[np.bool_]
    """Which features the call gave a permitted range ``(F,)``."""
    shape: tuple[int, ...]
    """Of one state."""

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        data: Any,
        options: Mapping[str, Mapping[str, Any]],
        constraints: Sequence[Constraint],
        series: SeriesColumns | None,
        permitted: Mapping[str, Sequence[Any]],
        vary: str | Sequence[str],
    ) -> Table:
        """The table of queries `frame`; `permitted` and `vary` may name the channels of a series."""
        order = list(frame.columns) if series is None else series.columns
        names = order if series is None else list(series.names)
        members = {name: order[i :: len(names)] for i, name in enumerate(names)}

        def columns_of(given: Iterable[str]) -> list[str]:
            return [column for name in given for column in members.get(name, [name])]

        permitted = {column: allowed for name, allowed in permitted.items() for column in columns_of([name])}
        vary = [vary] if isinstance(vary, str) else vary
        free = order if list(vary) == ["all"] else columns_of(vary)
        data.check_features_to_vary(free)
        data.check_features_to_vary(list(permitted))
        coded = {
            column: Column.of(frame[column], data, permitted.get(column), options.get(name, {}))
            for column, name in zip(order, names * (len(order) // len(names)), strict=True)
        }
        varies, forced = (np.isin(order, some).reshape(-1, len(names)) for some in (free, list(permitted)))
        steps, channels = varies.any(1), varies.any(0)
        if (varies != np.outer(steps, channels)).any():
            raise UserConfigValidationException("features_to_vary must be the same channels at every step it names.")
        described = [_shared(name, [coded[column].feature for column in members[name]]) for name in names]
        effects = {i for rule in constraints for i in rule.bind(Features(described)).affects()}
        held: dict[int, Any] = {
            i: "non_actionable" if i in effects else "immutable" for i in np.flatnonzero(~channels).tolist()
        }
        features = [replace(f, role=held[i]) if i in held else f for i, f in enumerate(described)]
        shape = (len(names),) if series is None else varies.shape
        return cls(list(frame.columns), coded, Features(features, None if steps.all() else steps), forced.any(0), shape)

    def encode(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Rows as states."""
        return np.column_stack([c.encode(frame[name]) for name, c in self.coded.items()]).reshape(-1, *self.shape)

    def decode(self, states: NDArray[Any]) -> pd.DataFrame:
        """States as rows, with the columns and dtypes of the queries."""
        values = states.reshape(len(states), len(self.coded))
        columns = {name: c.decode(values[:, i]) for i, (name, c) in enumerate(self.coded.items())}
        return pd.DataFrame({name: columns[name] for name in self.columns}, index=range(len(states)))

    def start(self, states: NDArray[np.float64], constraints: Sequence[Constraint]) -> NDArray[np.float64]:
        """The states from which to search: moved, with all that follows, into the range that the call permits."""
        inside = self._inside(states)
        for i in np.flatnonzero((inside != states).reshape(len(states), -1).any(1)):
            space = Space(np.atleast_2d(states[i]), self.features, constraints)
            inside[i] = space.project(np.atleast_2d(inside[i])[None])[0].reshape(self.shape)
        if outside := [self.features.names[i] for i in np.argwhere(self._inside(inside) != inside)[:, -1]]:
            raise ValueError(f"Feature: {outside[0]} is outside the permitted range and isn't allowed to vary.")
        return inside

    def _inside(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest numbers, or the first of the categories, that the call permits."""
        inside = states.copy()
        for i in np.flatnonzero(self.forced):
            feature = self.features[i]
            if isinstance(feature, Continuous):
                inside[..., i] = np.clip(states[..., i], *feature.limits)
            elif feature.choices is not None:
                inside[..., i] = np.where(np.isin(states[..., i], feature.choices), states[..., i], feature.choices[0])
        return inside


def _feature(kind: type[Feature], description: dict[str, Any]) -> Feature:
    try:
        return kind(**description)
    except TypeError as wrong:
        raise UserConfigValidationException(f"features[{description['name']!r}]: {wrong}") from None


def _shared(name: str, features: list[Feature]) -> Feature:
    """The one description of a channel's columns; of their precisions the finest."""
    first, *others = (replace(feature, name=name) for feature in features)
    if isinstance(first, Continuous):
        precisions = [getattr(feature, "precision", None) for feature in features]
        finest = None if None in precisions else max(p for p in precisions if p is not None)
        first, *others = (replace(feature, precision=finest) for feature in (first, *others))  # type: ignore[call-arg]
    if any(other != first for other in others):
        raise UserConfigValidationException(f"the columns of channel {name!r} must have one range.")
    return first


def _precision(column: pd.Series, data: Any, bounds: list[Any]) -> int | None:
    """Decimals of a column's values, None for no limit."""
    if column.dtype.kind in "iub":
        return 0
    decimals = data.get_decimal_precisions(output_type="dict")[column.name]
    if not isinstance(decimals, Integral):
        raise UserConfigValidationException(
            f"type_and_precision of {column.name} must be 'int' or ['float', decimals], got {decimals!r} decimals."
        )
    # Private data says "int" of whatever it was not told; values or bounds with decimals know better.
    whole = all(isinstance(b, (int, np.integer)) for b in bounds) and (column.to_numpy(dtype=float) % 1 == 0).all()
    return None if decimals == 0 and not whole else int(decimals)


def _number(value: Any) -> float:
    """A bound as it was written: public data keeps 0.1 as the float32 next to it."""
    return float(str(value)) if isinstance(value, np.float32) else float(value)


def _held_by(dtype: Any, bounds: tuple[float, ...], name: Hashable) -> tuple[float, ...]:
    """Bounds as far as the dtype goes: what it cannot hold would come back as another number."""
    if dtype.kind not in "iu" or len(bounds) != 2:
        return bounds
    holds = np.iinfo(dtype.type)
    low, high = max(bounds[0], float(holds.min)), min(bounds[1], float(holds.max))
    if low > high and bounds[0] <= bounds[1]:
        raise ValueError(f"Feature {name} is {dtype} in the query, which holds nothing of the range {list(bounds)}.")
    # The largest of 64 bits is no float; the next one is too large.
    return low, high if high <= holds.max else float(np.nextafter(high, 0))


def _levels(levels: list[Any], column: pd.Series) -> tuple[list[Any], Any]:
    """Categories as the queries spell them, and the dtype that holds them all."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        known = column.dtype.categories
        levels, _ = _levels(levels, pd.Series(known, name=column.name))
        missing = [level for level in levels if level not in known]
        return levels, pd.CategoricalDtype([*known, *missing], column.dtype.ordered) if missing else column.dtype
    if column.dtype.kind == "b":
        return [str(level) in ("True", "1", "1.0") for level in levels], column.dtype
    kinds = {column.dtype.type} if column.dtype.kind in "iuf" else {type(value) for value in column} - {str}
    if column.dtype.kind in "iuf" or (len(kinds) == 1 and all(isinstance(level, str) for level in levels)):
        kind = next(iter(kinds))
        try:
            return [kind(level) for level in levels], column.dtype
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"Feature {column.name} has values of type {kind.__name__}, which {levels} are not."
            ) from None
    return levels, column.dtype
