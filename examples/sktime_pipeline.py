"""Counterfactuals in sktime: a pipeline, a multivariate set, and a regressor, on sktime's own data."""

from pathlib import Path

import matplotlib
import pandas as pd
from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
from sktime.datasets import load_basic_motions, load_covid_3month, load_gunpoint
from sktime.dists_kernels import FlatDist, ScipyDist
from sktime.regression.distance_based import KNeighborsTimeSeriesRegressor
from sktime.transformations.panel.interpolate import TSInterpolator

from ntdcfe_plugins.plot import plot_counterfactual
from ntdcfe_plugins.sktime import CounterfactualClassifier, CounterfactualExplainer

matplotlib.use("Agg")  # draws into a file, also where there is no screen

# 1. A pipeline that explains itself, in its raw input: is there a gun in the hand ("1") or not ("2")?
X, y = load_gunpoint(split="train", return_type="pd-multiindex")
knn = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()), n_neighbors=3)
pipeline = TSInterpolator(50) * CounterfactualClassifier(knn, random_state=0)
pipeline.fit(X, y)

X_test, _ = load_gunpoint(split="test", return_type="pd-multiindex")
result = pipeline.explain(X_test.loc[[0]], target="2", max_rows=1500)
print(f"GunPoint, a pipeline\n{result}\n")

picture = Path("sktime_pipeline.png")
plot_counterfactual(result.details[0], "What would have to change for no gun?").savefig(picture, dpi=130)

# 2. A fitted model and a panel with several channels: the gyroscope stays as it is.
X, y = load_basic_motions(split="train", return_type="numpy3D")
model = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist())).fit(X, y)

watches = load_basic_motions(split="test", return_type="pd-multiindex")[0].loc[20:23]
watches.columns = ["accel x", "accel y", "accel z", "gyro x", "gyro y", "gyro z"]
fixed = {name: {"role": "immutable"} for name in watches.columns[3:]}
explainer = CounterfactualExplainer(model, features=fixed, random_state=0)
result = explainer.explain(watches, target=["standing", "running"], max_rows=3000)
print(f"BasicMotions, six channels\n{result}\n")
changed = result.counterfactuals != watches  # a DataFrame of the same index and columns
print(f"changed cells by channel:\n{changed.groupby(level=0).sum()}\n")

# 3. A regressor and an interval: what would have kept the death rate at 2 to 4 percent?
X, y = load_covid_3month(split="train")
regressor = KNeighborsTimeSeriesRegressor(distance=FlatDist(ScipyDist()), n_neighbors=5).fit(X, y)

X_test, _ = load_covid_3month(split="test")
high = pd.Series(regressor.predict(X_test), X_test.index).nlargest(3).index
result = CounterfactualExplainer(regressor, random_state=0).explain(X_test.loc[high], target=(0.02, 0.04))
print(f"Covid3Month, a regressor\n{result}\n")
print(f"Picture saved to {picture}")
