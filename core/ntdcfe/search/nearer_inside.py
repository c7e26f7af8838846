"""From plausible valid states to nearer ones, where the in-distribution test refuses the original.

There the test, not the model, says how far an answer has to go, and its verdict costs no question. So states go nearer
for some rounds by the test alone, and the model is asked about a few stops on the way: an evolution strategy whose
steps change whole windows at once and give back in groups. In each turn some cells of a state are held as they are,
for the model may need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Asks, Search
from ntdcfe.search.edits.draws import Drawer
from ntdcfe.search.edits.tuning import MOST_VALUES

# After how many rounds of a turn the model is asked (rule of thumb: most early stops hold, and the late are near).
STOPS = (1, 2, 4, 8)
# Shares of the states that move by what others differ in, and that move by that or by a shift (rules of thumb).
MIXED, MOVED = 0.3, 0.7
# Halvings of the largest step, at most, and how often the changes of a feature are evened out (rules of thumb).
HALVINGS, EVENED = 7, 0.15
# A turn that gains less than this share is in vain; the phase ends after so many of them (rules of thumb).
LEAST_GAIN, VAIN_TURNS = 0.003, 5


def nearer_inside(search: Search) -> Asks:
    """Go nearer until that gains little, or its share of what is left of the budget is used up."""
    plausible, tuning = search.problem.plausible, search.settings.tuning.distribution
    if plausible is None or not search.problem.from_outside:
        return
    pool = np.array(search.pool.states)
    pool = pool[plausible(pool)]
    if not len(pool):
        return
    steps = _Steps(search)
    n, used = search.budget.batch_size, search.budget.used
    m, end, vain = max(1, n // len(STOPS)), used + tuning.nearer * (1 - used), 0
    kept = pool[np.arange(m) % len(pool)]
    cost = search.objective.cost(kept)
    while search.left(end) and vain < VAIN_TURNS:
        best, held = cost.min(), steps.held(m)
        states, price, stops = kept, cost, []
        for turn in range(1, STOPS[-1] + 1):
            states, price = steps.nearer(states, price, held, n * tuning.nearer_proposed)
            if turn in STOPS:
                stops.append(states)
        outcome = yield from search.ask(np.concatenate(stops))
        good = outcome.valid & plausible(outcome.states)
        told = np.where(good, search.objective.cost(outcome.states), np.inf).reshape(len(STOPS), m)
        stop, told = told.argmin(0), told.min(0)
        won = np.flatnonzero(told < cost)
        kept[won], cost[won] = outcome.states[stop[won] * m + won], told[won]
        vain = 0 if cost.min() < best * (1 - LEAST_GAIN) else vain + 1
        # The worst give way to the best.
        order, few = np.argsort(cost, kind="stable"), m // 8
        kept[order[m - few :]], cost[order[m - few :]] = kept[order[:few]], cost[order[:few]]


class _Steps:
    """The steps of one search, which the model is not asked about."""

    def __init__(self, search: Search) -> None:
        self.search, self.space = search, search.space
        self.drawer = Drawer(search.space, search.problem.kinds)
        self.rng = np.random.default_rng([search.seed, 5])

    def held(self, m: int) -> NDArray[np.bool_]:
        """Which cells of m states stay as they are ``(m, K, F)``: some features, throughout or up to or from a step."""
        (k, f), rng = self.space.original.shape, self.rng
        features = rng.random((m, f)) < rng.choice([0.0, 0.25, 0.5, 0.75], (m, 1))
        cut, late = rng.integers(0, k + 1, (m, 1)), rng.random((m, 1)) < 0.5
        steps = ((np.arange(k) >= cut) == late) | (rng.random((m, 1)) < 0.5)
        return np.asarray(steps[:, :, None] & features[:, None] | self.space.discrete)

    def nearer(
        self, states: NDArray[Any], cost: NDArray[np.float64], held: NDArray[np.bool_], n: int
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Each of the states ``(m, K, F)``, or what is plausible and costs least of about n / m made of it."""
        search, plausible = self.search, self.search.problem.plausible
        assert plausible is not None
        search.budget.look_at_clock()
        m = len(states)
        each = max(1, min(n, MOST_VALUES // states[0].size) // m)
        at = np.repeat(np.arange(m), each)
        made = self.space.project(np.where(held[at], states[at], self._moved(states, at)))
        price = search.objective.cost(made)
        may = np.flatnonzero(price < cost[at])
        good = may[plausible(made[may])] if len(may) else may
        told = np.full(len(made), np.inf)
        told[good] = price[good]
        best = told.reshape(m, each).argmin(1) + each * np.arange(m)
        won = told[best] < cost
        return np.where(won[:, None, None], made[best], states), np.where(won, told[best], cost)

    def _moved(self, states: NDArray[Any], at: NDArray[np.int64]) -> NDArray[Any]:
        """States made of those at ``(n,)`` of ``(m, K, F)``: moved, and all of them given back in a group of cells."""
        rng, original, n, m = self.rng, self.space.original, len(at), len(states)
        change, how = (states - original)[at], rng.random(n)
        mixed = np.flatnonzero(how < MIXED)
        one, other = rng.integers(0, m, (2, len(mixed)))
        change[mixed] += rng.uniform(0.05, 1.0, (len(mixed), 1, 1)) * (states[one] - states[other])
        shifted = np.flatnonzero((how >= MIXED) & (how < MOVED))
        feature = rng.integers(0, original.shape[1], len(shifted))
        size = rng.choice([-1.0, 1.0], len(shifted)) * self._halved(len(shifted)) * self.space.units[feature]
        strength = self.search.settings.tuning.distribution.strength
        change[shifted, :, feature] += strength * size[:, None] * self._window(len(shifted))
        # What rises and falls from step to step is as far and less usual than a change of one height.
        even = np.flatnonzero(rng.random(n) < EVENED)
        some = change[even]
        share = rng.choice([0.3, 1.0], (len(even), 1, 1)) * (rng.random((len(even), 1, original.shape[1])) < 0.5)
        change[even] += share * (some.mean(1, keepdims=True) - some)
        features = rng.random((n, original.shape[1])) < rng.choice([0.2, 0.5, 1.0], (n, 1))
        share = np.where(rng.random(n) < 0.1, 1.0, self._halved(n))[:, None] * self._window(n)
        change *= 1.0 - share[:, :, None] * features[:, None]
        return original + change

    def _halved(self, n: int) -> NDArray[np.float64]:
        """Sizes from 1 down ``(n,)``, as many of each order."""
        return np.asarray(0.5 ** self.rng.uniform(0, HALVINGS, n))

    def _window(self, n: int) -> NDArray[np.bool_]:
        """The steps of n windows ``(n, K)``, half of them throughout."""
        steps = np.arange(self.space.n_steps)
        first, last = self.drawer.draw_windows(n, self.rng)
        inside = (steps >= first[:, None]) & (steps <= last[:, None])
        return np.asarray(inside | (self.rng.random((n, 1)) < 0.5))
