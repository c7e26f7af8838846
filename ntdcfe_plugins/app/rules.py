"""What may change: the rules that a person sets on the page, on top of those of the explainer."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import NTDCFE, Continuous, Feature, Features, InvalidInputError
from ntdcfe_plugins._shared.answer import value_in_words
from ntdcfe_plugins._shared.drawing import runs

Window = tuple[int, int]
DIRECTIONS = ("any", "rise", "fall")
# A window in text: one step, or the first and the last one.
WINDOW = re.compile(r"(\d{1,9})(?:\s*(?:-|to)\s*(\d{1,9}))?")


@dataclass(frozen=True)
class Rule:
    """What a person says of one feature.

    Parameters
    ----------
    may_change : bool
    low, high : float, optional
        Limits of every changed value.
    direction : {"any", "rise", "fall"}
    weight : float, optional
        What a unit of change costs; the explainer's if not given.
    """

    may_change: bool = True
    low: float | None = None
    high: float | None = None
    direction: str = "any"
    weight: float | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high", "weight"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise InvalidInputError(f"{name} must be a finite number, got {value!r}.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InvalidInputError(f"the lower limit {self.low:g} is above the upper one {self.high:g}.")
        if self.direction not in DIRECTIONS:
            raise InvalidInputError(f"direction must be one of {DIRECTIONS}, got {self.direction!r}.")
        if self.weight is not None and self.weight <= 0:
            raise InvalidInputError(f"weight must be positive, got {self.weight:g}.")


@dataclass(frozen=True)
class Rules:
    """What a person says of all features, and the windows of steps that may not change.

    Examples
    --------
    >>> rules = Rules().with_rule("speed", high=3.0).with_windows([(4, 9), (8, 12)])
    >>> rules.of("speed").high, rules.windows
    (3.0, ((4, 12),))
    """

    features: Mapping[str, Rule] = field(default_factory=dict)
    windows: tuple[Window, ...] = ()

    def of(self, name: str) -> Rule:
        """What is said of that feature."""
        return self.features.get(name, Rule())

    def with_rule(self, name: str, **said: Any) -> Rules:
        """The same, with something else said of one feature."""
        rule = replace(self.of(name), **said)
        others = {key: value for key, value in self.features.items() if key != name}
        return replace(self, features=others if rule == Rule() else {**others, name: rule})

    def with_windows(self, windows: Iterable[Window]) -> Rules:
        """The same with these windows ``(first, last)`` held fixed; those that meet become one."""
        merged: list[Window] = []
        for first, last in sorted(windows):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        return replace(self, windows=tuple(merged))

    def told(self, features: Features) -> list[str]:
        """The rules in words."""
        lines = [f"{windows_in_words(self.windows)}: no feature may change"] if self.windows else []
        for name, rule in self.features.items():
            feature = features[features.index(name)]
            said = [] if rule.may_change else ["may not change"]
            said += [f"at least {value_in_words(feature, rule.low)}"] if rule.low is not None else []
            said += [f"at most {value_in_words(feature, rule.high)}"] if rule.high is not None else []
            said += [f"may only {rule.direction}"] if rule.direction != "any" else []
            said += [f"weight {rule.weight:g}"] if rule.weight is not None else []
            lines.append(f"{name}: {', '.join(said)}")
        return lines

    def explainer(self, explainer: NTDCFE, features: Features, n_steps: int) -> NTDCFE:
        """The explainer with these rules on top of its own, for series of so many steps.

        Raises
        ------
        InvalidInputError
            If the rules leave nothing that may change.
        """
        mask = features.step_mask(n_steps)
        for first, last in self.windows:
            mask[first : last + 1] = False
        ruled = [_ruled(feature, self.of(name)) for name, feature in zip(features.names, features, strict=True)]
        if not mask.any():
            raise InvalidInputError("the rules leave no step that may change.")
        if not any(feature.role == "actionable" for feature in ruled):
            raise InvalidInputError("the rules leave no feature that may change.")
        asked = copy.copy(explainer)
        steps = features.actionable_steps if not self.windows else mask
        asked.features = Features(ruled, steps, features.step_names)
        return asked


def _ruled(feature: Feature, rule: Rule) -> Feature:
    """A feature with a rule on top of its own: what was forbidden stays so."""
    said: dict[str, Any] = {} if rule.weight is None else {"weight": rule.weight}
    if not rule.may_change and feature.role == "actionable":
        said["role"] = "immutable"
    if rule.direction != "any" and hasattr(feature, "direction"):
        said["direction"] = feature.direction or rule.direction
    if isinstance(feature, Continuous) and (rule.low is not None or rule.high is not None):
        low, high = feature.limits
        low, high = max(low, _or(rule.low, -math.inf)), min(high, _or(rule.high, math.inf))
        if low > high:
            raise InvalidInputError(f"{feature}: no value is left between {low:g} and {high:g}.")
        said["bounds"] = (None if math.isinf(low) else low, None if math.isinf(high) else high)
    return replace(feature, **said)


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def windows_of(text: str, n_steps: int) -> list[Window]:
    """The windows ``(first, last)`` that a person typed, such as "3-9, 20".

    Raises
    ------
    InvalidInputError
        If it cannot be read, or is outside the steps 0 to ``n_steps - 1``.
    """
    windows = []
    for part in filter(None, (part.strip() for part in re.split("[,;]", text))):
        match = WINDOW.fullmatch(part)
        if match is None:
            raise InvalidInputError(f"steps are typed like 3-9, 20; got {part!r}.")
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= first <= last < n_steps:
            raise InvalidInputError(f"steps go from 0 to {n_steps - 1}, the first one first; got {part!r}.")
        windows.append((first, last))
    return windows


def windows_in_words(windows: Iterable[Window]) -> str:
    """The windows as one types them."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in windows)


def windows_in(mask: NDArray[np.bool_]) -> list[Window]:
    """The windows ``(first, last)`` of a mask ``(K,)``."""
    return [(first, stop - 1) for first, stop in runs(mask)]
