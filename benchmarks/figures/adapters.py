"""The adapters beside the methods of their own ecosystems."""

from __future__ import annotations

import report

from figures.text import bullet, paragraph, result, span, value

Row = dict[str, str]


def alibi() -> str:
    """Beside alibi's CounterfactualRL."""
    (rows,) = report.read_tables(result("alibi.md"))
    theirs, ours = ({row["explainer"]: row for row in rows}[name] for name in ("CounterfactualRL", "NTDCFE"))
    visible = next(name for name in ours if name.startswith("L0 above"))
    return bullet(
        f"""Beside `CounterfactualRL` (10,000 training steps, untuned) for 50 rows of breast cancer, by
        `benchmarks/alibi_side_by_side.py` in `benchmarks/results/alibi.md`: validity {ours["validity %"]}% to its
        {theirs["validity %"]}%, L1 {value(ours["L1"]):.1f} to {value(theirs["L1"]):.1f}, {ours["L0"]} changed features to
        {theirs["L0"]} ({theirs[visible]} if changes up to {visible.split()[-1]} are not counted), {ours["rows asked"]} rows
        asked to {theirs["rows asked"]}, {ours["s in all"]} s to {theirs["s in all"]} s with fitting."""
    )


def dice() -> str:
    """Beside DiCE's own methods."""
    (rows,) = report.read_tables(result("dice.md"))
    by_dataset: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_dataset.setdefault(row["Dataset"], {})[row["Method"]] = row
    of = {name: [row for row in rows if row["Method"] == name] for name in ("random", "genetic", "kdtree", "ntdcfe")}

    def least(column: str) -> str:
        """Where ours has the least of a column, strictly."""
        best = [name for name, r in by_dataset.items() if _least(r, column)]
        return "every one" if len(best) == len(by_dataset) else f"{len(best)} of {len(by_dataset)}"

    def each(column: str, digits: int = 0, unit: str = "") -> str:
        spans = {name: span([value(row[column]) for row in of[name]], digits, unit) for name in of}
        return ", ".join(f"{name} {spans[name]}" for name in ("random", "genetic", "kdtree"))

    def ours(column: str, digits: int = 0, unit: str = "") -> str:
        return span([value(row[column]) for row in of["ntdcfe"]], digits, unit)

    return paragraph(
        f"""Beside DiCE's methods, which have the data (`benchmarks/results/dice.md`, made by
        `benchmarks/dice_side_by_side.py`, {len(by_dataset)} models): {ours("Validity", 0, "%")} of ours are valid
        ({each("Validity", 0, "%")}). Ours are the nearest on {least("L1")} of the models, change
        {ours("Features changed", 1)} features ({each("Features changed", 1)}), the fewest on {least("Features changed")}, and
        take {ours("Rows")} rows a query ({each("Rows")}), the fewest on {least("Rows")}. Two of ours differ in
        {ours("Diversity", 2)} of the features ({each("Diversity", 2)}). Our defaults were chosen on these datasets, partly
        with these queries."""
    )


def dice_diversity() -> str:
    """How different several counterfactuals are, beside DiCE's own methods."""
    rows, _ = report.read_tables(result("dice-diversity.md"))
    methods = ("ntdcfe", "random", "genetic", "kdtree")

    def each(column: str, digits: int = 0, unit: str = "") -> str:
        spans = [span([value(row[column]) for row in rows if row["Method"] == name], digits, unit) for name in methods]
        return f"{spans[0]} ({', '.join(f'{name} {told}' for name, told in zip(methods[1:], spans[1:], strict=True))})"

    return paragraph(
        f"""Five counterfactuals of a row (`benchmarks/results/dice-diversity.md`, made by `benchmarks/dice_diversity.py`,
        {len({row["Dataset"] for row in rows})} models): they change {each("Sets of features", 1)} different sets of features
        on average, at least three, or all that an exhaustive search finds, for
        {each("Three sets, or all there are", 0, "%")} of the queries. {each("No needless change", 0, "%")} have no change
        that could be taken back. {each("Validity", 0, "%")} are valid, from {each("Rows")} rows. By the measure of DiCE's
        paper, two of a query differ in {each("Count diversity", 2)} of the features: that grows with needless changes."""
    )


def _least(methods: dict[str, Row], column: str) -> bool:
    return value(methods["ntdcfe"][column]) < min(
        value(row[column]) for name, row in methods.items() if name != "ntdcfe"
    )


def sktime() -> str:
    """Every estimator of sktime that runs here."""
    rows = [row for table in report.read_tables(result("sktime.md")) for row in table]
    done = [row for row in rows if row["Outcome"] in ("explained", "one by one")]
    broken = [row for row in rows if row["Outcome"] == "does not run"]
    others = [row for row in rows if row not in done and row not in broken]
    slow = [row for row in rows if "the model is slow" in row["Reason"]]
    kinds = {outcome: [row["Estimator"] for row in others if row["Outcome"] == outcome] for outcome in _outcomes(others)}
    said = {"constant": "say the same of every series, which the result tells"}
    rest = "".join(f"; {len(names)} {said.get(kind, kind)} ({', '.join(names)})" for kind, names in kinds.items())
    away = f" ({', '.join(row['Estimator'] for row in broken)} fail in sktime by themselves)" if broken else ""
    return paragraph(
        f"""All {len(rows)} classifiers and regressors of sktime whose dependencies are installed in our test
        environment, each fitted small, two series and 600 rows each (`benchmarks/results/sktime.md`, made by
        `benchmarks/sktime_matrix.py`). Of the {len(rows) - len(broken)} that fit and predict by themselves{away},
        {len(done)} are explained{rest}. So slow that fewer rows were asked, to take about a minute a series: {len(slow)}
        of them."""
    )


def _outcomes(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["Outcome"] for row in rows))


def page() -> str:
    """How long the page takes to answer."""
    header, _ = report.read_markdown(result("page.md"))
    (rows,) = report.read_tables(result("page.md"))
    first, again = rows
    return paragraph(
        f"""In Chromium, on Basic Motions with a forest, {again["series"]} series: the bar is there after at most
        {max(value(row["bar, most s"]) for row in rows):g} s, the answer to the first question after
        {first["answer, median s"]} s (median), to the second, with a window frozen, after {again["answer, median s"]} s
        ({header.note}). The second takes {again["processor, median s"]} s of the processor, at most
        {again["processor, most s"]} s: `benchmarks/results/page.md`."""
    )
