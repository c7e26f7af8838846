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
    """

    outcomes: NDArray[Any]
    probabilities: NDArray[np.float64] | None = None
    classes: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.outcomes)

    def __getitem__(self, rows: slice) -> Prediction:
        return Prediction(
            self.outcomes[rows], None if self.probabilities is None else self.probabilities[rows], self.classes
        )

    def copy(self) -> Prediction:
        """The same, to be written into."""
        probabilities = None if self.probabilities is None else self.probabilities.copy()
        return Prediction(self.outcomes.copy(), probabilities, None if self.classes is None else self.classes.copy())

    @staticmethod
    def concatenate(parts: Sequence[Prediction]) -> Prediction:
        """The predictions of several batches as those of one."""
        first = parts[0]
        return Prediction(
            np.concatenate([p.outcomes for p in parts]),
            None if first.probabilities is None else np.concatenate([p.probabilities for p in parts]),  # type: ignore[misc]
            first.classes,
        )
