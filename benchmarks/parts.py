"""What the rounds near the boundary, the windows, the substitutes and patience are worth to the search for the nearest answer.

    python benchmarks/parts.py [--data DIR] [--n 5] [--seeds 0 1] [--datasets ERing ...] [--models knn ...]

Each part is switched off in turn, on the same samples and seeds, labels only, in the published layout. Reported is what
the answers cost beside those of the whole search, as a geometric mean over samples, seeds and datasets, and what was
asked. Written to ``results/parts.md``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import engine
import numpy as np
import protocol
import report
from limits import LAYOUT, Bench
from limits_tables import NAMES, geometric
from tqdm import tqdm

from ntdcfe import NTDCFE, SearchSettings

NEAREST = engine.NEAREST
TUNING = NEAREST.tuning
ARMS: dict[str, SearchSettings] = {
    "the whole search": NEAREST,
    "no rounds": replace(NEAREST, tuning=replace(TUNING, additive=replace(TUNING.additive, largest=0))),
    # Where no race is followed by a round, smooth models have none.
    "no rounds of planes": replace(NEAREST, tuning=replace(TUNING, slopes=replace(TUNING.slopes, races=10**9))),
    "no windows": replace(NEAREST, tuning=replace(TUNING, windows=replace(TUNING.windows, most=0))),
    "no substitutes": replace(NEAREST, tuning=replace(TUNING, substitutes=replace(TUNING.substitutes, most=0))),
    "no end by patience": replace(NEAREST, patience=NEAREST.max_rows),
}
MODELS = ("knn", "random_forest", "lstm", "rule_2")


def costs(bench: Bench, settings: SearchSettings, seeds: list[int]) -> np.ndarray:
    """What the answer of each sample and seed costs, its rows and its calls ``(samples * seeds, 3)``."""
    rows = []
    for sample in bench.samples:
        for seed in seeds:
            explainer = NTDCFE(bench.model.predict, bench.dataset.features, settings=settings, seed=seed)
            cf = explainer.explain(bench.dataset.X[sample], target=1)
            cost = np.nan if cf.x is None else bench.task(sample, "cost").cost(cf.x)
            rows.append((cost, engine.rows(cf), engine.calls(cf)))
    return np.array(rows)


def main() -> None:
    """Run every arm and write the table."""
    parser = report.parser(__doc__)
    parser.add_argument("--data", type=Path, default=protocol.data_folder(), help="datasets; else downloaded")
    parser.add_argument("--datasets", nargs="*", default=list(protocol.DATASETS))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--n", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    args = parser.parse_args()
    header = report.made(NEAREST, args, packages=("scikit-learn",))

    lines = []
    for model in args.models:
        ratios: dict[str, list[float]] = {arm: [] for arm in ARMS}
        asked: dict[str, list[np.ndarray]] = {arm: [] for arm in ARMS}
        for name in tqdm(args.datasets, desc=model):
            bench = Bench(protocol.load(name, args.data, LAYOUT), model, args.n)
            by_arm = {arm: costs(bench, settings, args.seeds) for arm, settings in ARMS.items()}
            whole = by_arm["the whole search"][:, 0]
            for arm, figures in by_arm.items():
                # There is no ratio to a cost of nothing, or to no answer.
                ratios[arm].append(geometric(figures[:, 0][whole > 0] / whole[whole > 0]))
                asked[arm].append(figures[:, 1:].mean(0))
        lines += [
            [
                NAMES[model], arm, report.number(geometric(ratios[arm]), 3),
                report.number(min(ratios[arm]), 2), report.number(max(ratios[arm]), 2),
                *(report.number(number, 0) for number in np.mean(asked[arm], axis=0)),
            ]
            for arm in ARMS
        ]  # fmt: skip
    report.write_markdown(
        args.out / "parts.md",
        header,
        f"{args.n} samples a case, seeds {args.seeds}, labels, at most 10,000 rows, over {len(args.datasets)} datasets. "
        "Cost is the engine's own, distance in units and a price on each changed cell, beside that of the whole search: "
        f"above 1 the part pays. {protocol.LAYOUT_NOTES[LAYOUT]}",
        report.table(["model", "search", "cost beside the whole", "least", "most", "rows", "calls"], lines),
    )


if __name__ == "__main__":
    main()
