"""How a fitted sktime or scikit-learn estimator is asked, and its instances are searched for counterfactuals."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from sktime.base import BaseEstimator
from sktime.utils.parallel import parallelize

from ntdcfe import NTDCFE, Continuous, Counterfactual, Discrete, Feature, Features, InvalidInputError, Target
from ntdcfe.errors import PredictorError
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins.sktime.panels import Panel, as_numpy3D

if TYPE_CHECKING:
    from ntdcfe_plugins.sktime import CounterfactualExplainer

# Two ways of asking give the same prediction if they differ by no more.
SAME = 1e-6


class Model:
    """A fitted estimator: what it is, what it takes, what it says."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.is_sktime = isinstance(estimator, BaseEstimator)
        if not hasattr(estimator, "predict"):
            raise InvalidInputError(f"estimator must have predict, got {type(estimator).__name__}.")
        if self.is_sktime:
            estimator.check_is_fitted()
            kinds = estimator.get_tag("object_type")
            kinds = [kinds] if isinstance(kinds, str) else kinds
            if not {"classifier", "regressor"} & set(kinds):
                raise InvalidInputError(f"estimator must be a classifier or a regressor, got one of type {kinds}.")
            self.regression = "classifier" not in kinds
        else:
            try:
                check_is_fitted(estimator)
            except (TypeError, AttributeError) as error:
                if isinstance(error, NotFittedError):
                    raise
                raise InvalidInputError(f"estimator must be one of sktime or scikit-learn: {error}") from None
            self.regression = not hasattr(estimator, "classes_")
        self.classes = None if self.regression else np.asarray(estimator.classes_)
        if self.classes is not None and len(self.classes) < 2:
            raise InvalidInputError(f"the classifier knows the class {self.classes.tolist()} only: there is no other.")
        # Not by the tag capability:predict_proba, which many that have graded probabilities do not set.
        graded = estimator._has_implementation_of("_predict_proba") if self.is_sktime else True
        graded = graded and not self.regression and hasattr(estimator, "predict_proba")
        self.method = "predict_proba" if graded else "predict"

    def ask(self, container: Any, n: int) -> Prediction:
        """What the model says of a container of `n` series: predict's outcomes, with probabilities if there are any."""
        outcomes = np.asarray(self._call("predict", container))
        if outcomes.ndim == 2 and outcomes.shape[1] == 1:
            outcomes = outcomes[:, 0]
        if outcomes.ndim != 1:
            raise InvalidInputError("the estimator has several outputs: explain one at a time.")
        if len(outcomes) != n:
            raise PredictorError(f"the estimator gave {len(outcomes)} predictions for the {n} series of X.")
        if self.regression:
            return Prediction(outcomes.astype(float))
        if self.method == "predict":
            return Prediction(outcomes)
        return Prediction(outcomes, np.asarray(self._call("predict_proba", container), float), self.classes)

    def _call(self, method: str, container: Any) -> Any:
        try:
            return getattr(self.estimator, method)(container)
        except (TypeError, ValueError):  # sktime's own words for a container that it does not take
            raise
        except Exception as cause:
            raise PredictorError(f"the estimator raised {type(cause).__name__} in {method}: {cause}") from cause

    def check_capabilities(self, panel: Panel) -> None:
        """Refuse what the estimator's tags say that it cannot take."""
        if not self.is_sktime:
            return
        wanted = {
            "multivariate": ("several channels", len(panel.names) > 1, "ColumnConcatenator"),
            "missing_values": ("missing values", panel.has_missing, "Imputer"),
            "unequal_length": ("series of unequal length", np.ptp(panel.lengths) > 0, "PaddingTransformer"),
        }
        for tag, (what, present, remedy) in wanted.items():
            if present and not self.estimator.get_tag(f"capability:{tag}", False, raise_error=False):
                name = type(self.estimator).__name__
                raise InvalidInputError(
                    f"X has {what}, and {name} cannot take them (its tag capability:{tag} is False): "
                    f"fit a pipeline, for instance {remedy}() * {name}(...)."
                )

    def targets(self, target: Any, n: int) -> list[Target]:
        """One target an instance."""
        target = target.item() if isinstance(target, np.ndarray) and not target.ndim else target
        each = isinstance(target, (pd.Series, np.ndarray)) or (
            isinstance(target, list) and bool(target) and all(isinstance(t, (Target, tuple)) for t in target)
        )
        wanted = list(target) if each else [target] * n
        if len(wanted) != n:
            raise InvalidInputError(f"target must have one entry an instance: {n} instances, {len(wanted)} targets.")
        targets = [self._target(t) for t in wanted]
        for t in targets:
            if t.regression != self.regression:
                kind = "regressor: give an interval (lower, upper)" if self.regression else "classifier: give a label"
                raise InvalidInputError(f"target must suit a {kind}, got {str(t)!r}.")
            if self.classes is not None:
                t.check_classes(self.classes)
        return targets

    def _target(self, wanted: Any) -> Target:
        if self.regression and isinstance(wanted, (tuple, list, np.ndarray)) and len(wanted) == 2:
            return Target.interval(*wanted)
        return Target.of(wanted)


@dataclass(frozen=True)
class Format:
    """How the model is asked: rows as "numpy3D", or in the "own" container of an instance."""

    rows: str
    method: str


@dataclass(frozen=True)
class Query:
    """The model as the engine asks it: rows ``(n, K, D)`` to predictions. Can be sent to another process."""

    ask: Callable[[Any], Any]
    held: Callable[[NDArray[Any]], NDArray[Any]]
    shape: Callable[[NDArray[Any]], Any]

    def __call__(self, rows: NDArray[Any]) -> Any:
        """What the model says of rows ``(n, K, D)``."""
        return self.ask(self.shape(self.held(rows)))


@dataclass(frozen=True)
class PlausibleRows:
    """The user's in-distribution test of numpy3D, for rows ``(n, K, D)``."""

    plausible: Callable[[NDArray[Any]], Any]

    def __call__(self, rows: NDArray[Any]) -> Any:
        """Which rows ``(n, K, D)`` may be answers ``(n,)``."""
        return self.plausible(as_numpy3D(rows))


@dataclass(frozen=True)
class Run:
    """One call of explain: which instances are explained together, asked how, and where."""

    explainer: CounterfactualExplainer
    panel: Panel
    targets: list[Target]
    limits: dict[str, Any]
    deadline: float | None
    features: Features
    seed: int

    def cheapest_formats(self, present: Prediction) -> dict[int, Format]:
        """For every instance the cheapest way to ask that gives the prediction of the user's own container."""
        model, panel = self.explainer.model, self.panel
        formats = dict.fromkeys(range(len(panel)), Format("own", model.method))
        if panel.alike:
            return formats
        expected = present.outcomes if present.probabilities is None else present.probabilities
        for group in self._by_length(range(len(panel))):
            rows = np.stack([panel.series[i] for i in group])
            try:
                answer = getattr(model.estimator, model.method)(as_numpy3D(panel.held(rows)))
            except Exception:  # whatever a model says to a container that it does not take
                continue
            if _same(np.asarray(answer), expected[group]):
                formats.update(dict.fromkeys(group, Format("numpy3D", model.method)))
        return formats

    def explain(self, which: Sequence[int], formats: Mapping[int, Format]) -> list[Counterfactual]:
        """The counterfactuals of those instances, in order."""
        explainer = self.explainer
        shared = [i for i in which if self.panel.alike or formats[i].rows != "own"]
        groups = [*self._by_length(shared), *([i] for i in which if i not in set(shared))]
        if explainer.backend is not None:
            n_jobs = effective_n_jobs(dict(explainer.backend_params or {}).get("n_jobs", -1))
            groups = [part.tolist() for g in groups for part in np.array_split(g, min(n_jobs, len(g)))]
        tasks = [(self._engine(g[0], formats[g[0]]), [self.panel.series[i] for i in g], g) for g in groups]
        meta = {"targets": self.targets, "limits": self.limits, "deadline": self.deadline}
        params = None if explainer.backend_params is None else dict(explainer.backend_params)
        done = parallelize(_explain_group, tasks, meta, backend=explainer.backend, backend_params=params)
        found = {i: cf for group, cfs in zip(groups, done, strict=True) for i, cf in zip(group, cfs, strict=True)}
        return [found[i] for i in which]

    def _by_length(self, which: Sequence[int]) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for i in which:
            groups.setdefault(len(self.panel.series[i]), []).append(i)
        return list(groups.values())

    def _engine(self, i: int, way: Format) -> NTDCFE:
        """The engine for instance `i` and those that are asked about in the same way."""
        explainer, model, panel = self.explainer, self.explainer.model, self.panel
        shape = functools.partial(panel.variations, i) if way.rows == "own" else as_numpy3D
        labels_only = way.method == "predict"
        return NTDCFE(
            Query(getattr(model.estimator, way.method), panel.held, shape),
            self.features,
            explainer.constraints,
            None if explainer.plausible is None else PlausibleRows(explainer.plausible),
            explainer.settings,
            self.seed,
            output="values" if model.regression else "labels" if labels_only else "probabilities",
            classes=model.classes,
            missing="fixed",
        )


def _explain_group(task: tuple[NTDCFE, list[NDArray[Any]], list[int]], meta: dict[str, Any]) -> list[Counterfactual]:
    """The counterfactuals of series of one length."""
    engine, series, which = task
    left = None if meta["deadline"] is None else max(meta["deadline"] - time.monotonic(), 1e-3)
    targets = [meta["targets"][i] for i in which]
    return engine.explain_batch(np.stack(series), targets, max_seconds=left, **meta["limits"])


def _same(answer: NDArray[Any], expected: NDArray[Any]) -> bool:
    if expected.dtype.kind == "f":
        return answer.shape == expected.shape and np.allclose(answer, expected, rtol=SAME, atol=SAME)
    return np.array_equal(answer, expected)


def seed_of(random_state: Any) -> int:
    """A seed from what scikit-learn takes for one."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"random_state must be a whole number, RandomState or None: {error}") from None


def features_of(given: Features | Mapping[str, Any] | None, panel: Panel) -> Features:
    """The features, with names and whole numbers as the container has them."""
    names = panel.names
    if given is None:
        given = {}
    if isinstance(given, Mapping):
        if unknown := set(given) - set(names):
            raise InvalidInputError(f"features names {sorted(unknown)}, but the columns of X are {names}.")
        given = Features.from_dict({name: given.get(name, {}) for name in names})
    if not isinstance(given, Features):
        raise InvalidInputError(f"features must be a Features, or a dict from column name, got {given!r}.")
    if given.n_columns != len(names):
        raise InvalidInputError(f"features describes {given.n_columns} columns, X has {len(names)}: {names}.")
    described, column = [], 0
    for feature in given:
        name = feature.name or names[column]
        described.append(_typed(replace(feature, name=name), panel.dtypes[column]))
        column += feature.n_columns
    return Features(described, given.actionable_steps)


def _typed(feature: Feature, dtype: Any) -> Feature:
    """A feature with values that a column of that type can hold."""
    if not isinstance(feature, Continuous):
        return feature
    if dtype.kind == "b":
        return Discrete(name=feature.name, role=feature.role, weight=feature.weight, values=(0, 1))
    if dtype.kind in "iu" and feature.bounds is None:
        # Wider types have room on both sides, and a unit taken from their range would be far too coarse.
        limits = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
        narrow = (int(limits.min), int(limits.max)) if limits.bits == 8 else None
        feature = replace(feature, bounds=narrow or ((0, None) if dtype.kind == "u" else None))
    return replace(feature, precision=min(feature.precision or 0, 0)) if dtype.kind in "iu" else feature
