"""What a person can read and rely on: ours (three options of one search) beside Algorithm 1 and the best of the others.

    python benchmarks/explanations.py [--data DIR] [--of ours algorithm-1 peers] [--cases ERing/knn ...] [--n 10] [--again]

The eight datasets as they really are (layout `true`), KNN, random forest and LSTM, labels only, default settings, seed
0. The answers of the others are those that ``peers/run.py`` kept for the same samples (``--peers`` names the folder);
everybody's are measured here by the same code, with noise that no search has seen. Every sample is written to
``results/explanations-samples.csv`` (ours), ``-algorithm-1-samples.csv`` and ``-peers-samples.csv`` as soon as it is
done. A rerun skips samples that are there; with ``--again`` it skips only those that were done with the present code.
The tables ``results/explanations.md`` and ``.csv`` are made from the three.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import protocol
import report
import torch
from paper import TimedModel
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER, SearchSettings, Target
from ntdcfe_plugins.compare.calls import Answers
from ntdcfe_plugins.compare.counted import CountedModel
from ntdcfe_plugins.compare.measures import detectors
from ntdcfe_plugins.compare.scores import Judge

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from cases import Forest
from run import found_file, slug

LAYOUT: protocol.Layout = "true"
MODELS = ("knn", "random_forest", "lstm")
NAMES = {"knn": "KNN", "random_forest": "random forest", "lstm": "LSTM"}
OPTIONS = ("simplest", "nearest", "sturdiest")
ALGORITHM_1 = "Algorithm 1"
PEERS = ("TSEvo", "CoMTE", "Native-Guide", "CFWoT", "CFRL", "DiCE random", "DiCE genetic")
METHODS = (*OPTIONS, ALGORITHM_1, *PEERS)
FILES = {
    "ours": "explanations-samples.csv",
    "algorithm-1": "explanations-algorithm-1-samples.csv",
    "peers": "explanations-peers-samples.csv",
}
KEY = ("dataset", "model", "method", "sample")
MEASURES = (
    "edits", "segments", "contiguity", "l1", "sparsity", "roughness", "survival_1", "survival_5", "plausible",
    "plausible_forest", "confidence", "dtw",
)  # fmt: skip
COSTS = ("rows", "calls", "seconds")
COLUMNS = (*KEY, "success", *MEASURES, *COSTS, "model_seconds", "commit")
# What decides a row, beside the data: of everybody, and of who uses the engine.
JUDGED_BY = ("benchmarks/protocol", "benchmarks/explanations.py", "ntdcfe_plugins/compare")
SOURCES = {"ours": (*JUDGED_BY, "core"), "algorithm-1": (*JUDGED_BY, "core"), "peers": JUDGED_BY}
SEED = 0
TARGET = Target.of(1)
# Cases in which more edits may be needed: many features have to move at once.
HARD = (("NATOPS", "knn"), ("Heartbeat", "knn"), ("Heartbeat", "random_forest"))
# A series may become as smooth as it likes: a lower ratio counts as this one.
SMOOTHEST = 0.1
NAN = float("nan")
Row = dict[str, Any]
Case = tuple[str, str]


# --------------------------------------------------------------------------------------
# Running and measuring
# --------------------------------------------------------------------------------------


class Bench:
    """One dataset and model, its samples, and the judge of all answers.

    Parameters
    ----------
    dataset
        In the layout `true`.
    model_name
        One of ``MODELS``.
    n
        Samples, evenly spaced over the invalid ones.
    """

    def __init__(self, dataset: protocol.Dataset, model_name: str, n: int) -> None:
        self.dataset, self.model_name = dataset, model_name
        self.model = protocol.fit_model(dataset, model_name)
        self.samples = protocol.evenly_spaced(protocol.invalid_samples(dataset, self.model), n).tolist()
        counted = CountedModel(self.model.predict_proba, dataset.X.shape[1:])
        self.judge = Judge(counted, dataset.features, detectors=detectors(dataset.X))

    def row(self, method: str, sample: int, answers: Answers, costs: Mapping[str, Any]) -> Row:
        """The measured answer of a method to one sample."""
        about = {"dataset": self.dataset.name, "model": self.model_name, "method": method, "sample": sample}
        blank = dict.fromkeys((*MEASURES, *COSTS, "model_seconds"), NAN) | {"note": "", "success": False}
        scored = self.judge.scored(blank | dict(costs), self.dataset.X[sample], answers, TARGET).row
        return scored | about | {"success": int(scored["success"])} | {
            name: float(scored[name]) for name in (*MEASURES, *COSTS)
        }

    def ours(self, sample: int) -> Iterator[Row]:
        """The three options of one search; its costs are those of all of them together."""
        timed = TimedModel(self.model, probabilities=False)
        cf = NTDCFE(timed, self.dataset.features, seed=SEED).explain(self.dataset.X[sample], target=1)
        costs = {"rows": cf.rows, "calls": cf.calls, "seconds": cf.seconds, "model_seconds": timed.seconds}
        for name in OPTIONS:
            option = cf if name == SearchSettings().prefer else cf.options.get(name)
            found = option is not None and option.x is not None
            yield self.row(name, sample, Answers([option.x], option.edits) if found else Answers(), costs)

    def algorithm_1(self, sample: int, max_seconds: float) -> Iterator[Row]:
        """The paper's algorithm with its own settings; the forest as plain arrays, which answer single rows quickly."""
        model: Any = self.model
        if self.model_name == "random_forest":
            model = _Labels(Forest.of(model.classifier))
        timed = TimedModel(model, probabilities=False)
        explainer = NTDCFE(timed, self.dataset.features, settings=PAPER, seed=SEED)
        cf = explainer.explain(self.dataset.X[sample], target=1, max_seconds=max_seconds)
        costs = {"rows": cf.rows, "calls": cf.calls, "seconds": cf.seconds, "model_seconds": timed.seconds}
        yield self.row(ALGORITHM_1, sample, Answers([cf.x] if cf.found else []), costs)

    def peers(self, sample: int, folder: Path, costs: Mapping[tuple[str, ...], Row]) -> Iterator[Row]:
        """What the others answered, if they were asked."""
        for name in PEERS:
            key = (name, self.dataset.name, self.model_name, str(sample))
            if key not in costs:
                continue
            kept = found_file(folder, name, self.dataset.name, self.model_name, sample)
            answers = Answers([np.load(kept)] if kept.exists() else [])
            spent = {"rows": costs[key]["rows"], "calls": costs[key]["calls"], "seconds": costs[key]["cpu_seconds"]}
            yield self.row(name, sample, answers, {k: float(v or NAN) for k, v in spent.items()})


class _Labels:
    """A forest of plain arrays that says labels."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Labels ``(n,)`` of series ``(n, K, D)``; of even votes the first class, as scikit-learn has it."""
        return self.forest.predict_proba(X).argmax(1)


def costs_of_peers(folder: Path) -> dict[tuple[str, ...], Row]:
    """What run.py wrote of each explanation, by method, dataset, model and sample."""
    found = {}
    for name in PEERS:
        path = folder / "costs" / f"{slug(name)}.csv"
        for row in report.read_csv(path)[1] if path.exists() else ():
            if row["layout"] == LAYOUT:
                found[name, row["dataset"], row["model"], row["sample"]] = row
    return found


def run(of: str, args: argparse.Namespace) -> None:
    """Do what is asked for and not done yet."""
    settings = {"ours": [SearchSettings()], "algorithm-1": [PAPER], "peers": []}[of]
    header = report.made(*settings, args, packages=("scikit-learn",))
    path = args.out / FILES[of]
    costs = costs_of_peers(args.peers) if of == "peers" else {}
    if of == "peers" and not costs:
        print("there are no answers of the others in --peers, so that theirs stay as they are")
        return
    before, rows = report.read_csv(path) if path.exists() else (header, [])
    chosen = chosen_cases(args.cases)
    if args.again:
        present = {commit: report.is_present(commit, *SOURCES[of]) for commit in {row["commit"] for row in rows}}
        rows = kept(rows, present, chosen, costs if of == "peers" else None)
    done = {tuple(row[k] for k in KEY) for row in rows}
    methods = {"ours": OPTIONS, "algorithm-1": (ALGORITHM_1,), "peers": PEERS}[of]
    with report.appending(path, report.continued(header, before, rows), COLUMNS, rows) as add:
        for dataset_name in dict.fromkeys(dataset for dataset, _ in chosen):
            dataset = protocol.load(dataset_name, args.data, LAYOUT)
            for model in (m for d, m in chosen if d == dataset_name):
                bench = Bench(dataset, model, args.n)
                for sample in tqdm(bench.samples, desc=f"{of}: {dataset_name} {model}", leave=False):
                    keys = [(dataset_name, model, method, str(sample)) for method in methods]
                    if all(key in done for key in keys):
                        continue
                    if of == "ours":
                        made = bench.ours(sample)
                    elif of == "algorithm-1":
                        made = bench.algorithm_1(sample, args.max_seconds)
                    else:
                        made = bench.peers(sample, args.peers, costs)
                    for row in made:
                        if (dataset_name, model, row["method"], str(sample)) not in done:
                            add(row | {"commit": header.commit})


def kept(
    rows: Sequence[report.Row], present: Mapping[str, bool], chosen: Sequence[Case], costs: Mapping[Any, Any] | None
) -> list[report.Row]:
    """The rows that are not to be done afresh.

    Parameters
    ----------
    rows
        As read from the file.
    present
        By commit, whether the code of then is that of now.
    chosen
        The cases asked for.
    costs
        Whose answers there are, by method, dataset, model and sample, for the others, whose answers are not in the
        repository: without its answer a row cannot be measured again.
    """
    return [
        row
        for row in rows
        if present[row["commit"]]
        or (row["dataset"], row["model"]) not in chosen
        or (costs is not None and (row["method"], row["dataset"], row["model"], row["sample"]) not in costs)
    ]


def chosen_cases(cases: list[str]) -> list[Case]:
    """The cases asked for; all of them if none is named."""
    return [
        (dataset, model)
        for dataset in protocol.DATASETS
        for model in MODELS
        if not cases or {f"{dataset}/{model}", dataset, f"/{model}"} & set(cases)
    ]


# --------------------------------------------------------------------------------------
# Tables
# --------------------------------------------------------------------------------------


class Samples:
    """All measured answers.

    Parameters
    ----------
    rows
        As read from the files.
    """

    def __init__(self, rows: Iterable[Mapping[str, str]]) -> None:
        self.by: dict[tuple[str, str, str], dict[str, Row]] = {}
        for row in rows:
            values = {name: float(row[name] or NAN) for name in ("success", *MEASURES, *COSTS)}
            self.by.setdefault((row["dataset"], row["model"], row["method"]), {})[row["sample"]] = values

    def cases(self, models: Iterable[str]) -> list[Case]:
        """The cases that somebody ran, in the protocol's order."""
        ran = {(dataset, model) for dataset, model, _ in self.by}
        return [(d, m) for m in models for d in protocol.DATASETS if (d, m) in ran]

    def of(self, case: Case, method: str) -> dict[str, Row]:
        """What a method did on a case, by sample."""
        return self.by.get((*case, method), {})

    def figures(self, case: Case, method: str) -> Row:
        """Means of a method on a case: measures over what it solved, costs over all samples."""
        rows = list(self.of(case, method).values())
        solved = [row for row in rows if row["success"]]
        return {
            "n": len(rows),
            "success": 100 * mean(row["success"] for row in rows),
            **averages(solved),
            **{name: mean(row[name] for row in rows) for name in COSTS},
        }

    def over(self, cases: Iterable[Case], method: str) -> Row:
        """Averages over cases."""
        figures = [self.figures(case, method) for case in cases if self.of(case, method)]
        return {
            "n": len(figures), **averages(figures), **{name: mean(f[name] for f in figures) for name in ("success", *COSTS)}
        }  # fmt: skip

    def fewer(self, method: str) -> bool:
        """Whether a method was asked about fewer samples of a case than others."""
        most = {case: max(len(self.of(case, m)) for m in METHODS) for case in self.cases(MODELS)}
        return any(0 < len(self.of(case, method)) < n for case, n in most.items())

    def both(self, case: Case, method: str, other: str) -> tuple[list[Row], list[Row]]:
        """What two methods did on the samples that both solve."""
        mine, theirs = self.of(case, method), self.of(case, other)
        shared = [s for s in mine if s in theirs and mine[s]["success"] and theirs[s]["success"]]
        return [mine[s] for s in shared], [theirs[s] for s in shared]


def mean(values: Iterable[float]) -> float:
    """Of those that are there; nan of none."""
    array = np.array(list(values), dtype=float)
    array = array[~np.isnan(array)]
    return float(array.mean()) if len(array) else NAN


def geometric(values: Iterable[float]) -> float:
    """The geometric mean of those that are there and positive; nan of none."""
    array = np.array(list(values), dtype=float)
    array = array[array > 0]
    return float(np.exp(np.log(array).mean())) if len(array) else NAN


def averages(rows: Sequence[Row]) -> Row:
    """Means of the measures; of roughness the geometric mean, since it is a ratio, and beside it the plain one."""
    smooth = (max(row["roughness"], SMOOTHEST) for row in rows if row["roughness"] == row["roughness"])
    plain = "mean_roughness" if rows and "mean_roughness" in rows[0] else "roughness"
    return {name: mean(row[name] for row in rows) for name in MEASURES} | {
        "roughness": geometric(smooth), "mean_roughness": mean(row[plain] for row in rows)
    }  # fmt: skip


HEAD = [
    "n", "success %", "edits", "segments", "contiguity", "L1", "L0", "roughness", "survives 1% noise, %",
    "survives 5% noise, %", "LOF %", "isolation forest %", "confidence", "DTW", "rows", "calls", "seconds",
]  # fmt: skip


def cells(figures: Row) -> list[str]:
    """The figures of one line, in the order of ``HEAD``."""
    number = report.number
    return [
        str(figures["n"]), number(figures["success"], 0), number(figures["edits"]), number(figures["segments"]),
        number(figures["contiguity"], 2), number(figures["l1"]), number(figures["sparsity"], 0),
        number(figures["roughness"], 2),
        *(number(100 * figures[k], 0) for k in ("survival_1", "survival_5", "plausible", "plausible_forest")),
        number(figures["confidence"], 2), number(figures["dtw"]), number(figures["rows"], 0),
        number(figures["calls"], 0), number(figures["seconds"], 2),
    ]  # fmt: skip


def case_table(samples: Samples, model: str) -> list[str]:
    """A line a case and method, of one kind of model."""
    return report.table(
        ["dataset", "method", *HEAD],
        [
            [dataset, method, *cells(samples.figures((dataset, kind), method))]
            for dataset, kind in samples.cases([model])
            for method in METHODS
            if samples.of((dataset, kind), method)
        ],
    )


def average_table(samples: Samples) -> list[str]:
    """A line a method and kind of model: averages over its cases."""
    return report.table(
        ["models", "method", "cases", *HEAD[1:]],
        [
            [label, method, *cells(samples.over(samples.cases(models), method))]
            for label, models in (("KNN and forest", MODELS[:2]), ("LSTM", MODELS[2:]))
            for method in METHODS
            if any(samples.of(case, method) for case in samples.cases(models))
        ],
    )


def beside(samples: Samples, ours: str, theirs: str) -> list[Row]:
    """Ours and another method case by case, where both solve some samples."""
    found = []
    for case in samples.cases(MODELS[:2]):
        mine, others = samples.both(case, ours, theirs)
        if mine:
            pair = averages(mine), averages(others)
            found.append({"case": case, "n": len(mine), **{name: tuple(p[name] for p in pair) for name in MEASURES}})
    return found


def beside_table(pairs: list[Row]) -> list[str]:
    """A line a case: ours / theirs on the samples that both solve."""
    number = report.number

    def pair(row: Row, name: str, digits: int = 1, factor: float = 1.0) -> str:
        return " / ".join(number(factor * value, digits) for value in row[name])

    return report.table(
        ["case", "both solve", "edits", "segments", "L1", "L0", "survives 1% noise, %", "5%, %", "LOF %", "roughness"],
        [
            [
                case_name(row["case"]), row["n"], number(row["edits"][0]), pair(row, "segments"), pair(row, "l1"),
                pair(row, "sparsity", 0), pair(row, "survival_1", 0, 100), pair(row, "survival_5", 0, 100),
                pair(row, "plausible", 0, 100), pair(row, "roughness", 2),
            ]
            for row in pairs
        ],
    )  # fmt: skip


def case_name(case: Case) -> str:
    """Dataset and model in words."""
    return f"{case[0]} {NAMES[case[1]]}"


Line = tuple[str, str, str, bool | None]


def line(what: str, asked: str, value: float, met: bool, digits: int = 2, unit: str = "", more: str = "") -> Line:
    """One aim: what, what was asked for, what was measured, whether that is enough."""
    return what, asked, report.number(value, digits) + unit + (f" ({more})" if more else ""), met


def of_simplest(samples: Samples) -> list[Line]:
    """Few edits that hold: the option `simplest` on KNN and forest."""
    cases = samples.cases(MODELS[:2])
    if not cases:
        return []
    figures = {case: samples.figures(case, "simplest") for case in cases}
    over = samples.over(cases, "simplest")

    def of_worst(what: str, name: str, among: list[Case], limit: float, most: bool, digits: int = 2, unit: str = "") -> Line:
        """The worst case, and every case that misses the limit."""
        factor = 100 if unit and name != "success" else 1
        values = {case: factor * figures[case][name] for case in among}
        case = (max if most else min)(values, key=lambda c: values[c])
        missed = [c for c in among if not (values[c] <= limit if most else values[c] >= limit)]
        told = f"missed by: {', '.join(map(case_name, missed))}" if missed else case_name(case)
        aim = f"{limit:g}{unit} or {'less' if most else 'more'}"
        return line(what, aim, values[case], not missed, digits, unit, told)

    def of_average(what: str, name: str, limit: float, most: bool, digits: int = 2, unit: str = "") -> Line:
        value = over[name] * (100 if unit else 1)
        aim = f"{limit:g}{unit} or {'less' if most else 'more'}"
        return line(what, aim, value, value <= limit if most else value >= limit, digits, unit)

    usual, hard = [c for c in cases if c not in HARD], [c for c in cases if c in HARD]
    plain = max(figures, key=lambda c: figures[c]["mean_roughness"])
    told = f"{report.number(figures[plain]['mean_roughness'], 2)} ({case_name(plain)})"
    return [
        of_worst("success, worst case", "success", cases, 100, False, 0, "%"),
        of_average("edits, average over cases", "edits", 2.5, True),
        *([of_worst("edits, worst case but NATOPS KNN and Heartbeat", "edits", usual, 4, True)] if usual else []),
        *([of_worst("edits, worst of NATOPS KNN and Heartbeat", "edits", hard, 8, True)] if hard else []),
        of_average("survives 1% noise, average over cases", "survival_1", 95, False, 1, "%"),
        of_worst("survives 1% noise, worst case", "survival_1", cases, 90, False, 1, "%"),
        of_average("survives 5% noise, average over cases", "survival_5", 75, False, 1, "%"),
        of_average("roughness ratio, geometric mean over cases", "roughness", 1.2, True),
        of_worst("roughness ratio, worst case", "roughness", cases, 1.5, True),
        ("roughness ratio, worst case by the plain mean over its samples", "-", told, None),
    ]


def of_others(samples: Samples) -> list[Line]:
    """Beside TSEvo and CoMTE, which have the data, on the samples that both solve."""
    lines: list[Line] = []
    if tsevo := beside(samples, "simplest", "TSEvo"):
        n = len(tsevo)
        fewer = [row for row in tsevo if row["segments"][0] < row["segments"][1]]
        higher = [row for row in tsevo if row["survival_1"][0] > row["survival_1"][1] or row["survival_1"][0] == 1]
        for what, won in (("fewer segments than TSEvo", fewer), ("survives 1% noise more often, or always", higher)):
            lost = ", ".join(case_name(row["case"]) for row in tsevo if row not in won)
            what = f"{what}, cases of {n} that it solves"
            lines.append(line(what, f"{n - 2} or more", len(won), len(won) >= n - 2, 0, more=f"not: {lost}" * bool(lost)))
        ratio = geometric(row["l1"][0] / row["l1"][1] for row in tsevo)
        lines.append(line("L1 beside TSEvo's, geometric mean over cases", "1.5 times or less", ratio, ratio <= 1.5, 3))
        mine, theirs = (100 * mean(row["plausible"][i] for row in tsevo) for i in (0, 1))
        lines.append(
            line("plausible (LOF), average over these cases", f"{theirs:.1f}% as TSEvo", mine, mine >= theirs, 1, "%")
        )
    if comte := beside(samples, "simplest", "CoMTE"):
        ratio = geometric(row["l1"][0] / row["l1"][1] for row in comte)
        lines.append(line("L1 beside CoMTE's, geometric mean over cases", "a third or less", ratio, ratio <= 1 / 3))
    return lines


def of_the_paper(samples: Samples, paper: Mapping[Case, Mapping[str, float]]) -> list[Line]:
    """Proximity beside the paper's NTD-CFE, where both succeed always on the same series."""
    ratios = {}
    for case in samples.cases(MODELS):
        theirs, mine = paper.get(case, {}), samples.figures(case, "simplest")
        if not protocol.SPECS[case[0]].time_constant and mine["success"] == theirs.get("success") == 100:
            ratios[case] = mine["l1"] / theirs["proximity"]
    if not ratios:
        return []
    ratio, most = geometric(ratios.values()), max(ratios, key=lambda case: ratios[case])
    what = f"proximity beside the paper's, geometric mean of {len(ratios)} cases at 100% in both"
    more = f"worst {report.number(ratios[most], 2)}, {case_name(most)}"
    return [line(what, "0.5 or less", ratio, ratio <= 0.5, more=more)]


def of_lstm(samples: Samples) -> list[Line]:
    """The LSTM cases."""
    cases = samples.cases(MODELS[2:])
    if not cases:
        return []
    over, least = samples.over(cases, "simplest"), min(samples.figures(c, "simplest")["success"] for c in cases)
    told = [
        ("edits", over["edits"], 2, ""), ("segments", over["segments"], 2, ""),
        ("survives 1% noise", 100 * over["survival_1"], 1, "%"),
        ("survives 5% noise", 100 * over["survival_5"], 1, "%"), ("roughness ratio", over["roughness"], 2, ""),
        ("plausible (LOF)", 100 * over["plausible"], 1, "%"),
    ]  # fmt: skip
    return [
        line("LSTM: success, worst case", "100%", least, least == 100, 1, "%"),
        *((f"LSTM: {what}, average over cases", "-", report.number(v, d) + unit, None) for what, v, d, unit in told),
    ]


def aims(lines: Iterable[Line]) -> list[str]:
    """The aims as a table."""
    words = {True: "yes", False: "no", None: "-"}
    return report.table(
        ["of `simplest`", "aim", "measured", "met"], [[what, asked, value, words[met]] for what, asked, value, met in lines]
    )


def write(header: report.Header, samples: Samples, args: argparse.Namespace) -> None:
    """Write the tables."""
    paper_file = args.data.parent / "paper" / "results.csv" if args.data else None
    paper = protocol.paper_figures(paper_file) if paper_file and paper_file.exists() else {}
    table = [
        {"dataset": case[0], "model": case[1], "method": method, **samples.figures(case, method)}
        for case in samples.cases(MODELS)
        for method in METHODS
        if samples.of(case, method)
    ]
    report.write_csv(args.out / "explanations.csv", header, table)
    short = [name for name in METHODS if samples.fewer(name)]
    fewer = f" Fewer samples of some cases, among the same: {', '.join(short)}." if short else ""
    report.write_markdown(
        args.out / "explanations.md",
        header,
        "`simplest`, `nearest` and `sturdiest` are the three options of one search of ours, labels only, default settings, seed "
        f"{SEED}: rows, calls and seconds are those of the search, for all three. Algorithm 1 is the paper's, with the paper's "
        f"settings, stopped after {args.max_seconds:g} s a sample. TSEvo, CoMTE, Native-Guide, CFRL "
        "(trained for 1,000 steps) and DiCE genetic have the training data and probabilities; DiCE random, stopped after 30 s "
        "of processor time a sample, has the ranges of the data and probabilities; CFWoT has probabilities. They were not run "
        f"on the LSTM.{fewer}",
        "Measures are means over solved samples, costs over all of them. Segments are runs of changed cells, feature by feature; "
        "contiguity is 1 less the share of steps at which a run begins; roughness is the sum of absolute second "
        "differences of the changed features, after / before, as a geometric mean with what is below "
        f"{SMOOTHEST} counted as that. Survival: 200 copies with Gaussian noise on every continuous "
        "value, in units of its feature, drawn afresh. LOF: 20 neighbours. Confidence is the model's probability of the target; "
        "nobody who gets labels only sees it. DTW: all features warped together. Seconds of the other methods, but for "
        "Algorithm 1, are processor time.",
        protocol.LAYOUT_NOTES[LAYOUT],
        "## What was aimed at",
        "Beside TSEvo and CoMTE only samples count that both solve; beside the paper only datasets whose series "
        "are the paper's own.",
        aims([*of_simplest(samples), *of_others(samples), *of_the_paper(samples, paper), *of_lstm(samples)]),
        "## Averages over cases",
        average_table(samples),
        "## `simplest` / TSEvo on the samples that both solve",
        beside_table(beside(samples, "simplest", "TSEvo")),
        "## `simplest` / CoMTE on the samples that both solve",
        beside_table(beside(samples, "simplest", "CoMTE")),
        *(
            part
            for model in MODELS
            if samples.cases([model])
            for part in (f"## {NAMES[model]}", case_table(samples, model))
        ),
    )


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = report.parser(__doc__)
    parser.add_argument("--data", type=Path, default=protocol.data_folder(), help="datasets; else sktime's downloader")
    parser.add_argument("--of", nargs="*", choices=tuple(FILES), default=["ours"], help="whose answers are measured")
    parser.add_argument("--cases", nargs="*", default=[], help="ERing/knn, ERing (all models) or /knn (all datasets)")
    parser.add_argument("--n", type=int, default=10, help="samples a case, evenly spaced over the invalid ones")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="of Algorithm 1 for one sample")
    parser.add_argument(
        "--peers", type=Path, default=Path(__file__).parent / "peers" / "cases" / "explanations", help="what run.py kept"
    )
    parser.add_argument("--again", action="store_true", help="do afresh what other code has done")
    return parser.parse_args()


def main() -> None:
    """Measure what is asked for, then write the tables."""
    args = arguments()
    torch.set_num_threads(1)
    for of in args.of:
        run(of, args)
    rows, commits = [], {}
    for of, file in FILES.items():
        if (args.out / file).exists():
            of_file = report.read_csv(args.out / file)[1]
            rows += of_file
            commits[of] = ", ".join(dict.fromkeys(row["commit"] for row in of_file))
    note = f"Made of runs: {'; '.join(f'{of} at {at}' for of, at in commits.items())}."
    write(report.made(SearchSettings(), args, note=note), Samples(rows), args)


if __name__ == "__main__":
    main()
