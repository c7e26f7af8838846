"""Shrink what was found: fewer cells, smaller changes, still valid.

Descents start from counterfactuals that lead with different features and race for the budget.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.descent import EXCHANGED, GAIN, Descent, scaled
from ntdcfe.exchange import Exchanges
from ntdcfe.search import Answer, Asks, Outcome, Search
from ntdcfe.surrogate import MOST_CELLS, UNLIMITED, Surrogate, promises

Descents: TypeAlias = Generator[NDArray[Any], Answer, list[Descent]]

# Descents that race, and the calls after which the slower half of them goes.
RACERS, LAP = 4, 4
# A descent ends after so many calls without a gain.
PATIENCE = 8
# Refinement ends after so many races without a gain.
BARREN = 5
# Most units that a swapped feature is moved by.
SWAP_STRENGTH = 3.0
# Candidates that are moved off the boundary at the end.
SETTLED = 16


class Learnt(NamedTuple):
    """What all descents of a search have learnt of the cells."""

    surrogate: Surrogate
    exchanges: Exchanges | None


def refine(search: Search) -> Asks:
    """Races of descents, by turns from other starts and from mixtures of what was reached; last, off the boundary."""
    yield from _extremes(search)
    starts = [entry.state for entry in search.candidates.niches()]
    learnt = Learnt(Surrogate(search.environment), _exchanges(search))
    races = barren = 0
    while search.left() and barren < BARREN:
        best = search.candidates.best_cost
        if starts and (races % 2 == 0 or races < search.settings.n_counterfactuals):
            head, starts = starts[: 3 * RACERS], starts[3 * RACERS :]
            descents = yield from _to_the_boundary(search, np.array(head), learnt)
            beaten = yield from _race(search, descents[:RACERS], learnt, races)
            # Those that did not race, or lost, may do so again.
            starts = [descent.base for descent in [*descents[RACERS:], *beaten]] + starts
        else:
            descents = yield from (_swaps if races % 4 == 1 else _mixtures)(search, learnt)
            yield from _race(search, descents[:RACERS], learnt, races)
        races += 1
        barren = 0 if search.candidates.best_cost < best * (1 - GAIN) else barren + 1
    yield from _settle(search)


def _exchanges(search: Search) -> Exchanges | None:
    """None where single cells are not worth asking about."""
    n_cells, n_steps = search.environment.original.size, len(search.environment.original)
    # The few of a table's row are known by now, of very many none decides; "to_end" knows no single cells.
    if n_steps == 1 or n_cells > MOST_CELLS or search.settings.shape == "to_end":
        return None
    exchanges = Exchanges(search.environment)
    return exchanges if exchanges.possible else None


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


def _to_the_boundary(search: Search, bases: NDArray[Any], learnt: Learnt) -> Descents:
    """Each base scaled back as far as it stays valid: descents, the least costly first."""
    tries = max(2, search.batch_rows // len(bases))
    ratio = np.tile(np.linspace(0.25, 1.0, tries), len(bases))[:, None, None]
    outcome = yield from search.ask(scaled(search.environment, np.repeat(bases, tries, axis=0), ratio))
    learnt.surrogate.add(outcome.states, outcome.valid, outcome.score)
    price = np.where(outcome.valid, outcome.cost, np.inf).reshape(len(bases), tries)
    best = price.argmin(1) + tries * np.arange(len(bases))
    return _descents(search, learnt, outcome, best[price.min(1) < np.inf])


def _mixtures(search: Search, learnt: Learnt) -> Descents:
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
    learnt.surrogate.add(outcome.states, outcome.valid, outcome.score)
    return _descents(search, learnt, outcome, np.flatnonzero(outcome.valid))


def _swaps(search: Search, learnt: Learnt) -> Descents:
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
    learnt.surrogate.add(outcome.states, outcome.valid, outcome.score)
    return _descents(search, learnt, outcome, np.flatnonzero(outcome.valid))


def _one_of(eligible: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """One of the eligible features of each row ``(n, F)``, at random ``(n,)``."""
    return np.where(eligible, rng.random(eligible.shape), -1.0).argmax(1)


def _descents(search: Search, learnt: Learnt, outcome: Outcome, rows: NDArray[np.int64]) -> list[Descent]:
    """Descents from those rows of an outcome, the least costly first."""
    order = rows[np.argsort(outcome.cost[rows], kind="stable")]
    return [Descent(search, outcome.states[i], float(outcome.cost[i]), learnt.exchanges) for i in order]


def _race(search: Search, racing: list[Descent], learnt: Learnt, races: int) -> Descents:
    """Descents share every call, and the slower half drops out every lap; returns those that did."""
    wanted = search.settings.n_counterfactuals
    # Several counterfactuals are wanted: each race gets its share of what is left.
    share = 1.0 if wanted == 1 else min(1.0, (races + 1) / wanted)
    record = search.candidates.best_cost if races and wanted == 1 else np.inf
    beaten: list[Descent] = []
    lap, known = 0, None
    often, seldom = (5, 10) if len(search.environment.original) > 1 else (2, 2)
    while racing and search.left(share):
        # Answers of one call change the regression of a series little: every fifth call is often enough.
        # Where nobody has won by it lately, it is tried every tenth, and not in between.
        wins = any(descent.rebuilds for descent in racing)
        if lap % (often if wins else seldom) == 0 and learnt.surrogate.ready and search.settings.shape == "segments":
            known = promises(search.environment, learnt.surrogate.effects(search.rng))
        elif not wins:
            known = None
        blocks = [block for descent in racing for block in descent.propose(search.batch_rows // len(racing), known)]
        outcome = yield from search.ask(np.concatenate(blocks))
        # What an exchange tells is of single cells, and remembered elsewhere.
        told = np.concatenate([descent.kind != EXCHANGED for descent in racing])
        learnt.surrogate.add(*_part(outcome, told)[:3])
        stop = np.cumsum([len(descent.kind) for descent in racing])
        for descent, end in zip(racing, stop, strict=True):
            descent.learn(_part(outcome, slice(end - len(descent.kind), end)))
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


def _part(outcome: Outcome, rows: slice | NDArray[np.bool_]) -> Outcome:
    score = None if outcome.score is None else outcome.score[rows]
    return Outcome(outcome.states[rows], outcome.valid[rows], score, outcome.cost[rows])
