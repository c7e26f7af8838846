"""The one place that talks to the model: pools what jobs ask, counts, limits, stops, deals with faults."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ntdcfe.errors import InvalidInputError, PredictorError
from ntdcfe.job import Job
from ntdcfe.parallel import Halt
from ntdcfe.predictor import Prediction, Predictor


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
    halt: Halt | None = field(default=None, init=False)
    """Where others may ask for an end."""

    def __post_init__(self) -> None:
        self._deadline = np.inf if self.max_seconds is None else time.monotonic() + self.max_seconds
        self._longest_round = 0.0
        self.predictor.deadline = self._deadline

    @property
    def out_of_time(self) -> bool:
        """Whether there is no time for another batch and the last check, each as slow as the slowest so far."""
        return time.monotonic() + 2 * self._longest_round >= self._deadline

    def run(self, jobs: Sequence[Job]) -> None:
        """Bring every job to its end; jobs share calls, and nothing else.

        The first interrupt ends the searches and lets what they found be asked again; the second ends it all.
        """
        started = time.monotonic()
        with tqdm(total=_total(jobs), unit="row", desc="searching", disable=not self.progress) as bar:
            waiting: Sequence[Job] = jobs
            while waiting:
                try:
                    for job in waiting:
                        if job.phase == "look" and job.pending is None:
                            job.begin()
                    while waiting := [job for job in waiting if job.phase != "done"]:
                        if self.halt is not None and self.halt.requested and not self.interrupted:
                            raise KeyboardInterrupt
                        if self.out_of_time:
                            waiting = self._hurried(waiting)
                        begun = time.monotonic()
                        self._serve(waiting, bar)
                        self._longest_round = max(self._longest_round, time.monotonic() - begun)
                        for job in waiting:
                            job.seconds = time.monotonic() - started
                except KeyboardInterrupt:
                    if self.interrupted:
                        raise
                    self.interrupted = True
                    for job in waiting:
                        if job.phase != "done":
                            job.wind_up("interrupted")

    def _hurried(self, running: Sequence[Job]) -> list[Job]:
        """The jobs that may ask once more, when time is up."""
        late = time.monotonic() >= self._deadline
        for job in running:
            if job.phase == "search" or (late and job.phase == "look" and job.search.n_queries):
                job.wind_up("budget_exhausted")
            elif late and job.phase == "check" and job.n_checks:
                job.give_up()
        return [job for job in running if job.phase != "done"]

    def _serve(self, running: Sequence[Job], bar: tqdm[Any]) -> None:
        """One round: ask what every job wants to know, and tell it."""
        before = sum(job.search.n_queries for job in running)
        for job, prediction in zip(running, self._ask(running), strict=True):
            if prediction is None:
                continue
            try:
                job.tell(prediction)
            except Exception as cause:
                if job.present is None and isinstance(cause, InvalidInputError):
                    raise  # the target names a class that the model does not have
                job.fail(cause)
        bar.update(sum(job.search.n_queries for job in running) - before)
        if not bar.disable and len(running) == 1 and len(running[0].search.candidates):
            bar.set_postfix(best=f"{running[0].search.candidates.best_proximity:.3g}", refresh=False)

    def _ask(self, jobs: Sequence[Job]) -> list[Prediction | None]:
        """Predictions of what each job asks, in one call for all; None for a job on whose rows the model failed."""
        if not jobs:
            return []
        try:
            return list(self._call(jobs))
        except PredictorError as cause:
            if len(jobs) == 1 or time.monotonic() >= self._deadline:
                for job in jobs:
                    job.fail(cause)
                return [None] * len(jobs)
        # Whose rows are at fault? The others must not suffer for them.
        return [prediction for job in jobs for prediction in self._ask([job])]

    def _call(self, jobs: Sequence[Job]) -> list[Prediction]:
        calls, failures = self.predictor.n_calls, self.predictor.n_failures
        asked: list[NDArray[Any]] = [job.pending for job in jobs if job.pending is not None]
        blocks = [j.search.environment.rows(s) for j, s in zip(jobs, asked, strict=True)]
        rows = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        try:
            prediction = self.predictor(rows[:, 0] if self.static else rows)
        finally:
            for job in jobs:
                job.search.n_calls += self.predictor.n_calls - calls
                job.n_failures += self.predictor.n_failures - failures
        parts, start = [], 0
        for job, states in zip(jobs, asked, strict=True):
            job.search.n_queries += len(states)
            parts.append(prediction[start : start + len(states)])
            start += len(states)
        return parts


def _total(jobs: Sequence[Job]) -> int | None:
    limit = jobs[0].search.settings.max_queries if jobs else None
    return None if limit is None else limit * len(jobs)
