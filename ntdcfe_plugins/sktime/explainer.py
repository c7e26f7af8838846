"""Counterfactuals in sktime: of any fitted classifier, regressor or pipeline, in the user's own containers.

:class:`CounterfactualExplainer` explains a model that is fitted already. :class:`CounterfactualClassifier`,
:class:`CounterfactualRegressor` and :class:`CounterfactualTransformer` are sktime estimators.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sktime.classification.base import BaseClassifier
from sktime.regression.base import BaseRegressor
from sktime.transformations.base import BaseTransformer
from sktime.utils.parallel import backend_dict

from ntdcfe import Counterfactual, Features, InvalidInputError, SearchSettings, Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins.sktime.model import Format, Model, Run, features_of, seed_of
from ntdcfe_plugins.sktime.panels import Panel, panel_of

__all__ = [
    "CounterfactualClassifier",
    "CounterfactualExplainer",
    "CounterfactualRegressor",
    "CounterfactualResult",
    "CounterfactualTransformer",
]

# The mtypes that are handed to an inner estimator as they are.
PANELS = ["pd-multiindex", "numpy3D", "nested_univ", "df-list"]


@dataclass(frozen=True, repr=False, eq=False)
class CounterfactualResult:
    """The counterfactuals of a panel.

    Attributes
    ----------
    counterfactuals
        A copy of X with the counterfactuals in it: same mtype, index, columns and dtypes. Only cells
        that have to change differ; a series without a counterfactual is as it was (``valid`` tells).
    table : pandas.DataFrame
        A row an instance: what the model says now (``present``), the ``target``, what it says of the
        counterfactual (``prediction``), whether that is as wanted (``valid``), the engine's ``status``,
        ``proximity`` (L1), ``sparsity`` (changed cells), the ``changes`` in words, and what the
        search took: ``rows`` and ``calls`` to the model, ``seconds``.
    details : list of ntdcfe.Counterfactual
        All that the engine knows, series as arrays (time, channel).
    """

    counterfactuals: Any
    table: pd.DataFrame
    details: list[Counterfactual]

    def __repr__(self) -> str:
        n = len(self.table)
        return f"CounterfactualResult({n} instance{'s' * (n > 1)}, {int(self.table['valid'].sum())} valid)"

    def __str__(self) -> str:
        if len(self.details) == 1:
            return str(self.details[0])
        shown = self.table[["present", "target", "prediction", "valid", "proximity", "sparsity", "rows", "calls"]]
        return f"{self!r}\n{shown.to_string(float_format='{:.4g}'.format)}"


class CounterfactualExplainer:
    """Counterfactuals of a fitted model, from its predictions alone.

    Parameters
    ----------
    estimator : fitted sktime classifier, regressor or pipeline, or a scikit-learn one on flat series
        Asked as a whole: a pipeline's raw input is what changes.
    features : Features, or dict from column name to description, optional
        What the channels are and how they may change, see :class:`ntdcfe.Features`; a dict may leave
        channels out. Names and whole-number types come from the container.
    constraints : sequence of Causal or AtMost
        What channels owe to each other.
    plausible : callable, optional
        In-distribution test: takes numpy3D ``(n, channel, time)``, returns which may be answers ``(n,)``.
    settings : SearchSettings, optional
    random_state : int, RandomState or None
        An int makes results the same on every run.
    backend : str, optional
        Where many instances are explained: one of sktime's backends ("loky", "multiprocessing",
        "threading", "joblib", "dask", "ray"). In this process if not given, which is often the fastest:
        instances then share calls to the model. The counterfactuals are the same whichever it is.
    backend_params : dict, optional
        As in sktime, for instance ``{"n_jobs": 2}``.

    Examples
    --------
    >>> from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
    >>> from sktime.datasets import load_unit_test
    >>> from sktime.dists_kernels import FlatDist, ScipyDist
    >>> from ntdcfe_plugins.sktime import CounterfactualExplainer
    >>> X, y = load_unit_test(split="train", return_type="numpy3D")
    >>> clf = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist())).fit(X, y)
    >>> result = CounterfactualExplainer(clf, random_state=0).explain(X[:2], target="other", max_rows=500)
    >>> result
    CounterfactualResult(2 instances, 2 valid)
    >>> bool((clf.predict(result.counterfactuals) != clf.predict(X[:2])).all())
    True
    """

    def __init__(
        self,
        estimator: Any,
        features: Features | Mapping[str, Any] | None = None,
        constraints: Sequence[Any] = (),
        plausible: Callable[[NDArray[Any]], Any] | None = None,
        settings: SearchSettings | None = None,
        random_state: Any = None,
        backend: str | None = None,
        backend_params: Mapping[str, Any] | None = None,
    ) -> None:
        if backend is not None and (backend not in backend_dict or backend == "dask_lazy"):
            known = sorted(set(backend_dict) - {"None", "dask_lazy"})
            raise InvalidInputError(f"backend must be None or one of {known}, got {backend!r}.")
        if backend_params is not None and not isinstance(backend_params, Mapping):
            raise InvalidInputError(f"backend_params must be a dict or None, got {backend_params!r}.")
        if not isinstance(constraints, Iterable):
            raise InvalidInputError(f"constraints must be a list of Causal or AtMost, got {constraints!r}.")
        if plausible is not None and not callable(plausible):
            raise InvalidInputError(f"plausible must be a function of numpy3D, got {plausible!r}.")
        self.model = Model(estimator)
        self.estimator = estimator
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params

    def __repr__(self) -> str:
        return f"CounterfactualExplainer({self.estimator!r})"

    def explain(
        self,
        X: Any,
        target: Any = "other",
        *,
        n_counterfactuals: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        progress: bool = False,
    ) -> CounterfactualResult:
        """The counterfactuals of one series or of a panel.

        Parameters
        ----------
        X : panel of mtype numpy3D, numpyflat, pd-multiindex, nested_univ or df-list, or one series
            One series is a DataFrame (time by channels), a Series or a one-dimensional array. Lengths may
            differ, and NaN stays NaN, if the estimator's tags say that it takes them.
        target : label, list of labels, "other", Target, or one of these for each instance
            What the model should say: of a classifier a label, any of several, or any but the present
            one; of a regressor an interval ``(lower, upper)``, None for an open end. For each instance: a
            Series or an array of labels, or a list of Targets or of intervals.
        n_counterfactuals, max_rows, max_seconds : optional
            How many are wanted (``details`` has all), and how much may be spent: rows for each instance,
            seconds for all.
        progress : bool
            Whether to show a bar.

        Raises
        ------
        InvalidInputError
            Before the model is asked anything about other series.
        TypeError, ValueError
            The estimator's own, where it does not take X.
        PredictorError
            If the model fails otherwise, and nothing is found.
        """
        model = self.model
        panel, as_given = panel_of(X, tabular=not model.is_sktime)
        model.check_capabilities(panel)
        targets = model.targets(target, len(panel))
        limits = {"n_counterfactuals": n_counterfactuals, "max_rows": max_rows, "progress": progress}
        (self.settings or SearchSettings()).given(
            n_counterfactuals=n_counterfactuals, max_rows=max_rows, max_seconds=max_seconds
        )  # raises before the model is asked anything
        features, seed = features_of(self.features, panel), seed_of(self.random_state)
        deadline = None if max_seconds is None else time.monotonic() + max_seconds
        run = Run(self, panel, targets, limits, deadline, features, seed)

        present = model.ask(panel.container, len(panel))
        targets = [t.given(present[i : i + 1]) for i, t in enumerate(targets)]
        details = run.explain(range(len(panel)), run.cheapest_formats(present))
        container, prediction, valid = self._outcome(panel, details, targets)
        # Where predict goes another way than the probabilities, or the container matters, it has the last word.
        wrong = [i for i, cf in enumerate(details) if cf.found and not valid[i]]
        if wrong:
            again = run.explain(wrong, dict.fromkeys(wrong, Format("own", "predict")))
            for i, cf in zip(wrong, again, strict=True):
                spent = {name: getattr(details[i], name) + getattr(cf, name) for name in ("rows", "calls")}
                details[i] = replace(cf, **spent, seconds=details[i].seconds + cf.seconds)
            container, prediction, valid = self._outcome(panel, details, targets)
        table = _table(panel, details, targets, present, prediction, valid)
        return CounterfactualResult(as_given(container), table, details)

    def _outcome(
        self, panel: Panel, details: list[Counterfactual], targets: list[Target]
    ) -> tuple[Any, Prediction, NDArray[np.bool_]]:
        """The filled container, what the model says of it, and which of its series are as wanted."""
        series = [one if cf.x is None else cf.x for one, cf in zip(panel.series, details, strict=True)]
        container = panel.filled(series)
        prediction = self.model.ask(container, len(panel))
        reached = [t.reached(prediction[i : i + 1])[0] for i, t in enumerate(targets)]
        return container, prediction, np.array(reached) & [cf.found for cf in details]


def _table(
    panel: Panel,
    details: list[Counterfactual],
    targets: list[Target],
    present: Prediction,
    prediction: Prediction,
    valid: NDArray[np.bool_],
) -> pd.DataFrame:
    rows = {
        "present": present.outcomes,
        "target": [str(t) for t in targets],
        "prediction": prediction.outcomes,
        "valid": valid,
        "status": [cf.status for cf in details],
        "proximity": [cf.proximity for cf in details],
        "sparsity": pd.array([cf.sparsity for cf in details], dtype="Int64"),
        "changes": ["; ".join(cf.sentences()) for cf in details],
        "rows": [cf.rows for cf in details],
        "calls": [cf.calls for cf in details],
        "seconds": [cf.seconds for cf in details],
    }
    return pd.DataFrame(rows, index=panel.index)


_OPTIONS = ("features", "constraints", "plausible", "settings", "random_state", "backend", "backend_params")
_TAGS = {
    "authors": "ntdcfe-plugins developers",
    "maintainers": "ntdcfe-plugins developers",
    "X_inner_mtype": PANELS,
    "capability:random_state": True,
    "property:randomness": "derandomized",
}


class _Explaining:
    """What the estimators share: an inner estimator that is fitted and explained."""

    _inner: str
    _inner_tags: tuple[str, ...]

    def __post_init__(self) -> None:
        inner = getattr(self, self._inner)
        self.clone_tags(inner, [f"capability:{tag}" for tag in self._inner_tags])  # type: ignore[attr-defined]
        if inner.get_tag("property:randomness", raise_error=False) == "stochastic":
            self.set_tags(**{"property:randomness": "stochastic"})  # type: ignore[attr-defined]

    def _fit(self, X: Any, y: Any = None) -> Any:
        setattr(self, f"{self._inner}_", getattr(self, self._inner).clone().fit(X, y))
        return self

    def explain(self, X: Any, target: Any = "other", **limits: Any) -> CounterfactualResult:
        """The counterfactuals of one series or of a panel, see :meth:`CounterfactualExplainer.explain`.

        Parameters
        ----------
        X : panel of mtype numpy3D, numpyflat, pd-multiindex, nested_univ or df-list, or one series
        target : label, list of labels, "other", interval, Target, or one for each instance
        **limits
            ``n_counterfactuals``, ``max_rows``, ``max_seconds``, ``progress``.
        """
        self.check_is_fitted()  # type: ignore[attr-defined]
        fitted = getattr(self, f"{self._inner}_", None)
        if fitted is None:  # sktime fits nothing to a single class, and a clone an output to several
            raise InvalidInputError("there is no model to explain: it was fitted to one class, or to several outputs.")
        options = {name: getattr(self, name) for name in _OPTIONS}
        return CounterfactualExplainer(fitted, **options).explain(X, target, **limits)


class _ExplainingModel(_Explaining):
    """What the classifier and the regressor share."""

    def __rmul__(self, other: Any) -> Any:
        """``trafo * self``: the transformer joins the inner estimator, so that raw input is explained."""
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        return type(self)(**{**params, self._inner: other * params[self._inner]})

    def _predict(self, X: Any) -> Any:
        return getattr(self, f"{self._inner}_").predict(X)


class CounterfactualClassifier(_ExplainingModel, BaseClassifier):  # type: ignore[misc]
    """A classifier that explains itself: predictions of the inner one, and `explain`.

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
    >>> from sktime.transformations.exponent import ExponentTransformer
    >>> from ntdcfe_plugins.sktime import CounterfactualClassifier
    >>> X, y = load_unit_test(split="train")
    >>> knn = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()))
    >>> clf = ExponentTransformer(2) * CounterfactualClassifier(knn, random_state=0)
    >>> clf = clf.fit(X, y)
    >>> clf.explain(X.iloc[:2], target="2", max_rows=500)
    CounterfactualResult(2 instances, 2 valid)
    """

    _tags = _TAGS
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
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params
        super().__init__()

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


class CounterfactualRegressor(_ExplainingModel, BaseRegressor):  # type: ignore[misc]
    """A regressor that explains itself: predictions of the inner one, and `explain`.

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

    _tags = _TAGS
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
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params
        super().__init__()

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


class CounterfactualTransformer(_Explaining, BaseTransformer):  # type: ignore[misc]
    """Maps every series of a panel to its counterfactual under an inner classifier or regressor.

    For data augmentation, or to look at what another step makes of counterfactuals. `fit` takes labels;
    `transform` gives a panel of the same mtype, index and columns. A series for which none is found, or
    that is at the target already, comes back as it was.

    Parameters
    ----------
    estimator : sktime classifier or regressor
        Cloned and fitted in `fit`. For a model that is fitted already, see :class:`CounterfactualExplainer`.
    target : label, list of labels, "other", interval or Target
        What the inner estimator should say of the transformed series.
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

    _tags = {  # noqa: RUF012
        **_TAGS,
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
        self.features = features
        self.constraints = constraints
        self.plausible = plausible
        self.settings = settings
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params
        super().__init__()

    def _transform(self, X: Any, y: Any = None) -> Any:
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
