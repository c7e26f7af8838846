"""From valid states that are not plausible to plausible ones, where the in-distribution test has a score.

Its score costs no question of the model. So many edits are proposed to the score, the most usual of them are put to
the model, and those that stay valid are edited further: an evolution strategy that climbs the score among valid states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Asks, Search
from ntdcfe.search.edits.draws import Drawer
from ntdcfe.search.edits.tuning import MOST_VALUES

# Shares of the proposals that are edited, and that are edited or mixed (rules of thumb).
EDITED, MIXED = 0.6, 0.8


@dataclass(frozen=True, repr=False)
class DistributionTuning:
    """Numbers of the climb; rules of thumb.

    Parameters
    ----------
    share : float
        The share of the budget after which it ends.
    kept : int
        Valid states that are edited further.
    proposed : int
        Proposals for each row that is put to the model.
    strength : float
        Units that an edit moves its feature by at most.
    own : int
        Steps of the climb from the original, without the model: what makes the original usual may help a valid state.
    nearer, nearer_proposed : float, int
        Where the test refuses the original: the share of what is left of the budget to go nearer, and the proposals for
        each row of a batch.
    """

    share: float = 0.6
    kept: int = 24
    proposed: int = 16
    strength: float = 2.0
    own: int = 30
    nearer: float = 0.25
    nearer_proposed: int = 16

    __repr__ = typed_back


def into_distribution(search: Search) -> Asks:
    """Climb until a plausible valid state is found, or the share of the budget is used up."""
    usual, plausible, tuning = search.problem.usual, search.problem.plausible, search.settings.tuning.distribution
    if usual is None or plausible is None or plausible(np.array(search.pool.states)).any():
        return
    drawer, rng = Drawer(search.space, search.problem.kinds), np.random.default_rng([search.seed, 4])
    n, original = search.budget.batch_size, search.space.original
    inward = original[None]
    for _ in range(tuning.own):
        made = np.concatenate([inward, _edited(search, drawer, inward, n * tuning.proposed, rng)])
        inward = made[np.argsort(-usual(made), kind="stable")[: tuning.kept]]
    kept = np.array([entry.state for entry in search.pool.niches()] + search.pool.states)
    while search.left(tuning.share):
        made = _edited(search, drawer, kept, n * tuning.proposed, rng, inward - original)
        outcome = yield from search.ask(_selected(made, usual(made), n))
        valid = outcome.states[outcome.valid]
        if len(valid) and (inside := plausible(valid)).any():
            search.beyond = float(search.objective.cost(valid[inside]).min())
            search.pool.retain(valid[inside])
            return
        kept = np.concatenate([kept, valid])
        kept = _selected(kept, usual(kept), tuning.kept)


def _edited(
    search: Search,
    drawer: Drawer,
    base: NDArray[Any],
    n: int,
    rng: np.random.Generator,
    changes: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """n states ``(n, K, F)`` made of those of `base` ``(m, K, F)``, as many as memory allows.

    By one or two edits, by moving towards another of them, or by a share of one of the `changes` ``(l, K, F)``; if
    none are given, by going back towards the original.
    """
    space, tuning = search.space, search.settings.tuning.distribution
    n = max(1, min(n, MOST_VALUES // space.original.size))
    states, rows, how = base[rng.integers(0, len(base), n)], np.arange(n), rng.random(n)
    weaker = 0.5 ** rng.uniform(0, 6, n)
    for most in (EDITED, EDITED / 2):
        edit = drawer.weakened(drawer.draw(n, tuning.strength, rng), weaker)
        edited = drawer.apply(edit, states[rows, :, edit.feature])[0]
        some = how < most
        states[rows[some], :, edit.feature[some]] = edited[some]
    if changes is None:
        changes = space.original - base
    towards = base[rng.integers(0, len(base), n)] - states
    pull = changes[rng.integers(0, len(changes), n)]
    share = np.where(how < MIXED, rng.uniform(0, 1.2, n), 0.5 ** rng.uniform(0, 4, n))[:, None, None]
    step = share * np.where((how < MIXED)[:, None, None], towards, pull)
    step[how < EDITED] = 0.0
    return space.project(states + np.where(space.discrete, 0.0, step))


def _selected(states: NDArray[Any], score: NDArray[np.float64], n: int) -> NDArray[Any]:
    """n of the states ``(m, K, F)``: half of them the most usual, half by tournaments, which keeps them different."""
    best = np.argsort(-score, kind="stable")
    top, rest = best[: n // 2], np.sort(best[n // 2 :])
    groups = np.array_split(rest, min(n - len(top), max(1, len(rest))))
    return states[[*top, *(group[np.argmax(score[group])] for group in groups if len(group))]]
