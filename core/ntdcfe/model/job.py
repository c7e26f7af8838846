"""The phases of one instance: a first look, the search, a last check, and what each edit does.

Like a search, a job never calls the model. It has a question pending and is told what the model says; the driver
does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ntdcfe.counterfactual import Status
from ntdcfe.errors import PredictorError, raised_while_searching
from ntdcfe.model.budget import Budget
from ntdcfe.model.effects import effects
from ntdcfe.model.last_check import conclude, last_check, unasked_again
from ntdcfe.model.noting import noting
from ntdcfe.model.searching import NearMiss, searching
from ntdcfe.model.threads import one_thread
from ntdcfe.model.trust import Question, Talk, Trust, scored
from ntdcfe.problem.contribution import Contribution
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.target import Target
from ntdcfe.search.base import Answer, Asks, Search

Phase = Literal["look", "search", "check", "done"]


class Job:
    """One instance from its first question to its result.

    Parameters
    ----------
    search : Search
    target : Target
    budget : Budget
    start : callable
        The algorithm: from a search to its questions.

    Attributes
    ----------
    pending : Question or None
        What it asks next; None before it began and when it is done.
    present, prediction : Prediction or None
        What the model says of the original, and of the answer.
    answers : tuple of arrays (K, F)
        The best first, asked again `confirmations` times if `confirmed`; `others` are further candidates, asked
        again once; `leading` are states of the last check that lead by some votes. `holds_alone` tells whether they
        held in a call of their own, None if they were not asked so.
    contributions, holds_to : tuple, dict
        What each edit of the answer does; and by the bytes of an answer's state, to how many times its effect each
        edit holds, None where it holds further.
    complete : bool
        False where time, a fault or an interrupt ended it before its own end.
    cause : Exception or None
        What failed.
    """

    def __init__(self, search: Search, target: Target, budget: Budget, start: Callable[[Search], Asks]) -> None:
        self.search = search
        self.budget = budget
        self.start = start
        self.trust = Trust(search.space.original, target, budget, search.settings)
        self.status: Status = "not_found"
        self.phase: Phase = "look"
        self.pending: Question | None = None
        self.present: Prediction | None = None
        self.prediction: Prediction | None = None
        self.answers: tuple[NDArray[Any], ...] = ()
        self.others: tuple[NDArray[Any], ...] = ()
        self.leading: list[NDArray[Any]] = []
        self.near_miss: NearMiss | None = None
        self.contributions: tuple[Contribution, ...] = ()
        self.holds_to: dict[bytes, tuple[float | None, ...]] = {}
        self.confirmed = False
        self.holds_alone: bool | None = None
        self.complete = True
        self.cause: Exception | None = None
        self._talk: Talk | None = None

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers)

    def begin(self) -> None:
        """Ask the first question."""
        self._go(self._phases())

    def tell(self, prediction: Prediction) -> None:
        """Take what the model said of the pending states, and go on to the next question, or to the end."""
        assert self._talk is not None
        self._step(lambda talk: talk.send(prediction))

    @one_thread()
    def take(self, prediction: Prediction) -> None:
        """Keep what the model said of the first of the pending states, when it did not come to the others."""
        if self.pending is None or len(prediction) == 0 or self.phase not in ("search", "check"):
            return
        states = self.pending.states[: len(prediction)]
        with noting(self):
            reached = self.trust.reached(prediction)
            changed = self.search.objective.sparsity(states) > 0
            if self.phase == "check":
                self.trust.contradicted |= bool((reached != changed).any())  # candidates are valid, the original is not
            elif not self.trust.contradicted:
                self.keep(states, reached & changed)

    def end_search(self, status: Status) -> None:
        """End the search here; what was found is still asked again."""
        self._interrupt()
        if self.phase != "check":
            self.status = status
        if self.present is not None:
            with noting(self):
                return self._go(last_check(self))
        self._end()

    @one_thread()
    def end_check(self) -> None:
        """End the last check: the model cannot be asked any more.

        What was valid when it was found is handed out unconfirmed; if the model contradicts itself, the states that
        lead in votes.
        """
        self._interrupt()
        trusted = self.trust.sure_of_some or not self.trust.contradicted
        with noting(self):
            conclude(self, unasked_again(self) if trusted else self.leading)
        self._end()

    def fail(self, cause: Exception) -> None:
        """The model, or another of the user's functions, failed: keep what was found, and why it ended."""
        self.cause = self.cause or (cause if isinstance(cause, PredictorError) else raised_while_searching(cause))
        if self.phase != "check":
            return self.end_search("model_failed")
        self.status = "model_failed"
        self.end_check()

    def keep(self, states: NDArray[Any], reached: NDArray[np.bool_]) -> None:
        """Take those of the states ``(n, K, F)`` that reached the target into the pool, when the search is over."""
        with noting(self), np.errstate(all="ignore"):
            self.search.keep(states, Answer(reached, None))

    def at_target(self, prediction: Prediction, alone: bool | None = True) -> None:
        """The original is as wanted already: nothing has to change."""
        # Confirmed, unless the model contradicts itself and there was no row left to ask the original alone.
        self.status, self.confirmed = "already_target", not (alone is None and self.trust.contradicted)
        self.present = self.prediction = prediction
        self.answers = (self.search.space.original,)

    def _phases(self) -> Talk:
        yield from self._first_look()
        if self.status == "not_found":
            self.phase = "search"
            yield from searching(self)
            yield from last_check(self)
            yield from effects(self)

    def _first_look(self) -> Talk:
        """What the model says of the original; done if that is the target already."""
        trust, target = self.trust, self.trust.target
        copies = max(1, min(trust.confirmations, self.budget.rows_left // 4)) if target.relative else 1
        prediction = yield Question(np.repeat(trust.original, copies, axis=0))
        self.budget.batches += 1
        prediction = scored(prediction)
        target.check(prediction)
        if target.relative or trust.reached(prediction)[0]:
            # If this answer were wrong, the whole search would be about another question: ask until one answer leads.
            prediction = yield from trust.majority(prediction)
        self.present = prediction[:1]
        trust.target = target.given(self.present)
        if trust.reached(self.present)[0]:
            alone = yield from trust.alone(trust.original)
            if alone is not False:
                self.at_target(self.present, alone)

    def _go(self, talk: Talk) -> None:
        self._talk = talk
        self._step(next)

    def _step(self, move: Callable[[Talk], Question]) -> None:
        assert self._talk is not None
        try:
            # Values near the largest floating number overflow to infinity: such states are infinitely far.
            with one_thread(), np.errstate(all="ignore"):
                self.pending = move(self._talk)
        except StopIteration:
            self._end()

    def _interrupt(self) -> None:
        if self._talk is not None:
            self._talk.close()
        self.complete = False

    def _end(self) -> None:
        self.pending, self.phase = None, "done"
