"""Additive rounds: what cells are worth near the boundary, and the least costly sum."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntdcfe import NTDCFE, Features, SearchSettings
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.knapsack import Choices, solved
from ntdcfe.search.refine.additive.measure import Measured
from ntdcfe.search.refine.additive.rounds import has_room, rounds
from ntdcfe.search.refine.additive.tighten import tightened
from ntdcfe.testing import drive, search_of, series

NEAREST = SearchSettings(options=["nearest"], survival=None)
LEVELS = np.random.default_rng(1).uniform(0.2, 2.0, (12, 3))
WORTH = np.random.default_rng(2).integers(0, 4, (12, 3))


def votes(X):
    """Each cell above its level has a few votes: 1 where they are 14 or more."""
    return (((X > LEVELS) * WORTH).reshape(len(X), -1).sum(1) >= 14).astype(int)


def sparse_votes(X):
    """One cell in six has a vote: 1 where they are 7 or more."""
    return ((X.reshape(len(X), -1)[:, ::6] > 1.0).sum(1) >= 7).astype(int)


def cheapest(price_of_cell):
    """The least that 14 votes cost, starting from nothing: a knapsack by dynamic programming."""
    least = np.r_[0.0, np.full(14, np.inf)]
    for level, worth in zip(LEVELS.ravel(), WORTH.ravel(), strict=True):
        taken = np.r_[np.full(worth, np.inf), least[: 15 - worth]] + level + price_of_cell
        taken[14] = min(taken[14], (least[14 - worth :].min() if worth else np.inf) + level + price_of_cell)
        least = np.minimum(least, taken)
    return least[14]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3), st.integers(-9, 9)), min_size=1, max_size=7))
def test_the_knapsack_is_solved_exactly(drawn):
    cells, gains, costs = (np.array(column) for column in zip(*drawn, strict=True))
    choices = Choices(cells, np.arange(1.0, len(cells) + 1), costs.astype(float), gains)
    states = solved(np.zeros(4), choices, np.ones((1, len(cells)), bool), 1, 40)
    taken = states[0][states[0] != 0].astype(int) - 1
    by_cell = [[None, *np.flatnonzero(cells == cell)] for cell in range(4)]
    sets = [[i for i in some if i is not None] for some in itertools.product(*by_cell)]
    best = min(costs[some].sum() for some in sets if gains[some].sum() >= 0)
    assert costs[taken].sum() == best
    assert gains[taken].sum() >= 0


def test_a_margin_asks_for_more():
    choices = Choices(np.array([0, 1]), np.ones(2), np.array([1.0, 5.0]), np.array([1, 2]))
    states = solved(np.zeros(2), choices, np.ones((1, 2), bool), 4, 10)
    np.testing.assert_array_equal(states, [[0, 0], [0, 1], [1, 0], [1, 1]])


def test_rounds_come_near_the_least_that_a_vote_of_thresholds_costs():
    search = search_of(np.zeros((12, 3)), settings=NEAREST)
    start = np.full((12, 3), 2.1)
    cost = float(search.objective.cost(start[None])[0])
    measured = Measured(search)
    measured.few = True
    asked = drive(rounds(search, measured, start, cost), votes)
    reached = np.concatenate(asked)
    best = search.objective.cost(reached[votes(reached) == 1]).min()
    assert cheapest(search.objective.price_of_cell) <= best < 1.1 * cheapest(search.objective.price_of_cell)


def test_a_state_is_tightened_to_the_cells_and_the_amounts_that_it_needs():
    search = search_of(np.zeros((6, 2)), settings=NEAREST)
    start = np.full((6, 2), 2.0)
    asks = tightened(search, Base.of(search, start, float(search.objective.cost(start[None])[0])), finely=True)
    asked = drive(asks, lambda states: states[:, 2, 1] >= 1.0)
    reached = np.concatenate(asked)
    reached = reached[reached[:, 2, 1] >= 1.0]
    best = reached[search.objective.cost(reached).argmin()]
    np.testing.assert_array_equal(np.argwhere(best != 0), [[2, 1]])
    assert best[2, 1] <= 1.02


def linear(X):
    """A weighted sum of all cells."""
    return (X * np.cos(np.arange(36)).reshape(12, 3)).reshape(len(X), -1).sum(1) >= 2.0


def few_in(judge, state):
    """Whether few moves decide, at the state `state` ``(K, D)`` brought back to the boundary."""
    while judge(0.99 * state[None])[0]:
        state = 0.99 * state
    search, told = search_of(np.zeros(state.shape), settings=NEAREST), []

    def asks():
        told.append((yield from Measured(search).few_decide(Base.of(search, state, 1.0))))

    drive(asks(), judge)
    return told[0]


def test_few_moves_decide_in_a_vote_of_thresholds_and_many_in_a_smooth_model():
    assert few_in(sparse_votes, 2.1 * (np.arange(144).reshape(48, 3) < 40))
    assert not few_in(linear, np.sign(np.cos(np.arange(36)).reshape(12, 3)))


def test_there_is_no_room_beside_the_other_answers_of_a_search_of_the_usual_size():
    alone, shared = (search_of(np.zeros((12, 3)), settings=each) for each in (NEAREST, SearchSettings()))
    shared.ceiling = shared.settings.tuning.phases.nearest
    assert has_room(alone, Measured(alone))
    shared.budget.spend(400, 4, 0)
    assert not has_room(shared, Measured(shared))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3_500, 10_000])
def test_the_nearest_answer_to_a_vote_of_thresholds_is_all_but_the_cheapest_and_obeys_every_rule(rows):
    features = Features.from_dict({"a": {"bounds": (-1, 3)}, "b": {"direction": "rise"}, "c": {}})
    x = series(12, 3, mean=-0.2) * 0.1
    cf = NTDCFE(votes, features, settings=NEAREST, seed=0).explain(x, target=1, max_rows=rows)
    assert cf.found
    assert cf.rows <= rows
    assert (cf.x[:, 1] >= x[:, 1]).all()
    assert votes(cf.x[None])[0] == 1
