"""Growth: seconds and memory against steps K, features D, instances N and budget.

    python benchmarks/load/growth.py

Each point is a process of its own; memory is its peak beyond what it had before the first explanation. The model
costs next to nothing. Written to ``results/load-growth.md`` and ``results/load-growth.png``.
"""

from __future__ import annotations

import multiprocessing
import resource
import time

import numpy as np
from common import engine, model, report, series
from tqdm import tqdm

from ntdcfe import NTDCFE, SearchSettings

BASE = {"K": 50, "D": 10, "N": 1, "rows": 1000}
POINTS = {"K": (50, 200, 800), "D": (10, 40, 160), "N": (1, 8, 64), "rows": (1000, 4000, 16000)}
LARGE = {"K": 144, "D": 963, "N": 1, "rows": 10_000}
LIMIT = 4096


def peak() -> float:
    """Megabytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(K: int, D: int, N: int, rows: int) -> dict[str, float]:
    """What it takes to explain N series of K x D with so many rows each."""
    X = series(N, K, D)
    X[:, -3:, 0] = -0.5  # none is at the target already
    NTDCFE(model, settings=engine.limited(SearchSettings(), 100, 4)).explain(series(1)[0], 1)
    before = peak()
    # Calls in proportion to the rows, as in the default settings.
    explainer = NTDCFE(model, settings=engine.limited(SearchSettings(), rows, max(4, rows // 100)))
    started = time.process_time()
    cfs = explainer.explain_batch(X, 1)
    return {
        "seconds": time.process_time() - started,
        "memory": peak() - before,
        "peak": peak(),
        "asked": sum(engine.rows(cf) for cf in cfs),
        "found": sum(cf.found for cf in cfs),
    }


def in_a_process(point: dict[str, int]) -> dict[str, float]:
    """`measure`, on its own."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(measure, kwds=point)


def slope(x: list[float], y: list[float]) -> float:
    """Exponent of the growth, from the last two points."""
    return float(np.log(y[-1] / y[-2]) / np.log(x[-1] / x[-2]))


def main() -> None:
    """Measure every point, draw, write."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    args = report.parser(__doc__).parse_args()
    header = report.made(SearchSettings(), "rows as in the table, a call for every 100 of them")
    rows = []
    exponents = []
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    with tqdm(total=sum(map(len, POINTS.values())) + 1) as bar:
        for name, values in POINTS.items():
            results = []
            for value in values:
                point = {**BASE, name: value}
                results.append(in_a_process(point))
                rows.append(_row(point, results[-1]))
                bar.update()
            relative = [value / values[0] for value in values]
            for axis, what in zip(axes, ("seconds", "memory"), strict=True):
                axis.loglog(relative, [max(r[what], 0.1) for r in results], marker="o", label=name)
            exponents.append(
                f"{name}: seconds {report.number(slope(relative, [r['seconds'] for r in results]), 2)}, "
                f"memory {report.number(slope(relative, [max(r['memory'], 1) for r in results]), 2)}"
            )
        large = in_a_process(LARGE)
        rows.append(_row(LARGE, large))
    for axis, what in zip(axes, ("CPU seconds", "MB beyond the start"), strict=True):
        axis.set(xlabel=f"times the base ({', '.join(f'{n} {v}' for n, v in BASE.items())})", ylabel=what)
        axis.plot([1, 64], [1, 64], color="grey", linestyle=":", label="linear")
        axis.legend()
    args.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out / "load-growth.png", dpi=110)
    verdict = "under" if large["peak"] < LIMIT else "OVER"
    report.write_markdown(
        args.out / "load-growth.md",
        header,
        "CPU seconds and memory (MB beyond the process before the first explanation; its peak) of one process a point. The "
        f"others are held at {', '.join(f'{name} = {value}' for name, value in BASE.items())}. The exponent is that of the "
        "last step. Drawn in `load-growth.png`.",
        report.table(["K", "D", "N", "rows each", "rows asked", "found", "seconds", "memory", "peak"], rows),
        f"Exponents: {'; '.join(exponents)}. {LARGE['K']} x {LARGE['D']}: peak {report.number(large['peak'], 0)} MB, "
        f"{verdict} {LIMIT} MB.",
    )


def _row(point: dict[str, int], result: dict[str, float]) -> list[object]:
    counts = [int(result["asked"]), int(result["found"])]
    return [
        *point.values(),
        *counts,
        *(report.number(result[n], d) for n, d in (("seconds", 1), ("memory", 0), ("peak", 0))),
    ]


if __name__ == "__main__":
    main()
