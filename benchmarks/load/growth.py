"""Growth: seconds and memory against steps K, features D of series and of rows of a table, and instances N.

    python benchmarks/load/growth.py

Each point is a process of its own. Seconds are those of the processor, so that other work on the machine does not count;
memory is its peak beyond what it had before the first explanation. The model costs next to nothing. Written to
``results/load-growth.md`` and ``results/load-growth.png``.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from typing import NamedTuple

import numpy as np
from common import engine, report
from tqdm import tqdm

from ntdcfe import NTDCFE, SearchSettings

# Rows of each instance where there are many of them.
ROWS_OF_MANY = 1000
LIMIT_OF_MEMORY = 4096
LIMIT_OF_EXPONENT = 1.1


class Point(NamedTuple):
    """N series of K x D, or rows of D features (K is None)."""

    K: int | None
    D: int
    N: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Of all instances."""
        return (self.N, self.D) if self.K is None else (self.N, self.K, self.D)

    @property
    def cells(self) -> int:
        """In all."""
        return self.N * (self.K or 1) * self.D

    def __str__(self) -> str:
        one = f"row of {self.D}" if self.K is None else f"{self.K} x {self.D}"
        return one if self.N == 1 else f"{self.N} of {one}"


SIZES = (1, 10, 100, 1000)
POINTS = {
    "K": [Point(100 * n, 1) for n in SIZES],
    "D": [Point(10, 10 * n) for n in SIZES],
    "D of a row": [Point(None, 100 * n) for n in SIZES],
    "N": [Point(50, 2, n) for n in SIZES],
}
# A recording of an hour at 50 Hz, a wide series, a wide row.
BEYOND = [Point(180_000, 3), Point(144, 963), Point(None, 20_000)]


def model(X: np.ndarray) -> np.ndarray:
    """1 where the last twentieth of all cells is above 0.3 on average: labels (n,)."""
    flat = X.reshape(len(X), -1)
    return (flat[:, -max(1, flat.shape[1] // 20) :].mean(1) > 0.3).astype(int)


def peak() -> float:
    """Megabytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def settings_of(point: Point) -> SearchSettings:
    """The defaults; where there are many instances, fewer rows of each."""
    return SearchSettings(max_rows=ROWS_OF_MANY) if point in POINTS["N"] else SearchSettings()


def measure(point: Point) -> dict[str, float]:
    """What it takes to explain the instances of a point."""
    X = np.random.default_rng(0).normal(-0.5, 0.3, point.shape)
    NTDCFE(model).explain(np.full((12, 3), -0.5), 1, max_rows=100)
    before = peak()
    started = time.process_time()
    cfs = NTDCFE(model, settings=settings_of(point)).explain_batch(X, 1)
    return {
        "seconds": time.process_time() - started,
        "memory": peak() - before,
        "peak": peak(),
        "asked": sum(engine.rows(cf) for cf in cfs),
        "found": sum(cf.found for cf in cfs),
    }


def in_a_process(point: Point) -> dict[str, float]:
    """`measure`, on its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (point,))


def exponents(cells: list[int], cost: list[float]) -> tuple[float, float]:
    """Exponents of the growth over all points, and of the steepest step."""
    steps = np.diff(np.log(cost)) / np.diff(np.log(cells))
    return float(np.log(cost[-1] / cost[0]) / np.log(cells[-1] / cells[0])), float(steps.max())


def main() -> None:
    """Measure every point, draw, write."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    args = report.parser(__doc__).parse_args()
    header = report.made(SearchSettings(), f"where N varies, max_rows={ROWS_OF_MANY}")
    rows, grown = [], []
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    with tqdm(total=sum(map(len, POINTS.values())) + len(BEYOND)) as bar:
        for name, points in POINTS.items():
            results = []
            for point in points:
                bar.set_description(str(point))
                results.append(in_a_process(point))
                rows.append(_row(name, point, results[-1]))
                bar.update()
            cells = [point.cells for point in points]
            for axis, what in zip(axes, ("seconds", "memory"), strict=True):
                axis.loglog(cells, [r[what] for r in results], marker="o", label=name)
            told = [exponents(cells, [r[what] for r in results]) for what in ("seconds", "memory")]
            most = max(steepest for _, steepest in told)
            grown.append(
                [name, *(report.number(value, 2) for pair in told for value in pair), _verdict(most, LIMIT_OF_EXPONENT)]
            )
        beyond = []
        for point in BEYOND:
            bar.set_description(str(point))
            beyond.append(in_a_process(point))
            rows.append(_row("beyond", point, beyond[-1]))
            bar.update()
    for axis, what in zip(axes, ("CPU seconds", "MB beyond the start"), strict=True):
        axis.set(xlabel="cells of all instances", ylabel=what)
        axis.plot([100, 100_000], np.array([1, 1000]) * axis.get_ylim()[0], color="grey", linestyle=":", label="linear")
        axis.legend()
    args.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out / "load-growth.png", dpi=110)
    highest = max(result["peak"] for result in beyond)
    report.write_markdown(
        args.out / "load-growth.md",
        header,
        "CPU seconds and memory (MB beyond the process before the first explanation; its peak) of one process a point, with "
        "the default settings; where the number of instances varies, with fewer rows each. Drawn in `load-growth.png`.",
        report.table(["what grows", "instances", "cells", "rows asked", "found", "seconds", "memory", "peak"], rows),
        "Exponents of the growth from the smallest point to the largest, and of the steepest step between two of them:",
        report.table(
            ["what grows", "seconds", "steepest step", "memory", "steepest step", f"at most {LIMIT_OF_EXPONENT}"], grown
        ),
        f"Peak of the large ones: {report.number(highest, 0)} MB, "
        f"{'under' if highest < LIMIT_OF_MEMORY else 'OVER'} {LIMIT_OF_MEMORY} MB.",
    )


def _verdict(value: float, limit: float) -> str:
    return "yes" if value <= limit else "NO"


def _row(name: str, point: Point, result: dict[str, float]) -> list[object]:
    counts = [f"{point.cells:,}", f"{int(result['asked']):,}", int(result["found"])]
    numbers = (report.number(result[n], d) for n, d in (("seconds", 1), ("memory", 0), ("peak", 0)))
    return [name, str(point), *counts, *numbers]


if __name__ == "__main__":
    main()
