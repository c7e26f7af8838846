"""Changes in words that a person can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.feature import OneHot
from ntdcfe.problem.features import Features

# Runs of a feature that are told one by one; a feature changed in more places gets one sentence.
MOST_RUNS = 2


class Change(NamedTuple):
    """One feature changed over consecutive steps, `first_step` to `last_step` included.

    `before` and `after` have one value a step (the position of the category for a one-hot group).
    """

    feature: str
    first_step: int
    last_step: int
    before: NDArray[Any]
    after: NDArray[Any]
    text: str

    def __str__(self) -> str:
        return self.text


def sentences(runs: Sequence[Change], features: Features) -> list[str]:
    """The changes in words; a feature changed in many places gets one sentence."""
    by_feature: dict[str, list[Change]] = {}
    for change in runs:
        by_feature.setdefault(change.feature, []).append(change)
    told: list[str] = []
    for name, some in by_feature.items():
        if len(some) <= MOST_RUNS:
            told += map(str, some)
            continue
        before, after = (np.concatenate([getattr(run, side) for run in some]) for side in ("before", "after"))
        where = f" at {len(before)} steps between {some[0].first_step} and {some[-1].last_step}"
        told.append(_in_words(features, features.index(name), where, before, after))
    return told


def outcome_in_words(outcome: Any) -> str:
    """A label, or a value with as many digits as a person reads."""
    return f"{outcome:.4g}" if isinstance(outcome, float) else str(outcome)


def changes(original: NDArray[Any], x: NDArray[Any], features: Features) -> tuple[Change, ...]:
    """Runs of changed steps between two states ``(K, F)``, feature by feature."""
    differs = (x != original) & ~np.isnan(original)  # a missing cell stays missing
    changed = np.pad(differs, ((1, 1), (0, 0))).astype(np.int8)
    edges = np.diff(changed, axis=0)  # 1 where a run starts, -1 behind its end
    found = []
    for i in np.flatnonzero(edges.any(0)):
        for first, stop in zip(np.flatnonzero(edges[:, i] == 1), np.flatnonzero(edges[:, i] == -1), strict=True):
            before, after = original[first:stop, i].copy(), x[first:stop, i].copy()
            when = f" at step {first}" if stop - first == 1 else f" from step {first} to {stop - 1}"
            text = _in_words(features, int(i), "" if len(x) == 1 else when, before, after)
            found.append(Change(features.names[i], int(first), int(stop - 1), before, after, text))
    return tuple(found)


def _in_words(features: Features, i: int, when: str, before: NDArray[Any], after: NDArray[Any]) -> str:
    feature, name = features[i], repr(features.names[i])
    if feature.choices is not None:
        verb = "switch" if isinstance(feature, OneHot) else "set"
        old, new = (
            " / ".join(feature.describe(value) for value in dict.fromkeys(values.tolist()))
            for values in (before, after)
        )
        return f"{verb} {name} from {old} to {new}{when}"
    difference = after - before
    verb = "raise" if (difference > 0).all() else "lower" if (difference < 0).all() else "move"
    size = np.abs(difference)
    by = f"{size.mean():.4g}" + ("" if np.ptp(size) < 5e-4 * size.mean() else " on average")
    mean = "" if len(before) == 1 else "mean "
    return f"{verb} {name} by {by}{when} ({mean}{before.mean():.4g} to {after.mean():.4g})"
