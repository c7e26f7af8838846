"""How many rows a search may ask, where the model is slow: as many as it answers in the time of a series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ntdcfe import SearchSettings

# Seconds for one series where neither rows nor seconds are said; a rule of thumb for somebody who waits.
SECONDS_A_SERIES = 60.0
# Of that, at least so many batches and rows: with fewer a search finds nothing that is worth its time.
FEWEST_CALLS, FEWEST_ROWS = 8, 40
# Batches that few rows are spread over, and the rows in one of them. Measured on plans of 8 steps, 600 to 3000 rows:
# simple answers that hold are found, as near as with 10 000 rows, with 40 to 60 batches of 20 rows or more; with 80
# batches of 16 none are.
CALLS, FEWEST_IN_A_BATCH, MOST_IN_A_BATCH = 55, 20, 160
# The engine's own plan is as good where there are more rows than these.
FEW_ROWS = 3000
# The engine's own plan: calls for any number of rows up to 160 in each.
PLANNED_CALLS = 80
# The estimate may be short: the search is stopped when it takes so many times as long.
ROOM = 1.5


def in_few_batches(settings: SearchSettings) -> SearchSettings:
    """The settings with larger and fewer batches, where rows are few and no batch size is said."""
    few = settings.max_rows is not None and settings.max_rows < FEW_ROWS
    if settings.max_rows is None or not few or settings.batch_rows is not None or settings.algorithm != "default":
        return settings
    return replace(settings, batch_rows=max(FEWEST_IN_A_BATCH, settings.max_rows // CALLS))


@dataclass(frozen=True)
class Pace:
    """What a model takes for an answer.

    Parameters
    ----------
    call, row : float
        Seconds for a call, whatever its size, and for each row in it.
    """

    call: float
    row: float

    @classmethod
    def measured(cls, calls: Sequence[tuple[int, float]]) -> Pace:
        """From calls of so many rows in so many seconds.

        The cheapest call of each size counts: the first one often does what is never done again. With one size, all
        of it is counted for the rows.
        """
        cheapest: dict[int, float] = {}
        for rows, seconds in calls:
            cheapest[rows] = min(seconds, cheapest.get(rows, seconds))
        few, many = min(cheapest), max(cheapest)
        if few == many:
            return cls(0.0, cheapest[few] / few)
        row = max(0.0, (cheapest[many] - cheapest[few]) / (many - few))
        return cls(max(0.0, cheapest[few] - few * row), row)

    def seconds(self, settings: SearchSettings, sharing: int = 1) -> float:
        """What a search of so many series that share calls takes, if it uses up its rows."""
        rows = settings.max_rows or 0
        calls = max(PLANNED_CALLS, rows / MOST_IN_A_BATCH)
        return calls * self.call + rows * sharing * self.row

    def fitted(self, settings: SearchSettings, seconds: float, sharing: int = 1) -> SearchSettings:
        """The settings with as many rows for each series as all of them together are answered in these seconds.

        Parameters
        ----------
        settings : SearchSettings
        seconds : float
            For all series that share calls.
        sharing : int
            How many series that are.
        """
        if settings.max_rows is None or self.seconds(settings, sharing) <= seconds:
            return settings
        # At most half of the time for what a call costs whatever its size.
        calls = min(CALLS, max(FEWEST_CALLS, int(seconds / (2 * max(self.call, 1e-9)))))
        rows = int((seconds - calls * self.call) / (sharing * max(self.row, 1e-9)))
        rows = min(max(FEWEST_ROWS, rows), settings.max_rows, calls * MOST_IN_A_BATCH)
        limit = ROOM * seconds if settings.max_seconds is None else settings.max_seconds
        fewer = replace(settings, max_rows=rows, max_seconds=limit)
        if settings.batch_rows is None and settings.algorithm == "default" and rows < FEW_ROWS:
            fewer = replace(fewer, batch_rows=max(FEWEST_IN_A_BATCH, rows // calls))
        return fewer
