"""A model that fails, or contradicts itself: what was found stays found, and nothing wrong is handed out."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ntdcfe import NTDCFE, InvalidInputError, PredictorError, SearchSettings, Target

SERIES = np.full((6, 3), -0.5)
SMALL = SearchSettings(max_rows=400, batch_rows=33)


def rule(X):
    """1 where feature 0 is positive over the last two steps."""
    return (X[:, -2:, 0].min(1) > 0).astype(int)


def proba(X):
    return np.eye(2)[rule(X)]


class Failing:
    """The model, until its calls number `calls` (counted from 0) fail with `fault`."""

    def __init__(self, calls, fault, answer=proba):
        self.calls, self.fault, self.answer, self.n = calls, fault, answer, 0

    def __call__(self, X):
        self.n += 1
        return self.fault(X) if self.n - 1 in self.calls else self.answer(X)


def broken(X):
    raise ConnectionError("lost connection")


def slow(X):
    time.sleep(0.4)
    return proba(X)


FAULTS = {
    "raises": (broken, "lost connection"),
    "NaN": (lambda X: np.full((len(X), 2), np.nan), "NaN"),
    "None": (lambda X: np.array([None] * len(X)), "None"),
    "short": (lambda X: proba(X)[:-1], "wrong shape"),
    "ragged": (lambda X: [[1.0], [0.5, 0.5]], "inhomogeneous"),
    "transposed": (lambda X: proba(X)[None], "wrong shape"),
    "classes": (lambda X: np.full((len(X), 3), 1 / 3), "another number of classes than 2"),
    "labels": (rule, "returned labels after probabilities"),
    "slow": (slow, "no answer within call_seconds=0.2"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_found_stays_found(fault):
    function, message = FAULTS[fault]
    settings = replace(SMALL, call_seconds=0.2 if fault == "slow" else None)
    cf = NTDCFE(Failing({8}, function), settings=settings).explain(SERIES, 1)
    assert cf.status == "model_failed"
    assert isinstance(cf.cause, PredictorError)
    assert message in str(cf.cause)
    assert cf.found
    assert cf.confirmed  # the model came back for the last check
    assert rule(cf.x[None])[0] == 1
    assert not cf.complete
    assert message in str(cf)


def test_a_model_that_is_gone_for_good():
    cf = NTDCFE(Failing(range(8, 999), broken), settings=SMALL).explain(SERIES, 1)
    assert cf.status == "model_failed"
    assert cf.found
    assert not cf.confirmed
    assert rule(cf.x[None])[0] == 1
    assert "before this could be asked again" in str(cf)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_error_is_raised_when_nothing_was_found(fault):
    function, message = FAULTS[fault]
    settings = replace(SMALL, call_seconds=0.2 if fault == "slow" else None)
    never = Failing(range(1, 999), function, lambda X: np.eye(2)[np.zeros(len(X), int)])
    with pytest.raises(PredictorError, match=message):
        NTDCFE(never, settings=settings).explain(SERIES, 1)


def test_retries_change_nothing_but_the_count_of_failures():
    plain = NTDCFE(proba, settings=SMALL).explain(SERIES, 1)
    patient = replace(SMALL, retries=2, retry_wait=0.001)
    cf = NTDCFE(Failing({0, 3, 4, 7}, broken), settings=patient).explain(SERIES, 1)
    assert cf.status == "found"
    assert cf.cause is None
    assert cf.failures == 4
    assert cf.rows == plain.rows
    np.testing.assert_array_equal(cf.x, plain.x)


def test_retries_wait_longer_each_time(monkeypatch):
    waits = []
    monkeypatch.setattr("ntdcfe.model.predictor.time.sleep", waits.append)
    with pytest.raises(PredictorError, match="lost connection"):
        NTDCFE(broken, settings=replace(SMALL, retries=3, retry_wait=0.1)).explain(SERIES, 1)
    assert waits == pytest.approx([0.1, 0.2, 0.4])


def test_a_dead_model_is_not_waited_for_by_every_instance(monkeypatch):
    waits = []
    monkeypatch.setattr("ntdcfe.model.predictor.time.sleep", waits.append)
    with pytest.raises(PredictorError, match="lost connection"):
        NTDCFE(broken, settings=replace(SMALL, retries=3)).explain_batch(np.tile(SERIES, (50, 1, 1)), 1)
    assert len(waits) == 3


def test_one_bad_instance_does_not_hit_its_company():
    X = np.stack([SERIES - 0.1 * i for i in range(4)])

    def picky(rows):
        if (rows[:, 0, 1] == X[2, 0, 1]).any():
            raise ValueError("cannot read this one")
        return rule(rows)

    alone = NTDCFE(rule, settings=SMALL).explain_batch(X, 1)
    with pytest.warns(UserWarning, match="failed on 1 of 4 instances.*cannot read this one"):
        cfs = NTDCFE(picky, settings=SMALL).explain_batch(X, 1)
    assert cfs[2].status == "model_failed"
    assert "cannot read this one" in str(cfs[2].cause)
    for i in (0, 1, 3):
        assert cfs[i].status == "found"
        np.testing.assert_array_equal(cfs[i].x, alone[i].x)


def test_other_functions_may_fail_as_well():
    calls = []

    def plausible(rows):
        calls.append(len(rows))
        if len(calls) == 4:
            raise RuntimeError("detector is out of order")
        return np.ones(len(rows), bool)

    cf = NTDCFE(rule, plausible=plausible, settings=SMALL).explain(SERIES, 1)
    assert cf.found
    assert cf.status == "model_failed"
    assert "detector is out of order" in str(cf.cause)
    assert "not in the model" in str(cf.cause)
    assert f"in {Path(__file__).name}, line" in str(cf.cause)  # whose fault it is
    assert isinstance(cf.cause.__cause__, RuntimeError)


def test_time_limits_hold_while_waiting_for_a_retry():
    started = time.monotonic()
    with pytest.raises(PredictorError):
        NTDCFE(broken, settings=replace(SMALL, retries=50, retry_wait=1.0)).explain(SERIES, 1, max_seconds=0.5)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("target", [1, "other"])
def test_flipped_answers_are_seen_through(rate, target):
    settings = SearchSettings(max_rows=1500, batch_rows=37)
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)

        def flipping(X):
            label = rule(X)
            return np.where(rng.random(len(X)) < rate, 1 - label, label)  # noqa: B023

        cf = NTDCFE(flipping, settings=settings, seed=seed).explain(SERIES, target)
        found += cf.found
        assert cf.rows <= 1500
        assert cf.present == 0
        for x in cf.candidates:
            assert rule(x[None])[0] == 1
    assert found >= 5


def test_a_first_look_that_was_wrong():
    """The model says 1 of the original at first, and 0 ever after."""
    cf = NTDCFE(Failing({0}, lambda X: 1 - rule(X), rule), settings=SMALL).explain(SERIES, 1)
    assert cf.present == 0
    assert cf.contradicted
    assert cf.status == "found"
    assert rule(cf.x[None])[0] == 1


def test_an_original_that_is_at_the_target_after_all():
    cf = NTDCFE(Failing({0}, lambda X: np.zeros(len(X), int), lambda X: np.ones(len(X), int)), settings=SMALL).explain(
        SERIES, 1
    )
    assert cf.status == "already_target"
    np.testing.assert_array_equal(cf.x, SERIES)


def test_a_call_that_is_wrong_as_a_whole():
    rng = np.random.default_rng(0)

    def inverted(X):
        return 1 - rule(X) if rng.random() < 0.1 else rule(X)

    for seed in range(8):
        cf = NTDCFE(inverted, settings=SMALL, seed=seed).explain(SERIES, 1)
        assert not cf.found or cf.status == "already_target" or rule(cf.x[None])[0] == 1


def test_one_that_does_not_hold_is_replaced_by_the_next():
    """The model takes back its best answer, and only that."""
    settings = SMALL.given(options=["nearest"])
    best = NTDCFE(rule, settings=settings).explain(SERIES, 1)
    asked = []

    def fickle(X):
        same = (best.x == X).all((1, 2))
        asked.append(same.any())
        return np.where(same & (sum(asked) > 1), 0, rule(X))

    cf = NTDCFE(fickle, settings=settings).explain(SERIES, 1)
    assert cf.found
    assert not np.array_equal(cf.x, best.x)
    assert cf.contradicted
    assert rule(cf.x[None])[0] == 1


def test_a_steady_model_pays_little_for_it():
    cf = NTDCFE(rule, settings=SMALL).explain(SERIES, 1)
    assert not cf.contradicted
    assert len(cf.candidates) > 1
    assert cf.rows <= 400


def test_interrupts_keep_every_instance(monkeypatch):
    """Ctrl-C somewhere after the first pool: it is there, and so are all the others, in order."""
    monkeypatch.setattr("ntdcfe.run.batch.POOLED_VALUES", 2 * SERIES.size)
    X = np.tile(SERIES, (12, 1, 1))
    calls = []

    def predict(rows):
        calls.append(len(rows))
        if len(calls) == 30:
            raise KeyboardInterrupt
        return rule(rows)

    cfs = NTDCFE(predict, settings=SMALL).explain_batch(X, 1)
    status = [cf.status for cf in cfs]
    assert status[0] == "found"
    assert status[-1] == "interrupted"
    assert cfs[-1].present is None
    assert "interrupted" in str(cfs[-1])


def test_a_second_interrupt_stops_at_once():
    calls = []

    def predict(X):
        calls.append(len(X))
        if len(calls) >= 8:
            raise KeyboardInterrupt
        return rule(X)

    with pytest.raises(KeyboardInterrupt):
        NTDCFE(predict, settings=SMALL).explain(SERIES, 1)
    assert len(calls) == 9  # the last check was begun, and no more


def test_nothing_is_begun_when_time_is_up():
    calls = []

    def predict(X):
        calls.append(len(X))
        time.sleep(0.02)
        return np.zeros(len(X), int)

    cfs = NTDCFE(predict).explain_batch(np.tile(SERIES, (40, 1000, 1)), 1, max_seconds=0.1)
    assert {cf.status for cf in cfs} == {"budget_exhausted"}
    assert len(calls) < 12
    assert cfs[-1].present is None
    assert not cfs[-1].complete


def test_large_series_are_asked_in_small_batches():
    sizes = []

    def predict(X):
        sizes.append(X.size)
        return X[:, -1, 0] > 0

    NTDCFE(predict).explain(np.zeros((1000, 400)) - 0.5, True, max_rows=20)
    assert max(sizes) <= 9_000_000


@pytest.mark.parametrize(
    "options",
    [{"retries": -1}, {"retries": 0.5}, {"retry_wait": -1}, {"retry_wait": "a"}, {"call_seconds": 0},
     {"confirmations": 0}, {"max_rows": "many"}, {"max_rows": 0.5}, {"hidden": 3}, {"max_seconds": True}],
)  # fmt: skip
def test_settings_that_make_no_sense(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        SearchSettings(**options)


def test_regression_models_may_contradict_themselves_too():
    rng = np.random.default_rng(0)

    def noisy(X):
        wrong = rng.random(len(X)) < 0.05
        return np.where(wrong, 99.0, X[:, :, 0].mean(1))

    cf = NTDCFE(noisy, settings=SearchSettings(max_rows=1500)).explain(SERIES, Target.interval(0.1, 1.0))
    assert cf.found
    assert 0.1 <= cf.x[:, 0].mean() <= 1.0


def test_what_a_batch_found_survives_the_first_contradiction_in_it():
    """The probe's one success is a lie. The batch that shows it has the one true success there is."""
    calls, true = [], set()

    def model(X):
        calls.append(len(X))
        rows = [x.tobytes() for x in X]
        if len(calls) == 3:
            true.add(rows[0])
        label = np.array([row in true for row in rows], int)
        if len(calls) == 2:
            label[0] = 1
        return label

    cf = NTDCFE(model, settings=SMALL).explain(SERIES, 1)
    assert cf.contradicted
    assert {cf.x.tobytes()} == true


class Timed:
    """A model of a rule whose calls take `seconds()` on a clock of their own; remembers when each began."""

    def __init__(self, monkeypatch, seconds, rule=rule):
        self.now, self.seconds, self.rule, self.begun, self.told = 0.0, seconds, rule, [], False
        monkeypatch.setattr("ntdcfe.model.driver.time.monotonic", lambda: self.now)

    def __call__(self, X):
        self.begun.append(self.now)
        self.now += self.seconds()
        label = self.rule(X)
        self.told |= bool((label & rule(X)).any())
        return label


@pytest.mark.parametrize("max_batch_size", [None, 7])
def test_no_call_begins_when_time_is_up(monkeypatch, max_batch_size):
    late = unconfirmed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = Timed(monkeypatch, lambda: rng.exponential())  # noqa: B023
        limit = float(rng.uniform(1, 20))
        settings = replace(SMALL, max_batch_size=max_batch_size)
        cf = NTDCFE(model, settings=settings, seed=seed).explain(SERIES, 1, max_seconds=limit)
        assert max(model.begun) < limit
        assert cf.found == model.told
        assert not cf.found or rule(cf.x[None])[0] == 1
        late += model.now > limit
        unconfirmed += cf.found and not cf.confirmed
    assert late > 5
    assert unconfirmed < 8  # a batch took longer than twice the longest before


def test_found_when_time_was_up_already(monkeypatch):
    """The first batch takes longer than there is time for: what it found has not been asked again."""
    durations = iter([1.0, 100.0])
    model = Timed(monkeypatch, lambda: next(durations), lambda X: (X != SERIES).any((1, 2)).astype(int))
    cf = NTDCFE(model, settings=SMALL).explain(SERIES, 1, max_seconds=10)
    assert cf.status == "found"
    assert not cf.confirmed
    assert not cf.complete
    assert len(model.begun) == 2


def test_a_batch_in_many_calls_stops_in_time_for_the_last_check(monkeypatch):
    model = Timed(monkeypatch, lambda: 1.0, lambda X: (X != SERIES).any((1, 2)).astype(int))
    cf = NTDCFE(model, settings=SearchSettings(max_batch_size=40)).explain(SERIES, 1, max_seconds=4.5)
    assert cf.found
    assert cf.confirmed
    assert model.now <= 5.0


def test_a_model_that_contradicts_itself_is_left_time_to_be_asked_again(monkeypatch):
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)

        def flipping(X):
            label = rule(X)
            return np.where(rng.random(len(X)) < 0.1, 1 - label, label)  # noqa: B023

        model = Timed(monkeypatch, lambda: 1.0, flipping)
        cf = NTDCFE(model, seed=seed).explain(SERIES, 1, max_seconds=15.5)
        found += cf.found
        assert max(model.begun) < 15.5
        assert not cf.confirmed or rule(cf.x[None])[0] == 1
    assert found >= 9


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("fault", [broken, "interrupt"])
def test_what_the_calls_of_a_batch_said_before_one_failed_stays_found(fault, n):
    """Valid is what the second call says; from the third on there is no answer."""
    calls = []

    def predict(X):
        calls.append(len(X))
        if len(calls) > 2 and fault is broken:
            raise ConnectionError("lost connection")
        if len(calls) == 3:
            raise KeyboardInterrupt
        return (X != SERIES).any((1, 2)).astype(int)

    settings = replace(SMALL, max_batch_size=10)
    explain = NTDCFE(predict, settings=settings).explain_batch
    if fault is broken:
        with pytest.warns(UserWarning, match="the model failed on"):
            cf = explain(np.tile(SERIES, (n, 1, 1)), 1)[0]
        assert cf.status == "model_failed"
        assert not cf.confirmed
    else:
        cf = explain(np.tile(SERIES, (n, 1, 1)), 1)[0]
        assert cf.status == "interrupted"
        assert cf.confirmed
    assert cf.found


def test_votes_that_ran_out_of_rows_count_for_something():
    """A model that errs, and few rows: what leads in the last check is handed out, and is not called confirmed."""
    lost = wrong = 0
    for seed in range(40):
        rng, told = np.random.default_rng(seed), []

        def flipping(X):
            label, flipped = rule(X), rng.random(len(X)) < 0.1  # noqa: B023
            told.append((label[~flipped] == 1).any())  # noqa: B023
            return np.where(flipped, 1 - label, label)

        settings = SearchSettings(max_rows=90, batch_rows=7)
        cf = NTDCFE(flipping, settings=settings, seed=seed).explain(SERIES, 1)
        lost += any(told) and not cf.found
        wrong += cf.found and rule(cf.x[None])[0] != 1
    assert wrong == 0
    assert lost <= 10  # half of them, if only what is confirmed were handed out


@pytest.mark.parametrize(
    ("model", "options"),
    [(lambda X: np.full(len(X), 0.5), {"output": "probability", "classes": ["a", "b"]}),
     (lambda X: np.full(len(X), "b"), {"output": "labels"})],
)  # fmt: skip
def test_an_interval_is_not_for_a_model_of_words(model, options):
    with pytest.raises(InvalidInputError, match=r"an interval is for numbers, the model says .*'b'"):
        NTDCFE(model, settings=SMALL, **options).explain_batch(SERIES[None], Target.interval(0.2, None))
