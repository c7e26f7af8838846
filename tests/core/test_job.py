"""The life of one instance, told by hand."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, Features, PredictorError, SearchSettings, Target
from ntdcfe.model.job import Job
from ntdcfe.problem.prediction import Prediction
from ntdcfe.run.instance import job_of


def job(target=None, **settings) -> Job:
    explainer = NTDCFE(None, settings=SearchSettings(**settings))
    features = Features.continuous(1)
    return job_of(explainer, np.zeros((4, 1)), features, target or Target.label(1), explainer.settings)


def tell(instance, labels):
    instance.tell(Prediction(np.asarray(labels(instance.pending.states)).astype(int)))


def above(states):
    return states[:, 2, 0] > 1


def test_it_looks_searches_checks_and_is_done():
    instance, phases = job(max_rows=600), []
    instance.begin()
    while instance.phase != "done":
        phases.append(instance.phase)
        tell(instance, above)
    assert list(dict.fromkeys(phases)) == ["look", "search", "check"]
    assert (instance.status, instance.confirmed, instance.complete) == ("found", True, True)
    assert above(np.array(instance.answers)).all()


def test_it_is_done_after_the_first_look_if_nothing_has_to_change():
    instance = job()
    instance.begin()
    while instance.phase != "done":
        tell(instance, lambda states: np.ones(len(states)))
    assert instance.status == "already_target"
    np.testing.assert_array_equal(instance.answers, [np.zeros((4, 1))])


def found_something():
    instance = job()
    instance.begin()
    while not len(instance.search.pool):
        tell(instance, above)
    return instance


def test_wound_up_it_still_asks_the_answer_again():
    instance = found_something()
    instance.end_search("interrupted")
    assert instance.phase == "check"
    tell(instance, above)
    assert instance.pending.alone
    tell(instance, above)
    assert (instance.status, instance.confirmed, instance.complete) == ("interrupted", True, False)


def test_given_up_it_hands_out_what_it_has_unconfirmed():
    instance = found_something()
    instance.end_search("budget_exhausted")
    instance.end_check()
    assert (instance.found, instance.confirmed) == (True, False)


def test_a_failure_before_the_first_look_leaves_nothing():
    instance = job()
    instance.begin()
    instance.fail(PredictorError("gone"))
    assert (instance.status, instance.phase, instance.found) == ("model_failed", "done", False)


def test_a_failure_of_our_own_says_where_it_was_raised():
    instance = found_something()
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    instance.fail(caught.value)
    assert "not in the model, ZeroDivisionError was raised in test_job.py" in str(instance.cause)


def test_an_answer_that_does_not_hold_is_replaced():
    """The nearest of the pool is not valid when it is asked again."""
    instance, lying = job(max_rows=700, options=["nearest"]), {"now": True}
    instance.begin()
    while instance.phase != "done":
        if instance.phase == "check" and lying["now"]:
            lying["now"] = False
            states = instance.pending.states
            tell(instance, lambda _, states=states: above(states) & (states != states[0]).any((1, 2)))
        else:
            tell(instance, above)
    assert instance.trust.contradicted
    assert instance.found
