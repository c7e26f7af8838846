"""Serve a search: hand its questions on to the model, and doubt what comes back once the model contradicts itself."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import PredictorError
from ntdcfe.model.trust import Question, Talk
from ntdcfe.problem.prediction import Prediction
from ntdcfe.search.base import Answer

if TYPE_CHECKING:
    from ntdcfe.model.job import Job


class NearMiss(NamedTuple):
    """The state ``(K, F)`` that came nearest to the target without reaching it, and what the model says of it."""

    score: float
    state: NDArray[Any]
    prediction: Prediction


def searching(job: Job) -> Talk:
    """Serve the search until it ends or its rows are used up."""
    search, trust = job.search, job.trust
    asks = job.start(search)
    asked_again: NDArray[Any] | None = None
    try:
        asked = next(asks)
        while True:
            if (room := trust.room) <= 0:
                job.status = "budget_exhausted"
                return
            states = asked[:room]
            # The best so far is asked again along with the next batch: the nearest of many rows is the likeliest
            # to be there by mistake.
            best = search.pool.best
            repeated = trust.original[:0] if best is None or best is asked_again else best[None]
            asked_again = best
            repeated = repeated[: room - len(states)]
            prediction = yield Question(np.concatenate([states, repeated]) if len(repeated) else states)
            job.budget.batches += 1
            if 2 * job.budget.unscored > job.budget.rows:
                raise PredictorError(
                    f"the model returned NaN, infinity or nothing for {job.budget.unscored} of {job.budget.rows} rows."
                )
            reached = trust.reached(prediction)
            reached, repeated_holds = reached[: len(states)], reached[len(states) :].all()
            prediction = prediction[: len(states)]
            score = trust.score(prediction)
            # A state without a change is the original, whatever the model says of it.
            unchanged = _equal(states, trust.original, reached)
            first_contradiction = not trust.contradicted and bool(not repeated_holds or unchanged.any())
            trust.contradicted |= first_contradiction
            if trust.contradicted:
                search.answers.forget()
            reached &= ~unchanged
            misled = False
            try:
                if first_contradiction:
                    misled = yield from _purge(job, states, reached)
                elif trust.contradicted:
                    yield from trust.sure(states, reached)
            except GeneratorExit:
                job.keep(states, reached)
                raise
            if misled:
                # The search built on states that are not valid: it starts anew with what this batch found.
                search.keep(states, Answer(reached, None))
                asks.close()
                asks = job.start(search)
                asked = next(asks)
                continue
            # Rounded, because the last bits of a probability depend on the size of the batch.
            labels = prediction.outcomes if score is None else None
            answer = Answer(reached, None if score is None else score.round(6), labels)
            _note_miss(job, states, prediction, answer)
            # Rows beyond the budget were not asked: they count as not reached.
            asked = asks.send(answer.padded(len(asked)))
    except StopIteration:
        if not search.left():
            job.status = "budget_exhausted"
    finally:
        asks.close()


def _equal(states: NDArray[Any], original: NDArray[Any], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the states ``(n, K, F)`` `among` those marked are the original; a few cells tell of most that not."""
    some, cells, before = max(1, original.size // 16), states.reshape(len(states), -1), original.ravel()
    equal = among & (cells[:, ::some] == before[::some]).all(1)
    if equal.any():
        equal[equal] = (cells[equal] == before).all(1)
    return equal


def _note_miss(job: Job, states: NDArray[Any], prediction: Prediction, answer: Answer) -> None:
    """Remember the best of the states ``(n, K, F)`` that missed, and what was said, until something is found."""
    if answer.reached.any() or len(job.search.pool):
        return
    outcomes, unscored = prediction.outcomes, prediction.unscored
    job.search.said.note(outcomes if unscored is None else outcomes[~unscored])
    if answer.score is None:
        return
    score = answer.score if prediction.unscored is None else np.where(prediction.unscored, -1.0, answer.score)
    best = int(score.argmax())
    if job.near_miss is None or score[best] > job.near_miss.score:
        job.near_miss = NearMiss(float(score[best]), states[best].copy(), prediction[best : best + 1])


def _purge(
    job: Job, states: NDArray[Any], reached: NDArray[np.bool_]
) -> Generator[Question, Prediction, bool]:
    """Put the pool to the vote as well: what was taken in before the first contradiction may be wrong. Was it?"""
    pool, n = job.search.pool, int(reached.sum())
    entries = [*pool.states, *(entry.state for entry in pool.niches())]
    known = np.array(list({state.tobytes(): state for state in entries}.values())).reshape(-1, *states.shape[1:])
    held = np.ones(n + len(known), bool)
    try:
        yield from job.trust.sure(np.concatenate([states[reached], known]), held)
    finally:
        reached[reached] = held[:n]
        pool.retain(known[held[n:]])
    return not held[n:].all()
