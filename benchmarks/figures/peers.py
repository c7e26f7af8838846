"""The peers on the paper's cases: a line a method, and where ours is behind."""

from __future__ import annotations

import report

from figures.text import dataset_name, listing, on_layout, paragraph, result, value

# The peers have been run in this layout only.
FILE = "peers-published.md"
OURS = "NTD-CFE"
LEVEL = "best or level"
Row = dict[str, str]


def table() -> str:
    """A line a method over all cases."""
    path = result(FILE)
    rows = report.read_tables(path)[0]
    head = [
        "method", "training data", "samples", "success %", "L1, ours / its", "L0, ours / its", "plausible %", "rows", "calls",
        "CPU s",
    ]  # fmt: skip
    lines = []
    for row in rows:
        fit = value(row["seconds to fit"])
        # Half a minute matters to who explains one series; a moment does not.
        fitted = f" (+ {fit:.0f} s to fit)" if fit >= 1 else ""
        lines.append(
            [
                row["method"], row["training data"], row["cases x samples"].split(", ")[1], row["success %"],
                row["L1 of ours / its"], row["L0 of ours / its"], row["plausible %"], row["rows"], row["calls"],
                row["CPU s"] + fitted,
            ]
        )  # fmt: skip
    where = paragraph(f"Measured {on_layout(path)}; every case has its row in `benchmarks/results/{FILE}`.")
    return "\n".join([where, "", *report.table(head, lines)])


def own_ground() -> str:
    """FastAR and CFRL on a table, and what FastAR's own code gets there."""
    path = result("seeds.md")
    lines, public = report.read_tables(path)
    told = "; ".join(f"{row['what']}: {row['validity %']}% valid, {row['sparsity']} changed features" for row in public)
    text = f"""FastAR's own code, by its own evaluation on German Credit: {told}. How it was measured:
        `benchmarks/results/{path.name}`."""
    return "\n".join([*report.table(list(lines[0]), [list(row.values()) for row in lines]), "", paragraph(text)])


def harness() -> str:
    """Ours beside tscf-eval's methods, by its own runner and metrics."""
    path = result("tscf-eval.md")
    rows = report.read_tables(path)[0]
    text = f"""Arrows say what tscf-eval calls better; seconds are by the clock, on a machine with other work. What its metrics
        are, and how it was run: `benchmarks/results/{path.name}`."""
    return "\n".join([*report.table(list(rows[0]), [list(row.values()) for row in rows]), "", paragraph(text)])


def words() -> str:
    """Where ours is behind, and who is more often plausible."""
    methods, no_data, with_data, rival = report.read_tables(result(FILE))[:4]
    plausible = {row["method"]: value(row["plausible %"]) for row in methods}
    more = [f"{name} {share:.0f}%" for name, share in plausible.items() if share > plausible[OURS] + 1]
    behind_rival = [f"{_case(row['case'])} ({row['behind in']})" for row in rival if row["behind in"] != "-"]
    text = f"""Beside those that need no training data, ours, with labels only, is {_level(no_data)}. Beside CFWoT, the other
        implementation of the paper, it is ahead in L1 and L0 (of the samples that both solve), calls and seconds, and not behind in success,
        {_all_but(behind_rival, len(rival))}. Beside those that have the data it is {_level(with_data)}. More often plausible
        than ours ({plausible[OURS]:.0f}%) are {listing(more)}: what comes from real data mostly is. FastAR is our reading of
        its paper and of its public code."""
    return paragraph(text)


def _level(rows: list[Row]) -> str:
    behind = [
        f"{_case(row['case'])} ({method}: {verdict})"
        for row in rows
        for method, verdict in row.items()
        if method != "case" and verdict not in (LEVEL, "-")
    ]
    return f"best or level in success, L1 and L0 {_all_but(behind, len(rows))}"


def _all_but(exceptions: list[str], n: int) -> str:
    return f"in all {n} cases" + (f" but for {listing(exceptions)}" if exceptions else "")


def _case(name: str) -> str:
    dataset, model = name.rsplit(" ", 1)
    return f"{dataset_name(dataset)} {model}"
