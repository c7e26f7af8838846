"""A model behind DiCE's wrapper: how it is asked, and what is wanted of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from dice_ml.constants import ModelTypes
from numpy.typing import NDArray

from ntdcfe import SearchSettings, Target
from ntdcfe.model.predictor import Predictor
from ntdcfe.problem.prediction import Prediction


class Model:
    """What a model says of the rows of a table, in its own labels or values.

    Parameters
    ----------
    predict : callable
        From rows to probabilities ``(n, C)`` of a classifier, values ``(n,)`` of a regressor.
    wrapper : dice_ml.Model
        Knows which of the two it is, and the labels.
    limits : SearchSettings
        Most rows in one call, how often and how long one is tried, and until when.

    Attributes
    ----------
    n_calls, n_failures : int
        Calls so far, and those among them that failed.
    """

    def __init__(self, predict: Callable[[pd.DataFrame], NDArray[Any]], wrapper: Any, limits: SearchSettings) -> None:
        self.predict = predict
        self.regression = wrapper.model_type == ModelTypes.Regressor
        self.limits = limits
        self._began = time.monotonic()
        self.n_calls = self.n_failures = 0
        self._labels = np.asarray(getattr(wrapper.model, "classes_", None))

    def __call__(self, frame: pd.DataFrame) -> Prediction:
        """What it says of rows."""
        limits = self.limits
        predictor = Predictor(
            lambda at: self.predict(frame.iloc[at[:, 0]]),
            "values" if self.regression else "probabilities",
            max_batch_size=limits.max_batch_size,
            retries=limits.retries,
            retry_wait=limits.retry_wait,
            call_seconds=limits.call_seconds,
        )
        if limits.max_seconds is not None:
            predictor.deadline = self._began + limits.max_seconds
        said = predictor(np.arange(len(frame))[:, None])
        self.n_calls += predictor.n_calls
        self.n_failures += predictor.n_failures
        if said.probabilities is None:
            return said
        labels = self.labels(said.probabilities.shape[1])
        return Prediction(labels[said.probabilities.argmax(1)], said.probabilities, labels)

    @property
    def seconds(self) -> float:
        """Since this began; never quite none, even on a coarse clock."""
        return max(time.monotonic() - self._began, 1e-9)

    def labels(self, n_classes: int) -> NDArray[Any]:
        """The labels in the order of the probabilities; indices if the model does not tell."""
        return self._labels if self._labels.shape == (n_classes,) else np.arange(n_classes)


def targets(present: Prediction, wanted: int | None, stopping_threshold: float) -> tuple[list[Target], list[str | int]]:
    """What is wanted of each query, the class of that index or any but the present one, and its name in the results."""
    assert present.probabilities is not None
    assert present.classes is not None
    labels, now = present.classes, present.probabilities.argmax(1)
    columns = [np.delete(np.arange(len(labels)), i) if wanted is None else np.array([wanted]) for i in now]
    names = [_name(labels[c[0]]) if len(c) == 1 else f"not {labels[i]}" for c, i in zip(columns, now, strict=True)]
    if stopping_threshold > 0.5:
        return [_Likely(tuple(labels[c].tolist()), tuple(c.tolist()), stopping_threshold) for c in columns], names
    return [Target.labels(labels[c].tolist()) for c in columns], names


@dataclass(frozen=True)
class _Likely(Target):
    """Any of several classes, with at least a probability above one half (so that it is the likeliest)."""

    labels_: tuple[Any, ...]
    columns: tuple[int, ...]
    at_least: float

    def _best(self, prediction: Prediction) -> NDArray[np.float64]:
        assert prediction.probabilities is not None
        return np.asarray(prediction.probabilities[:, list(self.columns)].max(1))

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return self._best(prediction) >= self.at_least

    def score(self, prediction: Prediction) -> NDArray[np.float64]:
        return 0.5 + (self._best(prediction) - self.at_least) / 2

    def __str__(self) -> str:
        return f"{' or '.join(map(str, self.labels_))} with a probability of at least {self.at_least:g}"


def _name(label: Any) -> str | int:
    """A label as DiCE's JSON takes it."""
    return int(label) if isinstance(label, (int, np.integer)) and not isinstance(label, bool) else str(label)
