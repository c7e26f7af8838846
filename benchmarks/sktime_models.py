"""Real sktime models explained: success, rows, calls, and where the seconds go.

    python benchmarks/sktime_models.py [--case 0 3]

Each model gets the first ten test series that it does not class as the target; the target is the label
that comes last in the alphabet, or for the regressor the lowest quarter of its predictions. Default settings.
MiniRocket needs numba. Written to ``results/sktime.md``; with ``--case`` nothing is written, only shown.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import engine
import numpy as np
import report
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

N = 10


@dataclass
class Case:
    """A model, its data, and the container in which the user holds them."""

    name: str
    data: str
    load: Callable[..., Any]
    model: Any
    mtype: str = "numpy3D"
    most_rows: int | None = None
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


def run(case: Case) -> list[object]:
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
    result = explainer.explain(X, target, **engine.row_limit(case.most_rows))
    total = time.perf_counter() - started
    del model.predict, model.predict_proba
    inside = predict.seconds + proba.seconds
    table = result.table
    held = model.predict(result.counterfactuals)
    reached = held <= target[1] if isinstance(target, tuple) else held == target
    wanted = f"at most {target[1]:.3g}" if isinstance(target, tuple) else f"'{target}'"
    lengths = {len(cf.original) for cf in result.details}
    steps = f"{min(lengths)} to {max(lengths)}" if len(lengths) > 1 else f"{max(lengths)}"
    number = report.number
    cells = np.mean([cf.original.size for cf in result.details])
    return [
        case.name, case.data, f"{steps} x {result.details[0].original.shape[1]}", wanted,
        f"{reached.sum()} of {len(wrong)}", f"{number(table['sparsity'].mean())} of {number(cells, 0)}",
        number(table["rows"].mean(), 0), number(table["calls"].mean(), 0), number(total), number(inside),
        number(total - inside),
    ]  # fmt: skip


def main() -> None:
    """All cases, one after the other."""
    parser = report.parser(__doc__)
    parser.add_argument("--case", type=int, nargs="*", help="positions of the cases to run, in place of all")
    args = parser.parse_args()
    settings = SearchSettings()
    header = report.made(settings, args, packages=("sktime", "scikit-learn", "pandas"))
    warnings.simplefilter("ignore")
    rows = []
    for i in range(len(CASES)) if args.case is None else args.case:
        rows.append(run(CASES[i]))
        print(rows[-1], flush=True)
    if args.case is not None:
        return
    others = ", ".join(f"{case.most_rows} for {case.data}" for case in CASES if case.most_rows is not None)
    report.write_markdown(
        args.out / "sktime.md",
        header,
        "# Real sktime models explained",
        f"The first {N} test series of each dataset that the model does not class as the target, explained together in one "
        f"process by `CounterfactualExplainer(model, random_state=0)` with at most {engine.most_rows(settings)} rows each "
        f"({others}). Success is what `model.predict` says of the container that comes back. Changed cells, rows and calls "
        "are means over the series; series share calls. Seconds are for all of them: in the model (sktime's own checks and "
        "conversions included), and our own.",
        report.table(
            [
                "Model", "Data", "Steps x channels", "Target", "Success", "Changed cells", "Rows", "Calls", "Seconds",
                "in the model", "our own",
            ],
            rows,
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
