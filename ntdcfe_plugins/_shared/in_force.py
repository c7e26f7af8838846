"""The rules that were in force, in words: what may change, within which limits, and what was held fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ntdcfe import AtMost, Causal, Continuous, Counterfactual, Feature, Features
from ntdcfe_plugins._shared.answer import value_in_words
from ntdcfe_plugins._shared.drawing import runs

if TYPE_CHECKING:
    from ntdcfe import NTDCFE


def rules_of(features: Features) -> list[dict[str, Any]]:
    """Features with the same rules together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, feature in zip(features.names, features, strict=True):
        groups.setdefault((_MAY[feature.role], _limits(feature)), []).append(name)
    return [{"names": names, "may_change": may, "limits": limits} for (may, limits), names in groups.items()]


_MAY = {"actionable": "yes", "non_actionable": "only by a rule", "immutable": "no: held fixed"}


def _limits(feature: Feature) -> str:
    """Bounds, direction, listed values and weight, in words."""
    told = []
    if feature.choices is not None:
        told.append("one of " + ", ".join(feature.describe(value) for value in feature.choices))
    elif isinstance(feature, Continuous):
        low, high = (None if np.isinf(limit) else value_in_words(feature, limit) for limit in feature.limits)
        told += [f"at least {low}"] if low is not None else []
        told += [f"at most {high}"] if high is not None else []
        told += [] if feature.precision is None else [f"{feature.precision} decimals"]
    direction = getattr(feature, "direction", None)
    told += [] if direction is None else [f"may only {direction}"]
    return ", ".join(told + ([] if feature.weight == 1 else [f"weight {feature.weight:g}"]))


def fixed_steps(cf: Counterfactual) -> str:
    """The steps that could not be changed, in words."""
    if cf.original.ndim == 1:
        return ""
    name = cf.features.step_name
    fixed = [
        name(first) if stop == first + 1 else f"{name(first)} to {name(stop - 1, bare=True)}"
        for first, stop in runs(~cf.features.step_mask(len(cf.original)))
    ]
    return f"held fixed in time: {', '.join(fixed)}" if fixed else ""


def constraints_of(features: Features, explainer: NTDCFE | None) -> list[str]:
    """The rules between features, in words."""
    told = []
    for rule in () if explainer is None else explainer.constraints:
        if isinstance(rule, Causal):
            causes = [rule.causes] if isinstance(rule.causes, (str, int)) else rule.causes
            told.append(f"{_name(features, rule.effect)} follows from {', '.join(_name(features, c) for c in causes)}")
        elif isinstance(rule, AtMost):
            told.append(f"{_name(features, rule.feature)} is at most {_name(features, rule.limit)}")
        else:
            told.append(f"a rule of the user's own: {rule!r}")
    if explainer is not None and explainer.plausible is not None:
        told.append("answers had to pass a test of plausibility")
    return told


def _name(features: Features, name: str | int) -> str:
    return repr(features.names[features.index(name)])
