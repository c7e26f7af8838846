"""The paper's NTD-CFE_in_dist: answers that a local outlier detector calls usual, all 40 cases, published layout.

    python benchmarks/in_distribution.py [--data DIR] [--cases ERing/knn ...] [--n 10] [--again]

The search gets ``plausible=LocalOutlierDetector(X_train)``, once with 20 neighbours, scikit-learn's default, and once with
1, the only number by which all train series are plausible (``plausibility.md``: the paper does not say which it took); and
once no test at all, to see whether its answer would have passed. Default settings, labels only, seed 0. Every sample is
written to ``results/in-distribution-samples.csv`` as soon as it is done; a rerun skips what is there, with ``--again`` only
what was done with the present engine. The tables are ``results/in-distribution.md`` and ``.csv``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import protocol
import report
import torch
from paper import TimedModel, chosen_models
from tqdm import tqdm

from ntdcfe import NTDCFE, Counterfactual, LocalOutlierDetector, SearchSettings

LAYOUT: protocol.Layout = "published"
# Neighbours of the test that the search gets; none without a test.
NEIGHBOURS = ("none", "20", "1")
KEY = ("dataset", "model", "test", "sample")
FIGURES = (
    "found", "proximity", "nearest_proximity", "sparsity", "edits", "plausible_20", "plausible_1", "original_20",
    "original_1", "only_implausible", "rows", "calls", "seconds", "model_seconds",
)  # fmt: skip
SOURCES = ("core", "benchmarks/protocol", "benchmarks/in_distribution.py")
SEED = 0
# Points of success below the paper's that are the most allowed, and cases that have to be at least at its.
MOST_BELOW, CASES_AT_LEAST = 15, 36
NAN = float("nan")
Row = dict[str, Any]
Case = tuple[str, str]


def measured(
    cf: Counterfactual, tests: Mapping[str, LocalOutlierDetector], discrete: np.ndarray, seconds: float
) -> Row:
    """The figures of one answer; `tests` by neighbours, `discrete` ``(D,)`` says which columns are."""

    def proximity(x: np.ndarray | None) -> float:
        if x is None:
            return NAN
        return float(np.where(discrete, x != cf.original, np.abs(x - cf.original)).sum())

    nearest = cf.options.get("nearest")
    return {
        "found": int(cf.found),
        "proximity": proximity(cf.x),
        "nearest_proximity": proximity(None if nearest is None else nearest.x),
        "sparsity": NAN if cf.x is None else int((cf.x != cf.original).sum()),
        "edits": len(cf.edits) or NAN,
        **{f"plausible_{k}": int(cf.x is not None and bool(tests[k](cf.x[None])[0])) for k in ("20", "1")},
        **{f"original_{k}": int(bool(tests[k](cf.original[None])[0])) for k in ("20", "1")},
        "only_implausible": int(cf.implausible),
        "rows": cf.rows,
        "calls": cf.calls,
        "seconds": cf.seconds,
        "model_seconds": seconds,
    }


def run_case(dataset: protocol.Dataset, model_name: str, n: int, done: set[tuple[str, ...]]) -> Iterator[Row]:
    """Explain the samples of one case that are not done yet, with each test and without."""
    model = protocol.fit_model(dataset, model_name)
    invalid = protocol.invalid_samples(dataset, model)
    protocol.assert_counts(dataset.name, model_name, invalid)
    tests = {k: LocalOutlierDetector(dataset.X, n_neighbors=int(k)) for k in ("20", "1")}
    discrete = np.array([i in dataset.discrete for i in range(dataset.X.shape[2])])
    for sample in tqdm(
        protocol.evenly_spaced(invalid, n).tolist(), desc=f"{dataset.name} {model_name}", leave=False
    ):
        for test in NEIGHBOURS:
            key = (dataset.name, model_name, test, str(sample))
            if key in done:
                continue
            timed = TimedModel(model, probabilities=False)
            explainer = NTDCFE(timed, dataset.features, plausible=tests.get(test), seed=SEED)
            cf = explainer.explain(dataset.X[sample], target=1)
            yield dict(zip(KEY, key, strict=True)) | measured(cf, tests, discrete, timed.seconds)


# --------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------


def mean(values: Iterable[float]) -> float:
    """Of those that are there; nan of none."""
    array = np.array(list(values), dtype=float)
    array = array[~np.isnan(array)]
    return float(array.mean()) if len(array) else NAN


def summarise(samples: Iterable[Mapping[str, str]], paper: Mapping[Case, Mapping[str, float]]) -> list[Row]:
    """One row a case and test: ours and the paper's."""
    by: dict[tuple[str, str], dict[str, dict[str, Row]]] = {}
    for sample in samples:
        values = {name: float(sample.get(name) or NAN) for name in FIGURES}
        tests = by.setdefault((sample["dataset"], sample["model"]), {})
        tests.setdefault(sample["test"], {})[sample["sample"]] = values
    table = []
    for case in [(d, m) for d in protocol.DATASETS for m in protocol.MODELS if (d, m) in by]:
        without, theirs = by[case].get("none", {}), paper.get(case, {})
        for test in ("20", "1"):
            with_test = by[case].get(test, {})
            if not with_test:
                continue
            found = [row for row in with_test.values() if row["found"]]
            passes = {s: bool(row["found"] and row[f"plausible_{test}"]) for s, row in without.items()}
            lost = [s for s, row in with_test.items() if passes.get(s) and not row["found"]]
            table.append(
                {
                    "dataset": case[0], "model": case[1], "test": test, "n": len(with_test),
                    "success": 100 * len(found) / len(with_test),
                    "paper_success": theirs.get("success", NAN),
                    "proximity": mean(row["proximity"] for row in found),
                    "nearest_proximity": mean(row["nearest_proximity"] for row in found),
                    "paper_proximity": theirs.get("proximity", NAN),
                    "usual_proximity": mean(row["proximity"] for row in found if row[f"original_{test}"]),
                    "sparsity": mean(row["sparsity"] for row in found),
                    "edits": mean(row["edits"] for row in found),
                    "plausible": 100 * mean(row[f"plausible_{test}"] for row in found),
                    "without_success": 100 * mean(row["found"] for row in without.values()),
                    "without_plausible": 100 * mean(passes.values()),
                    "lost": " ".join(lost),
                    "only_implausible": sum(int(row["only_implausible"]) for row in with_test.values()),
                    "missed_outliers": sum(
                        not row["found"] and row[f"original_{test}"] == 0 for row in with_test.values()
                    ),
                    **{name: mean(row[name] for row in with_test.values()) for name in ("rows", "calls", "seconds")},
                }
            )  # fmt: skip
    return table


def aims(table: list[Row], test: str) -> list[list[str]]:
    """What was aimed at, for a test of so many neighbours, and what was reached."""
    rows = [row for row in table if row["test"] == test]
    at_least = [row for row in rows if row["success"] >= row["paper_success"]]
    below = max((row["paper_success"] - row["success"] for row in rows), default=NAN)
    lost = [row for row in rows if row["lost"]]
    full = [row for row in rows if row["success"] == row["paper_success"] == 100]
    nearer = [row for row in full if row["proximity"] < row["paper_proximity"]]
    usual = [row for row in full if row["usual_proximity"] < row["paper_proximity"]]
    needed = max(0, CASES_AT_LEAST - 40 + len(rows))
    words = {True: "yes", False: "no"}

    def names(some: Iterable[Row]) -> str:
        told = ", ".join(case_name(row) for row in some)
        return f" (not: {told})" if told else ""

    return [
        [
            test, "success at least the paper's, cases", f"{needed} of {len(rows)}",
            str(len(at_least)), words[len(at_least) >= needed],
        ],
        [
            test, "points below the paper, worst case", f"{MOST_BELOW} or fewer", report.number(max(0.0, below)),
            words[bool(below <= MOST_BELOW)],
        ],
        [
            test, "found wherever the answer without the test is plausible, cases", str(len(rows)),
            str(len(rows) - len(lost)) + names(lost), words[not lost],
        ],
        [
            test, "proximity below the paper's where both are at 100%, cases", str(len(full)),
            str(len(nearer)) + names(row for row in full if row not in nearer), words[len(nearer) == len(full)],
        ],
        [
            test, "the same over originals that the test calls plausible, cases", str(len(full)),
            str(len(usual)) + names(row for row in full if row not in usual), words[len(usual) == len(full)],
        ],
    ]  # fmt: skip


def case_name(row: Row) -> str:
    """Dataset and model."""
    return f"{row['dataset']} {row['model']}"


def shortfalls(table: list[Row]) -> list[list[str]]:
    """Each case below the paper, or with samples that only the search without the test solves."""
    number = report.number
    found = []
    for row in table:
        if row["success"] >= row["paper_success"] and not row["lost"]:
            continue
        missed = row["n"] - round(row["success"] * row["n"] / 100)
        why = f"{row['only_implausible']} of {missed} missed with valid answers that the test refused"
        if row["missed_outliers"]:
            why += f"; {row['missed_outliers']} of {missed} are of originals that it refuses, too"
        if row["lost"]:
            why += f"; without the test a plausible one is found for samples {row['lost']}"
        beside = f"{number(row['success'])} / {number(row['paper_success'])}"
        found.append([case_name(row), row["test"], beside, number(row["without_plausible"]), why])
    return found


def write(header: report.Header, table: list[Row], out: Path) -> None:
    """Write the summary as CSV and as Markdown."""
    number = report.number
    report.write_csv(out / "in-distribution.csv", header, table)
    lines = [
        [
            case_name(row), row["test"], str(row["n"]),
            f"{number(row['success'])} / {number(row['paper_success'])}",
            f"{number(row['proximity'])} / {number(row['paper_proximity'])}", number(row["usual_proximity"]),
            number(row["nearest_proximity"]),
            number(row["sparsity"]), number(row["edits"]), number(row["plausible"], 0),
            number(row["without_success"], 0), number(row["without_plausible"], 0),
            number(row["rows"], 0), number(row["calls"], 0), number(row["seconds"], 2),
        ]
        for row in table
    ]  # fmt: skip
    lacking = shortfalls(table)
    report.write_markdown(
        out / "in-distribution.md",
        header,
        "Ours / the paper's NTD-CFE_in_dist: answers have to be inliers of the train split by the local outlier factor. The "
        "paper does not say with how many neighbours; its figures stand beside both. Its success is over all invalid samples, "
        "ours over those asked. Proximity is L1 (L0 for discrete features) over found answers, `nearest` that of the "
        "option of that name from the same search. Of plausible originals: over those that the test itself calls plausible; the "
        "others have to come from outside of the distribution, which is far. Plausible without: the share of samples for which the search without the "
        "test gives a plausible answer.",
        protocol.LAYOUT_NOTES[LAYOUT],
        "## What was aimed at",
        report.table(["neighbours", "what", "aim", "measured", "met"], [*aims(table, "20"), *aims(table, "1")]),
        "## Shortfalls",
        report.table(["case", "neighbours", "success %", "plausible without the test %", "why"], lacking)
        if lacking
        else "None.",
        "## Every case",
        report.table(
            [
                "case", "neighbours", "n", "success %", "proximity", "of plausible originals", "of `nearest`", "sparsity", "edits", "plausible %",
                "success without %", "plausible without %", "rows", "calls", "seconds",
            ],
            lines,
        ),
    )  # fmt: skip


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = report.parser(__doc__)
    parser.add_argument("--data", type=Path, default=protocol.data_folder(), help="datasets; else sktime's downloader")
    parser.add_argument("--cases", nargs="*", default=[], help="ERing/knn, ERing (all models) or /knn (all datasets)")
    parser.add_argument("--n", type=int, default=10, help="samples a case, evenly spaced over the invalid ones")
    parser.add_argument("--again", action="store_true", help="do afresh what another engine has done")
    return parser.parse_args()


def main() -> None:
    """Run the cases asked for, then write the tables."""
    args = arguments()
    torch.set_num_threads(1)
    if args.data is None:
        raise SystemExit("it needs the datasets, with the paper's figures beside them (--data)")
    paper = protocol.paper_figures(args.data.parent / "paper" / "results.csv", "NTD-CFE_in_dist")
    run = report.made(SearchSettings(), args, packages=("scikit-learn",))
    path = args.out / "in-distribution-samples.csv"
    before, samples = report.read_csv(path) if path.exists() else (run, [])
    models = {dataset: chosen_models(dataset, args.cases) for dataset in protocol.DATASETS}
    if args.again:
        current = {commit: report.is_present(commit, *SOURCES) for commit in {row["commit"] for row in samples}}
        samples = [row for row in samples if current[row["commit"]] or row["model"] not in models[row["dataset"]]]
    done = {tuple(row[k] for k in KEY) for row in samples}
    header = report.continued(run, before, samples)
    with report.appending(path, header, [*KEY, *FIGURES, "commit"], samples) as add:
        for name in filter(models.get, models):
            dataset = protocol.load(name, args.data, LAYOUT)
            for model in models[name]:
                for row in run_case(dataset, model, args.n, done):
                    add(row | {"commit": run.commit})
    write(header, summarise(report.read_csv(path)[1], paper), args.out)


if __name__ == "__main__":
    main()
