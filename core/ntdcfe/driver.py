"""The one place that talks to the model: pools what searches ask, counts, limits, stops, checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ntdcfe.predictor import Prediction, Predictor
from ntdcfe.search import Answer, Asks, Search
from ntdcfe.target import Target

Status = Literal["found", "not_found", "already_target", "budget_exhausted", "interrupted"]


class NearMiss(NamedTuple):
    """The state ``(K, F)`` that came nearest to the target without reaching it, and what the model says of it."""

    score: float
    state: NDArray[Any]
    prediction: Prediction


@dataclass
class Job:
    """One instance on its way: its search, and what became of it.

    `present` is the model's prediction for the original, `prediction` the one for the answer.
    `answers` are states ``(K, F)`` that were confirmed, the best first.
    """

    search: Search
    target: Target
    start: Callable[[Search], Asks]
    status: Status = "not_found"
    present: Prediction | None = None
    prediction: Prediction | None = None
    answers: tuple[NDArray[Any], ...] = ()
    near_miss: NearMiss | None = None
    seconds: float = 0.0
    _asks: Asks | None = None
    _pending: NDArray[Any] | None = None

    def resume(self, answer: Answer | None) -> None:
        """Let the search go on until it asks again, or ends."""
        try:
            with _one_torch_thread():
                if self._asks is None:
                    self._asks = self.start(self.search)
                    self._pending = next(self._asks)
                else:
                    assert answer is not None
                    self._pending = self._asks.send(answer)
        except StopIteration:
            self._pending = None

    def note_miss(self, states: NDArray[Any], prediction: Prediction, answer: Answer) -> None:
        """Remember the best of the states ``(n, K, F)`` that missed, until something is found."""
        if answer.score is None or answer.reached.any() or len(self.search.candidates):
            return
        best = int(answer.score.argmax())
        if self.near_miss is None or answer.score[best] > self.near_miss.score:
            self.near_miss = NearMiss(float(answer.score[best]), states[best].copy(), prediction[best : best + 1])

    def stop(self, status: Status) -> None:
        """End the search where it stands."""
        if self._asks is not None:
            self._asks.close()
        self._pending = None
        self.status = status


@dataclass
class Driver:
    """Runs searches against one model.

    Parameters
    ----------
    predictor : Predictor
    static : bool
        Whether the model takes ``(n, D)``, not ``(n, K, D)``.
    max_queries : int, optional
        Most rows for each instance, the first look and the last check included.
    max_seconds : float, optional
        Most seconds from now, for all that is run.
    progress : bool
        Whether to show a bar of rows.
    """

    predictor: Predictor
    static: bool
    max_queries: int | None = None
    max_seconds: float | None = None
    progress: bool = False
    interrupted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._deadline = np.inf if self.max_seconds is None else time.monotonic() + self.max_seconds

    def run(self, jobs: Sequence[Job]) -> None:
        """Bring every job to its end; jobs share calls, and nothing else."""
        started = time.monotonic()
        with tqdm(total=self._total(jobs), unit="row", desc="searching", disable=not self.progress) as bar:
            try:
                self._first_look(jobs)
                running = [job for job in jobs if job.status == "not_found"]
                for job in running:
                    job.resume(None)
                while running := self._within_limits(running):
                    self._serve(running, bar)
                    for job in running:
                        job.seconds = time.monotonic() - started
            except KeyboardInterrupt:
                self.interrupted = True
                for job in jobs:
                    if job.present is None:
                        raise
                    if job.status == "not_found":
                        job.stop("interrupted")
        self._last_check(jobs)

    def _first_look(self, jobs: Sequence[Job]) -> None:
        """What the model says of the originals; those already at the target are done."""
        for job, prediction in zip(
            jobs, self._ask(jobs, [j.search.environment.original[None] for j in jobs]), strict=True
        ):
            if prediction.classes is not None:
                job.target.check_classes(prediction.classes)
            job.present = prediction
            job.target = job.target.given(prediction)
            if job.target.reached(prediction)[0]:
                job.status, job.prediction = "already_target", prediction
                job.answers = (job.search.environment.original,)

    def _within_limits(self, running: list[Job]) -> list[Job]:
        """The jobs that still ask and may."""
        out_of_time = time.monotonic() >= self._deadline
        for job in running:
            if job._pending is not None and (out_of_time or self._rows_left(job) <= 0):
                job.stop("budget_exhausted")
        return [job for job in running if job._pending is not None]

    def _rows_left(self, job: Job) -> int:
        # Enough rows are set aside for the last check.
        reserved = job.search.settings.n_counterfactuals
        return 2**62 if self.max_queries is None else self.max_queries - reserved - job.search.n_queries

    def _serve(self, running: list[Job], bar: tqdm[Any]) -> None:
        """One round: ask what every search wants to know, and tell it."""
        asked = []
        for job in running:
            assert job._pending is not None
            asked.append(job._pending[: self._rows_left(job)])
        predictions = self._ask(running, asked)
        for job, states, prediction in zip(running, asked, predictions, strict=True):
            assert job._pending is not None
            score = job.target.score(prediction)
            # Rounded, because the last bits of a probability depend on the size of the batch.
            answer = Answer(job.target.reached(prediction), None if score is None else score.round(6))
            job.note_miss(states, prediction, answer)
            # Rows beyond the budget were not asked: they count as not reached.
            job.resume(answer.padded(len(job._pending)))
        bar.update(sum(map(len, asked)))
        if not bar.disable and len(running) == 1 and len(running[0].search.candidates):
            bar.set_postfix(best=f"{running[0].search.candidates.best_proximity:.3g}", refresh=False)

    def _last_check(self, jobs: Sequence[Job]) -> None:
        """Ask the answers once more; one that does not hold is replaced by the next candidate."""
        for job in jobs:
            if job.status == "already_target":
                continue
            if job.status == "not_found" and not job.search.left():
                job.status = "budget_exhausted"
            wanted = job.search.settings.n_counterfactuals
            states = job.search.candidates.states if wanted == 1 else job.search.candidates.diverse(wanted)
            while states and not job.answers:
                asked, states = states[:wanted], states[wanted:]
                (prediction,) = self._ask([job], [np.array(asked)])
                held = np.flatnonzero(job.target.reached(prediction))
                if len(held):
                    job.answers = tuple(asked[i] for i in held)
                    job.prediction = prediction[held[0] : held[0] + 1]
                    if job.status != "interrupted":
                        job.status = "found"

    def _ask(self, jobs: Sequence[Job], states: Sequence[NDArray[Any]]) -> list[Prediction]:
        """Predictions of each job's states ``(n, K, F)``, in one call for all."""
        rows = np.concatenate([job.search.environment.rows(s) for job, s in zip(jobs, states, strict=True)])
        calls = self.predictor.n_calls
        prediction = self.predictor(rows[:, 0] if self.static else rows)
        calls = self.predictor.n_calls - calls
        parts, start = [], 0
        for job, s in zip(jobs, states, strict=True):
            job.search.n_queries += len(s)
            job.search.n_calls += calls
            job.search.n_batches += 1
            parts.append(prediction[start : start + len(s)])
            start += len(s)
        return parts

    def _total(self, jobs: Sequence[Job]) -> int | None:
        return None if self.max_queries is None else self.max_queries * len(jobs)


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Small networks are faster on one thread, and sums do not depend on how many there are."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
