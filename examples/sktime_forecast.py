"""Counterfactuals of forecasts: which prices keep demand within what a store can deliver, and which past would have?"""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sktime.datasets import load_airline
from sktime.forecasting.compose import TransformedTargetForecaster, YfromX, make_reduction
from sktime.transformations.series.boxcox import LogTransformer

from ntdcfe_plugins.sktime import CounterfactualForecastExplainer

matplotlib.use("Agg")  # draws into a file, also where there is no screen

# 1. Weekly sales that depend on the price and on advertising; both are planned for the next eight weeks.
rng = np.random.default_rng(7)
weeks = pd.date_range("2025-01-06", periods=60, freq="W-MON")
plan = pd.DataFrame({"price": 9.5 + rng.integers(-3, 4, 60) / 4, "ads": rng.integers(0, 6, 60)}, index=weeks)
sales = (620 - 42 * plan["price"] + 21 * plan["ads"] + rng.normal(0, 6, 60)).rename("sales")
forecaster = YfromX(LinearRegression()).fit(sales[:52], X=plan[:52])

# The store delivers 300 a week at most. Prices may rise to 12, in cents; advertising is booked and stays.
explainer = CounterfactualForecastExplainer(
    forecaster,
    features={"price": {"bounds": (8, 12), "direction": "rise", "precision": 2}, "ads": {"role": "immutable"}},
    random_state=0,
)
fh = list(range(1, 9))
result = explainer.explain(fh, target=(None, 300), of="all", X=plan[52:], max_rows=1200)
print(f"Planned prices\n{result}\n")
print(f"forecast now:  {result.present.round().tolist()}")
print(f"forecast then: {forecaster.predict(fh, X=result.counterfactual).round().tolist()}\n")

picture = Path("sktime_forecast.png")
result.plot("Which prices keep the sales within 300 a week?").savefig(picture, dpi=130)

# 2. The past: for which last half year would the mean of the next quarter have been forecast below 420?
passengers = load_airline()
pipeline = TransformedTargetForecaster([LogTransformer(), make_reduction(LinearRegression(), window_length=12)])
pipeline.fit(passengers, fh=[1, 2, 3])
whole = {passengers.name: {"precision": 0}}  # counted in whole thousands
explainer = CounterfactualForecastExplainer(pipeline, features=whole, random_state=0)
result = explainer.explain(
    [1, 2, 3], target=(None, 420), of="mean", actionable_steps=slice("1960-07", None), max_rows=600
)
print(f"The last half year\n{result}\n")
print(f"Picture saved to {picture}")
