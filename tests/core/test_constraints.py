"""Constraints of one's own; Causal and AtMost have their tests with the space."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, AtMost, Causal, Constraint, Discrete, Features, InvalidInputError
from ntdcfe.problem.space import Space
from ntdcfe.testing import Counting, ends_high


class AtMostChanged(Constraint):
    """Of the named features at most `n` change: those that change least are taken back."""

    def __init__(self, n, *names):
        self.n, self.names = n, names

    def bind(self, features):
        bound = AtMostChanged(self.n, *self.names)
        bound.positions = [features.index(name) for name in self.names]
        return bound

    def project(self, x, original):
        size = np.abs(x - original)[..., self.positions].sum(1)
        rank = (-size).argsort(1).argsort(1)
        for place, feature in enumerate(self.positions):
            back = rank[:, place] >= self.n
            x[back, :, feature] = original[:, feature]
        return x

    def broken(self, x, original):
        return (x != original)[..., self.positions].any(1).sum(1) > self.n


def predict(X):
    return (X.sum((1, 2)) > 12).astype(int)


def test_a_constraint_of_ones_own_holds_in_every_row():
    counting = Counting(predict)
    features = Features.continuous(4, names=["a", "b", "c", "d"])
    cf = NTDCFE(counting, features, [AtMostChanged(2, "a", "b", "c")]).explain(np.zeros((4, 4)), 1, max_rows=1500)
    assert cf.found
    rows = np.concatenate(counting.asked)
    assert (rows[..., :3] != 0).any(1).sum(1).max() == 2


def test_without_a_projection_states_that_break_it_are_not_made():
    class NeverNegative(Constraint):
        def broken(self, x, original):
            return (x < 0).any((1, 2))

    space = Space(np.zeros((2, 1)), Features.continuous(1), [NeverNegative()])
    x = space.project(np.array([[[-1.0], [0.0]], [[1.0], [2.0]]]))
    np.testing.assert_array_equal(x[:, :, 0], [[0, 0], [1, 2]])


def test_a_constraint_cannot_move_what_nobody_may_move():
    class Doubles(Constraint):
        def project(self, x, original):
            return x * 2

        def broken(self, x, original):
            return np.zeros(len(x), bool)

    features = Features.from_dict({"a": {}, "b": {"role": "immutable"}, "c": {"bounds": (0, 1.5)}})
    space = Space(np.ones((1, 3)), features, [Doubles()])
    np.testing.assert_array_equal(space.project(np.array([[[3.0, 3.0, 1.2]]]))[0, 0], [6, 1, 1.5])


def test_constraints_see_missing_cells_as_nan():
    seen = []

    class Looks(Constraint):
        def broken(self, x, original):
            seen.append(np.isnan(x).all(0) & np.isnan(original))
            return np.zeros(len(x), bool)

    missing = np.array([[True, False], [False, False]])
    Space(np.zeros((2, 2)), Features.continuous(2), [Looks()], missing=missing)
    np.testing.assert_array_equal(seen[0], missing)


def test_what_a_user_function_writes_into_its_arguments_reaches_no_state():
    """A rule with out= wrote into its cause, an immutable feature, and into the past."""

    def rectified(a):
        np.maximum(a, 0, out=a)
        return 2 * a

    features = Features.from_dict(
        {"a": {"role": "immutable"}, "b": {"role": "non_actionable"}, "c": {}}, actionable_steps=slice(2, None)
    )
    original = np.array([[-1.0, 5.0, 0.0]] * 4)
    space = Space(original, features, [Causal("b", "a", rectified)])
    x = space.project(np.repeat((original + np.array([0, 0, 1.0]))[None], 2, axis=0))
    np.testing.assert_array_equal(x[:, :, 0], -1.0)
    np.testing.assert_array_equal(x[:, :2], original[None, :2].repeat(2, 0))


def test_a_projection_of_the_wrong_shape_is_named():
    class Wrong(Constraint):
        def project(self, x, original):
            return x[:, :1]

        def broken(self, x, original):
            return np.zeros(len(x), bool)

    with pytest.raises(InvalidInputError, match=r"Wrong\.project must return states"):
        Space(np.zeros((2, 1)), Features.continuous(1), [Wrong()])


def test_broken_tells_of_every_kind():
    features = Features.continuous(3)
    space = Space(np.zeros((2, 3)), features, [AtMost(0, 1), Causal(2, 1, lambda b: -b)])
    x = np.zeros((3, 2, 3))
    x[0, 0, 0] = 1.0  # above its limit
    x[1, 1, 1] = 1.0  # without its effect
    x[2, 1, 1:] = 1.0, -1.0
    assert space.broken(x).tolist() == [True, True, False]


def test_a_small_space_of_which_constraints_leave_nothing_is_searched_to_its_end():
    class Nothing(Constraint):
        """No change at all."""

        def project(self, x, original):
            return x

        def broken(self, x, original):
            return (x != original).any((1, 2))

    features = Features([Discrete([0, 1, 2]), Discrete([0, 1, 2])])
    cf = NTDCFE(ends_high, features, [Nothing()]).explain(np.zeros((3, 2)), 1)
    assert (cf.status, cf.cause, cf.rows) == ("not_found", None, 1)
