"""How long sktime's explainer takes, where it goes on from, which steps change, and how a result is shown."""

import json
import pickle
import time
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("sktime")

import pandas as pd
from sktime.classification.base import BaseClassifier
from sktime.classification.dummy import DummyClassifier

from ntdcfe import NTDCFE, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe_plugins.sktime import CounterfactualClassifier, CounterfactualExplainer
from ntdcfe_plugins.sktime.bar import RowBar
from ntdcfe_plugins.sktime.pace import Pace

LABELS = np.array(["low", "high"])


class Waiting(BaseClassifier):
    """Says whether the mean of the series is high; takes its time for each row, and notes how many it is asked."""

    _tags = {  # noqa: RUF012
        "X_inner_mtype": "df-list",
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "capability:predict_proba": True,
    }
    seen = 0

    def __init__(self, row=0.0):
        self.row = row
        super().__init__()

    def _fit(self, X, y):
        return self

    def _predict_proba(self, X):
        Waiting.seen += len(X)
        time.sleep(self.row * len(X))
        high = 1 / (1 + np.exp(-4 * np.array([one.to_numpy().mean() - 0.15 for one in X])))
        return np.column_stack([high, 1 - high])  # in the order of the classes: high, low

    def _predict(self, X):
        return self.classes_[self._predict_proba(X).argmax(1)]


def series(n=2, steps=8):
    return np.random.default_rng(0).normal(0, 0.3, (n, 1, steps))


def fitted(row=0.0):
    Waiting.seen = 0
    return Waiting(row).fit(series(), LABELS)


def explainer(row=0.0, **options):
    return CounterfactualExplainer(fitted(row), random_state=0, **options)


class TestSlow:
    @pytest.mark.slow
    def test_rows_adapt_to_the_seconds_of_a_series_and_the_result_says_so(self):
        explainer().explain(series(1), "high", max_rows=50)  # loads what a search needs
        slow = explainer(0.004)
        began = time.monotonic()
        result = slow.explain(series(), "high", seconds_per_series=1.5)
        assert time.monotonic() - began < 6
        assert result.table["valid"].all()
        assert result.table["rows"].sum() == Waiting.seen < 1200
        assert "the model is slow: each series was given" in result.note
        assert "in place of" in str(result)
        assert "seconds_per_series" in str(slow.explain(series()[:1], "high", seconds_per_series=1.0))

    def test_a_minute_a_series_is_the_default(self):
        def given(asked, **limits):
            rows = []
            watched = explainer()
            search = NTDCFE.explain_batch

            def noted(engine, *arguments, **options):
                rows.append((engine.settings.max_rows, engine.settings.max_seconds))
                engine.settings = SearchSettings(max_rows=60)
                return search(engine, *arguments, **{**options, "max_seconds": None})

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Pace, "measured", classmethod(lambda cls, calls: cls(0.0, asked)))
                patch.setattr(Pace, "__init__", lambda self, call, row: vars(self).update(call=call, row=asked))
                patch.setattr(NTDCFE, "explain_batch", noted)
                watched.explain(series(), "high", **limits)
            return rows[0]

        assert given(0.1) == (600, 1.5 * 2 * 60)
        assert given(0.1, seconds_per_series=30) == (300, 1.5 * 2 * 30)
        assert given(0.1, max_rows=5000) == (4996, None)  # said, so it holds
        assert given(0.1, max_rows=200, seconds_per_series=30)[0] == 164  # the smaller of both
        assert given(0.001)[1] is None
        assert given(0.1, seconds_per_series=np.inf) == (9996, None)

    def test_of_a_fast_model_the_seed_decides_the_result(self):
        results = [explainer().explain(series(), "high", max_rows=900, seconds_per_series=s) for s in (90, 500.0, 1e6)]
        for one, other in pairwise(results):
            np.testing.assert_array_equal(one.counterfactuals, other.counterfactuals)
            # A trial of the pace, where one was made, costs rows but changes nothing.
            columns = ["seconds", "rows", "calls"]
            pd.testing.assert_frame_equal(one.table.drop(columns=columns), other.table.drop(columns=columns))
            assert one.note == other.note == ""

    def test_a_search_that_the_time_ends_says_so(self):
        result = explainer(0.002).explain(series(1), "high", max_rows=5000, max_seconds=0.8)
        assert not result.table["complete"].item()
        assert result.table["valid"].item()
        assert "the time gave out" in str(result)
        both = explainer(0.002).explain(series(), "high", max_rows=5000, max_seconds=0.8)
        assert "the search of 2 of them was ended early" in str(both)
        enough = explainer().explain(series(1), "high", max_rows=200)
        assert enough.table["complete"].item()
        assert "the time gave out" not in str(enough)

    @pytest.mark.parametrize("seconds", [0, -1, "long", True, np.nan])
    def test_seconds_that_are_none(self, seconds):
        with pytest.raises(InvalidInputError, match="seconds_per_series must be positive"):
            explainer().explain(series(), "high", seconds_per_series=seconds)


class TestPace:
    def test_a_call_is_told_from_a_row(self):
        pace = Pace.measured([(2, 0.52), (32, 0.82), (2, 0.7)])
        assert (pace.call, pace.row) == pytest.approx((0.5, 0.01))
        # The first call may do what is never done again.
        assert Pace.measured([(2, 3.0), (32, 0.4)]) == Pace(0.4, 0.0)
        assert Pace.measured([(4, 2.0)]) == Pace(0.0, 0.5)

    def test_fewer_rows_in_fewer_calls_where_it_is_slow(self):
        settings = SearchSettings()
        assert Pace(0.01, 0.0001).fitted(settings, 60) is settings
        by_row = Pace(0.0, 0.1).fitted(settings, 60)
        assert by_row.max_rows == 600
        by_call = Pace(3.0, 0.0).fitted(settings, 60)
        assert by_call.max_rows / by_call.batch_rows * 3.0 == pytest.approx(30, abs=3)
        assert Pace(100.0, 100.0).fitted(settings, 60).max_rows == 40  # below that nothing is found


class TestTheBar:
    def test_moves_while_one_series_is_worked_on(self, capsys):
        told = []
        explainer().explain(series(1), "high", max_rows=300, progress=told.append)
        assert len({progress.rows for progress in told}) > 5
        explainer().explain(series(1), "high", max_rows=300, progress=True)
        shown = capsys.readouterr().err
        assert "searching" in shown
        assert "series=1 of 1" in shown
        assert "row/s" in shown

    def test_goes_forward_over_groups_and_ends_at_the_end(self):
        with RowBar(True, 100, 3) as bar:
            places = []
            for size in (2, 1):
                tell = bar.of_group(size)
                for done, rows in [(0, 10), (0, 80 * size), (1, 0), (size, 0)]:
                    tell(_progress(done, rows))
                    places.append(bar._bar.n)
        assert places == sorted(places)
        assert places[1] == 160
        assert places[3] == 200
        assert places[-1] == 300


def _progress(done, rows):
    from ntdcfe import Progress

    return Progress(done, 3, rows, 100, np.nan, 1.0, 1.0)


class TestCheckpoints:
    def test_a_later_call_goes_on_from_the_file(self, tmp_path):
        path = tmp_path / "series.jsonl"
        first = explainer().explain(series(), "high", max_rows=300, checkpoint=path)
        Waiting.seen = 0
        again = explainer().explain(series(), "high", max_rows=300, checkpoint=path)
        assert Waiting.seen == 2 * 4  # the first look and the last, by both methods
        np.testing.assert_array_equal(first.counterfactuals, again.counterfactuals)
        with pytest.raises(InvalidInputError, match="of another run"):
            explainer().explain(series(), "high", max_rows=200, checkpoint=path)

    def test_a_slow_model_goes_on_with_the_rows_that_it_was_given_before(self, tmp_path):
        path = tmp_path / "series.jsonl"
        explainer(0.002).explain(series(1), "high", seconds_per_series=0.5, checkpoint=path)
        Waiting.seen = 0
        again = explainer(0.003).explain(series(1), "high", seconds_per_series=0.5, checkpoint=path)
        assert Waiting.seen <= 40
        assert "the model is slow" in again.note

    def test_series_of_different_lengths_have_a_file_each(self, tmp_path):
        X = [pd.DataFrame({"a": series(1, steps)[0, 0]}) for steps in (6, 8, 6)]
        first = explainer().explain(X, "high", max_rows=120, checkpoint=tmp_path / "series.jsonl")
        files = sorted(path.name for path in tmp_path.iterdir())
        assert files == ["series-0.jsonl", "series-1.jsonl"]
        Waiting.seen = 0
        again = explainer().explain(X, "high", max_rows=120, checkpoint=tmp_path / "series.jsonl")
        assert Waiting.seen < 20
        for one, other in zip(first.counterfactuals, again.counterfactuals, strict=True):
            pd.testing.assert_frame_equal(one, other)

    @pytest.mark.parametrize("lengths", [(8, 8, 8), (6, 7, 8)], ids=["together", "alone"])
    def test_on_workers_too(self, tmp_path, lengths):
        X = [pd.DataFrame({"a": series(1, steps)[0, 0]}) for steps in lengths]
        threads = {"backend": "threading", "backend_params": {"n_jobs": 2}}
        path = tmp_path / "series.jsonl"
        here = explainer().explain(X, "high", max_rows=120)
        there = explainer(**threads).explain(X, "high", max_rows=120, checkpoint=path)
        for one, other in zip(here.counterfactuals, there.counterfactuals, strict=True):
            pd.testing.assert_frame_equal(one, other)
        Waiting.seen = 0
        explainer(**threads).explain(X, "high", max_rows=120, checkpoint=path)
        assert Waiting.seen < 20

    def test_wrappers_pass_it_on(self, tmp_path):
        path = tmp_path / "series.jsonl"
        wrapped = CounterfactualClassifier(Waiting(), random_state=0).fit(series(), LABELS)
        wrapped.explain(series(), "high", max_rows=120, checkpoint=path)
        assert path.read_text().count("\n") == 3


class TestSteps:
    def test_by_each_series_own_times(self):
        frames = [
            pd.DataFrame({"a": one[0]}, index=pd.date_range(start, periods=8))
            for one, start in zip(series(), ("2024-04-27", "2024-04-25"), strict=True)
        ]
        far = {"a": {"bounds": (-5, 20)}}
        result = explainer(features=far).explain(frames, "high", max_rows=400, actionable_steps=slice("2024-05", None))
        assert result.table["valid"].all()
        for old, new, may in zip(frames, result.counterfactuals, (4, 2), strict=True):
            changed = old.index[(old != new)["a"]]
            assert len(changed)
            assert set(changed) <= set(old.index[-may:])

    def test_by_positions_with_what_the_features_say(self):
        described = {"channel 0": {"bounds": (-5, 20)}}
        result = explainer(features=described).explain(series(), "high", max_rows=400, actionable_steps=slice(-3, None))
        assert result.table["valid"].all()
        assert np.flatnonzero((result.counterfactuals != series()).any(axis=(0, 1))).min() >= 5

    @pytest.mark.parametrize(
        ("steps", "said"),
        [
            (slice("2024-06", None), "leaves no step of instance 1 to change: it has 2024-04-25"),
            (["2031-01-01"], "must pick from the 8 steps of the series, 2024-04-30"),
        ],
    )
    def test_that_a_series_does_not_have(self, steps, said):
        frames = [
            pd.DataFrame({"a": one[0]}, index=pd.date_range(start, periods=8))
            for one, start in zip(series(), ("2024-04-30", "2024-04-25"), strict=True)
        ]
        frames[0].index = frames[0].index + pd.Timedelta(days=40) if isinstance(steps, slice) else frames[0].index
        model = explainer()
        with pytest.raises(InvalidInputError, match=said):
            model.explain(frames, "high", actionable_steps=steps)
        assert Waiting.seen == 0


class TestHowItIsShown:
    @pytest.fixture(scope="class")
    @classmethod
    def result(cls):
        frames = [pd.DataFrame({"load": one[0]}, index=pd.date_range("2024-05-01", periods=8)) for one in series()]
        return explainer().explain(frames, "high", max_rows=400)

    def test_as_a_picture_of_one_instance(self, result):
        pyplot = pytest.importorskip("matplotlib.pyplot")
        from matplotlib.text import Text

        figure = result.plot(1, title="What would be high?")
        assert "What would be high?" in figure.get_suptitle()
        written = [text.get_text() for text in figure.findobj(Text)]
        assert any("load" in text for text in written)
        pyplot.close(figure)

    def test_as_a_page_of_one_instance(self, result, tmp_path):
        pytest.importorskip("matplotlib")
        page = result.report(tmp_path / "letter.html", 1)
        text = page.read_text(encoding="utf-8")
        for sentence in result.details[1].sentences():
            assert sentence.split(" from ")[0].split("'")[0] in text
        kept = json.loads((tmp_path / "letter.json").read_text(encoding="utf-8"))
        assert result.details[1].target in json.dumps(kept)
        assert kept["search"]["seed"] == 0
        assert "max_rows=400" in kept["search"]["settings"]
        again = pickle.loads(pickle.dumps(result))  # without the user's functions, which may not be pickled
        assert again.found_by is None
        assert str(again) == str(result)

    @pytest.mark.parametrize("i", [2, -3, "first", True])
    def test_of_an_instance_that_is_not_there(self, result, i):
        with pytest.raises(InvalidInputError, match="position of one of the 2 instances"):
            result.plot(i)


class NaNAbove(Waiting):
    """Gives no answer where the mean is above a number."""

    def __init__(self, most=0.0):
        self.most = most
        super().__init__()

    def _predict_proba(self, X):
        means = np.array([one.to_numpy().mean() for one in X])
        return np.where((means > self.most)[:, None], np.nan, super()._predict_proba(X))

    def _predict(self, X):
        return self.classes_[np.nan_to_num(self._predict_proba(X)).argmax(1)]


class TestNaN:
    def test_of_the_series_themselves_is_refused_with_the_remedy(self):
        model = NaNAbove(-9.0).fit(series(), LABELS)
        with pytest.raises(InvalidInputError, match=r"NaNAbove answers NaN.*predict_proba\(X\).*scale the series"):
            CounterfactualExplainer(model).explain(series(), "high")

    def test_far_away_is_said_with_the_remedy(self):
        model = NaNAbove(0.11).fit(series(), LABELS)  # nothing above 0.15, where "high" begins, has an answer
        with pytest.raises(PredictorError, match=r"returned NaN.*give the channels bounds"):
            CounterfactualExplainer(model, random_state=0).explain(series(), "high", max_rows=300)

    def test_in_some_rows_is_counted(self):
        model = NaNAbove(0.6).fit(series(), LABELS)
        result = CounterfactualExplainer(model, random_state=0).explain(series(), "high", max_rows=300)
        assert result.table["valid"].all()


def test_a_model_that_says_the_same_of_everything_is_suspected_of_it():
    dummy = DummyClassifier().fit(series(), LABELS)
    result = CounterfactualExplainer(dummy, random_state=0).explain(series(), max_rows=60)
    assert "a constant model has no counterfactuals" in str(result)
    assert explainer().explain(series(), "high", max_rows=120).note == ""


class RunsOn(BaseClassifier):
    """Answers a series by those before it in the call, as a network does whose state is not reset between rows."""

    _tags = {"X_inner_mtype": "numpy3D", "capability:predict_proba": True}  # noqa: RUF012

    def _fit(self, X, y):
        return self

    def _answer(self, X):
        return 1 / (1 + np.exp(-4 * np.cumsum(X.mean((1, 2)) - 0.15)))

    def _predict_proba(self, X):
        high = self._answer(X)
        return np.column_stack([high, 1 - high])

    def _predict(self, X):
        return self.classes_[(self._answer(X) < 0.5).astype(int)]


class AtRandom(RunsOn):
    """Answers differ from one call to the next, whatever is in it."""

    def _answer(self, X):
        noise = np.random.default_rng().normal(0, 0.05, len(X))
        return np.clip(1 / (1 + np.exp(-4 * (X.mean((1, 2)) - 0.15))) + noise, 0, 1)


class TestCompany:
    def test_where_answers_depend_on_it_each_series_is_asked_by_itself(self):
        X = series(3)
        model = RunsOn().fit(X, np.array(["low", "high", "low"]))
        result = CounterfactualExplainer(model, random_state=0).explain(X, "high", max_rows=400, seconds_per_series=60)
        assert result.table["valid"].all()
        assert [model.predict(x[None]).item() for x in result.counterfactuals] == ["high"] * 3
        assert [model.predict(x[None]).item() for x in X] == result.table["present"].tolist()
        assert "one series at a time" in str(result)
        assert result.table["rows"].max() <= 400

    def test_the_same_where_the_settings_say_one_row_a_call(self):
        X = series(3)
        model = RunsOn().fit(X, np.array(["low", "high", "low"]))
        settings = SearchSettings(max_rows=300, max_batch_size=1)
        result = CounterfactualExplainer(model, settings=settings, random_state=0).explain(X, "high")
        assert result.table["valid"].all()
        assert [model.predict(x[None]).item() for x in result.counterfactuals] == ["high"] * 3
        assert result.note == ""

    @pytest.mark.parametrize("kind", [Waiting, AtRandom])
    def test_else_rows_share_calls(self, kind):
        model = kind().fit(series(), LABELS)
        result = CounterfactualExplainer(model, random_state=0).explain(
            series(), "high", max_rows=400, seconds_per_series=60
        )
        assert "one series at a time" not in result.note
        assert result.table["calls"].max() < result.table["rows"].min() / 2

    def test_what_is_asked_to_know_it_counts(self):
        model = fitted()
        result = CounterfactualExplainer(model, random_state=0).explain(
            series(), "high", max_rows=200, seconds_per_series=60
        )
        assert result.table["rows"].sum() == Waiting.seen


class LikeASupportVectorMachine(RunsOn):
    """Predict and probabilities, which are fitted apart, disagree about every series that is low."""

    def _answer(self, X):
        return 1 / (1 + np.exp(-4 * (X.mean((1, 2)) + 0.3)))

    def _predict(self, X):
        return self.classes_[(X.mean((1, 2)) < 0.15).astype(int)]


class TestPredictAndProbabilitiesDisagree:
    @pytest.mark.parametrize("max_rows", [150, 600])
    def test_then_the_rows_are_spent_on_predict(self, max_rows):
        model = LikeASupportVectorMachine().fit(series(), LABELS)
        result = CounterfactualExplainer(model, random_state=0).explain(series(), max_rows=max_rows)
        assert result.table["valid"].all()
        assert (model.predict(result.counterfactuals) != model.predict(series())).all()
        assert "predict alone was asked" in result.note

    def test_a_series_of_which_they_agree_has_its_probabilities(self):
        X = series()
        X[1] += 1
        model = LikeASupportVectorMachine().fit(X, LABELS)
        result = CounterfactualExplainer(model, random_state=0).explain(X, max_rows=600)
        assert "of 1 of the series" in result.note
        assert result.table["valid"].all()

    def test_a_target_of_probabilities_is_asked_of_them(self):
        model = LikeASupportVectorMachine().fit(series(), LABELS)
        wanted = Target.probability("low", 0.9)
        result = CounterfactualExplainer(model, random_state=0).explain(series(), wanted, max_rows=600)
        assert result.note == ""
        assert (model.predict_proba(result.counterfactuals)[:, 1] >= 0.9).all()
