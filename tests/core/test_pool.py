import numpy as np

from ntdcfe.search.pool import Pool
from ntdcfe.testing import search_of


def pool_of(shape=(2, 2)):
    return Pool(search_of(np.zeros(shape)).problem)


def test_candidates_are_distinct_and_nearest_first_with_ties_by_sparsity():
    pool = pool_of()
    spread, single, far = np.full((2, 2), 0.5), np.array([[2.0, 0], [0, 0]]), np.full((2, 2), 3.0)
    assert [pool.add(x) for x in (far, spread, single, spread)] == [True, True, True, False]
    np.testing.assert_array_equal(pool.states, [single, spread, far])


def test_the_best_of_each_set_of_features_is_kept_beside_the_best_of_all():
    pool = pool_of()
    states = np.zeros((3, 2, 2))
    states[0, 0, 0], states[1, 0, 1], states[2] = 1.0, 2.0, 3.0
    pool.extend(states, *pool.problem.objective.cost_and_sparsity(states))
    assert len(pool.diverse(3)) == 3
    assert pool.best_cost == pool.problem.objective.cost(states[:1])[0]


def test_diverse_states_change_different_features():
    pool = pool_of((4, 2))
    states = np.zeros((3, 4, 2))
    states[0, :2, 0], states[1, :3, 0], states[2, :, 1] = 1.0, 1.0, 2.0
    pool.extend(states, *pool.problem.objective.cost_and_sparsity(states))
    first, second = pool.diverse(2)
    np.testing.assert_array_equal(first, states[0])
    np.testing.assert_array_equal(second, states[2])


def test_what_is_not_retained_is_forgotten_niches_included():
    pool = pool_of()
    states = np.eye(4).reshape(4, 2, 2)
    pool.extend(states, *pool.problem.objective.cost_and_sparsity(states))
    pool.retain(states[:1])
    assert len(pool) == 1
    assert len(pool.niches()) == 1
