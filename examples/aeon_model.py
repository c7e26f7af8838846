"""A classifier of aeon's, explained: the axes change places, and that is all.

aeon's collections are (cases, channels, timepoints), the engine's series (steps, channels). Needs aeon, whose
numpy 2 excludes alibi's numpy 1: install it into an environment of its own.
"""

from pathlib import Path

import matplotlib
import numpy as np
from aeon.classification.interval_based import TimeSeriesForestClassifier
from aeon.datasets import load_basic_motions

from ntdcfe import NTDCFE, Features

matplotlib.use("Agg")  # draws into a file, also where there is no screen
CHANNELS = ["accel x", "accel y", "accel z", "gyro x", "gyro y", "gyro z"]

X_train, y_train = load_basic_motions(split="train")
X_test, y_test = load_basic_motions(split="test")
classifier = TimeSeriesForestClassifier(n_estimators=30, random_state=0).fit(X_train, y_train)


def predict(X: np.ndarray) -> np.ndarray:
    """Probabilities (n, classes) of series (n, steps, channels)."""
    return classifier.predict_proba(X.transpose(0, 2, 1))


explainer = NTDCFE(predict, Features.continuous(6, names=CHANNELS), classes=classifier.classes_)
walk = X_test[y_test == "walking"][0].T  # (steps, channels)
cf = explainer.explain(walk, target="standing", max_rows=2000)
print(cf)
print(f"\naeon says of it: {classifier.predict(cf.x.T[None])[0]}")

picture = Path("aeon_model.png")
cf.plot(title="What would make a walk a stand?").savefig(picture, dpi=130)
print(f"picture saved to {picture}")
