"""SIGKILL at random moments: 200 series, killed five times, resumed from the checkpoint each time.

    python benchmarks/load/kill.py

Are all 200 answers there, and equal to those of an undisturbed run? Written to ``results/load-kill.md``.
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
from pathlib import Path

from common import SMALL, explainer, outcome, report, series

N, KILLS = 200, 5
# The first argument of a process that is started to be killed.
WORKER = "worker"


def run(checkpoint: str, backend: str | None) -> list:
    """The batch, from the checkpoint on."""
    return explainer().explain_batch(
        series(N), 1, checkpoint=checkpoint, backend=backend, n_jobs=2 if backend else None
    )


def lines(path: Path) -> int:
    """Whole lines in a file."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed(path: Path, backend: str | None, rng: random.Random, share: float) -> int:
    """Start the batch and kill it once it has done some more; how many lines the file then has."""
    process = subprocess.Popen([sys.executable, __file__, WORKER, str(path), backend or ""], start_new_session=True)
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


def main() -> None:
    """Undisturbed, then killed and resumed."""
    args = report.parser(__doc__).parse_args()
    header = report.made(SMALL, f"{N} series, {KILLS} kills, seed 0")
    rng = random.Random(0)
    expected = [outcome(cf) for cf in explainer().explain_batch(series(N), 1)]
    table = []
    for backend in (None, "loky"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.jsonl"
            after = [killed(path, backend, rng, 0.25) - 1 for _ in range(KILLS)]
            resumed = run(str(path), backend)
            equal = sum(outcome(a) == b for a, b in zip(resumed, expected, strict=True))
            whole = lines(path) - 1
        table.append([backend, ", ".join(map(str, after)), len(resumed), equal, whole])
    report.write_markdown(
        args.out / "load-kill.md",
        header,
        f"{N} series, SIGKILL at {KILLS} random moments, then resumed to the end. Equal: in all that the result has (series, "
        "candidates, counts, history) but seconds and the calls shared with others.",
        report.table(
            [
                "backend", "instances in the file after each kill", "answers in the end", "equal to an undisturbed run",
                "lines in the file",
            ],
            table,
        ),
    )  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == [WORKER]:
        run(sys.argv[2], sys.argv[3] or None)
    else:
        main()
