"""Units of change: what counts as one step of a feature that is not standardised.

Proximity, steps and reach of the search are measured in these, so that a feature in metres and
one in millimetres are treated alike.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.feature import Continuous
from ntdcfe.problem.features import Features

# A feature that varies less than this share of its size is as good as constant.
CONSTANT = 1e-9
# It hardly varies where its deviation is less than this share of its size, and of the other features' typical one.
HARDLY = 0.05
# The span of bounds is this many units: about that of a uniform distribution in its own deviations (sqrt(12) = 3.5).
UNITS_IN_BOUNDS = 4.0


def units_of(
    original: NDArray[Any], features: Features, missing: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """The unit of each feature ``(F,)`` of a series ``(K, F)``.

    As given (``scale``), else from the bounds, else its own deviation over the series. A feature
    that is constant there takes the median unit of the others. Where there is no other, it is 1,
    as for standardised data, or a tenth of the feature's value if that is more. Discrete features
    have the unit 1. Of a feature with a precision, the unit is no less than one step of its grid.
    Cells that are `missing` ``(K, F)`` do not count.
    """
    known = True if missing is None or not missing.any() else ~missing | missing.all(0)
    deviation, size = _deviation(original, known), np.abs(original).max(0)
    units = np.where(deviation > CONSTANT * size, deviation, np.nan)
    for i, feature in enumerate(features):
        if not isinstance(feature, Continuous):
            units[i] = 1.0
        elif feature.scale is not None:
            units[i] = feature.scale
        elif _bounded(feature):
            low, high = feature.limits
            units[i] = (high - low) / UNITS_IN_BOUNDS
    given = units[~features.discrete & ~np.isnan(units)]
    typical = np.median(given) if len(given) else np.maximum(1.0, 0.1 * size)
    units = np.where(np.isnan(units), typical, units)
    return np.maximum(units, [0.0 if p is None else 10.0**-p for p in features.precisions])


@np.errstate(all="ignore")
def hardly_vary(original: NDArray[Any], features: Features) -> NDArray[np.bool_]:
    """Which features ``(F,)`` vary too little in a series ``(K, F)`` to tell their unit, and do not say it themselves.

    None in a row of a table, where no feature varies.
    """
    silent = np.array([isinstance(f, Continuous) and f.scale is None and not _bounded(f) for f in features])
    if len(original) == 1 or not silent.any():
        return np.zeros(len(features), bool)
    missing = np.isnan(original)
    original, known = np.where(missing, 0.0, original), ~missing | missing.all(0)
    deviation, size = _deviation(original, known), np.abs(original).max(0)
    typical = np.median(deviation[~features.discrete])
    little = (deviation <= HARDLY * size) & (deviation <= HARDLY * typical)
    return silent & ((deviation <= CONSTANT * size) | little)


def _bounded(feature: Continuous) -> bool:
    """Whether its bounds tell a unit."""
    low, high = feature.limits
    return math.isfinite(low) and math.isfinite(high) and low < high


def _deviation(original: NDArray[Any], known: Any) -> NDArray[np.float64]:
    """Standard deviation of each feature ``(F,)`` over the `known` cells of a series ``(K, F)``."""
    deviation, size = original.std(0, dtype=float, where=known), np.abs(original).max(0)
    # The squares of numbers beyond 1e154 are infinite, and below 1e-154 they are 0.
    extreme = (size > 0) & (np.ptp(original, axis=0) > 0) & ((deviation == 0) | ~np.isfinite(deviation))
    if extreme.any():
        deviation = np.where(extreme, (original / np.where(extreme, size, 1)).std(0, dtype=float) * size, deviation)
    return deviation
