"""Killed from outside and from inside: 200 series, resumed from the checkpoint after each SIGKILL of the whole run.

    python benchmarks/load/kill.py [--backends None loky dask]

In this process all 200 series are healthy, and the run is killed five times. On loky and on a local Dask cluster five
of the series end the worker that is at work on them (by ``os._exit``, or by a SIGKILL of itself), and the run is killed
three times besides. Are all answers there, equal to those of an undisturbed run, and is the status of the five that
of a failure whose cause says that the process died? Written to ``results/load-kill.md``.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from common import SMALL, outcome, report, series

from ntdcfe import NTDCFE, Counterfactual, Features

N = 200
# How often the run is killed from outside; in this process a deadly series would end the run itself.
KILLS = {None: 5, "loky": 3, "dask": 3}
DEADLY = (3, 40, 41, 118, 199)
# A value that no series has: at the first step of a deadly one, where nothing may be changed.
MARK = 9.75
FEATURES = Features.continuous(3, actionable_steps=slice(1, None))
# The first argument of a process that is started to be killed.
WORKER = "worker"


def data(deadly: bool) -> np.ndarray:
    """Series (N, K, 3), the deadly ones marked."""
    X = series(N)
    if deadly:
        X[list(DEADLY), 0, 2] = MARK
    return X


def model_of(deadly: bool) -> Callable[[np.ndarray], np.ndarray]:
    """The model, sent to workers by value; it ends its process when it sees a mark, if it is to be deadly."""
    mark = MARK if deadly else None

    def predict(X: np.ndarray) -> np.ndarray:
        marked = X[:, 0, 2] == mark
        if mark is not None and marked.any():
            if X[marked][0, 0, 0] < -0.5:  # some of them
                os._exit(1)
            os.kill(os.getpid(), signal.SIGKILL)
        return (X[:, -3:, 0].mean(1) > 0).astype(int)

    return predict


@contextlib.contextmanager
def cluster(backend: str | None) -> Iterator[None]:
    """A local Dask cluster of two workers, if that is the backend."""
    if backend != "dask":
        yield
        return
    import logging

    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as running,
        Client(running),
    ):
        yield


def run(checkpoint: str, backend: str | None) -> list[Counterfactual]:
    """The batch, from the checkpoint on."""
    deadly = backend is not None
    with cluster(backend), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the model failed on the deadly ones
        return NTDCFE(model_of(deadly), FEATURES, settings=SMALL).explain_batch(
            data(deadly), 1, checkpoint=checkpoint, backend=backend, n_jobs=2 if backend else None
        )


def lines(path: Path) -> int:
    """Whole lines in a file."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed(path: Path, backend: str | None, rng: random.Random, share: float) -> int:
    """Start the batch and kill it once it has done some more; how many lines the file then has."""
    process = subprocess.Popen(
        [sys.executable, __file__, WORKER, str(path), backend or ""], start_new_session=True, stderr=subprocess.DEVNULL
    )
    goal = lines(path) + 1 + rng.randrange(1, max(2, int(share * N)))
    while lines(path) < goal and process.poll() is None:
        time.sleep(0.01)
    time.sleep(rng.random() * 0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # Workers outlive who started them, and keep the output open; they are in its group, which is a session of its own.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return lines(path)


def disturbed(backend: str | None, rng: random.Random) -> list[object]:
    """A row of the table: a run on that backend that is killed again and again."""
    deadly = set(DEADLY) if backend else set()
    expected = [outcome(cf) for cf in NTDCFE(model_of(False), FEATURES, settings=SMALL).explain_batch(data(bool(backend)), 1)]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        after = [killed(path, backend, rng, 0.25) - 1 for _ in range(KILLS[backend])]
        resumed = run(str(path), backend)
        whole = lines(path) - 1
    died = [cf for cf in resumed if cf.status == "model_failed" and "died" in str(cf.cause)]
    healthy = [i for i in range(N) if i not in deadly]
    equal = sum(outcome(resumed[i]) == expected[i] for i in healthy)
    right = sum(resumed[i] in died for i in deadly)
    return [
        backend, ", ".join(map(str, after)), len(deadly), right, len(resumed) - len(died), equal, whole,
        report.number(time.perf_counter() - started, 0),
    ]  # fmt: skip


def main() -> None:
    """Undisturbed, then killed and resumed, on each backend."""
    parser = report.parser(__doc__)
    parser.add_argument("--backends", nargs="*", default=["None", "loky", "dask"])
    args = parser.parse_args()
    header = report.made(SMALL, args, f"{N} series, seed 0", packages=("joblib", "distributed"))
    rng = random.Random(0)
    table, notes = [], []
    for name in args.backends:
        if name == "dask" and not find_spec("distributed"):
            notes.append("distributed is not installed here.")
            continue
        table.append(disturbed(None if name == "None" else name, rng))
        print(table[-1], flush=True)
    report.write_markdown(
        args.out / "load-kill.md",
        header,
        f"{N} series, the whole run killed (SIGKILL) at random moments, then resumed to the end; deadly series end the worker "
        "that is at work on them, whenever they are tried. Equal: in all that the result has (series, candidates, counts, "
        "history) but seconds and the calls shared with others.",
        report.table(
            [
                "backend", "instances in the file after each kill", "deadly", "told to have died", "answers in the end",
                "equal to an undisturbed run", "lines in the file", "seconds",
            ],
            table,
        ),
        *notes,
    )  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == [WORKER]:
        run(sys.argv[2], sys.argv[3] or None)
    else:
        main()
