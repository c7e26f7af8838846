"""Budgets: are the limits of rows and of seconds ever exceeded, and by how much? 1,000 random runs.

    python benchmarks/load/budgets.py

The model counts its rows, and is slow at random in half of the runs. Written to ``results/load-budgets.md``. "Lost"
are runs without a result although the model had said "valid" of a row that is valid.
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
from common import engine, model, report, series
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER, SearchSettings

RUNS = 1000
BATCH = engine.LARGEST_BATCH


def main() -> None:
    """Random shapes, budgets, algorithms, batch sizes and flips."""
    args = report.parser(__doc__).parse_args()
    header = report.made(f"random, {RUNS} runs, seeds from 0")
    rng = np.random.default_rng(0)
    over_rows, over_time, ends = [], [], Counter()
    for seed in tqdm(range(RUNS)):
        rows: list[int] = []
        told: list[bool] = []
        begun: list[float] = []
        delay = rng.choice([0.002, 0.01, 0.03]) if rng.random() < 0.5 else 0.0
        flips = rng.choice([0.0, 0.0, 0.1])

        def predict(X: np.ndarray) -> np.ndarray:
            begun.append(time.perf_counter())  # noqa: B023
            rows.append(len(X))  # noqa: B023
            time.sleep(delay * rng.random())  # noqa: B023
            label = model(X)
            flipped = rng.random(len(X)) < flips  # noqa: B023
            told.append(bool((label[~flipped] == 1).any()))  # noqa: B023
            return np.where(flipped, 1 - label, label)

        most_rows = int(10 ** rng.uniform(0, 2.7))
        max_seconds = float(10 ** rng.uniform(-2, 0)) if delay else None
        options = {"max_seconds": max_seconds, "n_counterfactuals": int(rng.choice([1, 1, 3]))}
        options["max_batch_size"] = rng.choice([None, None, 7])
        if rng.random() < 0.2:
            settings = PAPER.given(max_episodes=5, max_interventions=10, hidden=(8,), **options)
            settings = engine.limited(settings, most_rows)
        else:
            settings = engine.limited(SearchSettings(**options), most_rows, int(rng.integers(3, 30)))
        x = series(1, int(rng.integers(3, 20)), int(rng.integers(1, 5)), seed)[0]
        started = time.perf_counter()
        cf = NTDCFE(predict, settings=settings, seed=seed).explain(x, "other" if flips and rng.random() < 0.5 else 1)
        seconds = time.perf_counter() - started
        over_rows.append(sum(rows) - most_rows)
        if max_seconds is not None:
            ticks = np.array([started, *begun, started + seconds])
            over_time.append((seconds - max_seconds, np.diff(ticks).max()))
            ends["found"] += cf.found
            ends["unconfirmed"] += cf.found and not cf.confirmed
            if any(told) and not cf.found:
                ends["lost"] += 1
                ends["rows of lost"] = max(ends["rows of lost"], most_rows)
            if cf.found and model(cf.x[None])[0] != 1:
                ends["rejected, confirmed" if cf.confirmed else "rejected"] += 1
                ends["rows of confirmed"] = max(ends["rows of confirmed"], most_rows * cf.confirmed)
    late = np.array([over for over, _ in over_time])
    call = np.array([own for _, own in over_time])
    number = report.number
    report.write_markdown(
        args.out / "load-budgets.md",
        header,
        f"{RUNS} random runs (shapes, budgets, algorithms, batch sizes, flipping answers).",
        report.table(
            ["limit", "runs", "exceeded", "by more than one batch", "most"],
            [
                ["rows", RUNS, sum(o > 0 for o in over_rows), sum(o > BATCH for o in over_rows), f"{max(*over_rows, 0)} rows"],
                ["seconds", len(late), (late > 0).sum(), (late > call).sum(), f"{number(late.max(), 3)} s"],
            ],
        ),
        f"A batch is {BATCH} rows, or one call to the model and what the search does until the next, the longest of the run. "
        f"Of the runs with a limit of seconds {ends['found']} found something, {ends['unconfirmed']} of them without a last "
        f"check or votes enough in it; the clean model rejects {ends['rejected']} of these, and "
        f"{ends['rejected, confirmed']} of the others (budgets up to {ends['rows of confirmed']} rows). {ends['lost']} lost "
        f"(up to {ends['rows of lost']} rows).",
    )  # fmt: skip


if __name__ == "__main__":
    main()
