"""A transformer from series to their counterfactuals."""

from __future__ import annotations

import warnings
from typing import Any

from sktime.transformations.base import BaseTransformer

from ntdcfe import SearchSettings
from ntdcfe_plugins.sktime.explaining import TAGS, Explaining, known


class CounterfactualTransformer(Explaining, BaseTransformer):  # type: ignore[misc]
    """Maps every series of a panel to its counterfactual under an inner classifier or regressor.

    For data augmentation, or to see how a further step of a pipeline treats counterfactuals. `fit` takes labels;
    `transform` gives a panel of the same mtype, index and columns. A series without a counterfactual, or one
    that reaches the target already, comes back unchanged; so do all of them where `fit` saw a single class.

    Parameters
    ----------
    estimator : sktime classifier or regressor
        Cloned and fitted in `fit`. For a model that is fitted already, see :class:`CounterfactualExplainer`.
    target : label, list of labels, "other", interval or Target
        The wanted prediction of the inner estimator for the transformed series.
    features, constraints, plausible, settings, random_state, backend, backend_params
        Of the search, see :class:`CounterfactualExplainer`.

    Attributes
    ----------
    estimator_ : sktime classifier or regressor
        The fitted clone.

    Examples
    --------
    >>> from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
    >>> from sktime.datasets import load_unit_test
    >>> from sktime.dists_kernels import FlatDist, ScipyDist
    >>> from ntdcfe import SearchSettings
    >>> from ntdcfe_plugins.sktime import CounterfactualTransformer
    >>> X, y = load_unit_test(split="train")
    >>> knn = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()))
    >>> trafo = CounterfactualTransformer(knn, settings=SearchSettings(max_rows=500), random_state=0)
    >>> trafo = trafo.fit(X, y)
    >>> Xt = trafo.transform(X.iloc[:3])
    >>> bool((trafo.estimator_.predict(Xt) != trafo.estimator_.predict(X.iloc[:3])).all())
    True
    """

    _tags = known(
        {
            **TAGS,
            "y_inner_mtype": "numpy1D",
            "requires_y": True,
            "fit_is_empty": False,
            "scitype:transform-input": "Series",
            "scitype:transform-output": "Series",
            "scitype:transform-labels": "Primitives",
            "scitype:instancewise": False,
            "transform-returns-same-time-index": True,
            "capability:categorical_in_X": False,
        }
    )
    _inner = "estimator"
    _inner_tags = ("missing_values", "unequal_length")

    def __init__(
        self,
        estimator: Any,
        target: Any = "other",
        features: Any = None,
        constraints: Any = (),
        plausible: Any = None,
        settings: Any = None,
        random_state: Any = None,
        backend: Any = None,
        backend_params: Any = None,
    ) -> None:
        self.estimator = estimator
        self.target = target
        super().__init__(features, constraints, plausible, settings, random_state, backend, backend_params)

    def _transform(self, X: Any, y: Any = None) -> Any:
        known = getattr(self.estimator_, "classes_", None)
        if known is not None and len(known) < 2:
            warnings.warn(
                f"{type(self.estimator_).__name__} was fitted to the class {known[0]!r} only: no series has a "
                "counterfactual.",
                stacklevel=2,
            )
            return X
        return self.explain(X, self.target).counterfactuals

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters that sktime's checks try."""
        from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
        from sktime.dists_kernels import FlatDist, ScipyDist

        quick = SearchSettings(max_rows=200, batch_rows=10)
        knn = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()), n_neighbors=1)
        return [
            {"estimator": knn, "settings": quick, "random_state": 0},
            {"estimator": knn, "target": 1, "settings": quick, "random_state": 42},
        ]
