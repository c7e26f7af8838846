"""Labels that are wanted, and those that the model has: whether the one can be among the other."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError


def array_of(labels: tuple[Any, ...]) -> NDArray[Any]:
    """Labels as an array; numbers beside text stay numbers."""
    text = [isinstance(label, (str, bytes)) for label in labels]
    return np.array(labels, object) if any(text) and not all(text) else np.asarray(labels)


def check_alike(wanted: tuple[Any, ...], outcomes: NDArray[Any]) -> None:
    """Raise if labels are wanted in text where the model's are numbers, or the other way round: none can be reached."""
    text, numbers = outcomes.dtype.kind in "US", outcomes.dtype.kind in "biuf"
    if (numbers and all(isinstance(label, str) for label in wanted)) or (
        text and all(isinstance(label, Real) for label in wanted)
    ):
        asked, said = ("numbers", "text") if text else ("text", "numbers")
        seen = ", ".join(dict.fromkeys(map(repr, outcomes[:3].tolist())))
        raise InvalidInputError(
            f"target names {list(wanted)}, labels that are {asked}, but the model's are {said}: it says {seen}."
        )


def check_known(wanted: tuple[Any, ...], classes: NDArray[Any]) -> None:
    """Raise if a label is wanted that is not among the classes."""
    if unknown := [label for label in wanted if label not in classes.tolist()]:
        raise InvalidInputError(f"target names {unknown}, but the model's classes are {classes.tolist()}.")


def check_numbers(outcomes: NDArray[Any]) -> None:
    """Raise if what the model says are no numbers."""
    try:
        np.asarray(outcomes, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"target: an interval is for numbers, the model says {', '.join(map(repr, outcomes[:3].tolist()))}."
        ) from None
