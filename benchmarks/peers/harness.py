"""Ours within tscf-eval's own harness, beside its methods: its runner, its metrics, its failures.

    .venv-peers/bin/python benchmarks/peers/harness.py [--folder DIR] [--cases BasicMotions/random_forest ...]

Runs in the environment of tscf-eval (numpy 2), on cases that ``cases.py`` saved there before.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cases import Case, case_file, load, report
from numpy.typing import NDArray
from tscf_eval import counterfactuals
from tscf_eval.benchmark import BenchmarkRunner, DatasetConfig, ExplainerConfig, ModelConfig
from tscf_eval.evaluator import Evaluator, metrics

from ntdcfe import SearchSettings
from ntdcfe_plugins.tscf_eval import NTDCFE

SEED = 0
# Each of its kinds of metrics once, as its own runner sets them up; controllability, which its runner leaves out, too.
METRICS = {
    "validity": metrics.Validity(), "L1": metrics.Proximity(p=1, distance="lp"), "sparsity": metrics.Sparsity(),
    "plausibility": metrics.Plausibility(method="lof"), "diversity": metrics.Diversity(distance="dtw"),
    "contiguity": metrics.Contiguity(), "composition": metrics.Composition(), "confidence": metrics.Confidence(),
    "controllability": metrics.Controllability(), "robustness": metrics.Robustness(distance="dtw"),
    "efficiency": metrics.Efficiency(),
}  # fmt: skip
METHODS = {
    "ours, simplest": (NTDCFE, {}), "ours, nearest": (NTDCFE, {"option": "nearest"}),
    "CoMTE": (counterfactuals.COMTE, {}), "Native-Guide": (counterfactuals.NativeGuide, {}),
    "TSEvo": (counterfactuals.TSEvo, {}),
}  # fmt: skip


class ChannelsFirst:
    """The model of a case, of series ``(n, C, T)``."""

    def __init__(self, case: Case) -> None:
        self.case, self.classes_ = case, np.array([0, 1])

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Probabilities ``(n, 2)``."""
        answers: NDArray[np.float64] = self.case.model.predict_proba(np.asarray(X, dtype=float).transpose(0, 2, 1))
        return answers

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Labels ``(n,)``."""
        return np.asarray(self.predict_proba(X).argmax(1), dtype=np.int64)


def run(case: Case) -> list[list[str]]:
    """A line a method, with tscf-eval's figures as they are."""
    series = case.X.transpose(0, 2, 1)
    dataset = DatasetConfig(case.dataset, series, case.y, series[case.samples], case.y[case.samples])
    runner = BenchmarkRunner(
        datasets=[dataset], models=[ModelConfig(case.model_name, ChannelsFirst(case))],
        explainers=[ExplainerConfig(name, cls, {"random_state": SEED, **more}) for name, (cls, more) in METHODS.items()],
        evaluator=Evaluator(list(METRICS.values())), random_state=SEED, verbose=False,
    )  # fmt: skip
    lines = []
    for result in runner.run():
        cells = [value for metric in METRICS.values() for value in figures(result.metrics, metric.name())]
        lines.append(
            [
                f"{case.dataset} {case.model_name}",
                result.explainer_name,
                f"{result.n_successful} of {result.n_instances}",
                *cells,
            ]
        )
    return lines


def figures(measured: dict[str, Any], name: str) -> list[str]:
    """The figures of one metric, as text; those that have several are joined by strokes."""
    found = {k: v for k, v in measured.items() if (k == name or k.startswith(f"{name}_")) and "_q" not in k}
    values = [v for v in found.values() if isinstance(v, (int, float, np.floating))]
    return [" / ".join(short(float(v)) for v in values) or "-"]


def short(value: float) -> str:
    """Three significant digits."""
    return "-" if math.isnan(value) else f"{value:.3g}"


def main() -> None:
    """Run and write the table."""
    parser = report.parser(__doc__)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent / "cases" / "explanations")
    parser.add_argument("--cases", nargs="*", default=["BasicMotions/random_forest", "ERing/knn"])
    args = parser.parse_args()
    torch.set_num_threads(1)
    header = report.made(SearchSettings(), args, packages=("tscf-eval", "aeon", "scikit-learn"))
    lines = [line for name in args.cases for line in run(load(case_file(args.folder, *name.split("/"))))]
    report.write_markdown(
        args.out / "tscf-eval.md",
        header,
        "Made by tscf-eval's own runner and metrics, its methods with their defaults, ours through `ntdcfe_plugins.tscf_eval`. Ours gets "
        "labels only and no data. Figures are tscf-eval's own, over what a method returned: of validity, sparsity, plausibility, "
        "contiguity, confidence and robustness more is better as it defines them; its L1 is 1 / (1 + distance) or a distance as "
        "its version has it. A metric with several figures has them side by side; - where it gives none.",
        report.table(["case", "method", "returned", *METRICS], lines),
    )


if __name__ == "__main__":
    main()
