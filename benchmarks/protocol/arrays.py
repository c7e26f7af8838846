"""The kinds of arrays, and the one way in which series become flat rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def flatten(X: ArrayLike) -> Floats:
    """``(n, K, D)`` -> ``(n, K * D)``."""
    X = np.asarray(X, dtype=np.float64)
    return X.reshape(len(X), -1)
