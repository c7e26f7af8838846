"""What is minimised: how far a state is from the original, what its changed cells cost, and terms of your own.

The only place that knows the formula. A term of your own is a class with one method, given as
``SearchSettings(terms=[...])``:

>>> class PriceOfFeatures(Term):
...     '''Each changed feature costs as much as a unit of change.'''
...     def cost(self, x, original, features):
...         return (x != original).any(1).sum(1)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.features import Features
from ntdcfe.problem.users import called, costs

# How many times as rough as before a feature may be at no cost (rule of thumb).
FREE_ROUGHNESS = 1.25
# Values that are looked at in one go: more than fit into the processor's cache take longer.
VALUES_AT_ONCE = 50_000


class Smoothness(NamedTuple):
    """How roughness is counted.

    Parameters
    ----------
    least : float
        What features as smooth as a line are taken to have, in units, so that they may get a step, too.
    free : float
        What is free in any case, in units.
    share : float
        Of the price of roughness.
    """

    least: float
    free: float
    share: float


# While it is open which features change, a step of a third of a unit is free: a small bend must not decide that. Then
# nothing is, at half the price (rules of thumb; chosen on the datasets of `search/edits/tuning.py`).
LENIENT, STRICT = Smoothness(1.0, 0.65, 1.0), Smoothness(0.1, 0.0, 0.5)

#: ``(original (K, F), x (n, K, F), weights (F,), discrete (F,)) -> (n,)``
Proximity = Callable[[NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.bool_]], NDArray[np.float64]]


class Touched(NamedTuple):
    """Features of n states that may have changed: places among the states and features ``(m,)``, values ``(m, K)``."""

    rows: NDArray[np.int64]
    features: NDArray[np.int64]
    values: NDArray[Any]

    @staticmethod
    def of(x: NDArray[Any], rows: NDArray[np.int64], features: NDArray[np.int64]) -> Touched:
        """Those features of states ``(n, K, F)``."""
        return Touched(rows, features, x[rows, :, features])


def weighted_l1(
    original: NDArray[Any], x: NDArray[Any], weights: NDArray[np.float64], discrete: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The paper's equation 1: L1 for continuous features, L0 for discrete ones, weighted ``(n,)``."""
    return np.asarray(_distances(original, x, discrete) @ np.tile(weights, len(original)))


class Term(ABC):
    """A further part of what the search minimises, in units of change.

    It decides which of two valid states is the better one. `name` is what it is called among the parts of a cost.
    """

    @property
    def name(self) -> str:
        """Its class, unless it says otherwise."""
        return type(self).__name__

    @abstractmethod
    def cost(self, x: NDArray[Any], original: NDArray[Any], features: Features) -> Any:
        """What states ``(n, K, F)`` cost beside their distance from the `original` ``(K, F)``: ``(n,)``, at least 0."""


class Objective:
    """What states of one series cost.

    The cost is the proximity with every feature in its own unit of change, a price on every changed cell, and the
    further terms. Heuristics ask for the price of single changes: :meth:`of_changes` and :attr:`price_of_cell`.

    Parameters
    ----------
    original : array (K, F)
    features : Features
    units : array (F,), optional
        Unit of change of each feature; 1 if not given.
    price_of_cell : float
        What a changed cell costs beside its distance.
    price_of_edit, price_of_roughness : float
        What an edit costs, and what it costs to double the roughness of a feature, the sum of its absolute second
        differences: as shares of the cost.
    proximity : callable
        How far states are from the original.
    terms : sequence of Term
    """

    def __init__(
        self,
        original: NDArray[Any],
        features: Features,
        units: NDArray[np.float64] | None = None,
        price_of_cell: float = 0.0,
        proximity: Proximity = weighted_l1,
        terms: Sequence[Term] = (),
        price_of_edit: float = 0.0,
        price_of_roughness: float = 0.0,
    ) -> None:
        self.original = original
        self.features = features
        self.price_of_cell = price_of_cell
        self.price_of_edit = price_of_edit
        self.price_of_roughness = price_of_roughness
        self.terms = tuple(terms)
        self._proximity = proximity
        self._feature_weights = features.weights
        self._feature_units = np.ones(len(features)) if units is None else units
        self._feature_discrete = features.discrete
        self._weights: NDArray[np.float64] = np.tile(self._feature_weights, len(original))
        self._units: NDArray[np.float64] = np.tile(self._feature_units, len(original))
        self._discrete = np.tile(features.discrete, len(original))
        self._per_unit = np.tile(self._feature_weights / self._feature_units, len(original))

    def proximity(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """How far states ``(n, K, F)`` are from the original, weighted, in the features' own scales ``(n,)``."""
        return self._far(self.original, x)

    def sparsity(self, x: NDArray[Any]) -> NDArray[np.int64]:
        """How many cells of states ``(n, K, F)`` differ from the original ``(n,)``."""
        return _count((x != self.original).reshape(len(x), self.original.size))

    def cost(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """What the search minimises, of states ``(n, K, F)``: ``(n,)``."""
        return self.cost_and_sparsity(x)[0]

    def cost_and_sparsity(
        self, x: NDArray[Any], touched: Touched | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Both of states ``(n, K, F)``, each ``(n,)``: the cost is made of the sparsity."""
        with np.errstate(all="ignore"):  # too far to be counted is infinitely far
            distance, sparsity = self._distance_and_sparsity(x, touched)
            cost = distance + self.price_of_cell * sparsity
            for term in self.terms:
                cost = cost + self._of_term(term, x)
            return cost, sparsity

    def cost_of_edits(
        self,
        x: NDArray[Any],
        count: NDArray[Any],
        touched: Touched | None = None,
        smoothness: Smoothness = LENIENT,
    ) -> NDArray[np.float64]:
        """What states ``(n, K, F)`` cost that come about by `count` ``(n,)`` edits: ``(n,)``.

        `touched` are the features of the states that may have changed, where that is known. Prices of edits and of
        roughness are shares of the cost, so that they weigh the same in a series of ten cells and of ten thousand:
        every further edit has to make the state that much nearer.
        """
        with np.errstate(all="ignore"):
            cost = self.cost_and_sparsity(x, touched)[0] * (1 + self.price_of_edit) ** count
            if self.price_of_roughness:
                price = smoothness.share * self.price_of_roughness
                cost = cost * (1 + price * self.roughness(x, touched, smoothness))
            return cost

    def roughness(
        self, x: NDArray[Any], touched: Touched | None = None, smoothness: Smoothness = LENIENT
    ) -> NDArray[np.float64]:
        """How often the roughness of a feature of states ``(n, K, F)`` has doubled, of the one where most ``(n,)``.

        Roughness is the sum of absolute second differences, in units; some more of it is free. Few features of each
        state are changed, and only those are looked at: `touched`, if that is known, is as in :meth:`cost_of_edits`.
        """
        doubled = np.zeros(len(x))
        if len(self.original) >= 3:
            rows, features, values = touched or Touched.of(x, *np.nonzero((x != self.original).any(1)))
            if self._feature_discrete.any():
                numbers = ~self._feature_discrete[features]
                rows, features, values = rows[numbers], features[numbers], values[numbers]
            units = self._feature_units[features]
            before, after = self._roughness_before[features] / units, np.empty(len(rows))
            at_once = max(1, VALUES_AT_ONCE // len(self.original))
            for start in range(0, len(rows), at_once):
                part = slice(start, start + at_once)
                after[part] = _roughness(values[part])
            after /= units
            # What is straight has no smoothness to lose: a step is the natural change of what is constant.
            straight = before < STRICT.least
            least = np.where(straight, LENIENT.least, smoothness.least)
            free = np.where(straight, LENIENT.free, smoothness.free)
            after = np.maximum(after - free, before)
            rougher = after != before
            ratio = (after[rougher] + least[rougher]) / (before[rougher] + least[rougher])
            np.maximum.at(doubled, rows[rougher], np.log2(ratio / FREE_ROUGHNESS))
        return doubled

    @cached_property
    def _roughness_before(self) -> NDArray[np.float64]:
        """The roughness of the features of the original ``(F,)``."""
        return _roughness(self.original.T)

    def parts(self, x: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """What the cost of states ``(n, K, F)`` is made of: "distance" in units, "cells", and each term by its name."""
        distance, sparsity = self._distance_and_sparsity(x)
        parts = {"distance": distance, "cells": self.price_of_cell * sparsity}
        return parts | {term.name: self._of_term(term, x) for term in self.terms}

    def of_changes(self, change: NDArray[Any], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """What changes of single cells cost, each in its feature's own scale, without the price of a changed cell.

        Parameters
        ----------
        change : array (..., m)
        cells : array (..., m)
            Positions among the K * F cells.
        """
        return self.of_units(change / self._units[cells], cells)

    def of_units(self, change: NDArray[Any], cells: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.float64]:
        """The same of changes that are given in units."""
        size = np.abs(change)
        return np.asarray(self._weights[cells] * np.where(self._discrete[cells], size > 0, size))

    def change_for(self, expense: NDArray[np.float64], cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far continuous cells ``(m,)`` can be moved for an expense ``(m,)``, without the price of a cell."""
        return np.asarray(expense / self._weights[cells] * self._units[cells])

    def of_features(self, size: NDArray[Any]) -> NDArray[Any]:
        """What changes of whole features cost: `size` ``(n, F)`` is the sum over their cells."""
        return size * self._feature_weights / self._feature_units

    def _distance_and_sparsity(
        self, x: NDArray[Any], touched: Touched | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if self._proximity is not weighted_l1:
            units = self._feature_units
            return self._far(self.original / units, x / units), self.sparsity(x)
        if touched is not None and 2 * len(touched.rows) < len(x) * len(self.features):
            return self._from_touched(x, touched)
        distances = _distances(self.original, x, self._feature_discrete)  # computed once for both
        return np.asarray(distances @ self._per_unit), _count(distances != 0)

    def _from_touched(self, x: NDArray[Any], touched: Touched) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The same from few features: all others are as they were. The sum is over all cells, in the same order."""
        rows, features, values = touched
        away = np.abs(values - self.original.T[features])
        if self._feature_discrete.any():
            away = np.where(self._feature_discrete[features, None], away != 0, away)
        distances = np.zeros(x.shape, away.dtype)
        distances[rows, :, features] = away
        sparsity = np.bincount(rows, _count(away != 0), len(x)).astype(np.int64)
        return np.asarray(distances.reshape(len(x), -1) @ self._per_unit), sparsity

    def _far(self, original: NDArray[Any], x: NDArray[Any]) -> NDArray[np.float64]:
        """How far `x` ``(n, K, F)`` is from `original`; the user's function gets copies, and gives one."""
        weights, discrete = self._feature_weights, self._feature_discrete
        if self._proximity is weighted_l1 or not len(x):
            return weighted_l1(original, x, weights, discrete)
        told = called("proximity", self._proximity, original.copy(), x.copy(), weights.copy(), discrete.copy())
        return costs("proximity", len(x), told)

    def _of_term(self, term: Term, x: NDArray[Any]) -> NDArray[np.float64]:
        if not len(x):  # the user's functions are not asked about nothing
            return np.zeros(0)
        name = f"{term.name}.cost"
        return costs(name, len(x), called(name, term.cost, x.copy(), self.original.copy(), self.features))


def _roughness(values: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of absolute second differences of each of n features' values ``(n, K)``: ``(n,)``."""
    # Of all values in one line, which takes half the time; what joins two features is left out of the sums.
    line = values.ravel()
    bends = np.empty(line.size, line.dtype)
    inner = bends[:-2]
    np.multiply(line[1:-1], -2, out=inner)
    inner += line[2:]
    inner += line[:-2]
    np.abs(inner, out=inner)
    return np.asarray(bends.reshape(values.shape)[:, :-2].sum(1))


def _distances(original: NDArray[Any], x: NDArray[Any], discrete: NDArray[np.bool_]) -> NDArray[Any]:
    """How far each cell of states ``(n, K, F)`` is from the original, 1 if discrete and not the same ``(n, K * F)``."""
    distance = x - original
    np.abs(distance, out=distance)  # in place: a second array of this size costs more than the sum
    if discrete.any():
        distance = np.where(discrete, distance != 0, distance)
    return distance.reshape(len(distance), original.size)


def _count(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many are true in each row ``(n, m)``; np.count_nonzero takes twice the time."""
    return np.add.reduce(marks, axis=1, dtype=np.int32).astype(np.int64)
