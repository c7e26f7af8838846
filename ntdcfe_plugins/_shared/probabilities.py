"""Probabilities from the other forms in which classifiers return their scores.

An array that is not of the form that a function takes is returned as it is: the engine names what is wrong with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows that add up to 1 within this tolerance are probabilities already (rule of thumb for single precision).
TOLERANCE = 1e-3


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Probabilities ``(n, C)`` from logits ``(n, C)``."""
    if logits.ndim != 2 or not _finite_numbers(logits):
        return logits
    powers = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=float)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def softmax_of_logits(scores: NDArray[Any]) -> NDArray[Any]:
    """Probabilities ``(n, C)`` from rows that are logits or probabilities already.

    Each row decides for itself, so that the result does not depend on the size of a batch.
    """
    if scores.ndim != 2 or not _finite_numbers(scores):
        return scores
    probabilities = (scores.min(1) >= 0) & (np.abs(scores.sum(1) - 1) < TOLERANCE)
    return np.where(probabilities[:, None], scores, softmax(scores))


def two_columns(positive: NDArray[Any]) -> NDArray[Any]:
    """Probabilities of both classes ``(n, 2)`` from that of class 1, ``(n,)`` or ``(n, 1)``."""
    if positive.shape not in ((len(positive),), (len(positive), 1)) or not _finite_numbers(positive):
        return positive
    positive = positive.reshape(len(positive))
    return np.column_stack([1 - positive, positive])


def _finite_numbers(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "fiub" and bool(np.isfinite(array).all()) and array.size > 0
