"""Load and faults: what was tried, and what came of it."""

from __future__ import annotations

import re

import report

from figures.text import paragraph, result, value


def tried() -> str:
    """What was measured, and where it stands."""
    faults = next(row for row in report.read_tables(result("load-faults.md"))[0] if row["fault"] == "all")
    kill = report.read_tables(result("load-kill.md"))[0]
    fuzzed = sum(int(row["calls"]) for row in report.read_tables(result("load-fuzz.md"))[0])
    adapters = report.read_tables(result("load-fuzz-adapters.md"))[0]
    through = sum(int(cell) for row in adapters for name, cell in row.items() if name != "outcome")
    rows, seconds = report.read_tables(result("load-budgets.md"))[0]
    soaked, growth = _soak()
    whole = all(row["answers in the end"] == row["equal to an undisturbed run"] for row in kill)
    answers = "all" if whole else "not all"
    return paragraph(
        f"""`examples/remote_model.py` explains a model behind HTTP. Measured with `benchmarks/load`, files `load-*.md` in
        `benchmarks/results`: {value(faults["found"].split(" of ")[1]):,.0f} explanations of models that fail or err in 1% to 20% of their
        answers ({faults["rejected"]} counterfactuals that the clean model rejects, {faults["lost"]} lost);
        {kill[0]["answers in the end"]} series killed {_kills(kill[0])} times and resumed ({answers} answers equal to an
        undisturbed run); backends side by side; {fuzzed:,} fuzzed calls, and {through:,} through the adapters, each with a
        documented end; {value(rows["runs"]):,.0f} random budgets (rows exceeded {rows["exceeded"]} times, seconds by at most
        {seconds["most"]}); growth; and {soaked:,.0f} explanations in one process (memory {growth} from the first tenth to the
        last)."""
    )


def _kills(row: dict[str, str]) -> int:
    return len(row["instances in the file after each kill"].split(", "))


def _soak() -> tuple[float, str]:
    _, text = report.read_markdown(result("load-soak.md"))
    found = re.search(r"first tenth to the last ([-+0-9.]+%)", text)
    if not found:
        raise ValueError("load-soak.md: it does not say how memory grew")
    return value(text), found[1]
