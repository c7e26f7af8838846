"""Ask and tell: the caller asks the model."""

import numpy as np
import pytest
import torch

from ntdcfe import NTDCFE, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe.testing import ends_high, logistic, quarters, series


def served(session, predict):
    while (rows := session.ask()) is not None:
        session.tell(predict(rows))
    return session.result()


@pytest.mark.parametrize(
    ("predict", "x", "target"),
    [(ends_high, series(20, 2, mean=-1.5), 1), (logistic, series(1, 9)[0], 1), (quarters, series(12, 3), "other")],
)
def test_a_session_gives_what_explain_gives(predict, x, target):
    told = served(NTDCFE(None, seed=3).session(x, target, max_rows=700), predict)
    asked = NTDCFE(predict, seed=3).explain(x, target, max_rows=700)
    np.testing.assert_array_equal(told.x, asked.x)
    assert (told.status, told.rows, told.calls, told.confirmed) == (asked.status, asked.rows, asked.calls, True)


def test_the_question_stands_until_it_is_told():
    session = NTDCFE(None).session(series(8, 2, mean=-1.5), 1)
    rows = session.ask()
    np.testing.assert_array_equal(rows, session.ask())
    rows[:] = 9.0  # the caller's copy
    assert (session.ask() != 9.0).all()
    with pytest.raises(PredictorError, match="wrong shape"):
        session.tell([0, 1, 0])
    session.tell([0])
    assert len(session.ask()) > 1


def test_what_cannot_be_read_as_an_array_is_said_and_still_to_be_told():
    session = NTDCFE(None).session(series(8, 2, mean=-1.5), 1)
    with pytest.raises(PredictorError, match=r"Tensor raised RuntimeError: .*detach"):
        session.tell(torch.ones(1, requires_grad=True))
    assert len(session.ask()) == 1
    session.tell(torch.zeros(1))
    assert len(session.ask()) > 1


def test_a_session_can_be_stopped_with_what_it_found():
    session = NTDCFE(None, settings=SearchSettings(batch_rows=30)).session(series(8, 2, mean=-1.5), 1)
    for _ in range(12):
        session.tell(ends_high(session.ask()))
    session.stop()
    assert not session.done  # the last check is still to be told
    cf = served(session, ends_high)
    assert (cf.status, cf.found, cf.confirmed, cf.complete) == ("interrupted", True, True, False)


def test_a_result_before_the_end_is_not_confirmed():
    session = NTDCFE(None).session(series(8, 2, mean=-1.5), 1)
    for _ in range(12):
        session.tell(ends_high(session.ask()))
    cf = session.result()
    assert cf.found
    assert not cf.confirmed
    assert session.ask() is None
    with pytest.raises(InvalidInputError, match="nothing to tell"):
        session.tell([1])


def test_values_and_missing_cells():
    x = series(8, 2)
    x[2, 0] = np.nan
    session = NTDCFE(None, missing="fixed").session(x, Target.interval(3, None), max_rows=400)
    cf = served(session, lambda rows: np.nansum(np.tanh(rows), axis=(1, 2)))
    assert cf.found
    assert np.isnan(cf.x[2, 0])


def test_without_a_model_explain_says_what_to_do():
    with pytest.raises(PredictorError, match=r"session\(\)"):
        NTDCFE(None).explain(np.zeros((4, 2)), 1)
