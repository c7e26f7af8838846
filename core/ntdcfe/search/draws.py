"""Random draws as ``rng.choice`` makes them, bit for bit, without its checks, which take longer than the draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SIGNS = np.array([-1.0, 1.0])


def weighted(chance: NDArray[Any], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """n places among chances ``(m,)``, which are not negative and need not add up to 1: ``(n,)``."""
    ends = (chance / chance.sum()).cumsum()
    ends /= ends[-1]
    return ends.searchsorted(rng.random(n), side="right")


def signs(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """1 or -1, n times ``(n,)``."""
    return _SIGNS[rng.integers(0, 2, n)]
