"""Single columns of a DiCE table in the engine's terms: one feature, and one number a row."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import Category, Continuous, Feature
from ntdcfe.problem.whole import check_exact


@dataclass(frozen=True)
class Column:
    """A column of the queries as one number a row: its value, or the position of its category.

    Parameters
    ----------
    dtype : dtype
        Of the column in the queries.
    feature : Feature
        The engine's.
    levels : list
        The categories in the order of their positions; empty for a column of numbers.
    """

    dtype: Any
    feature: Feature
    levels: list[Any] = field(default_factory=list)

    @classmethod
    def of(
        cls, column: pd.Series, data: Any, permitted: Sequence[Any] | None, options: Mapping[str, Any] | Category
    ) -> Column:
        """A column as its data interface, its dtype in the queries, and the options of its feature describe it.

        Parameters
        ----------
        column : Series
            Of the queries.
        data : dice_ml.Data
        permitted : sequence, optional
            The range, or the categories, that the call permits; those of the data interface if not given.
        options : dict or Category
            Of the engine's feature; the labels of a Category are the categories in their order.
        """
        declared = list(data.permitted_range[column.name])
        numbers = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in declared)
        if isinstance(options, Category):
            declared, options = _in_order(declared, options, column.name), _given(options)
        elif numbers and len(declared) == 2:
            return cls._of_numbers(column, data, declared, permitted, options)
        elif numbers:
            declared = sorted(declared)
        return cls._of_categories(column, declared, permitted, options)

    @classmethod
    def _of_numbers(
        cls,
        column: pd.Series,
        data: Any,
        declared: list[Any],
        permitted: Sequence[Any] | None,
        options: Mapping[str, Any],
    ) -> Column:
        if column.dtype.kind in "iu":
            check_exact(column.dropna().to_numpy(dtype=getattr(column.dtype, "numpy_dtype", column.dtype)))
        try:
            if any(isinstance(value, str) for value in column):
                raise TypeError
            column.to_numpy(dtype=float)
            bounds = tuple(_number(value) for value in (declared if permitted is None else permitted))
        except (TypeError, ValueError):
            raise ValueError(
                f"Feature {column.name} has the range {declared}: its values and its permitted range must be numbers."
            ) from None
        dtype = column.dtype.categories.dtype if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype
        described: dict[str, Any] = {
            "bounds": _within(dtype, bounds, column.name),
            "precision": _precision(column, data, declared),
        }
        mad = (getattr(data, "mad", None) or {}).get(column.name, 0)
        if not (isinstance(mad, Real) and mad <= 0):
            described["scale"] = mad
        return cls(dtype, _feature(Continuous, {"name": column.name, **described, **options}))

    @classmethod
    def _of_categories(
        cls, column: pd.Series, declared: list[Any], permitted: Sequence[Any] | None, options: Mapping[str, Any]
    ) -> Column:
        # DiCE takes any list of numbers for a range, and turns the categories of public data into text. Here the
        # declared list has the values, in the type of the queries.
        if wrong := [value for value in (*column, *declared) if not isinstance(value, Hashable)]:
            raise ValueError(f"Feature {column.name} has {wrong[0]!r} for a category, among {declared}.")
        levels, dtype = _levels(declared, column)
        # 17 of the data is 17.0 in a query of floats: a permitted range may have either.
        position = {str(level): i for spelling in (declared, levels) for i, level in enumerate(spelling)}
        allowed = levels if permitted is None else permitted
        for category in allowed:
            if str(category) not in position:
                raise UserConfigValidationException(
                    f"The category {category} does not occur in the training data for feature {column.name}. "
                    f"Allowed categories are {declared}"
                )
        values = list(dict.fromkeys(position[str(category)] for category in allowed))
        described = {"name": column.name, "values": values, "labels": levels, **options}
        kind = described.pop("kind", Category)
        if isinstance(described.get("moves"), Mapping):
            described["moves"] = _spelled(described["moves"], position, levels)
        feature = _feature(kind, described)
        return cls(dtype, _as_from_query(feature, {position[str(value)] for value in column if str(value) in position}),
                   levels)  # fmt: skip

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


def _feature(kind: type[Feature], description: dict[str, Any]) -> Feature:
    try:
        return kind(**description)
    except TypeError as wrong:
        raise UserConfigValidationException(f"features[{description['name']!r}]: {wrong}") from None


def _in_order(declared: list[Any], feature: Category, name: Hashable) -> list[Any]:
    """The declared categories in the order of the feature's labels."""
    known = {str(category): category for category in declared}
    if set(known) != set(feature.labels) or len(known) != len(feature.labels):
        raise UserConfigValidationException(
            f"features[{name!r}] has the categories {list(feature.labels)}, the data has {declared}."
        )
    return [known[label] for label in feature.labels]


def _given(feature: Category) -> dict[str, Any]:
    """What a feature says beside its labels and its name, and its kind."""
    said = {entry.name: getattr(feature, entry.name) for entry in fields(feature)}
    return {"kind": type(feature)} | {
        name: value for name, value in said.items() if name not in ("labels", "name") and value is not None
    }


def _spelled(moves: Mapping[Any, Any], position: Mapping[str, int], levels: list[Any]) -> dict[str, Any]:
    """Moves with categories as they are spelled in the queries; unknown ones stay, for the feature to refuse."""

    def spelled(category: Any) -> str:
        return str(levels[position[str(category)]]) if str(category) in position else str(category)

    return {
        spelled(category): others if isinstance(others, str) else [spelled(other) for other in others]
        for category, others in moves.items()
    }


def nearest_permitted(feature: Feature, now: float) -> float:
    """The first of the permitted categories that the one of a query may become; the first of all if there is none."""
    assert feature.choices is not None
    allowed = feature.choices if feature.allowed is None else feature.allowed.get(now, ())
    sign = {"rise": 1, "fall": -1}.get(getattr(feature, "direction", None) or "", 0)
    free = (choice for choice in feature.choices if choice in allowed and sign * (choice - now) >= 0)
    return next(free, feature.choices[0])


def _as_from_query(feature: Feature, present: set[int]) -> Feature:
    """The feature, whose moves from where a query is put first are allowed from the query's own category, too."""
    if not isinstance(feature, Category) or (allowed := feature.allowed) is None:
        return feature
    for outside in present - set(map(int, feature.choices)):
        start = nearest_permitted(feature, outside)
        allowed[start] = tuple(other for other in allowed[start] if other in allowed[outside])
    names = feature.labels
    return replace(feature, moves={names[int(a)]: [names[int(b)] for b in some] for a, some in allowed.items()})


def _precision(column: pd.Series, data: Any, bounds: list[Any]) -> int | None:
    """Decimals of a column's values, None for no limit."""
    if column.dtype.kind in "iub":
        return 0
    decimals = data.get_decimal_precisions(output_type="dict")[column.name]
    if not isinstance(decimals, Integral):
        raise UserConfigValidationException(
            f"type_and_precision of {column.name} must be 'int' or ['float', decimals], got {decimals!r} decimals."
        )
    # Private data says "int" of every feature without a declared type; values or bounds with decimals contradict it.
    whole = all(isinstance(b, (int, np.integer)) for b in bounds) and (column.to_numpy(dtype=float) % 1 == 0).all()
    return None if decimals == 0 and not whole else int(decimals)


def _number(value: Any) -> float:
    """A bound as the user wrote it: public data keeps 0.1 as the float32 next to it."""
    return float(str(value)) if isinstance(value, np.float32) else float(value)


def _within(dtype: Any, bounds: tuple[float, ...], name: Hashable) -> tuple[float, ...]:
    """Bounds within the range of the dtype: a number outside that range would come back as another number."""
    if dtype.kind not in "iu" or len(bounds) != 2:
        return bounds
    holds = np.iinfo(dtype.type)
    low, high = max(bounds[0], float(holds.min)), min(bounds[1], float(holds.max))
    if low > high and bounds[0] <= bounds[1]:
        raise ValueError(f"Feature {name} is {dtype} in the query, which holds nothing of the range {list(bounds)}.")
    # The largest integer of 64 bits is no float, and the float nearest to it is larger.
    return low, high if high <= holds.max else float(np.nextafter(high, 0))


def _levels(levels: list[Any], column: pd.Series) -> tuple[list[Any], Any]:
    """Categories in the type of the queries, and a dtype that holds all of them."""
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
