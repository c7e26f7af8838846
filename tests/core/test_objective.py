import numpy as np
import pytest

from ntdcfe import NTDCFE, Continuous, Discrete, Features, InvalidInputError, SearchSettings, Term
from ntdcfe.problem.objective import LENIENT, STRICT, Objective

FEATURES = Features([Continuous(weight=2.0), Discrete(values=[0, 1, 5], weight=10.0)])
UNITS = np.array([0.5, 1.0])


def objective(**options):
    return Objective(np.zeros((3, 2)), FEATURES, UNITS, price_of_cell=0.1, **options)


def states():
    x = np.zeros((2, 3, 2))
    x[0, 1, 0], x[0, 2, 1] = -1.5, 5.0
    return x


class Features2(Term):
    name = "features"

    def cost(self, x, original, features):
        assert features is FEATURES
        return 7.0 * (x != original).any(1).sum(1)


def test_the_cost_is_distance_in_units_a_price_on_cells_and_the_terms():
    plain, priced = objective(), objective(terms=[Features2()])
    np.testing.assert_allclose(plain.cost(states()), [2 * 3 + 10 + 0.1 * 2, 0])
    np.testing.assert_allclose(priced.cost(states()), [2 * 3 + 10 + 0.1 * 2 + 14, 0])


def test_the_parts_add_up_to_the_cost():
    priced = objective(terms=[Features2()])
    parts = priced.parts(states())
    assert list(parts) == ["distance", "cells", "features"]
    np.testing.assert_allclose(sum(parts.values()), priced.cost(states()))


def test_prices_of_single_changes_are_those_of_the_whole():
    plain, x = objective(), states()[0].ravel()
    cells = np.flatnonzero(x)
    of_cells = plain.of_changes(x[cells], cells) + plain.price_of_cell
    np.testing.assert_allclose(of_cells.sum(), plain.cost(states())[0])
    np.testing.assert_allclose(plain.of_units(x[cells] / np.tile(UNITS, 3)[cells], cells) + 0.1, of_cells)
    cell = np.array([2])
    moved = plain.change_for(np.array([3.0]), cell)
    np.testing.assert_allclose(plain.of_changes(moved, cell), [3.0])


def test_proximity_is_in_the_features_own_scales():
    np.testing.assert_allclose(objective().proximity(states()), [2 * 1.5 + 10, 0])
    assert objective().sparsity(states()).tolist() == [2, 0]


def test_a_term_that_returns_the_wrong_shape_is_named():
    class Wrong(Term):
        def cost(self, x, original, features):
            return 1.0

    with pytest.raises(InvalidInputError, match=r"Wrong.cost must return one number a state"):
        objective(terms=[Wrong()]).cost(states())


def test_a_term_may_write_into_what_it_is_given():
    class Writes(Term):
        def cost(self, x, original, features):
            x[:] = 9.0
            original[:] = 9.0
            return np.zeros(len(x))

    x = states()
    np.testing.assert_allclose(objective(terms=[Writes()]).cost(x), objective().cost(states()))
    np.testing.assert_array_equal(x, states())


def test_a_price_on_features_changes_which_answer_is_the_best():
    """One feature alone has to go far, two together need half of it each."""

    class PriceOfFeatures(Term):
        def cost(self, x, original, features):
            return 5.0 * (x != original).any(1).sum(1)

    def predict(X):
        return (X[:, 0] + 1.2 * np.minimum(X[:, 1], X[:, 2]) * 2 > 2).astype(int)

    features = Features.continuous(3, bounds=(0, 3))
    spread = NTDCFE(predict, features).explain(np.zeros(3), 1)
    few = NTDCFE(predict, features, settings=SearchSettings(terms=[PriceOfFeatures()])).explain(np.zeros(3), 1)
    assert np.count_nonzero(spread.x) >= np.count_nonzero(few.x) == 1


def test_a_step_of_what_is_constant_costs_as_little_once_features_are_settled():
    """A straight feature has no smoothness to lose; a smooth curve has."""
    steps = np.arange(40)
    original = np.stack([np.zeros(40), np.sin(steps / 3)], 1)
    objective = Objective(original, Features.continuous(2), np.ones(2), price_of_roughness=2.5)
    x = np.repeat(original[None], 2, axis=0)
    x[0, 20:, 0] += 0.5
    x[1, 20:, 1] += 0.5
    lenient, strict = (objective.roughness(x, smoothness=smoothness) for smoothness in (LENIENT, STRICT))
    assert strict[0] == lenient[0]
    assert strict[1] > lenient[1]
