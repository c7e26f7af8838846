"""A model behind DiCE's wrapper: how it is asked, and in which labels it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from dice_ml.constants import ModelTypes
from numpy.typing import NDArray

from ntdcfe import SearchSettings
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.asked import AskedModel
from ntdcfe_plugins._shared.probabilities import softmax_of_logits, two_columns


class Model(AskedModel):
    """A model that is asked about rows of a table, and answers in its own labels or values.

    Parameters
    ----------
    predict : callable
        From rows to probabilities ``(n, C)`` of a classifier, values ``(n,)`` of a regressor.
    wrapper : dice_ml.Model
        Tells whether it is a regressor, and the labels.
    n_queries : int
        N, see :class:`ntdcfe_plugins._shared.asked.AskedModel`.
    limits : SearchSettings
        Of the whole call, which begins now.
    """

    def __init__(
        self,
        predict: Callable[[pd.DataFrame], NDArray[Any]],
        wrapper: Any,
        n_queries: int,
        limits: SearchSettings,
    ) -> None:
        self.regression = wrapper.model_type == ModelTypes.Regressor
        super().__init__(n_queries, limits, "values" if self.regression else "probabilities")
        self.predict = predict
        self._labels = np.asarray(getattr(wrapper.model, "classes_", None))

    def ask_rows(self, frame: pd.DataFrame, sizes: Sequence[int] | None = None) -> Prediction:
        """The predictions of rows; for `sizes` see :meth:`ask`."""
        positions = np.arange(len(frame))[:, None]
        prediction = self.ask(lambda at: self.predict(frame.iloc[at[:, 0]]), positions, sizes)
        if prediction.probabilities is None:
            return prediction
        labels = self._labels_of(prediction.probabilities.shape[1])
        outcomes = labels[prediction.probabilities.argmax(1)]
        return Prediction(outcomes, prediction.probabilities, labels, prediction.unscored)

    @property
    def labels(self) -> NDArray[Any] | None:
        """The labels in the order of the probabilities, as the model tells them; None if it does not."""
        return self._labels if self._labels.ndim == 1 else None

    def _labels_of(self, n_classes: int) -> NDArray[Any]:
        """The labels in the order of the probabilities; indices if the model does not tell its labels."""
        return self._labels if self._labels.shape == (n_classes,) else np.arange(n_classes)


def understood(scores: NDArray[Any], regression: bool) -> NDArray[Any]:
    """Probabilities ``(n, C)`` of a classifier or values ``(n,)`` of a regressor, from the outputs of a wrapped model.

    Scores of another form are returned as they are: the engine names what is wrong with them.
    """
    single = scores.ndim == 1 or (scores.ndim == 2 and scores.shape[1] == 1)
    if regression:
        return scores.reshape(len(scores)) if single else scores
    if not single:
        return softmax_of_logits(scores)  # a network without a last softmax gives logits
    if scores.dtype.kind in "fiub" and scores.size and (scores.min() < 0 or scores.max() > 1):
        raise ValueError(
            f"one output a row must be the probability of class 1, got {scores.min():.4g} to {scores.max():.4g}: "
            "append a sigmoid to the network, or say model_type='regressor'"
        )
    return two_columns(scores)
