"""Changes between two series, feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Features

Array = NDArray[Any]

# Relative: numbers that went through single precision and back have not changed.
SAME = 1e-5


def differs(before: Array, after: Array) -> NDArray[np.bool_]:
    """Which numbers of two arrays of one shape differ by more than single precision does."""
    return ~np.isclose(after, before, rtol=SAME, atol=SAME * 1e-2, equal_nan=True)


def cells(before: Array, after: Array, features: Features | None) -> tuple[Array, Array]:
    """Size of the change of each cell and whether it changed, both ``(K, F)``.

    A discrete feature, or a one-hot group, counts 1 if it changed at a step.

    Parameters
    ----------
    before, after : array (K, D)
    features : Features, optional
        Continuous ones if not given.
    """
    moved = differs(before, after)
    size = np.where(moved, np.abs(after - before), 0.0)
    if features is None or not features.discrete.any():
        return size, moved
    groups = features.groups()
    changed = np.stack([moved[:, group].any(1) for group in groups], axis=1)
    total = np.stack([size[:, group].sum(1) for group in groups], axis=1)
    return np.where(features.discrete, changed, total), changed


def n_segments(changed: Array) -> int:
    """How many runs of consecutive changed steps there are in ``changed (K, F)``, feature by feature."""
    starts = np.diff(changed.astype(np.int8), axis=0, prepend=0) == 1
    return int(starts.sum())
