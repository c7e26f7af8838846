"""Time series through DiCE: a series as columns, explained as a series, drawn as one.

DiCE knows tables only. `SeriesColumns` turns (steps, channels) into columns and back, and is the
`func` that DiCE's model wrapper asks for; the explainer then searches over steps and channels.
"""

from pathlib import Path

import dice_ml
import matplotlib
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ntdcfe_plugins.dice import NTDCFE, SeriesColumns

matplotlib.use("Agg")  # draws into a file, also where there is no screen
STEPS, CHANNELS = 48, ["load", "temperature"]
layout = SeriesColumns(STEPS, CHANNELS)


def days(n: int, seed: int) -> np.ndarray:
    """Days of a transformer (n, steps, channels): load and temperature, half-hourly."""
    rng = np.random.default_rng(seed)
    time = np.arange(STEPS) / STEPS * 2 * np.pi
    load = 50 + 15 * np.sin(time - 2) + rng.normal(0, 8, (n, 1)) + rng.normal(0, 3, (n, STEPS))
    temperature = 20 + 6 * np.sin(time - 1.5) + rng.normal(0, 3, (n, 1)) + rng.normal(0, 1, (n, STEPS))
    return np.stack([load, temperature], axis=2).round(1)


# Somebody else's model: an alarm when load stays high in a warm evening.
X = days(1500, seed=0)
alarm = (X[:, 32:44, 0].mean(1) + X[:, 32:44, 1].mean(1) > 78).astype(int)
model = make_pipeline(
    FunctionTransformer(lambda X: X.reshape(len(X), -1)), RandomForestClassifier(60, random_state=0)
).fit(X, alarm)

data = dice_ml.Data(
    features=layout.ranges({"load": [0.0, 110.0], "temperature": [0.0, 45.0]}),
    outcome_name="alarm",
    type_and_precision=layout.precisions(1),
)
explainer = NTDCFE(
    data,
    dice_ml.Model(model=model, backend="sklearn", func=layout),
    series=layout,
    features={"temperature": {"role": "immutable"}},  # the weather is what it is
)

candidates = days(200, seed=1)
day = candidates[np.flatnonzero(model.predict_proba(candidates)[:, 1] > 0.7)[0]]
evening = [column for column in layout.columns if column.startswith("load") and int(column.split("_")[1]) >= 24]
explanations = explainer.generate_counterfactuals(
    layout.to_frame(day), total_CFs=3, desired_class=0, features_to_vary=evening, random_seed=0
)
answer = explanations.cf_examples_list[0]
print(answer.counterfactual)
found = layout.to_series(answer.final_cfs_df)
print(f"\n{len(found)} counterfactuals of shape {found.shape[1:]}, alarms: {model.predict(found)}")
print("cells changed in each:", (found != day).sum((1, 2)).tolist())

picture = Path("dice_timeseries.png")
explanations.plot(title="What would have spared us the alarm?").savefig(picture, dpi=130)
print(f"\nPicture saved to {picture}")
