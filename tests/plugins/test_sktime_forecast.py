"""Counterfactuals of forecasts: applied as a user would, the forecaster's own forecast is as wanted."""

import doctest
import json
import time

import numpy as np
import pytest

pytest.importorskip("sktime")

import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sktime.datasets import load_airline
from sktime.exceptions import NotFittedError
from sktime.forecasting.base import BaseForecaster, ForecastingHorizon
from sktime.forecasting.compose import (
    DirectTabularRegressionForecaster,
    ForecastingPipeline,
    TransformedTargetForecaster,
    YfromX,
    make_reduction,
)
from sktime.forecasting.croston import Croston
from sktime.forecasting.naive import NaiveForecaster
from sktime.forecasting.trend import PolynomialTrendForecaster, TrendForecaster
from sktime.transformations.series.adapt import TabularToSeriesAdaptor
from sktime.transformations.series.boxcox import LogTransformer
from sktime.transformations.series.detrend import Detrender

from ntdcfe import Counterfactual, InvalidInputError, SearchSettings, Target
from ntdcfe_plugins.sktime import CounterfactualExplainer, CounterfactualForecastExplainer

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning:sktime")

PASSENGERS = load_airline()[-48:]
HALF_A_YEAR = slice("1960-07", None)
FH = [1, 2, 3]


def forest():
    return RandomForestRegressor(8, random_state=0)


def statsmodels_forecaster(name, **params):
    pytest.importorskip("statsmodels")
    if name == "ThetaForecaster":
        from sktime.forecasting.theta import ThetaForecaster as Made
    elif name == "ExponentialSmoothing":
        from sktime.forecasting.exp_smoothing import ExponentialSmoothing as Made
    elif name == "SARIMAX":
        from sktime.forecasting.sarimax import SARIMAX as Made
    else:
        from sktime.forecasting.auto_reg import AutoREG as Made
    return Made(**params)


# The forecaster, and by which way it is told of another past.
OF_THE_PAST = {
    "naive": (lambda: NaiveForecaster("mean", window_length=4), "update"),
    "trend": (TrendForecaster, "refit"),
    "polynomial trend": (lambda: PolynomialTrendForecaster(degree=2), "refit"),
    "Croston": (Croston, "refit"),
    "autoregression": (lambda: make_reduction(LinearRegression(), window_length=6), "update"),
    "forest": (lambda: make_reduction(forest(), window_length=6, strategy="direct"), "update"),
    "recursive forest": (lambda: make_reduction(forest(), window_length=6), "update"),
    "pipeline": (
        lambda: TransformedTargetForecaster([LogTransformer(), make_reduction(Ridge(), window_length=6)]),
        "update",
    ),
    "detrended": (
        lambda: TransformedTargetForecaster([Detrender(), NaiveForecaster("mean", window_length=4)]),
        "update",
    ),
    "theta": (lambda: statsmodels_forecaster("ThetaForecaster", sp=12), "refit"),
    "exponential smoothing": (lambda: statsmodels_forecaster("ExponentialSmoothing", trend="add"), "refit"),
    "ARIMA": (lambda: statsmodels_forecaster("SARIMAX", order=(1, 1, 0)), "refit"),
    "AutoREG": (lambda: statsmodels_forecaster("AutoREG", lags=3), "refit"),
}


@pytest.mark.parametrize("name", OF_THE_PAST)
def test_with_the_past_that_is_found_the_forecast_is_as_wanted(name):
    make, way = OF_THE_PAST[name]
    forecaster = make().fit(PASSENGERS, fh=FH)
    most = 0.97 * float(forecaster.predict().max())
    result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
        FH, (None, most), change="y", actionable_steps=HALF_A_YEAR, max_rows=80
    )
    assert result.valid
    assert (result.change, result.way) == ("y", way)
    past = result.counterfactual
    assert type(past) is type(PASSENGERS)
    assert past.index.equals(PASSENGERS.index)
    assert past.name == PASSENGERS.name
    assert past[:"1960-06"].equals(PASSENGERS[:"1960-06"])  # only what may change does
    fresh = forecaster.clone()
    if way == "refit":
        fresh.fit(past, fh=FH)
    else:
        fresh.fit(PASSENGERS, fh=FH)
        fresh.update(past, update_params=False)
    then = fresh.predict()
    np.testing.assert_allclose(then, result.forecast)
    assert (then <= most).all()
    assert result.table["rows"].item() <= 80
    assert all("1960-" in text for text in result.sentences())
    assert way in str(result) or "fitted to each past" in str(result)


def shop(n=46, kind="period"):
    """Sales that depend on the price and on advertising, and both as far as they are planned."""
    rng = np.random.default_rng(3)
    index = {
        "period": pd.period_range("2024-01-01", periods=n, freq="W"),
        "dates": pd.date_range("2024-01-01", periods=n, freq="D"),
        "hours": pd.date_range("2024-01-01 08:00", periods=n, freq="h"),
        "whole numbers": pd.RangeIndex(n),
    }[kind]
    X = pd.DataFrame({"price": rng.uniform(3, 6, n), "ads": rng.integers(0, 9, n)}, index=index)
    y = (400 - 30 * X["price"] + 5 * X["ads"] + rng.normal(0, 2, n)).rename("sales")
    return y[: n - 6], X


WITH_PLANS = {
    "regression": lambda: YfromX(LinearRegression()),
    "forest": lambda: YfromX(forest()),
    "pipeline": lambda: ForecastingPipeline([TabularToSeriesAdaptor(StandardScaler()), YfromX(Ridge())]),
    "target transformed": lambda: TransformedTargetForecaster([LogTransformer(), YfromX(Ridge())]),
    "ARIMA": lambda: statsmodels_forecaster("SARIMAX", order=(1, 0, 0)),
}


@pytest.mark.parametrize("name", WITH_PLANS)
def test_with_the_plan_that_is_found_the_forecast_is_as_wanted(name):
    y, X = shop()
    forecaster = WITH_PLANS[name]().fit(y, X=X[:40], fh=FH)
    plan = X[40:43]
    most = float(forecaster.predict(FH, X=plan).max()) - 12
    explainer = CounterfactualForecastExplainer(
        forecaster, {"ads": {"role": "immutable"}, "price": {"direction": "rise", "precision": 2}}, random_state=0
    )
    result = explainer.explain(FH, (None, most), X=plan, max_rows=150)
    assert result.valid
    assert (result.change, result.way) == ("X", "predict")
    new = result.counterfactual
    assert new.index.equals(plan.index)
    assert new.dtypes.equals(plan.dtypes)
    assert new["ads"].equals(plan["ads"])
    assert (new["price"] >= plan["price"]).all()
    fresh = forecaster.clone().fit(y, X=X[:40], fh=FH)
    then = fresh.predict(FH, X=new)
    assert (then <= most).all()
    np.testing.assert_allclose(then, result.forecast)
    assert result.table["calls"].item() == result.table["rows"].item() <= 150


class Linear(BaseForecaster):
    """The forecast is three times the plan of each step; it counts how often it is asked."""

    _tags = {"capability:exogenous": True, "ignores-exogeneous-X": False, "requires-fh-in-fit": False}  # noqa: RUF012
    asked = 0

    def __init__(self, pause=0.0):
        self.pause = pause
        super().__init__()

    def _fit(self, y, X, fh):
        return self

    def _predict(self, fh, X):
        time.sleep(self.pause)
        Linear.asked += 1
        values = 3.0 * X["level"].to_numpy() if X is not None else np.zeros(len(fh))
        return pd.Series(values, index=fh.to_absolute_index(self.cutoff), name=self._y.name)


def linear(kind="period", n=6, pause=0.0):
    y, X = shop(kind=kind)
    plan = pd.DataFrame({"level": np.arange(1.0, n + 1)}, index=X.index[40 : 40 + n])
    return Linear(pause).fit(y), plan


class TestWhatIsWanted:
    @pytest.mark.parametrize("kind", ["period", "dates", "whole numbers"])
    @pytest.mark.parametrize(
        ("of", "target", "value"),
        [
            ("all", (None, 12), lambda f: f.max()),
            ("all", (4.5, 16.5), lambda f: 4.5 + (np.clip(f, 4.5, 16.5) - f).abs().max()),
            ("mean", (None, 8), lambda f: f.mean()),
            ("sum", (80, None), lambda f: f.sum()),
            (2, (20, 21), lambda f: f.iloc[1]),
            (6, Target.interval(None, 5), lambda f: f.iloc[5]),
        ],
    )
    def test_every_step_one_of_them_their_mean_and_their_sum(self, kind, of, target, value):
        forecaster, plan = linear(kind)
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            list(range(1, 7)), target, of=of, X=plan, max_rows=250
        )
        assert result.valid
        reached = value(forecaster.predict(list(range(1, 7)), X=result.counterfactual))
        wanted = target if isinstance(target, Target) else Target.interval(*target)
        assert wanted.lower - 1e-9 <= reached <= wanted.upper + 1e-9

    @pytest.mark.parametrize(
        ("kind", "of", "said"),
        [
            ("dates", "2024-02-11", "the forecast for 2024-02-11 at most 3"),
            ("dates", pd.Timestamp("2024-02-11"), "the forecast for 2024-02-11 at most 3"),
            ("hours", "2024-01-03 01:00", "the forecast for 2024-01-03 01:00:00 at most 3"),
            ("period", pd.Period("2024-10-14", freq="W"), "the forecast for 2024-10-14/2024-10-20 at most 3"),
            ("period", "mean", "the mean of the forecast (2024-10-07/2024-10-13 to 2024-11-11/2024-11-17) at most 3"),
        ],
    )
    def test_a_step_by_its_time(self, kind, of, said):
        forecaster, plan = linear(kind)
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            list(range(1, 7)), (None, 3), of=of, X=plan, max_rows=120
        )
        assert said in str(result)
        assert result.valid

    def test_sentences_have_the_times_of_the_plan(self):
        forecaster, plan = linear("dates")
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            list(range(1, 7)), (None, 3), of=3, X=plan, max_rows=150
        )
        assert "2024-02-1" in " ".join(result.sentences())
        assert "step" not in " ".join(result.sentences())
        assert result.table["changes"].item() == "; ".join(result.sentences())

    def test_nothing_has_to_change(self):
        forecaster, plan = linear()
        result = CounterfactualForecastExplainer(forecaster).explain(range(1, 7), (None, 100), X=plan, max_rows=100)
        assert result.details[0].status == "already_target"
        assert result.valid
        assert str(result).endswith("Nothing has to change.")

    def test_what_cannot_be_reached_is_said(self):
        forecaster, plan = linear()
        explainer = CounterfactualForecastExplainer(forecaster, {"level": {"bounds": (0, 7)}}, random_state=0)
        result = explainer.explain(range(1, 7), (50, None), X=plan, max_rows=100)
        assert not result.valid
        assert result.counterfactual.equals(plan)
        assert "Nothing was found" in str(result)

    def test_several_columns_of_a_forecast(self):
        y, _ = shop()
        both = pd.DataFrame({"here": y, "there": 2 * y})
        forecaster = NaiveForecaster().fit(both, fh=FH)
        explainer = CounterfactualForecastExplainer(forecaster, random_state=0)
        result = explainer.explain(FH, (None, 440), variable="there", actionable_steps=slice(-2, None), max_rows=80)
        assert result.valid
        assert (result.forecast["there"] <= 440).all()
        with pytest.raises(InvalidInputError, match=r"variable must say .*'here', 'there'.*got None"):
            explainer.explain(FH, (None, 440))


    def test_sums_of_money_have_no_power_of_ten(self):
        forecaster, plan = linear()
        dear = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            range(1, 7), (None, 1234567), of="sum", X=1e5 * plan, max_rows=100
        )
        assert "at most 1234567. Now: 6300000." in str(dear)
        assert "e+0" not in str(dear)


class TestWhatMayChange:
    def test_steps_by_their_times_and_by_their_positions(self):
        forecaster, plan = linear("dates")
        explainer = CounterfactualForecastExplainer(forecaster, random_state=0)
        for steps in (
            slice("2024-02-12", None), slice(2, None), ["2024-02-12", "2024-02-14", "2024-02-15"],
            plan.index >= "2024-02-12",
        ):  # fmt: skip
            result = explainer.explain(range(1, 7), (None, 45), of="sum", X=plan, actionable_steps=steps, max_rows=120)
            assert result.valid
            assert result.counterfactual[:"2024-02-11"].equals(plan[:"2024-02-11"])

    def test_the_past_of_a_plan_stays(self):
        y, X = shop()
        forecaster = YfromX(LinearRegression()).fit(y, X=X[:40])
        most = float(forecaster.predict(FH, X=X).max()) - 10
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            FH, (None, most), X=X[:43], max_rows=150
        )
        assert result.valid
        assert result.counterfactual[:40].equals(X[:40])

    def test_a_past_that_goes_on_after_the_fit(self):
        forecaster = NaiveForecaster("mean", window_length=3).fit(PASSENGERS[:-6])
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            FH, (None, 380), y=PASSENGERS, actionable_steps=slice(-3, None), max_rows=100
        )
        assert result.valid
        assert result.forecast.index[0] == pd.Period("1961-01", freq="M")
        assert result.counterfactual[:-3].equals(PASSENGERS[:-3])

    def test_a_forecaster_with_plans_can_be_asked_about_its_past(self):
        y, X = shop()
        forecaster = DirectTabularRegressionForecaster(Ridge(), window_length=3).fit(y, X=X[:40], fh=FH)
        most = float(forecaster.predict(X=X[40:43]).max()) - 3
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            FH, (None, most), change="y", X=X[40:43], actionable_steps=slice(-4, None), max_rows=80
        )
        assert result.change == "y"
        assert result.valid

    def test_the_forecaster_is_not_changed(self):
        forecaster = NaiveForecaster("mean", window_length=3).fit(PASSENGERS)
        before = forecaster.predict(FH)
        CounterfactualForecastExplainer(forecaster, random_state=0).explain(FH, (None, 300), max_rows=60)
        assert forecaster._y.equals(PASSENGERS)
        assert forecaster.predict(FH).equals(before)

    @pytest.mark.parametrize("past", ["update", "refit"])
    def test_the_way_can_be_chosen(self, past):
        forecaster = NaiveForecaster("mean", window_length=3).fit(PASSENGERS)
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            FH, (None, 400), past=past, actionable_steps=slice(-3, None), max_rows=60
        )
        assert result.way == past
        assert result.valid

    def test_a_forecaster_that_an_update_does_not_reach_is_refused_with_the_remedy(self):
        forecaster = TrendForecaster().fit(PASSENGERS)
        with pytest.raises(InvalidInputError, match=r"the same whatever the past is.*past='refit'"):
            CounterfactualForecastExplainer(forecaster).explain(FH, (None, 400), past="update")


class Picky(NaiveForecaster):
    """Cannot be fitted to a past below a level, as a logarithm cannot."""

    def _fit(self, y, X, fh):
        if (y < 300).any():
            raise ValueError("the past must be above 300")
        return super()._fit(y, X, fh)


class TestSlowAndFailing:
    def test_pasts_that_cannot_be_fitted_do_not_end_the_search(self):
        y = PASSENGERS.clip(lower=310)
        forecaster = Picky("mean", window_length=4).fit(y)
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            FH, (None, 390), past="refit", actionable_steps=slice(-6, None), max_rows=150
        )
        assert result.valid
        assert (result.counterfactual >= 300).all()
        assert result.details[0].unscored > 0

    def test_a_forecaster_that_always_fails_is_named(self):
        y = PASSENGERS.clip(lower=310)
        forecaster = Picky("mean", window_length=4).fit(y)
        with pytest.raises(ValueError, match="above 300"):
            CounterfactualForecastExplainer(forecaster).explain(FH, (None, 390), y=PASSENGERS - 200, past="refit")

    def test_rows_adapt_to_a_slow_forecaster(self):
        forecaster, plan = linear(pause=0.02)
        Linear.asked = 0
        began = time.monotonic()
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            range(1, 7), (None, 12), X=plan, seconds_per_series=2
        )
        assert time.monotonic() - began < 6
        assert result.valid
        assert Linear.asked == result.table["rows"].item() < 150

    def test_the_bar_moves_while_one_series_is_worked_on(self, capsys):
        forecaster, plan = linear()
        told = []
        explainer = CounterfactualForecastExplainer(forecaster, random_state=0)
        explainer.explain(range(1, 7), (None, 12), X=plan, max_rows=100, progress=told.append)
        assert len({progress.rows for progress in told}) > 3
        explainer.explain(range(1, 7), (None, 12), X=plan, max_rows=100, progress=True)
        assert "searching" in capsys.readouterr().err

    def test_the_same_seed_gives_the_same(self):
        forecaster, plan = linear()
        results = [
            CounterfactualForecastExplainer(forecaster, random_state=5).explain(
                range(1, 7), (3, 12), X=plan, max_rows=150
            )
            for _ in range(2)
        ]
        assert results[0].counterfactual.equals(results[1].counterfactual)

    def test_a_checkpoint_is_gone_on_from(self, tmp_path):
        forecaster, plan = linear()
        explainer = CounterfactualForecastExplainer(forecaster, random_state=5)
        asks = {"X": plan, "max_rows": 120, "checkpoint": tmp_path / "search.jsonl"}
        first = explainer.explain(range(1, 7), (8, 12), **asks)
        Linear.asked = 0
        again = explainer.explain(range(1, 7), (8, 12), **asks)
        assert Linear.asked <= 3
        assert again.counterfactual.equals(first.counterfactual)


@pytest.fixture(scope="module")
def result():
    forecaster, plan = linear("dates")
    explainer = CounterfactualForecastExplainer(forecaster, random_state=0)
    return explainer.explain(range(1, 7), (None, 12), X=plan, max_rows=300)


class TestHowItIsShown:
    def test_as_a_picture(self, result, tmp_path):
        pytest.importorskip("matplotlib")
        figure = result.plot("What keeps it below 12?")
        shown = figure.axes[0].get_legend_handles_labels()[1]
        assert shown == ["past", "forecast now", "forecast then"]
        assert len(figure.axes) >= 2
        figure.savefig(tmp_path / "forecast.png")

    def test_of_another_past_its_last_steps_are_shown(self):
        pyplot = pytest.importorskip("matplotlib.pyplot")
        forecaster = NaiveForecaster("mean", window_length=4).fit(PASSENGERS)
        result = CounterfactualForecastExplainer(forecaster, random_state=0).explain(
            FH, (None, 400), of="mean", actionable_steps=HALF_A_YEAR, max_rows=150
        )
        figure = result.plot(history=12)
        above, lane = figure.axes[:2]
        assert above.get_legend_handles_labels()[1] == ["past", "past then", "forecast now", "forecast then"]
        assert "mean at most 400" in [text.get_text().strip() for text in above.texts]
        assert lane.get_xlim() == (len(PASSENGERS) - 12.5, len(PASSENGERS) - 0.5)
        pyplot.close(figure)

    def test_as_a_page(self, result, tmp_path):
        pytest.importorskip("matplotlib")
        page = result.report(tmp_path / "forecast.html")
        assert "<h1>Wanted: every step of the forecast (2024-02-10 to 2024-02-15) at most 12</h1>" in page.read_text()
        assert result.sentences()[0].split("'")[1] in page.read_text()
        saved = json.loads((tmp_path / "forecast.json").read_text())
        assert Counterfactual.from_dict(saved["result"]).sentences() == result.sentences()
        assert saved["search"]["seed"] == 0
        assert "max_rows=300" in saved["search"]["settings"]

    def test_the_example_of_the_class(self):
        (example,) = doctest.DocTestFinder(recurse=False).find(CounterfactualForecastExplainer)
        results = doctest.DocTestRunner().run(example)
        assert results.attempted > 5
        assert results.failed == 0


class TestAtTheDoor:
    def test_only_fitted_forecasters(self):
        with pytest.raises(NotFittedError):
            CounterfactualForecastExplainer(NaiveForecaster())
        with pytest.raises(InvalidInputError, match="got LinearRegression; CounterfactualExplainer explains"):
            CounterfactualForecastExplainer(LinearRegression())
        with pytest.raises(InvalidInputError, match="CounterfactualForecastExplainer explains forecasters"):
            CounterfactualExplainer(NaiveForecaster().fit(PASSENGERS))

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"target": 5}, r"target must be an interval \(lower, upper\)"),
            ({"target": "other"}, r"target must be an interval"),
            ({"of": "2031-01"}, "of must be 'all', 'mean', 'sum', one time of the forecast"),
            ({"of": 7}, "how many steps ahead it is, got 7"),
            ({"change": "Z"}, "change must be 'X' or 'y', got 'Z'"),
            ({"past": "never"}, "past must be 'auto', 'update' or 'refit', got 'never'"),
            ({"change": "X"}, "change='X' needs X"),
            ({"actionable_steps": ["1931-01"]}, "actionable_steps must pick from the 48 steps"),
            ({"actionable_steps": [False] * 48}, "there is no step of y that may change"),
            ({"y": PASSENGERS.to_numpy()}, "y must be a Series or a DataFrame .*got a ndarray"),
        ],
    )
    def test_what_is_wrong_is_named(self, arguments, said):
        forecaster = NaiveForecaster("mean", window_length=3).fit(PASSENGERS)
        with pytest.raises(InvalidInputError, match=said):
            CounterfactualForecastExplainer(forecaster).explain(FH, **{"target": (None, 400), **arguments})

    @pytest.mark.parametrize("rows", [slice(0, 0), slice(41, 43)], ids=["no plan", "a plan that is too short"])
    @pytest.mark.parametrize("name", ["regression", "ARIMA"])
    def test_a_plan_that_does_not_reach_is_refused_with_the_remedy(self, name, rows):
        y, X = shop()
        forecaster = WITH_PLANS[name]().fit(y, X=X[:40], fh=FH)
        plan = X[rows] if len(X[rows]) else None
        with pytest.raises(InvalidInputError, match="needs X with all times of the forecast"):
            CounterfactualForecastExplainer(forecaster).explain(FH, (None, 200), X=plan, max_rows=100)

    def test_several_series_are_refused(self):
        panel = pd.concat([PASSENGERS.to_frame()] * 2, keys=["a", "b"])
        forecaster = NaiveForecaster().fit(panel)
        with pytest.raises(InvalidInputError, match="of several series"):
            CounterfactualForecastExplainer(forecaster).explain(FH, (None, 400))

    def test_a_horizon_may_be_any_of_sktime_s(self):
        forecaster = NaiveForecaster("mean", window_length=3).fit(PASSENGERS)
        explainer = CounterfactualForecastExplainer(forecaster, settings=SearchSettings(max_rows=60), random_state=0)
        times = pd.PeriodIndex(["1961-01", "1961-03"], freq="M")
        for fh in (ForecastingHorizon(times, is_relative=False), [1, 3], np.array([1, 3])):
            result = explainer.explain(fh, (None, 400), actionable_steps=slice(-3, None))
            assert result.valid
            assert result.forecast.index.equals(times)

    def test_a_budget_of_one_row(self):
        forecaster, plan = linear()
        result = CounterfactualForecastExplainer(forecaster).explain(range(1, 7), (None, 12), X=plan, max_rows=1)
        assert not result.valid
        assert result.counterfactual.equals(plan)
