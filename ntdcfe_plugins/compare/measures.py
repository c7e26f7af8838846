"""What a person who relies on a counterfactual wants to know of it, beside its distance.

How many things change, whether they hang together, whether the series stays as smooth as it was, whether the model
still says the same if the values are a little off, how sure it is, and how far the series is if time may be stretched.
Comparisons and all benchmarks take these from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Features, LocalOutlierDetector, Target
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.units import units_of
from ntdcfe.problem.words import spoken_of
from ntdcfe_plugins._shared.changes import n_segments
from ntdcfe_plugins._shared.numpy_errors import silent

Array = NDArray[Any]
Detector = Callable[[Array], NDArray[np.bool_]]
NAN = float("nan")

#: Noise by which survival is measured, as shares of each feature's unit.
NOISE = {"survival_1": 0.01, "survival_5": 0.05}
#: How many disturbed copies are asked about, for each of them.
DRAWS = 200
# Disturbed copies are asked about in batches of at most so many numbers.
_MOST_NUMBERS = 4_000_000


def n_edits(edits: Sequence[Edit], changed: Array, names: Sequence[str]) -> float:
    """How many edits an answer is made of; features that they do not speak of count by their runs.

    Parameters
    ----------
    edits : sequence of Edit
        Of the answer.
    changed : array (K, F)
        Which cells changed.
    names : sequence of str
        Of the features ``(F,)``.

    Returns
    -------
    float
        NaN if it has no edits: it was searched for cell by cell, or comes from elsewhere.
    """
    if not edits:
        return NAN
    of_edits = spoken_of(edits, names)
    left = [name not in of_edits for name in names]
    return float(len(edits) + n_segments(changed[:, left]))


def contiguity(changed: Array) -> float:
    """One less the share of steps at which a run of changed steps begins, as tscf-eval has it: 1 if all hang together.

    Parameters
    ----------
    changed : array (K, F)
        Which cells changed; a step has changed if one of its cells has.

    Returns
    -------
    float
        NaN for a row of a table.
    """
    if len(changed) < 2:
        return NAN
    begins = np.diff(changed.any(1).astype(np.int8), prepend=0) == 1
    return 1.0 - float(begins.sum()) / len(changed)


def roughness(before: Array, after: Array, changed: Array) -> float:
    """The sum of absolute second differences of the changed columns, after beside before.

    Parameters
    ----------
    before, after : array (K, D)
    changed : array (D,)
        The continuous columns that changed.

    Returns
    -------
    float
        1 if no continuous column changed; NaN for fewer than three steps, and where those columns were straight.
    """
    if len(before) < 3:
        return NAN
    if not changed.any():
        return 1.0
    old, new = (float(np.abs(np.diff(x[:, changed], 2, axis=0)).sum()) for x in (before, after))
    return new / old if old > 0 else NAN


def noise_of(before: Array, features: Features) -> NDArray[np.float64]:
    """The unit of each column ``(D,)``, 0 where it is discrete: what noise is measured in.

    Parameters
    ----------
    before : array (K, D)
        The original.
    features : Features
    """
    groups = features.groups()
    values = np.stack([before[:, group.start] for group in groups], axis=1).astype(float)
    units = np.where(features.discrete, 0.0, units_of(values, features))
    return np.repeat(units, [group.stop - group.start for group in groups])


def survival(
    reached: Callable[[Array], Array],
    x: Array,
    units: Array,
    share: float,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> float:
    """The share of disturbed copies of `x` that still reach the target.

    Parameters
    ----------
    reached : callable
        From rows ``(n, *x.shape)`` to which of them reach the target ``(n,)``.
    x : array (K, D), or (D,)
    units : array (D,)
        See :func:`noise_of`.
    share : float
        Standard deviation of the Gaussian noise on every cell, in units.
    rng : Generator
        Of its own, so that nobody has seen the draws.
    draws : int

    Returns
    -------
    float
        NaN without draws, and where the model cannot answer: it may refuse values that nobody said are discrete.
    """
    if not draws:
        return NAN
    most, held = max(1, _MOST_NUMBERS // x.size), 0
    for start in range(0, draws, most):
        n = min(most, draws - start)
        copies = x + share * units * rng.standard_normal((n, *x.shape))
        try:
            held += int(np.asarray(reached(copies)).sum())
        except Exception:
            return NAN
    return held / draws


def confidence(prediction: Prediction, target: Target) -> float:
    """The probability of what is wanted, for the first of the predictions; NaN if the model gives none."""
    if prediction.probabilities is None or prediction.classes is None or target.regression:
        return NAN
    classes = prediction.classes
    wanted = target.reached(Prediction(classes, np.eye(len(classes)), classes))
    return float(prediction.probabilities[0][wanted].sum())


def dtw(a: Array, b: Array) -> float:
    """Dynamic time warping distance of two series, all features warped together.

    The root of the least sum of squared differences along a path through both; no window.

    Parameters
    ----------
    a, b : array (K, D)

    Returns
    -------
    float
        NaN for a row of a table.
    """
    if len(a) < 2:
        return NAN
    n, m = len(a), len(b)
    cost = np.zeros((n, m))
    for one_a, one_b in zip(a.T, b.T, strict=True):  # one by one: all at once would be (K, K, D)
        cost += (one_a[:, None] - one_b) ** 2
    # Cells of one anti-diagonal do not depend on each other: `one` and `two` are the last two, by their row + 1.
    one, two = np.full(n + 1, np.inf), np.full(n + 1, np.inf)
    for k in range(n + m - 1):
        rows = np.arange(max(0, k - m + 1), min(n, k + 1))
        least = np.minimum(np.minimum(one[rows], one[rows + 1]), two[rows]) if k else 0.0
        now = np.full(n + 1, np.inf)
        now[rows + 1] = cost[rows, k - rows] + least
        one, two = now, one
    return float(np.sqrt(one[n]))


def isolation(reference: Array) -> Detector:
    """A test by an isolation forest of usual series ``(N, ...)``: which rows ``(n, ...)`` are no outliers ``(n,)``."""
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(random_state=0).fit(reference.reshape(len(reference), -1))
    return lambda rows: np.asarray(forest.predict(rows.reshape(len(rows), -1)) == 1)


@silent()
def detectors(reference: Array) -> dict[str, Detector]:
    """The tests of plausibility by usual series ``(N, K, D)`` or ``(N, D)``: local outlier factor, isolation forest."""
    return {"plausible": LocalOutlierDetector(reference), "plausible_forest": isolation(reference)}
