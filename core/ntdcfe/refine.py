"""Shrink what was found: fewer cells, smaller changes, still valid.

Descents start from counterfactuals that lead with different features and race for the budget.
Each descent tries, in one batch, to shrink pieces of its change and single cells, to shrink together the pieces that
could be shrunk one by one, and to rebuild the change from the cells that a regression of recent
answers finds most efficient.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment
from ntdcfe.search import Answer, Asks, Outcome, Search
from ntdcfe.surrogate import UNLIMITED, Promises, Surrogate, promises, rebuilt

Descents: TypeAlias = "Generator[NDArray[Any], Answer, list[Descent]]"

# Descents that race, and the calls after which the slower half of them goes.
RACERS, LAP = 4, 5
# A descent ends after so many calls without a gain of this share.
PATIENCE, GAIN = 8, 0.003
# Refinement ends after so many races without a gain.
BARREN = 5
# How many of the shrinks that held are tried together.
UNIONS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# The share of shrinks that take single cells back, each by bisection.
SHARE_ALONE = 0.3
# Shares of their reach that added cells are moved by: models of thresholds want little, linear ones all.
# All of it more often, until something else has won; of a row's few cells, little is never enough.
AMPLITUDES, AMPLITUDES_OF_ROWS = np.array([0.1, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0]), np.array([0.5, 0.75, 1.0, 1.0])
# Most units that a swapped feature is moved by.
SWAP_STRENGTH = 3.0
# Candidates that are moved off the boundary at the end.
SETTLED = 16


def refine(search: Search) -> Asks:
    """Races of descents, by turns from other starts and from mixtures of what was reached; last, off the boundary."""
    yield from _extremes(search)
    starts = [entry.state for entry in search.candidates.niches()]
    surrogate = Surrogate(search.environment)
    races = barren = 0
    while search.left() and barren < BARREN:
        best = search.candidates.best_cost
        if starts and (races % 2 == 0 or races < search.settings.n_counterfactuals):
            head, starts = starts[: 3 * RACERS], starts[3 * RACERS :]
            descents = yield from _to_the_boundary(search, np.array(head), surrogate)
            beaten = yield from _race(search, descents[:RACERS], surrogate, races)
            # Those that did not race, or lost, may do so again.
            starts = [descent.base for descent in [*descents[RACERS:], *beaten]] + starts
        else:
            descents = yield from (_swaps if races % 4 == 1 else _mixtures)(search, surrogate)
            yield from _race(search, descents[:RACERS], surrogate, races)
        races += 1
        barren = 0 if search.candidates.best_cost < best * (1 - GAIN) else barren + 1
    yield from _settle(search)


def _extremes(search: Search) -> Asks:
    """Single features at the ends of their reach throughout: does one of them do it alone?"""
    environment, rng = search.environment, search.rng
    features = np.flatnonzero(environment.movable.any(0))
    ends = rng.permutation(np.tile(features, 2) + len(environment.features) * np.repeat([0, 1], len(features)))
    upward, feature = np.divmod(ends[: search.batch_rows], len(environment.features))
    limit = np.where((upward == 1)[:, None], environment.high[:, feature].T, environment.low[:, feature].T)  # (n, K)
    now, furthest = environment.original[:, feature].T, UNLIMITED * environment.units[feature, None]
    limit = np.clip(limit, now - furthest, now + furthest)
    for i in np.flatnonzero(environment.discrete[feature]):
        limit[i] = rng.choice(environment.choices[feature[i]])  # type: ignore[arg-type]
    proposals = np.repeat(environment.original[None], len(feature), axis=0)
    proposals[np.arange(len(feature)), :, feature] = limit
    yield from search.ask(proposals)


def _to_the_boundary(search: Search, bases: NDArray[Any], surrogate: Surrogate) -> Descents:
    """Each base scaled back as far as it stays valid: descents, the least costly first."""
    tries = max(2, search.batch_rows // len(bases))
    ratio = np.tile(np.linspace(0.25, 1.0, tries), len(bases))[:, None, None]
    outcome = yield from search.ask(scaled(search.environment, np.repeat(bases, tries, axis=0), ratio))
    surrogate.add(outcome.states, outcome.valid, outcome.score)
    price = np.where(outcome.valid, outcome.cost, np.inf).reshape(len(bases), tries)
    best = price.argmin(1) + tries * np.arange(len(bases))
    return _descents(search, outcome, best[price.min(1) < np.inf])


def _mixtures(search: Search, surrogate: Surrogate) -> Descents:
    """Part of one counterfactual's change with part of another's: a model that adds up may want both."""
    environment, rng, n = search.environment, search.rng, search.batch_rows
    pool = np.array([entry.state for entry in search.candidates.niches()[: 3 * RACERS]])
    # The first is the best of all: it takes part in half of the mixtures.
    one = np.where(rng.random(n) < 0.5, 0, rng.integers(0, len(pool), n))
    other = rng.integers(0, len(pool), n)
    parts = [scaled(environment, pool[i], rng.uniform(0.2, 0.9, (n, 1, 1))) for i in (one, other)]
    mixed = parts[0] + parts[1] - environment.original
    if environment.discrete.any():
        mixed = np.where(environment.discrete, np.where(parts[0] != environment.original, *parts), mixed)
    outcome = yield from search.ask(mixed)
    surrogate.add(outcome.states, outcome.valid, outcome.score)
    return _descents(search, outcome, np.flatnonzero(outcome.valid))


def _swaps(search: Search, surrogate: Surrogate) -> Descents:
    """What a counterfactual does to one feature done to another, more or less: a model may take either."""
    environment, rng, n = search.environment, search.rng, search.batch_rows
    pool = np.array([entry.state for entry in search.candidates.niches()[:RACERS]])
    which = np.where(rng.random(n) < 0.5, 0, rng.integers(0, len(pool), n))  # the best of all for half of them
    states, rows = pool[which], np.arange(n)
    changed = states != environment.original
    given_up = _one_of(changed.any(1), rng)
    taken = _one_of(np.broadcast_to(environment.movable.any(0), (n, changed.shape[2])), rng)
    span = changed[rows, :, given_up]  # (n, K)
    states[rows, :, given_up] = environment.original[:, given_up].T
    unit = environment.units[taken] * rng.choice([-1.0, 1.0], n) * rng.uniform(0.1, SWAP_STRENGTH, n)
    moved = environment.original[:, taken].T + unit[:, None]
    for i in np.flatnonzero(environment.discrete[taken]):
        moved[i] = rng.choice(environment.choices[taken[i]])  # type: ignore[arg-type]
    states[rows, :, taken] = np.where(span, moved, states[rows, :, taken])
    outcome = yield from search.ask(states)
    surrogate.add(outcome.states, outcome.valid, outcome.score)
    return _descents(search, outcome, np.flatnonzero(outcome.valid))


def _one_of(eligible: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """One of the eligible features of each row ``(n, F)``, at random ``(n,)``."""
    return np.where(eligible, rng.random(eligible.shape), -1.0).argmax(1)


def _descents(search: Search, outcome: Outcome, rows: NDArray[np.int64]) -> list[Descent]:
    """Descents from those rows of an outcome, the least costly first."""
    order = rows[np.argsort(outcome.cost[rows], kind="stable")]
    return [Descent(search, outcome.states[i], float(outcome.cost[i])) for i in order]


def _race(search: Search, racing: list[Descent], surrogate: Surrogate, races: int) -> Descents:
    """Descents share every call, and the slower half drops out every lap; returns those that did."""
    wanted = search.settings.n_counterfactuals
    # Several counterfactuals are wanted: each race gets its share of what is left.
    share = 1.0 if wanted == 1 else min(1.0, (races + 1) / wanted)
    record = search.candidates.best_cost if races and wanted == 1 else np.inf
    beaten: list[Descent] = []
    lap, known, every = 0, None, 3 if len(search.environment.original) > 1 else 2
    while racing and search.left(share):
        # Answers of one call change the regression of a series little: every third call is often enough.
        if lap % every == 0 and surrogate.ready and search.settings.shape == "segments":
            known = promises(search.environment, surrogate.effects(search.rng))
        blocks = [descent.propose(search.batch_rows // len(racing), known) for descent in racing]
        outcome = yield from search.ask(np.concatenate(blocks))
        surrogate.add(outcome.states, outcome.valid, outcome.score)
        stop = np.cumsum([len(block) for block in blocks])
        for descent, block, end in zip(racing, blocks, stop, strict=True):
            descent.learn(_part(outcome, slice(end - len(block), end)))
        lap += 1
        racing = sorted((d for d in racing if d.stale < PATIENCE), key=lambda descent: descent.cost)
        if racing and lap % LAP == 0:
            half = max(1, len(racing) // 2)
            beaten += racing[half:]
            racing = racing[:half]
            # Too far from the best of the races before, less patiently the longer it takes.
            if racing[0].cost > (1 + LAP / lap) * record:
                break
    return beaten


def _settle(search: Search) -> Asks:
    """Go a little further than the boundary, so that the answers are no ties."""
    margin = search.settings.margin
    if not margin:
        return
    nearest = search.candidates.states[:SETTLED]
    best = np.array([*nearest, *search.candidates.diverse(search.settings.n_counterfactuals)])
    outcome = yield from search.ask(scaled(search.environment, best, np.full((len(best), 1, 1), 1 + margin)))
    if outcome.valid.any():
        search.candidates.replace(outcome.states[outcome.valid])


def _part(outcome: Outcome, rows: slice) -> Outcome:
    score = None if outcome.score is None else outcome.score[rows]
    return Outcome(outcome.states[rows], outcome.valid[rows], score, outcome.cost[rows])


def scaled(environment: Environment, base: NDArray[Any], ratio: NDArray[np.float64]) -> NDArray[Any]:
    """The change from the original to `base` times `ratio`; a discrete cell goes back below a half."""
    return _between(environment.original, base, ratio, environment.discrete)


def _between(
    original: NDArray[Any], base: NDArray[Any], ratio: NDArray[np.float64], discrete: NDArray[np.bool_]
) -> NDArray[Any]:
    number = ratio * (base - original)
    number += original
    if not discrete.any():
        return number
    return np.where(discrete, np.where(ratio < 0.5, original, base), number)


class Descent:
    """One counterfactual on its way down.

    Parameters
    ----------
    search : Search
    base : array (K, F)
        A valid state.
    cost : float
    """

    def __init__(self, search: Search, base: NDArray[Any], cost: float) -> None:
        self.search = search
        self.base, self.cost = base, cost
        self.stale = 0
        self._unions = base[None][:0]
        self._credit = np.ones(2)  # what shrinking and rebuilding won lately
        self._step = np.ones(base.size)  # the share of its change that each cell is next asked to give up alone
        self._alone = np.empty(0, int)
        self._amplitudes = AMPLITUDES if len(base) > 1 else AMPLITUDES_OF_ROWS
        self._amplitude_credit = np.ones(len(self._amplitudes))
        self._amplitude = np.empty(0, int)

    def propose(self, n: int, known: Promises | None) -> NDArray[Any]:
        """About n states to ask about next ``(n, K, F)``, rebuilt ones among them if promises are known."""
        rng, shape = self.search.rng, self.base.shape
        room = max(4, n - len(self._unions))
        share = np.clip(self._credit[1] / self._credit.sum(), 0.25, 0.6)
        n_rebuilt = 0 if known is None else int(room * share)
        self._cells = np.flatnonzero(self.base != self.search.environment.original)
        if self.search.settings.shape == "segments":
            single = self._singles(int((room - n_rebuilt) * SHARE_ALONE))
            others = _shrinks(self._cells, shape, room - n_rebuilt - len(single), rng)
            self._ratio = np.concatenate([single, others])
        else:
            self._ratio = _suffix_shrinks(self._cells, shape, room - n_rebuilt, rng)
        self._shrunk = slice(len(self._unions), len(self._unions) + len(self._ratio))
        blocks = [self._unions, self._times(self._ratio)]
        self._amplitude = self._amplitude[:0]
        if known is not None:
            credit = self._amplitude_credit
            self._amplitude = rng.choice(len(credit), n_rebuilt, p=credit / credit.sum())
            amplitude = self._amplitudes[self._amplitude]
            blocks.append(rebuilt(self.search.environment, self.base, known, amplitude, rng))
        return np.concatenate(blocks)

    def learn(self, outcome: Outcome) -> None:
        """Move to the best of what was proposed; what shrank one by one is tried together next."""
        better = outcome.valid & (outcome.cost < self.cost - 1e-9)
        refused = self._alone[~better[self._shrunk][: len(self._alone)]]
        self._step[refused] /= 2
        self._unions = self._united(better[self._shrunk], outcome.cost[self._shrunk])
        self._credit *= 0.8
        np.add.at(self._amplitude_credit, self._amplitude[better[self._shrunk.stop :]], 1)
        self.stale += 1
        if better.any():
            i = np.where(better, outcome.cost, np.inf).argmin()
            was_rebuilt = i >= self._shrunk.stop
            self._credit[int(was_rebuilt)] += 1
            if was_rebuilt:
                self._step[:] = 1.0
            if outcome.cost[i] < self.cost * (1 - GAIN):
                self.stale = 0
            self.base, self.cost = outcome.states[i], float(outcome.cost[i])

    def _times(self, ratio: NDArray[np.float64]) -> NDArray[Any]:
        """The change with its cells multiplied by `ratio` ``(n, cells)``: states ``(n, K, F)``."""
        environment, cells = self.search.environment, self._cells
        states = np.repeat(environment.original.reshape(1, -1), len(ratio), axis=0)
        discrete = environment.discrete[cells % len(environment.discrete)]
        states[:, cells] = _between(environment.original.ravel()[cells], self.base.ravel()[cells], ratio, discrete)
        return states.reshape(-1, *self.base.shape)

    def _singles(self, n: int) -> NDArray[np.float64]:
        """What to multiply the change by ``(m, cells)``: one cell in each, those with most to give first.

        A cell is asked to give up all of its change; after a refusal, half as much as last time.
        """
        environment = self.search.environment
        change = np.abs(self.base - environment.original) / environment.units * environment.weights
        worth = self._step * np.where(environment.discrete, 0.0, change).ravel()
        self._alone = np.argsort(-worth, kind="stable")[: min(n, np.count_nonzero(worth))]
        ratio = np.ones((len(self._alone), len(self._cells)))
        ratio[np.arange(len(ratio)), np.searchsorted(self._cells, self._alone)] -= self._step[self._alone]
        return ratio

    def _united(self, held: NDArray[np.bool_], cost: NDArray[np.float64]) -> NDArray[Any]:
        """The best 2, 3, 4, ... of the shrinks that held, applied together."""
        order = np.flatnonzero(held)[np.argsort(cost[held], kind="stable")]
        if len(order) < 2:
            return self.base[None][:0]
        least = np.minimum.accumulate(self._ratio[order], axis=0)
        picked = sorted({min(size, len(order)) - 1 for size in UNIONS})
        return self._times(least[picked])


def _shrinks(cells: NDArray[np.int64], shape: tuple[int, ...], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What to multiply the changes of `cells` by: nothing, or part, of a window, of features, or of random cells.

    `cells` are positions in a series of that shape ``(K, F)``; the result is ``(n, cells)``.
    """
    n_steps, n_features = shape
    steps, features = np.divmod(cells, n_features)
    step, feature = np.divmod(rng.choice(cells, n), n_features)
    # A window around a changed cell, of any order of magnitude, on one side or both, of one feature or all.
    width: NDArray[np.int64] = (n_steps ** rng.random(n)).astype(int) - (rng.random(n) < 0.5)
    first = step - np.where(rng.random(n) < 0.33, 0, width)
    last = step + np.where(rng.random(n) < 0.33, 0, width)
    in_time = (steps >= first[:, None]) & (steps <= last[:, None])
    in_features = (features == feature[:, None]) | (rng.random(n) < 0.15)[:, None]
    factor = np.where(rng.random(n) < 0.5, 0.0, 1 - 0.5 ** rng.uniform(0.3, 5, n))
    chosen = in_time & in_features
    # Or any subset: of the features, the more of them there are the likelier, or of the changed cells.
    kind = rng.random(n)
    of_features = kind < 0.3 * (1 - 1 / np.sqrt(len(np.unique(features))))
    of_cells = ~of_features & (kind > 0.75)
    subset = rng.random((of_features.sum(), n_features)) < rng.random(of_features.sum())[:, None]
    chosen[of_features] = subset[:, features]
    chosen[of_cells] = rng.random((of_cells.sum(), len(cells))) < (rng.random(of_cells.sum()) ** 2)[:, None]
    return np.where(chosen, factor[:, None], 1.0)


def _suffix_shrinks(
    cells: NDArray[np.int64], shape: tuple[int, ...], n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Like `_shrinks`, but what is left of a feature's change still holds to the end: start later, or be weaker."""
    n_steps, n_features = shape
    steps, features = np.divmod(cells, n_features)
    changed, first = np.unique(features, return_index=True)  # cells are in order of time
    picked = rng.integers(0, len(changed), n)
    start = steps[first[picked]]
    later = start + (n_steps - start) ** rng.random(n)
    factor = np.where(rng.random(n) < 0.3, 0.0, 1 - 0.5 ** rng.uniform(0.3, 7, n))[:, None]
    change = np.where((rng.random(n) < 0.5)[:, None], np.where(steps < later[:, None], 0.0, 1.0), factor)
    in_features = (features == changed[picked, None]) | (rng.random(n) < 0.15)[:, None]
    return np.where(in_features, change, 1.0)
