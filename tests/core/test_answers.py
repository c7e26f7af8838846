"""Rows of a table: what the model said once is not asked again, unless it contradicts itself."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings
from ntdcfe.search.answers import Answers
from ntdcfe.search.base import Answer
from ntdcfe.search.default import default
from ntdcfe.testing import drive, search_of

STATES = np.arange(6.0).reshape(3, 1, 2)
FEATURES = Features([Discrete(values=range(9)) for _ in range(5)] + [Continuous(bounds=(0, 1))] * 2)


def total(states):
    return states.reshape(len(states), -1).sum(1)


@pytest.mark.parametrize("wanted", [1, 4])
def test_once_something_is_found_no_row_of_a_table_is_asked_about_twice(wanted):
    settings = SearchSettings(options=["nearest"], survival=None, n_counterfactuals=wanted, max_rows=900)
    search = search_of(np.zeros((1, 7)), FEATURES, settings)
    found_before = []

    def judge(states):
        found_before.append(len(search.pool) > 0)
        search.budget.rows += len(states)
        search.budget.batches += 1
        return total(states) > 11

    asked = drive(default(search), judge)
    known = set()
    for states, found in zip(asked, found_before, strict=True):
        keys = [state.tobytes() for state in states]
        # One is asked at least, so that every question takes a row.
        assert not found or len(keys) == 1 or (len(set(keys)) == len(keys) and not known & set(keys))
        known |= set(keys)
    assert sum(found_before) > 5


def test_fewer_rows_lead_to_answers_that_hold():
    rows = []

    def model(X):
        rows.append(len(X))
        return (total(X) > 11).astype(int)

    cf = NTDCFE(model, FEATURES, settings=SearchSettings(options=["nearest"], survival=None)).explain(
        np.zeros(7), 1, max_rows=900
    )
    assert cf.found
    assert total(cf.x[None])[0] > 11
    assert cf.rows == sum(rows) < 900


def test_the_answer_about_all_states_comes_from_what_is_known_and_what_was_asked():
    answers = Answers()
    answers.note(STATES[:1], Answer(np.array([True]), np.array([0.7])))
    some = np.concatenate([STATES, STATES[1:2]])
    asked = answers.unknown(some)
    assert asked.tolist() == [1, 2]
    said = Answer(np.array([False, True]), np.array([0.2, 0.9]))
    answers.note(some[asked], said)
    whole = answers.of(some, asked, said)
    assert whole.reached.tolist() == [True, False, True, False]
    assert whole.score.tolist() == [0.7, 0.2, 0.9, 0.2]
    assert answers.unknown(some).tolist() == [0]


def test_rows_beyond_the_budget_are_not_known():
    answers = Answers()
    answers.note(STATES, Answer(np.array([True]), None).padded(3))
    assert [state in answers for state in STATES] == [True, False, False]


def test_nothing_that_a_model_said_which_contradicts_itself_is_relied_upon():
    answers = Answers()
    answers.note(STATES, Answer(np.ones(3, bool), None))
    answers.forget()
    answers.note(STATES, Answer(np.ones(3, bool), None))
    assert answers.unknown(STATES).tolist() == [0, 1, 2]
    assert not any(state in answers for state in STATES)


def test_of_a_model_that_contradicts_itself_a_row_may_be_asked_about_again():
    rng = np.random.default_rng(0)
    settings = SearchSettings(options=["nearest"], survival=None, n_counterfactuals=3)
    cf = NTDCFE(
        lambda X: (total(X) + (rng.random(len(X)) < 0.03) * 20 > 11).astype(int), FEATURES, settings=settings
    ).explain(np.zeros(7), 1, max_rows=3000)
    assert cf.found
    assert cf.contradicted
    assert all(total(x[None])[0] > 11 for x in cf.candidates[:3])
