"""A page on which one asks a model of movements again: freeze a window, bound a channel, ask, compare, save the letter.

    python -m ntdcfe_plugins.app examples/app_basic_motions.py --browser

A forest fitted on BasicMotions (accelerometer and gyroscope of a smart watch, 100 steps x 6 channels) stands for the
black box. Run by itself, this file serves the page as well, until Ctrl-C.
"""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sktime.datasets import load_basic_motions

from ntdcfe import NTDCFE, Features

CHANNELS = ["accel x", "accel y", "accel z", "gyro x", "gyro y", "gyro z"]


def series(split: str) -> tuple[np.ndarray, np.ndarray]:
    """Series (n, steps, channels) and their labels."""
    X, y = load_basic_motions(split=split, return_type="numpy3D")
    return X.transpose(0, 2, 1), y


X_train, y_train = series("train")
model = RandomForestClassifier(random_state=0).fit(X_train.reshape(len(X_train), -1), y_train)


def predict(X: np.ndarray) -> np.ndarray:
    """Probabilities of series (n, steps, channels)."""
    return model.predict_proba(X.reshape(len(X), -1))


# What the page takes from this file.
X, y = series("test")
names = [f"watch {i} ({label})" for i, label in enumerate(y)]
title = "What would change the label of this movement?"
explainer = NTDCFE(predict, Features.continuous(6, names=CHANNELS), classes=list(model.classes_), seed=0)

if __name__ == "__main__":
    from ntdcfe_plugins.app import serve

    serve(explainer, X, names=names, title=title, show=True, wait=True)
