"""How far a run is: for a bar, for a function of the user's, and for Python's logging."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ntdcfe.errors import InvalidInputError, in_words

if TYPE_CHECKING:
    from ntdcfe.model.job import Job

#: INFO for each instance that is finished, DEBUG for each question to the model.
log = logging.getLogger("ntdcfe")


class Progress(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    done, instances : int
        Instances that are finished, and all of them.
    rows : int
        Rows that the model has seen, of those that are being explained in this process.
    max_rows : int or None
        Rows that it may see for them; None where there is no limit.
    best : float
        Proximity of the best so far where one instance is explained; infinite while nothing is found, NaN for several.
    seconds : float
        Since the run began.
    seconds_left : float
        If the instances that are left take as long as those that are done; NaN before one is. For one instance, if it
        uses up its rows.
    """

    done: int
    instances: int
    rows: int
    max_rows: int | None
    best: float
    seconds: float
    seconds_left: float


def best_proximity(job: Job) -> float:
    """Proximity of the best so far, infinite while there is none; NaN where the user's own cannot tell."""
    try:
        return job.search.pool.best_proximity
    except InvalidInputError:
        return np.nan


class Watch:
    """Tells a function of the user's, and the log, how far a run is.

    Parameters
    ----------
    instances : int
        How many there are.
    tell : callable, optional
        Called with a :class:`Progress`. A KeyboardInterrupt that it raises ends the run as Ctrl-C would; any other
        exception is warned of. After either it is not called again.
    """

    def __init__(self, instances: int, tell: Callable[[Progress], object] | None = None) -> None:
        self.instances = instances
        self.tell = tell
        self._done = 0
        self._known = 0
        self._begun = time.monotonic()

    def begin(self, known: int) -> None:
        """So many instances are known from an earlier run."""
        self._done = self._known = known

    def finished(self, instance: int, status: str, rows: int, proximity: float) -> None:
        """An instance is finished."""
        self._done += 1
        log.info("instance %d: %s, %d rows, proximity %.4g", instance, status, rows, proximity)
        self._told(0, None, np.nan)

    def asked(self, jobs: Sequence[Job]) -> None:
        """A question of these jobs was answered."""
        if self.tell is None and not log.isEnabledFor(logging.DEBUG):
            return
        rows, limit = sum(job.budget.rows for job in jobs), jobs[0].search.settings.max_rows if jobs else None
        best = best_proximity(jobs[0]) if len(jobs) == 1 else np.nan
        log.debug("%d rows for %d instances, best %.4g", rows, len(jobs), best)
        self._told(rows, None if limit is None else limit * len(jobs), best)

    def _told(self, rows: int, most: int | None, best: float) -> None:
        if self.tell is None:
            return
        seconds, new, left = time.monotonic() - self._begun, self._done - self._known, self.instances - self._done
        ahead = seconds / new * left if new else np.nan
        if self.instances == 1 and most and rows:
            ahead = seconds * max(0, most - rows) / rows
        try:
            self.tell(Progress(self._done, self.instances, rows, most, best, seconds, ahead))
        except KeyboardInterrupt:
            self.tell = None  # a second one would end the run without a last check
            raise
        except Exception as error:
            self.tell = None
            warnings.warn(f"progress raised {type(error).__name__}: {in_words(error)}", stacklevel=2)
