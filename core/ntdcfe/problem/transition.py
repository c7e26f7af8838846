"""The paper's action and its F_p: from a state and an intervention to a proposal, before any constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Intervention(NamedTuple):
    """The paper's action for n states: arrays ``(n,)``.

    `strength` is what is added to a continuous feature, and the new value of a discrete one.
    """

    step: NDArray[np.int64]
    feature: NDArray[np.int64]
    strength: NDArray[np.float64]


#: ``(states (n, K, F), intervention, discrete (F,)) -> proposals (n, K, F)``
Transition = Callable[[NDArray[Any], Intervention, NDArray[np.bool_]], NDArray[Any]]


def hold_to_end(states: NDArray[Any], action: Intervention, discrete: NDArray[np.bool_]) -> NDArray[Any]:
    """The paper's F_p: a change holds from its step to the end; added, or set if the feature is discrete."""
    rows = np.arange(len(states))
    before = states[rows, :, action.feature]  # (n, K)
    strength = action.strength[:, None]
    after = np.where(discrete[action.feature][:, None], strength, before + strength)
    proposals = states.copy()
    proposals[rows, :, action.feature] = np.where(np.arange(states.shape[1]) >= action.step[:, None], after, before)
    return proposals
