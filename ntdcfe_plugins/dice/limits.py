"""The budget and the prices of a query: the user's settings, or those that suit tables, and the arguments of a call."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import NTDCFE as Engine
from ntdcfe import SearchSettings

# A table has few cells, so that it takes less than the usual budget (rules of thumb): so many rows a feature, or a
# wanted counterfactual, but not fewer than the least number, in calls of 40 rows.
ROWS_A_FEATURE, ROWS_A_COUNTERFACTUAL, FEWEST_ROWS, ROWS_A_CALL = 35, 40, 450, 40
# The engine's share of rows and seconds; the rest is for taking changes back (rule of thumb).
ENGINES_SHARE = 0.85
# Where nothing is found with as many rows, so many times as many more (rule of thumb): still fewer than DiCE's own
# random search asks (benchmarks/results/dice-diversity.md).
TIMES_MORE = 2
# A changed feature costs as much as a quarter of its range, because DiCE's users want few changes (rule of thumb).
SPARSITY_WEIGHT = 1.0
# Arguments of explain_batch that a call may pass on: all but the series, their targets and the number wanted.
SEARCH_OPTIONS = set(inspect.signature(Engine.explain_batch).parameters) - {"self", "X", "target", "n_counterfactuals"}
# Arguments of DiCE's other methods that have a meaning here, too.
OUR_OPTIONS = {"random_seed", "sparsity_weight", "proximity_weight"}


def limits_of(
    settings: SearchSettings | None, n_features: int, total: int, options: Mapping[str, Any]
) -> SearchSettings:
    """The settings of a call, with the rows of a query and the seconds of all queries.

    Parameters
    ----------
    settings : SearchSettings, optional
        The user's; those that suit tables if not given.
    n_features, total : int
        How many columns there are, and how many counterfactuals are wanted.
    options : dict
        Further arguments of the call.
    """
    sparsity, proximity = (options.get(name) for name in ("sparsity_weight", "proximity_weight"))
    passed = {name: options.get(name) for name in ("max_rows", "max_seconds", "prefer")}
    settings = _usual(n_features, total, options.get("prefer")) if settings is None else settings
    settings = settings.given(sparsity_weight=sparsity, **passed)
    if proximity is None:
        return settings
    if not (isinstance(proximity, (int, float, np.number)) and proximity > 0):
        raise UserConfigValidationException(f"proximity_weight must be positive, got {proximity!r}.")
    return replace(settings, sparsity_weight=settings.sparsity_weight / proximity)


def rows_if_nothing_is_found(
    settings: SearchSettings | None, limits: SearchSettings, options: Mapping[str, Any]
) -> int:
    """Rows of a second search, for a query of which the first one finds nothing; none if the user sets the rows.

    Nor with a checkpoint, whose file belongs to one search.
    """
    if options.get("checkpoint") is not None or not _are_usual(settings, limits, options):
        return 0
    return TIMES_MORE * (limits.max_rows or 0)


def tried_under_noise(
    settings: SearchSettings | None, limits: SearchSettings, options: Mapping[str, Any]
) -> int | None:
    """How many of a query's counterfactuals are tried under noise: of our own few rows the first, else all (None).

    To try one takes 40 rows, more than half of what it took to find it.
    """
    return 1 if _are_usual(settings, limits, options) else None


def _are_usual(settings: SearchSettings | None, limits: SearchSettings, options: Mapping[str, Any]) -> bool:
    """Whether the limits are the few rows that suit tables, and not the user's or those of tests under noise."""
    return settings is None and options.get("max_rows") is None and limits.prefer == "nearest"


def _usual(n_features: int, total: int, prefer: Any) -> SearchSettings:
    """The settings that suit tables.

    With a price on changed features the nearest row is also one of few changes. What has to withstand noise takes
    many more rows.
    """
    usual = SearchSettings(sparsity_weight=SPARSITY_WEIGHT).given(prefer=prefer)
    usual = replace(usual, options=["nearest" if prefer is None else prefer])
    assert usual.max_rows is not None
    if usual.prefer != "nearest":
        return usual
    rows = min(max(FEWEST_ROWS, ROWS_A_FEATURE * n_features, ROWS_A_COUNTERFACTUAL * total), usual.max_rows)
    return replace(usual, max_rows=rows, batch_rows=ROWS_A_CALL)
