"""The features of a panel: the user's description, with the names and types of the container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ntdcfe import Continuous, Discrete, Feature, Features, InvalidInputError
from ntdcfe_plugins.sktime.panels import Panel


def features_of(given: Features | Mapping[str, Any] | None, panel: Panel) -> Features:
    """The features, with the names of the container, and whole numbers where its types are whole."""
    names = panel.names
    if given is None:
        given = {}
    if isinstance(given, Mapping):
        if unknown := set(given) - set(names):
            raise InvalidInputError(f"features names {sorted(unknown)}, but the columns of X are {names}.")
        given = Features.from_dict({name: given.get(name, {}) for name in names})
    if not isinstance(given, Features):
        raise InvalidInputError(f"features must be a Features, or a dict from column name, got {given!r}.")
    if given.n_columns != len(names):
        raise InvalidInputError(f"features describes {given.n_columns} columns, X has {len(names)}: {names}.")
    described = [
        _typed(replace(feature, name=feature.name or names[group.start]), panel.dtypes[group.start])
        for feature, group in zip(given, given.groups(), strict=True)
    ]
    return Features(described, given.actionable_steps, given.step_names)


def _typed(feature: Feature, dtype: Any) -> Feature:
    """A feature with values that a column of that type can hold."""
    if not isinstance(feature, Continuous):
        return feature
    if dtype.kind == "b":
        return Discrete(name=feature.name, role=feature.role, weight=feature.weight, values=(0, 1))
    if dtype.kind in "iu" and feature.bounds is None:
        # The range of a wider type is no useful bound: a unit of change taken from it would be far too coarse.
        limits = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
        narrow = (int(limits.min), int(limits.max)) if limits.bits == 8 else None
        feature = replace(feature, bounds=narrow or ((0, None) if dtype.kind == "u" else None))
    return replace(feature, precision=min(feature.precision or 0, 0)) if dtype.kind in "iu" else feature
