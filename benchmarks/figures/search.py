"""The search by itself: raw features, speed, size, the paper's examples, what learning pays."""

from __future__ import annotations

import report

from figures.text import MODELS, bullet, on_layout, result, span, value


def measurements() -> str:
    """A list with an item for each."""
    return "\n".join(bullet(part()) for part in (_raw_features, _speed, _scale, _examples, _ablation, _evidence))


def _raw_features() -> str:
    (rows,) = report.read_tables(result("raw-features.md"))
    most = max(abs(value(row["ratio"]) - 1) for row in rows)
    return f"""Raw features (each scaled by 0.001 to 1,000, no scale given) change the mean proximity of a case by at most
        {100 * most:.1f}% ({len(rows)} cases, {on_layout(result("raw-features.md"))}): `benchmarks/results/raw-features.md`."""


def _speed() -> str:
    (rows,) = report.read_tables(result("speed.md"))
    *cases, total = rows
    bounds = [row["dataset"] for row in cases if row["times faster"].startswith(">=")]
    cut = f", a lower bound on {', '.join(bounds)}, where Algorithm 1 was stopped" if bounds else ""
    return f"""On forests it is {total["times faster"]} times as fast as Algorithm 1 in sum over {len(cases)} datasets,
        {span([value(row["times faster"]) for row in cases])} times by dataset{cut}
        ({on_layout(result("speed.md"))}): `benchmarks/results/speed.md`."""


def _scale() -> str:
    rows, nearest = report.read_tables(result("scale.md"))
    ratio, cells = (span([value(row[name]) for row in nearest]) for name in ("ratio", "sparsity"))
    most = max(value(row["peak memory, MB"]) for row in rows)
    models = ", ".join(MODELS[row["model"]] for row in rows)
    return f"""A series of 144 x 963 took {span([value(row["seconds a sample (most)"]) for row in rows])} s and up to
        {most / 1000:.1f} GB ({models}), with {span([value(row["rows"]) for row in rows])} rows in
        {span([value(row["calls"]) for row in rows])} calls. Asked for alone, the nearest answer of the forest changes
        {cells} cells, {ratio} times as far in L1 as a program that sees the trees proves to be needed:
        `benchmarks/results/scale.md`."""


def _examples() -> str:
    return "The paper's qualitative examples: `benchmarks/results/life-expectancy.md`."


def _evidence() -> str:
    return """Every file in `benchmarks/results` begins with the commit, the settings and the command it was made with;
        `python benchmarks/evidence.py` lists them, and how many commits of the engine have come since."""


def _ablation() -> str:
    path = result("ablation.md")
    _, ahead = report.read_tables(path)
    datasets = span([value(row["datasets"]) for row in ahead])
    return f"""What learning pays, at equal rows and before refinement, with labels and with probabilities, on KNN and forests
        ({on_layout(path)}): fewer rows to the first counterfactual on
        {span([value(row["fewer rows to the first"]) for row in ahead])} of {datasets} datasets and a nearer best on
        {span([value(row["nearer best"]) for row in ahead])}; where the first probe finds one at once, there is nothing
        to learn: `benchmarks/results/ablation.md`."""
