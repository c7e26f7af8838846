"""Real sktime models explained: success, rows, calls, and where the seconds go. Writes results/sktime.md.

Each model gets the first ten test series that it does not class as the target; the target is the label
that comes last in the alphabet, or for the regressor the lowest quarter of its predictions. Default settings.
MiniRocket needs numba.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sktime.classification.deep_learning.fcn import FCNClassifierTorch
from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
from sktime.classification.interval_based import TimeSeriesForestClassifier
from sktime.classification.kernel_based import RocketClassifier
from sktime.datasets import (
    load_basic_motions,
    load_covid_3month,
    load_gunpoint,
    load_italy_power_demand,
    load_japanese_vowels,
)
from sktime.datatypes import convert_to
from sktime.dists_kernels import FlatDist, ScipyDist
from sktime.regression.interval_based import TimeSeriesForestRegressor
from sktime.transformations.interpolate import TSInterpolator
from sktime.transformations.padder import PaddingTransformer

from ntdcfe import SearchSettings
from ntdcfe_plugins.sktime import CounterfactualExplainer

RESULTS = Path(__file__).parent / "results" / "sktime.md"
N = 10


@dataclass
class Case:
    """A model, its data, and the container in which the user holds them."""

    name: str
    data: str
    load: Callable[..., Any]
    model: Any
    mtype: str = "numpy3D"
    max_queries: int | None = None
    """In place of the default, for a pipeline that takes many milliseconds a row."""


CASES = [
    Case("KNN (euclidean)", "BasicMotions", load_basic_motions, KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()))),
    Case("TimeSeriesForest (50)", "ItalyPowerDemand", load_italy_power_demand, TimeSeriesForestClassifier(n_estimators=50, random_state=0)),
    Case("TSInterpolator * KNN", "GunPoint", load_gunpoint, TSInterpolator(50) * KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist()), n_neighbors=3)),
    Case("FCN (torch)", "BasicMotions", load_basic_motions, FCNClassifierTorch(filter_sizes=(32, 64, 32), num_epochs=200, batch_size=40, lr=1e-3, random_state=0)),
    Case("FCN (torch), default width, 100 epochs", "BasicMotions", load_basic_motions, FCNClassifierTorch(num_epochs=100, random_state=0)),
    Case("MiniRocket (one-hot)", "GunPoint", load_gunpoint, RocketClassifier(num_kernels=500, rocket_transform="minirocket", random_state=0)),
    Case("TimeSeriesForestRegressor (50)", "Covid3Month", load_covid_3month, TimeSeriesForestRegressor(n_estimators=50, random_state=0)),
    Case("PaddingTransformer * KNN", "JapaneseVowels, unequal", load_japanese_vowels, PaddingTransformer(pad_length=29) * KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist())), "nested_univ", 2000),
]  # fmt: skip


class Timed:
    """A function, and the seconds spent in it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, X: Any) -> Any:
        """The function's answer."""
        started = time.perf_counter()
        try:
            return self.function(X)
        finally:
            self.seconds += time.perf_counter() - started


def run(case: Case) -> str:
    """One row of the table."""
    X_train, y_train = case.load(split="train")
    X_test, y_test = case.load(split="test")
    X_train, X_test = convert_to(X_train, case.mtype), convert_to(X_test, case.mtype)
    model = case.model.fit(X_train, y_train)
    now = model.predict(X_test)
    if y_train.dtype.kind != "f":
        print(f"{case.name}: {np.mean(now == y_test):.0%} of the test series right")
    if y_train.dtype.kind == "f":
        target: Any = (None, float(np.quantile(now, 0.25)))
        wrong = np.flatnonzero(now > target[1])[:N]
    else:
        target = sorted(np.unique(y_train))[-1]
        wrong = np.flatnonzero(now != target)[:N]
    X = X_test.iloc[wrong] if case.mtype == "nested_univ" else X_test[wrong]
    explainer = CounterfactualExplainer(model, random_state=0)
    # Instance attributes shadow the methods: what the engine and the adapter call is timed.
    model.predict, model.predict_proba = predict, proba = (
        Timed(model.predict),
        Timed(getattr(model, "predict_proba", None)),
    )
    started = time.perf_counter()
    result = explainer.explain(X, target, max_queries=case.max_queries)
    total = time.perf_counter() - started
    del model.predict, model.predict_proba
    inside = predict.seconds + proba.seconds
    table = result.table
    held = model.predict(result.counterfactuals)
    reached = held <= target[1] if isinstance(target, tuple) else held == target
    wanted = f"at most {target[1]:.3g}" if isinstance(target, tuple) else f"'{target}'"
    lengths = {len(cf.original) for cf in result.details}
    steps = f"{min(lengths)} to {max(lengths)}" if len(lengths) > 1 else f"{max(lengths)}"
    changed = f"{table['sparsity'].mean():.1f}" if table["sparsity"].notna().any() else "none"
    cells = np.mean([cf.original.size for cf in result.details])
    return (
        f"| {case.name} | {case.data} | {steps} x {result.details[0].original.shape[1]} | {wanted} | "
        f"{reached.sum()} of {len(wrong)} | {changed} of {cells:.0f} | {table['rows'].mean():.0f} | {table['calls'].mean():.0f} | "
        f"{total:.1f} | {inside:.1f} | {total - inside:.1f} |"
    )


def main() -> None:
    """All cases, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--case", type=int, nargs="*", help="positions of the cases to run; other rows of the file stay"
    )
    chosen = parser.parse_args().case
    warnings.simplefilter("ignore")
    rows = [] if chosen is None else [line for line in RESULTS.read_text().splitlines() if line.startswith("| ")][2:]
    known = {tuple(row.split(" | ")[:2]): row for row in rows}
    for i in range(len(CASES)) if chosen is None else chosen:
        row = run(CASES[i])
        known[tuple(row.split(" | ")[:2])] = row
        print(row, flush=True)
    rows = [known[key] for case in CASES if (key := (f"| {case.name}", case.data)) in known]
    packages = ", ".join(f"{name} {version(name)}" for name in ("sktime", "scikit-learn", "numpy", "pandas", "torch"))
    RESULTS.write_text(
        "# Real sktime models explained\n\n"
        f"The first {N} test series of each dataset that the model does not class as the target, explained together in one process by\n"
        f"`CounterfactualExplainer(model, random_state=0)` with at most {SearchSettings().max_queries} rows each\n(2000 for JapaneseVowels). Success is what `model.predict` says of\n"
        "the container that comes back. Changed cells, rows and calls are means over the series; series share calls. Seconds are for all\n"
        f"of them: in the model (sktime's own checks and conversions included), and our own. Python {platform.python_version()}, {packages},\n"
        "a busy machine. Made by `benchmarks/sktime_models.py`.\n\n"
        "| Model | Data | Steps x channels | Target | Success | Changed cells | Rows | Calls | Seconds | in the model | our own |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"
    )


if __name__ == "__main__":
    main()
