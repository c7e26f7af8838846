"""Rule models: conditions on the last steps of a series, and the exact least cost of meeting them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from protocol.arrays import Bools, Floats, Ints


@dataclass(frozen=True)
class Condition:
    """What one feature has to satisfy at a step.

    Attributes
    ----------
    column
        The feature's column.
    relation
        How the value has to stand to zero. ``"=="`` is for discrete features.
    """

    column: int
    relation: Literal[">", "<", "=="]

    def holds(self, X: Floats) -> Bools:
        """Tell where the condition holds: ``(n, K, D)`` -> ``(n, K)``."""
        value = X[:, :, self.column]
        if self.relation == ">":
            return value > 0
        if self.relation == "<":
            return value < 0
        return np.asarray(value == 0)

    def cost(self, X: Floats) -> Floats:
        """Give the least change that makes it hold: ``(n, K, D)`` -> ``(n, K)``.

        L1 for a continuous feature, L0 for a discrete one. For the strict relations it
        is an infimum: a hair more is needed.
        """
        value = X[:, :, self.column]
        if self.relation == ">":
            return np.maximum(0.0, -value)
        if self.relation == "<":
            return np.maximum(0.0, value)
        return np.asarray(value != 0, dtype=np.float64)


@dataclass(frozen=True)
class Rule:
    """A rule model: conditions on the last steps of a series.

    Attributes
    ----------
    window
        How many of the last steps the rule looks at.
    every
        Conditions that have to hold at every step of the window.
    either
        Conditions of which one has to hold; none if empty.
    either_per_step
        Whether another of `either` may hold at each step, or one of them throughout.
    """

    window: int
    every: tuple[Condition, ...] = ()
    either: tuple[Condition, ...] = ()
    either_per_step: bool = False

    def predict(self, X: ArrayLike) -> Ints:
        """Label series: ``(n, K, D)`` -> ``(n,)``."""
        last = np.asarray(X, dtype=np.float64)[:, -self.window :]
        reached = np.ones(len(last), dtype=bool)
        for condition in self.every:
            reached &= condition.holds(last).all(axis=1)
        if self.either:
            holds = np.stack([condition.holds(last) for condition in self.either])
            if self.either_per_step:
                reached &= holds.any(axis=0).all(axis=1)
            else:
                reached &= holds.all(axis=2).any(axis=0)
        return reached.astype(np.int64)

    def optimum(self, X: ArrayLike) -> Floats:
        """Give the least cost of the target label: ``(n, K, D)`` -> ``(n,)``."""
        last = np.asarray(X, dtype=np.float64)[:, -self.window :]
        total = np.zeros(len(last))
        for condition in self.every:
            total += condition.cost(last).sum(axis=1)
        if self.either:
            costs = np.stack([condition.cost(last) for condition in self.either])
            if self.either_per_step:
                total += costs.min(axis=0).sum(axis=1)
            else:
                total += costs.sum(axis=2).min(axis=0)
        return total


def threshold_rules(columns: Sequence[int], window: int) -> dict[str, Rule]:
    """Build rule 1, all features above zero, and rule 2, one of them throughout.

    The paper's formula for rule 2 reads as an "or" at each step; only one feature above
    zero throughout the window gives the published counts.
    """
    positive = tuple(Condition(column, ">") for column in columns)
    return {"rule_1": Rule(window, every=positive), "rule_2": Rule(window, either=positive)}
