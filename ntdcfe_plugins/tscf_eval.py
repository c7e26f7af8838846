"""Ours within tscf-eval's own harness: a class with the constructor and the methods that its benchmark asks for.

.. code-block:: python

    from tscf_eval.benchmark import BenchmarkRunner, DatasetConfig, ExplainerConfig, ModelConfig
    from ntdcfe_plugins.tscf_eval import NTDCFE

    ExplainerConfig("NTD-CFE", NTDCFE, {"random_state": 0})

tscf-eval is not imported: its harness takes any class of this shape. Series are ``(T,)`` or ``(C, T)``, as its models
see them. The training data that the harness hands over is not looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ntdcfe
from ntdcfe import Counterfactual, Features, SearchSettings
from ntdcfe.search.options import OptionName

Array = NDArray[Any]


class NTDCFE:
    """Counterfactuals for tscf-eval's benchmark.

    Parameters
    ----------
    model : object
        A fitted classifier with ``predict``, of series ``(n, T)`` or ``(n, C, T)``; only its labels are used.
    data : tuple, optional
        Training series and labels, which the harness hands to every method. Not used.
    features : Features, optional
        The C channels; continuous without names if not given.
    settings : SearchSettings, optional
    option : {"simplest", "nearest", "sturdiest"}
        Which of the answers of a search is returned.
    random_state : int
        Seed.
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        *,
        features: Features | None = None,
        settings: SearchSettings | None = None,
        option: OptionName = "simplest",
        random_state: int = 0,
    ) -> None:
        self.model, self.features, self.random_state = model, features, random_state
        self.settings = replace(settings or SearchSettings(), prefer=option)

    def explain(
        self, x: Array, y_pred: Any = None, *, class_of_interest: Any = None
    ) -> tuple[Array, Any, dict[str, Any]]:
        """A counterfactual of `x`, its label, and notes.

        Parameters
        ----------
        x : array (T,) or (C, T)
        y_pred : label, optional
            What the model says of `x`; it is asked anyway.
        class_of_interest : label, optional
            What it should say; any other label if not given.

        Returns
        -------
        tuple
            The counterfactual like `x`, its label, and ``{"found", "status", "sentences", "edits", "rows", "calls",
            "survival"}``. If none was found it is `x` itself, which the harness counts as a failure.
        """
        x = np.asarray(x, dtype=float)
        cf = self._search(x, 1, class_of_interest)
        answer = x.copy() if cf.x is None else self._like(cf.x, x)
        return answer, self._label(answer), self._notes(cf)

    def explain_k(
        self, x: Array, k: int = 5, y_pred: Any = None, *, class_of_interest: Any = None
    ) -> tuple[Array, Array, list[dict[str, Any]]]:
        """Several counterfactuals ``(k, ...)`` of `x`, their labels ``(k,)``, and notes.

        If there are fewer than `k`, the last is repeated, since the harness wants so many.
        """
        x = np.asarray(x, dtype=float)
        cf = self._search(x, k, class_of_interest)
        found = [self._like(np.asarray(row), x) for row in cf.candidates[:k]] or [x.copy()]
        rows = np.stack([*found, *[found[-1]] * (k - len(found))])
        return rows, np.array([self._label(row) for row in rows]), [self._notes(cf)] * k

    def _search(self, x: Array, n: int, wanted: Any) -> Counterfactual:
        univariate = x.ndim == 1

        def predict(rows: Array) -> Array:
            series = rows[..., 0] if univariate else rows.transpose(0, 2, 1)
            return np.asarray(self.model.predict(np.ascontiguousarray(series)))

        series = x[:, None] if univariate else x.T
        features = self.features or Features.continuous(series.shape[1])
        engine = ntdcfe.NTDCFE(predict, features, settings=self.settings, seed=self.random_state)
        return engine.explain(series, "other" if wanted is None else wanted, n_counterfactuals=n)

    @staticmethod
    def _like(series: Array, x: Array) -> Array:
        """A series ``(T, C)`` in the shape of `x`."""
        return series[:, 0] if x.ndim == 1 else np.ascontiguousarray(series.T)

    def _label(self, x: Array) -> Any:
        return np.asarray(self.model.predict(x[None]))[0]

    @staticmethod
    def _notes(cf: Counterfactual) -> dict[str, Any]:
        return {
            "found": cf.found,
            "status": cf.status,
            "sentences": list(cf.sentences()) if cf.found else [],
            "edits": len(cf.edits),
            "rows": cf.rows,
            "calls": cf.calls,
            "survival": None if cf.survival is None else cf.survival.share,
        }
