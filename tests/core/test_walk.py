"""The walk over edits: few edits, also where many features have to move at once."""

import tracemalloc

import numpy as np
import pytest

from ntdcfe import NTDCFE
from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.problem.kinds import PLACE
from ntdcfe.search.edits import tested, tuning
from ntdcfe.search.edits.draws import Drawer
from ntdcfe.search.edits.prices import Prices
from ntdcfe.testing import search_of, series

N_STEPS, N_FEATURES = 30, 300


@pytest.mark.parametrize("seed", [1, 2])
def test_many_neighbouring_features_that_must_move_at_once_are_one_edit(seed):
    rng, features = np.random.default_rng(0), np.arange(N_FEATURES)
    x = rng.normal(0, 0.3, (N_STEPS, N_FEATURES))
    steps, way = rng.integers(0, N_STEPS, N_FEATURES), rng.choice([-1, 1], N_FEATURES, p=[0.35, 0.65])

    def votes(X):
        """1 where more than 55% of the features have moved their way at a step of their own."""
        moved = (X[:, steps, features] - x[steps, features]) * way > 0.5
        return (moved.mean(1) > 0.55).astype(int)

    cf = NTDCFE(votes, seed=seed).explain(x, 1)
    assert cf.found
    assert len(cf.edits) <= 10  # one for each of 249 features or more, when only single ones were tried
    assert cf.survival.share >= 0.95
    assert cf.rows <= 10_000


def test_the_seed_decides_on_edits():
    answers = [
        NTDCFE(lambda X: (X[:, -5:].mean((1, 2)) > 0).astype(int), seed=3).explain(series(20, 9, mean=-1.0), 1)
        for _ in range(2)
    ]
    assert answers[0].edits == answers[1].edits


def test_in_a_row_of_a_table_the_last_edit_of_a_feature_is_kept():
    """As many places as a row has features must not take their square of memory: 5,000 would be 25 MB a list."""
    lists = EditLists.empty(2, 5000)
    lists.kind[:], lists.feature[:] = PLACE["level"], np.arange(5000) % 4999
    lists.number[:] = np.arange(5000)
    tracemalloc.start()
    kept = lists.last_of_each_feature()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kept.n_edits.tolist() == [4999, 4999]
    assert kept.number[0, kept.feature[0] == 0] == [4999]
    assert peak < 5e6


def test_a_smooth_series_stays_about_as_smooth():
    """A jump at both ends of a window would do, and makes it many times as rough."""
    x = np.stack([np.sin(np.linspace(0, 3, 60)), np.cos(np.linspace(0, 3, 60))], 1)

    def high_in_the_middle(X):
        return (X[:, 20:40, 0].mean(1) > x[20:40, 0].mean() + 0.25).astype(int)

    def roughness(values):
        return np.abs(np.diff(values, 2, axis=0)).sum()

    for seed in range(3):
        cf = NTDCFE(high_in_the_middle, seed=seed).explain(x, 1)
        assert {edit.feature for edit in cf.edits} == {cf.features.names[0]}
        assert roughness(cf.x) < 3 * roughness(x)  # of the sum of both; a shift within a window makes it 12 times


def test_once_features_are_settled_others_are_too_costly_and_known_lists_that_change_them_are_dropped():
    search = search_of(np.outer(np.linspace(0, 1, 12) ** 2, [1.0, 2.0, 3.0]))
    editor = Drawer(search.space, search.problem.kinds)
    prices = Prices(search, editor)
    both = EditLists.of(PLACE["shift"], np.array([[0], [1]]), 1, 2, 6, np.array([[0.08], [0.08]]))
    lists = editor.rounded(both)
    priced = prices.of(lists)
    tests = tested.Tests(tuning.TestTuning(), 0.95)
    tests.wait(priced.cost, lists, priced.states)
    assert np.isfinite(priced.cost).all()
    prices.settle(priced.states[0])
    tests.reprice(prices.again)
    assert np.isfinite(prices.of(lists).cost).tolist() == [True, False]
    assert [t.features for t in tests.waiting] == [{0}]
    assert tests.waiting[0].cost > priced.cost[0]  # nothing is free any more
