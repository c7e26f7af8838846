"""The paper's set O: distinct valid counterfactuals, nearest first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment
from ntdcfe.errors import InvalidInputError

#: ``(n, K, D)`` or ``(n, D)``, as the model sees them ``-> (n,)`` bool
Plausible = Callable[[NDArray[Any]], Any]


class Candidates:
    """Valid states of one search, the nearest first, ties broken by sparsity.

    Parameters
    ----------
    environment : Environment
    plausible : callable, optional
        Takes states ``(n, K, F)`` and tells which may enter ``(n,)``.
    keep : int
        How many of the nearest are kept; the rest are only remembered as seen.
    """

    def __init__(
        self,
        environment: Environment,
        plausible: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None,
        keep: int = 100,
    ) -> None:
        self.environment = environment
        self.plausible = plausible
        self.keep = keep
        self.n_implausible = 0
        self._seen: set[bytes] = set()
        self._entries: list[tuple[float, int, int, NDArray[Any]]] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def states(self) -> list[NDArray[Any]]:
        """The kept states ``(K, F)``, nearest first."""
        return [state for *_, state in self._entries]

    @property
    def best_proximity(self) -> float:
        """Proximity of the nearest, infinity while there is none."""
        return self._entries[0][0] if self._entries else np.inf

    def add(self, x: NDArray[Any]) -> bool:
        """Take a valid state ``(K, F)`` in; tells whether it was new (and so, in Algorithm 1, ends the episode)."""
        key = x.tobytes()
        if key in self._seen:
            return False
        self._seen.add(key)
        if self.plausible is not None and not self.plausible(x[None])[0]:
            self.n_implausible += 1
            return True
        proximity, sparsity = self.environment.proximity(x[None])[0], self.environment.sparsity(x[None])[0]
        self._entries.append((float(proximity), int(sparsity), len(self._seen), x.copy()))
        self._entries.sort(key=lambda entry: entry[:3])
        del self._entries[self.keep :]
        return True


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
