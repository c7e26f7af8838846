"""A synthetic set of the shape of PEMS-SF, 144 x 963: success, memory, seconds, and how near the nearest answers are.

    python benchmarks/scale.py [--n 5] [--models rule_1 rule_2 random_forest]

Standard normal series smoothed over time; the rules are those of PEMS-SF (features 0, 99, 299, last
51 steps), the forest is fitted on the label "feature 0 is high in the afternoon". Written to
``results/scale.md``.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import engine
import numpy as np
import optimum
import protocol
import report
from sklearn.ensemble import RandomForestClassifier
from tqdm import tqdm

from ntdcfe import NTDCFE, Features, SearchSettings

N_SERIES, N_STEPS, N_FEATURES = 120, 144, 963


def synthetic(seed: int = 0) -> np.ndarray:
    """Series (n, K, D), smooth in time, standardised per feature."""
    rng = np.random.default_rng(seed)
    walk = rng.normal(size=(N_SERIES, N_STEPS, N_FEATURES)).cumsum(axis=1)
    walk -= walk.mean(axis=1, keepdims=True)
    return walk / walk.std(axis=(0, 1))


def beside_optimum(x: np.ndarray, forest: RandomForestClassifier, predict: Callable[[np.ndarray], np.ndarray]) -> list[str]:
    """How near the nearest answer for `x` ``(K, D)`` comes to the least L1 that any has: a row of the table."""
    features = Features.continuous(N_FEATURES, scale=1.0)
    cf = NTDCFE(predict, features, settings=engine.NEAREST).explain(x, 1)
    task = optimum.Task.of(x, features, engine.NEAREST, plain=True)
    best = optimum.of_forest(forest, task, lambda state: bool(predict(state[None])[0] == 1))
    assert best is not None
    assert cf.proximity is not None  # it was found with all options, within the same limits
    number = report.number
    return [
        number(cf.proximity, 2), number(best.cost, 2), number(cf.proximity / best.cost, 2), str(cf.sparsity),
        str(np.count_nonzero(best.x != x)), str(engine.rows(cf)), str(engine.calls(cf)), number(cf.seconds),
    ]  # fmt: skip


def main() -> None:
    """Explain a few samples of each model and write what it took."""
    parser = report.parser(__doc__)
    parser.add_argument("--n", type=int, default=5)
    parser.add_argument("--models", nargs="*", default=["rule_1", "rule_2", "random_forest"])
    args = parser.parse_args()
    header = report.made(SearchSettings(), args, packages=("scikit-learn", "scipy"))

    number, table, nearest = report.number, [], []
    X = synthetic()
    rules = protocol.SPECS["PEMS-SF"].rules
    y = X[:, 72:, :8].mean((1, 2)) > np.median(X[:, 72:, :8].mean((1, 2)))
    for name in args.models:
        if name == "random_forest":
            forest = RandomForestClassifier(100, random_state=0).fit(X.reshape(len(X), -1), y)

            def predict(rows: np.ndarray, forest: RandomForestClassifier = forest) -> np.ndarray:
                return forest.predict(rows.reshape(len(rows), -1)).astype(int)
        else:
            predict = rules[name].predict
        invalid = np.flatnonzero(predict(X) == 0)
        explainer = NTDCFE(predict, Features.continuous(N_FEATURES, scale=1.0))
        cfs, seconds = [], []
        for i in tqdm(protocol.evenly_spaced(invalid, args.n), desc=name):
            started = time.perf_counter()
            cfs.append(explainer.explain(X[i], 1))
            seconds.append(time.perf_counter() - started)
        found = [cf for cf in cfs if cf.found]
        ratio = None
        if name in rules:
            best = sum(float(rules[name].optimum(cf.original[None])[0]) for cf in found)
            ratio = sum(cf.proximity for cf in found) / best
        mean = [
            np.mean([cf.sparsity for cf in found]),
            np.mean([len(cf.edits) for cf in found]),
            *(np.mean([f(cf) for cf in cfs]) for f in (engine.rows, engine.calls)),
        ]
        table.append(
            [
                name, len(cfs), number(100 * len(found) / len(cfs), 0), number(ratio, 2), *(number(m, 0) for m in mean),
                f"{number(np.mean(seconds))} ({number(max(seconds))})",
                number(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0),
            ]
        )  # fmt: skip
        print(table[-1], flush=True)
        for cf in found if name == "random_forest" else []:
            nearest.append(beside_optimum(cf.original, forest, predict))
            print(nearest[-1], flush=True)
    report.write_markdown(
        args.out / "scale.md",
        header,
        f"Synthetic {N_STEPS} x {N_FEATURES}, labels only, default settings. Memory is the peak of the whole process, data and "
        "model included.",
        report.table(
            [
                "model", "n", "success %", "proximity / optimum", "sparsity", "edits", "rows", "calls", "seconds a sample (most)",
                "peak memory, MB",
            ],
            table,
        ),
        "The nearest answer of the forest, asked for alone, beside the proven optimum by a program that sees the trees.",
        report.table(["proximity", "optimum", "ratio", "sparsity", "of the optimum", "rows", "calls", "seconds"], nearest),
    )  # fmt: skip


if __name__ == "__main__":
    main()
