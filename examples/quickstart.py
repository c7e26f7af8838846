"""Explain a deployed model that we can only ask: what would make it say "standing"?

A classifier fitted on BasicMotions (accelerometer and gyroscope of a smart watch, 100 steps x 6
channels) stands for the black box. The explainer gets its predictions and one series, no data.
"""

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sktime.datasets import load_basic_motions

from ntdcfe import NTDCFE, Features

matplotlib.use("Agg")  # draws into a file, also where there is no screen
CHANNELS = ["accel x", "accel y", "accel z", "gyro x", "gyro y", "gyro z"]


def series(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Series (n, steps, channels) and their labels."""
    X, y = load_basic_motions(split=split, return_type="numpy3D")
    return X.transpose(0, 2, 1), y


# Somebody else's model: we will only call predict.
X_train, y_train = series("train")
model = RandomForestClassifier(random_state=0).fit(X_train.reshape(len(X_train), -1), y_train)


def predict(X: np.ndarray) -> np.ndarray:
    """Labels of series (n, steps, channels)."""
    return model.predict(X.reshape(len(X), -1))


X_test, y_test = series("test")
x = X_test[np.flatnonzero(predict(X_test) == "walking")[0]]

explainer = NTDCFE(predict, Features.continuous(6, names=CHANNELS), seed=0)
cf = explainer.explain(x, target="standing", progress=True)

print(f"\n{cf}\n")
print(f"Asked about the series with these changes, the model says: {predict(cf.x[None])[0]}")

picture = Path("quickstart.png")
cf.plot(title="What would have to change for 'walking' to be 'standing'?").savefig(picture, dpi=130)
page = cf.report("quickstart.html", explainer=explainer, command="python examples/quickstart.py")
print(f"Picture saved to {picture}, a page to hand on to {page}")
