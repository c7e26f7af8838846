"""The model behind the page: asked by one at a time, and what it says in words."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntdcfe import NTDCFE, Features, InvalidInputError, NTDCFEError
from ntdcfe.model.predictor import Predictor
from ntdcfe.problem.prediction import outcome_of
from ntdcfe.problem.words import outcome_in_words

# The model is asked for the labels of no more series than this when the page starts.
MOST_ASKED = 500


class Said(NamedTuple):
    """What the model says of one series: its outcome, and the same in words with the probability if there is one."""

    outcome: Any
    text: str


class Subject:
    """A model and the series that are explained.

    Parameters
    ----------
    explainer : NTDCFE or callable
        Or the model's ``predict`` alone.
    X : array (N, K, D), or (N, D) for rows of a table
    names : sequence of str, optional
        Of the series; "series 0", ... or "row 0", ... if not given.

    Attributes
    ----------
    classes : list
        Labels that may be wanted; empty for a model of values.
    regression : bool
        Whether the model says values, not labels.
    failure : str
        What the model said when it failed to label the series; empty if it did not.
    """

    def __init__(
        self, explainer: NTDCFE | Callable[[NDArray[Any]], Any], X: ArrayLike, names: Sequence[str] | None = None
    ) -> None:
        self.X = np.array(X, dtype=float)
        if self.X.ndim not in (2, 3) or not len(self.X):
            raise InvalidInputError(f"X must be (N, K, D), or (N, D) for rows, with N > 0; got shape {self.X.shape}.")
        self.static = self.X.ndim == 2
        given = explainer if isinstance(explainer, NTDCFE) else NTDCFE(explainer)
        self.explainer = copy.copy(given)
        self.explainer.predict = one_at_a_time(given.predict)
        self.features = given.features or Features.continuous(self.X.shape[-1])
        if self.features.n_columns != self.X.shape[-1]:
            raise InvalidInputError(
                f"the features describe {self.features.n_columns} columns, X has {self.X.shape[-1]}."
            )
        given_names = [f"{self.noun} {i}" for i in range(len(self.X))] if names is None else names
        self.names = [str(name) for name in given_names]
        if len(self.names) != len(self.X):
            raise InvalidInputError(f"names must have one entry a series: {len(self.X)} series, got {len(self.names)}.")
        self.failure = ""
        self._labels()

    @property
    def noun(self) -> str:
        """What a person calls one of them."""
        return "row" if self.static else "series"

    @property
    def n_steps(self) -> int:
        """Steps of a series, 1 of a row."""
        return 1 if self.static else self.X.shape[1]

    def state(self, x: NDArray[Any]) -> NDArray[Any]:
        """A series with one value a feature ``(K, F)``."""
        return self.features.encode(np.atleast_2d(x))

    def series(self, state: NDArray[Any]) -> NDArray[Any]:
        """The way back: the series ``(K, D)``, or the row ``(D,)``."""
        columns = self.features.decode(state)
        return columns[0] if self.static else columns

    def say(self, x: NDArray[Any]) -> Said:
        """What the model says of one series; raises PredictorError if it fails."""
        prediction = self._predictor()(x[None])
        outcome = outcome_of(prediction)
        text = outcome_in_words(outcome)
        if prediction.probabilities is not None:
            text += f" (probability {prediction.probabilities[0].max():.2f})"
        return Said(outcome, text)

    def _predictor(self) -> Predictor:
        explainer = self.explainer
        return Predictor(explainer.predict, explainer.output, explainer.classes, regression=self.regression)

    def _labels(self) -> None:
        """Which labels the model knows: those that are announced, then those that it gives to the series."""
        self.regression = self.explainer.output == "values"
        self.classes: list[Any] = [] if self.explainer.classes is None else _plain(self.explainer.classes)
        try:
            prediction = self._predictor()(self.X[:MOST_ASKED])
        except NTDCFEError as failure:
            self.failure = str(failure)
            return
        if prediction.classes is not None and not self.classes:
            self.classes = _plain(prediction.classes)
        seen = prediction.outcomes
        automatic = self.explainer.output == "auto" and prediction.probabilities is None and not self.classes
        self.regression |= automatic and seen.dtype.kind == "f"
        if self.regression:
            self.classes = []
        else:
            self.classes += [label for label in _plain(np.unique(seen)) if label not in self.classes]


def one_at_a_time(predict: Callable[[NDArray[Any]], Any]) -> Callable[[NDArray[Any]], Any]:
    """The same model for several tabs: their calls wait for each other, since few models allow two at once."""
    lock = threading.Lock()

    def asked(rows: NDArray[Any]) -> Any:
        with lock:
            return predict(rows)

    return asked


def _plain(labels: Any) -> list[Any]:
    return [label.item() if isinstance(label, np.generic) else label for label in labels]
