"""What features owe to each other: causal rules and orders, kept true by every change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.features import Features, OneHot


@dataclass(frozen=True)
class Causal:
    """`effect` is `function` of `causes`: whoever changes a cause changes the effect with it.

    The rule fires at the cells whose causes were changed, and where its outcome differs from
    the one for the original series (so that lagged rules reach later steps). A series that
    nobody changed is never touched, even if it does not obey the rule.

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


@dataclass(frozen=True)
class AtMost:
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


Constraint: TypeAlias = Causal | AtMost


@dataclass(frozen=True)
class BoundRule:
    """A causal rule whose features are positions."""

    effect: int
    causes: tuple[int, ...]
    function: Callable[..., Any]

    def outcome(self, x: NDArray[Any]) -> NDArray[Any]:
        """What the effect should be in ``x (n, K, F)``: ``(n, K)``."""
        try:
            outcome = np.asarray(self.function(*(x[..., cause] for cause in self.causes)))
        except Exception as cause:
            raise InvalidInputError(
                f"the causal rule of feature {self.effect} raised {type(cause).__name__}: {cause}"
            ) from cause
        if outcome.shape != x.shape[:2] or outcome.dtype.kind not in "fiub":
            raise InvalidInputError(
                f"the causal rule of feature {self.effect} must return shape {x.shape[:2]} of numbers, "
                f"got {outcome.shape} of {outcome.dtype}."
            )
        return outcome.astype(x.dtype)


def orders(constraints: Sequence[Constraint], features: Features) -> list[tuple[int, int]]:
    """The positions (lower, upper) of every AtMost; raises on features that have no order."""
    pairs = []
    for order in constraints:
        if isinstance(order, AtMost):
            pair = features.index(order.feature), features.index(order.limit)
            if pair[0] == pair[1] or any(isinstance(features[i], OneHot) for i in pair):
                raise InvalidInputError(f"{order} needs two different features with an order, no one-hot group.")
            pairs.append(pair)
    return pairs


def in_causal_order(constraints: Sequence[Constraint], features: Features) -> list[BoundRule]:
    """The causal rules with positions for names, causes before effects; raises on cycles and clashes."""
    rules: dict[int, BoundRule] = {}
    for rule in constraints:
        if isinstance(rule, AtMost):
            continue
        if not isinstance(rule, Causal):
            raise InvalidInputError(f"constraints must be Causal or AtMost, got {rule!r}.")
        assert not isinstance(rule.causes, (str, int))
        effect, causes = features.index(rule.effect), tuple(features.index(c) for c in rule.causes)
        if features[effect].role == "immutable":
            raise InvalidInputError(f"a causal rule would change {features.names[effect]!r}, which is immutable.")
        if effect in rules:
            raise InvalidInputError(f"two causal rules for {features.names[effect]!r}: give one of all its causes.")
        rules[effect] = BoundRule(effect, causes, rule.function)
    try:
        order = TopologicalSorter({effect: rule.causes for effect, rule in rules.items()}).static_order()
        return [rules[i] for i in order if i in rules]
    except CycleError as cycle:
        raise InvalidInputError(f"causal rules go in a circle over features {cycle.args[1]}.") from None
