"""A classifier with counterfactuals of its own predictions."""

from __future__ import annotations

from typing import Any

from sktime.classification.base import BaseClassifier

from ntdcfe import SearchSettings
from ntdcfe_plugins.sktime.explaining import TAGS, ExplainingModel


class CounterfactualClassifier(ExplainingModel, BaseClassifier):  # type: ignore[misc]
    """A classifier with `explain`; its predictions are those of the inner classifier.

    ``transformer * CounterfactualClassifier(classifier)`` is a `CounterfactualClassifier` of the
    pipeline, which explains in the space of the transformer's input.

    Parameters
    ----------
    classifier : sktime classifier
        Cloned and fitted in `fit`.
    features, constraints, plausible, settings, random_state, backend, backend_params
        Of the search, see :class:`CounterfactualExplainer`; they have no influence on predictions.

    Attributes
    ----------
    classifier_ : sktime classifier
        The fitted clone.

    Examples
    --------
    >>> from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
    >>> from sktime.datasets import load_unit_test
    >>> from sktime.dists_kernels import FlatDist, ScipyDist
    >>> from sktime.transformations.series.exponent import ExponentTransformer
    >>> from ntdcfe_plugins.sktime import CounterfactualClassifier
    >>> X, y = load_unit_test(split="train")
    >>> knn = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()))
    >>> clf = ExponentTransformer(2) * CounterfactualClassifier(knn, random_state=0)
    >>> clf = clf.fit(X, y)
    >>> clf.explain(X.iloc[:2], target="2", max_rows=500)
    CounterfactualResult(2 instances, 2 valid)
    """

    _tags = TAGS
    _inner = "classifier"
    _inner_tags = (
        "multivariate",
        "missing_values",
        "unequal_length",
        "categorical_in_X",
        "multioutput",
        "predict_proba",
    )

    def __init__(
        self,
        classifier: Any,
        features: Any = None,
        constraints: Any = (),
        plausible: Any = None,
        settings: Any = None,
        random_state: Any = None,
        backend: Any = None,
        backend_params: Any = None,
    ) -> None:
        self.classifier = classifier
        super().__init__(features, constraints, plausible, settings, random_state, backend, backend_params)

    def _predict_proba(self, X: Any) -> Any:
        return self.classifier_.predict_proba(X)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters that sktime's checks try."""
        from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
        from sktime.classification.dummy import DummyClassifier
        from sktime.dists_kernels import FlatDist, ScipyDist

        return [
            {"classifier": DummyClassifier(), "random_state": 0},
            {
                "classifier": KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()), n_neighbors=2),
                "settings": SearchSettings(max_rows=200),
                "random_state": 42,
                "backend": "threading",
                "backend_params": {"n_jobs": 1},
            },
        ]
