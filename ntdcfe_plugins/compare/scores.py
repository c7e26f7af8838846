"""Scores of a counterfactual: how far, how sparse, how usual, and whether it keeps to the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Continuous, Features, OneHot

Array = NDArray[Any]

# Relative: what went through 32-bit floats and back has not changed.
SAME = 1e-5


def cells(before: Array, after: Array, features: Features | None) -> tuple[Array, Array]:
    """Size of the change of each cell and whether it changed, both ``(K, F)``.

    A discrete feature, or a one-hot group, counts 1 if it changed at a step.

    Parameters
    ----------
    before, after : array (K, D)
    features : Features, optional
        Continuous ones if not given.
    """
    moved = ~np.isclose(after, before, rtol=SAME, atol=SAME * 1e-2, equal_nan=True)
    size = np.where(moved, np.abs(after - before), 0.0)
    if features is None or not features.discrete.any():
        return size, moved
    groups = column_groups(features)
    changed = np.stack([moved[:, group].any(1) for group in groups], axis=1)
    total = np.stack([size[:, group].sum(1) for group in groups], axis=1)
    return np.where(features.discrete, changed, total), changed


def column_groups(features: Features) -> list[slice]:
    """The columns of each feature."""
    stops = np.cumsum([feature.n_columns for feature in features]).tolist()
    return [slice(stop - feature.n_columns, stop) for feature, stop in zip(features, stops, strict=True)]


def n_segments(changed: Array) -> int:
    """How many runs of consecutive changed steps there are in ``changed (K, F)``, feature by feature."""
    starts = np.diff(changed.astype(np.int8), axis=0, prepend=0) == 1
    return int(starts.sum())


def allowed(before: Array, after: Array, features: Features) -> bool:
    """Whether the change keeps to what the features say: roles, bounds, listed values, directions, steps.

    A non-actionable feature may change, since a causal rule may have changed it.
    """
    _, moved = cells(before, after, features)
    if moved[~features.step_mask(len(before))].any():
        return False
    for i, (feature, group) in enumerate(zip(features, column_groups(features), strict=True)):
        old, new, changed = before[:, group], after[:, group], moved[:, i]
        if not changed.any():
            continue
        if feature.role == "immutable":
            return False
        if isinstance(feature, OneHot):
            if not (np.isin(new, (0, 1)).all() and (new.sum(1) == 1).all()):
                return False
            continue
        difference = (new - old)[changed, 0]
        rises = {"rise": True, "fall": False}.get(str(getattr(feature, "direction", None)))
        if rises is not None and (difference < 0 if rises else difference > 0).any():
            return False
        values = new[changed, 0]
        if isinstance(feature, Continuous):
            low, high = feature.limits
            slack = SAME * np.maximum(1.0, np.abs(values))
            if (values < low - slack).any() or (values > high + slack).any():
                return False
        elif feature.choices is not None and not np.isin(values, feature.choices).all():
            return False
    return True


def diversity(found: Sequence[Array]) -> float:
    """Mean L1 distance between pairs; NaN of fewer than two."""
    pairs = [np.abs(a - b).sum() for i, a in enumerate(found) for b in found[:i]]
    return float(np.mean(pairs)) if pairs else float("nan")
