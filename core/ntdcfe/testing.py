"""Made-up series and models for tests: of this package, and of adapters that others write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.explainer import NTDCFE
from ntdcfe.problem.features import Features
from ntdcfe.problem.target import Target
from ntdcfe.search.base import Answer, Asks, Search
from ntdcfe.settings import SearchSettings

Array = NDArray[Any]


def series(n_steps: int, n_features: int, seed: int = 0, mean: float = -0.5) -> Array:
    """A random walk around `mean`, ``(K, D)``."""
    rng = np.random.default_rng(seed)
    return mean + 0.3 * rng.normal(size=(n_steps, n_features)) + 0.1 * rng.normal(size=(n_steps, n_features)).cumsum(0)


def ends_high(X: Array) -> Array:
    """1 where the first feature is above 0 over the last three steps, labels ``(n,)``."""
    return (X[:, -3:, 0].min(axis=1) > 0).astype(int)


def logistic(X: Array) -> Array:
    """Probabilities ``(n, 2)`` from a weighted sum of all cells."""
    flat = X.reshape(len(X), -1)
    weights = np.cos(np.arange(flat.shape[1]))
    p = 1 / (1 + np.exp(-(flat @ weights) / 2 + 2))
    return np.column_stack([1 - p, p])


def stumps(X: Array) -> Array:
    """Labels ``(n,)`` of a vote of many thresholds on single cells, as a forest has them."""
    flat = X.reshape(len(X), -1)
    rng = np.random.default_rng(5)
    cells, levels = rng.integers(0, flat.shape[1], 60), rng.normal(-0.2, 0.3, 60)
    return ((flat[:, cells] > levels).mean(1) > 0.6).astype(int)


def quarters(X: Array) -> Array:
    """One of four labels ``(n,)`` by the signs of two means."""
    return np.array(["a", "b", "c", "d"])[(X[..., 0].mean(-1) > 0) * 2 + (X[..., 1].mean(-1) > 0)]


def total(X: Array) -> Array:
    """A value ``(n,)``: a curved sum of a row or a series."""
    return np.tanh(X.reshape(len(X), -1)).sum(1)


class Flipping:
    """A model that answers wrongly now and then, in an order that is always the same."""

    def __init__(self, share: float) -> None:
        self.share, self.rng = share, np.random.default_rng(3)

    def __call__(self, X: Array) -> Array:
        """Labels ``(n,)``, some of them wrong."""
        return np.where(self.rng.random(len(X)) < self.share, 1 - ends_high(X), ends_high(X))


class Failing:
    """A model that raises from its n-th call on."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, X: Array) -> Array:
        """Labels ``(n,)``, or an exception."""
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("gone")
        return ends_high(X)


class Counting:
    """Another model that remembers the rows of every call.

    Parameters
    ----------
    predict : callable
    """

    def __init__(self, predict: Any) -> None:
        self.predict = predict
        self.asked: list[Array] = []

    @property
    def rows(self) -> int:
        """How many rows it has been asked."""
        return sum(map(len, self.asked))

    @property
    def calls(self) -> int:
        """How often it has been called."""
        return len(self.asked)

    def __call__(self, X: Array) -> Any:
        """What the other model says."""
        self.asked.append(np.array(X))
        return self.predict(X)


def search_of(
    original: Array,
    features: Features | None = None,
    settings: SearchSettings | None = None,
    seed: int = 0,
    **options: Any,
) -> Search:
    """A search for a series ``(K, D)`` with no model behind it, to be driven with made-up answers."""
    features = Features.continuous(original.shape[-1]) if features is None else features
    explainer = NTDCFE(None, features, settings=settings, seed=seed, **options)
    return explainer.job(features.encode(original), features, Target.of(1), explainer.settings, False).search


def drive(asks: Asks, judge: Callable[[Array], Any]) -> list[Array]:
    """Run a search with made-up answers, whether each of the states ``(n, K, F)`` is reached; returns all it asked."""
    asked: list[Array] = []
    answer: Answer | None = None
    while True:
        try:
            states = next(asks) if answer is None else asks.send(answer)
        except StopIteration:
            return asked
        asked.append(states)
        answer = Answer(np.asarray(judge(states), bool), None)
