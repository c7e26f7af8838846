"""The one place that calls the model: pools what jobs ask, limits, stops, deals with faults."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ntdcfe.errors import InvalidInputError, PredictorError
from ntdcfe.model.budget import NO_LIMIT, OutOfTime
from ntdcfe.model.job import Job
from ntdcfe.model.predictor import Predictor
from ntdcfe.model.watch import Watch, best_proximity
from ntdcfe.problem.prediction import Prediction


@dataclass
class Driver:
    """Brings jobs to their end against one model.

    Parameters
    ----------
    predictor : Predictor
    static : bool
        Whether the model takes ``(n, D)``, not ``(n, K, D)``.
    max_seconds : float, optional
        Most seconds from now, for all that is run.
    progress : bool
        Whether to show a bar of rows.
    """

    predictor: Predictor
    static: bool
    max_seconds: float | None = None
    progress: bool = False
    interrupted: bool = field(default=False, init=False)
    stop_requested: Callable[[], bool] | None = field(default=None, init=False)
    """Tells whether the run was asked to end, for instance by the process that shares its threads."""

    def __post_init__(self) -> None:
        self._deadline = np.inf if self.max_seconds is None else time.monotonic() + self.max_seconds
        self.watch = Watch(1)
        self._slowest_call = 0.0
        self._call_begun = time.monotonic()
        self.predictor.deadline = self._deadline

    @property
    def out_of_time(self) -> bool:
        """Whether there is no time to begin with others: for a batch and the last check."""
        return not self._time_for(2)

    def _time_for(self, n_calls: int) -> bool:
        """Whether there is time for so many calls, each as slow as the slowest so far; for 0, whether any is left."""
        return time.monotonic() + n_calls * self._slowest_call < self._deadline

    def _time_call(self) -> None:
        """A call begins, or the last of a round has ended and the searches know of it: how long did that take?"""
        begun, self._call_begun = self._call_begun, time.monotonic()
        self._slowest_call = max(self._slowest_call, self._call_begun - begun)

    def _calls_to_check(self, jobs: Sequence[Job]) -> int:
        """How many calls the last check of these jobs takes."""
        settings = jobs[0].search.settings
        rows = len(jobs) * (settings.n_counterfactuals + 1) * settings.confirmations
        # A model that contradicts itself has to lead by twice as many votes, and some of them are against.
        rounds = 3 if any(job.trust.contradicted for job in jobs) else 1
        return rounds * math.ceil(rows / (self.predictor.max_batch_size or rows))

    def run(self, jobs: Sequence[Job]) -> None:
        """Bring every job to its end; jobs share calls, and nothing else.

        The first interrupt ends the searches and lets what they found be asked again; the second ends it all.
        """
        with tqdm(total=_total(jobs), unit="row", desc="searching", disable=not self.progress) as bar:
            waiting: Sequence[Job] = jobs
            while waiting:
                try:
                    for job in waiting:
                        if job.phase == "look" and job.pending is None:
                            job.budget.deadline = self._deadline
                            with _timed(job):
                                job.begin()
                    while waiting := [job for job in waiting if job.phase != "done"]:
                        if self.stop_requested is not None and self.stop_requested() and not self.interrupted:
                            raise KeyboardInterrupt
                        waiting = self._in_time(waiting)
                        self._call_begun = time.monotonic()
                        self._serve(waiting, bar)
                        self.watch.asked(jobs)
                        self._time_call()
                except KeyboardInterrupt:
                    if self.interrupted:
                        raise
                    self.interrupted = True
                    for job in waiting:
                        if job.phase != "done":
                            job.end_search("interrupted")

    def _in_time(self, running: Sequence[Job]) -> list[Job]:
        """The jobs that may ask once more. No call is begun when time is up: so it is exceeded by one at most."""
        late, hurry = not self._time_for(0), not self._time_for(1 + self._calls_to_check(running))
        last = not self._time_for(1)
        for job in running:
            if (job.phase == "search" and hurry) or (job.phase == "look" and late):
                job.end_search("budget_exhausted")
            # To be asked in a call of its own is for when there is time.
            if job.phase == "check" and (late or (last and job.pending is not None and job.pending.alone)):
                job.end_check()
        return [job for job in running if job.phase != "done"]

    def _serve(self, running: Sequence[Job], bar: tqdm[Any]) -> None:
        """One round: ask what every job wants to know, and tell it."""
        before = sum(job.budget.rows for job in running)
        for job, prediction in zip(running, self._ask(running), strict=True):
            if prediction is None:
                continue
            try:
                assert job.pending is not None
                with _timed(job):
                    if len(prediction) >= (job.pending.needed or len(job.pending.states)):
                        job.tell(prediction)
                    else:
                        job.take(prediction)
            except OutOfTime:
                job.end_search("budget_exhausted")
            except Exception as cause:
                if job.present is None and isinstance(cause, InvalidInputError):
                    raise  # the target names a class that the model does not have
                job.fail(cause)
        bar.update(sum(job.budget.rows for job in running) - before)
        if not bar.disable and len(running) == 1 and len(running[0].search.pool):
            bar.set_postfix(best=f"{best_proximity(running[0]):.3g}", refresh=False)

    def _ask(self, jobs: Sequence[Job]) -> list[Prediction | None]:
        """Predictions of what each job asks, in one call for all; None for a job on whose rows the model failed."""
        if not jobs:
            return []
        if len(jobs) > 1 and any(job.pending is not None and job.pending.alone for job in jobs):
            return self._ask_alone(jobs)
        try:
            return list(self._call(jobs))
        except PredictorError as cause:
            answers: list[Prediction | None] = []
            for job in jobs:
                affordable = job.pending is not None and job.budget.rows_left >= len(job.pending.states)
                if len(jobs) == 1 or not self._time_for(0) or not affordable:
                    job.fail(cause)
                    answers.append(None)
                else:
                    # Job by job: the fault of one job's rows must not be that of the others.
                    answers += self._ask([job])
            return answers

    def _ask_alone(self, jobs: Sequence[Job]) -> list[Prediction | None]:
        """The same where some jobs want calls of their own: what the others ask is asked together."""
        alone = [job for job in jobs if job.pending is not None and job.pending.alone]
        others = [job for job in jobs if job not in alone]
        answers = dict(zip(map(id, others), self._ask(others), strict=True))
        for job in alone:
            if self._time_for(1):
                (answers[id(job)],) = self._ask([job])
            else:
                job.end_check()
        return [answers.get(id(job)) for job in jobs]

    def _call(self, jobs: Sequence[Job]) -> list[Prediction]:
        """What the model says of what each job asks; of fewer rows where time ran out between two calls."""
        calls, failures = self.predictor.n_calls, self.predictor.n_failures
        asked: list[NDArray[Any]] = [job.pending.states for job in jobs if job.pending is not None]
        blocks = [j.search.space.rows(s) for j, s in zip(jobs, asked, strict=True)]
        rows = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        # A batch of the search that takes many calls leaves time for the last check.
        spare = self._calls_to_check(jobs) if any(job.phase == "search" for job in jobs) else 0
        parts: list[Prediction] = []
        ended: BaseException | None = None
        started, tab = time.monotonic(), _Tab(jobs)
        try:
            for some in self.predictor.split(rows[:, 0] if self.static else rows):
                self._time_call()
                if not self._time_for(spare if parts else 0):
                    break
                with tab.counting(self.predictor, len(some)) as retries:
                    parts.append(self.predictor.ask(some, retries))
        except (PredictorError, KeyboardInterrupt) as cause:
            ended = cause
        seconds = (time.monotonic() - started) / len(rows)
        shares = _dealt(parts, asked)
        for job, share, seen in zip(jobs, shares, tab.seen, strict=True):
            made, failed = self.predictor.n_calls - calls, self.predictor.n_failures - failures
            job.budget.spend(seen, made, failed, share.n_unscored)
            job.budget.seconds += seconds * len(job.pending.states) if job.pending is not None else 0.0
            if ended is not None:
                job.take(share)
        if ended is not None:
            raise ended
        return shares


class _Tab:
    """Whose rows the model saw in one question of several jobs, those of failed calls and of retries included.

    Parameters
    ----------
    jobs : sequence of Job
        Their rows follow one another.

    Attributes
    ----------
    seen : list of int
        Rows of each that the model saw.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        ends = list(accumulate(0 if job.pending is None else len(job.pending.states) for job in jobs))
        self._places = list(zip([0, *ends], ends, strict=False))  # where the rows of each begin and end
        self._left = [job.budget.rows_left for job in jobs]
        self._begun = 0
        self.seen = [0] * len(jobs)

    @contextmanager
    def counting(self, predictor: Predictor, n: int) -> Iterator[int]:
        """Count what is asked inside about the next n rows; gives how often they may be asked again."""
        first, self._begun = self._begun, self._begun + n
        own = [max(0, min(end, self._begun) - max(start, first)) for start, end in self._places]
        # What is still to be asked has to be paid for, too.
        to_come = [max(0, end - max(start, first)) for start, end in self._places]
        spare = [left - seen - more for left, seen, more in zip(self._left, self.seen, to_come, strict=True)]
        calls = predictor.n_calls
        try:
            yield max(0, min((some // rows for some, rows in zip(spare, own, strict=True) if rows), default=NO_LIMIT))
        finally:
            tries = predictor.n_calls - calls
            self.seen = [seen + tries * rows for seen, rows in zip(self.seen, own, strict=True)]


@contextmanager
def _timed(job: Job) -> Iterator[None]:
    """Count what a job itself takes: of a call, each has the share of its rows."""
    started = time.monotonic()
    try:
        yield
    finally:
        job.budget.seconds += time.monotonic() - started


def _dealt(parts: Sequence[Prediction], asked: Sequence[NDArray[Any]]) -> list[Prediction]:
    """To each job its share of what the calls answered."""
    if len(parts) == len(asked) == 1:
        return list(parts)
    prediction = Prediction.concatenate(parts) if parts else Prediction(np.empty(0))
    ends = np.cumsum([len(states) for states in asked])
    return [prediction[end - len(states) : end] for end, states in zip(ends, asked, strict=True)]


def _total(jobs: Sequence[Job]) -> int | None:
    limit = jobs[0].search.settings.max_rows if jobs else None
    return None if limit is None else limit * len(jobs)
