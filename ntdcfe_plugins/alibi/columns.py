"""Features that are described column by column, as alibi does it, as the engine's features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Category, Continuous, Feature, InvalidInputError, OneHot
from ntdcfe_plugins._shared.arguments import listed
from ntdcfe_plugins._shared.keyed import Key, KeyedFeatures, keys_of_columns

# A limit as large as this (alibi's default) is no limit: a unit of change taken from it would be absurd.
NO_LIMIT = 1e10
# A column of floating numbers without decimals is one of whole numbers if there is one as large as this among them.
LEAST_WHOLE = 10


def features_of(n_columns: int | None, arguments: Mapping[str, Any]) -> KeyedFeatures:
    """The engine's features, which are named by their names or columns.

    Parameters
    ----------
    n_columns : int, optional
        How many columns there are; as many as the names make up if not given.
    arguments : dict
        Those of the explainer that are about columns, by their names.
    """
    plain = _plain_features(n_columns, arguments["feature_names"], arguments["category_map"], arguments["ohe"])
    chosen: list[dict[str, Any]] = [{} for _ in plain]
    feature_range = arguments["feature_range"]
    for key, bounds in _bounds(feature_range, plain.n_columns).items():
        position = plain.index(key)
        # Limits of all columns do not concern categories.
        if isinstance(feature_range, Mapping) or isinstance(plain[position], Continuous):
            chosen[position]["bounds"] = bounds
    options = [
        ("direction", arguments["directions"]),
        ("moves", arguments["moves"]),
        ("weight", arguments["weights"]),
        ("scale", arguments["scales"]),
        ("precision", arguments["decimals"]),
        ("role", dict.fromkeys(arguments["non_actionable_features"], "non_actionable")),
        ("role", dict.fromkeys(arguments["immutable_features"], "immutable")),
    ]
    for option, given in options:
        for key, value in given.items():
            chosen[plain.index(key)][option] = value.item() if isinstance(value, np.generic) else value
    described = [_with_options(feature, own) for feature, own in zip(plain, chosen, strict=True)]
    return KeyedFeatures(described, arguments["actionable_steps"], arguments["step_names"], keys=plain.keys)


def whole_numbers(X: NDArray[Any], features: KeyedFeatures, decimals: Mapping[Key, Any]) -> KeyedFeatures:
    """The features, of which those stay whole whose numbers in the instances ``(N, ..., D)`` are whole.

    Ages and amounts are whole; codes of categories and scaled numbers are whole by chance: a column of floating
    numbers is whole if one of them is 10 or more (rule of thumb). What `decimals` says of a feature holds.
    """
    whole = (np.asarray(X, float) % 1 == 0).reshape(-1, X.shape[-1]).all(0)
    if X.dtype.kind == "f":
        whole &= (np.abs(X) >= LEAST_WHOLE).reshape(-1, X.shape[-1]).any(0)
    told = {features.index(key) for key in decimals}
    described = [
        replace(feature, precision=0)
        if isinstance(feature, Continuous) and whole[group.start] and i not in told and feature.precision is None
        else feature
        for i, (feature, group) in enumerate(zip(features, features.groups(), strict=True))
    ]
    return replace(features, features=described)


def named(argument: str, value: Any) -> list[Key]:
    """A collection of names or columns."""
    keys = listed(argument, value)
    if wrong := [key for key in keys if not isinstance(key, (str, int, np.integer))]:
        raise InvalidInputError(f"{argument} must be names or columns, got {wrong[0]!r}.")
    return keys


def _plain_features(
    n_columns: int | None, names: Sequence[str] | None, category_map: Mapping[Key, Sequence[str]], ohe: Sequence[Key]
) -> KeyedFeatures:
    """The features with their names and categories alone; a one-hot group is named by its first column."""
    left = dict(category_map)
    for group, given in left.items():
        if not listed(f"category_map[{group!r}]", given):
            raise InvalidInputError(f"category_map[{group!r}] must list categories, got {given!r}.")
    features: list[Feature] = []
    column = 0
    while column < (n_columns or 0) if names is None else len(features) < len(names):
        name = f"feature {len(features)}" if names is None else names[len(features)]
        key: Key = name if name in left else column
        categories = tuple(map(str, left.pop(key, ())))
        if not categories:
            features.append(Continuous(name=name))
        elif key in ohe:
            features.append(OneHot(name=name, categories=categories))
        else:
            features.append(Category(name=name, labels=categories))
        column += features[-1].n_columns
    if left or any(key not in category_map for key in ohe):
        raise InvalidInputError(
            f"category_map must name features or their first column, and ohe some of these: got "
            f"{list(category_map)} and {list(ohe)} for features {[feature.name for feature in features]}."
        )
    if n_columns not in (None, column):
        raise InvalidInputError(
            f"feature_names and category_map make up {column} columns, the instances have {n_columns}."
        )
    plain = KeyedFeatures(features)
    return replace(plain, keys=keys_of_columns(plain))


def _with_options(feature: Feature, options: Mapping[str, Any]) -> Feature:
    if unknown := set(options) - {field.name for field in fields(feature)}:
        if isinstance(feature, Continuous):
            raise InvalidInputError(f"{feature.name!r} has no categories in category_map: it takes no moves.")
        raise InvalidInputError(f"{feature.name!r} is categorical: it takes no {' or '.join(sorted(unknown))}.")
    return replace(feature, **options)


def _bounds(feature_range: Any, n_columns: int) -> dict[Key, tuple[float | None, float | None]]:
    """Lower and upper limits by feature, or by column; None for no limit."""
    try:
        if feature_range is None:
            return {}
        if isinstance(feature_range, Mapping):
            pairs = feature_range
        else:
            low, high = (_each_column(side, n_columns) for side in feature_range)
            pairs = dict(enumerate(zip(low, high, strict=True)))
        return {key: (_limit(low), _limit(high)) for key, (low, high) in pairs.items()}
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"feature_range must be (low, high), numbers or arrays of {n_columns} columns, or a dict of "
            f"feature to (low, high), got {feature_range!r} ({error})."
        ) from None


def _each_column(side: Any, n_columns: int) -> list[Any]:
    """One limit a column, from a number or from an array whose last axis has the columns."""
    columns = np.asarray(side, dtype=float).reshape(-1, np.shape(side)[-1] if np.ndim(side) else 1)
    if (columns != columns[0]).any():
        raise ValueError("limits must be the same at all steps")
    return list(np.broadcast_to(columns[0], n_columns).tolist())


def _limit(value: Any) -> float | None:
    return None if value is None or abs(value) >= NO_LIMIT else float(value)
