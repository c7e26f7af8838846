"""The targets of a call to DiCE: a desired class, a desired range, or targets of the engine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Target
from ntdcfe.problem.prediction import Prediction


class Goal(NamedTuple):
    """The target of one query, and its name in DiCE's results."""

    target: Target
    name: Any


def goals_of(
    targets: Sequence[Target] | None,
    desired_class: Any,
    desired_range: Sequence[float] | None,
    stopping_threshold: float,
    present: Prediction,
    infer: Callable[[Any, Any, int], int],
) -> list[Goal]:
    """The goal of each query.

    Parameters
    ----------
    targets : sequence of Target, optional
        One for each query, in place of the three arguments that follow.
    desired_class : int, label or "opposite"
    desired_range : (lower, upper), optional
        Of a regressor.
    stopping_threshold : float
        Above 0.5 the least probability of a desired class.
    present : Prediction
        The model's predictions of the queries.
    infer : callable
        DiCE's check of a class that is neither an index nor a label.
    """
    if targets is not None:
        return [Goal(target, str(target)) for target in targets]
    if present.probabilities is None or present.classes is None:
        assert desired_range is not None
        name = None if desired_class is None else _name(desired_class)  # it has no effect, and is still in the JSON
        return [Goal(Target.interval(*desired_range), name)] * len(present)
    labels = present.classes
    wanted = _class_index(desired_class, labels, infer)
    goals = []
    for now in present.probabilities.argmax(1):
        columns = np.delete(np.arange(len(labels)), now) if wanted is None else np.array([wanted])
        target = Target.labels(labels[columns].tolist())
        name = _name(labels[columns[0]]) if len(columns) == 1 else f"not {labels[now]}"
        goals.append(Goal(target.confident(stopping_threshold) if stopping_threshold > 0.5 else target, name))
    return goals


def _class_index(desired_class: Any, labels: NDArray[Any], infer: Callable[[Any, Any, int], int]) -> int | None:
    """A class index as DiCE takes it, or the index of a label; None for "opposite"."""
    if isinstance(desired_class, str) and desired_class == "opposite":
        return None
    if isinstance(desired_class, np.integer):
        desired_class = int(desired_class)
    matches = [i for i, label in enumerate(labels.tolist()) if label == desired_class]
    if isinstance(desired_class, int) and 0 <= desired_class < len(labels):
        if matches not in ([], [desired_class]):
            warnings.warn(
                f"desired_class={desired_class} is taken as an index, as in DiCE: class {labels[desired_class]}.",
                stacklevel=5,
            )
        return int(desired_class)
    return matches[0] if matches else int(infer(desired_class, None, len(labels)))


def _name(label: Any) -> str | int:
    """A label as DiCE's JSON takes it."""
    return int(label) if isinstance(label, (int, np.integer)) and not isinstance(label, bool) else str(label)
