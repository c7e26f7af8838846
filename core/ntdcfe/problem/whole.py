"""Whole numbers: a series of integers is searched in floating numbers, and comes back as integers of its type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.feature import Continuous
from ntdcfe.problem.features import Features

# Floating numbers cannot tell larger integers apart.
LARGEST = 2**53


def check_exact(X: NDArray[Any]) -> None:
    """Refuse integers that would be others as floating numbers: the model would see what nobody gave it."""
    if X.dtype.kind in "iu" and X.size and (int(X.max()) > LARGEST or int(X.min()) < -LARGEST):
        raise InvalidInputError(
            f"the series has whole numbers beyond 2**53, from {X.min()} to {X.max()}, which are searched in floating "
            "numbers and would reach the model changed. Subtract a constant, take a coarser unit (seconds in place of "
            "nanoseconds), leave out a column that is only a name, or give floating numbers if digits may be lost."
        )


def are_whole(features: Features) -> bool:
    """Whether no feature is said to have decimals."""
    listed = [value for feature in features for value in feature.choices or ()]
    return all(value % 1 == 0 for value in listed) and all((p or 0) <= 0 for p in features.precisions)


def kept_whole(features: Features) -> Features:
    """The same with whole numbers in every feature that says nothing of its decimals."""
    whole = [replace(f, precision=0) if isinstance(f, Continuous) and f.precision is None else f for f in features]
    return replace(features, features=whole)


def range_of(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The least and the largest number of a type of integers, as far as floating numbers tell them apart."""
    if dtype.kind == "b":
        return 0.0, 1.0
    holds = np.iinfo(dtype)
    return float(max(holds.min, -LARGEST)), float(min(holds.max, LARGEST))
