"""How many rows a search may ask, where the model is slow: as many as it answers in the time of a series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from ntdcfe import InvalidInputError, SearchSettings

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
# Rows of the call that tells what a call costs from what a row costs, and the share of the time that it may take.
TRIAL_ROWS, TRIAL_SHARE = 32, 0.1


def seconds_a_series(
    settings: SearchSettings, max_rows: int | None, wanted: float | None, series: int = 1
) -> float | None:
    """The seconds that a series may take, None where rows alone decide.

    Parameters
    ----------
    settings : SearchSettings
        Of the call.
    max_rows : int or None
        As the user said it in the call.
    wanted : float or None
        ``seconds_per_series`` as the user said it.
    series : int
        How many there are.
    """
    if wanted is not None:
        if isinstance(wanted, bool) or not isinstance(wanted, Real) or not wanted > 0:
            raise InvalidInputError(f"seconds_per_series must be positive, infinite for no limit, got {wanted!r}.")
        return float(wanted) if math.isfinite(wanted) else None
    if max_rows is not None or settings.max_rows != SearchSettings().max_rows:
        return None
    return SECONDS_A_SERIES if settings.max_seconds is None else settings.max_seconds / series


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
        """From calls of so many rows in so many seconds; with one size, all of it is counted for the rows."""
        cheapest: dict[int, float] = {}
        for rows, seconds in calls:
            cheapest[rows] = min(seconds, cheapest.get(rows, seconds))
        few, many = min(cheapest), max(cheapest)
        if few == many:
            return cls(0.0, cheapest[few] / few)
        # The first call, which is the small one, often does what is never done again: what a call costs is told by
        # the large one.
        row = max(0.0, (cheapest[many] - cheapest[few]) / (many - few))
        return cls(max(0.0, cheapest[many] - many * row), row)

    def seconds(self, settings: SearchSettings) -> float:
        """What the search of one series takes, if it uses up its rows."""
        if settings.max_rows is None:
            return math.inf
        size = MOST_IN_A_BATCH if settings.batch_rows is None else settings.batch_rows
        planned = PLANNED_CALLS if settings.batch_rows is None else 1
        return max(planned, settings.max_rows / size) * self.call + settings.max_rows * self.row

    def fitted(self, settings: SearchSettings, seconds: float, series: int = 1) -> SearchSettings:
        """The settings with as many rows for each series as the model answers in these seconds.

        Where all rows are answered in time, the settings are the same: for a fast model the seed decides the result.

        Parameters
        ----------
        settings : SearchSettings
        seconds : float
            For one series, if it has all calls to itself.
        series : int
            How many there are; together they are stopped if they take much longer.
        """
        if self.seconds(settings) <= seconds:
            return settings
        # At most half of the time for what a call costs whatever its size.
        calls = min(CALLS, max(FEWEST_CALLS, int(seconds / (2 * max(self.call, 1e-9)))))
        rows = int((seconds - calls * self.call) / max(self.row, 1e-9))
        rows = min(max(FEWEST_ROWS, rows), calls * MOST_IN_A_BATCH, settings.max_rows or rows)
        limit = ROOM * seconds * series if settings.max_seconds is None else settings.max_seconds
        fewer = replace(settings, max_rows=rows, max_seconds=limit)
        if settings.batch_rows is None and settings.algorithm == "default" and rows < FEW_ROWS:
            fewer = replace(fewer, batch_rows=max(FEWEST_IN_A_BATCH, rows // calls))
        return fewer


def as_begun(limits: SearchSettings, begun: Mapping[str, Any]) -> SearchSettings:
    """The limits of a search with the rows that its checkpoint was begun with, if there is one.

    Another measurement of the pace would give other rows, and so another run.
    """
    if begun.get("max_rows") is None:
        return limits
    return replace(limits, max_rows=begun["max_rows"], batch_rows=begun.get("batch_rows"))


def in_words(asked_for: SearchSettings, limits: SearchSettings, seconds: float | None) -> str:
    """What is said of a search that was given fewer rows because the model is slow; nothing if it was not."""
    if seconds is None or limits.max_rows == asked_for.max_rows:
        return ""
    most = "any number" if asked_for.max_rows is None else f"{asked_for.max_rows}"
    return (
        f"the model is slow: each series was given {limits.max_rows} rows in place of {most}, to take about "
        f"{seconds:g} s; for more, raise seconds_per_series, or say max_rows"
    )
