"""A search that ends when it is done: patience in rows, and what the result says of it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ntdcfe import NTDCFE, Counterfactual, Features, InvalidInputError, SearchSettings
from ntdcfe.search.patience import Patience

NEAREST = SearchSettings(options=["nearest"], survival=None)
X = np.random.default_rng(0).normal(size=(20, 3))


def mean_of_last_steps(states):
    return states[:, 10:, 0].mean(1) > 1.0


def explained(settings, ask=mean_of_last_steps, x=X, **budget):
    return NTDCFE(ask, Features.continuous(x.shape[-1]), settings=settings, seed=0).explain(x, 1, **budget)


def test_small_gains_count_together_and_a_gain_below_one_percent_does_not():
    patience = Patience(100, begun=50)
    patience.note(80, np.inf)
    patience.note(170, np.inf)
    assert not patience.over, "it begins with the first answer"
    patience.note(200, 10.0)
    patience.note(250, 9.95)
    patience.note(290, 9.88)  # 1.2% in two steps
    patience.note(380, 9.85)
    assert not patience.over
    patience.note(390, 9.80)
    assert patience.over


def test_as_long_as_something_is_still_to_come_the_search_is_not_done():
    patience = Patience(100)
    patience.note(0, 10.0)
    patience.waiting = True
    patience.note(500, 10.0)
    assert not patience.over
    patience.waiting = False
    assert patience.over


def test_an_easy_search_ends_early_and_says_so():
    done = explained(NEAREST)
    assert done.found
    assert done.converged
    assert done.rows < 0.7 * 10_000
    assert "; more rows would gain little)" in str(done)
    all_rows = explained(replace(NEAREST, patience=10_000))
    assert all_rows.rows > done.rows
    assert not all_rows.converged
    assert done.proximity < 1.05 * all_rows.proximity


def test_less_patience_asks_less():
    rows = [explained(replace(NEAREST, patience=patience)).rows for patience in (300, 1_500, 4_000)]
    assert rows == sorted(set(rows))


def test_a_search_that_its_limit_ended_has_not_converged():
    assert not explained(NEAREST, max_rows=600).converged


def test_the_walk_is_patient_where_it_is_said():
    usual, hasty = explained(SearchSettings()), explained(SearchSettings(patience=600))
    assert hasty.found
    assert hasty.converged
    assert hasty.survival.share >= 0.95
    assert hasty.rows < usual.rows
    assert not usual.converged


def test_every_possible_row_asked_is_converged():
    from ntdcfe import Discrete

    features = Features([Discrete([0, 1, 2]), Discrete([0, 1])])
    cf = NTDCFE(lambda rows: rows.sum(1) >= 2, features).explain(np.array([0.0, 0.0]), True)
    assert cf.found
    assert cf.converged


def test_what_was_not_found_has_not_converged():
    cf = explained(NEAREST, ask=lambda states: np.zeros(len(states), int), max_rows=600)
    assert not cf.found
    assert not cf.converged


def test_it_is_saved_and_a_result_of_an_earlier_version_is_read():
    entry = json.loads(json.dumps(explained(NEAREST).to_dict()))
    assert Counterfactual.from_dict(entry).converged
    del entry["converged"]
    assert not Counterfactual.from_dict(entry).converged


@pytest.mark.parametrize("patience", [0, -5, 2.5, "long"])
def test_patience_is_a_number_of_rows(patience):
    with pytest.raises(InvalidInputError, match="patience must be a whole number from 1, or None"):
        SearchSettings(patience=patience)
