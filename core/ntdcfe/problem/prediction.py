"""What the model said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def outcome_of(prediction: Prediction | None) -> Any:
    """The first outcome as plain Python; None of no prediction."""
    if prediction is None or not len(prediction):
        return None
    value = prediction.outcomes[0]
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Prediction:
    """What the model said of n rows: labels or values, and probabilities where it gives them.

    Parameters
    ----------
    outcomes : array (n,)
        Labels of a classifier, values of a regressor.
    probabilities : array (n, C), optional
    classes : array (C,), optional
        The labels of the columns of `probabilities`.
    unscored : array (n,), optional
        The rows for which the model gave NaN, infinity or nothing: what the others say of them means nothing. None
        if there are none.
    """

    outcomes: NDArray[Any]
    probabilities: NDArray[np.float64] | None = None
    classes: NDArray[Any] | None = None
    unscored: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.outcomes)

    def __getitem__(self, rows: slice) -> Prediction:
        return Prediction(
            self.outcomes[rows],
            None if self.probabilities is None else self.probabilities[rows],
            self.classes,
            None if self.unscored is None else self.unscored[rows],
        )

    @property
    def n_unscored(self) -> int:
        """How many rows the model could not score."""
        return 0 if self.unscored is None else int(self.unscored.sum())

    def copy(self) -> Prediction:
        """The same, to be written into."""
        rest = (self.probabilities, self.classes, self.unscored)
        return Prediction(self.outcomes.copy(), *(None if part is None else part.copy() for part in rest))  # type: ignore[arg-type]

    @staticmethod
    def concatenate(parts: Sequence[Prediction]) -> Prediction:
        """The predictions of several batches as those of one."""
        first = parts[0]
        return Prediction(
            np.concatenate([p.outcomes for p in parts]),
            None if first.probabilities is None else np.concatenate([p.probabilities for p in parts]),  # type: ignore[misc]
            first.classes,
            None
            if all(p.unscored is None for p in parts)
            else np.concatenate([np.zeros(len(p), bool) if p.unscored is None else p.unscored for p in parts]),
        )
