"""The user's own functions, held to their word: what they raise and what they return is named.

They get copies from whoever calls them here, and what they return is copied: what they write into, then or later, is
no state of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError, NTDCFEError, in_words


def called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function returns; what it raises as an InvalidInputError that names it."""
    try:
        return function(*arguments)
    except NTDCFEError:
        raise
    except Exception as cause:
        raise InvalidInputError(f"{name} raised {type(cause).__name__}: {in_words(cause)}") from cause


def numbers(name: str, words: str, shape: tuple[Any, ...], answer: Any) -> NDArray[Any]:
    """An answer as a new array of numbers of that shape, "m" for any length; refused in these words if it is none."""
    try:
        array = np.array(answer)
        if array.dtype.kind == "O":
            array = array.astype(float)
    except Exception as cause:
        raise InvalidInputError(f"{name} must return {words}, {shape}, got {type(answer).__name__}.") from cause
    fits = array.ndim == len(shape) and all(n in ("m", m) for n, m in zip(shape, array.shape, strict=True))
    if not fits or array.dtype.kind not in "fiub":
        raise InvalidInputError(f"{name} must return {words}, {shape}, got shape {array.shape} of {array.dtype}.")
    return array


def verdicts(name: str, n: int, answer: Any, unknown: bool) -> NDArray[np.bool_]:
    """An answer as one verdict a row ``(n,)``; NaN and infinity are `unknown`."""
    array = numbers(name, "one verdict a row", (n,), answer)
    return np.where(np.isfinite(array), array != 0, unknown)


def costs(name: str, n: int, answer: Any) -> NDArray[np.float64]:
    """An answer as one number a state ``(n,)``; NaN is infinitely much."""
    array = numbers(name, "one number a state", (n,), answer).astype(float)
    return np.where(np.isnan(array), np.inf, array)
