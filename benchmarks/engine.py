"""The engine's names for what a search costs, in one place, so that benchmarks do not depend on them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ntdcfe import Counterfactual, SearchSettings

# The search for the nearest answer alone, which the tables of distances are about.
NEAREST = SearchSettings(options=["nearest"], survival=None)
# Of a counterfactual as a dict: what depends on the machine, and on who shares calls to the model.
NOT_REPEATABLE = ("seconds", "calls")
# Most rows that the default search puts into one batch.
LARGEST_BATCH = SearchSettings().tuning.budget.most_rows


def rows(cf: Counterfactual) -> int:
    """Give how many rows the model was asked about."""
    return cf.rows


def calls(cf: Counterfactual) -> int:
    """Give how many calls were made to the model."""
    return cf.calls


def row_limit(most: int | None) -> dict[str, Any]:
    """Give the argument of ``explain``, ``explain_batch`` and the settings that limits rows; None for their default."""
    return {} if most is None else {"max_rows": most}


def limited(settings: SearchSettings, most_rows: int, calls: int | None = None) -> SearchSettings:
    """Give the settings with another limit of rows, in batches that make about so many calls; None as they are."""
    settings = replace(settings, **row_limit(most_rows))
    return settings if calls is None else replace(settings, batch_rows=math.ceil(most_rows / calls))


def largest_batches(settings: SearchSettings) -> SearchSettings:
    """Give the settings with batches that are as large as the search ever makes them."""
    return replace(settings, batch_rows=LARGEST_BATCH)


def most_rows(settings: SearchSettings) -> int | None:
    """Give the limit of rows."""
    return settings.max_rows
