"""A model that fails, or contradicts itself: what was found stays found, and nothing wrong is handed out."""

import contextlib
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    PAPER,
    Causal,
    Continuous,
    Features,
    InvalidInputError,
    PredictorError,
    SearchSettings,
    Target,
)
from ntdcfe.testing import Counting

try:
    import pandas as pd
except ImportError:  # the engine alone does without
    pd = None

needs_pandas = pytest.mark.skipif(pd is None, reason="needs pandas")
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


def test_a_model_that_comes_back_costs_no_more_than_the_rows_of_its_retries():
    patient = replace(SMALL, retries=2, retry_wait=0.001)
    counting = Counting(Failing({0, 3, 4, 7}, broken))
    cf = NTDCFE(counting, settings=patient).explain(SERIES, 1)
    assert cf.status == "found"
    assert cf.cause is None
    assert cf.failures == 4
    assert (cf.rows, cf.calls) == (counting.rows, counting.calls)
    assert rule(cf.x[None])[0] == 1


def test_without_a_limit_retries_change_nothing_but_the_counts():
    free = replace(PAPER.given(max_episodes=4, max_interventions=10, hidden=(20, 10)), max_rows=None)
    plain = NTDCFE(rule, settings=free).explain(SERIES, 1)
    patient = replace(free, retries=2, retry_wait=0.001)
    cf = NTDCFE(Failing({0, 3, 4, 7}, broken, rule), settings=patient).explain(SERIES, 1)
    assert (cf.status, cf.failures, cf.rows) == (plain.status, 4, plain.rows + 4)
    np.testing.assert_array_equal(cf.x, plain.x)


class Flaky:
    """The model, every second call of which fails."""

    def __init__(self):
        self.n = 0

    def __call__(self, X):
        self.n += 1
        return broken(X) if self.n % 2 else rule(X)


@pytest.mark.filterwarnings("ignore:the model failed on")
@pytest.mark.parametrize("max_batch_size", [None, 7])
@pytest.mark.parametrize("max_rows", [1, 2, 10, 60, 300, 601])
@pytest.mark.parametrize("model", ["flaky", "dead from the third call on", "dead from the ninth call on"])
def test_the_model_sees_no_more_rows_than_it_may(model, max_rows, max_batch_size):
    faulty = Flaky() if model == "flaky" else Failing(range(3 if "third" in model else 9, 99_999), broken, rule)
    counting = Counting(faulty)
    settings = SearchSettings(retries=3, retry_wait=0.0, max_rows=max_rows, max_batch_size=max_batch_size)
    X = np.stack([SERIES - 0.1 * i for i in range(3)])
    try:
        cfs = NTDCFE(counting, settings=settings).explain_batch(X, 1)
    except PredictorError:
        cfs = []
    assert counting.rows <= 3 * max_rows
    if cfs:
        assert all(cf.rows <= max_rows for cf in cfs)
        assert counting.rows == sum(cf.rows for cf in cfs)


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

    with pytest.warns(UserWarning, match="failed on 1 of 4 instances.*cannot read this one"):
        cfs = NTDCFE(picky, settings=SMALL).explain_batch(X, 1)
    assert cfs[2].status == "model_failed"
    assert "cannot read this one" in str(cfs[2].cause)
    for i in (0, 1, 3):
        assert (cfs[i].status, cfs[i].cause, cfs[i].confirmed) == ("found", None, True)
        assert rule(cfs[i].x[None])[0] == 1
        assert cfs[i].rows <= 400  # the row that it was asked in vain with the bad one is among them


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


@pytest.mark.parametrize(("n", "max_rows", "seed"), [(1, 300, 0), (1, 325, 1), (2, 700, 1), (2, 1175, 0), (6, 250, 0)])
def test_an_answer_that_was_valid_under_noise_only_is_no_contradiction(n, max_rows, seed):
    def model(X):
        p = 1 / (1 + np.exp(-2 * (X[:, 0] - 100)))
        return np.column_stack([1 - p, p])

    age, size = (Continuous(name=n, bounds=b, precision=0) for n, b in (("age", (18, 127)), ("size", (0, 9))))
    engine = NTDCFE(model, Features([age, size]), settings=SearchSettings(max_rows=max_rows, batch_rows=25), seed=seed)
    cf = engine.explain(np.array([30.0, 3.0]), 1, n_counterfactuals=n)
    assert cf.found
    assert not cf.contradicted
    assert (model(np.array(cf.candidates))[:, 1] > 0.5).all()


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


class TestARegionWithoutAnswers:
    """Rows that the model cannot score are not reached, and are counted; the others are searched as ever."""

    @staticmethod
    def counted(model):
        nothing = []

        def predict(X):
            answer = np.asarray(model(X))
            flat = answer.reshape(len(answer), -1)
            missing = (None, getattr(pd, "NA", None))
            nothing.append(
                sum(any(any(v is m for m in missing) or v != v or v == np.inf for v in row) for row in flat)
            )
            return answer

        return predict, nothing

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("seed", range(6))
    def test_a_regression_with_a_region_of_nan(self, seed, value):
        def model(X):
            total = X[:, -2:, 0].sum(1)
            return np.where(X[:, :, 1].min(1) < -1.2, value, total)

        predict, nothing = self.counted(model)
        cf = NTDCFE(predict, settings=SMALL, seed=seed).explain(SERIES, Target.interval(0.5, None))
        assert cf.status == "found"
        assert cf.cause is None
        assert model(cf.x[None])[0] >= 0.5
        assert cf.unscored == sum(nothing) > 0
        assert f"no answer for {cf.unscored} of {cf.rows} rows" in str(cf)

    @pytest.mark.parametrize(
        "answer",
        [
            lambda label: np.where(label == 2, None, label),
            lambda label: np.where(label == 2, None, np.array(["no", "yes", ""])[label]),
            pytest.param(lambda label: np.where(label == 2, pd.NA, label), marks=needs_pandas),
            pytest.param(lambda label: pd.Series(label).where(label != 2).astype("Int64"), marks=needs_pandas),
            lambda label: np.where((label == 2)[:, None], np.nan, np.eye(2)[label % 2]),
            pytest.param(
                lambda label: pd.DataFrame(np.eye(2)[label % 2], dtype="Float64").mask(np.tile(label == 2, (2, 1)).T),
                marks=needs_pandas,
            ),
        ],
        ids=["None", "None in text", "NA", "Int64", "probabilities", "Float64 probabilities"],
    )
    @pytest.mark.parametrize("other", [False, True])
    def test_labels_and_probabilities_that_are_missing(self, answer, other):
        def label(X):
            return np.where(X[:, :, 1].min(1) < -1.2, 2, rule(X))

        text = np.array(answer(np.array([1]))).ravel()[0] == "yes"
        target = "other" if other else "yes" if text else 1
        cf = NTDCFE(lambda X: answer(label(X)), settings=SMALL).explain(SERIES, target)
        assert cf.status == "found"
        assert label(cf.x[None])[0] == 1
        assert cf.unscored > 0

    def test_a_whole_batch_of_the_region_is_no_failure_once_the_region_is_known(self):
        def model(X):
            return np.where(X[:, :, 1].min(1) < -1.2, np.nan, X[:, -2:, 0].sum(1))

        small = replace(SMALL, max_batch_size=1)
        cf = NTDCFE(model, settings=replace(small, max_rows=200)).explain(SERIES, Target.interval(0.5, None))
        assert cf.status in ("found", "model_failed")
        assert cf.found

    def test_it_is_the_models_failure_if_most_rows_have_no_answer(self):
        def model(X):
            return np.where((X == SERIES).all((1, 2)) | (np.arange(len(X)) % 4 == 0), 0.0, np.nan)

        with pytest.raises(PredictorError, match=r"nothing for \d+ of \d+ rows"):
            NTDCFE(model, settings=SMALL).explain(SERIES, Target.interval(0.5, None))

    def test_the_series_itself_has_to_have_an_answer(self):
        def model(X):
            return np.where(X[:, 0, 0] == -0.5, np.nan, 1.0)

        with pytest.raises(PredictorError, match="NaN"):
            NTDCFE(model, settings=SMALL).explain(SERIES, Target.interval(2, None))
        X = np.stack([SERIES - 0.1, SERIES])
        with pytest.warns(UserWarning, match="1 of 2"):
            cfs = NTDCFE(lambda X: np.where(X[:, 0, 2] == -0.5, np.nan, rule(X)), settings=SMALL).explain_batch(X, 1)
        assert cfs[0].found
        assert cfs[1].status == "model_failed"
        assert "for the series itself" in str(cfs[1].cause)


class TestAModelThatAnswersByCompany:
    """Batch normalisation left in training mode: what a row is told depends on the other rows of its batch."""

    @staticmethod
    def by_company(X):
        total = X.reshape(len(X), -1).sum(1)
        return (total - total.mean() > 1e-9).astype(int)  # alone, a row is as all its batch: never above

    @pytest.mark.parametrize("seed", range(5))
    def test_the_result_says_so(self, seed):
        cf = NTDCFE(self.by_company, settings=SMALL, seed=seed).explain(SERIES, 1)
        assert cf.contradicted
        assert not cf.confirmed
        assert cf.holds_alone is not True
        if cf.holds_alone is False:
            assert "in a call of its own, the model says otherwise" in str(cf)

    def test_and_so_it_does_in_a_batch(self):
        X = np.stack([SERIES - 0.1 * i for i in range(4)])
        for cf in NTDCFE(self.by_company, settings=SMALL).explain_batch(X, 1):
            assert not cf.confirmed

    def test_every_answer_is_asked_once_alone_and_nothing_else_is_in_that_call(self):
        counting = Counting(rule)
        X = np.stack([SERIES - 0.1 * i for i in range(4)])
        cfs = NTDCFE(counting, settings=SMALL).explain_batch(X, 1, n_counterfactuals=2)
        alone = {rows[0].tobytes() for rows in counting.asked if len(rows) == 1}
        for cf in cfs:
            assert cf.confirmed
            assert cf.holds_alone is True
            assert all(x.tobytes() in alone for x in cf.candidates[:2])

    def test_a_model_that_errs_now_and_then_is_not_taken_for_one(self):
        confirmed = []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            noisy = lambda X, rng=rng: np.where(rng.random(len(X)) < 0.05, 1 - rule(X), rule(X))  # noqa: E731
            cf = NTDCFE(noisy, settings=SearchSettings(max_rows=1500), seed=seed).explain(SERIES, 1)
            confirmed.append(cf.found and cf.holds_alone)
        assert sum(confirmed) >= 9

    def test_without_a_row_left_it_is_not_asked(self):
        cf = NTDCFE(rule, settings=SearchSettings(max_rows=400, confirmations=1)).explain(SERIES, 1)
        assert cf.holds_alone in (True, None)
        assert cf.rows <= 400


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize("error", [Unprintable(), SystemExit(3)], ids=["unprintable", "exit"])
def test_whatever_the_model_raises_what_was_found_stays_found(error):
    def fault(X):
        raise error

    cf = NTDCFE(Failing({8}, fault), settings=SMALL).explain(SERIES, 1)
    assert cf.found
    assert cf.status == "model_failed"
    assert type(error).__name__ in str(cf.cause)


@pytest.mark.parametrize("where", ["plausible", "causal rule"])
def test_an_exception_that_cannot_be_printed_in_another_function(where):
    calls = []

    def fault(*given):
        calls.append(1)
        if len(calls) == 6:
            raise Unprintable
        return np.ones(len(given[0]), bool) if where == "plausible" else given[0]

    options = {"plausible": fault} if where == "plausible" else {"constraints": [Causal(1, 0, fault)]}
    with contextlib.suppress(PredictorError):
        cf = NTDCFE(rule, **options, settings=SMALL).explain(SERIES, 1)
        assert cf.status == "model_failed"
        assert "Unprintable" in str(cf.cause)
    assert len(calls) >= 6


def test_any_number_of_retries(monkeypatch):
    waits = []
    monkeypatch.setattr("ntdcfe.model.predictor.time.sleep", waits.append)
    settings = SearchSettings(max_rows=None, retries=3000, retry_wait=0.001)
    with pytest.raises(PredictorError, match="lost connection"):
        NTDCFE(broken, settings=settings).explain(SERIES, 1)
    assert len(waits) == 3000
    assert max(waits) == 3600


def test_a_session_keeps_what_was_found_when_a_function_of_the_users_fails():
    calls = []

    def plausible(rows):
        calls.append(len(rows))
        if len(calls) == 4:
            raise RuntimeError("detector is out of order")
        return np.ones(len(rows), bool)

    session = NTDCFE(None, plausible=plausible, settings=SMALL).session(SERIES, 1)
    while (rows := session.ask()) is not None:
        session.tell(rule(rows))
    assert session.result().found
    assert "out of order" in str(session.result().cause)
