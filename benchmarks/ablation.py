"""What each part of the search pays, at equal rows.

    python benchmarks/ablation.py [--data DIR] [--layout true|published] [--n 10] [--datasets ERing ...] [--seeds 0 1 2]

For KNN and random forest of every dataset of the protocol, with labels and with probabilities:
learning off (the policy and the size of its steps stay as they start) and on, without refinement, then with it. Every
arm may ask the same number of rows, and has the same probe, widening reach and moves of many features at once.
Reported are means over samples and seeds of: success, rows to the first valid counterfactual (the
whole budget where there is none), the cost (L1 + 0.3 L0) of the best one, and on how many datasets
learning is ahead. Written to ``results/ablation.md`` and ``.csv``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import engine
import numpy as np
import protocol
import report
from tqdm import tqdm

from ntdcfe import NTDCFE, SearchSettings

# As many rounds as the rows allow: what the policy has learnt by then is what is compared.
EPISODES_ONLY = engine.largest_batches(replace(engine.NEAREST, refine=False, updates=1000, margin=0.0))
ARMS = {
    "no learning": replace(EPISODES_ONLY, learn=False),
    "learning": EPISODES_ONLY,
    "no learning, refined": replace(engine.NEAREST, learn=False),
    "learning, refined": engine.NEAREST,
}
FIGURES = ("success", "first_found", "cost", "proximity", "sparsity")


def run(
    dataset: protocol.Dataset, model: protocol.Model, samples: np.ndarray, settings: SearchSettings, answers: str,
    seed: int, rows: int,
) -> np.ndarray:  # fmt: skip
    """Figures of every sample (n, len(FIGURES))."""
    predict = model.predict if answers == "labels" else model.predict_proba
    explainer = NTDCFE(predict, dataset.features, settings=settings, seed=seed)
    figures = []
    for cf in explainer.explain_batch(dataset.X[samples], 1, **engine.row_limit(rows)):
        cost = cf.proximity + 0.3 * cf.sparsity if cf.sparsity is not None else np.nan
        sparsity = np.nan if cf.sparsity is None else cf.sparsity
        figures.append([cf.found, cf.first_found or rows, cost, cf.proximity, sparsity])
    return np.array(figures, dtype=float)


def ahead(rows: Sequence[Mapping[str, Any]], model: str, answers: str, figure: str) -> tuple[int, int]:
    """On how many datasets learning has the lower figure, without refinement, and of how many."""
    chosen = [row for row in rows if row["model"] == model and row["answers"] == answers]
    by_arm = {arm: {row["dataset"]: float(row[figure]) for row in chosen if row["arm"] == arm} for arm in ARMS}
    pairs = [(by_arm["learning"][d], by_arm["no learning"][d]) for d in by_arm["learning"]]
    return sum(with_ < without for with_, without in pairs), len(pairs)


def main() -> None:
    """Run every arm and write the tables."""
    parser = report.parser(__doc__)
    protocol.add_arguments(parser)
    parser.add_argument("--datasets", nargs="*", default=list(protocol.DATASETS))
    parser.add_argument("--n", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--rows", type=int, default=2000)
    args = parser.parse_args()
    header = report.made(*(f"{arm}: {settings!r}" for arm, settings in ARMS.items()), args)

    rows: list[dict[str, Any]] = []
    work = [(d, m, a) for d in args.datasets for m in ("knn", "random_forest") for a in ("labels", "probabilities")]
    for name, model_name, answers in tqdm(work):
        dataset = protocol.load(name, args.data, args.layout)
        model = protocol.fit_model(dataset, model_name)
        samples = protocol.evenly_spaced(protocol.invalid_samples(dataset, model), args.n)
        for arm, settings in ARMS.items():
            runs = [run(dataset, model, samples, settings, answers, seed, args.rows) for seed in args.seeds]
            figures = np.nanmean(np.concatenate(runs), axis=0)
            key = {"dataset": name, "model": model_name, "answers": answers, "arm": arm}
            rows.append(key | dict(zip(FIGURES, figures.tolist(), strict=True)))

    report.write_csv(args.out / "ablation.csv", header, rows)
    number = report.number
    report.write_markdown(
        args.out / "ablation.md",
        header,
        f"{args.n} samples a case, seeds {args.seeds}, {args.rows} rows each; cost is L1 + 0.3 L0. "
        f"{protocol.LAYOUT_NOTES[args.layout]}",
        report.table(
            [
                "dataset", "model", "answers", "arm", "success", "rows to the first", "cost of the best", "proximity",
                "sparsity",
            ],
            [
                [
                    row["dataset"], row["model"], row["answers"], row["arm"], f"{number(100 * row['success'], 0)}%",
                    number(row["first_found"], 0), *(number(row[name]) for name in ("cost", "proximity", "sparsity")),
                ]
                for row in rows
            ],
        ),
        "Datasets on which learning is ahead of no learning, both without refinement:",
        report.table(
            ["model", "answers", "fewer rows to the first", "nearer best", "datasets"],
            [
                [model, answers, *(ahead(rows, model, answers, f)[0] for f in ("first_found", "cost")), len(args.datasets)]
                for model in ("knn", "random_forest")
                for answers in ("labels", "probabilities")
            ],
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
