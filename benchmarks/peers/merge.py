"""Merge what the environments wrote into one table, beside ours: ``results/peers.md`` and ``results/peers.csv``.

    python benchmarks/peers/merge.py [--html BasicMotions/random_forest --folder benchmarks/peers/cases]

``--html`` writes the page of one case, ``comparison.html``, from the counterfactuals that run.py kept.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, MODELS, STATIC, load
from methods import METHODS
from protocol import DATASETS
from run import RESULTS, read, slug

from ntdcfe_plugins.compare import COLUMNS, Comparison, Cost

OURS = "NTD-CFE"
RIVAL = "CFWoT"
COSTS = {"l1": "L1", "sparsity": "L0", "calls": "calls", "cpu_seconds": "CPU s"}
# Less than this share apart counts as level.
LEVEL = 0.02
NAMES = {"knn": "KNN", "random_forest": "forest"}
Row = dict[str, Any]


def typed(row: dict[str, str]) -> Row:
    """A row of a results file with numbers as numbers."""

    def value(text: str) -> Any:
        if text in ("True", "False"):
            return text == "True"
        try:
            return float(text)
        except ValueError:
            return text or float("nan")

    return {name: text if name in ("method", "dataset", "model", "note") else value(text) for name, text in row.items()}


def mean(rows: Iterable[Row], name: str) -> float:
    """Over the rows that have a value."""
    values = np.array([row[name] for row in rows], dtype=float)
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def summarise(rows: list[Row]) -> Row:
    """One method on one case: distances over successes, costs over all samples."""
    good = [row for row in rows if row["success"]]
    failed = sorted({str(row["status"]) for row in rows if row["status"] in ("failed", "time limit")})
    return {
        "method": rows[0]["method"], "dataset": rows[0]["dataset"], "model": rows[0]["model"],
        "data": METHODS[rows[0]["method"]].data, "n": len(rows), "success": 100 * len(good) / len(rows),
        **{name: mean(good, name) for name in ("l1", "sparsity", "features", "segments")},
        "plausible": 100 * mean(good, "plausible"), "allowed": 100 * mean(good, "allowed"),
        **{name: mean(rows, name) for name in ("rows", "calls", "cpu_seconds", "fit_rows", "fit_seconds")},
        "failures": ", ".join(f"{sum(row['status'] == f for row in rows)} {f}" for f in failed),
    }  # fmt: skip


def beside(ours: list[Row], theirs: list[Row]) -> Row:
    """Ours and another method on the samples that both were asked about: success, and distances where both succeed."""
    mine = {row["sample"]: row for row in ours}
    pairs = [(mine[row["sample"]], row) for row in theirs if row["sample"] in mine]
    both = [(a, b) for a, b in pairs if a["success"] and b["success"]]

    def ratio(of: list[tuple[Row, Row]], name: str) -> float:
        if not of:
            return float("nan")
        # What took no time that could be measured did not take none.
        return float(np.sum([a[name] for a, _ in of]) / max(np.sum([b[name] for _, b in of]), 1e-12))

    return {
        "success": (100 * mean([a for a, _ in pairs], "success"), 100 * mean([b for _, b in pairs], "success")),
        "n": len(pairs),
        "both": len(both),
        **{name: ratio(both, name) for name in ("l1", "sparsity")},
        **{name: ratio(pairs, name) for name in ("calls", "cpu_seconds")},
    }


def verdict(row: Row) -> str:
    """Where ours is not best or level, in words; "best" if it is everywhere."""
    behind = []
    if row["success"][0] < row["success"][1]:
        behind.append(f"success {row['success'][0]:.0f} to {row['success'][1]:.0f}")
    for name, label in (("l1", "L1"), ("sparsity", "L0")):
        if row[name] > 1 + LEVEL:
            behind.append(f"{label} {row[name]:.2f} times")
    return "behind in " + ", ".join(behind) if behind else "best or level"


def number(value: float, digits: int = 1) -> str:
    """For a table; "-" where there is none."""
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def cases_of(samples: dict[str, list[Row]]) -> list[tuple[str, str]]:
    """Dataset and model of every case that somebody ran, in the protocol's order."""
    ran = {(row["dataset"], row["model"]) for rows in samples.values() for row in rows}
    return [(d, m) for d in (*DATASETS, STATIC) for m in MODELS if (d, m) in ran]


def of_case(rows: list[Row], case: tuple[str, str]) -> list[Row]:
    """The rows of one case."""
    return [row for row in rows if (row["dataset"], row["model"]) == case]


def short_table(samples: dict[str, list[Row]]) -> list[str]:
    """A line a method over all cases, beside ours on the same samples."""
    lines = [
        "| method | code | training data | cases x samples | success % | L1 of ours / its | L0 of ours / its | plausible % | rows | calls | CPU s | seconds to fit |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, rows in samples.items():
        pairs = [beside(of_case(samples.get(OURS, []), case), of_case(rows, case)) for case in cases_of({name: rows})]
        log = {k: np.log([p[k] for p in pairs if p["both"] and p[k] > 0]) for k in ("l1", "sparsity")}
        ratio = {k: float(np.exp(v.mean())) if len(v) else float("nan") for k, v in log.items()}
        good = [row for row in rows if row["success"]]
        fits = {(row["dataset"], row["model"]): row["fit_seconds"] for row in rows}
        lines.append(
            f"| {name} | {METHODS[name].system} | {METHODS[name].data} | {len(pairs)}, {len(rows)} "
            f"| {100 * len(good) / len(rows):.0f} | {number(ratio['l1'], 2)} | {number(ratio['sparsity'], 2)} "
            f"| {number(100 * mean(good, 'plausible'), 0)} | {number(mean(rows, 'rows'), 0)} | {number(mean(rows, 'calls'), 0)} "
            f"| {number(mean(rows, 'cpu_seconds'), 2)} | {number(float(np.nanmean(list(fits.values()))) if fits else np.nan, 1)} |"
        )
    return lines


def verdicts(samples: dict[str, list[Row]], data: bool) -> list[str]:
    """A line a case: ours beside each method that needs training data, or none, on the samples of both."""
    rivals = [m for m in samples if (METHODS[m].data == "yes") == data and not m.startswith(OURS)]
    lines = ["| case | " + " | ".join(rivals) + " |", "| --- " * (len(rivals) + 1) + "|"]
    for case in cases_of(samples):
        cells = []
        for rival in rivals:
            mine, theirs = of_case(samples.get(OURS, []), case), of_case(samples[rival], case)
            cells.append(verdict(beside(mine, theirs)) if mine and theirs else "-")
        lines.append(f"| {case[0]} {NAMES[case[1]]} | " + " | ".join(cells) + " |")
    return lines


def same_paper(samples: dict[str, list[Row]]) -> list[str]:
    """A line a case: ours beside the other implementation of the paper."""
    lines = [
        "| case | samples | success % | both succeed | L1, ours / its | L0, ours / its | calls, ours / its | CPU s, ours / its | behind in |",
        "| --- " * 9 + "|",
    ]
    for case in cases_of({RIVAL: samples.get(RIVAL, [])}):
        pair = beside(of_case(samples.get(OURS, []), case), of_case(samples[RIVAL], case))
        behind = [label for name, label in COSTS.items() if pair[name] >= 1]
        behind += ["success"] if pair["success"][0] < pair["success"][1] else []
        lines.append(
            f"| {case[0]} {NAMES[case[1]]} | {pair['n']} | {number(pair['success'][0], 0)} / {number(pair['success'][1], 0)} | {pair['both']} "
            + "".join(f"| {number(pair[name], 3)} " for name in COSTS)
            + f"| {', '.join(behind) or '-'} |"
        )
    return lines


def long_table(table: list[Row]) -> list[str]:
    """A line a case and method."""
    lines = [
        "| case | method | data | n | success % | L1 | L0 | features | segments | plausible % | rows | calls | CPU s | fit rows | failures |",
        "| --- " * 15 + "|",
    ]
    for row in table:
        lines.append(
            f"| {row['dataset']} {NAMES[row['model']]} | {row['method']} | {row['data']} | {row['n']} | {row['success']:.0f} "
            f"| {number(row['l1'], 2)} | {number(row['sparsity'])} | {number(row['features'])} | {number(row['segments'])} "
            f"| {number(row['plausible'], 0)} | {number(row['rows'], 0)} | {number(row['calls'], 0)} | {number(row['cpu_seconds'], 2)} "
            f"| {number(row['fit_rows'], 0)} | {row['failures']} |"
        )
    return lines


def page(samples: dict[str, list[Row]], name: str, folder: Path, path: Path) -> None:
    """Write the HTML page of one case."""
    dataset, model = name.split("/")
    case = load(folder / f"{dataset}-{model}.npz")
    order = {int(sample): i for i, sample in enumerate(case.samples)}
    table, found, fits = [], {}, {}
    for method, all_rows in samples.items():
        for row in of_case(all_rows, (dataset, model)):
            i = order[int(row["sample"])]
            table.append({c: {"instance": i}.get(c, row.get(c)) for c in COLUMNS})
            kept = folder / "found" / f"{slug(method)}-{dataset}-{model}-{int(row['sample'])}.npy"
            found[method, i] = np.load(kept) if kept.exists() else None
            fits[method] = Cost(row["fit_rows"], float("nan"), row["fit_seconds"])
    comparison = Comparison(table, case.X[case.samples], found, fits, "class 1", case.features)
    comparison.to_html(path, f"{dataset}, {NAMES[model]}: counterfactual explainers side by side")


def main() -> None:
    """Write the tables, and the page if asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--html", help="a case, such as BasicMotions/random_forest")
    parser.add_argument("--folder", type=Path, default=CASES, help="where cases.py saved the cases")
    parser.add_argument("--page", type=Path, default=Path("comparison.html"))
    args = parser.parse_args()
    samples = {name: [typed(r) for r in read(args.results / f"{slug(name)}.csv")] for name in METHODS}
    samples = {name: rows for name, rows in samples.items() if rows}
    table = [
        summarise(rows) for case in cases_of(samples) for name in samples if (rows := of_case(samples[name], case))
    ]
    stem = args.results.parent / "peers"
    with stem.with_suffix(".csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in table)
    lines = [
        "Made by `benchmarks/peers/merge.py` from `results/peers/*.csv`. Everybody explains the same samples of the same models "
        "(published layout of the protocol, and one static dataset). Distances are means over successes; ratios are over the "
        "samples that both methods solve, geometric means over cases. L0 is changed cells. CPU seconds were taken on a "
        "machine with other work, of one core.",
        "",
        "## Over all cases",
        "",
        *short_table(samples),
        "",
        "## Ours (labels only) beside those that need no training data",
        "",
        f"On the samples that both were asked about; within {LEVEL:.0%} is level.",
        "",
        *verdicts(samples, data=False),
        "",
        "## Ours (labels only, no data) beside those that have the training data",
        "",
        *verdicts(samples, data=True),
        "",
        "## Ours (labels only) beside CFWoT, the other implementation of the paper",
        "",
        *same_paper(samples),
        "",
        "## Every case",
        "",
        *long_table(table),
    ]
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[: 8 + len(samples)]))
    if args.html:
        page(samples, args.html, args.folder, args.page)
        print(f"\nwrote {args.page}")


if __name__ == "__main__":
    main()
