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
from common import RESULTS, model, series, write
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
    NTDCFE(model, settings=SearchSettings(max_queries=100, max_calls=4)).explain(series(1)[0], 1)
    before = peak()
    # Calls in proportion to the rows, as in the default settings.
    explainer = NTDCFE(model, settings=SearchSettings(max_queries=rows, max_calls=max(4, rows // 100)))
    started = time.process_time()
    cfs = explainer.explain_batch(X, 1)
    return {
        "seconds": time.process_time() - started,
        "memory": peak() - before,
        "peak": peak(),
        "asked": sum(cf.n_queries for cf in cfs),
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

    lines = [
        "CPU seconds and memory (MB beyond the process before the first explanation; its peak) of one process a point, "
        "made by `benchmarks/load/growth.py`. The others are held at "
        f"{', '.join(f'{name} = {value}' for name, value in BASE.items())}. The exponent is that of the last step.",
        "",
        "| K | D | N | rows each | rows asked | found | seconds | memory | peak |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    exponents = []
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    with tqdm(total=sum(map(len, POINTS.values())) + 1) as bar:
        for name, values in POINTS.items():
            results = []
            for value in values:
                point = {**BASE, name: value}
                results.append(in_a_process(point))
                lines.append(_row(point, results[-1]))
                bar.update()
            relative = [value / values[0] for value in values]
            for axis, what in zip(axes, ("seconds", "memory"), strict=True):
                axis.loglog(relative, [max(r[what], 0.1) for r in results], marker="o", label=name)
            exponents.append(
                f"{name}: seconds {slope(relative, [r['seconds'] for r in results]):.2f}, "
                f"memory {slope(relative, [max(r['memory'], 1) for r in results]):.2f}"
            )
        large = in_a_process(LARGE)
        lines.append(_row(LARGE, large))
    for axis, what in zip(axes, ("CPU seconds", "MB beyond the start"), strict=True):
        axis.set(xlabel=f"times the base ({', '.join(f'{n} {v}' for n, v in BASE.items())})", ylabel=what)
        axis.plot([1, 64], [1, 64], color="grey", linestyle=":", label="linear")
        axis.legend()
    figure.savefig(RESULTS / "load-growth.png", dpi=110)
    verdict = "under" if large["peak"] < LIMIT else "OVER"
    lines += ["", f"Exponents: {'; '.join(exponents)}. 144 x 963: peak {large['peak']:.0f} MB, {verdict} {LIMIT} MB."]
    write("load-growth.md", *lines)


def _row(point: dict[str, int], result: dict[str, float]) -> str:
    cells = [*point.values(), int(result["asked"]), int(result["found"]), f"{result['seconds']:.1f}"]
    cells += [f"{result['memory']:.0f}", f"{result['peak']:.0f}"]
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
