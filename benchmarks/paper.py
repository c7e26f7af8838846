"""The paper's cases, with its settings and with ours, beside the paper's figures.

    python benchmarks/paper.py --data DIR [--layout published|true] [--cases ERing/knn ...] [--n 30]
                               [--search default paper] [--probabilities] [--max-queries N]

Every sample is written to ``results/paper-samples.csv`` as soon as it is done, and a rerun
skips those that are there; the table ``results/paper-<layout>.md`` (and ``.csv``) is made from
that file. Counts of invalid samples are asserted first: without them no figure is comparable.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import protocol
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER, Continuous, Discrete, Features, SearchSettings

RESULTS = Path(__file__).parent / "results"
SEARCHES = {"default": SearchSettings(), "paper": PAPER}
KEY = ("layout", "search", "answers", "dataset", "model", "sample")
FIGURES = (
    "found", "proximity", "sparsity", "plausible", "plausible_1", "rows", "calls", "seconds", "model_seconds",
    "features", "segments", "largest_change", "optimum",
)  # fmt: skip
SEED = 0


def features_of(dataset: protocol.Dataset) -> Features:
    """What the protocol says of the columns: standardised, so their unit is 1, or listed."""
    return Features(
        [
            Discrete(dataset.discrete[i], name=name) if i in dataset.discrete else Continuous(name=name, scale=1.0)
            for i, name in enumerate(dataset.feature_names)
        ]
    )


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
    dataset: protocol.Dataset, model_name: str, search: str, args: argparse.Namespace, done: set[tuple[str, ...]]
) -> Iterable[dict[str, object]]:
    """Explain the samples of one case that are not done yet, one row of figures each."""
    model = protocol.fit_model(dataset, model_name)
    invalid = protocol.invalid_samples(dataset, model)
    if dataset.layout == "published" and model_name != "lstm":
        protocol.assert_counts(dataset.name, model_name, invalid)
    chosen = protocol.evenly_spaced(invalid, args.n or len(invalid))
    plausible, plausible_1 = protocol.plausibility(dataset), protocol.plausibility(dataset, n_neighbors=1)
    answers = "probabilities" if args.probabilities else "labels"
    for sample in tqdm(chosen.tolist(), desc=f"{dataset.name} {model_name} {search}", leave=False):
        key = (dataset.layout, search, answers, dataset.name, model_name, str(sample))
        if key in done:
            continue
        x, timed = dataset.X[sample], TimedModel(model, args.probabilities)
        explainer = NTDCFE(timed, features_of(dataset), settings=SEARCHES[search], seed=SEED)
        cf = explainer.explain(x, target=1, max_queries=args.max_queries)
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
            "rows": cf.n_queries,
            "calls": cf.n_calls,
            "seconds": round(cf.seconds, 4),
            "model_seconds": round(timed.seconds, 4),
            "features": len({change.feature for change in cf.changes}),
            "segments": len(cf.changes),
            "largest_change": cf.largest_change,
            "optimum": protocol.optimum(dataset, model_name, x) if model_name.startswith("rule") else np.nan,
        }


def read_samples(path: Path) -> list[dict[str, str]]:
    """The rows written so far."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def summarise(samples: list[dict[str, str]], paper: dict[tuple[str, str], dict[str, float]]) -> list[dict[str, object]]:
    """One row a case: means over its samples, proximity and sparsity over the valid ones, and the paper's figures."""
    cases: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for sample in samples:
        cases.setdefault(tuple(sample[k] for k in KEY[:-1]), []).append(sample)
    table = []
    for key, rows in cases.items():
        values = {name: np.array([float(row[name]) for row in rows]) for name in FIGURES}
        found = values["found"] == 1
        mean = {name: float(v[found].mean()) if found.any() else np.nan for name, v in values.items()}
        theirs = paper.get((key[3], key[4]), {})
        table.append(
            dict(zip(KEY[:-1], key, strict=True))
            | {"n": len(rows), "success": 100 * found.mean()}
            | {"plausibility": 100 * mean["plausible"], "plausibility_1": 100 * mean["plausible_1"]}
            | {name: mean[name] for name in ("proximity", "sparsity", "features", "segments", "largest_change")}
            | {name: float(values[name].mean()) for name in ("rows", "calls", "seconds", "model_seconds")}
            | {
                "to_optimum": float(values["proximity"][found].sum() / values["optimum"][found].sum())
                if found.any()
                else np.nan
            }
            | {
                f"paper_{name}": theirs.get(name, np.nan)
                for name in ("success", "plausibility", "proximity", "sparsity")
            }
        )
    return table


def write_tables(table: list[dict[str, object]], stem: Path) -> None:
    """The summary as CSV and as a Markdown table."""
    with stem.with_suffix(".csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in table)

    def number(value: float, digits: int = 1) -> str:
        return "-" if np.isnan(value) else f"{value:.{digits}f}"

    lines = [
        "Made by `benchmarks/paper.py`; ours / the paper's NTD-CFE. Proximity is L1 (L0 for discrete features), "
        "sparsity changed cells, both over valid counterfactuals. Plausible: the local outlier factor with 20 neighbours, "
        "and with 1; the paper does not say how many it took (`plausibility.md`).",
        "",
        "| search | answers | case | n | success % | proximity | of the optimum | sparsity | plausible %, 20 | plausible %, 1 "
        "| features | segments | rows | calls | seconds (in the model) |",
        "|" + " --- |" * 15,
    ]
    for row in table:
        r = {k: (float(v) if isinstance(v, (int, float)) else v) for k, v in row.items()}
        lines.append(
            f"| {r['search']} | {r['answers']} | {r['dataset']} {r['model']} | {int(row['n'])} "
            f"| {number(r['success'])} / {number(r['paper_success'])} "
            f"| {number(r['proximity'], 2)} / {number(r['paper_proximity'], 2)} | {number(r['to_optimum'], 3)} "
            f"| {number(r['sparsity'])} / {number(r['paper_sparsity'])} "
            f"| {number(r['plausibility'])} | {number(r['plausibility_1'])} / {number(r['paper_plausibility'])} "
            f"| {number(r['features'])} | {number(r['segments'])} | {number(r['rows'], 0)} | {number(r['calls'], 0)} "
            f"| {number(r['seconds'], 2)} ({number(r['model_seconds'], 2)}) |"
        )
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Run the cases asked for, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the datasets; sktime's downloader if not given")
    parser.add_argument("--paper", type=Path, help="the paper's figures as CSV; next to the data if not given")
    parser.add_argument("--layout", choices=("published", "true"), default="published")
    parser.add_argument("--cases", nargs="*", default=[], help="ERing/knn, ERing (all models) or /knn (all datasets)")
    parser.add_argument(
        "--n", type=int, default=30, help="samples a case, evenly spaced over the invalid ones; 0 for all"
    )
    parser.add_argument("--search", nargs="*", choices=tuple(SEARCHES), default=["default"])
    parser.add_argument("--probabilities", action="store_true", help="give the search probabilities, not labels")
    parser.add_argument("--max-queries", type=int, help="rows a sample, in place of the settings'")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "paper-samples.csv"
    samples = read_samples(path)
    done = {tuple(row[k] for k in KEY) for row in samples}
    figures = args.paper or (args.data.parent / "paper" / "results.csv" if args.data else None)
    paper = protocol.paper_figures(figures) if figures and figures.exists() else {}
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, [*KEY, *FIGURES])
        if not samples:
            writer.writeheader()
        for name in protocol.DATASETS:
            models = [m for m in protocol.MODELS if not args.cases or {f"{name}/{m}", name, f"/{m}"} & set(args.cases)]
            if not models:
                continue
            dataset = protocol.load(name, args.data, args.layout)
            for model in models:
                for search in args.search:
                    for row in run_case(dataset, model, search, args, done):
                        writer.writerow(row)
                        stream.flush()
    rows = [row for row in read_samples(path) if row["layout"] == args.layout]
    if rows:
        write_tables(summarise(rows, paper), args.out / f"paper-{args.layout}")
        print((args.out / f"paper-{args.layout}.md").read_text())


if __name__ == "__main__":
    main()
