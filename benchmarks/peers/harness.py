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
# Asked of every method, for its diversity; the other metrics are of the first.
ANSWERS = 3
# Each of its eleven kinds of metrics once, with the figure that it puts under this name; most as its own runner sets them up.
METRICS = {
    "validity": (metrics.Validity("hard"), "validity"), "proximity, L1": (metrics.Proximity(1, "lp"), "proximity_l1"),
    "sparsity": (metrics.Sparsity(), "sparsity"), "plausibility, LOF": (metrics.Plausibility("lof"), "plausibility_lof"),
    "diversity": (metrics.Diversity(), "diversity_dpp_dtw"), "contiguity": (metrics.Contiguity(), "contiguity"),
    "composition": (metrics.Composition(), "composition"), "confidence": (metrics.Confidence(), "mean_conf_cf"),
    "controllability": (metrics.Controllability(random_state=0), "controllability"),
    "robustness": (metrics.Robustness(), "robustness_lipschitz_dtw"),
    "efficiency, s": (metrics.Efficiency(), "efficiency_time_s"),
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
        explainers=[ExplainerConfig(name, cls, {"random_state": SEED, **more}, ANSWERS) for name, (cls, more) in METHODS.items()],
        evaluator=Evaluator([metric for metric, _ in METRICS.values()]), random_state=SEED, verbose=False,
    )  # fmt: skip
    lines = []
    for result in runner.run():
        cells = [short(result.metrics.get(key, math.nan)) for _, key in METRICS.values()]
        returned = f"{result.n_successful} of {result.n_instances}"
        lines.append([f"{case.dataset} {case.model_name}", result.explainer_name, returned, *cells])
    return lines


def titled(name: str) -> str:
    """A metric's name with the direction that is better."""
    return f"{name} {'↑' if METRICS[name][0].direction == 'maximize' else '↓'}"


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
        "Made by tscf-eval's own runner and metrics, its methods with their defaults, ours through "
        "`ntdcfe_plugins.tscf_eval`; ours gets labels only and no data. Two classes, any other class is wanted. Figures are "
        "means over what a method returned, which may be invalid. The arrow says what tscf-eval calls better. Proximity is "
        "1 / (1 + distance), sparsity the share of changed cells, composition the length of runs of changed cells by their "
        "number, controllability how often undoing a part of the changes undoes the answer, robustness how much farther apart "
        "answers to neighbours are than the neighbours. Diversity is of three answers each; the other figures are of the first.",
        report.table(["case", "method", "returned", *(titled(name) for name in METRICS)], lines),
    )


if __name__ == "__main__":
    main()
