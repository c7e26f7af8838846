"""Deadlines: by how much is ``max_seconds`` exceeded? 1,000 random runs, from a few cells to half a million.

    python benchmarks/load/deadlines.py [--runs 1000]

Series and rows of a table of random sizes (as many small ones as large ones, by the logarithm of their cells), random
algorithms, numbers of counterfactuals, outputs and models that take their time. What is allowed is the longest call of the
run and a second. On a machine that is busy with other things the clock runs while we wait for a processor: so the seconds
of the processor after the deadline are told, too, which do not depend on that. Written to ``results/load-deadlines.md``.
"""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

import numpy as np
from common import busy, report
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER, SearchSettings

LARGEST = 540_000  # cells of a recording of an hour at 50 Hz, three channels
CLASSES = ((0, 1_000), (1_000, 10_000), (10_000, 100_000), (100_000, LARGEST + 1))
ALLOWED = 1.0


class Run(NamedTuple):
    """One run: its size, its limit, how late it was, by the clock and by the processor, and its longest call."""

    cells: int
    limit: float
    late: float
    late_of_processor: float
    longest_call: float
    found: bool


class Model:
    """Labels, or probabilities, by the last twentieth of all cells; takes its time, and notes how long its calls are."""

    def __init__(self, graded: bool, delay: float) -> None:
        self.graded, self.delay, self.longest = graded, delay, 0.0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Labels (n,) or probabilities (n, 2)."""
        began = time.perf_counter()
        time.sleep(self.delay)
        flat = X.reshape(len(X), -1)
        value = flat[:, -max(1, flat.shape[1] // 20) :].mean(1) - 0.3
        p = 1 / (1 + np.exp(-5 * value))
        self.longest = max(self.longest, time.perf_counter() - began)
        return np.column_stack([1 - p, p]) if self.graded else (value > 0).astype(int)


def instance(rng: np.random.Generator) -> np.ndarray:
    """A series (K, D) or a row (D,) of a random size."""
    cells = int(10 ** rng.uniform(1, np.log10(LARGEST)))
    if rng.random() < 0.25:
        shape: tuple[int, ...] = (min(cells, 20_000),)
    else:
        features = int(10 ** rng.uniform(0, min(3, np.log10(cells))))
        shape = (max(1, cells // features), features)
    return rng.normal(-0.5, 0.3, shape)


def timed(rng: np.random.Generator, seed: int) -> Run:
    """One random run."""
    x, limit = instance(rng), float(10 ** rng.uniform(-2, 0))
    model = Model(bool(rng.random() < 0.5), float(rng.choice([0.0, 0.0, 0.002, 0.02])))
    kind = rng.random()
    settings = SearchSettings(n_counterfactuals=int(rng.choice([1, 1, 1, 3])))
    if kind < 0.1:
        settings = PAPER
    elif kind < 0.4:
        settings = settings.given(options=["nearest"])
    explainer = NTDCFE(model, settings=settings, seed=seed)
    spent = [time.process_time()]
    clock = threading.Timer(limit, lambda: spent.append(time.process_time()))
    clock.start()
    began = time.perf_counter()
    cf = explainer.explain(x, 1, max_seconds=limit)
    late, end = time.perf_counter() - began - limit, time.process_time()
    clock.cancel()
    return Run(x.size, limit, late, end - spent[1] if len(spent) > 1 else 0.0, model.longest, cf.found)


def main() -> None:
    """Random runs, by size."""
    parser = report.parser(__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    args = parser.parse_args()
    header = report.made(args, "random, seeds from 0; SearchSettings() and PAPER, max_seconds from 0.01 to 1")
    rng = np.random.default_rng(0)
    NTDCFE(Model(True, 0.0)).explain(np.full((8, 2), -0.5), 1, max_rows=300)  # what is loaded once does not count
    runs = [timed(rng, seed) for seed in tqdm(range(args.runs))]
    number = report.number

    def row(name: str, some: list[Run]) -> list[object]:
        return [
            name, len(some), sum(run.found for run in some), sum(run.late > 0 for run in some),
            *(number(float(np.percentile([max(0.0, run.late) for run in some], q)), 3) for q in (50, 99)),
            number(max(run.late for run in some), 2),
            sum(run.late > run.longest_call + ALLOWED for run in some),
            number(max(run.late_of_processor for run in some), 2),
            sum(run.late_of_processor > run.longest_call + ALLOWED for run in some),
        ]  # fmt: skip

    table = [
        row(f"{low:,} to {high - 1:,}", some)
        for low, high in CLASSES
        if (some := [run for run in runs if low <= run.cells < high])
    ]
    report.write_markdown(
        args.out / "load-deadlines.md",
        header,
        f"{len(runs)} random runs with `max_seconds` from 0.01 to 1: by how much it was exceeded, in seconds of the clock and "
        "of the processor. Beyond what is allowed: by more than the longest call to the model in that run and a second. "
        + busy(),
        report.table(
            [
                "cells", "runs", "found", "exceeded", "median", "99th percentile", "most", "beyond what is allowed",
                "most of the processor", "beyond what is allowed by the processor",
            ],
            [*table, row("all", runs)],
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
