"""Which predictions count as reached."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError, PredictorError
from ntdcfe.problem.labels import array_of, check_alike, check_known, check_numbers
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.score import lead, margin


class Target(ABC):
    """What the model should say.

    Make one with :meth:`label`, :meth:`labels`, :meth:`other`, :meth:`probability` or :meth:`interval`; ``explain``
    also takes a bare label, a collection of labels, or ``"other"``. Targets combine with ``&``: both have to be
    reached. A target of your own is a class with :meth:`reached`, and :meth:`score` if it can tell how near a
    prediction is.

    Examples
    --------
    >>> Target.label("grant") & Target.probability("grant", 0.8)
    Target.label('grant') & Target.probability('grant', 0.8)
    >>> Target.interval(None, 300)
    Target.interval(None, 300)
    """

    #: Whether the model's one-dimensional answers are values, not labels.
    regression = False
    #: Whether what is wanted depends on what the model says now.
    relative = False

    def __str__(self) -> str:
        return type(self).__name__

    @abstractmethod
    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        """Which of the n predictions are as wanted ``(n,)``."""

    def score(self, prediction: Prediction) -> NDArray[np.float64] | None:
        """How near each prediction is, 0 to 1 with the boundary at 0.5 ``(n,)``; None if labels are all we have."""
        return None

    def given(self, present: Prediction) -> Target:
        """This target for an instance that the model now predicts as `present` (of length 1)."""
        return self

    def check_classes(self, classes: NDArray[Any]) -> None:
        """Raise if this target names a label that is not among `classes`."""

    def check(self, prediction: Prediction) -> None:
        """Raise if the model's first prediction shows that it can never be as wanted."""
        if prediction.classes is not None:
            self.check_classes(prediction.classes)
        if self.regression:
            check_numbers(prediction.outcomes if prediction.classes is None else prediction.classes)

    def __and__(self, other: Target) -> Target:
        """Both have to be reached."""
        return _Both(self, other)

    def confident(self, at_least: float) -> Target:
        """This target of labels, with a probability of at least `at_least` of one of the labels wanted."""
        return _Confident(self, at_least)

    @staticmethod
    def label(label: Any) -> Target:
        """The class `label`."""
        return _Labels((label,))

    @staticmethod
    def labels(labels: Iterable[Any]) -> Target:
        """Any of several classes."""
        # A set has another order in every process, and the text of a target is part of a checkpoint.
        return _Labels(tuple(sorted(labels, key=repr) if isinstance(labels, (set, frozenset)) else labels))

    @staticmethod
    def other() -> Target:
        """Any class but the present one."""
        return _Other()

    @staticmethod
    def probability(label: Any, at_least: float) -> Target:
        """A probability of `label` of at least `at_least`, whichever class is the likeliest."""
        return _Probability(label, at_least)

    @staticmethod
    def interval(lower: float | None, upper: float | None) -> Target:
        """A value between `lower` and `upper`, both included; None leaves a side open."""
        return _Interval(-np.inf if lower is None else lower, np.inf if upper is None else upper)

    @staticmethod
    def of(wanted: Any, classes: Any = None) -> Target:
        """What a user wrote as a Target: one already, ``"other"``, a collection of labels, or a label.

        `classes` are the model's labels, where they are known: with one that is called "other", that has to be said.
        """
        if isinstance(wanted, str) and wanted == "other" and classes is not None and "other" in list(classes):
            raise InvalidInputError(
                "target 'other' may be the class of that name or any but the present one: say Target.label('other') "
                "or Target.other()."
            )
        if isinstance(wanted, Target):
            return wanted
        if isinstance(wanted, str):
            return Target.other() if wanted == "other" else Target.label(wanted)
        if isinstance(wanted, (list, tuple, set, frozenset, range)) or (isinstance(wanted, np.ndarray) and wanted.ndim):
            return Target.labels(wanted)
        if wanted is None:
            raise InvalidInputError("target must be a label, a collection of labels, 'other' or a Target, got None.")
        return Target.label(wanted)


def _plain(label: Any) -> Any:
    """A label as plain Python, so that np.int64(1) and 1 read the same."""
    return label.item() if isinstance(label, np.generic) else label


def _wanted(label: Any) -> Any:
    """A label that a model may say, as plain Python."""
    label = _plain(label)
    if label is None or (isinstance(label, float) and np.isnan(label)):
        raise InvalidInputError(
            f"target has {label!r} as a label, which no model says; a range is Target.interval(lower, upper)."
        )
    return label


def _checked_probability(at_least: Any) -> None:
    if not (isinstance(at_least, Real) and 0 < float(at_least) <= 1):
        raise InvalidInputError(f"at_least must be a probability above 0 and up to 1, got {at_least!r}.")


@dataclass(frozen=True, repr=False)
class _Labels(Target):
    wanted: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"Target.label({self.wanted[0]!r})" if len(self.wanted) == 1 else f"Target.labels({list(self.wanted)!r})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "wanted", tuple(_wanted(label) for label in self.wanted))
        if not self.wanted:
            raise InvalidInputError("target must name at least one class, got an empty collection.")

    def check(self, prediction: Prediction) -> None:
        super().check(prediction)
        if prediction.classes is None:
            check_alike(self.wanted, prediction.outcomes)

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        wanted = array_of(self.wanted)
        if len(wanted) == 1 and wanted.dtype.kind in "biuf" and prediction.outcomes.dtype.kind in "biuf":
            return np.asarray(prediction.outcomes == wanted[0])  # a tenth of the time of np.isin
        return np.isin(prediction.outcomes, wanted)

    def score(self, prediction: Prediction) -> NDArray[np.float64] | None:
        if prediction.classes is None:
            return None
        return margin(prediction, np.isin(prediction.classes, array_of(self.wanted)))

    def check_classes(self, classes: NDArray[Any]) -> None:
        check_known(self.wanted, classes)

    def __str__(self) -> str:
        return " or ".join(map(str, self.wanted))


@dataclass(frozen=True, repr=False)
class _Other(Target):
    present: Any = None

    relative = True

    def __repr__(self) -> str:
        return "Target.other()"

    def given(self, present: Prediction) -> Target:
        return _Other(_plain(present.outcomes[0]))

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return np.asarray(prediction.outcomes != self.present)

    def score(self, prediction: Prediction) -> NDArray[np.float64] | None:
        return None if prediction.classes is None else margin(prediction, prediction.classes != self.present)

    def __str__(self) -> str:
        return "another class" if self.present is None else f"any class but {self.present}"


@dataclass(frozen=True, repr=False)
class _Probability(Target):
    label_: Any
    at_least: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_", _wanted(self.label_))
        _checked_probability(self.at_least)

    def __repr__(self) -> str:
        return f"Target.probability({self.label_!r}, {self.at_least!r})"

    def _probability_of(self, prediction: Prediction) -> NDArray[np.float64]:
        if prediction.probabilities is None or prediction.classes is None:
            raise PredictorError(
                "the target asks for a probability, but the model returns labels only: "
                'pass predict_proba, or output="probability" for one column.'
            )
        return np.asarray(prediction.probabilities[:, np.flatnonzero(prediction.classes == self.label_)[0]])

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return self._probability_of(prediction) >= self.at_least

    def score(self, prediction: Prediction) -> NDArray[np.float64]:
        ours = self._probability_of(prediction)
        return lead(ours, np.full(len(ours), self.at_least), prediction.probabilities.shape[1])  # type: ignore[union-attr]

    def check_classes(self, classes: NDArray[Any]) -> None:
        check_known((self.label_,), classes)

    def __str__(self) -> str:
        return f"{self.label_} with a probability of at least {self.at_least:g}"


@dataclass(frozen=True, repr=False)
class _Interval(Target):
    lower: float
    upper: float
    unit: float = 1.0

    regression = True

    def __repr__(self) -> str:
        ends = (None if np.isinf(end) else end for end in (self.lower, self.upper))
        return f"Target.interval({', '.join(map(repr, ends))})"

    def __post_init__(self) -> None:
        if not (isinstance(self.lower, Real) and isinstance(self.upper, Real)):
            raise InvalidInputError(f"an interval needs numbers, got {self.lower!r} and {self.upper!r}.")
        if not (self.lower <= self.upper and self.lower < np.inf and self.upper > -np.inf):
            raise InvalidInputError(f"an interval needs lower <= upper, got {self.lower} and {self.upper}.")

    def _depth(self, prediction: Prediction) -> NDArray[np.float64]:
        """Distance to the nearer end, positive inside ``(n,)``."""
        values = np.asarray(prediction.outcomes, dtype=float)
        return np.minimum(values - self.lower, self.upper - values)

    def given(self, present: Prediction) -> Target:
        return _Interval(self.lower, self.upper, max(-float(self._depth(present)[0]), 1e-12))

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return self._depth(prediction) >= 0

    def score(self, prediction: Prediction) -> NDArray[np.float64]:
        return np.clip(0.5 + self._depth(prediction) / (2 * self.unit), 0, 1)

    def __str__(self) -> str:
        return f"a value from {self.lower:g} to {self.upper:g}"


@dataclass(frozen=True, repr=False)
class _Confident(Target):
    """A target that is reached with a probability of at least `at_least` only."""

    target: Target
    at_least: float

    def __post_init__(self) -> None:
        _checked_probability(self.at_least)

    def __repr__(self) -> str:
        return f"{self.target!r}.confident({self.at_least!r})"

    @property
    def relative(self) -> bool:  # type: ignore[override]
        return self.target.relative

    def given(self, present: Prediction) -> Target:
        return _Confident(self.target.given(present), self.at_least)

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return self.target.reached(prediction) & (self._lead(prediction) >= 0)

    def score(self, prediction: Prediction) -> NDArray[np.float64]:
        score, confident = self.target.score(prediction), 0.5 + self._lead(prediction) / 2
        return confident if score is None else np.minimum(score, confident)

    def check_classes(self, classes: NDArray[Any]) -> None:
        self.target.check_classes(classes)

    def _lead(self, prediction: Prediction) -> NDArray[np.float64]:
        if prediction.probabilities is None or prediction.classes is None:
            raise PredictorError(
                "the target asks for a probability, but the model returns labels only: pass one that returns "
                "probabilities."
            )
        wanted = self.target.reached(Prediction(prediction.classes))
        return np.asarray(prediction.probabilities[:, wanted].max(1) - self.at_least)

    def __str__(self) -> str:
        return f"{self.target} with a probability of at least {self.at_least:g}"


@dataclass(frozen=True, repr=False)
class _Both(Target):
    """Two targets, both of which have to be reached."""

    one: Target
    other_: Target

    def __repr__(self) -> str:
        return f"{self.one!r} & {self.other_!r}"

    @property
    def regression(self) -> bool:  # type: ignore[override]
        return self.one.regression or self.other_.regression

    @property
    def relative(self) -> bool:  # type: ignore[override]
        return self.one.relative or self.other_.relative

    def given(self, present: Prediction) -> Target:
        return _Both(self.one.given(present), self.other_.given(present))

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return self.one.reached(prediction) & self.other_.reached(prediction)

    def score(self, prediction: Prediction) -> NDArray[np.float64] | None:
        scores = [score for target in (self.one, self.other_) if (score := target.score(prediction)) is not None]
        return np.min(scores, axis=0) if scores else None

    def check_classes(self, classes: NDArray[Any]) -> None:
        self.one.check_classes(classes)
        self.other_.check_classes(classes)

    def __str__(self) -> str:
        return f"{self.one} and {self.other_}"
