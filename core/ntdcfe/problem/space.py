"""The states that a series may take: limits, projection, missing cells."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.constraints import bound
from ntdcfe.problem.features import Features
from ntdcfe.problem.limits import Limits
from ntdcfe.problem.users import called, numbers, verdicts
from ntdcfe.problem.whole import range_of

OnViolation = Literal["cap", "discard"]


class Space:
    """The states that one series may take.

    What holds by construction for every state it returns: immutable features and steps that
    are not actionable are as in the original; non-actionable features differ only by a causal
    rule; every changed cell is within bounds, at the feature's precision and goes its way; discrete
    features have listed values, which their moves allow; no constraint is broken; missing cells stay missing.

    Parameters
    ----------
    original : array (K, F)
        The series, one value a feature. Missing cells hold a number that the model never sees, see :func:`stand_ins`.
    features : Features
    constraints : sequence of Constraint
    on_violation : {"cap", "discard"}
        A move out of bounds ends at the bound, or is not made.
    units : array (F,), optional
        Unit of change of each feature; 1 if not given.
    reach : float, optional
        How many units beyond the span of its own values in the series a feature may go where no
        bound says so; no limit if not given.
    missing : array (K, F), optional
        Cells without a value: they are never changed, and NaN wherever the model looks.
    integers : dtype, optional
        The type of integers that the model sees, where the features have whole numbers only.

    Attributes
    ----------
    limits : Limits
        How far each cell may go.
    movable : array (K, F)
        The cells that may be acted on.
    discrete : array (F,)
        Which features take listed values, `choices` has the values.
    constrained, has_limits_only : bool
        Whether constraints may move cells that nobody acted on; whether all states within the limits are allowed.
    """

    def __init__(
        self,
        original: NDArray[Any],
        features: Features,
        constraints: Iterable[Any] = (),
        on_violation: OnViolation = "cap",
        units: NDArray[np.float64] | None = None,
        reach: float | None = None,
        missing: NDArray[np.bool_] | None = None,
        integers: np.dtype[Any] | None = None,
    ) -> None:
        self.original = original
        self.missing = np.zeros(original.shape, bool) if missing is None else missing
        self.features = features
        self._constraints = tuple(constraints)
        self._moving, self._computing = bound(self._constraints, features)
        self.constrained = bool(self._moving or self._computing)
        self.on_violation = on_violation
        self.units = np.ones(len(features)) if units is None else units
        self.integers = integers
        held = (-np.inf, np.inf) if integers is None else range_of(integers)
        self.limits = Limits(original, features, self.units, reach, held)
        self.discrete, self.choices = self.limits.discrete, self.limits.choices
        self._has_gaps = bool(self.missing.any())
        # A cell whose limits leave no value, or only the one it has, cannot be changed.
        self.open = self.limits.open & ~self.missing
        steps = features.step_mask(len(original))
        self.movable = self.open & steps[:, None] & features.has_role("actionable")
        self._may_differ = self.open & steps[:, None] & ~features.has_role("immutable")
        if not self.movable.any():
            raise InvalidInputError(
                "no feature is left to change: every one is immutable, non-actionable, missing, or held by its "
                "bounds, direction, moves or actionable_steps."
            )
        within = (self.low <= original) & (original <= self.high)
        # The original keeps them: projecting is clipping.
        self.has_limits_only = bool(
            self.movable.all()
            and within.all()
            and not self.discrete.any()
            and not self.limits.precisions
            and not self.constrained
            and on_violation == "cap"
        )
        self._seen_original = self._with_gaps(original)
        self.project(original[None])  # a constraint that cannot be computed is refused before the model is asked

    @cached_property
    def without_reach(self) -> Space:
        """The same with no limits but the user's own."""
        return Space(
            self.original,
            self.features,
            self._constraints,
            units=self.units,
            missing=self.missing,
            integers=self.integers,
        )

    @property
    def unlimited(self) -> bool:
        """Whether every value of every cell is allowed."""
        return self.has_limits_only and not (np.isfinite(self.low).any() or np.isfinite(self.high).any())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The floating type of the series and of every state."""
        return self.original.dtype

    @property
    def n_steps(self) -> int:
        """K."""
        return len(self.original)

    @property
    def low(self) -> NDArray[Any]:
        """Lowest value of each cell ``(K, F)``."""
        return self.limits.low

    @property
    def high(self) -> NDArray[Any]:
        """Highest value of each cell ``(K, F)``."""
        return self.limits.high

    def rows(self, states: NDArray[Any]) -> NDArray[Any]:
        """States ``(..., K, F)`` as the model sees them ``(..., K, D)``."""
        columns = self.features.decode(self._with_gaps(states))
        return columns if self.integers is None else columns.astype(self.integers)

    def _with_gaps(self, states: NDArray[Any]) -> NDArray[Any]:
        return np.where(self.missing, np.nan, states).astype(self.dtype) if self._has_gaps else states

    def _without_gaps(self, states: NDArray[Any]) -> NDArray[Any]:
        return np.where(self.missing, self.original, states).astype(self.dtype) if self._has_gaps else states

    def project(self, proposals: NDArray[Any], previous: NDArray[Any] | None = None) -> NDArray[Any]:
        """The nearest allowed states ``(n, K, F)``: range, then constraints, then what may not change.

        A proposal that cannot be made to obey falls back on `previous`, the original if not given.
        """
        if self.has_limits_only:
            x = np.maximum(proposals, self.low)  # half the time of np.clip
            return np.minimum(x, self.high, out=x).astype(self.dtype, copy=False)
        x = np.where(self.movable, proposals, self.original).astype(self.dtype, copy=False)
        if not len(x):  # the user's rules are not asked about nothing
            return x
        x = self.limits.onto_grid(x)
        allowed = self._moved(self._into_range(x))
        refused = (allowed != x).any((1, 2)) if self.on_violation == "discard" else np.zeros(len(x), bool)
        x = allowed
        if self._computing:
            x = self._computed(x)
            refused |= ((x != self.original) & (~self._may_differ | (self._into_range(x) != x))).any((1, 2))
        for constraint in self._moving:
            refused |= self._breaks(constraint, x)
        if refused.any():
            x = np.where(refused[:, None, None], self.original if previous is None else previous, x)
        return x

    def broken(self, states: NDArray[Any]) -> NDArray[np.bool_]:
        """Which states ``(n, K, F)`` break a constraint ``(n,)``."""
        found = np.zeros(len(states), bool)
        for constraint in (*self._moving, *self._computing) if len(states) else ():
            found |= self._breaks(constraint, states)
        return found

    def _copy(self, x: NDArray[Any]) -> NDArray[Any]:
        """What a constraint is shown of states: their values with NaN for what is missing, to write into at will."""
        return self._with_gaps(x) if self._has_gaps else x.copy()

    def _into_range(self, x: NDArray[Any]) -> NDArray[Any]:
        """Changed cells within their limits and at listed values; cells as in the original are left alone."""
        inside = self.limits.into_range(x)
        np.copyto(inside, self.original, where=(x == self.original) | ~self.open)
        return inside

    def _moved(self, x: NDArray[Any]) -> NDArray[Any]:
        """States that the constraints have moved to where they obey, as far as limits allow."""
        if not self._moving:
            return x
        # As often as there are constraints: in a chain of them one may have to move what another moved.
        for constraint in self._moving * len(self._moving):
            x = self._projected(constraint, x)
        return self._into_range(self.limits.onto_grid(np.where(self.movable, x, self.original)))

    def _computed(self, x: NDArray[Any]) -> NDArray[Any]:
        """States with the features that constraints compute from others."""
        for constraint in self._computing:
            x = self.limits.onto_grid(self._projected(constraint, x))
        return x

    def _projected(self, constraint: Any, x: NDArray[Any]) -> NDArray[Any]:
        name = f"{type(constraint).__name__}.project"
        told = called(name, constraint.project, self._copy(x), self._seen_original.copy())
        projected = numbers(name, "states", x.shape, told).astype(self.dtype, copy=False)
        return self._without_gaps(np.where(np.isfinite(projected), projected, x))

    def _breaks(self, constraint: Any, x: NDArray[Any]) -> NDArray[np.bool_]:
        name = f"{type(constraint).__name__}.broken"
        return verdicts(name, len(x), called(name, constraint.broken, self._copy(x), self._seen_original.copy()), True)


def stand_ins(state: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """A series ``(K, F)`` with its feature's first known value in every missing cell, 0 where there is none."""
    first = state[(~missing).argmax(0), np.arange(state.shape[1])]
    return np.where(missing, np.where(missing.all(0), 0, first), state).astype(state.dtype)
