"""The last check: an answer is asked again before it is handed out; one that does not hold is replaced by the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.model.trust import Question, Talk
from ntdcfe.problem.prediction import Prediction
from ntdcfe.search import options
from ntdcfe.search.base import Found
from ntdcfe.search.different import different

if TYPE_CHECKING:
    from ntdcfe.model.job import Job


def in_order(job: Job) -> list[NDArray[Any]]:
    """The candidates: those that would be answers, then those that could replace them."""
    search, wanted = job.search, job.search.settings.n_counterfactuals
    found = [answer.state for answer in options.in_order(search.found, search.settings.prefer)]
    states = list({state.tobytes(): state for state in [*found, *_asked(job)]}.values())
    if found and wanted > 1:
        states = [states[i] for i in different(search.problem, np.array(states), len(states))]
    plausible = search.problem.plausible
    if plausible is None or not states:
        return states
    return [state for state, usual in zip(states, plausible(np.array(states)), strict=True) if usual]


def unasked_again(job: Job) -> list[NDArray[Any]]:
    """The candidates that may be handed out where the model cannot be asked about them again.

    They were valid when they were asked about as they are, or held often enough under noise.
    """
    search, survival = job.search, job.search.settings.survival
    sure = {state.tobytes() for state in _asked(job)}
    if survival is not None:
        drawn = options.in_order(search.found, search.settings.prefer)
        sure |= {answer.state.tobytes() for answer in drawn if options.holds(answer, survival)}
    return [state for state in in_order(job) if state.tobytes() in sure]


def _asked(job: Job) -> list[NDArray[Any]]:
    """The states that were valid when they were asked about as they are, the most wanted first."""
    pool, wanted = job.search.pool, job.search.settings.n_counterfactuals
    return pool.states if wanted == 1 else [*pool.diverse(wanted), *pool.states]


def known(job: Job) -> Found | None:
    """What the search knows of the answer: its edits, and its draws under noise."""
    found = options.in_order(job.search.found, job.search.settings.prefer) if job.answers else ()
    return next((answer for answer in found if np.array_equal(answer.state, job.answers[0])), None)


def last_check(job: Job) -> Talk:
    """Ask the answers again; leaves in the job those that hold, or else those that lead by some votes."""
    trust, budget, wanted = job.trust, job.budget, job.search.settings.n_counterfactuals
    job.phase, job.answers, job.leading, job.holds_alone = "check", (), [], None
    waiting = in_order(job)
    if not waiting:
        return
    # Further candidates are asked once, along with the answer.
    rest = waiting[1 : 1 + max(0, budget.rows_left - 4 * trust.lead)] if wanted == 1 and not trust.contradicted else []
    while waiting and len(job.answers) < wanted:
        missing = wanted - len(job.answers)
        if not job.complete and trust.contradicted and not trust.sure_of_some:
            # Time is short, and many states that the model called valid may not be: ask about as many as rows allow.
            missing = max(missing, budget.rows_left // (4 * trust.lead))
        asked, waiting = waiting[:missing], waiting[missing:]
        said: list[Prediction | None] = [None] * len(asked)
        try:
            yield from _confirm(job, np.array(asked), rest, said)
        finally:
            # Also where time or the model ends the check: answers that were confirmed by then stay confirmed.
            if job.status != "already_target":
                held = [state for state, prediction in zip(asked, said, strict=True) if prediction]
                job.answers = (*job.answers, *held)[:wanted]
                job.prediction = job.prediction or next(filter(None, said), None)
        if job.status == "already_target":
            return
        rest = []
    yield from _alone(job)
    conclude(job, job.leading)


def _alone(job: Job) -> Talk:
    """Ask each answer in a call of its own: some models answer by the company of a row in its batch."""
    for state in job.answers:
        holds = yield from job.trust.alone(state[None])
        job.holds_alone = holds if job.holds_alone in (None, True) else False
        if job.trust.contradicted:
            job.others = ()


def conclude(job: Job, unconfirmed: list[NDArray[Any]]) -> None:
    """Hand out what was confirmed, or else these states ``(K, F)``."""
    job.confirmed = job.found and job.holds_alone is not False
    job.answers = job.answers or tuple(unconfirmed[: job.search.settings.n_counterfactuals])
    if job.found and job.status not in ("interrupted", "model_failed"):
        job.status = "found"


def _confirm(job: Job, states: NDArray[Any], rest: list[NDArray[Any]], said: list[Prediction | None]) -> Talk:
    """Note in `said` what the model says of those states ``(n, K, F)`` that hold.

    Each is asked `confirmations` times in a call, beside the original, which must not be valid: a call in which
    it is tells nothing. Unanimity is enough; after a contradiction it takes a lead of twice as many votes.
    """
    trust, budget, size = job.trust, job.budget, job.search.settings.confirmations
    lead, undecided = np.zeros(len(states), int), np.arange(len(states))
    against_original = 0
    # An answer of the search may have been asked about under noise alone: that it is not valid is no contradiction.
    valid = {state.tobytes() for state in _asked(job)}
    believed = np.array([state.tobytes() in valid for state in states])
    for _ in range(trust.tuning.most_checks):
        copies = min(size, budget.rows_left // (len(undecided) + 1))
        originals = min(copies, 2) if trust.contradicted else copies
        if copies == 0 and budget.rows_left >= len(undecided) and not trust.contradicted:
            copies = 1
        if copies == 0 or not len(undecided):
            break
        n = len(undecided) * copies
        block = [np.repeat(states[undecided], copies, axis=0), np.repeat(trust.original, originals, axis=0)]
        if rest:
            block.append(np.array(rest))
        prediction = yield Question(np.concatenate(block), n + originals)
        reached = trust.reached(prediction)
        votes, own = reached[:n].reshape(-1, copies), reached[n : n + originals]
        doubted = np.where(believed[undecided], ~votes.all(1), votes.any(1) & ~votes.all(1))
        trust.contradicted |= bool(doubted.any() or own.any())
        if rest:
            held = reached[n + originals :]
            job.others = () if trust.contradicted else tuple(s for s, h in zip(rest, held, strict=False) if h)
            rest = []
        against_original += int(2 * own.sum()) - originals
        if against_original >= 2 * size:
            # The first look was a mistake of the model, unless it answers by the company of a row.
            alone = yield from trust.alone(trust.original)
            if alone is not False:
                job.at_target(prediction[n + int(own.argmax()) :][:1], alone)
            break
        if 2 * own.sum() > originals:
            continue
        lead[undecided] += 2 * votes.sum(1) - copies
        enough = lead[undecided] >= (trust.lead if trust.contradicted else copies)
        for i in np.flatnonzero(enough & votes.any(1)):
            at = i * copies + int(votes[i].argmax())
            said[undecided[i]] = prediction[at : at + 1]
        if (lead[undecided[believed[undecided]]] < 0).any():
            trust.sure_of_some = False  # a state that was believed has lost the vote
        undecided = undecided[(lead[undecided] >= 0) & ~enough]
        job.leading = list(states[undecided[lead[undecided] >= size]])
