import numpy as np
import pytest

from ntdcfe import AtMost, Causal, Continuous, Discrete, Features, Intervention, InvalidInputError
from ntdcfe.problem.objective import weighted_l1
from ntdcfe.problem.space import Space
from ntdcfe.problem.transition import hold_to_end
from ntdcfe.problem.units import units_of
from ntdcfe.search.algorithm_1 import reward


def act(space, step, feature, strength, states=None, transition=hold_to_end):
    states = space.original[None] if states is None else states
    action = Intervention(np.array([step]), np.array([feature]), np.array([strength]))
    return space.project(transition(states, action, space.discrete), states)


def test_a_change_holds_from_its_step_to_the_end():
    space = Space(np.zeros((4, 2)), Features([Continuous(), Discrete([0, 1, 2])]))
    x = act(space, 2, 0, 0.5)
    np.testing.assert_array_equal(x[0, :, 0], [0, 0, 0.5, 0.5])
    np.testing.assert_array_equal(act(space, 1, 0, 1.0, x)[0, :, 0], [0, 1, 1.5, 1.5])  # added
    x = act(space, 1, 1, 2.0, x)
    np.testing.assert_array_equal(act(space, 3, 1, 1.0, x)[0, :, 1], [0, 2, 2, 1])  # set


def test_another_transition_can_be_plugged_in():
    def at_once(states, action, discrete):
        out = states.copy()
        out[np.arange(len(out)), action.step, action.feature] += action.strength
        return out

    space = Space(np.zeros((4, 1)), Features.continuous(1))
    np.testing.assert_array_equal(act(space, 1, 0, 0.5, transition=at_once)[0, :, 0], [0, 0.5, 0, 0])


def test_cap_and_discard():
    original = np.array([[0.0], [0.5], [3.0]])  # the last is out of bounds as it came
    for on_violation, expected in [("cap", [1, 1, 1]), ("discard", [0, 0.5, 3])]:
        space = Space(original, Features.continuous(1, bounds=(-1, 1)), on_violation=on_violation)
        np.testing.assert_array_equal(act(space, 0, 0, 2.0)[0, :, 0], expected)
    space = Space(original, Features.continuous(1, bounds=(-1, 5)), on_violation="discard")
    np.testing.assert_array_equal(act(space, 0, 0, 2.0)[0, :, 0], [2, 2.5, 5])


def test_a_cell_outside_its_bounds_is_left_alone_until_it_is_changed():
    space = Space(np.array([[3.0], [0.0]]), Features.continuous(1, bounds=(-1, 1)))
    np.testing.assert_array_equal(act(space, 1, 0, 0.5)[0, :, 0], [3, 0.5])


def test_direction_is_measured_from_the_original():
    space = Space(
        np.zeros((2, 2)), Features([Continuous(direction="rise"), Discrete([-1, 0, 1], direction="fall")])
    )
    x = act(space, 0, 0, 1.0)
    np.testing.assert_array_equal(act(space, 0, 0, -0.5, x)[0, :, 0], [0.5, 0.5])  # back, not below
    np.testing.assert_array_equal(act(space, 0, 0, -5.0, x)[0, :, 0], [0, 0])
    np.testing.assert_array_equal(act(space, 0, 1, 1.0)[0, :, 1], [0, 0])
    np.testing.assert_array_equal(act(space, 0, 1, -1.0)[0, :, 1], [-1, -1])


def test_frozen_steps_and_roles():
    features = Features(
        [Continuous(), Continuous(role="non_actionable"), Continuous(role="immutable")], actionable_steps=slice(2, None)
    )
    space = Space(np.zeros((4, 3)), features)
    np.testing.assert_array_equal(act(space, 0, 0, 1.0)[0, :, 0], [0, 0, 1, 1])
    for feature in (1, 2):
        np.testing.assert_array_equal(act(space, 0, feature, 1.0), np.zeros((1, 4, 3)))


def test_causal_rule_fires_on_changed_causes_only():
    features = Features([Continuous(name="dose"), Continuous(name="effect", role="non_actionable")])
    rule = Causal("effect", "dose", lambda dose: 2 * dose)
    original = np.array([[1.0, 7.0], [1.0, 7.0], [1.0, 7.0]])  # does not obey: stays until a cause moves
    space = Space(original, features, [rule])
    np.testing.assert_array_equal(space.project(original[None]), original[None])
    np.testing.assert_array_equal(act(space, 1, 0, 1.0)[0], [[1, 7], [2, 4], [2, 4]])


def test_causal_rules_in_a_chain_and_with_a_lag():
    features = Features.from_dict({"c": {"role": "non_actionable"}, "b": {"role": "non_actionable"}, "a": {}})
    lag = Causal("b", "a", lambda a: np.pad(a, ((0, 0), (1, 0)))[:, :-1])
    double = Causal("c", "b", lambda b: 2 * b)
    space = Space(np.zeros((3, 3)), features, [double, lag])
    np.testing.assert_array_equal(act(space, 1, 2, 1.0)[0], [[0, 0, 0], [0, 0, 1], [2, 1, 1]])


def test_a_change_whose_effect_breaks_a_bound_is_not_made():
    features = Features.from_dict({"a": {}, "b": {"role": "non_actionable", "bounds": (0, 3)}})
    space = Space(np.zeros((2, 2)), features, [Causal("b", "a", lambda a: 2 * a)])
    np.testing.assert_array_equal(act(space, 0, 0, 1.0)[0], [[1, 2], [1, 2]])
    np.testing.assert_array_equal(act(space, 0, 0, 2.0)[0], np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([Causal("a", "b", abs), Causal("b", "a", abs)], "circle"),
        ([Causal("c", "a", abs)], "immutable"),
        ([Causal("b", "z", abs)], "no feature 'z'"),
        ([Causal("b", "a", abs), Causal("b", "c", abs)], "two causal rules"),
        ([Causal("b", "a", lambda a: a[:, 0])], "must return shape"),
        ([Causal("b", "a", lambda a: {}[0])], "feature 1 raised KeyError"),
        (["b = a"], "must be Causal"),
        ([AtMost("a", "z")], "no feature 'z'"),
        ([AtMost("a", "a")], "two different features"),
    ],
)
def test_bad_constraints(constraints, message):
    features = Features.from_dict({"a": {}, "b": {}, "c": {"role": "immutable"}})
    with pytest.raises(InvalidInputError, match=message):
        Space(np.zeros((2, 3)), features, constraints)


@pytest.mark.parametrize(
    "features",
    [
        Features.continuous(2, role="immutable"),
        Features.continuous(2, role="non_actionable"),
        Features.continuous(2, bounds=(0, 0)),
        Features([Discrete([0]), Continuous(bounds=(-1, 0), direction="rise")]),
    ],
)
def test_no_feature_left_to_change(features):
    with pytest.raises(InvalidInputError, match="no feature is left"):
        Space(np.zeros((3, 2)), features)


def test_changed_cells_are_rounded_and_others_are_not():
    features = Features([Continuous(precision=0), Continuous(precision=2), Continuous()])
    space = Space(np.array([[0.3, 0.123, 0.123]]), features)
    x = space.project(np.array([[[1.6, 0.123, 0.123]], [[0.3, 7.006, 7.006]], [[-0.2, 0.123, 0.123]]]))
    np.testing.assert_array_equal(x[:, 0], [[2, 0.123, 0.123], [0.3, 7.01, 7.006], [0, 0.123, 0.123]])
    assert not np.signbit(x[2, 0, 0])  # 0.0 and -0.0 would count as two states


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_never_leaves_bounds_or_goes_the_wrong_way(dtype):
    features = Features(
        [Continuous(bounds=(0.4, 3.6), precision=0), Continuous(bounds=(-0.29, 0.29), precision=2)]
        + [Continuous(direction=way, precision=0) for way in ("rise", "fall")]
    )
    space = Space(np.full((1, 4), 0.2, dtype), features)
    for far, expected in [(9.0, [3, 0.29, 9, 0.2]), (-9.0, [1, -0.29, 0.2, -9])]:
        x = space.project(np.full((1, 1, 4), far))[0, 0]
        if dtype == np.float64:
            np.testing.assert_array_equal(x[:2], expected[:2])
        assert 0.4 <= x[0] <= 3.6
        assert -0.29 <= float(x[1]) <= 0.29
    slightly = space.project(np.array([[[0.2, 0.2, 0.3, 0.1]]]))[0, 0]
    np.testing.assert_array_equal(slightly[2:], [1, 0])  # up is 1, down is 0, whatever is nearer


def test_bounds_between_two_steps_of_the_grid_leave_nothing_to_change():
    with pytest.raises(InvalidInputError, match="no feature is left"):
        Space(np.full((1, 1), 0.5), Features([Continuous(bounds=(0.2, 0.8), precision=0)]))


def test_a_unit_is_no_less_than_a_step_of_the_grid():
    features = Features([Continuous(scale=0.01, precision=0), Continuous(scale=0.01)])
    np.testing.assert_array_equal(units_of(np.zeros((1, 2)), features), [1, 0.01])


def test_an_effect_is_rounded_to_its_own_precision():
    features = Features.from_dict({"a": {}, "b": {"role": "non_actionable", "precision": 0}})
    space = Space(np.zeros((1, 2)), features, [Causal("b", "a", lambda a: 0.4 * a)])
    np.testing.assert_array_equal(act(space, 0, 0, 4.0)[0], [[4, 2]])


def test_at_most_stops_whichever_was_changed():
    space = Space(np.array([[1.0, 2.0], [1.0, 5.0]]), Features.continuous(2), [AtMost(0, 1)])
    np.testing.assert_array_equal(act(space, 0, 0, 3.0)[0], [[2, 2], [4, 5]])
    np.testing.assert_array_equal(act(space, 0, 1, -3.0)[0], [[1, 1], [1, 2]])
    both = space.project(np.array([[[4.0, 3.0], [1.0, 5.0]]]))
    np.testing.assert_array_equal(both[0], [[3, 3], [1, 5]])


def test_at_most_leaves_a_series_that_never_obeyed_until_it_is_changed():
    space = Space(np.array([[3.0, 2.0], [3.0, 2.0]]), Features.continuous(2), [AtMost(0, 1)])
    np.testing.assert_array_equal(act(space, 1, 0, -0.5)[0], [[3, 2], [2, 2]])


def test_at_most_in_a_chain_and_with_coarser_neighbours():
    features = Features([Continuous(precision=0), Continuous(precision=1), Discrete([0, 4, 8])])
    space = Space(np.array([[1.0, 2.0, 4.0]]), features, [AtMost(0, 1), AtMost(1, 2)])
    x = space.project(np.array([[[9.0, 7.0, 4.0]], [[2.7, 2.4, 8.0]], [[3.0, 2.6, 8.0]]]))[:, 0]
    np.testing.assert_array_equal(x[0], [4, 4, 4])
    np.testing.assert_array_equal(x[1], [2, 2.4, 8])
    np.testing.assert_array_equal(x[2], [1, 2, 4])  # 2.6 would have to be 3: not made at all


def test_at_most_cannot_be_met_against_a_rule_or_with_discard():
    features = Features.from_dict({"a": {}, "b": {"role": "non_actionable"}, "c": {"role": "immutable"}})
    rule = Causal("b", "a", lambda a: 2 * a)
    space = Space(np.array([[0.0, 0.0, 3.0]]), features, [rule, AtMost("b", "c")])
    np.testing.assert_array_equal(act(space, 0, 0, 1.0)[0], [[1, 2, 3]])
    np.testing.assert_array_equal(act(space, 0, 0, 2.0)[0], [[0, 0, 3]])
    space = Space(np.zeros((1, 2)), Features.continuous(2), [AtMost(0, 1)], on_violation="discard")
    np.testing.assert_array_equal(act(space, 0, 0, 1.0)[0], [[0, 0]])
    np.testing.assert_array_equal(act(space, 0, 1, 1.0)[0], [[0, 1]])


def test_float32_stays_within_bounds_that_it_cannot_hold_exactly():
    space = Space(np.zeros((1, 1), np.float32), Features.continuous(1, bounds=(-0.1, 0.1)))
    for strength in (5.0, -5.0):
        x = act(space, 0, 0, strength)
        assert x.dtype == np.float32
        assert abs(float(x[0, 0, 0])) <= 0.1


def test_proximity_and_reward_of_the_paper():
    original = np.array([[0.0, 1.0], [0.0, 1.0]])
    x = np.array([[[0.5, 1.0], [-1.0, 3.0]]])
    proximity = weighted_l1(original, x, np.array([2.0, 10.0]), np.array([False, True]))
    np.testing.assert_allclose(proximity, [2 * 1.5 + 10 * 1])
    np.testing.assert_allclose(reward(np.array([True, False]), np.array([13.0, 13.0]), 0.001), [1 - 0.013, 0.0])
