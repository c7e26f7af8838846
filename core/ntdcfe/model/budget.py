"""What one instance may spend, and what it has spent: the only place that counts rows, calls, batches and seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ntdcfe.problem.reprs import typed_back

if TYPE_CHECKING:
    from ntdcfe.settings import SearchSettings

# Stands for no limit: more rows than any model will ever answer.
NO_LIMIT = 2**62


@dataclass(frozen=True, repr=False)
class BudgetTuning:
    """Numbers of the budget; rules of thumb.

    Parameters
    ----------
    values_in_a_batch : int
        Bounds the memory of a batch: at 144 x 963 it has 57 rows.
    more_batches : float
        Where that makes batches small, up to so many times as many of them make up for it (measured: a forest of
        144 x 963 stays under a minute, benchmarks/results/scale.md).
    calls : int
        Batches that the rows are spread over, where nothing else is said (measured: benchmarks/results/speed.md).
    fewest_rows, most_rows : int
        Rows in a batch, at least and at most; more rows than `calls` batches of `most_rows` make more batches.
    rows_after : int
        Rows set aside for what each edit of the answer does.
    calls_set_aside : int
        For the step off the boundary, and for the last check.
    """

    values_in_a_batch: int = 8_000_000
    more_batches: float = 1.4
    calls: int = 80
    fewest_rows: int = 16
    most_rows: int = 160
    calls_set_aside: int = 2
    rows_after: int = 50

    __repr__ = typed_back


class OutOfTime(Exception):
    """The seconds gave out in the middle of our own work: the search ends there, with what it has found."""


class Budget:
    """Rows, calls and seconds of one instance.

    Parameters
    ----------
    settings : SearchSettings
    n_steps, n_cells : int
        Of the series: large ones are asked about in small batches.

    Attributes
    ----------
    rows, calls, failures : int
        Rows that the model saw, those of failed calls included; calls that the instance took part in, and those among
        them that failed.
    unscored : int
        Rows for which the model gave no number and no label.
    batches : int
        Questions: calls, had none to be split.
    proposed : int
        Rows that the search itself asked about.
    seconds : float
    deadline : float
        When they are used up, by ``time.monotonic()``; infinity without a limit.
    """

    def __init__(self, settings: SearchSettings, n_steps: int, n_cells: int) -> None:
        self.settings = settings
        self.tuning = settings.tuning.budget
        self.n_steps = n_steps
        self.n_cells = n_cells
        self.rows = self.calls = self.failures = self.batches = self.proposed = self.unscored = 0
        self.seconds = 0.0
        self.deadline = math.inf

    def spend(self, rows: int, calls: int, failures: int, unscored: int = 0) -> None:
        """Count what a question took."""
        self.unscored += unscored
        self.rows += rows
        self.calls += calls
        self.failures += failures

    @property
    def batch_size(self) -> int:
        """Rows in a batch: as set, fewer where the rows left have to last for the calls left, or memory is short."""
        in_memory = max(self.tuning.fewest_rows, self.tuning.values_in_a_batch // self.n_cells)
        return int(min(self._affordable, in_memory))

    @property
    def widest(self) -> int:
        """Most rows of one question for which there is memory, and no limit of the user's."""
        if self.settings.batch_rows is not None:
            return self.settings.batch_rows
        return max(self.tuning.fewest_rows, self.tuning.values_in_a_batch // self.n_cells)

    @property
    def _planned(self) -> float:
        """Batches that the rows are spread over."""
        rows, batch = self.settings.max_rows, self.settings.batch_rows
        if rows is None:
            return math.inf
        if batch is not None:
            return math.ceil(rows / batch)
        return max(self.tuning.calls, math.ceil(rows / self.tuning.most_rows))

    @property
    def _affordable(self) -> int:
        rows, calls = self.settings.max_rows, self._planned
        if self.settings.batch_rows is not None:
            return self.settings.batch_rows
        if rows is None:
            return self.tuning.most_rows
        if self.n_steps > 1:  # a row of a table has few cells: batches stay small, and rows may be left over
            rows, calls = rows - self.proposed, max(1, calls - self.batches)
        return min(self.tuning.most_rows, max(self.tuning.fewest_rows, int(rows // calls)))

    def left(self, share: float = 1.0, found: bool = True) -> bool:
        """Whether less than that share of the rows, and of the batches that they are spread over, is used up.

        As long as nothing is found, only rows count: a search must not give up while it may ask.
        """
        rows = math.inf if self.settings.max_rows is None else self.settings.max_rows
        return self.rows < share * rows and (not found or self.batches < share * self._for_search)

    @property
    def used(self) -> float:
        """The share that is used up, of the rows or of the batches, whichever is more."""
        rows = 0.0 if self.settings.max_rows is None else self.rows / self.settings.max_rows
        return max(rows, self.batches / max(self._for_search, 1))

    @property
    def _for_search(self) -> float:
        """Batches of the search itself."""
        batches = self._planned * min(self.tuning.more_batches, self._affordable / self.batch_size)
        return batches - self.tuning.calls_set_aside - self._asks_after

    @property
    def _asks_after(self) -> bool:
        """Whether what the edits of the answer do is asked in the end."""
        settings = self.settings
        return settings.algorithm == "default" and settings.refine and bool(set(settings.options) - {"nearest"})

    def replan(self) -> None:
        """Something is found: if that took half of the batches, those that are left are as many as the rows left."""
        if self.settings.max_rows is not None and self.batches > self._planned / 2:
            self.batches = min(self.batches, math.ceil(self._planned * self.rows / self.settings.max_rows))

    def look_at_clock(self, ahead: float = 0.0) -> None:
        """Raise OutOfTime when the seconds are used up, or will be after a step that takes so many of them.

        Called before each of our own steps that may take long.
        """
        if time.monotonic() + ahead >= self.deadline:
            raise OutOfTime

    @property
    def rows_left(self) -> int:
        """Rows that may still be asked."""
        limit = self.settings.max_rows
        return NO_LIMIT if limit is None else max(0, limit - self.rows)

    def room(self, contradicted: bool) -> int:
        """Rows that the search may still ask: some are set aside for the last check."""
        settings = self.settings
        # One call of votes, and a few more in case of a contradiction; twice as many if the model contradicts itself.
        full = settings.confirmations * (12 if contradicted else 6) * settings.n_counterfactuals
        full += self.tuning.rows_after if self._asks_after else 0
        spare = full if settings.max_rows is None else settings.max_rows // 4
        return self.rows_left - min(full, max(settings.n_counterfactuals, spare))
