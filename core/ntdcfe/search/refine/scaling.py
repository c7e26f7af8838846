"""States on the way from the original to a base."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.space import Space


def scaled(space: Space, base: NDArray[Any], ratio: NDArray[np.float64]) -> NDArray[Any]:
    """The change from the original to `base` times `ratio`; a discrete cell goes back below a half."""
    return between(space.original, base, ratio, space.discrete)


def between(
    original: NDArray[Any], base: NDArray[Any], ratio: NDArray[np.float64], discrete: NDArray[np.bool_]
) -> NDArray[Any]:
    """The same of any cells, of which `discrete` tells the discrete ones."""
    number = ratio * (base - original)
    number += original
    if not discrete.any():
        return number
    return np.where(discrete, np.where(ratio < 0.5, original, base), number)
