"""In-distribution tests: which valid rows may be answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError

#: ``(n, K, D)`` or ``(n, D)``, as the model sees them ``-> (n,)`` bool
Plausible = Callable[[NDArray[Any]], Any]


class LocalOutlierDetector:
    """A ready in-distribution test for those who have reference data, after the paper's appendix.

    Wraps scikit-learn's ``LocalOutlierFactor(novelty=True)``; needs scikit-learn.

    Parameters
    ----------
    reference : array (N, K, D) or (N, D)
        Series that count as usual.
    **options
        Passed on to ``LocalOutlierFactor``.
    """

    def __init__(self, reference: NDArray[Any], **options: Any) -> None:
        try:
            from sklearn.neighbors import LocalOutlierFactor
        except ImportError as missing:
            raise ImportError("LocalOutlierDetector needs scikit-learn: pip install scikit-learn") from missing
        reference = np.asarray(reference, dtype=float)
        if reference.ndim not in (2, 3) or len(reference) < 2 or not np.isfinite(reference).all():
            raise InvalidInputError(
                f"reference must be (N, K, D) or (N, D) with N >= 2 and no NaN, got shape {reference.shape}."
            )
        options = {"n_neighbors": min(20, len(reference) - 1), **options}
        self._detector = LocalOutlierFactor(novelty=True, **options).fit(reference.reshape(len(reference), -1))

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows are in distribution ``(n,)``."""
        return np.asarray(self._detector.predict(rows.reshape(len(rows), -1)) == 1)

    def score_samples(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """How usual rows are ``(n,)``: 0 at the boundary, more inside."""
        return np.asarray(self._detector.decision_function(rows.reshape(len(rows), -1)))
