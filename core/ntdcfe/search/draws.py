"""Random draws as ``rng.choice`` makes them, bit for bit, without its checks, which take longer than the draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SIGNS = np.array([-1.0, 1.0])


def weighted(chance: NDArray[Any], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """n places among chances ``(m,)``, which are not negative and need not add up to 1: ``(n,)``."""
    return up_to(ends_of(chance), n, rng)


def ends_of(chance: NDArray[Any]) -> NDArray[np.float64]:
    """Chances ``(m,)`` as the ends of parts of the line from 0 to 1 ``(m,)``: for those that are drawn from often."""
    ends = (chance / chance.sum()).cumsum()
    ends /= ends[-1]
    return np.asarray(ends)


def up_to(ends: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """n places among chances that :func:`ends_of` was given ``(n,)``."""
    return ends.searchsorted(rng.random(n), side="right")


def one_of(values: NDArray[Any], n: int, rng: np.random.Generator) -> NDArray[Any]:
    """n of the values ``(m,)``, each as often as the others ``(n,)``."""
    return values.take(rng.integers(0, len(values), n))


def signs(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """1 or -1, n times ``(n,)``."""
    return _SIGNS[rng.integers(0, 2, n)]
