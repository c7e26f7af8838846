"""One instance on its way: a first look, the search, a last check, and what became of it.

Like a search, a job never calls the model. It yields states ``(n, K, F)`` and is told what the model says of
them; the driver does the rest. What it was told may be wrong: of a model that contradicts itself it asks again
before it believes.
"""

from __future__ import annotations

import math
import traceback
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError, PredictorError
from ntdcfe.predictor import Prediction
from ntdcfe.search import Answer, Asks, Search
from ntdcfe.target import Target
from ntdcfe.threads import one_thread

Status = Literal["found", "not_found", "already_target", "budget_exhausted", "interrupted", "model_failed"]
Phase = Literal["look", "search", "check", "done"]
Talk: TypeAlias = Generator[NDArray[Any], Prediction, None]

# How often a model that contradicted itself is asked about the original, to see how often it errs.
TRIALS = 30
# A claim is dropped below this lead: at an error in five, one of sixty that are valid.
LOWEST_LEAD = -1
# A model that errs more often than this tells nothing.
MOST_ERRORS = 0.45
# Of a model that errs, one false answer in so many may get into the search; and the most asks it leads by.
ONE_IN, MOST_LEAD = 10_000, 12
# Most calls of a last check: ends it where no budget does.
MOST_CHECKS = 200


class NearMiss(NamedTuple):
    """The state ``(K, F)`` that came nearest to the target without reaching it, and what the model says of it."""

    score: float
    state: NDArray[Any]
    prediction: Prediction


@dataclass
class Job:
    """One instance: its search, and what became of it.

    `present` is the model's prediction for the original, `prediction` the one for the answer.
    `answers` are states ``(K, F)``, the best first, asked again `confirmations` times; `others` are further
    candidates, asked again once. `doubted` tells that the model contradicted itself.
    """

    search: Search
    target: Target
    start: Callable[[Search], Asks]
    status: Status = "not_found"
    present: Prediction | None = None
    prediction: Prediction | None = None
    answers: tuple[NDArray[Any], ...] = ()
    others: tuple[NDArray[Any], ...] = ()
    confirmed: bool = False
    near_miss: NearMiss | None = None
    cause: Exception | None = None
    doubted: bool = False
    cut_short: bool = False
    """Whether time, a fault or an interrupt ended it before its own end."""
    n_failures: int = 0
    seconds: float = 0.0
    phase: Phase = "look"
    pending: NDArray[Any] | None = None
    """The states that it asks about next; None when it is done."""
    n_needed: int = 0
    """How many of them, from the first, it needs to be told of; it can do without the others."""
    _talk: Talk | None = None
    _asked_again: NDArray[Any] | None = None
    _n_trials: int = 0
    _n_errors: int = 0
    _sure_of_some: bool = False
    _ahead: list[NDArray[Any]] = field(default_factory=list)
    """States of the last check that lead, by enough votes had there been no contradiction."""

    def begin(self) -> None:
        """Ask the first question."""
        self._go(self._life())

    def tell(self, prediction: Prediction) -> None:
        """Take what the model said of the pending states, and go on to the next question, or to the end."""
        assert self._talk is not None
        self._step(lambda talk: talk.send(prediction))

    @one_thread()
    def take(self, prediction: Prediction) -> None:
        """Keep what the model said of the first of the pending states, when it did not come to the others."""
        if self.pending is None or len(prediction) == 0 or self.phase not in ("search", "check"):
            return
        states = self.pending[: len(prediction)]
        reached, changed = self.target.reached(prediction), self.search.environment.sparsity(states) > 0
        if self.phase == "check":
            self.doubted |= bool((reached != changed).any())  # candidates are valid, the original is not
        elif not self.doubted:
            self._keep(states, reached & changed)

    def wind_up(self, status: Status) -> None:
        """End the search here; what was found is still asked again."""
        if self._talk is not None:
            self._talk.close()
        self.cut_short = True
        if self.phase != "check":
            self.status = status
        if self.present is None:
            self._end()
        else:
            self._go(self._last_check())

    @one_thread()
    def give_up(self) -> None:
        """End the last check: nobody can be asked any more.

        What was valid when it was found is handed out unconfirmed; if the model contradicts itself, what has the votes.
        """
        if self._talk is not None:
            self._talk.close()
        self.cut_short = True
        self._conclude(self._in_order() if self._sure_of_some or not self.doubted else self._ahead)
        self._end()

    def fail(self, cause: Exception) -> None:
        """The model, or another of the user's functions, failed: keep what was found, and why it ended."""
        self.cause = self.cause or (cause if isinstance(cause, PredictorError) else _wrapped(cause))
        if self.phase != "check":
            return self.wind_up("model_failed")
        self.status = "model_failed"
        self.give_up()

    @property
    def found(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers)

    def _life(self) -> Talk:
        yield from self._first_look()
        if self.status == "not_found":
            self.phase = "search"
            yield from self._searching()
            yield from self._last_check()

    def _go(self, talk: Talk) -> None:
        self._talk = talk
        self._step(next)

    def _step(self, move: Callable[[Talk], NDArray[Any]]) -> None:
        assert self._talk is not None
        try:
            # What is near the largest number there is goes to infinity, and is too far.
            with one_thread(), np.errstate(over="ignore", invalid="ignore"):
                self.n_needed = 0
                self.pending = move(self._talk)
                self.n_needed = self.n_needed or len(self.pending)
        except StopIteration:
            self._end()

    def _end(self) -> None:
        self.pending, self.phase = None, "done"

    # The budget

    @property
    def _left(self) -> int:
        """Rows that may still be asked."""
        limit = self.search.settings.max_queries
        return 2**62 if limit is None else max(0, limit - self.search.n_queries)

    @property
    def _room(self) -> int:
        """Rows that the search may still ask: some are set aside for the last check."""
        settings = self.search.settings
        # A call of votes and, should one of them contradict, a few more; many where it is known that they will.
        full = settings.confirmations * (12 if self.doubted else 6) * settings.n_counterfactuals
        spare = full if settings.max_queries is None else settings.max_queries // 4
        return self._left - min(full, max(settings.n_counterfactuals, spare))

    @property
    def _lead(self) -> int:
        """By how many votes an answer has to lead."""
        return self.search.settings.confirmations * (2 if self.doubted else 1)

    def _copies(self, states: NDArray[Any], n: int) -> NDArray[Any]:
        return np.repeat(states, n, axis=0)

    @property
    def _original(self) -> NDArray[Any]:
        return self.search.environment.original[None]

    # The first look

    def _first_look(self) -> Talk:
        """What the model says of the original; done if that is the target already."""
        copies = max(1, min(self.search.settings.confirmations, self._left // 4)) if self.target.relative else 1
        prediction = yield self._copies(self._original, copies)
        self.search.n_batches += 1
        if prediction.classes is not None:
            self.target.check_classes(prediction.classes)
        if self.target.regression:
            _check_numbers(prediction.outcomes if prediction.classes is None else prediction.classes)
        if self.target.relative or self.target.reached(prediction)[0]:
            # Everything that follows would be about another question if this were wrong.
            prediction = yield from self._majority(prediction)
        self.present = prediction[:1]
        self.target = self.target.given(self.present)
        if self.target.reached(self.present)[0]:
            self.status, self.prediction, self.confirmed = "already_target", self.present, True
            self.answers = (self.search.environment.original,)

    def _majority(self, prediction: Prediction) -> Generator[NDArray[Any], Prediction, Prediction]:
        """The answer about the original that leads by enough votes."""
        while True:
            votes = (prediction.outcomes if self.target.relative else self.target.reached(prediction)).tolist()
            ((first, most), *rest) = Counter(votes).most_common(2)
            self.doubted |= bool(rest)
            copies = min(self.search.settings.confirmations, self._left // 4)
            if most - (rest[0][1] if rest else 0) >= self._lead or copies == 0 or len(votes) > 20 * self._lead:
                at = votes.index(first)
                return prediction[at : at + 1]
            more = yield self._copies(self._original, copies)
            prediction = Prediction.concatenate([prediction, more])

    # The search

    def _searching(self) -> Talk:
        """Serve the search until it ends or its rows are used up."""
        asks = self.start(self.search)
        try:
            asked = next(asks)
            while True:
                room = self._room
                if room <= 0:
                    self.status = "budget_exhausted"
                    return
                states = asked[:room]
                # The best so far is asked again along with the next batch: the nearest of many rows is the
                # likeliest to be there by mistake.
                suspect = self._suspect()[: room - len(states)]
                prediction = yield np.concatenate([states, suspect]) if len(suspect) else states
                self.search.n_batches += 1
                reached = self.target.reached(prediction)
                reached, suspect_holds = reached[: len(states)], reached[len(states) :].all()
                prediction = prediction[: len(states)]
                score = self.target.score(prediction)
                unchanged = reached.copy()  # whatever the model says: that is the original
                unchanged[reached] = self.search.environment.sparsity(states[reached]) == 0
                first_doubt = not self.doubted and bool(not suspect_holds or unchanged.any())
                self.doubted |= first_doubt
                reached &= ~unchanged
                fooled = False
                try:
                    if first_doubt:
                        fooled = yield from self._purge(states, reached)
                    elif self.doubted:
                        yield from self._sure(states, reached)
                except GeneratorExit:
                    self._keep(states, reached)
                    raise
                if fooled:
                    # It built on what is not so. What this batch found is.
                    self.search.keep(states, Answer(reached, None))
                    asks.close()
                    asks = self.start(self.search)
                    asked = next(asks)
                    continue
                # Rounded, because the last bits of a probability depend on the size of the batch.
                answer = Answer(reached, None if score is None else score.round(6))
                self._note_miss(states, prediction, answer)
                # Rows beyond the budget were not asked: they count as not reached.
                asked = asks.send(answer.padded(len(asked)))
        except StopIteration:
            if not self.search.left():
                self.status = "budget_exhausted"
        finally:
            asks.close()

    def _suspect(self) -> NDArray[Any]:
        """The best candidate, if it has not been asked again yet ``(0 or 1, K, F)``."""
        best = next(iter(self.search.candidates.states), None)
        if best is None or best is self._asked_again:
            return self._original[:0]
        self._asked_again = best
        return best[None]

    def _note_miss(self, states: NDArray[Any], prediction: Prediction, answer: Answer) -> None:
        """Remember the best of the states ``(n, K, F)`` that missed, until something is found."""
        if answer.score is None or answer.reached.any() or len(self.search.candidates):
            return
        best = int(answer.score.argmax())
        if self.near_miss is None or answer.score[best] > self.near_miss.score:
            self.near_miss = NearMiss(float(answer.score[best]), states[best].copy(), prediction[best : best + 1])

    def _purge(self, states: NDArray[Any], reached: NDArray[np.bool_]) -> Generator[NDArray[Any], Prediction, bool]:
        """`_sure`, of the candidates as well: what was taken in before the first contradiction may be wrong. Was it?"""
        candidates, n = self.search.candidates, int(reached.sum())
        entries = [*candidates.states, *(entry.state for entry in candidates.niches())]
        known = np.array(list({state.tobytes(): state for state in entries}.values())).reshape(-1, *states.shape[1:])
        held = np.ones(n + len(known), bool)
        try:
            yield from self._sure(np.concatenate([states[reached], known]), held)
        finally:
            reached[reached] = held[:n]
            candidates.retain(known[held[n:]])
        return not held[n:].all()

    def _sure(self, states: NDArray[Any], claimed: NDArray[np.bool_]) -> Talk:
        """Leave of the claims ``(n,)`` that states ``(n, K, F)`` are valid those that hold, by a vote on each.

        Where it is cut short, or runs out of rows, before anything is sure, those that lead: the last check will tell.
        """
        if not claimed.any():
            return
        if self._n_trials == 0 and (trials := max(0, min(TRIALS, self._room // 4))):
            said = yield self._copies(self._original, trials)
            self._n_trials, self._n_errors = trials, int(self.target.reached(said).sum())
        # A little pessimistic: none wrong of thirty is not never.
        error_rate = min(MOST_ERRORS, (1 + self._n_errors) / (2 + self._n_trials)) if self._n_trials else MOST_ERRORS
        needed = min(MOST_LEAD, math.ceil(math.log(ONE_IN) / math.log((1 - error_rate) / error_rate)))
        at = np.flatnonzero(claimed)
        lead, n_votes = np.ones(len(at), int), np.zeros(len(at), int)
        while len(open_ := np.flatnonzero((lead >= LOWEST_LEAD) & (lead < needed))[: max(0, self._room)]):
            claimed[at] = lead >= (needed if self._sure_of_some else 1)
            prediction = yield states[at[open_]]
            lead[open_] += np.where(self.target.reached(prediction), 1, -1)
            n_votes[open_] += 1
            self._sure_of_some |= bool((lead >= needed).any())
        # What was voted out tells how often it errs.
        out = lead < LOWEST_LEAD
        self._n_trials += int(n_votes[out].sum())
        self._n_errors += int((n_votes + lead - 1)[out].sum()) // 2
        claimed[at] = lead >= (needed if self._room > 0 or self._sure_of_some else 1)

    def _keep(self, states: NDArray[Any], reached: NDArray[np.bool_]) -> None:
        """Take those of the states ``(n, K, F)`` that reached the target for candidates, when the search is over."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                self.search.keep(states, Answer(reached, None))
        except Exception as cause:  # whether they are plausible is for the user's function to say
            self.cause = self.cause or _wrapped(cause)

    # The last check

    def _last_check(self) -> Talk:
        """Ask the answers again; one that does not hold is replaced by the next candidate."""
        self.phase, self.answers, self._ahead = "check", (), []
        waiting, wanted = self._in_order(), self.search.settings.n_counterfactuals
        if not waiting:
            return
        # Further candidates are asked once, along with the answer.
        rest = waiting[1 : 1 + max(0, self._left - 4 * self._lead)] if wanted == 1 and not self.doubted else []
        while waiting and len(self.answers) < wanted:
            missing = wanted - len(self.answers)
            if self.cut_short and self.doubted and not self._sure_of_some:
                # In a hurry, and most of what the model called valid may not be: as many at once as rows allow.
                missing = max(missing, self._left // (4 * self._lead))
            asked, waiting = waiting[:missing], waiting[missing:]
            said: list[Prediction | None] = [None] * len(asked)
            try:
                yield from self._confirm(np.array(asked), rest, said)
            finally:
                # Where time or the model ends it as well: what it stands by by then, it stands by.
                if self.status != "already_target":
                    held = [state for state, prediction in zip(asked, said, strict=True) if prediction]
                    self.answers = (*self.answers, *held)[:wanted]
                    self.prediction = self.prediction or next(filter(None, said), None)
            if self.status == "already_target":
                return
            rest = []
        self._conclude(self._ahead)

    def _in_order(self) -> list[NDArray[Any]]:
        """The candidates: those that would be answers, then those that could replace them."""
        candidates, wanted = self.search.candidates, self.search.settings.n_counterfactuals
        if wanted == 1:
            return candidates.states
        first = candidates.diverse(wanted)
        chosen = {id(state) for state in first}
        return first + [state for state in candidates.states if id(state) not in chosen]

    def _conclude(self, unconfirmed: list[NDArray[Any]]) -> None:
        """Hand out what was confirmed, or else these."""
        self.confirmed = self.found
        self.answers = self.answers or tuple(unconfirmed[: self.search.settings.n_counterfactuals])
        if self.found and self.status not in ("interrupted", "model_failed"):
            self.status = "found"

    def _confirm(self, states: NDArray[Any], rest: list[NDArray[Any]], said: list[Prediction | None]) -> Talk:
        """Note in `said` what the model says of those states ``(n, K, F)`` that it stands by.

        Each is asked `confirmations` times in a call, beside the original, which must not be valid: a call in which
        it is tells nothing. Unanimity is enough; after a contradiction it takes a lead of twice as many votes.
        """
        size, lead, open_ = self.search.settings.confirmations, np.zeros(len(states), int), np.arange(len(states))
        against_original = 0
        for _ in range(MOST_CHECKS):
            copies = min(size, self._left // (len(open_) + 1))
            originals = min(copies, 2) if self.doubted else copies
            if copies == 0 and self._left >= len(open_) and not self.doubted:
                copies = 1
            if copies == 0 or not len(open_):
                break
            n = len(open_) * copies
            block = [self._copies(states[open_], copies), self._copies(self._original, originals)]
            if rest:
                block.append(np.array(rest))
            self.n_needed = n + originals
            prediction = yield np.concatenate(block)
            reached = self.target.reached(prediction)
            votes, own = reached[:n].reshape(-1, copies), reached[n : n + originals]
            self.doubted |= not votes.all() or bool(own.any())
            if rest:
                sure = len(reached) == n + originals + len(rest) and reached[n + originals :].all() and not self.doubted
                self.others = tuple(rest) if sure else ()
                rest = []
            against_original += int(2 * own.sum()) - originals
            if against_original >= 2 * size:
                self._at_target_after_all(prediction[n + int(own.argmax()) :][:1])
                break
            if 2 * own.sum() > originals:
                continue
            lead[open_] += 2 * votes.sum(1) - copies
            enough = lead[open_] >= (self._lead if self.doubted else copies)
            for i in np.flatnonzero(enough & votes.any(1)):
                at = i * copies + int(votes[i].argmax())
                said[open_[i]] = prediction[at : at + 1]
            if (lead[open_] < 0).any():
                self._sure_of_some = False  # it was wrong
            open_ = open_[(lead[open_] >= 0) & ~enough]
            self._ahead = list(states[open_[lead[open_] >= size]])

    def _at_target_after_all(self, prediction: Prediction) -> None:
        """The first look was a mistake of the model."""
        self.status, self.confirmed = "already_target", True
        self.present = self.prediction = prediction
        self.answers = (self.search.environment.original,)


def _check_numbers(outcomes: NDArray[Any]) -> None:
    try:
        np.asarray(outcomes, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"target: an interval is for numbers, the model says {', '.join(map(repr, outcomes[:3].tolist()))}."
        ) from None


def _wrapped(cause: Exception) -> PredictorError:
    # Whether a function that the search was given is at fault, or the search itself, shows in the place.
    frames = traceback.extract_tb(cause.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    error = PredictorError(f"while searching, not in the model, {type(cause).__name__} was raised{place}: {cause}")
    error.__cause__ = cause
    return error
