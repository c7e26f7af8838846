"""SIGKILL at random moments: 200 series, killed five times, resumed from the checkpoint each time.

    python benchmarks/load/kill.py

Are all 200 answers there, and equal to those of an undisturbed run? Written to ``results/load-kill.md``.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import explainer, outcome, series, write

N, KILLS = 200, 5


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
    process = subprocess.Popen([sys.executable, __file__, str(path), backend or ""], start_new_session=True)
    goal = lines(path) + 1 + rng.randrange(1, max(2, int(share * N)))
    while lines(path) < goal and process.poll() is None:
        time.sleep(0.01)
    time.sleep(rng.random() * 0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return lines(path)


def main() -> None:
    """Undisturbed, then killed and resumed."""
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
        table.append(f"| {backend} | {', '.join(map(str, after))} | {len(resumed)} | {equal} | {whole} |")
    write(
        "load-kill.md",
        f"{N} series, SIGKILL at {KILLS} random moments, then resumed to the end; made by `benchmarks/load/kill.py`. Equal: in all",
        "that the result has (series, candidates, counts, history) but seconds and the calls shared with others.",
        "",
        "| backend | instances in the file after each kill | answers in the end | equal to an undisturbed run | lines in the file |",
        "| --- | --- | --- | --- | --- |",
        *table,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1], sys.argv[2] or None)
    else:
        main()
