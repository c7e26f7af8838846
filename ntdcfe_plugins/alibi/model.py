"""The predictor of an alibi explainer as the engine takes it, failing with alibi's exceptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from alibi.exceptions import AlibiException, PredictorCallError, PredictorReturnTypeError
from numpy.typing import NDArray

from ntdcfe.errors import PredictorError
from ntdcfe.model.predictor import Predictor
from ntdcfe.problem.prediction import Prediction

Output = Literal["auto", "labels", "probabilities", "probability", "logits", "values"]


@dataclass(frozen=True)
class Model:
    """The predictor as the engine takes it, failing with alibi's exceptions."""

    predictor: Callable[[NDArray[Any]], Any]
    output: Output
    classes: NDArray[Any] | None = None
    max_batch_size: int | None = None

    @property
    def form(self) -> Any:
        """What the engine is told that this returns."""
        return "probabilities" if self.output == "logits" else self.output

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """What the predictor says of rows ``(n, ...)``."""
        answer = self.ask(rows)
        return softmax(answer) if self.output == "logits" else answer

    def ask(self, rows: NDArray[Any]) -> NDArray[Any]:
        """What the predictor returns for rows ``(n, ...)``, in calls of at most `max_batch_size` rows."""
        size = self.max_batch_size or len(rows)
        return np.concatenate([self._ask(rows[i : i + size].copy()) for i in range(0, len(rows), size)])

    def understand(self, answer: NDArray[Any], rows: NDArray[Any]) -> Prediction:
        """What the predictor returned for rows, as labels and probabilities."""
        answer = softmax(answer) if self.output == "logits" else answer
        return Predictor(lambda _: answer, self.form, self.classes)(rows)

    def _ask(self, rows: NDArray[Any]) -> NDArray[Any]:
        try:
            answer = self.predictor(rows)
        except Exception as cause:
            raise PredictorCallError(
                f"the predictor failed on an array of shape {rows.shape} and {rows.dtype}: {cause}"
            ) from cause
        try:
            return np.atleast_1d(np.asarray(answer))
        except Exception as cause:
            raise PredictorReturnTypeError(
                f"the predictor must return an array, got {type(answer).__name__}: {cause}"
            ) from cause


@contextmanager
def errors_of_alibi() -> Iterator[None]:
    """The engine's errors about the predictor as alibi's."""
    try:
        yield
    except PredictorError as error:
        if isinstance(error.__cause__, AlibiException):  # ours, that the engine wrapped
            raise error.__cause__ from error.__cause__.__cause__
        raise PredictorReturnTypeError(str(error)) from error


def kind(answer: NDArray[Any]) -> Output:
    """What a predictor returns that answered like this ``(n,)`` or ``(n, C)``."""
    if answer.ndim == 2 and answer.shape[1] > 1:
        numbers = answer.dtype.kind in "fiub"
        return "logits" if numbers and (answer.min() < 0 or answer.max() > 1) else "probabilities"
    if answer.dtype.kind != "f" or not np.isfinite(answer).all():
        return "labels"
    if answer.min() >= 0 and answer.max() <= 1:
        return "probability"
    if (answer == np.round(answer)).all():
        return "labels"
    raise PredictorReturnTypeError(
        f"the predictor returned single numbers outside 0 to 1, as {answer.ravel()[0]:.4g}: give target_interval "
        "if it is a regression, or output='labels'."
    )


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Probabilities ``(n, C)`` from logits ``(n, C)``."""
    if logits.ndim != 2 or logits.dtype.kind not in "fiub" or not np.isfinite(logits).all():
        return logits  # the engine says what is wrong with them
    powers = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=float)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
