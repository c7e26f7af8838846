"""What one tab remembers: what is picked, frozen, asked, answered, tried and bookmarked. Plain Python, no widgets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe import NTDCFE, Counterfactual, InvalidInputError, Progress, Target
from ntdcfe_plugins._shared.answer import Answer, answer_of, answers_of
from ntdcfe_plugins.app.model import Subject
from ntdcfe_plugins.app.rules import Rules, Window, windows_of

Phase = Literal["idle", "asking", "stopping"]
KINDS = ("simplest", "nearest", "sturdiest")
# A tab keeps no more bookmarks than this.
MOST_BOOKMARKS = 50
# The most rows that a person may let the model be asked.
MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class Question:
    """What is asked: all that the search needs, fixed when it begins."""

    index: int
    x: NDArray[Any]
    target: Target
    explainer: NTDCFE
    prefer: str
    max_rows: int | None
    rules: Rules
    wanted: Any
    interval: tuple[float | None, float | None]


class Bookmark(NamedTuple):
    """An answer that was kept, with the question."""

    name: str
    question: Question
    cf: Counterfactual
    option: str


class Remembered:
    """What one tab remembers, and what follows from it.

    Parameters
    ----------
    subject : Subject

    Attributes
    ----------
    index : int
        The series that is picked.
    wanted : label or None
        The label that is wanted; None for any other than the present one.
    interval : (float or None, float or None)
        What is wanted of a model of values.
    rules : Rules
    prefer : {"simplest", "nearest", "sturdiest"}
    max_rows : int or None
    phase : {"idle", "asking", "stopping"}
    question, cf : Question and Counterfactual, or None
        What was asked last, and the answer.
    option : str
        Which of the options is shown.
    trial : array (K, F)
        The series that a person tries values in, one value a feature.
    bookmarks : list of Bookmark
    compared : int or None
        The bookmark that is shown beside the answer.
    message : str
        What has to be said: an error, or that something was saved; empty if nothing.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.index = 0
        self.wanted: Any = None
        self.interval: tuple[float | None, float | None] = (None, None)
        self.rules = Rules()
        settings = subject.explainer.settings
        self.prefer: str = settings.prefer
        self.max_rows = settings.max_rows
        self.phase: Phase = "idle"
        self.progress: Progress | None = None
        self.question: Question | None = None
        self.cf: Counterfactual | None = None
        self.option = ""
        self.bookmarks: list[Bookmark] = []
        self.compared: int | None = None
        self.message = subject.failure
        self.trial = self.original

    @property
    def x(self) -> NDArray[Any]:
        """The series that is picked ``(K, D)``, or the row ``(D,)``."""
        return self.subject.X[self.index]

    @property
    def original(self) -> NDArray[Any]:
        """The same with one value a feature ``(K, F)``."""
        return self.subject.state(self.x)

    @property
    def answers(self) -> dict[str, Answer]:
        """The options of the last answer by their names; the answer itself where there are none."""
        if self.cf is None or not self.cf.found or self.cf.status == "already_target":
            return {}
        return answers_of(self.cf) or {"answer": answer_of(self.cf)}

    @property
    def shown(self) -> Answer | None:
        """The option that is shown."""
        return self.answers.get(self.option)

    @property
    def beside(self) -> Answer | None:
        """The bookmark that is shown beside it, if it is of the same series."""
        if self.compared is None:
            return None
        mark = self.bookmarks[self.compared]
        return _of(mark.cf, mark.option) if mark.question.index == self.index else None

    @property
    def stale(self) -> bool:
        """Whether something else would be asked now than what was answered."""
        if self.question is None or self.cf is None:
            return False
        try:
            now = self._asked()
        except InvalidInputError:
            return True
        before = self.question
        return (now.rules, repr(now.target), now.prefer, now.max_rows) != (
            before.rules, repr(before.target), before.prefer, before.max_rows
        )  # fmt: skip

    def _asked(self) -> Question:
        subject = self.subject
        if not subject.regression:
            target = Target.other() if self.wanted is None else Target.label(self.wanted)
        elif self.interval == (None, None):
            raise InvalidInputError("say what is wanted: at least, at most, or both.")
        else:
            target = Target.interval(*self.interval)
        ruled = self.rules.explainer(subject.explainer, subject.features, subject.n_steps)
        return Question(
            self.index, self.x, target, ruled, self.prefer, self.max_rows, self.rules, self.wanted, self.interval
        )


class State(Remembered):
    """The state of one tab: what a person does changes it."""

    def pick(self, index: int) -> None:
        """Pick a series; the answer to another one is gone."""
        if not 0 <= index < len(self.subject.X):
            raise InvalidInputError(f"there are {len(self.subject.X)} series, got {index}.")
        self._idle()
        self.index, self.question, self.cf, self.option, self.message = index, None, None, "", ""
        self.trial = self.original

    def want(self, label: Any) -> None:
        """Want a label; None for any other than the present one."""
        if label is not None and label not in self.subject.classes:
            raise InvalidInputError(f"the model does not know the label {label!r}.")
        self.wanted = label

    def want_between(self, low: float | None, high: float | None) -> None:
        """Want a value between two limits, for a model of values."""
        if any(limit is not None and not math.isfinite(limit) for limit in (low, high)):
            raise InvalidInputError("the limits of what is wanted must be finite numbers.")
        if low is not None and high is not None and low > high:
            raise InvalidInputError(f"the lower limit {low:g} is above the upper one {high:g}.")
        self.interval = (low, high)

    def rule(self, name: str, **said: Any) -> None:
        """Say something of a feature, see :class:`ntdcfe_plugins.app.rules.Rule`."""
        self.subject.features.index(name)
        self.rules = self.rules.with_rule(name, **said)

    def freeze(self, first: float, last: float) -> Window | None:
        """Hold a brushed window of steps fixed, beside the others; None if it is outside the series."""
        first, last = sorted((first, last))
        window = max(0, math.ceil(first)), min(self.subject.n_steps - 1, math.floor(last))
        if window[0] > window[1]:
            return None
        self.rules = self.rules.with_windows([*self.rules.windows, window])
        return window

    def freeze_text(self, text: str) -> None:
        """Hold the typed windows of steps fixed, and no others."""
        self.rules = self.rules.with_windows(windows_of(text, self.subject.n_steps))

    def free(self) -> None:
        """Forget all rules of the page; those of the explainer stay."""
        self.rules = Rules()

    def allow_rows(self, rows: int | None) -> None:
        """How many rows the model may be asked."""
        if rows is not None and not 1 <= rows <= MOST_ROWS:
            raise InvalidInputError(f"rows must be from 1 to {MOST_ROWS}, got {rows}.")
        self.max_rows = rows

    def begin(self) -> Question:
        """Begin to ask.

        Raises
        ------
        InvalidInputError
            If the rules leave nothing to change, the target is not said, or the last question is not answered yet.
        """
        self._idle()
        self.question = self._asked()
        self.phase, self.progress, self.message = "asking", None, ""
        return self.question

    def stop(self) -> None:
        """Ask for the end of the search; it ends after the present call to the model."""
        if self.phase == "asking":
            self.phase = "stopping"

    def finish(self, cf: Counterfactual) -> None:
        """The search has ended."""
        self.phase, self.cf, self.message = "idle", cf, ""
        names = list(self.answers)
        self.option = next((name for name in names if self.answers[name].same_as(cf)), names[0] if names else "")
        self.restart(from_answer=True)

    def fail(self, why: str) -> None:
        """The search has failed."""
        self.phase, self.cf, self.option, self.message = "idle", None, "", why

    def show(self, option: str) -> None:
        """Show one of the options."""
        if option not in self.answers:
            raise InvalidInputError(f"there is no option {option!r}.")
        self.option = option
        self.restart(from_answer=True)

    def bookmark(self) -> Bookmark:
        """Keep the option that is shown."""
        if self.shown is None or self.cf is None or self.question is None:
            raise InvalidInputError("there is no answer to keep yet.")
        if len(self.bookmarks) >= MOST_BOOKMARKS:
            raise InvalidInputError(f"there are {MOST_BOOKMARKS} bookmarks already: remove one first.")
        last = max([int(mark.name.split(".")[0]) for mark in self.bookmarks], default=0)
        name = f"{last + 1}. {self.subject.names[self.index]}, {self.cf.target}, {self.option}"
        self.bookmarks.append(Bookmark(name, self.question, self.cf, self.option))
        return self.bookmarks[-1]

    def compare(self, place: int | None) -> None:
        """Show a bookmark beside the answer, or none."""
        if place is not None and not 0 <= place < len(self.bookmarks):
            raise InvalidInputError(f"there is no bookmark {place}.")
        self.compared = place

    def remove(self, place: int) -> None:
        """Forget a bookmark."""
        self.compare(place)
        self.compared = None
        del self.bookmarks[place]

    def recall(self, place: int) -> None:
        """Go back to a bookmark: its series, its rules and its answer."""
        self.compare(place)
        self._idle()
        mark = self.bookmarks[place]
        self.index, self.question, self.cf, self.option = mark.question.index, mark.question, mark.cf, mark.option
        self.rules, self.prefer, self.max_rows = mark.question.rules, mark.question.prefer, mark.question.max_rows
        self.wanted, self.interval, self.message = mark.question.wanted, mark.question.interval, ""
        self.restart(from_answer=True)

    def restart(self, from_answer: bool) -> None:
        """Try values in the answer that is shown, or in the series as it is."""
        answer = self.shown
        self.trial = self.original if answer is None or not from_answer else answer.after.copy()

    def set_value(self, step: int, name: str, value: float) -> float:
        """Try a value: it is set in the trial, a listed one to the nearest; gives what was set."""
        i = self.subject.features.index(name)
        if not 0 <= step < len(self.trial):
            raise InvalidInputError(f"steps go from 0 to {len(self.trial) - 1}, got {step}.")
        if not math.isfinite(value):
            raise InvalidInputError("a value must be a finite number.")
        if np.isnan(self.original[step, i]):
            raise InvalidInputError("this value is missing in the series and stays so.")
        choices = self.subject.features[i].choices
        if choices is not None:
            value = min(choices, key=lambda choice: abs(choice - value))
        self.trial[step, i] = value
        return float(value)

    def _idle(self) -> None:
        if self.phase != "idle":
            raise InvalidInputError("the last question is not answered yet: wait, or stop it.")


def _of(cf: Counterfactual, option: str) -> Answer:
    return answer_of(cf, option if option in cf.options else None)
