"""Votes on a model that contradicts itself, without a model."""

import numpy as np
import pytest

from ntdcfe import SearchSettings, Target
from ntdcfe.model.budget import Budget
from ntdcfe.model.trust import Poll, Trust, TrustTuning
from ntdcfe.problem.prediction import Prediction


def trust(target=None, **settings):
    settings = SearchSettings(**settings)
    return Trust(np.zeros((2, 1)), target or Target.label(1), Budget(settings, 2, 2), settings)


def answered(talk, answer):
    """Serve a generator of questions; returns how many rows it asked and what it returned."""
    rows, question = 0, next(talk)
    while True:
        rows += len(question.states)
        try:
            question = talk.send(Prediction(np.asarray(answer(question.states))))
        except StopIteration as end:
            return rows, end.value


def test_the_lead_that_is_needed_grows_with_the_errors():
    needed = [TrustTuning().lead_needed(errors, 30) for errors in (0, 1, 3, 6, 15)]
    assert needed == sorted(needed)
    assert needed[0] == 3
    assert needed[-1] == TrustTuning().most_lead


@pytest.mark.parametrize("error", [0.02, 0.1, 0.2])
def test_false_claims_are_dropped_and_true_ones_believed(error):
    rng, n = np.random.default_rng(0), 4000
    true = rng.random(n) < 0.5
    poll = Poll(n, TrustTuning().lead_needed(int(300 * error), 300), TrustTuning().lowest_lead)
    while len(asked := poll.undecided):
        poll.count(asked, true[asked] ^ (rng.random(len(asked)) < error))
    assert not (poll.believed & poll.dropped).any()
    assert poll.believed[~true].sum() <= 2
    assert poll.believed[true].mean() > 0.9


def test_of_the_claims_those_that_hold_are_left():
    believing, states = trust(max_rows=5000), np.arange(8.0).reshape(4, 2, 1)
    claimed = np.array([True, True, False, True])
    rng = np.random.default_rng(0)

    def answer(rows):  # the last two are valid, now and then it says otherwise
        valid = rows[:, 0, 0] >= 4
        return (valid ^ (rng.random(len(rows)) < 0.1)).astype(int)

    rows, _ = answered(believing.sure(states, claimed), answer)
    assert claimed.tolist() == [False, False, False, True]
    assert believing.sure_of_some
    assert rows > 30  # the trials, and votes


def test_no_claim_needs_no_question():
    assert list(trust().sure(np.zeros((3, 2, 1)), np.zeros(3, bool))) == []


def test_the_majority_decides_what_the_original_is():
    deciding = trust(Target.other(), confirmations=3)
    said = iter([["a", "b", "a"], ["a", "a", "a"], ["a", "a", "a"], ["a"] * 3])
    _, prediction = answered(deciding.majority(Prediction(np.array(["a", "b", "a"]))), lambda rows: next(said))
    assert deciding.contradicted
    assert prediction.outcomes.tolist() == ["a"]


def test_a_model_that_contradicts_itself_has_to_lead_by_twice_as_many():
    doubting = trust(confirmations=4)
    assert doubting.lead == 4
    doubting.contradicted = True
    assert doubting.lead == 8
