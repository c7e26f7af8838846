"""Whether a model answers a series by what else is in the call: then each is asked about in a call of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Answers that differ by less are the same: networks of single precision round by the size of the batch (rule of thumb).
ROUNDING = 1e-3
# Rows that are asked at most: two together, and then one by itself, twice.
MOST_ROWS = 4

COMPANY_IN_WORDS = (
    "the model's answer to a series depends on what else is in the call, so each was asked in a call of its own: what "
    "is said here holds where predict is asked about one series at a time"
)


class Company(NamedTuple):
    """What a few questions tell of it.

    Attributes
    ----------
    matters : bool
        Whether the model answers a series by what else is in the call.
    rows, calls : int
        What was asked to know that.
    seconds : float
        That a series by itself takes; NaN if not asked.
    """

    matters: bool = False
    rows: int = 0
    calls: int = 0
    seconds: float = np.nan

    @classmethod
    def of(cls, ask: Callable[[NDArray[Any]], Any], series: NDArray[Any], known: Any) -> Company:
        """Ask about a series ``(K, D)`` beside another, itself backwards.

        Parameters
        ----------
        ask : callable
            The model: from rows ``(n, K, D)`` to its answers.
        series : array (K, D)
        known : number, label or array (C,)
            What it said of the series before, in other company or in none.
        """
        # A series backwards has the same values, so the model knows their like, and another course.
        beside, itself = np.stack([series[::-1], series]), series[None]
        try:
            if _same(np.asarray(ask(beside))[1], known):
                return cls(False, 2, 1)
            # An answer that changes by itself does not depend on company: votes deal with that.
            began = time.monotonic()
            alone = [np.asarray(ask(itself))[0] for _ in range(2)]
        except Exception:  # of any kind: the search meets it too, and says what it is
            return cls(False, MOST_ROWS, 3)
        return cls(_same(*alone), MOST_ROWS, 3, (time.monotonic() - began) / 2)


def _same(answer: Any, other: Any) -> bool:
    """Whether two answers to one row agree, but for rounding."""
    if np.asarray(answer).dtype.kind == "f":
        return bool(np.allclose(answer, other, rtol=ROUNDING, atol=ROUNDING * np.abs(other).max(), equal_nan=True))
    return bool(np.array_equal(answer, other))
