"""The tables of limits.py: ratios to the optimum, spread over seeds, rows, and what was aimed at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import protocol
import report

MODELS = (*protocol.MODELS, "logistic")
NAMES = {
    "rule_1": "rule 1", "rule_2": "rule 2", "knn": "KNN", "random_forest": "random forest", "lstm": "LSTM",
    "logistic": "logistic regression",
}  # fmt: skip
KEY = ("dataset", "model", "sample", "answers", "limit", "seed")
FIGURES = (
    "found", "widened", "l1", "cost", "cells", "rows", "calls", "seconds", "model_seconds", "optimum_l1", "bound_l1",
    "optimum_cost", "bound_cost",
)  # fmt: skip
COLUMNS = (*KEY, *FIGURES, "commit")
USUAL = 10_000
# There is no ratio to an optimum of nothing.
TINY = 1e-9
Row = dict[str, Any]
Line = tuple[str, str, str, bool | None]


def geometric(values: Iterable[float]) -> float:
    """The geometric mean of those that are there; nan of none."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else float("nan")


def mean(values: Iterable[float]) -> float:
    """The mean of those that are there; nan of none."""
    there = [value for value in values if value == value]
    return sum(there) / len(there) if there else float("nan")


class Runs:
    """All runs, each with the best reference of its sample.

    Parameters
    ----------
    rows
        As read from the file.
    """

    def __init__(self, rows: Iterable[report.Row]) -> None:
        self.rows: list[Row] = []
        for row in rows:
            numbers = {name: float(row[name] or "nan") for name in FIGURES}
            self.rows.append({name: row[name] for name in KEY} | numbers | {"limit": int(row["limit"])})
        # Runs of one sample at different times may have references of different strength.
        for name in ("l1", "cost"):
            best: dict[tuple[Any, ...], float] = {}
            for row in self.rows:
                # Ours may be better than a reference, and never better than what is proven.
                ours = row[name] if not row[f"bound_{name}"] else math.nan
                known = (value for value in (row[f"optimum_{name}"], ours) if value == value)
                best[_limits(row)] = min((best.get(_limits(row), math.inf), *known))
            for row in self.rows:
                beside = row["found"] and best[_limits(row)] > TINY
                row[f"ratio_{name}"] = row[name] / best[_limits(row)] if beside else float("nan")

    def of(self, model: str, answers: str = "labels", limit: int = USUAL, dataset: str | None = None) -> list[Row]:
        """The runs of a kind."""
        return [
            row
            for row in self.rows
            if (row["model"], row["answers"], row["limit"]) == (model, answers, limit)
            and dataset in (None, row["dataset"])
        ]

    def by_dataset(
        self, figure: Callable[[Sequence[Row]], float], model: str, answers: str = "labels", limit: int = USUAL
    ) -> dict[str, float]:
        """A figure of the runs on each dataset that has any."""
        found = {name: figure(rows) for name in protocol.DATASETS if (rows := self.of(model, answers, limit, name))}
        return {name: value for name, value in found.items() if value == value}


def _limits(row: Row) -> tuple[Any, ...]:
    """What an optimum is of: a sample, and the limits of the search."""
    return (row["dataset"], row["model"], row["sample"], row["widened"])


def ratio(rows: Sequence[Row], of: str = "cost") -> float:
    """Ours over the optimum, the geometric mean."""
    return geometric(row[f"ratio_{of}"] for row in rows)


def spread(rows: Sequence[Row]) -> float:
    """The worst of the seeds over the best, the geometric mean over samples; nan where there are no two seeds."""
    costs: dict[str, list[float]] = {}
    for row in rows:
        if row["found"]:
            costs.setdefault(row["sample"], []).append(row["cost"])
    return geometric(max(some) / min(some) for some in costs.values() if len(some) > 1 and min(some) > TINY)


def own_time(rows: Sequence[Row]) -> float:
    """Our own time over the model's."""
    model = sum(row["model_seconds"] for row in rows)
    return (sum(row["seconds"] for row in rows) - model) / model if model else float("nan")


def average(name: str) -> Callable[[Sequence[Row]], float]:
    """The mean of a figure."""
    return lambda rows: mean(row[name] for row in rows)


def at_most(what: str, values: dict[str, float], limit: float, worst: bool = False, digits: int = 2) -> list[Line]:
    """An aim for a figure of each dataset: of their geometric mean, or of the worst of them."""
    if not values:
        return []
    most = max(values, key=lambda name: values[name])
    value = values[most] if worst else geometric(values.values())
    missed = [f"{name} {report.number(v, digits)}" for name, v in values.items() if v > limit]
    told = f"{len(values)} datasets" if not worst else f"missed by: {', '.join(missed)}" if missed else most
    return [(what, f"{limit:g} or less", f"{report.number(value, digits)} ({told})", value <= limit)]


def of_ratios(runs: Runs) -> list[Line]:
    """The aims for the cost over the optimum, and for its spread."""
    forests = {answers: runs.by_dataset(ratio, "random_forest", answers) for answers in ("labels", "probabilities")}
    early = runs.by_dataset(ratio, "random_forest", limit=1000)
    knn = runs.by_dataset(ratio, "knn")
    spreads = {f"{d} {NAMES[m]}": v for m in MODELS[:5] for d, v in runs.by_dataset(spread, m).items()}
    rules = {f"{d} {NAMES[m]}": v for m in MODELS[:2] for d, v in runs.by_dataset(ratio, m).items()}
    return [
        *at_most("forests: cost over the optimum", forests["labels"], 1.15),
        *at_most("forests: worst dataset", forests["labels"], 1.3, worst=True),
        *at_most("forests with probabilities", forests["probabilities"], 1.10),
        *at_most("forests with probabilities: worst dataset", forests["probabilities"], 1.2, worst=True),
        *at_most("forests at 1,000 rows", early, 1.6),
        *at_most("KNN: cost over the reference", knn, 1.15),
        *at_most("KNN: NATOPS", {name: v for name, v in knn.items() if name == "NATOPS"}, 1.3, worst=True),
        *at_most("LSTM: cost over the reference", runs.by_dataset(ratio, "lstm"), 1.08),
        *at_most("rules: worst case", rules, 1.015, worst=True, digits=3),
        *at_most("spread: worst seed over best, average over cases", spreads, 1.15),
    ]


def of_effort(runs: Runs) -> list[Line]:
    """The aims for rows, calls and our own time."""
    lines: list[Line] = []
    for what, limit in (("rows", 4000), ("calls", 60)):
        values = [v for m in MODELS[:5] for v in runs.by_dataset(average(what), m).values()]
        if values:
            told = f"{report.number(mean(values), 0)} ({len(values)} cases)"
            lines.append((f"{what}, average over cases", f"{limit:,} or less", told, mean(values) <= limit))
    if own := runs.by_dataset(own_time, "random_forest"):
        in_all = own_time(runs.of("random_forest"))
        lines.append(
            ("forests: own time over the model's, in sum", "0.5 or less", report.number(in_all, 2), in_all <= 0.5)
        )
        lines += at_most("forests: own time over the model's, worst dataset", own, 0.6, worst=True)
    return lines


def aims(runs: Runs) -> list[str]:
    """The aims as a table."""
    words = {True: "yes", False: "no", None: "-"}
    lines = [*of_ratios(runs), *of_effort(runs)]
    return report.table(["what", "aim", "measured", "met"], [[*line[:3], words[line[3]]] for line in lines])


def by_limit(runs: Runs, answers: str) -> list[str]:
    """A line a kind of model: the ratio at every limit of rows, geometric means over datasets."""
    limits = sorted({row["limit"] for row in runs.rows if row["answers"] == answers})
    lines = []
    for model in MODELS:
        ratios = [runs.by_dataset(ratio, model, answers, limit) for limit in limits]
        if any(ratios):
            lines.append([NAMES[model], *(report.number(geometric(found.values()), 3) for found in ratios)])
    return report.table(["model", *(f"{limit:,} rows" for limit in limits)], lines)


def by_case(runs: Runs, model: str) -> list[str]:
    """A line a dataset, answers and limit of rows, of one kind of model."""
    number, lines = report.number, []
    kinds = sorted({(row["answers"], row["limit"]) for row in runs.rows if row["model"] == model})
    for dataset in protocol.DATASETS:
        for answers, limit in kinds:
            rows = runs.of(model, answers, limit, dataset)
            if rows:
                proven = mean(
                    row["optimum_cost"] / row["bound_cost"] if row["bound_cost"] else math.nan for row in rows
                )
                worst = max(
                    (row["ratio_cost"] for row in rows if row["ratio_cost"] == row["ratio_cost"]), default=math.nan
                )
                lines.append(
                    [
                        dataset, answers, f"{limit:,}", len(rows), number(100 * mean(row["found"] for row in rows), 0),
                        number(ratio(rows), 3), number(worst, 2), number(ratio(rows, "l1"), 3), number(spread(rows), 3),
                        number(mean(row["optimum_cost"] for row in rows), 2), number(proven, 4),
                        *(number(mean(row[name] for row in rows), 0) for name in ("rows", "calls")),
                        number(mean(row["seconds"] for row in rows), 2), number(own_time(rows), 2),
                    ]
                )  # fmt: skip
    head = [
        "dataset", "answers", "rows at most", "runs", "success %", "cost / optimum", "worst run", "L1 / optimum",
        "worst seed / best", "optimum", "optimum / bound", "rows", "calls", "seconds", "own time / model's",
    ]  # fmt: skip
    return report.table(head, lines)


def written(path: Path, header: report.Header, rows: Iterable[report.Row], layout: str) -> None:
    """Write the tables."""
    runs = Runs(rows)
    kinds = [answers for answers in ("labels", "probabilities") if any(row["answers"] == answers for row in runs.rows)]
    report.write_markdown(
        path,
        header,
        "The search for the nearest answer alone, beside the least cost there is. Cost is the engine's own, distance in "
        "units and a price on each changed cell; L1 is beside the optimum of plain L1, which our search does not "
        "minimise. Both optima are inside the limits that our search ended with. Forests: mixed-integer programs, proven to the gap in the "
        "column optimum / bound. Rules and logistic regression: exact. KNN: linear programs over sets of neighbours; LSTM: "
        "sequential linear programs with its gradient; both from several starts and from our own answers, so that they are "
        "at least as good as ours and no proof. All ratios are geometric means, over samples and seeds, then over "
        "datasets.",
        layout,
        "## What was aimed at",
        f"At most {USUAL:,} rows and labels only, where nothing else is said.",
        aims(runs),
        *(part for kind in kinds for part in (f"## Cost over the optimum: {kind}", by_limit(runs, kind))),
        *(
            part
            for model in MODELS
            if any(row["model"] == model for row in runs.rows)
            for part in (f"## {NAMES[model][0].upper()}{NAMES[model][1:]}", by_case(runs, model))
        ),
    )
