"""The paper's cases, with our settings and with the paper's, beside the paper's figures.

    python benchmarks/paper.py [--data DIR] [--layout true|published] [--cases ERing/knn ...] [--n 30]
                               [--search default|algorithm-1] [--probabilities] [--max-rows N] [--again]

Every sample is written to ``results/paper-<layout>-samples.csv`` as soon as it is done, with the commit it was done
at; Algorithm 1 and runs with probabilities have files of their own. A rerun skips samples that are there; with
``--again`` it skips only those that were done with the present engine. The table ``results/paper-<layout>.md`` (and
``.csv``) is made from that file. In the published layout the counts of invalid samples are asserted first: without
them no figure is comparable.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import engine
import numpy as np
import protocol
import report
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER

SEARCHES = {"default": engine.NEAREST, "algorithm-1": PAPER}
KEY = ("layout", "search", "answers", "dataset", "model", "sample")
FIGURES = (
    "found", "proximity", "sparsity", "plausible", "plausible_1", "rows", "calls", "seconds", "model_seconds",
    "features", "segments", "largest_change", "optimum",
)  # fmt: skip
OF_THE_PAPER = ("success", "plausibility", "proximity", "sparsity")
# What decides a row, beside the data.
SOURCES = ("core", "benchmarks/protocol", "benchmarks/paper.py")
SEED = 0
Case = tuple[str, str, str, str, str]


class TimedModel:
    """A model's predict or predict_proba that adds up its seconds."""

    def __init__(self, model: protocol.Model, probabilities: bool) -> None:
        self.ask = model.predict_proba if probabilities else model.predict
        self.seconds = 0.0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Labels (n,) or probabilities (n, 2) of series (n, K, D)."""
        started = time.perf_counter()
        answer = self.ask(X)
        self.seconds += time.perf_counter() - started
        return answer


def run_case(
    dataset: protocol.Dataset, model_name: str, args: argparse.Namespace, done: set[tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """Explain the samples of one case that are not done yet, one row of figures each."""
    model = protocol.fit_model(dataset, model_name)
    invalid = protocol.invalid_samples(dataset, model)
    if dataset.layout == "published":
        protocol.assert_counts(dataset.name, model_name, invalid)
    chosen = protocol.evenly_spaced(invalid, args.n or len(invalid))
    plausible, plausible_1 = protocol.plausibility(dataset), protocol.plausibility(dataset, n_neighbors=1)
    answers = "probabilities" if args.probabilities else "labels"
    for sample in tqdm(chosen.tolist(), desc=f"{dataset.name} {model_name}", leave=False):
        key = (dataset.layout, args.search, answers, dataset.name, model_name, str(sample))
        if key in done:
            continue
        x, timed = dataset.X[sample], TimedModel(model, args.probabilities)
        explainer = NTDCFE(timed, dataset.features, settings=SEARCHES[args.search], seed=SEED)
        cf = explainer.explain(x, target=1, **engine.row_limit(args.max_rows))
        changed = np.zeros(0) if cf.x is None else cf.x - x
        size = (
            np.where([i in dataset.discrete for i in range(x.shape[1])], changed != 0, np.abs(changed))
            if cf.x is not None
            else changed
        )
        yield dict(zip(KEY, key, strict=True)) | {
            "found": int(cf.found),
            "proximity": float(size.sum()),
            "sparsity": int((changed != 0).sum()),
            "plausible": int(cf.x is not None and plausible(cf.x[None])[0]),
            "plausible_1": int(cf.x is not None and plausible_1(cf.x[None])[0]),
            "rows": engine.rows(cf),
            "calls": engine.calls(cf),
            "seconds": cf.seconds,
            "model_seconds": timed.seconds,
            "features": len({change.feature for change in cf.changes}),
            "segments": len(cf.changes),
            "largest_change": cf.largest_change,
            "optimum": protocol.optimum(dataset, model_name, x) if model_name.startswith("rule") else np.nan,
        }


def stem(layout: str, search: str = "default", probabilities: bool = False) -> str:
    """How the files of a layout, a search and what it is told begin."""
    parts = ["paper", layout, *([search] if search != "default" else []), *(["probabilities"] if probabilities else [])]
    return "-".join(parts)


def by_case(samples: Iterable[Mapping[str, str]]) -> dict[Case, list[Mapping[str, str]]]:
    """The samples of each case, in the order of datasets and models."""
    order = {name: i for i, name in enumerate((*protocol.DATASETS, *protocol.MODELS))}
    cases: dict[Case, list[Mapping[str, str]]] = {}
    for sample in samples:
        cases.setdefault(tuple(sample[name] for name in KEY[:-1]), []).append(sample)  # type: ignore[arg-type]
    return dict(sorted(cases.items(), key=lambda case: [order.get(name, 0) for name in case[0]]))


def summarise(
    samples: Iterable[Mapping[str, str]], paper: Mapping[tuple[str, str], Mapping[str, float]]
) -> list[dict[str, Any]]:
    """One row a case: means over its samples, proximity and sparsity over the valid ones, and the paper's figures."""
    table = []
    for key, rows in by_case(samples).items():
        values = {name: np.array([float(row[name]) for row in rows]) for name in FIGURES}
        found = values["found"] == 1
        mean = {name: float(v[found].mean()) if found.any() else np.nan for name, v in values.items()}
        least = values["optimum"][found].sum() if found.any() else np.nan
        theirs = paper.get((key[3], key[4]), {})
        table.append(
            dict(zip(KEY[:-1], key, strict=True))
            | {"n": len(rows), "success": 100 * float(found.mean())}
            | {"plausibility": 100 * mean["plausible"], "plausibility_1": 100 * mean["plausible_1"]}
            | {name: mean[name] for name in ("proximity", "sparsity", "features", "segments", "largest_change")}
            | {name: float(values[name].mean()) for name in ("rows", "calls", "seconds", "model_seconds")}
            | {"to_optimum": float(values["proximity"][found].sum() / least)}
            | {f"paper_{name}": theirs.get(name, np.nan) for name in OF_THE_PAPER}
            # Whether the paper's figures are of series that are constant in time.
            | {"paper_constant": int(protocol.SPECS[key[3]].time_constant)}
        )
    return table


def write_tables(header: report.Header, table: list[dict[str, Any]], path: Path, layout: str) -> None:
    """Write a summary as CSV and as Markdown; `path` has no suffix."""
    report.write_csv(path.with_suffix(".csv"), header, table)
    report.write_markdown(
        path.with_suffix(".md"),
        header,
        "Ours / the paper's NTD-CFE. Proximity is L1 (L0 for discrete features), sparsity changed cells, both over valid "
        "counterfactuals. Plausible: the local outlier factor with 20 neighbours, and with 1; the paper does not say how "
        "many it took (`plausibility.md`).",
        protocol.LAYOUT_NOTES[layout],
        report.table(
            [
                "search", "answers", "case", "n", "success %", "proximity", "of the optimum", "sparsity",
                "plausible %, 20", "plausible %, 1", "features", "segments", "rows", "calls", "seconds (in the model)",
            ],
            [_cells(row, layout) for row in table],
        ),
    )  # fmt: skip


def _cells(row: Mapping[str, Any], layout: str) -> list[str]:
    number = report.number
    comparable = layout == "published" or not row["paper_constant"]

    def beside(name: str, digits: int = 1, theirs: str = "") -> str:
        printed = row[f"paper_{theirs or name}"] if comparable else None
        return f"{number(row[name], digits)} / {number(printed, digits)}"

    return [
        row["search"], row["answers"], f"{row['dataset']} {row['model']}", str(row["n"]),
        beside("success"), beside("proximity", 2), number(row["to_optimum"], 3), beside("sparsity"),
        number(row["plausibility"]), beside("plausibility_1", theirs="plausibility"),
        number(row["features"]), number(row["segments"]), number(row["rows"], 0), number(row["calls"], 0),
        f"{number(row['seconds'], 2)} ({number(row['model_seconds'], 2)})",
    ]  # fmt: skip


def chosen_models(dataset: str, cases: list[str]) -> list[str]:
    """The models of a dataset that are asked for."""
    return [m for m in protocol.MODELS if not cases or {f"{dataset}/{m}", dataset, f"/{m}"} & set(cases)]


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = report.parser(__doc__)
    protocol.add_arguments(parser)
    parser.add_argument("--paper", type=Path, help="the paper's figures as CSV; next to the data if not given")
    parser.add_argument("--cases", nargs="*", default=[], help="ERing/knn, ERing (all models) or /knn (all datasets)")
    parser.add_argument("--n", type=int, default=30, help="samples a case, evenly spaced over the invalid; 0 for all")
    parser.add_argument("--search", choices=tuple(SEARCHES), default="default")
    parser.add_argument("--probabilities", action="store_true", help="give the search probabilities, not labels")
    parser.add_argument("--max-rows", type=int, help="rows a sample, in place of the settings'")
    parser.add_argument("--again", action="store_true", help="do afresh what another engine has done")
    return parser.parse_args()


def main() -> None:
    """Run the cases asked for, then write the tables."""
    args = arguments()
    run = report.made(SEARCHES[args.search], args)
    name = stem(args.layout, args.search, args.probabilities)
    path = args.out / f"{name}-samples.csv"
    before, samples = report.read_csv(path) if path.exists() else (run, [])
    models = {dataset: chosen_models(dataset, args.cases) for dataset in protocol.DATASETS}
    if args.again:
        current = {commit: report.is_present(commit, *SOURCES) for commit in {row["commit"] for row in samples}}
        samples = [row for row in samples if current[row["commit"]] or row["model"] not in models[row["dataset"]]]
    done = {tuple(row[k] for k in KEY) for row in samples}
    figures = args.paper or (args.data.parent / "paper" / "results.csv" if args.data else None)
    paper = protocol.paper_figures(figures) if figures and figures.exists() else {}
    header = report.continued(run, before, samples)
    with report.appending(path, header, [*KEY, *FIGURES, "commit"], samples) as add:
        for dataset_name in filter(models.get, models):
            dataset = protocol.load(dataset_name, args.data, args.layout)
            for model in models[dataset_name]:
                for row in run_case(dataset, model, args, done):
                    add(row | {"commit": run.commit})
    _, samples = report.read_csv(path)
    if samples:
        write_tables(header, summarise(samples, paper), args.out / name, args.layout)


if __name__ == "__main__":
    main()
