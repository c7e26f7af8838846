"""What is left of the limits of a call, for the questions that the adapter asks beside the engine."""

from __future__ import annotations

import numpy as np

from ntdcfe.model.budget import NO_LIMIT
from ntdcfe_plugins.dice.model import Model


class Left:
    """Rows that may still be asked of each query.

    Parameters
    ----------
    model : Model
        With the limits of the call, and what was asked.
    total : int
        How many counterfactuals are wanted of each query.

    Attributes
    ----------
    engines_rows : array (N,)
        What the engine asked of each query.
    more_rows : array (N,)
        What each query may ask beyond the limits: nothing was found of it within them.
    """

    def __init__(self, model: Model, total: int) -> None:
        self.model = model
        self.total = total
        self.engines_rows = np.zeros(len(model.rows), int)
        self.more_rows = np.zeros(len(model.rows), int)

    @property
    def reserved(self) -> int:
        """Rows of each query that are kept for those that are handed out: each is asked about once more."""
        most = self.model.limits.max_rows
        return self.total if most is None else min(self.total, (most - 1) // 2)

    def rows(self, i: int) -> int:
        """Rows of query `i` that may still be asked."""
        most = self.model.limits.max_rows
        spent = int(self.engines_rows[i] + self.model.rows[i])
        return NO_LIMIT if most is None else max(0, most + int(self.more_rows[i]) - spent)

    def to_try(self, i: int) -> int:
        """Rows of query `i` for which there are rows and time, without those that are kept."""
        return max(0, min(self.rows(i), self.in_time()) - self.reserved)

    def for_noise(self, i: int) -> int:
        """Rows of query `i` for which there are rows and time, when those that are handed out were asked about."""
        return max(0, min(self.rows(i), self.in_time()))

    def in_time(self) -> int:
        """Rows of each query for which there is time, if they take as long as those so far."""
        limit, spent = self.model.limits.max_seconds, self.model.seconds
        if limit is None:
            return NO_LIMIT
        return max(0, int((limit - spent) / spent * (self.engines_rows + self.model.rows).mean()))
