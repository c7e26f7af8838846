"""A descent and the moves that take part in it, with made-up answers."""

import numpy as np

from ntdcfe import NTDCFE, Move, SearchSettings
from ntdcfe.search.base import Outcome
from ntdcfe.search.refine.descent import Descent
from ntdcfe.search.refine.moves import MOVES, Exchange, Memory, Rebuild, Shrink
from ntdcfe.search.refine.surrogate import Surrogate
from ntdcfe.testing import search_of, series, stumps


def descent_of(base, settings=None):
    search = search_of(np.zeros(base.shape), settings=settings)
    memory = Memory(Surrogate(search.problem, search.settings.tuning.surrogate))
    return Descent(search, base, float(search.objective.cost(base[None])[0]), memory)


def step(descent, valid):
    states = np.concatenate(descent.propose(60))
    states = descent.search.space.project(states)
    descent.learn(Outcome(states, np.asarray(valid(states)), None, descent.search.objective.cost(states)))
    return states


def base():
    x = np.zeros((6, 2))
    x[1:4, 0], x[5, 1] = 2.0, -1.0
    return x


def test_a_descent_moves_to_the_cheapest_that_is_valid():
    descent = descent_of(base())
    before = descent.cost
    for _ in range(40):
        step(descent, lambda states: states[:, 2, 0] >= 1.0)
    np.testing.assert_array_equal(np.argwhere(descent.base != 0), [[2, 0]])
    assert 1.0 <= descent.base[2, 0] < 1.05
    assert descent.cost < before


def test_it_grows_stale_where_nothing_is_valid():
    descent = descent_of(base())
    for _ in range(3):
        step(descent, lambda states: np.zeros(len(states), bool))
    assert descent.stale == 3
    np.testing.assert_array_equal(descent.base, base())


def test_what_held_one_by_one_is_tried_together():
    descent = descent_of(base())
    step(descent, lambda states: ((states != 0).sum((1, 2)) == 3) | (states == base()).all((1, 2)))
    unions = descent.propose(60)[0]
    assert len(unions)
    assert ((unions != 0).sum((1, 2)) < 3).all()


def test_which_moves_take_part_is_a_list():
    assert (Shrink, Rebuild, Exchange) == MOVES


class Halve(Move):
    """All of the change by half."""

    proposed = 0

    def propose(self, base, n):
        Halve.proposed += n
        original = self.search.space.original
        return np.repeat((original + (base - original) / 2)[None], n, axis=0)


def test_a_move_of_ones_own_takes_part():
    Halve.proposed = 0
    settings = SearchSettings(moves=[Halve], options=["nearest"])
    descent = descent_of(base(), settings)
    assert any((states == base() / 2).all((1, 2)).any() for states in descent.propose(60))
    cf = NTDCFE(stumps, settings=settings).explain(series(20, 3), 1, max_rows=600)
    assert cf.found
    assert Halve.proposed > 50


def test_a_move_that_wins_gets_a_larger_share():
    descent = descent_of(base(), SearchSettings(moves=[Halve]))
    share = [len(block) for block in descent.propose(100)][-1]
    for _ in range(4):
        step(descent, lambda states: (states != 0).sum((1, 2)) == 4)
    assert [len(block) for block in descent.propose(100)][-1] >= share
