"""Several answers are different as a person would say it: other features, then other ways, then other values."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, Category, Continuous, Features, SearchSettings
from ntdcfe.problem.problem import Problem
from ntdcfe.search.different import different, needless

FEATURES = Features(
    [
        Continuous(name="age", bounds=(18, 90), precision=0),
        Continuous(name="income", bounds=(0, 200), precision=0),
        Category(["rent", "own", "free"], name="home"),
    ]
)
PERSON = np.array([[30.0, 35.0, 0.0]])
PROBLEM = Problem.of(PERSON, FEATURES)


def chosen(states, n):
    return different(PROBLEM, np.array(states, float)[:, None], n)


def test_sets_of_features_then_ways_then_values_then_the_rest():
    states = [[30, 61, 0], [30, 62, 0], [30, 90, 0], [30, 10, 0], [30, 41, 1], [30, 41, 2]]
    assert chosen(states, 6) == [0, 4, 3, 5, 2, 1]


def test_what_goes_as_far_as_another_and_changes_more_is_needless():
    states = np.array([[30, 61, 0], [44, 61, 0], [31, 60, 0], [44, 41, 0], [30, 61, 1], [30, 20, 1]], float)[:, None]
    assert needless(PROBLEM, states).tolist() == [False, True, True, False, True, False]
    assert chosen(states[:, 0], 6)[:3] == [0, 3, 5]


def lender(X):
    """Grants at an income of 61, of 41 to those who own their home."""
    return (X[:, 1] / 20 + (X[:, 2] == 1) > 3).astype(int)


@pytest.mark.parametrize(("prefer", "max_rows"), [("nearest", 400), ("nearest", 2000), ("simplest", 2000)])
def test_a_change_half_the_way_with_another_is_another_way(prefer, max_rows):
    settings = SearchSettings(max_rows=max_rows, options=[prefer] if prefer == "nearest" else ["simplest", "nearest"])
    cf = NTDCFE(lender, FEATURES, settings=settings).explain(PERSON[0], 1, n_counterfactuals=3)
    sets = {tuple(np.flatnonzero(x != PERSON[0])) for x in cf.candidates[:3]}
    assert sets == {(1,), (1, 2)}
    assert all(x[0] == 30 for x in cf.candidates[:3])  # age does nothing


@pytest.mark.parametrize("labels", [True, False])
def test_no_change_of_several_answers_is_needless(labels):
    rng = np.random.default_rng(0)
    weights, x = rng.uniform(0.3, 1, 8), np.zeros(8)

    def model(X):
        p = 1 / (1 + np.exp(3 - 2 * X @ weights))
        return (p > 0.5).astype(int) if labels else np.column_stack([1 - p, p])

    features = Features.continuous(8, bounds=(-1, 1))
    settings = SearchSettings(options=["nearest"], max_rows=800)
    cf = NTDCFE(model, features, settings=settings).explain(x, 1, n_counterfactuals=5)
    answers = cf.candidates[:5]
    assert len({tuple(answer != 0) for answer in answers}) == 5
    for answer in answers:
        for changed in np.flatnonzero(answer):
            undone = answer.copy()
            undone[changed] = 0
            assert 2 * undone @ weights < 3, answer
