"""What features owe to each other: rules that every state obeys.

A constraint of your own is a class with three methods. `bind` looks up the features that it names,
`project` moves states to where they obey, and `broken` tells which states do not. A state that still
breaks a constraint after all of them have had their turn is not made at all.

>>> class AtMostChanged(Constraint):
...     '''No more than `n` of the features change.'''
...     def __init__(self, n):
...         self.n = n
...     def broken(self, x, original):
...         return (x != original).any(1).sum(1) > self.n
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError, in_words
from ntdcfe.problem.feature import OneHot
from ntdcfe.problem.features import Features
from ntdcfe.problem.users import called


class Constraint(ABC):
    """A rule between features.

    States are arrays ``(n, K, F)`` with one value a feature, a one-hot group being the position of its hot
    column, and NaN where a cell is missing. They are copies: writing into them has no effect.
    """

    def bind(self, features: Features) -> Constraint:
        """This constraint with positions in place of the names of features; raises if it does not fit them."""
        return self

    def project(self, x: NDArray[Any], original: NDArray[Any]) -> NDArray[Any]:
        """States that obey where they can be made to ``(n, K, F)``, from `x` and the `original` ``(K, F)``.

        As it is, states that break the constraint are not mended, and so not made.
        """
        return x

    @abstractmethod
    def broken(self, x: NDArray[Any], original: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of the states ``(n, K, F)`` break the constraint ``(n,)``; never the original itself."""

    def affects(self) -> tuple[int, ...]:
        """Positions of the features that `project` computes from others, also those that may not be acted on.

        A constraint that computes features has its turn after all that move features.
        """
        return ()

    def follows(self) -> tuple[int, ...]:
        """Positions of the features that those are computed from."""
        return ()


@dataclass(frozen=True)
class Causal(Constraint):
    """`effect` is `function` of `causes`: a change of a cause changes the effect with it.

    The rule fires at the cells whose causes were changed, and where its outcome differs from
    the one for the original series (so that lagged rules reach later steps). A series that
    is not changed is never touched, even if it does not obey the rule.

    A change whose effect would leave the effect's bounds, values, direction or actionable
    steps cannot be made true and is not made at all.

    Parameters
    ----------
    effect : str or int
        The feature that follows; not an immutable one.
    causes : str, int, or sequence of them
        The features it follows.
    function : callable
        Takes one array ``(n, K)`` a cause and returns ``(n, K)``. A one-hot cause is given, and
        a one-hot effect is returned, as the position of the hot column.

    Examples
    --------
    >>> rule = Causal("bmi", ["weight", "height"], lambda weight, height: weight / height**2)
    """

    effect: str | int
    causes: str | int | Sequence[str | int]
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if isinstance(self.causes, (str, int)):
            object.__setattr__(self, "causes", (self.causes,))
        if not callable(self.function):
            raise InvalidInputError(f"the function of a causal rule must be callable, got {self.function!r}.")

    def bind(self, features: Features) -> Causal:
        """The same with positions for names."""
        assert not isinstance(self.causes, (str, int))
        effect, causes = features.index(self.effect), tuple(features.index(cause) for cause in self.causes)
        if features[effect].role == "immutable":
            raise InvalidInputError(f"a causal rule would change {features.names[effect]!r}, which is immutable.")
        return replace(self, effect=effect, causes=causes)

    def project(self, x: NDArray[Any], original: NDArray[Any]) -> NDArray[Any]:
        """Effects as the rule says where it fires."""
        outcome, fired = self._fired(x, original)
        (effect,) = self.affects()
        x[..., effect] = np.where(fired, outcome, x[..., effect])
        return x

    def broken(self, x: NDArray[Any], original: NDArray[Any]) -> NDArray[np.bool_]:
        """Which states have an effect that differs from the rule by more than rounding, where it fires."""
        outcome, fired = self._fired(x, original)
        (effect,) = self.affects()
        return np.asarray((fired & ~np.isclose(x[..., effect], outcome, rtol=1e-5, atol=1e-8)).any(1))

    def affects(self) -> tuple[int, ...]:
        """The effect."""
        return (int(self.effect),)

    def follows(self) -> tuple[int, ...]:
        """The causes."""
        return tuple(map(int, self.causes))  # type: ignore[arg-type]

    def _fired(self, x: NDArray[Any], original: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """What the rule says ``(n, K)``, and where it fires ``(n, K)``."""
        causes = list(self.follows())
        outcome, at_rest = self.outcome(x), self.outcome(original[None])
        changed = (x[..., causes] != original[:, causes]) & ~np.isnan(original[:, causes])
        fired = changed.any(-1) | (outcome != at_rest)
        # A rule has nothing to say where a cause, or nothing to act on where the effect, is missing.
        return outcome, fired & ~np.isnan(outcome) & ~np.isnan(original[:, self.affects()[0]])

    def outcome(self, x: NDArray[Any]) -> NDArray[Any]:
        """What the effect should be in ``x (n, K, F)``: ``(n, K)``."""
        try:
            # Copies: what the user's function writes into its arguments must not reach a state.
            outcome = np.asarray(self.function(*(x[..., cause].copy() for cause in self.follows())))
        except Exception as cause:
            raise InvalidInputError(
                f"the causal rule of feature {self.effect} raised {type(cause).__name__}: {in_words(cause)}"
            ) from cause
        if outcome.shape != x.shape[:2] or outcome.dtype.kind not in "fiub":
            raise InvalidInputError(
                f"the causal rule of feature {self.effect} must return shape {x.shape[:2]} of numbers, "
                f"got {outcome.shape} of {outcome.dtype}."
            )
        return outcome.astype(x.dtype)


@dataclass(frozen=True)
class AtMost(Constraint):
    """`feature` is at most `limit`, another feature, at every step.

    It holds at every step where either of the two was changed, and so everywhere if the series
    obeyed it in the first place. Whichever was changed goes no further than the other (the first,
    if both were); a change that cannot be kept in order, for bounds, listed values or a causal
    rule, is not made at all.

    Parameters
    ----------
    feature, limit : str or int
        Two features, continuous or with listed values.

    Examples
    --------
    >>> order = AtMost("years in job", "age")
    """

    feature: str | int
    limit: str | int

    def bind(self, features: Features) -> AtMost:
        """The same with positions for names."""
        pair = features.index(self.feature), features.index(self.limit)
        if pair[0] == pair[1] or any(isinstance(features[i], OneHot) for i in pair):
            raise InvalidInputError(f"{self} needs two different features with an order, no one-hot group.")
        return AtMost(*pair)

    def project(self, x: NDArray[Any], original: NDArray[Any]) -> NDArray[Any]:
        """Changed cells no further than the feature that limits them."""
        low, high = self._positions
        broken, lower, upper = self._disordered(x, original), x[..., low], x[..., high]
        lowered = broken & (lower != original[:, low])
        raised = np.where(broken & ~lowered, lower, upper)
        x[..., low] = np.where(lowered, upper, lower)
        x[..., high] = raised
        return x

    def broken(self, x: NDArray[Any], original: NDArray[Any]) -> NDArray[np.bool_]:
        """Which states have a step at which a change left the feature above its limit."""
        return np.asarray(self._disordered(x, original).any(1))

    def _disordered(self, x: NDArray[Any], original: NDArray[Any]) -> NDArray[np.bool_]:
        """The steps at which a change left one feature above the other ``(n, K)``; never where one is missing."""
        low, high = self._positions
        changed = (x[..., [low, high]] != original[:, [low, high]]).any(-1)
        return np.asarray((x[..., low] > x[..., high]) & changed)

    @property
    def _positions(self) -> tuple[int, int]:
        return int(self.feature), int(self.limit)


def bound(constraints: Iterable[Any], features: Features) -> tuple[list[Constraint], list[Constraint]]:
    """The constraints bound to the features: those that move features, in their order; then those that compute them.

    The latter come causes before effects; raises on circles, on two for one effect, and on what is no constraint.
    """
    moving: list[Constraint] = []
    computing: dict[int, Constraint] = {}
    for given in constraints:
        if not isinstance(given, Constraint):
            raise InvalidInputError(f"constraints must be Causal, AtMost or another Constraint, got {given!r}.")
        constraint = called(f"{type(given).__name__}.bind", given.bind, features)
        for effect in constraint.affects():
            if effect in computing:
                raise InvalidInputError(f"two causal rules for {features.names[effect]!r}: give one of all its causes.")
            computing[effect] = constraint
        if not constraint.affects():
            moving.append(constraint)
    try:
        order = TopologicalSorter({effect: rule.follows() for effect, rule in computing.items()}).static_order()
        return moving, list({id(rule): rule for rule in (computing[i] for i in order if i in computing)}.values())
    except CycleError as cycle:
        raise InvalidInputError(f"causal rules go in a circle over features {cycle.args[1]}.") from None
