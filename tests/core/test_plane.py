"""Rounds of smooth models: slopes from answers of yes and no, and the least costly change across a plane."""

from dataclasses import replace

import numpy as np
import pytest

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings
from ntdcfe.search.patience import Patience
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.measure import Measured
from ntdcfe.search.refine.additive.plane import Filled
from ntdcfe.search.refine.additive.rounds import rounds
from ntdcfe.search.refine.additive.slopes import Slopes, slopes_of
from ntdcfe.search.refine.windows import windows
from ntdcfe.testing import drive, search_of

NEAREST = SearchSettings(options=["nearest"], survival=None)
X = np.random.default_rng(3).normal(size=(20, 4))
WEIGHTS = np.random.default_rng(4).normal(size=(20, 4))
NEEDED = 170.0


def linear(states):
    """A weighted sum of all changes that has to be large."""
    return ((states - X) * WEIGHTS).reshape(len(states), -1).sum(1) >= NEEDED


def cheapest(search):
    """The least that the weighted sum costs: the cells that gain most for their cost, each to its limit."""
    space, objective = search.space, search.objective
    limit = np.where(WEIGHTS > 0, space.high, space.low) - space.original
    gain, cost = (limit * WEIGHTS).ravel(), objective.of_changes(limit.ravel(), np.arange(limit.size))
    cost = cost + objective.price_of_cell
    order = np.argsort(-gain / cost)
    before = np.cumsum(gain[order]) - gain[order]
    taken = np.clip((NEEDED - before) / gain[order], 0, 1)
    return float((taken * cost[order]).sum())


def start_of(search):
    """Every cell half of its way to the limit that helps, and what that costs."""
    state = X + 0.5 * (np.where(WEIGHTS > 0, search.space.high, search.space.low) - X)
    return state, float(search.objective.cost(state[None])[0])


def told(search, asks, judge=linear):
    """What a generator returns, and all that it asked about."""
    answer = []

    def noting():
        answer.append((yield from asks))

    asked = drive(noting(), judge)
    return answer[0], np.concatenate(asked)


def test_slopes_are_told_from_labels_as_shares_of_what_the_present_change_gains():
    search = search_of(X, settings=NEAREST)
    state, cost = start_of(search)
    slopes, _ = told(search, slopes_of(Measured(search), Base.of(search, state, cost)))
    true = (slopes.end - slopes.start) * WEIGHTS.ravel()[slopes.cell] / NEEDED
    present = ~slopes.new
    np.testing.assert_allclose(slopes.gain[present].sum(), 1.0)
    for some in (present, slopes.new):
        large = some & (true > np.quantile(true[some], 0.5))
        assert np.corrcoef(slopes.gain[large], true[large])[0, 1] > 0.85
    assert (true[slopes.new] > 0).all(), "only moves that help are kept"


def test_no_more_moves_are_measured_than_there_is_memory_for():
    tuning = NEAREST.tuning
    few = replace(NEAREST, tuning=replace(tuning, slopes=replace(tuning.slopes, most_measured=20)))
    measured = {}
    for settings in (NEAREST, few):
        search = search_of(X, settings=settings)
        state, cost = start_of(search)
        slopes, _ = told(search, slopes_of(Measured(search), Base.of(search, state, cost)))
        measured[settings is few] = int(slopes.new.sum())
    assert 0 < measured[True] <= 20 < measured[False]


def test_rounds_come_near_the_least_that_a_weighted_sum_costs():
    search = search_of(X, settings=NEAREST)
    state, cost = start_of(search)
    asked = np.concatenate(drive(rounds(search, Measured(search), state, cost), linear))
    best = search.objective.cost(asked[linear(asked)]).min()
    assert cheapest(search) <= best < 1.05 * cheapest(search)
    assert cost > 1.3 * cheapest(search), "the start is no answer already"


def test_states_are_filled_as_far_as_the_cost_reaches_and_what_goes_further_comes_later():
    search = search_of(np.zeros((4, 1)), settings=NEAREST)
    state = np.array([[1.0], [1.0], [0.0], [0.0]])
    base = Base.of(search, state, float(search.objective.cost(state[None])[0]))
    cells, further = np.array([0, 1, 2, 0]), np.array([False, False, False, True])
    start, end = np.array([0.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 2.0, 2.0])
    filled = Filled(base, Slopes(cells, start, end, np.ones(4), np.array([False, False, True, True]), further))
    (order,) = filled.ordered(np.array([[1.0, 2.0, 3.0, 9.0]]))
    np.testing.assert_array_equal(order, [2, 1, 0, 3])
    budgets = np.linspace(0.0, filled.cost.sum(), 40)
    states = filled.states(np.repeat(order[None], 40, axis=0), budgets)
    cost = search.objective.cost(states.reshape(-1, 4, 1))
    assert (cost <= budgets + 1e-9).all()
    np.testing.assert_allclose(states[-1], [2.0, 1.0, 2.0, 0.0])


def test_discrete_cells_stay_as_they_are_and_count():
    features = Features([Continuous(), Discrete([0, 1])])
    search = search_of(np.zeros((4, 2)), features, settings=NEAREST)
    state = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    base = Base.of(search, state, float(search.objective.cost(state[None])[0]))
    new, further = np.array([False, False]), np.array([False, False])
    filled = Filled(base, Slopes(np.array([0, 2]), np.zeros(2), np.ones(2), np.ones(2), new, further))
    states = filled.states(np.array([[0, 1]]), np.array([base.cost])).reshape(1, 4, 2)
    np.testing.assert_allclose(states[0], state)
    np.testing.assert_allclose(search.objective.cost(states), base.cost)


def test_a_round_that_has_begun_is_not_ended_by_impatience():
    search = search_of(X, settings=NEAREST)
    state, cost = start_of(search)
    search.patience = Patience(1)
    search.budget.spend(10, 1, 0)
    search.note(cost)
    search.budget.spend(10, 1, 0)
    search.note(cost)
    assert not search.left()
    slopes, asked = told(search, slopes_of(Measured(search), Base.of(search, state, cost)))
    assert slopes is not None
    assert len(asked) > 100


def test_windows_are_short_changes_of_one_feature_for_less_than_the_best_answer_costs():
    search = search_of(X, settings=NEAREST)
    state, cost = start_of(search)
    search.pool.extend(state[None], np.array([cost]), np.array([80]), 1)
    states = windows(search)
    changed = states != X
    assert (changed.any(1).sum(1) == 1).all()
    assert all(np.ptp(np.flatnonzero(steps)) == steps.sum() - 1 for steps in changed.any(2))
    assert (search.objective.cost(states) < cost).all()
    assert len(np.unique(states, axis=0)) == len(states) > 30


def test_an_answer_that_costs_nothing_ends_the_rounds_and_not_the_search():
    settings = SearchSettings(options=["nearest"], survival=None, sparsity_weight=0.0)

    def whole_numbers(original, X, weights, discrete):
        return np.floor(np.abs(X - original).max((1, 2)))

    x, weights = np.random.default_rng(0).normal(size=(24, 3)), np.random.default_rng(1).normal(size=(24, 3))

    def summed(states):
        return ((states * weights).sum((1, 2)) > 5 + (x * weights).sum()).astype(int)

    cf = NTDCFE(summed, settings=settings, proximity=whole_numbers, seed=0).explain(x, target=1)
    assert (cf.status, cf.cause) == ("found", None)
    assert cf.proximity == 0


def test_wide_questions_keep_to_the_rows_of_a_batch():
    widest = []

    def counted(states):
        widest.append(len(states))
        return linear(states).astype(int)

    settings = SearchSettings(options=["nearest"], survival=None, batch_rows=30)
    assert NTDCFE(counted, settings=settings, seed=0).explain(X, target=1).found
    assert max(widest) <= 31


@pytest.mark.slow
@pytest.mark.parametrize("direction", [None, "rise"])
def test_the_nearest_answer_of_a_linear_model_is_all_but_the_cheapest_and_obeys_every_rule(direction):
    features = Features.from_dict(
        {"a": {"bounds": (-2, 4)}, "b": {"direction": direction}, "c": {}, "d": {"role": "immutable"}}
    )
    cf = NTDCFE(lambda Z: linear(Z).astype(int), features, settings=NEAREST, seed=0).explain(X, target=1)
    assert cf.found
    assert linear(cf.x[None])[0]
    assert (cf.x[:, 3] == X[:, 3]).all()
    assert direction is None or (cf.x[:, 1] >= X[:, 1]).all()
    assert ((cf.x[:, 0] == X[:, 0]) | ((cf.x[:, 0] >= -2) & (cf.x[:, 0] <= 4))).all()
    if direction is None:
        free = NTDCFE(lambda Z: linear(Z).astype(int), settings=NEAREST, seed=0).explain(X, target=1)
        least = cheapest(search_of(X, settings=NEAREST))
        assert search_of(X, settings=NEAREST).objective.cost(free.x[None])[0] < 1.03 * least
