"""The adapters beside the methods of their own ecosystems."""

from __future__ import annotations

import report

from figures.text import bullet, dataset_name, paragraph, result, span, value

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


def _least(methods: dict[str, Row], column: str) -> bool:
    return value(methods["ntdcfe"][column]) < min(
        value(row[column]) for name, row in methods.items() if name != "ntdcfe"
    )


def sktime() -> str:
    """Real sktime models."""
    (rows,) = report.read_tables(result("sktime.md"))
    found = sum(int(row["Success"].split(" of ")[0]) for row in rows)
    wanted = sum(int(row["Success"].split(" of ")[1]) for row in rows)
    fewer = [row for row in rows if "unequal" in row["Data"]]
    others = [row for row in rows if row not in fewer]
    own = [value(row["our own"]) / int(row["Success"].split(" of ")[1]) for row in rows]
    most = max(rows, key=lambda row: value(row["Changed cells"]) / float(row["Changed cells"].split(" of ")[1]))
    apart = "".join(f" ({value(row['Rows']):,.0f} on {dataset_name(row['Data'].split(',')[0])})" for row in fewer)
    return paragraph(
        f"""On real models (`benchmarks/results/sktime.md`, made by `benchmarks/sktime_models.py`), ten test series each:
        {"; ".join(f"{row['Model']} on {row['Data']}" for row in rows)}. {found} of {wanted} found, in
        {span([value(row["Calls"]) for row in rows])} calls and {span([value(row["Rows"]) for row in others])} rows
        each{apart}, {span(own, 1)} s a series of our own beside the model's time. The most cells are changed for
        {most["Model"]} ({most["Changed cells"]})."""
    )


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
