"""Arrays, labels and features as plain JSON and back, to the last bit.

Nothing that is read is executed. JSON has no NaN and no infinity: they are written as text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.feature import Category, Continuous, Discrete, Feature, OneHot, Ordered
from ntdcfe.problem.features import Features

_KINDS: dict[str, type[Feature]] = {kind.__name__: kind for kind in (Continuous, Discrete, Category, Ordered, OneHot)}


def plain(value: Any) -> Any:
    """A number, text, None, a sequence or a dataclass of them as JSON has them; what JSON does not know as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
    return str(value)


def unplain(value: Any) -> Any:
    """What `plain` was given; a sequence comes back as a tuple."""
    if isinstance(value, dict):
        return float(value["number"])
    return tuple(unplain(v) for v in value) if isinstance(value, list) else value


def plain_array(array: NDArray[Any]) -> dict[str, Any]:
    """An array of numbers with its type and shape."""
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": plain(array.ravel())}


def unplain_array(entry: Mapping[str, Any]) -> NDArray[Any]:
    """What `plain_array` was given."""
    dtype = np.dtype(entry["dtype"])
    if dtype.kind not in "fiub":
        raise InvalidInputError(f"an array of numbers is expected, got dtype {entry['dtype']!r}.")
    return np.array(unplain(entry["values"]), dtype).reshape(entry["shape"])


def plain_difference(array: NDArray[Any], base: NDArray[Any]) -> dict[str, Any]:
    """An array like `base`, by the cells in which it differs: few of them, in a counterfactual."""
    # Bits, not values, so that -0.0 and NaN come back as they were.
    bits = f"u{array.itemsize}"
    cells = np.flatnonzero(array.ravel().view(bits) != base.ravel().view(bits))
    return {"cells": cells.tolist(), "values": plain(array.ravel()[cells])}


def undifference(entry: Mapping[str, Any], base: NDArray[Any]) -> NDArray[Any]:
    """What `plain_difference` was given."""
    array = base.copy().ravel()
    array[np.asarray(entry["cells"], int)] = np.array(unplain(entry["values"]), base.dtype)
    return array.reshape(base.shape)


def plain_features(features: Features) -> dict[str, Any]:
    """What the columns are."""
    steps = features.actionable_steps
    return {
        "features": [
            {"kind": type(f).__name__, **{entry.name: plain(getattr(f, entry.name)) for entry in fields(f)}}
            for f in features
        ],
        "actionable_steps": {"slice": [steps.start, steps.stop, steps.step]}
        if isinstance(steps, slice)
        else plain(None if steps is None else np.asarray(steps)),
        "step_names": plain(features.step_names),
    }


def unplain_features(entry: Mapping[str, Any]) -> Features:
    """What `plain_features` was given."""
    listed = []
    for options in entry["features"]:
        options = {name: unplain(value) for name, value in options.items()}
        kind = options.pop("kind")
        if kind not in _KINDS:
            raise InvalidInputError(f"a feature of kind {kind!r} cannot be read, only {sorted(_KINDS)}.")
        listed.append(_KINDS[kind](**options))
    steps = entry["actionable_steps"]
    steps = slice(*steps["slice"]) if isinstance(steps, dict) else None if steps is None else np.asarray(steps)
    return Features(listed, steps, entry.get("step_names"))
