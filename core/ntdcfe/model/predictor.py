"""The black box: asked in batches, counted, checked, and asked again where a call failed."""

from __future__ import annotations

import contextvars
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError, PredictorError
from ntdcfe.problem.prediction import Prediction

Output = Literal["auto", "labels", "probabilities", "probability", "values"]
Predict = Callable[[NDArray[Any]], Any]

# Most values in one call where no batch size is set: 72 MB of float64, a batch of the search and what it asks again.
VALUES_IN_A_CALL = 9_000_000


def no_model(rows: NDArray[Any]) -> Any:
    """Stands for a model that the caller asks."""
    raise TypeError("there is no model to ask: give NTDCFE a predict, or use session()")


class Predictor:
    """The user's ``predict``, asked in batches and held to its word.

    Parameters
    ----------
    predict : callable
        Takes ``(n, K, D)``, or ``(n, D)`` for static data; returns labels ``(n,)``,
        probabilities ``(n, C)``, one probability ``(n,)`` or ``(n, 1)``, or values ``(n,)``.
    output : {"auto", "labels", "probabilities", "probability", "values"}
        Which of these it returns. "auto" takes two or more columns for probabilities and
        one dimension for labels, or for values where the target is an interval.
    classes : sequence, optional
        The labels of the probability columns; 0, 1, ... if not given. With
        ``output="labels"`` the labels that the model knows.
    max_batch_size : int, optional
        Most rows in one call; as many as fit `VALUES_IN_A_CALL` if not given.
    regression : bool
        Whether one-dimensional answers of an "auto" model are values.
    retries : int
        How often a call that failed is made again.
    retry_wait : float
        Seconds before the first retry, twice as many before each further one.
    call_seconds : float, optional
        A call that takes longer has failed. It is made in a thread of its own, which cannot be stopped:
        the model may still be at work on it while it is asked again.
    """

    def __init__(
        self,
        predict: Predict,
        output: Output = "auto",
        classes: Sequence[Any] | NDArray[Any] | None = None,
        max_batch_size: int | None = None,
        regression: bool = False,
        retries: int = 0,
        retry_wait: float = 0.5,
        call_seconds: float | None = None,
    ) -> None:
        if not callable(predict):
            raise InvalidInputError(f"predict must be a function of an array, got {type(predict).__name__}.")
        if output not in get_args(Output):
            raise InvalidInputError(f"output must be one of {get_args(Output)}, got {output!r}.")
        if max_batch_size is not None and max_batch_size < 1:
            raise InvalidInputError(f"max_batch_size must be at least 1, got {max_batch_size!r}.")
        self.predict = predict
        self.output: Output = "values" if output == "auto" and regression else output
        self.classes = None if classes is None else np.array(classes)
        if self.classes is not None and self.classes.ndim != 1:
            raise InvalidInputError(f"classes must be a list of labels, got {classes!r}.")
        self.max_batch_size = max_batch_size
        self.retries = retries
        self.retry_wait = retry_wait
        self.call_seconds = call_seconds
        self.deadline = math.inf
        """When, on the monotonic clock, no further try is begun."""
        self.n_rows = 0
        self.n_calls = 0
        self.n_failures = 0
        self.seconds = 0.0
        self._down = False
        self._kind: str | None = None
        self._has_region = False

    def __call__(self, rows: NDArray[Any]) -> Prediction:
        """Predictions of ``rows (n, K, D)`` or ``(n, D)``."""
        return Prediction.concatenate([self.ask(some) for some in self.split(rows)])

    def split(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows in parts for one call each, of at most `max_batch_size`."""
        size = self.max_batch_size or max(1, VALUES_IN_A_CALL // max(rows[0].size, 1))
        return [rows[i : i + size] for i in range(0, len(rows), size)]

    def ask(self, rows: NDArray[Any]) -> Prediction:
        """Ask in one call, and ask again after a while where that failed.

        A model that failed through all its retries gets one try a call until it answers again: to wait as long for
        each of a thousand series would not bring it back.
        """
        retries = 0 if self._down else self.retries
        for attempt in range(retries + 1):
            try:
                prediction = self._ask(rows)
            except PredictorError:
                self.n_failures += 1
                wait = self.retry_wait * 2**attempt
                if attempt == retries or time.monotonic() + wait >= self.deadline:
                    self._down = True
                    raise
                time.sleep(wait)
            else:
                self._down = False
                return prediction
        raise AssertionError("unreachable")

    def _ask(self, rows: NDArray[Any]) -> Prediction:
        started = time.perf_counter()
        self.n_calls += 1
        self.n_rows += len(rows)
        try:
            # Copies: a model that scales its input in place, or answers in one buffer, must not reach our states.
            answer = np.array(self._in_time(rows.copy()))
        except Exception as cause:
            raise PredictorError(
                f"the model raised {type(cause).__name__} on an input of shape {rows.shape}: {cause}"
            ) from cause
        finally:
            self.seconds += time.perf_counter() - started
        return self.understand(answer, rows.shape)

    def _in_time(self, rows: NDArray[Any]) -> Any:
        """What the model returns; TimeoutError if it takes longer than it may."""
        if self.call_seconds is None:
            return self.predict(rows)
        outcome: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def work() -> None:
            try:
                outcome.put((self.predict(rows), None))
            except BaseException as error:
                outcome.put((None, error))

        # A daemon: a model that never answers must not keep the process from ending.
        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
        try:
            answer, error = outcome.get(timeout=self.call_seconds)
        except queue.Empty:
            raise TimeoutError(f"no answer within call_seconds={self.call_seconds:g}") from None
        if error is not None:
            raise error
        return answer

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
