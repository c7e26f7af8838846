"""What the judge of plausibility, the local outlier factor, can say of the paper's cases.

    python benchmarks/plausibility.py --data DIR

Plausibility is the one figure whose judge the paper leaves open: it names the local outlier
factor, not its number of neighbours. Three tables go to ``results/plausibility.md``:

- how many of the train series themselves are called plausible, by neighbours. The paper calls all
  of CoMTE's counterfactuals plausible, which change every cell, so are whole train series;
- Algorithm 1 as run here (``paper.py --search paper``), judged with 1 and with 20, beside the printed figures;
- for the rule models, how many series stay implausible whatever counterfactual within 5% of the
  optimum is taken: a bound, not a search.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import protocol
from paper import RESULTS, read_samples, summarise
from sklearn.neighbors import LocalOutlierFactor

NEIGHBOURS = (1, 2, 3, 5, 10, 20)
RULES = ("rule_1", "rule_2")
SLACK = 0.05  # how far above the optimum the mean of a rule model's counterfactuals may be
THRESHOLD = 1.5  # above it scikit-learn calls a series an outlier


def of_train_series(dataset: protocol.Dataset) -> list[float]:
    """Percent of the train series that are plausible, for each number of neighbours."""
    return [100 * float(protocol.plausibility(dataset, n)(dataset.X).mean()) for n in NEIGHBOURS]


def least_factor(detector: LocalOutlierFactor, x: np.ndarray, budget: float) -> float:
    """A lower bound of the factor of every series within `budget` (L1) of the series ``(m,)``.

    A change of L1 norm b moves the distance to a train series by at most b times the largest
    slope that any one cell can have on the way.
    """
    train, n = detector._fit_X, detector.n_neighbors_
    distance = np.linalg.norm(train - x, axis=1)
    slope = np.ones(len(train))
    far = distance > budget
    slope[far] = np.minimum(1, (np.abs(train[far] - x).max(1) + budget) / (distance[far] - budget))
    nearest, farthest = np.maximum(distance - budget * slope, 0), distance + budget * slope
    # Any n neighbours are at least as far, and as thinly surrounded, as the least of those that can be.
    reach = np.sort(np.maximum(nearest, detector._distances_fit_X_[:, n - 1]))[:n].mean()
    can_be = nearest <= np.sort(farthest)[n - 1]
    return float(reach * np.sort(detector._lrd[can_be])[:n].mean())


def of_rules(dataset: protocol.Dataset, model_name: str, n_samples: int) -> tuple[int, float, int]:
    """Samples of a rule model, percent of them plausible unchanged, and how many no near change makes plausible."""
    model = protocol.fit_model(dataset, model_name)
    chosen = protocol.evenly_spaced(protocol.invalid_samples(dataset, model), n_samples)
    samples, train = (series.reshape(len(series), -1) for series in (dataset.X[chosen], dataset.X))
    optimum = np.array([protocol.optimum(dataset, model_name, x) for x in dataset.X[chosen]])
    detector = LocalOutlierFactor(novelty=True).fit(train)
    # One sample may have the slack of all, since only their mean counts.
    budget = optimum + SLACK * optimum.sum()
    least = np.array([least_factor(detector, x, b) for x, b in zip(samples, budget, strict=True)])
    unchanged = (detector.predict(samples) == 1).mean()
    return len(chosen), 100 * float(unchanged), int((least > THRESHOLD).sum())


def main() -> None:
    """Write the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the datasets, the paper's figures beside it"
    )
    parser.add_argument("--n", type=int, default=30, help="samples a case")
    args = parser.parse_args()
    paper = protocol.paper_figures(args.data.parent / "paper" / "results.csv")
    datasets = [protocol.load(name, args.data) for name in protocol.DATASETS]

    lines = ["Made by `benchmarks/plausibility.py` on the published layout.", ""]
    lines += ["Train series that the local outlier factor calls plausible, %, by its neighbours:", ""]
    lines += ["| dataset | " + " | ".join(map(str, NEIGHBOURS)) + " |", "|" + " --- |" * (1 + len(NEIGHBOURS))]
    for dataset in datasets:
        lines.append(f"| {dataset.name} | " + " | ".join(f"{share:.1f}" for share in of_train_series(dataset)) + " |")

    lines += ["", "Algorithm 1 as run here, plausible %, and the paper's own figure:", ""]
    lines += ["| case | n | 20 neighbours | 1 neighbour | the paper |", "|" + " --- |" * 5]
    samples = [row for row in read_samples(RESULTS / "paper-samples.csv") if row["layout"] == "published"]
    for row in summarise([row for row in samples if row["search"] == "paper"], paper):
        figures = " | ".join(f"{row[name]:.1f}" for name in ("plausibility", "plausibility_1", "paper_plausibility"))
        lines.append(f"| {row['dataset']} {row['model']} | {row['n']} | {figures} |")

    lines += [
        "",
        "Rule models, 20 neighbours: series plausible before any change, and series that no counterfactual "
        f"makes plausible while the mean stays within {SLACK:.0%} of the optimum:",
        "",
    ]
    lines += ["| case | n | plausible unchanged % | proved implausible | at best % | the paper |", "|" + " --- |" * 6]
    for dataset in datasets:
        for model_name in RULES if not dataset.discrete else ():  # a discrete cell moves further than its cost
            n, unchanged, implausible = of_rules(dataset, model_name, args.n)
            printed = paper[dataset.name, model_name]["plausibility"]
            best = 100 * (1 - implausible / n)
            lines.append(
                f"| {dataset.name} {model_name} | {n} | {unchanged:.1f} | {implausible} | {best:.1f} | {printed:.1f} |"
            )
    text = "\n".join(lines) + "\n"
    (RESULTS / "plausibility.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
