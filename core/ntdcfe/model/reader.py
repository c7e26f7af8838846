"""What a model's answer says: of which kind it is, whether it fits the rows that were asked, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError, PredictorError
from ntdcfe.problem.prediction import Prediction

Output = Literal["auto", "labels", "probabilities", "probability", "values"]


class Reader:
    """Reads the answers of one model, and holds it to its word.

    Parameters
    ----------
    output : {"auto", "labels", "probabilities", "probability", "values"}
    classes : sequence, optional
        The labels of the probability columns; 0, 1, ... if not given.
    """

    def __init__(self, output: Output, classes: Sequence[Any] | NDArray[Any] | None = None) -> None:
        self.output: Output = output
        self.classes = None if classes is None else np.array(classes)
        if self.classes is not None and self.classes.ndim != 1:
            raise InvalidInputError(f"classes must be a list of labels, got {classes!r}.")
        self._kind: str | None = None
        self._has_region = False

    def understand(self, answer: NDArray[Any], asked: tuple[int, ...]) -> Prediction:
        """What an answer to rows of that shape says; raises PredictorError if it is no prediction of them."""
        n = asked[0]
        expected = {
            "labels": "(n,)", "values": "(n,)", "probability": "(n,) or (n, 1)", "probabilities": "(n, C) with C >= 2",
            "auto": "(n,) labels or (n, C) probabilities",
        }[self.output]  # fmt: skip

        def wrong(why: str) -> PredictorError:
            return PredictorError(
                f"the model {why}: for an input of shape {asked} it returned shape {answer.shape} of "
                f"{answer.dtype}, expected {expected} with n = {n} (output={self.output!r})."
            )

        if answer.ndim not in (1, 2) or len(answer) != n:
            raise wrong("returned the wrong shape")
        unscored = _unscored(answer)
        if unscored.any():
            # Rows of a region that the model cannot score are not reached. A call without any other row is a fault,
            # unless the model is known to have such a region.
            if unscored.all() and not self._has_region:
                raise wrong("returned NaN, infinity or None")
            self._has_region = True
            answer = _filled(answer, unscored)
        answer = _typed(answer)

        output: Output = self.output
        if output == "auto":
            if answer.ndim == 2 and answer.shape[1] >= 2:
                output = "probabilities"
            elif answer.ndim == 2 and answer.dtype.kind == "f":
                raise wrong('returned one column (say output="probability" if it is the probability of class 1)')
            else:
                output = "labels"
        text = output == "labels" and answer.dtype.kind in "US"
        kind: str = "labels in text" if text else output
        if unscored.all() and self._kind is not None:
            kind = self._kind  # what stands in for an answer is of no kind
        if self._kind not in (None, kind):
            raise wrong(f"returned {kind} after {self._kind}")
        prediction = self._read(answer, output, wrong)
        self._kind = kind
        return replace(prediction, unscored=unscored) if unscored.any() else prediction

    def _read(self, answer: NDArray[Any], output: Output, wrong: Callable[[str], PredictorError]) -> Prediction:
        if output == "probabilities":
            return self._classify(answer, wrong)
        if answer.ndim == 2 and answer.shape[1] != 1:
            raise wrong("returned several columns")
        answer = answer.reshape(len(answer))
        if output == "labels":
            return Prediction(answer)
        if answer.dtype.kind not in "fiub":
            raise wrong("returned something that is not a number")
        answer = answer.astype(float)
        if output == "values":
            return Prediction(answer)
        return self._classify(np.column_stack([1 - answer, answer]), wrong)

    def _classify(self, answer: NDArray[Any], wrong: Callable[[str], PredictorError]) -> Prediction:
        if answer.ndim != 2 or answer.shape[1] < 2:
            raise wrong("returned no probability columns")
        if answer.dtype.kind not in "fiub" or answer.min() < 0 or answer.max() > 1:
            raise wrong("returned numbers outside 0 to 1 as probabilities")
        if self.classes is None:
            self.classes = np.arange(answer.shape[1])
        if len(self.classes) != answer.shape[1]:
            raise wrong(f"returned another number of classes than {len(self.classes)}")
        probabilities = answer.astype(float)
        return Prediction(self.classes[probabilities.argmax(1)], probabilities, self.classes)


def _unscored(answer: NDArray[Any]) -> NDArray[np.bool_]:
    """The rows of an answer ``(n,)`` or ``(n, C)`` with NaN, infinity or nothing in them ``(n,)``."""
    if answer.dtype.kind in "fc":
        wrong = ~np.isfinite(answer)
    elif answer.dtype.kind in "mM":
        wrong = np.isnat(answer)
    elif answer.dtype.kind == "O":
        wrong = np.array([_is_nothing(value) for value in answer.flat], bool).reshape(answer.shape)
    else:
        return np.zeros(len(answer), bool)
    return wrong if wrong.ndim == 1 else wrong.any(1)


def _is_nothing(value: Any) -> bool:
    """Whether an entry of an array of objects is None, NaN, infinity or pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value) or (isinstance(value, float) and math.isinf(value))
    except (TypeError, ValueError):  # NA is neither equal to itself nor not
        return True


def _filled(answer: NDArray[Any], unscored: NDArray[np.bool_]) -> NDArray[Any]:
    """The answer with something of the right kind in the rows that are not scored: another row, or zeros."""
    answer = answer.copy()
    answer[unscored] = 0 if unscored.all() else answer[~unscored][0]
    return answer


def _typed(answer: NDArray[Any]) -> NDArray[Any]:
    """An array of objects that are all numbers, or all text, as one of these: pandas gives objects for either."""
    if answer.dtype.kind != "O":
        return answer
    kinds = {type(value) for value in answer.flat}
    numbers = all(issubclass(kind, (bool, int, float, np.number, np.bool_)) for kind in kinds)
    return np.array(answer.tolist()) if numbers or kinds <= {str, np.str_} else answer
