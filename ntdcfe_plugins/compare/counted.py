"""The model that all explainers of a comparison ask: it counts rows and calls, and stops explainers in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import InvalidInputError
from ntdcfe.model.predictor import Output, Predictor
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.numpy_errors import as_caller

Array = NDArray[Any]


class TimeLimitError(BaseException):
    """Raised by the counted model after the time limit; no ``Exception``, so that no explainer catches it."""


class CountedModel:
    """The model that every explainer is given: it counts the rows and calls of their questions.

    Called as the model itself; also has ``predict`` (labels), ``predict_proba`` and ``classes_`` for explainers
    of scikit-learn classifiers, and :attr:`channels_first` for explainers whose series have features before
    time. Takes rows in the shape of the data, flat rows, and frames of flat rows.

    Parameters
    ----------
    predict : callable
        ``(n, K, D)`` or ``(n, D)`` to labels ``(n,)`` or probabilities ``(n, C)``, as for the engine.
    shape : tuple
        Shape of one instance, ``(K, D)`` or ``(D,)``.
    output : {"auto", "labels", "probabilities", "probability", "values"}
    classes : sequence, optional
        The labels; 0, 1, ... for probabilities if not given.
    """

    def __init__(
        self,
        predict: Callable[[Array], Any],
        shape: Sequence[int],
        output: Output = "auto",
        classes: Sequence[Any] | Array | None = None,
    ) -> None:
        self._predictor = Predictor(predict, output, classes)
        self.shape = tuple(int(n) for n in shape)
        self.n_rows = 0
        self.n_calls = 0
        self.deadline = float("inf")

    def __call__(self, rows: Any) -> Any:
        """The model's answer to rows ``(n, *shape)`` or ``(n, prod(shape))``."""
        rows = self._counted(rows)
        with as_caller():
            return self._predictor.predict(rows)

    def predict(self, rows: Any) -> Array:
        """Labels, or values of a regressor ``(n,)``."""
        return self.understood(self._counted(rows)).outcomes

    def predict_proba(self, rows: Any) -> Array:
        """Probabilities ``(n, C)``; 1 for the label where the model gives labels only."""
        return self.probabilities(self.understood(self._counted(rows)))

    def probabilities(self, prediction: Prediction) -> Array:
        """The probabilities ``(n, C)`` of a prediction; 1 for its labels where it has none."""
        if prediction.probabilities is not None:
            return prediction.probabilities
        return np.asarray(np.asarray(prediction.outcomes)[:, None] == self.classes_, dtype=float)

    def understood(self, rows: Array) -> Prediction:
        """The prediction of rows ``(n, *shape)``, not counted."""
        with as_caller():
            return self._predictor(rows)

    @property
    def classes_(self) -> Array:
        """The labels; of a model of probabilities they are known after its first answer."""
        if self._predictor.classes is None:
            raise InvalidInputError("the model returns labels only: say which there are (classes=[...]).")
        return self._predictor.classes

    @classes_.setter
    def classes_(self, classes: Array) -> None:
        self._predictor.classes = classes

    @property
    def knows_classes(self) -> bool:
        """Whether the labels are known."""
        return self._predictor.classes is not None

    @property
    def channels_first(self) -> ChannelsFirst:
        """The same model, counted the same, for series ``(n, D, K)``."""
        return ChannelsFirst(self)

    def around(self, predict: Callable[[Array], Any]) -> Callable[[Array], Any]:
        """Another form of the same model, whose questions are counted here."""

        def counted(rows: Array) -> Any:
            self._count(len(rows))
            return predict(rows)

        return counted

    def _counted(self, rows: Any) -> Array:
        rows = np.asarray(rows, dtype=float).reshape(-1, *self.shape)
        self._count(len(rows))
        return rows

    def _count(self, n: int) -> None:
        if time.perf_counter() > self.deadline:
            raise TimeLimitError
        self.n_rows += n
        self.n_calls += 1


@dataclass(frozen=True)
class ChannelsFirst:
    """A :class:`CountedModel` that is asked with series ``(n, D, K)``."""

    model: CountedModel

    def __call__(self, rows: Any) -> Any:
        """The model's answer to rows ``(n, D, K)``."""
        return self.model(self._swapped(rows))

    def predict(self, rows: Any) -> Array:
        """Labels ``(n,)``."""
        return self.model.predict(self._swapped(rows))

    def predict_proba(self, rows: Any) -> Array:
        """Probabilities ``(n, C)``."""
        return self.model.predict_proba(self._swapped(rows))

    @property
    def classes_(self) -> Array:
        """The labels."""
        return self.model.classes_

    @staticmethod
    def _swapped(rows: Any) -> Array:
        return np.swapaxes(np.asarray(rows, dtype=float), 1, 2)
