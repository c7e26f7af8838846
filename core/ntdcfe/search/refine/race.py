"""Refinement: descents start from counterfactuals that lead with different features and race for the budget.

The slower half of them drops out again and again: successive halving.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Answer, Asks, Outcome, Search
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.measure import Measured
from ntdcfe.search.refine.additive.rounds import has_room, is_slow, rounds
from ntdcfe.search.refine.descent import Descent
from ntdcfe.search.refine.moves import Memory, Rebuild
from ntdcfe.search.refine.scaling import scaled
from ntdcfe.search.refine.substitutes import substituted
from ntdcfe.search.refine.surrogate import Surrogate
from ntdcfe.search.refine.thin import thinned
from ntdcfe.search.refine.windows import windows

Descents: TypeAlias = Generator[NDArray[Any], Answer, list[Descent]]


@dataclass(frozen=True, repr=False)
class RefineTuning:
    """Numbers of the races; rules of thumb, chosen on the paper's cases (benchmarks/results/paper-published.md).

    Parameters
    ----------
    racers, lap : int
        Descents that race, and the calls after which the slower half of them goes.
    enough_rows, enough_of_thresholds : int
        `SearchSettings.patience` where it is not said and only the nearest answer is wanted, and where few moves
        decide, as in rules and forests: there gains come early (measured: benchmarks/results/parts.md).
    patience : int
        A descent ends after so many calls without a gain.
    races_without_gain : int
        Refinement ends after so many of them.
    swap_strength : float
        Most units that a swapped feature is moved by.
    settled : int
        Candidates that are moved off the boundary at the end.
    regress_often, regress_seldom : int
        Calls between two regressions on a series: answers of one call change it little, and where nothing was won by
        it lately it is tried less often. For a table's row it is every `regress_rows` calls.
    """

    racers: int = 4
    lap: int = 4
    enough_rows: int = 2_000
    enough_of_thresholds: int = 1_000
    patience: int = 8
    races_without_gain: int = 5
    swap_strength: float = 3.0
    settled: int = 16
    regress_often: int = 5
    regress_seldom: int = 10
    regress_rows: int = 2

    __repr__ = typed_back


def refine(search: Search) -> Asks:
    """Races of descents until little is gained or the budget is used up; last, off the boundary.

    Beside other kinds of answers the nearest has a share of the rows and is given all of it, unless said otherwise.
    """
    settings = search.settings
    alone = set(settings.options) == {"nearest"} and settings.n_counterfactuals == 1
    patience = settings.patience or (settings.tuning.refine.enough_rows if alone else None)
    with search.until_converged(patience):
        yield from _races(search)
    yield from _settle(search)


def _races(search: Search) -> Asks:
    """By turns from other starts and from mixtures of what was reached."""
    tuning, pool = search.settings.tuning.refine, search.pool
    if search.singles is None or not search.singles.complete:  # in a row of a table they were asked already
        yield from _extremes(search)
    # Not where edits are wanted, too: a few broad ones say more than single cells.
    n_changed = np.count_nonzero(pool.states[0] != search.space.original)
    if n_changed > search.settings.tuning.thin.many and set(search.settings.options) == {"nearest"}:
        yield from thinned(search, Base.of(search, pool.states[0], pool.best_cost))
    starts = [entry.state for entry in pool.niches()]
    memory = Memory(Surrogate(search.problem, search.settings.tuning.surrogate))
    measured = Measured(search)
    races = without_gain = 0
    left: list[Descent] = []
    # Where several are wanted, each gets its race.
    while search.left() and (without_gain < tuning.races_without_gain or races < search.settings.n_counterfactuals):
        best = pool.best_cost
        # Once rounds were tried: where they put no cells together, another feature may be nearer.
        elsewhere = races == 1 and measured.few is not None and not (measured.few and measured.rounds)
        if search.settings.patience is None:  # what the user says counts from the first answer on
            search.wait(elsewhere or (not measured.tried and has_room(search, measured)))
            if measured.few:
                search.wait_at_most(tuning.enough_of_thresholds)
        if starts and (races % 2 == 0 or races < search.settings.n_counterfactuals):
            head, starts = starts[: 3 * tuning.racers], starts[3 * tuning.racers :]
            descents = yield from _to_the_boundary(search, np.array(head), memory)
            beaten = yield from _race(search, descents[: tuning.racers], memory, measured, races)
            # Descents that did not race, or lost, may race later.
            starts = [descent.base for descent in [*descents[tuning.racers :], *beaten]] + starts
        else:
            descents = []
            if elsewhere:
                descents = yield from (_substitutes if measured.few else _windows)(search, memory)
                search.wait(False)
            if not descents:
                descents = yield from (_swaps if races % 4 == 1 else _mixtures)(search, memory)
            yield from _race(search, descents[: tuning.racers], memory, measured, races)
        if descents and has_room(search, measured):
            left = [*left, min(descents[: tuning.racers], key=lambda descent: descent.cost)]
            winner = min(left, key=lambda descent: descent.cost)
            yield from rounds(search, measured, winner.base, winner.cost, races)
            if not measured.worthwhile and not measured.few:  # the races that were left for it go on
                yield from _race(search, left, memory, measured, races)
            if measured.rounds:
                left = []
        races += 1
        gained = pool.best_cost < best * (1 - search.settings.tuning.descent.least_gain)
        without_gain = 0 if gained else without_gain + 1


def _extremes(search: Search) -> Asks:
    """Single features at the ends of their reach throughout: does one of them do it alone?"""
    space, rng = search.space, search.rng
    features = np.flatnonzero(space.movable.any(0))
    ends = rng.permutation(np.tile(features, 2) + len(space.features) * np.repeat([0, 1], len(features)))
    upward, feature = np.divmod(ends[: search.budget.batch_size], len(space.features))
    limit = np.where((upward == 1)[:, None], space.high[:, feature].T, space.low[:, feature].T)  # (n, K)
    now = space.original[:, feature].T
    furthest = search.settings.tuning.surrogate.unlimited * space.units[feature, None]
    limit = np.clip(limit, now - furthest, now + furthest)
    for i in np.flatnonzero(space.discrete[feature]):
        limit[i] = rng.choice(space.choices[feature[i]])  # type: ignore[arg-type]
    proposals = np.repeat(space.original[None], len(feature), axis=0)
    proposals[np.arange(len(feature)), :, feature] = limit
    yield from search.ask(proposals)


def _to_the_boundary(search: Search, bases: NDArray[Any], memory: Memory) -> Descents:
    """Each base scaled back as far as it stays valid: descents, the least costly first."""
    tries = max(2, search.budget.batch_size // len(bases))
    ratio = np.tile(np.linspace(0.25, 1.0, tries), len(bases))[:, None, None]
    outcome = yield from search.ask(scaled(search.space, np.repeat(bases, tries, axis=0), ratio))
    memory.surrogate.add(outcome.states, outcome.valid, outcome.score)
    price = np.where(outcome.valid, outcome.cost, np.inf).reshape(len(bases), tries)
    best = price.argmin(1) + tries * np.arange(len(bases))
    return _descents(search, memory, outcome, best[price.min(1) < np.inf])


def _mixtures(search: Search, memory: Memory) -> Descents:
    """Part of one counterfactual's change with part of another's: a model that adds up may want both."""
    space, rng, n = search.space, search.rng, search.budget.batch_size
    pool = np.array([entry.state for entry in search.pool.niches()[: 3 * search.settings.tuning.refine.racers]])
    # The first is the best of all: it takes part in half of the mixtures.
    one = np.where(rng.random(n) < 0.5, 0, rng.integers(0, len(pool), n))
    other = rng.integers(0, len(pool), n)
    parts = [scaled(space, pool[i], rng.uniform(0.2, 0.9, (n, 1, 1))) for i in (one, other)]
    mixed = parts[0] + parts[1] - space.original
    if space.discrete.any():
        mixed = np.where(space.discrete, np.where(parts[0] != space.original, *parts), mixed)
    outcome = yield from search.ask(mixed)
    memory.surrogate.add(outcome.states, outcome.valid, outcome.score)
    return _descents(search, memory, outcome, np.flatnonzero(outcome.valid))


def _windows(search: Search, memory: Memory) -> Descents:
    """A short change may do what the present ones do, for less."""
    outcome = yield from search.ask(windows(search))
    memory.surrogate.add(outcome.states, outcome.valid, outcome.score)
    return _descents(search, memory, outcome, np.flatnonzero(outcome.valid))


def _substitutes(search: Search, memory: Memory) -> Descents:
    """The best answer, and others where another feature does what one of its features does, maybe for less."""
    best = [Descent(search, search.pool.states[0], search.pool.best_cost, memory)]
    bases = yield from substituted(search)
    shape = search.space.original.shape
    others = [Descent(search, base.flat.reshape(shape), base.cost, memory) for base in bases]
    return sorted(best + others, key=lambda descent: descent.cost)


def _swaps(search: Search, memory: Memory) -> Descents:
    """What a counterfactual does to one feature done to another, more or less: a model may take either."""
    space, rng, n, tuning = search.space, search.rng, search.budget.batch_size, search.settings.tuning.refine
    pool = np.array([entry.state for entry in search.pool.niches()[: tuning.racers]])
    which = np.where(rng.random(n) < 0.5, 0, rng.integers(0, len(pool), n))  # the best of all for half of them
    states, rows = pool[which], np.arange(n)
    changed = states != space.original
    given_up = _one_of(changed.any(1), rng)
    taken = _one_of(np.broadcast_to(space.movable.any(0), (n, changed.shape[2])), rng)
    span = changed[rows, :, given_up]  # (n, K)
    states[rows, :, given_up] = space.original[:, given_up].T
    strength = rng.choice([-1.0, 1.0], n) * rng.uniform(0.1, tuning.swap_strength, n)
    moved = space.original[:, taken].T + (space.units[taken] * strength)[:, None]
    for i in np.flatnonzero(space.discrete[taken]):
        moved[i] = rng.choice(space.choices[taken[i]])  # type: ignore[arg-type]
    states[rows, :, taken] = np.where(span, moved, states[rows, :, taken])
    outcome = yield from search.ask(states)
    memory.surrogate.add(outcome.states, outcome.valid, outcome.score)
    return _descents(search, memory, outcome, np.flatnonzero(outcome.valid))


def _one_of(eligible: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """One of the eligible features of each row ``(n, F)``, at random ``(n,)``."""
    return np.where(eligible, rng.random(eligible.shape), -1.0).argmax(1)


def _descents(search: Search, memory: Memory, outcome: Outcome, rows: NDArray[np.int64]) -> list[Descent]:
    """Descents from those rows of an outcome, the least costly first."""
    order = rows[np.argsort(outcome.cost[rows], kind="stable")]
    return [Descent(search, outcome.states[i], float(outcome.cost[i]), memory) for i in order]


def _race(search: Search, racing: list[Descent], memory: Memory, measured: Measured, races: int) -> Descents:
    """Descents share every call, and the slower half drops out every lap; returns those that did."""
    tuning, wanted = search.settings.tuning.refine, search.settings.n_counterfactuals
    # Several counterfactuals are wanted: each race gets its share of what is left.
    share = 1.0 if wanted == 1 else min(1.0, (races + 1) / wanted)
    record = search.pool.best_cost if races and wanted == 1 else np.inf
    beaten: list[Descent] = []
    lap, memory.promises = 0, None
    costs: list[float] = []  # of the leader, after each call
    often, seldom = (tuning.regress_often, tuning.regress_seldom)
    if search.space.n_steps == 1:
        often = seldom = tuning.regress_rows
    while racing and search.left(share):
        wins = any(descent.wins_by(Rebuild) for descent in racing)
        due = lap % (often if wins else seldom) == 0
        if due and memory.surrogate.ready and search.settings.shape == "segments":
            memory.promises = memory.surrogate.promises(search.rng)
        elif not wins:
            memory.promises = None
        blocks = [block for d in racing for block in d.propose(search.budget.batch_size // len(racing))]
        outcome = yield from search.ask(np.concatenate(blocks))
        informative = np.concatenate([descent.informative for descent in racing])
        memory.surrogate.add(*outcome.take(informative)[:3])
        ends = np.cumsum([descent.n_proposed for descent in racing])
        for descent, end in zip(racing, ends, strict=True):
            descent.learn(outcome.take(slice(end - descent.n_proposed, end)))
        lap += 1
        racing = sorted((d for d in racing if d.stale < tuning.patience), key=lambda descent: descent.cost)
        if racing and has_room(search, measured):
            costs.append(racing[0].cost)
            if is_slow(search, costs):
                break
        if racing and lap % tuning.lap == 0:
            half = max(1, len(racing) // 2)
            beaten += racing[half:]
            racing = racing[:half]
            # A race that stays too far behind the best of earlier races ends, the sooner the longer it takes.
            if racing[0].cost > (1 + tuning.lap / lap) * record:
                break
    return beaten


def _settle(search: Search) -> Asks:
    """Go a little further than the boundary, so that the answers are no ties."""
    margin, pool = search.settings.margin, search.pool
    if not margin:
        return
    nearest = pool.states[: search.settings.tuning.refine.settled]
    best = np.array([*nearest, *pool.diverse(search.settings.n_counterfactuals)])
    outcome = yield from search.ask(scaled(search.space, best, np.full((len(best), 1, 1), 1 + margin)))
    kept = outcome.states[outcome.valid]
    if search.problem.plausible is not None and len(kept):  # what is further may be out of the distribution
        kept = kept[search.problem.plausible(kept)]
    if len(kept):
        pool.replace(kept)
