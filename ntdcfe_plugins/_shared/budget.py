"""The budget of a call, shared between the engine's search and the questions that an adapter asks itself."""

from __future__ import annotations

from dataclasses import replace

from ntdcfe import Counterfactual, SearchSettings

# Seconds that a search is given where none are left: the settings take positive numbers only.
LEAST_SECONDS = 1e-9


def for_the_search(limits: SearchSettings, rows: int = 0, seconds: float = 0.0, share: float = 1.0) -> SearchSettings:
    """The limits of the engine's search, from those of the whole call.

    Parameters
    ----------
    limits : SearchSettings
        Of the whole call.
    rows : int
        Rows of each instance that the adapter asks about itself.
    seconds : float
        Seconds of the call that are used up already.
    share : float
        The share of the remaining rows and seconds that the search may use.
    """
    left: dict[str, float] = {}
    if limits.max_rows is not None:
        left["max_rows"] = max(1, int(share * (limits.max_rows - rows)))
    if limits.max_seconds is not None:
        left["max_seconds"] = max(LEAST_SECONDS, share * (limits.max_seconds - seconds))
    return replace(limits, **left)  # type: ignore[arg-type]


def with_costs(
    cf: Counterfactual, rows: int = 0, calls: int = 0, failures: int = 0, seconds: float = 0.0
) -> Counterfactual:
    """The counterfactual with further costs added to its own."""
    return replace(
        cf,
        rows=cf.rows + int(rows),
        calls=cf.calls + int(calls),
        failures=cf.failures + int(failures),
        seconds=cf.seconds + float(seconds),
    )
