"""How near a prediction is to a target, from 0 to 1 with the boundary at 0.5."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.prediction import Prediction

# Share of the odds in a score, and the log-odds at which they are half used up (rule of thumb: small enough that the
# difference of probabilities decides wherever there is one).
WEIGHT_OF_ODDS, HALF_ODDS = 0.02, 5.0
TINY = np.finfo(float).tiny
# What 1 - p is a multiple of in double precision; below the second, in single precision, it may be rounding noise.
GRAIN, NOISE = 2.0**-53, 2.0**-13


def lead(ours: NDArray[np.float64], theirs: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Score of probabilities `ours` that have to be as high as `theirs`, all ``(n,)``.

    Where a model is all but certain, the difference is the same wherever one looks; the odds, 1 to 10^14 here and
    1 to 10^8 there, still show the way. They weigh so little that elsewhere the difference decides.
    """
    odds = _log(ours, n_classes) - _log(theirs, n_classes)
    share = odds / (HALF_ODDS + np.abs(odds))  # from -1 to 1
    return 0.5 + ((1 - WEIGHT_OF_ODDS) * (ours - theirs) + WEIGHT_OF_ODDS * share) / 2


def _log(p: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Logarithms of probabilities ``(n,)``, as far down as they mean something."""
    # Of two, either may be 1 minus the other: its last bits depend on the size of the batch.
    least = np.where((n_classes == 2) & (p % GRAIN == 0), NOISE, TINY)
    return np.log(np.maximum(p, least))


def margin(prediction: Prediction, inside: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """Score by the lead of the likeliest class inside over the likeliest outside."""
    p = prediction.probabilities
    if p is None or inside.all() or not inside.any():
        return None
    return lead(p[:, inside].max(1), p[:, ~inside].max(1), p.shape[1])
