"""Rounds of measuring and solving, as long as each makes the state cheaper."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Answer, Asks, Search
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.knapsack import solved
from ntdcfe.search.refine.additive.measure import Measured
from ntdcfe.search.refine.additive.tighten import tightened
from ntdcfe.search.refine.additive.worth import choices_of


def has_room(search: Search, measured: Measured) -> bool:
    """Whether a round is possible and may pay, and enough rows are left for it."""
    space, settings = search.space, search.settings
    tuning = settings.tuning.additive
    return (
        measured.worthwhile
        and settings.n_counterfactuals == 1  # several have to share the rows
        and space.n_steps > 1
        and settings.shape == "segments"
        and space.original.size <= tuning.largest
        and search.rows_left >= (tuning.room_for_next if measured.rounds else tuning.room)
    )


def is_slow(search: Search, costs: list[float]) -> bool:
    """Whether a race whose leader had those costs, call by call, gains so little that a round may gain more."""
    calls, gain = search.settings.tuning.additive.slow_calls, search.settings.tuning.additive.slow_gain
    return len(costs) > calls and costs[-1] > (1 - gain) * costs[-1 - calls]


def adds_up(search: Search, measured: Measured, state: NDArray[Any]) -> Generator[NDArray[Any], Answer, bool]:
    """Whether few moves decide near a valid state ``(K, F)``, as in a model of thresholds.

    Where any of many moves does, as in a smooth model, a regression tells as much for fewer rows.
    """
    if not measured.asked:
        measured.worthwhile = yield from measured.few_decide(Base.of(search, state, np.inf))
    return measured.worthwhile


def additive_rounds(search: Search, measured: Measured, state: NDArray[Any], cost: float) -> Asks:
    """From a valid state ``(K, F)`` of that cost; what is found is in the pool."""
    tuning = search.settings.tuning.additive
    base = yield from tightened(search, Base.of(search, state, cost))
    failed = 0
    while failed < tuning.most_failed and has_room(search, measured) and search.left():
        before = base.cost
        yield from _round(search, measured, base)
        base = base.moved_on()
        if base.cost < before:
            base = yield from tightened(search, base)
        if not base.cost < before * (1 - tuning.least_of_round):
            failed += 1 if measured.rounds else tuning.most_failed
        else:
            measured.rounds += 1
    measured.worthwhile = measured.rounds > 0
    if measured.worthwhile:
        yield from tightened(search, base, finely=True)


def _round(search: Search, measured: Measured, base: Base) -> Asks:
    """What the cells could take instead, then the least costly of the sums that should suffice."""
    tuning = search.settings.tuning.additive
    choices = yield from choices_of(measured, base)
    if choices is None:
        return
    # The fewer choices there are, the nearer the sum stays to the base: a trust region of many sizes.
    dropped = np.linspace(0.0, tuning.dropped, tuning.draws)[:, None]
    some = search.rng.random((tuning.draws, len(choices.cell))) >= dropped
    states = solved(base.flat, choices, some, tuning.margins, tuning.span)
    cheaper = states[search.objective.cost(states.reshape(-1, *search.space.original.shape)) < base.cost]
    if len(cheaper):
        yield from base.ask(cheaper)
