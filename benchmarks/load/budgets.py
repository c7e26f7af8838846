"""Budgets: are max_queries and max_seconds ever exceeded, and by how much? 1,000 random runs.

    python benchmarks/load/budgets.py

The model counts its rows, and is slow at random in half of the runs. Written to ``results/load-budgets.md``.
"""

from __future__ import annotations

import time

import numpy as np
from common import model, series, write
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER, SearchSettings

RUNS = 1000


def main() -> None:
    """Random shapes, budgets, algorithms, batch sizes and flips."""
    rng = np.random.default_rng(0)
    over_rows, over_time, timed = [], [], 0
    for seed in tqdm(range(RUNS)):
        rows: list[int] = []
        begun: list[float] = []
        delay = rng.choice([0.002, 0.01, 0.03]) if rng.random() < 0.5 else 0.0
        flips = rng.choice([0.0, 0.0, 0.1])

        def predict(X: np.ndarray) -> np.ndarray:
            begun.append(time.perf_counter())  # noqa: B023
            rows.append(len(X))  # noqa: B023
            time.sleep(delay * rng.random())  # noqa: B023
            label = model(X)
            return np.where(rng.random(len(X)) < flips, 1 - label, label)  # noqa: B023

        max_queries = int(10 ** rng.uniform(0, 2.7))
        max_seconds = float(10 ** rng.uniform(-2, 0)) if delay else None
        options = {
            "max_queries": max_queries,
            "max_seconds": max_seconds,
            "n_counterfactuals": int(rng.choice([1, 1, 3])),
        }
        options["max_batch_size"] = rng.choice([None, None, 7])
        if rng.random() < 0.2:
            settings = PAPER.given(max_episodes=5, max_interventions=10, hidden=(8,), **options)
        else:
            settings = SearchSettings(max_calls=int(rng.integers(3, 30)), **options)
        x = series(1, int(rng.integers(3, 20)), int(rng.integers(1, 5)), seed)[0]
        started = time.perf_counter()
        NTDCFE(predict, settings=settings, seed=seed).explain(x, rng.choice([1, "other"]) if flips else 1)
        seconds = time.perf_counter() - started
        over_rows.append(sum(rows) - max_queries)
        if max_seconds is not None:
            timed += 1
            # A batch: its calls to the model, and what the search does with the answers.
            largest = settings.batch_rows + 7 * settings.confirmations  # with the votes of a last check
            calls_a_batch = -(-largest // settings.max_batch_size) if settings.max_batch_size else 1
            ticks = np.array([started, *begun, started + seconds])
            over_time.append(
                (seconds - max_seconds, max((ticks[calls_a_batch:] - ticks[:-calls_a_batch]), default=seconds))
            )
    late = np.array([over for over, _ in over_time])
    batch = np.array([own for _, own in over_time])
    write(
        "load-budgets.md",
        f"{RUNS} random runs (shapes, budgets, algorithms, batch sizes, flipping answers); made by `benchmarks/load/budgets.py`.",
        "",
        "| limit | runs | exceeded | by more than one batch | most |",
        "| --- | --- | --- | --- | --- |",
        f"| max_queries | {RUNS} | {sum(o > 0 for o in over_rows)} | {sum(o > 160 for o in over_rows)} | {max(max(over_rows), 0)} rows |",
        f"| max_seconds | {timed} | {(late > 0).sum()} | {(late > batch).sum()} | {late.max():.3f} s |",
        "",
        "A batch is its calls to the model and what the search does until it asks again, the longest of the run.",
    )


if __name__ == "__main__":
    main()
