"""How far a state is from the original, and what a state is worth to the agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: ``(original (K, F), x (n, K, F), weights (F,), discrete (F,)) -> (n,)``
Proximity = Callable[[NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.bool_]], NDArray[np.float64]]


def weighted_l1(
    original: NDArray[Any], x: NDArray[Any], weights: NDArray[np.float64], discrete: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The paper's equation 1: L1 for continuous features, L0 for discrete ones, weighted ``(n,)``."""
    return np.asarray(distances(original, x, discrete) @ np.tile(weights, len(original)))


def distances(original: NDArray[Any], x: NDArray[Any], discrete: NDArray[np.bool_]) -> NDArray[Any]:
    """How far each cell of states ``(n, K, F)`` is from the original, 1 if discrete and not the same ``(n, K * F)``."""
    distance = x - original
    np.abs(distance, out=distance)  # in place: a second array of this size costs more than the sum
    if discrete.any():
        distance = np.where(discrete, distance != 0, distance)
    return distance.reshape(len(distance), original.size)


def reward(reached: NDArray[np.bool_], proximity: NDArray[np.float64], proximity_weight: float) -> NDArray[np.float64]:
    """The paper's reward: ``1 - lambda_pxmt * D_pxmt`` where the target is reached, else 0 ``(n,)``."""
    return np.where(reached, 1 - proximity_weight * proximity, 0.0)
