"""How the model, and other functions of the user's, are asked about the engine's rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.numpy_errors import as_caller
from ntdcfe_plugins.sktime.values import as_numpy3D

# Two ways of asking give the same prediction if they differ by no more (rounding of double precision, and some room).
SAME = 1e-6


@dataclass(frozen=True)
class Format:
    """A way to ask the model: with rows as "numpy3D", or in the "own" container of an instance; by which method."""

    rows: str
    method: str


@dataclass(frozen=True)
class Query:
    """The model as the engine asks it; it can be sent to another process.

    Parameters
    ----------
    ask : callable
        A method of the estimator.
    held : callable
        From rows ``(n, K, D)`` to rows that the types of the container can hold.
    shape : callable
        From such rows to a container.
    """

    ask: Callable[[Any], Any]
    held: Callable[[NDArray[Any]], NDArray[Any]]
    shape: Callable[[NDArray[Any]], Any]

    def __call__(self, rows: NDArray[Any]) -> Any:
        """The estimator's answer to rows ``(n, K, D)``."""
        container = self.shape(self.held(rows))
        with as_caller():
            return self.ask(container)


@dataclass(frozen=True)
class OfNumpy3D:
    """A function of the user's that takes numpy3D, an in-distribution test or a second model, for rows."""

    function: Callable[[NDArray[Any]], Any]

    def __call__(self, rows: NDArray[Any]) -> Any:
        """What it says of rows ``(n, K, D)``."""
        return self.function(as_numpy3D(rows))


def same(answer: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether two answers of a model agree, but for rounding."""
    if expected.dtype.kind == "f":
        return answer.shape == expected.shape and np.allclose(answer, expected, rtol=SAME, atol=SAME)
    return np.array_equal(answer, expected)


def apart(present: Prediction, targets: Sequence[Target]) -> list[int]:
    """The instances of which predict does not say the likeliest class, where labels tell of the target."""
    p, classes = present.probabilities, present.classes
    if p is None or classes is None:
        return []
    said = np.where(classes == present.outcomes[:, None], p, -np.inf).max(1)
    which = np.flatnonzero(said < p.max(1) - SAME).tolist()
    return [i for i in which if _of_labels(targets[i], present.outcomes[i : i + 1])]


def _of_labels(target: Target, labels: NDArray[Any]) -> bool:
    """Whether labels ``(1,)`` alone tell whether a target is reached."""
    try:
        target.given(Prediction(labels)).reached(Prediction(labels))
    except Exception:  # of any kind, since the target may be the user's own
        return False
    return True


def apart_in_words(n: int) -> str:
    """What is said where predict does not say the likeliest class of so many series; nothing of none."""
    if not n:
        return ""
    return (
        f"predict does not say the likeliest class by predict_proba of {n} of the series: for these, predict alone was "
        "asked, whose labels do not tell how near an answer is, so that more rows may be needed"
    )
