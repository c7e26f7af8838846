import time

import numpy as np
import pytest

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings
from ntdcfe.model.budget import Budget
from ntdcfe.testing import Counting, ends_high, series, stumps


def budget(n_steps=20, n_cells=60, **settings):
    return Budget(SearchSettings(**settings), n_steps, n_cells)


def test_rows_are_spread_over_eighty_batches():
    assert budget(max_rows=10_000).batch_size == 125
    assert budget(max_rows=500).batch_size == 16  # no fewer
    assert budget(max_rows=10**6).batch_size == 160  # no more: there are more batches instead
    assert budget(max_rows=None).batch_size == 160
    assert budget(max_rows=1000, batch_rows=40).batch_size == 40


def test_large_series_are_asked_about_in_small_batches_and_more_of_them():
    large = budget(144, 144 * 963)
    assert large.batch_size == 57
    large.batches = 100
    assert large.left()
    large.batches = 111
    assert not large.left()


def test_what_is_left_ends_with_the_rows_and_with_the_batches():
    some = budget(max_rows=1000)
    assert some.left()
    some.spend(400, 1, 0)
    assert not some.left(0.4)
    assert some.left(0.5)
    some.batches = 78  # two of eighty are set aside
    assert not some.left()
    assert (some.rows, some.calls, some.rows_left) == (400, 1, 600)


def test_rows_are_set_aside_for_the_last_check():
    some = budget(max_rows=1000, options=["nearest"])
    assert some.room(contradicted=False) == 1000 - 36
    assert some.room(contradicted=True) == 1000 - 72
    assert budget(max_rows=None).room(False) > 10**9


def test_rows_are_set_aside_for_what_each_edit_does():
    assert budget(max_rows=1000).room(contradicted=False) == 1000 - 36 - 50
    assert budget(max_rows=1000, refine=False).room(contradicted=False) == 1000 - 36


def test_more_rows_are_used_if_they_are_given():
    """Calls used to be the limit: with 1,000,000 rows no more were asked than with 10,000."""
    x = series(15, 3)

    def nothing(X):
        return np.zeros(len(X), int)

    cf = NTDCFE(nothing).explain(x, 1, max_rows=40_000)
    assert cf.status == "budget_exhausted"
    assert cf.rows > 39_000
    assert "max_rows" in cf.reason


@pytest.mark.parametrize("n_values", [2, 4])
def test_a_small_space_is_asked_about_once(n_values):
    """Three possible rows were asked 6,151 times."""
    features = Features([Discrete(values=range(n_values)), Continuous(role="immutable")])
    counting = Counting(lambda X: np.zeros(len(X), int))
    cf = NTDCFE(counting, features).explain(np.zeros(2), 1)
    assert cf.status == "not_found"
    assert counting.rows == n_values  # the original, and every other one
    assert "ended without one" in cf.reason


def test_in_a_small_space_the_optimum_is_found():
    features = Features([Discrete(values=range(6)), Continuous(bounds=(0, 1), precision=1), Discrete(values=range(3))])

    def predict(X):
        return (X[:, 0] + 4 * X[:, 1] + 3 * X[:, 2] > 6.5).astype(int)

    counting = Counting(predict)
    cf = NTDCFE(counting, features).explain(np.zeros(3), 1)
    every = np.array([[a, b / 10, c] for a in range(6) for b in range(11) for c in range(3)])
    valid = every[predict(every) == 1]
    cost = ((valid[:, [0, 2]] != 0) + 0.0).sum(1) + valid[:, 1] * 4 + 0.03 * (valid != 0).sum(1)
    np.testing.assert_allclose(cf.x, valid[cost.argmin()])
    rows = np.concatenate(counting.asked)
    assert len(np.unique(rows, axis=0)) == len(every)


def test_a_state_of_a_small_space_is_not_asked_about_twice():
    counting = Counting(lambda X: (X.sum((1, 2)) >= 3).astype(int))
    cf = NTDCFE(counting, Features([Discrete(values=[0, 1])])).explain(np.zeros((6, 1)), 1)
    assert cf.sparsity == 3
    searched = np.concatenate(counting.asked)[1 : 2**6]
    assert len(np.unique(searched, axis=0)) == len(searched) == 2**6 - 1


def test_seconds_are_those_of_each_instance():
    """They were those of the whole batch for everybody."""
    X = np.stack([series(20, 3, seed) for seed in range(4)])
    began = time.perf_counter()
    cfs = NTDCFE(stumps).explain_batch(X, 1, max_rows=600)
    took = time.perf_counter() - began
    assert all(cf.seconds > 0 for cf in cfs)
    assert sum(cf.seconds for cf in cfs) < 2 * took  # else each had those of all four


def test_every_row_is_counted():
    counting = Counting(ends_high)
    cf = NTDCFE(counting).explain(series(20, 2, mean=-1.5), 1, max_rows=700)
    assert (cf.rows, cf.calls) == (counting.rows, counting.calls)
