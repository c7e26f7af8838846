"""How far each cell may go: bounds, reach, direction and moves, and the grid of those that have a precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.feature import Continuous
from ntdcfe.problem.features import Features

# Values of a feature that are listed at most (rule of thumb: beyond any number of states that are asked about each).
MOST_VALUES = 100_000


class Limits:
    """The values that the cells of one series may take.

    Parameters
    ----------
    original : array (K, F)
    features : Features
    units : array (F,)
        Unit of change of each feature.
    reach : float, optional
        How many units beyond the span of its own values a feature without bounds may go; no limit if not given.
    within : (float, float), optional
        The least and the largest number that the type of the series can hold.

    Attributes
    ----------
    low, high : array (K, F)
        Lowest and highest value of each cell.
    widened : float
        How many times their usual reach features without bounds may go.
    """

    def __init__(
        self,
        original: NDArray[Any],
        features: Features,
        units: NDArray[np.float64],
        reach: float | None,
        within: tuple[float, float] = (-np.inf, np.inf),
    ) -> None:
        self.original, self.features, self.units, self.reach = original, features, units, reach
        self.within = within
        self.widened = 1.0
        self.discrete = features.discrete
        self.choices = [None if f.choices is None else np.array(f.choices, original.dtype) for f in features]
        self.forbidden = _forbidden(original, features)
        self.precisions = {i: p for i, p in enumerate(features.precisions) if p is not None}
        self._bounds = _bounds(features, original.dtype)
        self.low, self.high = self._limits()

    def _limits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        low, high = self._bounds
        if self.reach is not None:
            margin = (self.reach * self.units).astype(self.original.dtype)
            low = np.where(np.isinf(low) & ~self.discrete, self.original.min(0) - margin, low)
            high = np.where(np.isinf(high) & ~self.discrete, self.original.max(0) + margin, high)
        direction = np.array([getattr(f, "direction", None) or "" for f in self.features])
        low = np.where(direction == "rise", np.maximum(low, self.original), low)
        high = np.where(direction == "fall", np.minimum(high, self.original), high)
        # Limits lie on the grid, so that a rounded and then clipped value does, too.
        for i, precision in self.precisions.items():
            low[:, i], high[:, i] = _up(low[:, i], precision), 0.0 - _up(-high[:, i], precision)
        return np.maximum(low, self.within[0]), np.minimum(high, self.within[1])

    def widen(self, factor: float) -> None:
        """Let features without bounds go `factor` times as far."""
        if self.reach is None:
            return
        self.reach *= factor
        before, (self.low, self.high) = (self.low, self.high), self._limits()
        # Where every feature has bounds, none is let go any further.
        if (before[0] != self.low).any() or (before[1] != self.high).any():
            self.widened *= factor

    @property
    def open(self) -> NDArray[np.bool_]:
        """The cells ``(K, F)`` that may take another value than they have."""
        cells = (self.low <= self.high) & ((self.low < self.high) | (self.low != self.original))
        for i, choices in enumerate(self.choices):
            if choices is not None:
                low, high, now = (a[:, i, None] for a in (self.low, self.high, self.original))
                others = (choices != now) & (choices >= low) & (choices <= high)
                cells[:, i] &= (others & ~self.forbidden[i] if i in self.forbidden else others).any(-1)
        return cells

    def values(self, feature: int) -> NDArray[Any] | None:
        """All values ``(v,)`` that a feature may take at some step; None where it is any number of a range, or many."""
        if (choices := self.choices[feature]) is not None:
            return choices
        if feature not in self.precisions or not np.isfinite([side[feature] for side in self._bounds]).all():
            return None
        precision, low, high = self.precisions[feature], self.low[:, feature].min(), self.high[:, feature].max()
        if not (float(high) - float(low)) * 10.0**precision < MOST_VALUES:
            return None  # cents of a range of billions would fill the memory
        n = round(float(high - low) * 10.0**precision)
        return np.unique((low + np.arange(n + 1) * 10.0**-precision).round(precision)).astype(self.original.dtype)

    def onto_grid(self, x: NDArray[Any]) -> NDArray[Any]:
        """States ``(n, K, F)`` with changed cells at their feature's precision."""
        for i, precision in self.precisions.items():
            # Adding zero makes -0.0 and 0.0 the same state.
            x[..., i] = np.where(x[..., i] == self.original[:, i], x[..., i], x[..., i].round(precision) + 0.0)
        return x

    def into_range(self, x: NDArray[Any]) -> NDArray[Any]:
        """States ``(n, K, F)`` with cells within their limits and at listed values."""
        inside = np.minimum(np.maximum(x, self.low), self.high)  # a third of the time of np.clip
        for i in np.flatnonzero(self.discrete):
            choices = self.choices[i]
            assert choices is not None
            place = np.abs(x[..., i, None] - choices).argmin(-1)
            nearest = choices[place]
            allowed = (nearest >= self.low[:, i]) & (nearest <= self.high[:, i])
            if i in self.forbidden:
                allowed &= ~self.forbidden[i][np.arange(len(self.original)), place]
            inside[..., i] = np.where(allowed, nearest, self.original[:, i])
        return inside


def _forbidden(original: NDArray[Any], features: Features) -> dict[int, NDArray[np.bool_]]:
    """Of the features whose moves are limited, by position: which of their choices each step may not take ``(K, c)``.

    The value that a cell has is not forbidden.
    """
    forbidden = {}
    for i, feature in enumerate(features):
        if (allowed := feature.allowed) is not None and feature.choices is not None:
            free = [(now, *allowed.get(now, ())) for now in original[:, i].tolist()]
            forbidden[i] = ~np.array([np.isin(feature.choices, some) for some in free])
    return forbidden


def _bounds(features: Features, dtype: np.dtype[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Lower and upper bounds ``(F,)`` in the type of the series, infinite where there are none."""
    bounds = np.array([f.limits if isinstance(f, Continuous) else (-np.inf, np.inf) for f in features])
    # Rounded inwards, so that a float32 cell at its bound is not a hair outside it.
    low, high = bounds.T.astype(dtype)
    low = np.where(low < bounds[:, 0], np.nextafter(low, np.inf, dtype=low.dtype), low)
    high = np.where(high > bounds[:, 1], np.nextafter(high, -np.inf, dtype=high.dtype), high)
    return low, high


def _up(limits: NDArray[Any], precision: int) -> NDArray[Any]:
    """The lowest numbers of that many decimals that are not below `limits` (n,)."""
    nearest = limits.round(precision)
    # Steps that the type cannot tell apart are no grid: the limit itself is as good.
    above = np.maximum((nearest + limits.dtype.type(10.0**-precision)).round(precision), limits)
    return np.where(nearest < limits, above, nearest) + 0.0
