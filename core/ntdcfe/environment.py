"""Actions to next states: the paper's transition, then its constraints, for many episodes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.constraints import Constraint, in_causal_order, orders
from ntdcfe.errors import InvalidInputError
from ntdcfe.features import Continuous, Features
from ntdcfe.proximity import Proximity, distances, weighted_l1

OnViolation = Literal["cap", "discard"]


class Intervention(NamedTuple):
    """The paper's action for n states: arrays ``(n,)``.

    `strength` is what is added to a continuous feature, and the new value of a discrete one.
    """

    step: NDArray[np.int64]
    feature: NDArray[np.int64]
    strength: NDArray[np.float64]


#: ``(states (n, K, F), intervention, discrete (F,)) -> proposals (n, K, F)``
Transition = Callable[[NDArray[Any], Intervention, NDArray[np.bool_]], NDArray[Any]]


def hold_to_end(states: NDArray[Any], action: Intervention, discrete: NDArray[np.bool_]) -> NDArray[Any]:
    """The paper's F_p: a change holds from its step to the end; added, or set if the feature is discrete."""
    rows = np.arange(len(states))
    before = states[rows, :, action.feature]  # (n, K)
    strength = action.strength[:, None]
    after = np.where(discrete[action.feature][:, None], strength, before + strength)
    proposals = states.copy()
    proposals[rows, :, action.feature] = np.where(np.arange(states.shape[1]) >= action.step[:, None], after, before)
    return proposals


class Environment:
    """The states that one series may take.

    What holds by construction for every state it returns: immutable features and steps that
    are not actionable are as in the original; non-actionable features differ only by a causal
    rule; every changed cell is within bounds, at the feature's precision and goes its way; discrete
    features have listed values; causal rules are true, to the effect's precision, where they fired;
    orders hold at every step where one of their two features was changed; missing cells stay missing.

    Parameters
    ----------
    original : array (K, F)
        The series, one value a feature. Missing cells hold a number that nobody sees, see :func:`stand_ins`.
    features : Features
    constraints : sequence of Causal or AtMost
    on_violation : {"cap", "discard"}
        A move out of bounds ends at the bound, or is not made.
    transition : callable
        From states and interventions to proposals, before the constraints.
    proximity : callable
        How far states are from the original.
    units : array (F,), optional
        Unit of change of each feature; 1 if not given.
    reach : float, optional
        How many units beyond the span of its own values in the series a feature may go where no
        bound says so; no limit if not given.
    sparsity_weight : float
        What a changed cell costs, in units of proximity.
    missing : array (K, F), optional
        Cells without a value: they are never changed, and NaN wherever the model looks.
    """

    def __init__(
        self,
        original: NDArray[Any],
        features: Features,
        constraints: Sequence[Constraint] = (),
        on_violation: OnViolation = "cap",
        transition: Transition = hold_to_end,
        proximity: Proximity = weighted_l1,
        units: NDArray[np.float64] | None = None,
        reach: float | None = None,
        sparsity_weight: float = 0.0,
        missing: NDArray[np.bool_] | None = None,
    ) -> None:
        self.original = original
        self.missing = np.zeros(original.shape, bool) if missing is None else missing
        self.features = features
        self.rules = in_causal_order(constraints, features)
        self.orders = orders(constraints, features)
        self.on_violation = on_violation
        self.transition = transition
        self._proximity = proximity
        self.weights = features.weights
        self.discrete = features.discrete
        self.choices = [None if f.choices is None else np.array(f.choices, original.dtype) for f in features]
        self.units = np.ones(len(features)) if units is None else units
        self.reach = reach
        self.sparsity_weight = sparsity_weight
        self._rounded = {i: p for i, p in enumerate(features.precisions) if p is not None}
        self._bounds = _bounds(features, original.dtype)
        self.low, self.high = self._limits()
        # A cell whose limits leave no value, or only the one it has, cannot be changed.
        self.open = (self.low <= self.high) & ((self.low < self.high) | (self.low != original)) & ~self.missing
        for i, choices in enumerate(self.choices):
            if choices is not None:
                low, high, now = (a[:, i, None] for a in (self.low, self.high, original))
                self.open[:, i] &= ((choices != now) & (choices >= low) & (choices <= high)).any(-1)
        self.steps = features.step_mask(len(original))
        self.movable = self.open & self.steps[:, None] & features.has_role("actionable")
        self._may_differ = self.open & self.steps[:, None] & ~features.has_role("immutable")
        if not self.movable.any():
            raise InvalidInputError(
                "no feature is left to change: every one is immutable, non-actionable, missing, or held by its "
                "bounds, direction or actionable_steps."
            )
        within = (self.low <= original) & (original <= self.high)
        # Nothing but limits, which the original keeps: projecting is clipping.
        self._plain = bool(
            self.movable.all()
            and within.all()
            and not self.discrete.any()
            and not self._rounded
            and not self.rules
            and not self.orders
            and on_violation == "cap"
        )
        self._rule_outcomes = [rule.outcome(self._with_gaps(original[None])) for rule in self.rules]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The floating type of the series and of every state."""
        return self.original.dtype

    def rows(self, states: NDArray[Any]) -> NDArray[Any]:
        """States ``(..., K, F)`` as the model sees them ``(..., K, D)``."""
        return self.features.decode(self._with_gaps(states))

    def _with_gaps(self, states: NDArray[Any]) -> NDArray[Any]:
        return np.where(self.missing, np.nan, states).astype(self.dtype) if self.missing.any() else states

    def _limits(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Lowest and highest value of each cell ``(K, F)``: bounds, else reach, and direction."""
        low, high = self._bounds
        if self.reach is not None:
            margin = (self.reach * self.units).astype(self.dtype)
            low = np.where(np.isinf(low) & ~self.discrete, self.original.min(0) - margin, low)
            high = np.where(np.isinf(high) & ~self.discrete, self.original.max(0) + margin, high)
        direction = np.array([getattr(f, "direction", None) or "" for f in self.features])
        low = np.where(direction == "rise", np.maximum(low, self.original), low)
        high = np.where(direction == "fall", np.minimum(high, self.original), high)
        # Limits on the grid: what is rounded and then clipped is still on it.
        for i, precision in self._rounded.items():
            low[:, i], high[:, i] = _up(low[:, i], precision), 0.0 - _up(-high[:, i], precision)
        return low, high

    def widen(self, factor: float) -> None:
        """Let features without bounds go `factor` times as far."""
        if self.reach is not None:
            self.reach *= factor
            self.low, self.high = self._limits()

    def step(self, states: NDArray[Any], action: Intervention) -> NDArray[Any]:
        """The states after one intervention each ``(n, K, F)``."""
        return self.project(self.transition(states, action, self.discrete), states)

    def project(self, proposals: NDArray[Any], previous: NDArray[Any] | None = None) -> NDArray[Any]:
        """The nearest allowed states ``(n, K, F)``: range, order, then causal rules, then what may not change.

        A proposal that cannot be made to obey falls back on `previous`, the original if not given.
        """
        if self._plain:
            x = np.maximum(proposals, self.low)  # half the time of np.clip
            return np.minimum(x, self.high, out=x).astype(self.dtype, copy=False)
        x = np.where(self.movable, proposals, self.original).astype(self.dtype, copy=False)
        x = self._onto_grid(x)
        allowed = self._into_order(self._into_range(x))
        refused = (allowed != x).any((1, 2)) if self.on_violation == "discard" else np.zeros(len(x), bool)
        x = allowed
        if self.rules:
            x = self._obey_rules(x)
            refused |= ((x != self.original) & (~self._may_differ | (self._into_range(x) != x))).any((1, 2))
        for lower, upper in self.orders:
            refused |= self._disordered(x, lower, upper).any(1)
        if refused.any():
            x = np.where(refused[:, None, None], self.original if previous is None else previous, x)
        return x

    def _onto_grid(self, x: NDArray[Any]) -> NDArray[Any]:
        """Changed cells at their feature's precision."""
        for i, precision in self._rounded.items():
            # Adding zero makes -0.0 and 0.0 the same state.
            x[..., i] = np.where(x[..., i] == self.original[:, i], x[..., i], x[..., i].round(precision) + 0.0)
        return x

    def _into_range(self, x: NDArray[Any]) -> NDArray[Any]:
        """Changed cells within their limits and at listed values; cells as in the original are left alone."""
        inside = np.clip(x, self.low, self.high)
        for i in np.flatnonzero(self.discrete):
            choices = self.choices[i]
            assert choices is not None
            nearest = choices[np.abs(x[..., i, None] - choices).argmin(-1)]
            allowed = (nearest >= self.low[:, i]) & (nearest <= self.high[:, i])
            inside[..., i] = np.where(allowed, nearest, self.original[:, i])
        return np.where((x == self.original) | ~self.open, self.original, inside)

    def _disordered(self, x: NDArray[Any], lower: int, upper: int) -> NDArray[np.bool_]:
        """The steps at which a change left one feature above the other ``(n, K)``."""
        changed = (x[..., [lower, upper]] != self.original[:, [lower, upper]]).any(-1)
        return (x[..., lower] > x[..., upper]) & changed & ~self.missing[:, [lower, upper]].any(-1)

    def _into_order(self, x: NDArray[Any]) -> NDArray[Any]:
        """Changed cells no further than the feature that limits them, where they can be."""
        if not self.orders:
            return x
        # As often as there are orders: what one of a chain moves, the next may have to move again.
        for lower, upper in self.orders * len(self.orders):
            broken = self._disordered(x, lower, upper)
            lowered = broken & (x[..., lower] != self.original[:, lower])
            limit = np.where(broken & ~lowered, x[..., lower], x[..., upper])
            x[..., lower] = np.where(lowered, x[..., upper], x[..., lower])
            x[..., upper] = limit
        return self._into_range(self._onto_grid(x))

    def _obey_rules(self, x: NDArray[Any]) -> NDArray[Any]:
        x = x.copy()
        for rule, at_rest in zip(self.rules, self._rule_outcomes, strict=True):
            outcome = rule.outcome(self._with_gaps(x))
            causes = list(rule.causes)
            fired = (x[..., causes] != self.original[:, causes]).any(-1) | (outcome != at_rest)
            # A rule has nothing to say where a cause, or nothing to act on where the effect, is missing.
            fired &= ~np.isnan(outcome) & ~self.missing[:, rule.effect]
            x[..., rule.effect] = np.where(fired, outcome, x[..., rule.effect])
            x = self._onto_grid(x)
        return x

    def proximity(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """How far states ``(n, K, F)`` are from the original, weighted ``(n,)``."""
        return self._proximity(self.original, x, self.weights, self.discrete)

    def cost(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """What the search minimises ``(n,)``: proximity in units, and a price on every changed cell."""
        return self.cost_and_sparsity(x)[0]

    def cost_and_sparsity(self, x: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Both of states ``(n, K, F)``: `cost` ``(n,)`` is made of `sparsity` ``(n,)``."""
        with np.errstate(over="ignore", invalid="ignore"):  # too far to be counted is infinitely far
            if self._proximity is not weighted_l1:
                sparsity = self.sparsity(x)
                proximity = self._proximity(self.original / self.units, x / self.units, self.weights, self.discrete)
                return proximity + self.sparsity_weight * sparsity, sparsity
            distance = distances(self.original, x, self.discrete)  # one look at the cells for both
            sparsity = _count(distance != 0)
            return distance @ self.per_cell(self.weights / self.units) + self.sparsity_weight * sparsity, sparsity

    def sparsity(self, x: NDArray[Any]) -> NDArray[np.int64]:
        """How many cells of states ``(n, K, F)`` differ from the original ``(n,)``."""
        return _count((x != self.original).reshape(len(x), self.original.size))

    def per_cell(self, per_feature: NDArray[Any]) -> NDArray[Any]:
        """One value a feature ``(F,)`` as one a cell ``(K * F,)``."""
        return np.tile(per_feature, len(self.original))


def _count(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many are true in each row ``(n, m)``; np.count_nonzero takes twice the time."""
    return np.add.reduce(marks, axis=1, dtype=np.int32).astype(np.int64)


def stand_ins(state: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    """A series ``(K, F)`` with its feature's first known value in every missing cell, 0 where there is none."""
    first = state[(~missing).argmax(0), np.arange(state.shape[1])]
    return np.where(missing, np.where(missing.all(0), 0, first), state).astype(state.dtype)


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
