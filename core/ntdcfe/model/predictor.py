"""The black box: asked in batches, counted, checked, and asked again where a call failed."""

from __future__ import annotations

import contextvars
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError, PredictorError, in_words
from ntdcfe.model.reader import Output as Output
from ntdcfe.model.reader import Reader
from ntdcfe.problem.prediction import Prediction

Predict = Callable[[NDArray[Any]], Any]

# Most values in one call where no batch size is set: 72 MB of float64, a batch of the search and what it asks again.
VALUES_IN_A_CALL = 9_000_000
# The longest wait before a retry.
MOST_SECONDS = 3600.0


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
        Seconds before the first retry, twice as many before each further one, up to an hour.
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
        self.reader = Reader("values" if output == "auto" and regression else output, classes)
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

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels of the probability columns, None as long as they are not known ``(C,)``."""
        return self.reader.classes

    @classes.setter
    def classes(self, classes: NDArray[Any]) -> None:
        self.reader.classes = classes

    def __call__(self, rows: NDArray[Any]) -> Prediction:
        """Predictions of ``rows (n, K, D)`` or ``(n, D)``."""
        return Prediction.concatenate([self.ask(some) for some in self.split(rows)])

    def split(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows in parts for one call each, of at most `max_batch_size`."""
        size = self.max_batch_size or max(1, VALUES_IN_A_CALL // max(rows[0].size, 1))
        return [rows[i : i + size] for i in range(0, len(rows), size)]

    def ask(self, rows: NDArray[Any], most_retries: int | None = None) -> Prediction:
        """Ask in one call, and ask again after a while where that failed, at most so often if there is a limit.

        A model that failed through all its retries gets one try a call until it answers again: to wait as long for
        each of a thousand series would not bring it back.
        """
        retries = 0 if self._down else self.retries
        retries = retries if most_retries is None else min(retries, most_retries)
        for attempt in range(retries + 1):
            try:
                prediction = self._ask(rows)
            except PredictorError:
                self.n_failures += 1
                wait = min(MOST_SECONDS, self.retry_wait * 2.0 ** min(attempt, 60))
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
        except (Exception, SystemExit) as cause:
            raise PredictorError(
                f"the model raised {type(cause).__name__} on an input of shape {rows.shape}: {in_words(cause)}"
            ) from cause
        finally:
            self.seconds += time.perf_counter() - started
        return self.reader.understand(answer, rows.shape)

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
