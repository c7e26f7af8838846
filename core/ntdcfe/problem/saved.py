"""A counterfactual in plain JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import PredictorError, in_words
from ntdcfe.problem.codec import (
    plain,
    plain_array,
    plain_difference,
    plain_features,
    undifference,
    unplain,
    unplain_array,
    unplain_features,
)
from ntdcfe.problem.contribution import Contribution
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.features import Features
from ntdcfe.problem.option import Option
from ntdcfe.problem.survival import Survived
from ntdcfe.problem.words import changes

if TYPE_CHECKING:
    from ntdcfe.counterfactual import Counterfactual

# Fields that a result of an earlier version lacks; they have defaults.
NEWEST = ("wanted", "converged")


def as_plain(cf: Counterfactual, names: Sequence[str], with_series: bool) -> dict[str, Any]:
    """The fields called `names` as they are, and those that are arrays, as differences from the original."""
    entry: dict[str, Any] = {}
    if with_series:
        entry |= {"original": plain_array(cf.original), "features": plain_features(cf.features)}
    entry |= {name: plain(getattr(cf, name)) for name in names}
    entry["candidates"] = [plain_difference(x, cf.original) for x in cf.candidates]
    entry["options"] = {kind: option.to_dict(cf.original) for kind, option in cf.options.items()}
    entry["near_miss"] = None if cf.near_miss is None else plain_difference(cf.near_miss, cf.original)
    entry["cause"] = None if cf.cause is None else in_words(cf.cause)
    return entry


def from_plain(
    entry: Mapping[str, Any], names: Sequence[str], original: NDArray[Any] | None, features: Features | None
) -> dict[str, Any]:
    """The fields of a counterfactual that :func:`as_plain` was called on; its `history` as plain tuples."""
    original = unplain_array(entry["original"]) if original is None else original
    features = unplain_features(entry["features"]) if features is None else features
    values = {name: unplain(entry[name]) for name in names if name not in NEWEST or name in entry}
    values["edits"] = tuple(Edit(*edit) for edit in values["edits"])
    values["contributions"] = tuple(Contribution(*each) for each in values["contributions"])
    values["survival"] = None if values["survival"] is None else Survived(*values["survival"])
    candidates = tuple(undifference(x, original) for x in entry["candidates"])
    x = candidates[0] if candidates else None
    before, after = (None if a is None else features.encode(np.atleast_2d(a)) for a in (original, x))
    return {
        **values,
        "original": original,
        "features": features,
        "x": None if x is None else x.copy(),
        "candidates": candidates,
        "options": {kind: Option.from_dict(option, original) for kind, option in entry["options"].items()},
        "changes": () if before is None or after is None else changes(before, after, features),
        "near_miss": None if entry["near_miss"] is None else undifference(entry["near_miss"], original),
        "cause": None if entry["cause"] is None else PredictorError(entry["cause"]),
    }
