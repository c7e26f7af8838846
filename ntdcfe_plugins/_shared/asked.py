"""The model as an adapter asks it itself: a first look at the instances, and the outcomes of the answers."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import NTDCFE, Counterfactual, SearchSettings, Target
from ntdcfe.model.predictor import Output, Predictor
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.budget import for_the_search, with_costs


class AskedModel:
    """A model that an adapter asks beside the engine: within the same limits, and counted for each instance.

    Parameters
    ----------
    n_instances : int
        N: the instances that are explained.
    limits : SearchSettings
        Of the whole call, which begins now: the rows in one call to the model, its retries, and the seconds.
    output : {"auto", "labels", "probabilities", "probability", "values"}
        The form of the model's answers, see :class:`ntdcfe.NTDCFE`.
    classes : sequence, optional
        The labels of the probability columns; 0, 1, ... if not given.

    Attributes
    ----------
    rows, calls, failures : array (N,)
        For each instance the rows that the model answered, the calls that its rows took part in, and those among
        the calls that failed.
    asking : float
        Seconds that the model took.
    """

    def __init__(
        self,
        n_instances: int,
        limits: SearchSettings,
        output: Output = "auto",
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> None:
        self.limits = limits
        self.output: Output = output
        self.classes = classes
        self.rows, self.calls, self.failures = (np.zeros(n_instances, int) for _ in range(3))
        self.asking = 0.0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the call began; more than 0 even on a coarse clock."""
        return max(time.monotonic() - self._began, 1e-9)

    def ask(
        self, predict: Callable[[NDArray[Any]], Any], rows: NDArray[Any], sizes: Sequence[int] | None = None
    ) -> Prediction:
        """The model's predictions of rows, for all instances together.

        Parameters
        ----------
        predict : callable
            From rows to the model's answers.
        rows : array (n, ...)
            Those of the first instance, then those of the second, and so on.
        sizes : sequence of N int, optional
            How many rows belong to each instance; one each if not given.
        """
        counts = np.ones(len(self.rows), int) if sizes is None else np.asarray(sizes, int)
        limits = self.limits
        predictor = Predictor(
            predict,
            self.output,
            self.classes,
            limits.max_batch_size,
            retries=limits.retries,
            retry_wait=limits.retry_wait,
            call_seconds=limits.call_seconds,
        )
        if limits.max_seconds is not None:
            predictor.deadline = self._began + limits.max_seconds
        try:
            prediction = predictor(rows)
        finally:
            self.calls += (counts > 0) * predictor.n_calls
            self.failures += (counts > 0) * predictor.n_failures
            self.asking += predictor.seconds
        self.rows += counts
        return prediction

    def for_the_search(self, rows: int, share: float = 1.0) -> SearchSettings:
        """The limits of the engine's search, if `rows` of each instance are asked here; see :mod:`.budget`."""
        return for_the_search(self.limits, rows, self.seconds, share)

    def rows_left(self, rows: int) -> bool:
        """Whether a search may ask anything, if `rows` of each instance are asked here."""
        return self.limits.max_rows is None or self.limits.max_rows > rows

    def counted(self, i: int, cf: Counterfactual) -> Counterfactual:
        """The engine's counterfactual of instance `i`, with the costs of the questions that were asked here."""
        return with_costs(cf, self.rows[i], self.calls[i], self.failures[i], self.asking)


def from_first_look(
    engine: NTDCFE, X: NDArray[Any], targets: Sequence[Target], first: Prediction
) -> list[Counterfactual]:
    """The engine's counterfactuals of instances ``(N, ...)`` where no row is left to ask: the model is not asked.

    Parameters
    ----------
    engine : NTDCFE
    X : array (N, ...)
    targets : sequence of N Target
    first : Prediction
        The model's predictions of the instances.
    """
    known = first.outcomes if first.probabilities is None else first.probabilities
    engine, position = copy.copy(engine), 0

    def told(rows: NDArray[Any]) -> NDArray[Any]:
        nonlocal position
        position += len(rows)
        return known[position - len(rows) : position]

    engine.predict, engine.classes = told, first.classes
    graded = first.probabilities is not None
    engine.output = "probabilities" if graded else "values" if engine.output == "values" else "labels"
    engine.settings = replace(engine.settings, n_counterfactuals=1)
    found = engine.explain_batch(X, list(targets), max_rows=1)
    return [replace(cf, rows=0, calls=0) for cf in found]


def reached(target: Target, prediction: Prediction) -> NDArray[np.bool_]:
    """Which of n predictions are as wanted ``(n,)``; rows that the model could not score are not."""
    wanted = target.reached(prediction)
    return wanted if prediction.unscored is None else wanted & ~prediction.unscored


def parted(prediction: Prediction, sizes: Sequence[int] | NDArray[np.int64]) -> list[Prediction]:
    """The predictions of all instances as those of each, from the number of rows of each."""
    ends = np.cumsum(sizes)
    return [prediction[end - size : end] for size, end in zip(sizes, ends, strict=True)]
