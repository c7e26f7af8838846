"""What a model said while nothing was found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Labels that are named at most (rule of thumb: what a person reads in a sentence).
MOST_LABELS = 6
# How it begins in words where a regressor said different values, and how it ends where the model said one thing alone.
RANGE, THE_SAME = "values from", "of every row"


class Said:
    """What a model said of rows that did not reach the target: its labels, or its lowest and its highest value.

    Parameters
    ----------
    values : bool
        Whether it says values.
    """

    def __init__(self, values: bool = False) -> None:
        self.values = values
        self._labels: dict[str, None] = {}
        self._lowest, self._highest = np.inf, -np.inf

    def note(self, outcomes: NDArray[Any]) -> None:
        """Take in outcomes ``(n,)``, those of rows without a score left out."""
        if not len(outcomes):
            return
        if self.values and outcomes.dtype.kind in "fiub":  # an interval may be wanted of a model that says labels
            self._lowest, self._highest = min(self._lowest, outcomes.min()), max(self._highest, outcomes.max())
        elif len(self._labels) <= MOST_LABELS:
            self._labels |= dict.fromkeys(map(str, np.unique(outcomes).tolist()))

    def __str__(self) -> str:
        if self.values and self._lowest < self._highest:
            return f"{RANGE} {self._lowest:.4g} to {self._highest:.4g}"
        names = [f"{self._lowest:.4g}"] if self.values and self._lowest == self._highest else [*self._labels]
        if len(names) == 1:
            return f"{names[0]} {THE_SAME}"
        if len(names) > MOST_LABELS:
            names = [*names[:MOST_LABELS], "others"]
        return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
