"""A bar of the rows that a model has answered: it moves while one series is worked on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tqdm.auto import tqdm

from ntdcfe import Progress
from ntdcfe.run.batch import Shown


class RowBar:
    """A bar over the rows of all series, which may be worked on in several groups; or what the user gave in its place.

    A series that is finished counts with all the rows that it was given. Workers tell of finished series only.

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
    >>> with RowBar(False, 100) as bar:
    ...     bar.of_group(1)
    False
    """

    def __init__(self, progress: Shown, max_rows: int | None, series: int = 1) -> None:
        self._progress = progress
        self._rows = max_rows or 0
        self._series = series
        self._begun = 0
        self._bar: Any = None

    def __enter__(self) -> RowBar:
        if self._progress is True:
            self._bar = tqdm(total=self._rows * self._series or None, unit="row", desc="searching")
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def of_group(self, series: int) -> Shown:
        """What the engine tells its progress to, for the next group of so many series."""
        before, self._begun = self._begun, self._begun + series
        return self._progress if self._bar is None else self._teller(before)

    def _teller(self, before: int) -> Callable[[Progress], None]:
        def tell(progress: Progress) -> None:
            done = before + progress.done
            # The rows that are told are those of the series at work.
            self._bar.update(max(0, done * self._rows + progress.rows - self._bar.n))
            best = {"best": f"{progress.best:.3g}"} if math.isfinite(progress.best) else {}
            self._bar.set_postfix(series=f"{done} of {self._series}", **best, refresh=False)

        return tell
