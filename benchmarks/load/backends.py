"""The same batch on every backend: identical results? How fast are two workers? What if one is killed?

    python benchmarks/load/backends.py [--backends None loky threading multiprocessing dask ray]

Needs ``distributed`` and ``ray`` for theirs. The model takes 20 ms a call, as one behind a network would. Written to
``results/load-backends.md``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from common import SMALL, busy, engine, outcome, report, series

from ntdcfe import NTDCFE

N = 48


class Remote:
    """A model that takes its time; sent by value, as it lives in this file."""

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Labels (n,)."""
        time.sleep(0.02)
        return (X[:, -3:, 0].mean(1) > 0).astype(int)


@contextlib.contextmanager
def running(backend: str | None, workers: int) -> Iterator[Any]:
    """What the backend needs around it; gives the Dask cluster if there is one."""
    if backend == "dask":
        from distributed import Client, LocalCluster

        with (
            LocalCluster(workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            client.run(_warm)
            yield cluster
    elif backend == "ray":
        import ray

        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
        yield None
        ray.shutdown()
    else:
        yield None


def _warm() -> None:
    import ntdcfe  # noqa: F401


def run(backend: str | None, workers: int, kill: bool = False) -> tuple[list[dict], float, float]:
    """Results, seconds, and seconds of a second run, when all workers are up."""
    explainer = NTDCFE(Remote(), settings=SMALL)
    X = series(N)
    seconds = []
    with running(backend, workers) as cluster:
        for _ in range(1 if kill else 2):
            if kill:
                victim = next(iter(cluster.workers.values())).pid
                threading.Timer(3.0, os.kill, (victim, signal.SIGKILL)).start()
            started = time.perf_counter()
            cfs = explainer.explain_batch(X, 1, backend=backend, n_jobs=workers if backend else None)
            seconds.append(time.perf_counter() - started)
    return [outcome(cf) for cf in cfs], seconds[0], seconds[-1]


def main() -> None:
    """One worker and two on each backend, then a kill."""
    parser = report.parser(__doc__)
    parser.add_argument(
        "--backends", nargs="*", default=["None", "loky", "threading", "multiprocessing", "dask", "ray"]
    )
    args = parser.parse_args()
    header = report.made(SMALL, args, packages=("joblib", "distributed", "ray"))
    expected, *_ = run(None, 1)
    table, notes = [], []
    for name in args.backends:
        backend = None if name == "None" else name
        if (name == "dask" and not find_spec("distributed")) or (name == "ray" and not find_spec("ray")):
            notes.append(f"{name} is not installed here.")
            continue
        one = None if backend is None else run(backend, 1)
        two = run(backend, 2)
        equal = sum(a == b for a, b in zip(two[0], expected, strict=True))
        if one:
            equal = min(equal, sum(a == b for a, b in zip(one[0], expected, strict=True)))
        alone = one[2] if one else float("nan")
        rates = [report.number(N / alone), report.number(N / two[2]), report.number(alone / two[2], 2)]
        table.append([name, f"{equal} of {N}", *rates])
        print(table[-1], flush=True)
    if "dask" in args.backends and find_spec("distributed"):
        results, seconds, _ = run("dask", 2, kill=True)
        equal = sum(a == b for a, b in zip(results, expected, strict=True))
        notes.append(
            f"One of two Dask workers killed (SIGKILL) after 3 s: done after {seconds:.1f} s, {equal} of {N} identical."
        )
    report.write_markdown(
        args.out / "load-backends.md",
        header,
        f"{N} series, {engine.most_rows(SMALL)} rows each, a model of 20 ms a call. Identical: in all that the result has but "
        "seconds and the calls shared with others. Rates are of a second run, when the workers are up.",
        report.table(
            ["backend", "identical to one process", "instances/s, one worker", "two workers", "times"],
            table,
        ),
        *notes,
        busy(),
    )


if __name__ == "__main__":
    main()
