"""How near the option `nearest` comes to the least that any counterfactual can cost, and with how many rows.

    python benchmarks/limits.py [--data DIR] [--cases ERing/knn ...] [--n 10] [--seeds 0 1 2 3 4]
                                [--rows 1000 2000 5000 10000 20000] [--answers labels probabilities] [--again]

The paper's cases in the published layout, and a logistic regression on each dataset. Random forests, rules and linear
models have a proven optimum; nearest neighbours and LSTMs a reference by somebody who sees the training data or the
weights, and who starts from our answers, too (see ``optimum``). Both have the engine's limits. Every run is written to
``results/limits.csv`` as soon as its sample is done. A rerun adds what is not there; with ``--again`` it does afresh
what other code has done. The tables ``results/limits.md`` are made from that file.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import engine
import numpy as np
import optimum
import protocol
import report
import torch
from limits_tables import COLUMNS, KEY, MODELS, written
from paper import TimedModel
from protocol.arrays import flatten
from protocol.models import FlatModel
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from ntdcfe import NTDCFE

LAYOUT: protocol.Layout = "published"
# What decides a row, beside the data.
SOURCES = ("core", "benchmarks/protocol", "benchmarks/optimum", "benchmarks/limits.py")
# Starts of a reference that are our own answers: the best of them.
OWN_STARTS = 2
# Below a proven bound there is nothing, but for rounding.
TINY = 1e-6
Row = dict[str, Any]
Run = tuple[str, int, int]


class Bench:
    """One dataset and model, and the samples that are explained.

    Parameters
    ----------
    dataset
        In the published layout.
    model_name
        One of ``MODELS``.
    n
        Samples, evenly spaced over the invalid ones.
    """

    def __init__(self, dataset: protocol.Dataset, model_name: str, n: int) -> None:
        self.dataset, self.model_name = dataset, model_name
        if model_name == "logistic":
            linear = LogisticRegression(max_iter=5000).fit(flatten(dataset.X), dataset.y)
            self.model: Any = FlatModel(linear)
        else:
            self.model = protocol.fit_model(dataset, model_name)
        self.samples = protocol.evenly_spaced(protocol.invalid_samples(dataset, self.model), n).tolist()

    def runs(self, sample: int, runs: Sequence[Run]) -> list[Row]:
        """Figures of our runs on a sample (answers, limit of rows, seed), beside the optimum."""
        found, rows = [], []
        for answers, limit, seed in runs:
            timed = TimedModel(self.model, answers == "probabilities")
            explainer = NTDCFE(timed, self.dataset.features, settings=engine.NEAREST, seed=seed)
            cf = explainer.explain(self.dataset.X[sample], target=1, **engine.row_limit(limit))
            row = {
                "dataset": self.dataset.name, "model": self.model_name, "sample": sample, "answers": answers,
                "limit": limit, "seed": seed, "found": int(cf.found), "widened": cf.widened, "rows": engine.rows(cf),
                "calls": engine.calls(cf), "seconds": cf.seconds, "model_seconds": timed.seconds,
                "cells": float("nan") if cf.sparsity is None else cf.sparsity,
            }  # fmt: skip
            for name in ("l1", "cost"):
                row[name] = float("nan") if cf.x is None else self.task(sample, name).cost(cf.x)
            rows.append(row)
            if cf.x is not None:
                found.append((row["cost"], cf.widened, cf.x))
        # A search that finds nothing lets values go further than usual: the optimum may, too.
        for name, widened in product(("l1", "cost"), sorted({row["widened"] for row in rows})):
            own = sorted((start for start in found if start[1] <= widened), key=lambda start: start[0])
            best = self.optimum(self.task(sample, name, widened), [start[2] for start in own[:OWN_STARTS]])
            for row in rows:
                if row["widened"] == widened:
                    if best is not None and row[name] < best.bound * (1 - TINY):
                        raise RuntimeError(f"{row} costs less than the bound {best.bound}, which is no bound then")
                    row[f"optimum_{name}"] = float("nan") if best is None else best.cost
                    row[f"bound_{name}"] = float("nan") if best is None else best.bound
        return rows

    def task(self, sample: int, name: str, widened: float = 1.0) -> optimum.Task:
        """What is minimised, "l1" or "cost", in limits that are so many times as wide as usual."""
        assert engine.NEAREST.reach is not None
        settings = replace(engine.NEAREST, reach=engine.NEAREST.reach * widened)
        return optimum.Task.of(self.dataset.X[sample], self.dataset.features, settings, plain=name == "l1")

    def optimum(self, task: optimum.Task, starts: list[np.ndarray]) -> optimum.Optimum | None:
        """The least costly counterfactual inside the limits that there is, or is known; None if there is none."""

        def reached(x: np.ndarray) -> bool:
            return bool(self.model.predict(x[None])[0] == 1)

        if self.model_name == "random_forest":
            return optimum.of_forest(self.model.classifier, task, reached)
        if self.model_name == "logistic":
            linear = self.model.classifier
            return optimum.of_linear(linear.coef_[0], float(linear.intercept_[0]), task, reached)
        if self.model_name == "knn":
            return optimum.of_neighbours(self.model.classifier, self.dataset.y, task, reached, starts)
        if self.model_name == "lstm":
            series = self.dataset.X[self.model.predict(self.dataset.X) == 1]
            return optimum.of_network(self.model.network, series, task, starts)
        return optimum.of_rule(self.model.rule, task, reached)


def chosen_cases(cases: list[str]) -> list[tuple[str, str]]:
    """The cases asked for; all of them if none is named."""
    return [
        (dataset, model)
        for dataset in protocol.DATASETS
        for model in MODELS
        if not cases or {f"{dataset}/{model}", dataset, f"/{model}"} & set(cases)
    ]


def run(args: argparse.Namespace) -> None:
    """Do what is asked for and not done yet."""
    header = report.made(engine.NEAREST, args, packages=("scikit-learn", "scipy"))
    path = args.out / "limits.csv"
    before, rows = report.read_csv(path) if path.exists() else (header, [])
    chosen = chosen_cases(args.cases)
    if args.again:
        present = {commit: report.is_present(commit, *SOURCES) for commit in {row["commit"] for row in rows}}
        rows = [row for row in rows if present[row["commit"]] or (row["dataset"], row["model"]) not in chosen]
    done = {tuple(row[k] for k in KEY) for row in rows}
    with report.appending(path, report.continued(header, before, rows), COLUMNS, rows) as add:
        for name, model in chosen:
            bench = Bench(protocol.load(name, args.data, LAYOUT), model, args.n)
            for sample in tqdm(bench.samples, desc=f"{name} {model}", leave=False):
                runs = [
                    (answers, limit, seed)
                    for answers in args.answers
                    for limit in args.rows
                    for seed in args.seeds
                    # The probabilities of a rule are its labels.
                    if not (answers == "probabilities" and model.startswith("rule"))
                    and (name, model, str(sample), answers, str(limit), str(seed)) not in done
                ]
                for row in bench.runs(sample, runs) if runs else ():
                    add(row | {"commit": header.commit})


def main() -> None:
    """Measure what is asked for, then write the tables."""
    parser = report.parser(__doc__)
    parser.add_argument("--data", type=Path, default=protocol.data_folder(), help="datasets; else downloaded")
    parser.add_argument("--cases", nargs="*", default=[], help="ERing/knn, ERing (all models) or /knn (all datasets)")
    parser.add_argument("--n", type=int, default=10, help="samples a case, evenly spaced over the invalid ones")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[1000, 2000, 5000, 10_000, 20_000], help="limits of rows"
    )
    parser.add_argument(
        "--answers", nargs="*", choices=("labels", "probabilities"), default=["labels", "probabilities"]
    )
    parser.add_argument("--again", action="store_true", help="do afresh what other code has done")
    args = parser.parse_args()
    torch.set_num_threads(1)
    run(args)
    header, rows = report.read_csv(args.out / "limits.csv")
    written(args.out / "limits.md", header, rows, protocol.LAYOUT_NOTES[LAYOUT])


if __name__ == "__main__":
    main()
