"""A second search, for queries of which the first one found nothing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ntdcfe import NTDCFE as Engine
from ntdcfe import Counterfactual
from ntdcfe_plugins._shared.budget import with_costs
from ntdcfe_plugins.dice.limits import ENGINES_SHARE, ROWS_A_CALL

if TYPE_CHECKING:
    from ntdcfe_plugins.dice.search import TableSearch

# How a search ends that asked all it may: nobody stopped it, and the model did not fail.
RAN_OUT = ("not_found", "budget_exhausted")


def or_second(
    search: TableSearch,
    engine: Engine,
    starts: NDArray[Any],
    answers: list[Counterfactual],
    options: Mapping[str, Any],
) -> list[Counterfactual]:
    """The answers; in place of those that found nothing, the answers of a second search with more rows.

    Parameters
    ----------
    search : TableSearch
        Tells how many rows there are for it, and is told what they were spent on.
    engine : NTDCFE
        Of the first search.
    starts : array (N, ...)
        The states from which it began.
    answers : list of N Counterfactual
    options : dict
        Further arguments of the engine's ``explain_batch``.
    """
    missed = [i for i, cf in enumerate(answers) if not cf.found and cf.status in RAN_OUT]
    rows = min(search.rows_of_second, search.left.in_time())
    if not missed or rows < ROWS_A_CALL:
        return answers
    limits = replace(search.limits_of_search(fixed=False), max_rows=int(ENGINES_SHARE * rows))
    second = copy.copy(engine)
    second.settings, second.seed = replace(limits, survival=engine.settings.survival), engine.seed + 1
    found = second.explain_batch(starts[missed], [search.targets[i] for i in missed], **options)
    search.left.more_rows[missed] = rows
    answers = list(answers)
    for i, cf in zip(missed, found, strict=True):
        first = answers[i]
        answers[i] = with_costs(cf, first.rows, first.calls, first.failures, first.seconds)
        search.left.engines_rows[i] = answers[i].rows
    return answers
