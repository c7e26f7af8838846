"""The targets of an alibi explainer, in alibi's words or as the engine's targets."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from alibi.exceptions import PredictorReturnTypeError
from numpy.typing import ArrayLike

from ntdcfe import InvalidInputError, Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.arguments import targets_of


class Goal(NamedTuple):
    """The target of one instance, and its label where a single one is wanted."""

    target: Target
    label: Any = None


@dataclass(frozen=True)
class Targets:
    """The targets that an explainer was given when it was made; for the parameters see the explainer's."""

    target_class: Any
    target_proba: float | None
    target_interval: Any

    @property
    def given(self) -> list[Target]:
        """The engine's targets among them; empty where alibi's words are used."""
        several = self.target_class if isinstance(self.target_class, (list, tuple)) else [self.target_class]
        return list(several) if several and all(isinstance(target, Target) for target in several) else []

    @property
    def regression(self) -> bool:
        """Whether the targets are of a regression."""
        return self.target_interval is not None or any(target.regression for target in self.given)

    def check(self, output: str) -> None:
        """Raise if a target is wrong whatever the instance is."""
        if self.target_proba is not None and not (isinstance(self.target_proba, Real) and 0 < self.target_proba <= 1):
            raise InvalidInputError(f"target_proba must be above 0 and up to 1, got {self.target_proba!r}.")
        if self.given and (self.target_proba is not None or self.target_interval is not None):
            raise InvalidInputError(
                "target_proba and target_interval must be left out beside a Target: target.confident(...) and "
                "Target.interval(...) mean the same."
            )
        if self.target_interval is not None:
            given = self.target_interval
            pair = given.tolist() if isinstance(given, np.ndarray) else given
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise InvalidInputError(f"target_interval must be (low, high), got {pair!r}.")
            Target.interval(*pair)
        if self.regression and output != "values":
            raise InvalidInputError(
                f"target_interval, or a Target of values, is of a regression: output must be 'values', got {output!r}."
            )

    def goals(self, Y_t: ArrayLike | None, first: Prediction, regression: bool) -> list[Goal]:
        """The goal of each instance, from the first look at the instances; `Y_t` takes the place of other targets."""
        n = len(first)
        if Y_t is None and (targets := targets_of("target_class", self.target_class, n)) is not None:
            return [Goal(target) for target in targets]
        if regression:
            goals = [Goal(Target.interval(*pair)) for pair in _intervals(self.target_interval, Y_t)]
        elif Y_t is not None:
            goals = [self._goal((_of_the_model(label, first),), first) for label in _labels(Y_t, first)]
        else:
            self._check_words(first)
            return [self._goal(self._wanted(present, first), first) for present in first.outcomes.tolist()]
        if len(goals) not in (1, n):
            raise InvalidInputError(f"Y_t must have 1 row or one an instance ({n}), got {len(goals)}.")
        return goals * n if len(goals) == 1 else goals

    def _goal(self, labels: tuple[Any, ...] | None, first: Prediction) -> Goal:
        """The goal of those labels, or of any class but the present one."""
        target = Target.other() if labels is None else Target.labels(labels)
        if self.target_proba is not None:
            if first.probabilities is None:
                raise PredictorReturnTypeError(
                    "target_proba needs a predictor of probabilities; this one returns labels."
                )
            target = target.confident(self.target_proba)
        return Goal(target, labels[0] if labels is not None and len(labels) == 1 else None)

    def _check_words(self, first: Prediction) -> None:
        """Raise if a word of alibi's is also the name of a class: it is not clear which of both is meant."""
        word = self.target_class
        known = (first.outcomes if first.classes is None else first.classes).tolist()
        if isinstance(word, str) and word in ("other", "same") and word in known:
            meant = "Target.other()" if word == "other" else "Y_t with the present labels"
            raise InvalidInputError(
                f"target_class={word!r} is a word of alibi's and a class of this predictor: say "
                f"Target.label({word!r}) for the class, or {meant} for the word."
            )

    def _wanted(self, present: Any, first: Prediction) -> tuple[Any, ...] | None:
        """The labels that are wanted of an instance of class `present`; None for any other class."""
        wanted = self.target_class
        if isinstance(wanted, str) and wanted == "same":
            return (present,)
        if isinstance(wanted, str) and wanted == "other":
            classes = first.classes
            others = [] if classes is None else [label for label in classes.tolist() if label != present]
            return (others[0],) if len(others) == 1 else None
        if isinstance(wanted, np.ndarray):
            wanted = wanted.tolist()
        several = isinstance(wanted, (list, tuple, set, frozenset, range))
        labels = tuple(_plain(label) for label in (wanted if several else (wanted,)))
        if any(isinstance(label, (list, tuple, dict, Target)) for label in labels):
            raise InvalidInputError(
                f"target_class must be a label, a collection of labels, or Targets, got {self.target_class!r}."
            )
        return tuple(_of_the_model(label, first) for label in labels)


def _of_the_model(label: Any, first: Prediction) -> Any:
    """A label in the type of the predictor's own: "1" is 1 where its labels are numbers, and 1 is "1" where text.

    Raises
    ------
    InvalidInputError
        The predictor's labels are of another type.
    """
    seen = first.outcomes if first.classes is None else first.classes
    known = seen.tolist()
    if label in known:
        return label
    same = [other for other in known if str(other) == str(label)]
    text = seen.dtype.kind in "US" or (seen.dtype.kind == "O" and all(isinstance(other, str) for other in known))
    if same:
        return same[0]
    if first.classes is not None or isinstance(label, str) == text:
        return label  # the engine checks it against the classes; a label may also not have been seen yet
    if text:
        return str(label)
    try:
        return type(known[0])(label)
    except (TypeError, ValueError):
        given = ", ".join(dict.fromkeys(map(repr, known)))
        raise InvalidInputError(f"target {label!r} is no label of the predictor, which gives {given}.") from None


def _plain(label: Any) -> Any:
    return label.tolist() if isinstance(label, (np.generic, np.ndarray)) else label


def _labels(wanted: ArrayLike, first: Prediction) -> list[Any]:
    """Labels from labels ``(), (n,), (n, 1)`` or from one-hot rows ``(n, C)``."""
    try:
        Y_t = np.asarray(wanted)
    except ValueError:
        raise InvalidInputError(f"Y_t must be labels (n,) or one-hot (n, C), got {wanted!r}.") from None
    if Y_t.ndim > 2 or Y_t.size == 0 or (Y_t.dtype.kind == "f" and np.isnan(Y_t).any()):
        raise InvalidInputError(f"Y_t must be labels (n,) or one-hot (n, C), got {wanted!r} of shape {Y_t.shape}.")
    if Y_t.ndim == 2 and Y_t.shape[1] > 1:
        classes = np.arange(Y_t.shape[1]) if first.classes is None else first.classes
        if Y_t.dtype.kind not in "fiub":
            raise InvalidInputError(f"Y_t of several columns must be one-hot numbers, got {Y_t.dtype}.")
        if Y_t.shape[1] != len(classes):
            raise InvalidInputError(f"Y_t has {Y_t.shape[1]} columns, the predictor {len(classes)} classes.")
        return list(classes[Y_t.argmax(1)].tolist())
    whole = Y_t.dtype.kind == "f" and first.outcomes.dtype.kind in "iu" and (Y_t == Y_t.round()).all()
    return list((Y_t.astype(int) if whole else Y_t).reshape(-1).tolist())


def _intervals(target_interval: Any, Y_t: ArrayLike | None) -> list[tuple[float | None, float | None]]:
    """Ends of intervals, None for an open side."""
    if Y_t is None and target_interval is None:
        raise InvalidInputError("a regression needs target_interval=(low, high), or intervals as Y_t.")
    try:
        intervals = np.asarray([target_interval] if Y_t is None else Y_t, dtype=float)  # None becomes NaN
    except (TypeError, ValueError):
        raise InvalidInputError(f"Y_t of a regression must be intervals of numbers, got {Y_t!r}.") from None
    if intervals.ndim != 2 or intervals.shape[1] != 2:
        raise InvalidInputError(f"Y_t of a regression must be intervals (1, 2) or (N, 2), got {intervals.shape}.")
    return [(None if np.isnan(low) else low, None if np.isnan(high) else high) for low, high in intervals.tolist()]
