"""The predictor of an alibi explainer as the engine takes it, failing with alibi's exceptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from alibi.exceptions import AlibiException, PredictorCallError, PredictorReturnTypeError
from numpy.typing import NDArray

from ntdcfe.errors import PredictorError
from ntdcfe_plugins._shared.numpy_errors import as_caller
from ntdcfe_plugins._shared.probabilities import TOLERANCE, softmax, two_columns

Output = Literal["auto", "labels", "probabilities", "probability", "logits", "values"]


class Model:
    """The predictor as the engine takes it.

    Parameters
    ----------
    predictor : callable
        From an array ``(n, ...)`` to labels, probabilities, logits or values.
    output : {"auto", "labels", "probabilities", "probability", "logits", "values"}
        The form of the predictor's answers.

    Attributes
    ----------
    output : str
        The form of the predictor's answers. In place of "auto" there is the form of the first answer, once there is
        one.
    guessed : str
        What an "auto" took the first answer for, in words; empty where that is plain.
    form : str
        The form of this model's answers, for the engine.
    """

    def __init__(self, predictor: Callable[[NDArray[Any]], Any], output: Output) -> None:
        self.predictor = predictor
        self.output: Output = output
        self.guessed = ""
        self.form: Any = "probabilities" if output == "logits" else output

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The predictor's answer to rows ``(n, ...)``, with logits as probabilities."""
        answer = self._answer(rows)
        if self.output == "auto":
            self.output, self.guessed = kind(answer)
        if self.output == "logits":
            return softmax(answer)
        if self.form != "auto":
            return answer
        if self.output == "probability":
            return two_columns(answer)
        if self.output == "probabilities":
            return clipped(answer)
        return answer[:, 0] if answer.shape == (len(answer), 1) else answer

    def _answer(self, rows: NDArray[Any]) -> NDArray[Any]:
        try:
            with as_caller():
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
        if isinstance(error.__cause__, AlibiException):  # raised by the model above, and wrapped by the engine
            raise error.__cause__ from error.__cause__.__cause__
        raise PredictorReturnTypeError(str(error)) from error


def kind(answer: NDArray[Any]) -> tuple[Output, str]:
    """The form of the answers of a predictor that answered like this, ``(n,)`` or ``(n, C)``, and what to say of it.

    Probabilities add up to 1, with some room for single precision.
    """
    if answer.ndim == 2 and answer.shape[1] > 1:
        if answer.dtype.kind not in "fiub" or not np.isfinite(answer).all():
            return "probabilities", ""
        outside = max(-answer.min(), answer.max() - 1, np.abs(answer.sum(1) - 1).max())
        if outside <= TOLERANCE:
            return "probabilities", ""
        return "logits", f"logits, as the columns {answer[0].tolist()} do not add up to 1"
    if answer.dtype.kind != "f" or not np.isfinite(answer).all() or not answer.size:
        return "labels", ""
    first = f"{answer.ravel()[0]:.4g}"
    if answer.min() >= 0 and answer.max() <= 1:
        return "probability", f"the probability of class 1, as {first} is from 0 to 1"
    if (answer == np.round(answer)).all():
        return "labels", f"labels, as {first} is whole"
    raise PredictorReturnTypeError(
        f"the predictor returned single numbers outside 0 to 1, as {answer.ravel()[0]:.4g}: give target_interval "
        "if it is a regression, or output='labels'."
    )


def clipped(answer: NDArray[Any]) -> NDArray[Any]:
    """Numbers that are outside 0 to 1 by rounding alone put into it; others stay as they are."""
    if answer.dtype.kind != "f":
        return answer
    inside = np.clip(answer, 0, 1)
    return np.where(np.abs(inside - answer) <= TOLERANCE, inside, answer)
