"""The answers of the default search as explanations: beside others, what was aimed at, in distribution, many classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import report

from figures.text import geometric_mean, listing, mean, paragraph, result, value

FILE = "explanations.md"
OURS = "simplest"
MODELS = ("knn", "random_forest")
# The files with a row for each sample, by whose answers they are.
SAMPLES = ("explanations-samples.csv", "explanations-algorithm-1-samples.csv", "explanations-peers-samples.csv")
NEEDS = {
    "TSEvo": "yes", "CoMTE": "yes", "CFRL": "yes", "DiCE genetic": "yes", "DiCE random": "ranges", "Algorithm 1": "no",
}  # fmt: skip
HEAD = (
    "method", "training data", "success %", "edits", "runs of changed cells", "survives 1% noise, %", "L1",
    "L1, ours / its", "rows",
)  # fmt: skip
Row = dict[str, str]


def beside_others() -> str:
    """The README's table: ours and six others, on the same samples."""
    averages = {row["method"]: row for row in report.read_tables(result(FILE))[1] if row["models"] == "KNN and forest"}
    samples = _samples()
    lines = [
        _line(f"**ours**, {OURS}", "no", averages[OURS], "1"),
        _line("ours, nearest", "no", averages["nearest"], "-"),
    ]
    lines += [_line(name, needs, averages[name], _ratio(samples, name)) for name, needs in NEEDS.items()]
    cases = averages[OURS]["cases"]
    n = max(Counter(key[:2] for key in samples[OURS]).values())
    text = f"""Means over {cases} cases, eight datasets with a nearest-neighbour model and a forest, up to {n} samples each, on the real
        series; measures over the samples that a method solves. L1 is the sum of all changes, rows are what the model was
        asked. "L1, ours / its" is over the samples that both solve, the
        geometric mean over cases: below 1, ours is nearer. Ours gets labels only; edits are what has to be said, and the
        other methods have none, so runs of changed cells stand beside them. CFRL is trained for 1,000 steps in place of
        100,000, DiCE random stopped after 30 s of processor time a sample. All of it: `benchmarks/results/{FILE}`."""
    return "\n".join([*report.table(list(HEAD), lines), "", paragraph(text)])


def averages() -> str:
    """The kinds of answers and the other methods by every measure."""
    rows = report.read_tables(result(FILE))[1]
    return "\n".join(report.table(list(rows[0]), [list(row.values()) for row in rows]))


def aims() -> str:
    """What was aimed at, and whether it was reached."""
    rows = report.read_tables(result(FILE))[0]
    missed = [f"{row['of `simplest`']} ({row['measured']}, aim: {row['aim']})" for row in rows if row["met"] == "no"]
    aimed = [row for row in rows if row["met"] in ("yes", "no")]
    text = f"""Of {len(aimed)} aims for `simplest` {len(aimed) - len(missed)} are met. Missed: {listing(missed)}."""
    return paragraph(text)


def in_distribution() -> str:
    """With the in-distribution test, beside the paper's variant."""
    rows = report.read_tables(result("in-distribution.md"))[0]
    table = report.table(["neighbours", "what", "aim", "measured"], [list(row.values())[:4] for row in rows])
    return "\n".join(table)


def many_classes() -> str:
    """Labels only, and many of them."""
    rows = report.read_tables(result("many-classes.md"))[0]
    return "\n".join(report.table(["kernel", "share found", "measured"], [_kept(row) for row in rows]))


def typed_back() -> str:
    """Whether the sentences give the target."""
    rows = report.read_tables(result("typed-back.md"))[0]
    texts, right = (sum(value(row[name]) for row in rows) for name in ("texts", "give the target"))
    return paragraph(f"""Sentences typed back by a parser that knows only them, the original and the names: {right:.0f} of
        {texts:.0f} give the target (`benchmarks/results/typed-back.md`).""")


def _kept(row: Row) -> list[str]:
    return [row["kernel"], row["share found"], row["measured"]]


def _line(name: str, needs: str, row: Row, ratio: str) -> list[str]:
    columns = ("success %", "edits", "segments", "survives 1% noise, %", "L1")
    return [name, needs, *(row[column] for column in columns), ratio, row["rows"]]


def _samples() -> dict[str, dict[tuple[str, str, str], Row]]:
    """Of each method its rows by dataset, model and sample."""
    found: dict[str, dict[tuple[str, str, str], Row]] = {}
    for file in SAMPLES:
        for row in report.read_csv(result(file))[1]:
            if row["model"] in MODELS:
                found.setdefault(row["method"], {})[row["dataset"], row["model"], row["sample"]] = row
    return found


def _ratio(samples: dict[str, dict[tuple[str, str, str], Row]], other: str) -> str:
    """L1 of ours over that of another method, on the samples that both solve: the geometric mean over cases."""
    ours, its = samples[OURS], samples[other]
    both = [key for key in ours if key in its and ours[key]["success"] == its[key]["success"] == "1"]
    ratios = []
    for case in dict.fromkeys(key[:2] for key in both):
        keys = [key for key in both if key[:2] == case]
        ratios.append(_mean_l1([ours[key] for key in keys]) / _mean_l1([its[key] for key in keys]))
    return f"{geometric_mean(ratios):.2f}"


def _mean_l1(rows: Sequence[Row]) -> float:
    return mean([float(row["l1"]) for row in rows])
