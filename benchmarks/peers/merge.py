"""Merge what the environments wrote into one table, beside ours: ``results/peers-<layout>.md`` and ``.csv``.

    python benchmarks/peers/merge.py [--layout true|published] [--html BasicMotions/random_forest]

``--html`` writes the page of one case, ``comparison.html``, from the counterfactuals that run.py kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from cases import LAYOUT_NOTES, MODELS, STATIC, WANTED, Case, case_file, folder_of, load, protocol, report
from methods import METHODS
from run import OURS, found_file, slug

from ntdcfe_plugins.compare import COLUMNS, Comparison, Cost

RIVAL = "CFWoT"
MEASURES = ("edits", "segments", "contiguity", "roughness", "survival_1", "survival_5", "confidence", "dtw")
COSTS = {"l1": "L1", "sparsity": "L0", "calls": "calls", "cpu_seconds": "CPU s"}
# Less than this share apart counts as level.
LEVEL = 0.02
number = report.number
NAMES = {"knn": "KNN", "random_forest": "forest"}
# On a page, which has the nearest and the simplest answer beside each other.
SHOWN = {OURS: "ours (nearest)", "NTD-CFE (simplest)": "ours (simplest)"}
NEEDS = {"no": "nothing", "ranges": "the ranges of the data", "yes": "the training data"}
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

    texts = ("method", "layout", "dataset", "model", "note", "commit")
    return {name: text if name in texts else value(text) for name, text in row.items()}


def mean(rows: Iterable[Row], name: str) -> float:
    """Over the rows that have a value."""
    values = np.array([row.get(name, np.nan) for row in rows], dtype=float)  # older rows lack some
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def summarise(rows: list[Row]) -> Row:
    """One method on one case: distances over successes, costs over all samples."""
    good = [row for row in rows if row["success"]]
    failed = sorted({str(row["status"]) for row in rows if row["status"] in ("failed", "time limit")})
    return {
        "method": rows[0]["method"], "dataset": rows[0]["dataset"], "model": rows[0]["model"],
        "data": METHODS[rows[0]["method"]].data, "n": len(rows), "success": 100 * len(good) / len(rows),
        **{name: mean(good, name) for name in ("l1", "sparsity", "features", *MEASURES)},
        **{name: 100 * mean(good, name) for name in ("plausible", "plausible_forest", "allowed")},
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
        behind.append(f"success {number(row['success'][0], 0)} to {number(row['success'][1], 0)}")
    for name, label in (("l1", "L1"), ("sparsity", "L0")):
        if row[name] > 1 + LEVEL:
            behind.append(f"{label} {number(row[name], 2)} times")
    return "behind in " + ", ".join(behind) if behind else "best or level"


def cases_of(samples: dict[str, list[Row]]) -> list[tuple[str, str]]:
    """Dataset and model of every case that somebody ran, in the protocol's order."""
    ran = {(row["dataset"], row["model"]) for rows in samples.values() for row in rows}
    return [(d, m) for d in (*protocol.DATASETS, STATIC) for m in MODELS if (d, m) in ran]


def of_case(rows: list[Row], case: tuple[str, str]) -> list[Row]:
    """The rows of one case."""
    return [row for row in rows if (row["dataset"], row["model"]) == case]


def short_table(samples: dict[str, list[Row]]) -> list[str]:
    """A line a method over all cases, beside ours on the same samples."""
    lines = []
    for name, rows in samples.items():
        pairs = [beside(of_case(samples.get(OURS, []), case), of_case(rows, case)) for case in cases_of({name: rows})]
        log = {k: np.log([p[k] for p in pairs if p["both"] and p[k] > 0]) for k in ("l1", "sparsity")}
        ratio = {k: float(np.exp(v.mean())) if len(v) else float("nan") for k, v in log.items()}
        good = [row for row in rows if row["success"]]
        fits = {(row["dataset"], row["model"]): row["fit_seconds"] for row in rows}
        lines.append(
            [
                name, METHODS[name].system, METHODS[name].data, f"{len(pairs)}, {len(rows)}",
                number(100 * len(good) / len(rows), 0), number(ratio["l1"], 2), number(ratio["sparsity"], 2),
                number(mean(good, "segments")), number(100 * mean(good, "survival_1"), 0),
                number(100 * mean(good, "plausible"), 0), number(mean(rows, "rows"), 0), number(mean(rows, "calls"), 0),
                number(mean(rows, "cpu_seconds"), 2), number(float(np.nanmean(list(fits.values()))) if fits else None),
            ]
        )  # fmt: skip
    head = [
        "method", "code", "training data", "cases x samples", "success %", "L1 of ours / its", "L0 of ours / its",
        "segments", "survives 1% noise, %", "plausible %", "rows", "calls", "CPU s", "seconds to fit",
    ]  # fmt: skip
    return report.table(head, lines)


def verdicts(samples: dict[str, list[Row]], data: bool) -> list[str]:
    """A line a case: ours beside each method that needs training data, or none, on the samples of both."""
    rivals = [m for m in samples if (METHODS[m].data == "yes") == data and not m.startswith(OURS)]
    lines = []
    for case in cases_of(samples):
        cells = []
        for rival in rivals:
            mine, theirs = of_case(samples.get(OURS, []), case), of_case(samples[rival], case)
            cells.append(verdict(beside(mine, theirs)) if mine and theirs else "-")
        lines.append([f"{case[0]} {NAMES[case[1]]}", *cells])
    return report.table(["case", *rivals], lines)


def same_paper(samples: dict[str, list[Row]]) -> list[str]:
    """A line a case: ours beside the other implementation of the paper."""
    lines = []
    for case in cases_of({RIVAL: samples.get(RIVAL, [])}):
        pair = beside(of_case(samples.get(OURS, []), case), of_case(samples[RIVAL], case))
        behind = [label for name, label in COSTS.items() if pair[name] >= 1]
        behind += ["success"] if pair["success"][0] < pair["success"][1] else []
        lines.append(
            [
                f"{case[0]} {NAMES[case[1]]}", pair["n"], " / ".join(number(share, 0) for share in pair["success"]),
                pair["both"], *(number(pair[name], 3) for name in COSTS), ", ".join(behind) or "-",
            ]
        )  # fmt: skip
    costs = [f"{label}, ours / its" for label in COSTS.values()]
    return report.table(["case", "samples", "success %", "both succeed", *costs, "behind in"], lines)


def long_table(table: list[Row]) -> list[str]:
    """A line a case and method."""
    digits = {"l1": 2, "sparsity": 1, "features": 1, "edits": 1, "segments": 1, "contiguity": 2, "roughness": 2}
    digits |= {"survival_1": 2, "survival_5": 2, "confidence": 2, "dtw": 1, "plausible": 0, "plausible_forest": 0}
    digits |= {"rows": 0, "calls": 0, "cpu_seconds": 2, "fit_rows": 0}
    head = [
        "case", "method", "data", "n", "success %", "L1", "L0", "features", "edits", "segments", "contiguity", "roughness",
        "survival at 1%", "at 5%", "confidence", "DTW", "plausible %", "by isolation forest %", "rows", "calls", "CPU s",
        "fit rows", "failures",
    ]  # fmt: skip
    lines = [
        [
            f"{row['dataset']} {NAMES[row['model']]}", row["method"], row["data"], row["n"], number(row["success"], 0),
            *(number(row[name], d) for name, d in digits.items()), row["failures"],
        ]
        for row in table
    ]  # fmt: skip
    return report.table(head, lines)


def about_series(case: Case) -> str:
    """What a reader of a page about one case has to know of its series."""
    if case.classes:
        return (
            f"{case.dataset}: accelerometer and gyroscope of a smart watch. A forest of four activities, fitted to the "
            "training series; values are in standard deviations of each channel."
        )
    if case.static:
        return "Rows of a table, no series."
    if not protocol.SPECS[case.dataset].time_constant:
        return "The real series, which are those of the paper's figures, too."
    if case.layout == "published":
        return "These series are constant in time, as in the paper's own figures: every one repeats its first step."
    return "The real series. The paper's own figures of this dataset are of series that repeat their first step."


def page(samples: dict[str, list[Row]], headers: dict[str, report.Header], name: str, folder: Path, path: Path) -> None:
    """Write the HTML page of one case."""
    dataset, model = name.split("/")
    case = load(case_file(folder, dataset, model))
    order = {int(sample): i for i, sample in enumerate(case.samples)}
    table, found, fits, needs = [], {}, {}, {}
    for method, all_rows in samples.items():
        shown = SHOWN.get(method, method)
        # Rows of an earlier run on more samples are left out.
        for row in (r for r in of_case(all_rows, (dataset, model)) if int(r["sample"]) in order):
            i = order[int(row["sample"])]
            text = {"method": shown, "note": row["note"] if isinstance(row["note"], str) else ""}
            table.append({c: {"instance": i, **text}.get(c, row.get(c, float("nan"))) for c in COLUMNS})
            kept = found_file(folder, method, dataset, model, int(row["sample"]))
            found[shown, i] = np.load(kept) if kept.exists() else None
            fits[shown] = Cost(row["fit_rows"], float("nan"), row["fit_seconds"])
            needs.setdefault(METHODS[method].data, dict[str, None]()).setdefault(shown)
    remarks = [METHODS[method].remark for method in samples if METHODS[method].remark]
    said = case.model.predict_proba(case.X[case.samples]).argmax(1)
    data = "; ".join(f"{NEEDS[kind]}: {', '.join(names)}" for kind, names in needs.items())
    comparison = Comparison(
        table, case.X[case.samples], found, fits, WANTED if case.classes else "class 1", case.features,
        [case.classes[k] if case.classes else f"class {k}" for k in said],
        {SHOWN.get(method, method): header.versions for method, header in headers.items()},
        [about_series(case), f"What they need beside the model: {data}.", *remarks],
    )  # fmt: skip
    comparison.to_html(path, f"{dataset}, {NAMES[model]}: counterfactual explainers side by side")


def main() -> None:
    """Write the tables, and the page if asked for."""
    parser = report.parser(__doc__)
    parser.set_defaults(out=None)
    parser.add_argument("--results", type=Path, default=report.RESULTS / "peers", help="what run.py wrote")
    parser.add_argument("--layout", choices=protocol.LAYOUTS, default="true")
    parser.add_argument("--html", help="a case, such as BasicMotions/random_forest")
    parser.add_argument("--folder", type=Path, help="where cases.py saved the cases, if not in the layout's own folder")
    parser.add_argument("--page", type=Path, default=Path("comparison.html"))
    args = parser.parse_args()
    samples, headers = {}, {}
    for name in METHODS:
        path = args.results / f"{slug(name)}.csv"
        if not path.exists():
            continue
        headers[name], rows = report.read_csv(path)
        # What is static has no layout, so it belongs to both.
        rows = [row for row in rows if row["layout"] == args.layout or row["dataset"] == STATIC]
        if rows:
            samples[name] = [typed(row) for row in rows]
    if not samples:
        raise SystemExit(f"{args.results}: no rows of layout {args.layout}")
    made_at = "; ".join(f"{name} at {', '.join(dict.fromkeys(r['commit'] for r in samples[name]))}" for name in samples)
    header = report.made(
        args, note=f"Made of runs: {made_at}. How they were limited stands in the headers of their files."
    )
    table = [
        summarise(rows) for case in cases_of(samples) for name in samples if (rows := of_case(samples[name], case))
    ]
    stem = (args.out or args.results.parent) / f"peers-{args.layout}"
    report.write_csv(stem.with_suffix(".csv"), header, table)
    report.write_markdown(
        stem.with_suffix(".md"),
        header,
        "From `peers/*.csv` beside this file. Everybody explains the same samples of the same models. Distances are means over "
        "successes; ratios are over the samples that both methods solve, geometric means over cases. L0 is changed cells. "
        "CPU seconds were taken on a machine with other work, of one core.",
        LAYOUT_NOTES[args.layout],
        "## Over all cases",
        short_table(samples),
        "## Ours (labels only) beside those that need no training data",
        f"On the samples that both were asked about; within {LEVEL:.0%} is level.",
        verdicts(samples, data=False),
        "## Ours (labels only, no data) beside those that have the training data",
        verdicts(samples, data=True),
        f"## Ours (labels only) beside {RIVAL}, the other implementation of the paper",
        same_paper(samples),
        "## Every case",
        long_table(table),
    )
    if args.html:
        page(samples, headers, args.html, args.folder or folder_of(args.layout), args.page)
        print(f"\nwrote {args.page}")


if __name__ == "__main__":
    main()
