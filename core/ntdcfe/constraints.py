"""Causal rules: a feature as a function of others, kept true by every change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.features import Features


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
class BoundRule:
    """A causal rule whose features are positions."""

    effect: int
    causes: tuple[int, ...]
    function: Callable[..., Any]

    def outcome(self, x: NDArray[Any]) -> NDArray[Any]:
        """What the effect should be in ``x (n, K, F)``: ``(n, K)``."""
        outcome = np.asarray(self.function(*(x[..., cause] for cause in self.causes)), dtype=x.dtype)
        if outcome.shape != x.shape[:2]:
            raise InvalidInputError(
                f"the causal rule of feature {self.effect} must return shape {x.shape[:2]}, got {outcome.shape}."
            )
        return outcome


def in_causal_order(constraints: Sequence[Causal], features: Features) -> list[BoundRule]:
    """The rules with positions for names, causes before effects; raises on cycles and clashes."""
    rules: dict[int, BoundRule] = {}
    for rule in constraints:
        if not isinstance(rule, Causal):
            raise InvalidInputError(f"constraints must be Causal rules, got {rule!r}.")
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
