"""The driver: jobs share calls and nothing else."""

import numpy as np

from ntdcfe import NTDCFE, Features, SearchSettings, Target
from ntdcfe.model.driver import Driver
from ntdcfe.model.predictor import Predictor
from ntdcfe.run.instance import job_of
from ntdcfe.testing import Counting, ends_high, series


def jobs(n, settings):
    explainer, features = NTDCFE(None, settings=settings), Features.continuous(2)
    return [job_of(explainer, series(12, 2, i, mean=-1.5), features, Target.label(1), settings) for i in range(n)]


def test_jobs_share_calls():
    settings, counting = SearchSettings(max_rows=700), Counting(ends_high)
    pool = jobs(5, settings)
    Driver(Predictor(counting), static=False).run(pool)
    assert all(job.phase == "done" and job.found for job in pool)
    assert sum(job.budget.rows for job in pool) == counting.rows
    assert counting.calls < sum(job.budget.calls for job in pool) / 3


def test_company_changes_no_result():
    settings = SearchSettings(max_rows=700)
    together, alone = jobs(4, settings), jobs(4, settings)
    Driver(Predictor(ends_high), static=False).run(together)
    for job in alone:
        Driver(Predictor(ends_high), static=False).run([job])
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one.answers, other.answers)


def test_the_rows_of_one_job_that_the_model_cannot_take_end_that_job_only():
    settings = SearchSettings(max_rows=700)
    pool = jobs(4, settings)
    marked = pool[2].search.space.original[0, 1]

    def picky(X):
        if (X[:, 0, 1] == marked).any():
            raise ValueError("not this one")
        return ends_high(X)

    Driver(Predictor(picky), static=False).run(pool)
    assert [job.status for job in pool] == ["found", "found", "model_failed", "found"]


def test_somebody_else_may_ask_for_an_end():
    pool = jobs(3, SearchSettings(max_rows=5000))
    driver = Driver(counting := Predictor(ends_high), static=False)
    driver.stop_requested = lambda: counting.n_calls > 12
    driver.run(pool)
    assert all(job.status == "interrupted" and not job.complete for job in pool)
