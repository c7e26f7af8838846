"""A long run can be watched: by a bar, by a function of one's own, and in Python's log."""

import logging

import numpy as np
import pytest

from ntdcfe import NTDCFE, InvalidInputError, Progress, SearchSettings
from ntdcfe.testing import Counting, ends_high, series

SMALL = SearchSettings(max_rows=400)
X = np.stack([series(12, 2, seed, mean=-1.5) for seed in range(4)])


def test_within_one_series_rows_and_the_best_so_far_are_told():
    told: list[Progress] = []
    counting = Counting(ends_high)
    cf = NTDCFE(counting, settings=SMALL).explain(X[0], 1, progress=told.append)
    during = told[:-1]
    assert len(during) == counting.calls
    assert [p.rows for p in during] == np.cumsum([len(rows) for rows in counting.asked]).tolist()
    assert {p.max_rows for p in during} == {400}
    assert during[0].best == np.inf
    assert during[-1].best < np.inf
    assert all(p.seconds_left >= 0 for p in during)
    assert during[-1].seconds_left < 60
    assert [(p.done, p.instances) for p in (told[0], told[-1])] == [(0, 1), (1, 1)]
    np.testing.assert_array_equal(cf.x, NTDCFE(ends_high, settings=SMALL).explain(X[0], 1).x)


@pytest.mark.parametrize("backend", [None, "threading"])
def test_over_many_the_time_left_is_told(backend):
    told: list[Progress] = []
    NTDCFE(ends_high, settings=SMALL).explain_batch(X, 1, progress=told.append, backend=backend, n_jobs=2)
    done = [p for p in told if p.done]
    assert [p.done for p in done] == [1, 2, 3, 4]
    assert {p.instances for p in told} == {4}
    assert done[0].seconds_left > 0
    assert done[-1].seconds_left == 0


def test_what_an_earlier_run_has_done_counts(tmp_path):
    told: list[Progress] = []
    explainer = NTDCFE(ends_high, settings=SMALL)
    explainer.explain_batch(X, 1, checkpoint=tmp_path / "run")
    lines = (tmp_path / "run").read_text().splitlines()
    (tmp_path / "run").write_text("\n".join(lines[:3]) + "\n")
    explainer.explain_batch(X, 1, checkpoint=tmp_path / "run", progress=told.append)
    assert [p.done for p in told if p.rows == 0] == [3, 4]


def test_the_bar_shows_rows_and_the_best(capsys):
    NTDCFE(ends_high, settings=SMALL).explain(X[0], 1, progress=True)
    shown = capsys.readouterr().err
    assert "/400" in shown
    assert "best=" in shown


def test_the_log_is_told_of_questions_and_of_instances(caplog):
    with caplog.at_level(logging.DEBUG, "ntdcfe"):
        NTDCFE(ends_high, settings=SMALL).explain_batch(X, 1)
    assert sum(record.levelno == logging.INFO for record in caplog.records) == 4
    assert any("rows for 4 instances" in record.getMessage() for record in caplog.records)
    caplog.clear()
    NTDCFE(ends_high, settings=SMALL).explain(X[0], 1)
    assert not [record for record in caplog.records if record.levelno < logging.INFO]


def test_a_function_that_fails_loses_nothing():
    calls = []

    def fails(progress):
        calls.append(progress)
        raise RuntimeError("the window is closed")

    with pytest.warns(UserWarning, match="progress raised RuntimeError: the window is closed"):
        cf = NTDCFE(ends_high, settings=SMALL).explain(X[0], 1, progress=fails)
    assert cf.status == "found"
    assert len(calls) == 1


def test_a_function_may_end_the_run():
    def enough(progress):
        if progress.best < np.inf:
            raise KeyboardInterrupt

    cf = NTDCFE(ends_high, settings=SearchSettings(max_rows=5000)).explain(X[0], 1, progress=enough)
    assert cf.status == "interrupted"
    assert cf.found
    assert cf.rows < 2000


def test_what_is_no_progress_is_refused():
    with pytest.raises(InvalidInputError, match="progress must be"):
        NTDCFE(ends_high).explain(X[0], 1, progress="yes")
