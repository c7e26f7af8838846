"""The engine's names for what a search costs, in one place, so that benchmarks do not depend on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ntdcfe import Counterfactual, SearchSettings

# Of a counterfactual as a dict: what depends on the machine, and on who shares calls to the model.
NOT_REPEATABLE = ("seconds", "n_calls")
# Most rows that the default search puts into one batch.
LARGEST_BATCH = SearchSettings().batch_rows


def rows(cf: Counterfactual) -> int:
    """Give how many rows the model was asked about."""
    return cf.n_queries


def calls(cf: Counterfactual) -> int:
    """Give how many calls were made to the model."""
    return cf.n_calls


def row_limit(most: int | None) -> dict[str, Any]:
    """Give the argument of ``explain``, ``explain_batch`` and the settings that limits rows; None for their default."""
    return {} if most is None else {"max_queries": most}


def limited(settings: SearchSettings, most_rows: int, most_calls: int | None = None) -> SearchSettings:
    """Give the settings with other limits of rows and of calls; None leaves the calls as they are."""
    settings = replace(settings, **row_limit(most_rows))
    return settings if most_calls is None else replace(settings, max_calls=most_calls)


def any_number_of_calls(settings: SearchSettings) -> SearchSettings:
    """Give the settings without a limit of calls."""
    return replace(settings, max_calls=None)


def most_rows(settings: SearchSettings) -> int | None:
    """Give the limit of rows."""
    return settings.max_queries
