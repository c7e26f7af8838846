"""Another feature that does what the best answer does: which of them is nearer shows cell by cell."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.tighten import tightened
from ntdcfe.search.refine.substitutes import substituted
from ntdcfe.testing import drive, search_of

NEAREST = SearchSettings(options=["nearest"], survival=None)
X = np.zeros((20, 4))
X[-10:, 1] = -0.4
X[-10:, 2] = -np.linspace(0.02, 0.6, 10)  # less in sum, but more at one step


def one_ends_high(states):
    """Feature 1 or feature 2 above zero throughout the last ten steps, and feature 0 as well."""
    last = states[:, -10:]
    return (last[:, :, 0] > -0.1).all(1) & ((last[:, :, 1] > 0).all(1) | (last[:, :, 2] > 0).all(1))


def searched(features=None):
    """Search whose best answer raises feature 1, and what is asked about and returned by its substitutes."""
    state = X.copy()
    state[-10:, 1] = 0.001
    search = search_of(X, features, settings=NEAREST)
    cost = search.objective.cost(state[None])
    search.pool.extend(state[None], cost, np.array([10]), 1)
    returned = []

    def noting():
        returned.extend((yield from substituted(search)))

    return search, float(cost[0]), np.concatenate(drive(noting(), one_ends_high)), returned


def test_a_substitute_is_found_although_it_costs_more_until_each_of_its_cells_is_brought_back():
    search, cost, asked, bases = searched()
    best = bases[0]
    assert [base.cost for base in bases] == sorted(base.cost for base in bases)
    np.testing.assert_array_equal(np.flatnonzero((best.flat.reshape(X.shape) != X).any(0)), [2])
    assert one_ends_high(best.flat.reshape(1, *X.shape))[0]
    first = asked[: 3 * 2 * 3 * 3]  # features, directions, expenses, spans: the first question
    first = first[one_ends_high(first)]
    by_the_other = first[(first != X).any(1)[:, 2]]
    assert len(by_the_other)
    assert (search.objective.cost(by_the_other) > cost).all()
    assert best.cost < 0.9 * cost


def test_substitutes_change_what_may_be_changed_and_stay_within_limits():
    features = Features([Continuous(bounds=(-1, 1)), Continuous(), Continuous(role="immutable"), Discrete([0, 1])])
    search, _, asked, bases = searched(features)
    space = search.space
    changed = (asked != X).any(1)
    assert not changed[:, 2:].any()
    assert ((asked >= space.low) & (asked <= space.high)).all()
    assert bases == []  # feature 2 alone could do it


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_answer_changes_the_nearer_of_two_features(seed):
    cf = NTDCFE(lambda Z: one_ends_high(Z).astype(int), settings=NEAREST, seed=seed).explain(X, target=1)
    assert {change.feature for change in cf.changes} == {"feature 2"}
    assert cf.proximity < 1.02 * -X[:, 2].sum()


def test_many_small_savings_are_made_together_in_a_fine_look():
    needed = np.linspace(0.3, 0.9, 40)
    search = search_of(np.zeros((40, 2)), settings=NEAREST)
    state = np.zeros((40, 2))
    state[:, 0] = needed + 0.09  # less than 0.3% of the whole at each step
    least = state.copy()
    least[:, 0] = needed
    start, optimum = search.objective.cost(np.array([state, least]))
    returned = []

    def noting():
        returned.append((yield from tightened(search, Base.of(search, state, float(start)), finely=True)))

    drive(noting(), lambda states: (states[:, :, 0] >= needed).all(1))
    assert start > 1.1 * optimum
    assert returned[0].cost < 1.01 * optimum
