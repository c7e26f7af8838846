"""Edits that nobody would say one by one."""

import numpy as np
import pytest

from ntdcfe import Continuous, Features
from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.problem.kinds import PLACE
from ntdcfe.search.edits.tidy import tidied
from ntdcfe.search.edits.walk import Walk
from ntdcfe.testing import search_of

X = np.random.default_rng(0).normal(size=(12, 2))


def answer(*edits, features=None):
    """What becomes of edits, each a kind, a feature, first and last step and a number, and the state as it was."""
    editor = Walk(search_of(X, features)).editor
    kinds, feature, first, last, number = zip(*edits, strict=True)
    columns = [[PLACE[kind] for kind in kinds]], [feature], 1, [first], [last], [number]
    lists = editor.rounded(EditLists.of(*columns))
    state = editor.states(lists)[0]
    return tidied(editor, state, lists), state


def test_shifts_of_one_feature_in_one_window_become_one():
    found, state = answer(("shift", 0, 3, 5, 0.19), ("shift", 1, 3, 5, 0.3), ("shift", 0, 3, 5, 0.21))
    assert found.edits.n_edits == 2
    assert found.edits.number[0, 0] == 0.4
    np.testing.assert_allclose(found.state, state)


@pytest.mark.parametrize("other", [("shift", 0, 3, 6, 0.21), ("at_most", 0, 3, 5, 0.1), ("shift", 1, 3, 5, 0.21)])
def test_other_edits_stay(other):
    found, state = answer(("shift", 0, 3, 5, 0.19), other)
    assert found.edits.n_edits == 2
    np.testing.assert_array_equal(found.state, state)


def test_shifts_stay_where_a_limit_came_between_them():
    top = float(X[3:6, 0].max()) + 0.1
    features = Features([Continuous(bounds=(None, top)), Continuous()])
    found, state = answer(("shift", 0, 3, 5, 2.0), ("shift", 0, 3, 5, -1.0), features=features)
    assert found.edits.n_edits == 2
    np.testing.assert_array_equal(found.state, state)
