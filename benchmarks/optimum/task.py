"""What is minimised and inside which limits: the engine's own problem, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from protocol.arrays import Bools, Floats

from ntdcfe import SearchSettings
from ntdcfe.problem.features import Features
from ntdcfe.problem.problem import Problem

#: Whether the model puts a series ``(K, D)`` in the target class.
Reached = Callable[[Floats], bool]


@dataclass(frozen=True)
class Optimum:
    """An answer ``(K, D)``, what it costs, and what no answer can be cheaper than; 0 where that is not known."""

    x: Floats
    cost: float
    bound: float = 0.0


@dataclass(frozen=True)
class Task:
    """One series, the values that its cells may take, and what changes of them cost.

    All arrays are flat ``(K * D,)``. A continuous cell costs `weight` times its change, a discrete one `weight` if it
    differs; every changed cell costs `price` beside.

    Attributes
    ----------
    values
        What discrete cells may be, None for continuous ones.
    shape
        K and D.
    """

    original: Floats
    low: Floats
    high: Floats
    weight: Floats
    price: float
    values: tuple[Floats | None, ...]
    shape: tuple[int, int]

    @classmethod
    def of(cls, x: Floats, features: Features, settings: SearchSettings, plain: bool) -> Task:
        """Give the task of explaining `x` ``(K, D)`` with the engine's limits.

        Parameters
        ----------
        x
            The series.
        features
            All of them actionable.
        settings
            Their reach and price of a cell are the engine's.
        plain
            Whether the cost is the plain L1 (L0 of discrete cells), or the engine's own.
        """
        problem = Problem.of(x, features, reach=settings.reach, price_of_cell=settings.sparsity_weight)
        space, n_steps = problem.space, len(x)
        per_unit = features.weights / (1.0 if plain else space.units)
        return cls(
            original=space.original.ravel(),
            low=np.broadcast_to(space.low, x.shape).ravel(),
            high=np.broadcast_to(space.high, x.shape).ravel(),
            weight=np.tile(np.where(features.discrete, features.weights, per_unit), n_steps),
            price=0.0 if plain else settings.sparsity_weight,
            values=tuple(space.choices) * n_steps,
            shape=(n_steps, x.shape[1]),
        )

    @property
    def discrete(self) -> Bools:
        """Which cells are discrete."""
        return np.array([values is not None for values in self.values])

    def cost(self, x: Any) -> float:
        """What a state of any shape costs."""
        return float(self.costs(np.ravel(x)[None])[0])

    def costs(self, x: Floats) -> Floats:
        """What flat states ``(n, K * D)`` cost ``(n,)``."""
        change = np.abs(x - self.original)
        size = np.where(self.discrete, change > 0, change)
        return np.asarray(size @ self.weight + self.price * (change > 0).sum(1))

    def series(self, x: Floats) -> Floats:
        """Give a flat state as a series ``(K, D)``."""
        return x.reshape(self.shape)
