"""One target for each series of a panel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ntdcfe import InvalidInputError, Target
from ntdcfe_plugins._shared.arguments import targets_of
from ntdcfe_plugins.sktime.model import Model


def targets_for(model: Model, target: Any, n: int) -> list[Target]:
    """One target for each of n instances.

    Parameters
    ----------
    model : Model
    target : label, list of labels, "other", interval, Target, or one for each instance
        See :meth:`ntdcfe_plugins.sktime.CounterfactualExplainer.explain`.
    n : int

    Raises
    ------
    InvalidInputError
        A target does not suit the model, or their number is not n.
    """
    targets = targets_of("target", target, n) or [_target(model, wanted) for wanted in _wanted(target, n)]
    for each in targets:
        if each.regression != model.regression:
            kind = "regressor: give an interval (lower, upper)" if model.regression else "classifier: give a label"
            raise InvalidInputError(f"target must suit a {kind}, got {str(each)!r}.")
        if model.classes is not None:
            each.check_classes(model.classes)
    return targets


def _wanted(target: Any, n: int) -> list[Any]:
    """What is wanted of each instance, in the user's terms."""
    target = target.item() if isinstance(target, np.ndarray) and not target.ndim else target
    each = isinstance(target, (pd.Series, np.ndarray)) or (
        isinstance(target, list) and bool(target) and all(isinstance(entry, (Target, tuple)) for entry in target)
    )
    wanted = list(target) if each else [target] * n
    if len(wanted) != n:
        raise InvalidInputError(f"target must have one entry an instance: {n} instances, {len(wanted)} targets.")
    return wanted


def _target(model: Model, wanted: Any) -> Target:
    if model.regression and isinstance(wanted, (tuple, list, np.ndarray)) and len(wanted) == 2:
        return Target.interval(*wanted)
    return Target.of(wanted)
