"""A bar of the rows that a model has answered: it moves while one series is worked on."""

from __future__ import annotations

import math
from typing import Any

from tqdm.auto import tqdm

from ntdcfe import Progress
from ntdcfe.run.batch import Shown


class RowBar:
    """What the engine tells its progress to: a bar of rows, or what the user gave.

    Parameters
    ----------
    progress : bool or callable
        As the user gave it; True for a bar.
    max_rows : int or None
        Of each series.
    series : int
        How many there are.

    Examples
    --------
    >>> with RowBar(False, 100) as shown:
    ...     shown
    False
    """

    def __init__(self, progress: Shown, max_rows: int | None, series: int = 1) -> None:
        self._progress = progress
        self._bar: Any = None
        self._total = None if max_rows is None else max_rows * series
        self._finished = 0
        self._last = 0

    def __enter__(self) -> Shown:
        if self._progress is not True:
            return self._progress
        self._bar = tqdm(total=self._total, unit="row", desc="searching")
        return self._tell

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _tell(self, progress: Progress) -> None:
        """Move the bar to the rows of the searches that are over, and of those at work."""
        if not progress.rows:  # a series is finished, whose rows are counted already
            self._bar.set_postfix(done=f"{progress.done} of {progress.instances}", refresh=False)
            return
        if progress.rows < self._last:  # other series have begun
            self._finished += self._last
        self._last = progress.rows
        self._bar.update(self._finished + self._last - self._bar.n)
        if math.isfinite(progress.best):
            self._bar.set_postfix(best=f"{progress.best:.3g}", refresh=False)
