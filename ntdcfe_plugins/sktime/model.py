"""A fitted sktime or scikit-learn estimator: its kind, its capabilities and its predictions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from sktime.base import BaseEstimator
from sktime.transformations.base import BaseTransformer
from sktime.transformations.compose import FitInTransform

from ntdcfe import InvalidInputError, PredictorError
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.numpy_errors import as_caller
from ntdcfe_plugins.sktime.panels import Panel
from ntdcfe_plugins.sktime.values import copied

# How sktime says that a transformer of a pipeline is fitted to each series by itself.
PER_INSTANCE = re.compile(r"(\w+) is a transformer that applies per individual time series")


class Model:
    """A fitted estimator of sktime or scikit-learn.

    Parameters
    ----------
    estimator : fitted classifier or regressor

    Attributes
    ----------
    is_sktime, regression : bool
        Whether it is an estimator of sktime, and whether it is a regressor.
    classes : array (C,) or None
        The labels of a classifier.
    method : {"predict", "predict_proba"}
        The method with the most informative answers.
    n_asked : int
        How many rows the estimator sees of a series in :meth:`ask`: one for each method.
    """

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
                door = "; CounterfactualForecastExplainer explains forecasters" if "forecaster" in kinds else ""
                raise InvalidInputError(f"estimator must be a classifier or a regressor, got {', '.join(kinds)}{door}.")
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
        # Not by the tag capability:predict_proba, which many estimators with graded probabilities do not set.
        graded = estimator._has_implementation_of("_predict_proba") if self.is_sktime else True
        graded = graded and not self.regression and hasattr(estimator, "predict_proba")
        self.method = "predict_proba" if graded else "predict"
        self.n_asked = 2 if graded else 1

    def ask(self, container: Any, n: int, graded: bool = True) -> Prediction:
        """The predictions of a container of `n` series: predict's outcomes, with probabilities if there are any.

        Without them if not `graded`.
        """
        outcomes = np.asarray(self._call("predict", container))
        if outcomes.ndim == 2 and outcomes.shape[1] == 1:
            outcomes = outcomes[:, 0]
        if outcomes.ndim != 1:
            raise InvalidInputError("the estimator has several outputs: explain one at a time.")
        if len(outcomes) != n:
            raise PredictorError(f"the estimator gave {len(outcomes)} predictions for the {n} series of X.")
        if self.regression:
            return Prediction(outcomes.astype(float))
        if self.method == "predict" or not graded:
            return Prediction(outcomes)
        return Prediction(outcomes, np.asarray(self._call("predict_proba", container), float), self.classes)

    def ask_each(self, panel: Panel, series: Sequence[NDArray[Any]], graded: bool = True) -> Prediction:
        """The predictions of series ``(K, D)`` in the place of those of a panel, each in a call of its own."""
        each = [panel.variations(i, panel.held(one[None])) for i, one in enumerate(series)]
        return Prediction.concatenate([self.ask(container, 1, graded) for container in each])

    def _call(self, method: str, container: Any) -> Any:
        try:
            with as_caller():
                return getattr(self.estimator, method)(copied(container))
        except (TypeError, ValueError):  # the estimator's own message about a container that it does not take
            raise
        except Exception as cause:
            raise PredictorError(f"the estimator raised {type(cause).__name__} in {method}: {cause}") from cause

    def first_look(self, panel: Panel, graded: bool, each: bool = False) -> Prediction:
        """The predictions of the series themselves, together or `each` in a call of its own; see :meth:`ask`.

        Raises
        ------
        InvalidInputError
            The estimator fails on them, and its tags say that it cannot take such series. The tags alone do not
            decide: those of a pipeline may be stricter than it is. Or it answers NaN to all of them.
        """
        try:
            if each:
                prediction = self.ask_each(panel, panel.series, graded)
            else:
                prediction = self.ask(panel.container, len(panel), graded)
        except Exception as error:
            if reason := self._lacks(panel) or self._fitted_to_each(error):
                raise InvalidInputError(reason) from error
            raise
        answers = prediction.outcomes if prediction.probabilities is None else prediction.probabilities
        if answers.dtype.kind == "f" and not np.isfinite(answers.reshape(len(panel), -1)).all(axis=1).any():
            raise InvalidInputError(
                f"{type(self.estimator).__name__} answers NaN or infinity to the series of X themselves, so that there "
                f"is no prediction to explain: see its {self.method}(X). A network does so where its training diverged "
                "or its input is far from what it was trained on: scale the series in a pipeline, or train it with a "
                "smaller learning rate."
            )
        return prediction

    def _lacks(self, panel: Panel) -> str:
        """What in these series the estimator cannot take according to its tags, and the remedy; empty if nothing."""
        if not self.is_sktime:
            return ""
        wanted = {
            "multivariate": ("several channels", len(panel.names) > 1, "ColumnConcatenator()"),
            "missing_values": ("missing values", panel.has_missing, "FitInTransform(Imputer())"),
            "unequal_length": ("series of unequal length", np.ptp(panel.lengths) > 0, "PaddingTransformer()"),
        }
        for tag, (what, present, remedy) in wanted.items():
            if present and not self.estimator.get_tag(f"capability:{tag}", False, raise_error=False):
                name = type(self.estimator).__name__
                return (
                    f"X has {what}, and {name} cannot take them (its tag capability:{tag} is False): "
                    f"fit a pipeline, for instance {remedy} * {name}(...)."
                )
        return ""

    def _fitted_to_each(self, error: Exception) -> str:
        """That the estimator may fail since its transformers are fitted to each series, and the remedy, or nothing."""
        if not self.is_sktime or PER_INSTANCE.search(str(error)):  # the latter is said by `remedies`
            return ""
        parts = self.estimator.get_params()
        mended = tuple(f"{name}__" for name, part in parts.items() if isinstance(part, FitInTransform))
        for name, part in parts.items():
            if not isinstance(part, BaseTransformer) or isinstance(part, FitInTransform) or name.startswith(mended):
                continue
            if part.get_tag("scitype:instancewise") and not part.get_tag("fit_is_empty"):
                return f"the estimator fails on X ({type(error).__name__}: {error}). {_remedy(type(part).__name__)}"
        return ""


def _remedy(transformer: str, n: str = "the") -> str:
    return (
        f"{transformer}, a transformer of the pipeline, is fitted to each series by itself, so that the pipeline "
        f"predicts only {n} series that it was fitted to, and no others in their place: fit the pipeline with "
        f"FitInTransform({transformer}(...)) in place of {transformer}(...), which fits where it transforms."
    )


@contextmanager
def remedies() -> Iterator[None]:
    """Failures of an estimator for which sktime has a remedy, with the remedy."""
    try:
        yield
    except PredictorError as error:
        if "NaN" in str(error):
            raise PredictorError(
                f"{error} Values far from those that it was fitted to often do that: give the channels bounds, "
                "features={'channel': {'bounds': (low, high)}}, or let them go less far, SearchSettings(reach=1)."
            ) from error
        if not (named := PER_INSTANCE.search(str(error))):
            raise
        seen = re.search(r"instances seen in fit: (\d+)", str(error))
        raise InvalidInputError(_remedy(named[1], "the" if seen is None else f"the {seen[1]}")) from error
