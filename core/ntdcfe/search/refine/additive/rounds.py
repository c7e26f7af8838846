"""Rounds of measuring and solving, as long as each makes the state cheaper.

Models of thresholds, where few moves decide, and smooth models, where any of many does, each have their own.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Answer, Asks, Search
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.knapsack import solved
from ntdcfe.search.refine.additive.measure import Measured
from ntdcfe.search.refine.additive.plane import plane_round
from ntdcfe.search.refine.additive.tighten import tightened
from ntdcfe.search.refine.additive.worth import choices_of

Rounds: TypeAlias = Generator[NDArray[Any], Answer, int]


def has_room(search: Search, measured: Measured) -> bool:
    """Whether a round is possible and may pay, and enough rows are left for it."""
    space, settings = search.space, search.settings
    return (
        measured.worthwhile
        and settings.n_counterfactuals == 1  # several have to share the rows
        and space.n_steps > 1
        and settings.shape == "segments"
        and space.original.size <= settings.tuning.additive.largest
        and search.rows_left >= _room(search, measured)
    )


def _room(search: Search, measured: Measured) -> float:
    """Rows that the next round takes."""
    additive, slopes = search.settings.tuning.additive, search.settings.tuning.slopes
    if measured.few is False:
        return slopes.room + slopes.room_a_move * min(measured.n_moves, slopes.most_measured)
    return additive.room_for_next if measured.rounds else additive.room


def is_slow(search: Search, costs: list[float]) -> bool:
    """Whether a race whose leader had those costs, call by call, gains so little that a round may gain more."""
    calls, gain = search.settings.tuning.additive.slow_calls, search.settings.tuning.additive.slow_gain
    return len(costs) > calls and costs[-1] > (1 - gain) * costs[-1 - calls]


def rounds(search: Search, measured: Measured, state: NDArray[Any], cost: float, races: int = 1) -> Asks:
    """From a valid state ``(K, F)`` of that cost, after so many races; what is found is in the pool.

    A plane leads to the next best answer only, so in a smooth model the first race is just to know another start.
    """
    base = Base.of(search, state, cost)
    if measured.few is None:
        measured.few = yield from measured.few_decide(base)
    if not measured.few and races < search.settings.tuning.slopes.races:
        return
    measured.tried = True
    paid = yield from (_of_thresholds if measured.few else _of_planes)(search, measured, base)
    measured.worthwhile = paid > 0
    measured.rounds += paid


def _of_planes(search: Search, measured: Measured, base: Base) -> Rounds:
    """Rounds for smooth models; returns how many paid."""
    paid, tuning, gain = 0, search.settings.tuning, 1.0
    while gain > tuning.slopes.least_to_go_on and has_room(search, measured) and search.left():
        yield from plane_round(measured, base)
        before, base = base.cost, base.moved_on()
        gain = 1 - base.cost / before if before else 0.0
        if gain < tuning.additive.least_of_round:
            break
        paid += 1
        # Far from the optimum a model of thresholds looks smooth: nearer to it, it is asked once more.
        if paid == 1 and not measured.rounds:
            measured.few = yield from measured.few_decide(base)
            if measured.few:
                return paid + (yield from _of_thresholds(search, measured, base))
    return paid


def _of_thresholds(search: Search, measured: Measured, base: Base) -> Rounds:
    """Rounds for models of thresholds; returns how many paid."""
    tuning = search.settings.tuning.additive
    base = yield from tightened(search, base)
    paid = failed = 0
    while failed < tuning.most_failed and has_room(search, measured) and search.left():
        before = base.cost
        yield from _round(search, measured, base)
        base = base.moved_on()
        if base.cost < before:
            base = yield from tightened(search, base)
        if not base.cost < before * (1 - tuning.least_of_round):
            failed += 1 if paid or measured.rounds else tuning.most_failed
        else:
            paid += 1
    yield from tightened(search, base, finely=True)
    return paid


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
