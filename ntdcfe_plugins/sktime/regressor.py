"""A regressor with counterfactuals of its own predictions."""

from __future__ import annotations

from typing import Any

from sktime.regression.base import BaseRegressor

from ntdcfe import SearchSettings
from ntdcfe_plugins.sktime.explaining import TAGS, ExplainingModel


class CounterfactualRegressor(ExplainingModel, BaseRegressor):  # type: ignore[misc]
    """A regressor with `explain`; its predictions are those of the inner regressor.

    ``transformer * CounterfactualRegressor(regressor)`` is a `CounterfactualRegressor` of the
    pipeline, which explains in the space of the transformer's input.

    Parameters
    ----------
    regressor : sktime regressor
        Cloned and fitted in `fit`.
    features, constraints, plausible, settings, random_state, backend, backend_params
        Of the search, see :class:`CounterfactualExplainer`; they have no influence on predictions.

    Attributes
    ----------
    regressor_ : sktime regressor
        The fitted clone.

    Examples
    --------
    >>> from sktime.datasets import load_unit_test
    >>> from sktime.dists_kernels import FlatDist, ScipyDist
    >>> from sktime.regression.distance_based import KNeighborsTimeSeriesRegressor
    >>> from ntdcfe_plugins.sktime import CounterfactualRegressor
    >>> X, y = load_unit_test(split="train")
    >>> knn = KNeighborsTimeSeriesRegressor(distance=FlatDist(ScipyDist()), n_neighbors=3)
    >>> reg = CounterfactualRegressor(knn, random_state=0).fit(X, y.astype(float))
    >>> reg.explain(X.iloc[:2], target=(1.6, None), max_rows=500)  # at least 1.6
    CounterfactualResult(2 instances, 2 valid)
    """

    _tags = TAGS
    _inner = "regressor"
    _inner_tags = ("multivariate", "missing_values", "unequal_length", "categorical_in_X")

    def __init__(
        self,
        regressor: Any,
        features: Any = None,
        constraints: Any = (),
        plausible: Any = None,
        settings: Any = None,
        random_state: Any = None,
        backend: Any = None,
        backend_params: Any = None,
    ) -> None:
        self.regressor = regressor
        super().__init__(features, constraints, plausible, settings, random_state, backend, backend_params)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters that sktime's checks try."""
        from sktime.dists_kernels import FlatDist, ScipyDist
        from sktime.regression.distance_based import KNeighborsTimeSeriesRegressor
        from sktime.regression.dummy import DummyRegressor

        return [
            {"regressor": DummyRegressor(), "random_state": 0},
            {
                "regressor": KNeighborsTimeSeriesRegressor(distance=FlatDist(ScipyDist()), n_neighbors=2),
                "settings": SearchSettings(max_rows=200),
                "random_state": 42,
            },
        ]
