"""Equality of what has arrays in it: NaN is the same as NaN."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ntdcfe.errors import in_words


def alike(one: Any, other: Any, but: tuple[str, ...] = ()) -> bool:
    """Whether two values are the same, arrays, sequences and dataclasses part by part; fields named `but` left out."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        same = isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.dtype == other.dtype
        return same and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, BaseException) and isinstance(other, BaseException):
        return in_words(one) == in_words(other)
    if is_dataclass(one) and type(one) is type(other):
        names = [entry.name for entry in fields(one) if entry.name not in but]
        return all(alike(getattr(one, name), getattr(other, name)) for name in names)
    return bool(one == other) or bool(one != one and other != other)


class Comparable:
    """A dataclass with arrays that can be compared, and be in a set; how long something took does not count."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and alike(self, other, but=("seconds",))

    def __hash__(self) -> int:
        return hash(tuple(value for value in vars(self).values() if isinstance(value, (str, int))))
