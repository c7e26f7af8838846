"""Speed and memory of the search for the nearest answer beside those of other commits, side by side in one run.

    python benchmarks/beside_commit.py [--commits 7ee3437 6f07575] [--rounds 5] [--data DIR]

7ee3437 is the engine before it was put into rooms, 6f07575 the engine after that and before edits. Each commit is
checked out into a folder of its own. In every round each engine explains the same series with the same forests, one
engine after the other, in a process of its own; the order changes from round to round. Seconds are the processor's,
without those of the model. Written to ``results/beside-commit.md``.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import protocol
import report
from tqdm import tqdm

DATASETS = ("ERing", "RacketSports", "BasicMotions", "NATOPS")
# What one process does; both engines know these names, but for the option "nearest", which was the only one once.
CHILD = """
import json, pickle, resource, sys, time
from ntdcfe import NTDCFE, Features, SearchSettings
try:
    settings = SearchSettings(options=["nearest"], survival=None)
except TypeError:
    settings = SearchSettings()
cases, inside = pickle.load(open(sys.argv[1], "rb")), 0.0
def timed(forest):
    def predict(rows):
        global inside
        started = time.process_time()
        told = forest.predict(rows.reshape(len(rows), -1))
        inside += time.process_time() - started
        return told
    return predict
for forest, series in cases[:1] + cases:  # the first one twice: its first time is spent on imports
    inside, started = 0.0, time.process_time()
    explainer = NTDCFE(timed(forest), Features.continuous(series.shape[2]), settings=settings, seed=0)
    found = [explainer.explain(x, 1) for x in series]
    own = time.process_time() - started - inside
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([own, peak, sum(cf.proximity for cf in found)]), flush=True)
"""


def cases_of(data: Path, n: int) -> list[tuple[object, np.ndarray]]:
    """The forest of each dataset and n series ``(n, K, D)`` that it does not put into the target."""
    cases = []
    for name in DATASETS:
        dataset = protocol.load(name, data, "true")
        model = protocol.fit_model(dataset, "random_forest")
        samples = protocol.evenly_spaced(protocol.invalid_samples(dataset, model), n)
        model.classifier.n_jobs = 1
        cases.append((model.classifier, dataset.X[samples]))
    return cases


def run(engine: Path, cases: str) -> list[list[float]]:
    """Own seconds, peak memory in MB and distance of each case with the engine in that folder."""
    environment = {**os.environ, "PYTHONPATH": str(engine), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, cases], env=environment, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


def main() -> None:
    """Measure the engines in turn and write the ratios."""
    parser = report.parser(__doc__)
    protocol.add_arguments(parser)
    parser.add_argument("--commits", nargs="*", default=["7ee3437", "6f07575"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--n", type=int, default=3)
    args = parser.parse_args()
    header = report.made(args)
    with tempfile.TemporaryDirectory() as folder:
        engines = {}
        for commit in args.commits:
            subprocess.run(["git", "worktree", "add", "--detach", f"{folder}/{commit}", commit], cwd=report.ROOT, check=True)
            engines[commit] = Path(folder) / commit / "core"
        engines["this one"] = report.ROOT / "core"
        file = Path(folder) / "cases"
        file.write_bytes(pickle.dumps(cases_of(args.data, args.n)))
        measured: dict[str, list[list[list[float]]]] = {name: [] for name in engines}
        try:
            for turn in tqdm(range(args.rounds)):
                names = list(engines)[:: 1 if turn % 2 else -1]
                for name in names:
                    measured[name].append(run(engines[name], str(file)))
        finally:
            for commit in args.commits:
                subprocess.run(["git", "worktree", "remove", "--force", f"{folder}/{commit}"], cwd=report.ROOT, check=False)
    first, number, rows = args.commits[0], report.number, []
    # Other work only adds to seconds, so the least of the rounds counts; memory goes up and down, so its median does.
    least = {
        name: np.column_stack([np.min(turns, axis=0)[:, 0], np.median(turns, axis=0)[:, 1:]])
        for name, turns in measured.items()
    }
    for i, dataset in enumerate(DATASETS):
        for name, best in least.items():
            ratio = best[i] / least[first][i]
            rows.append([dataset, name, number(best[i, 0], 2), number(ratio[0], 2), number(best[i, 1], 0), number(ratio[1], 2), number(best[i, 2], 2)])
    for name, best in least.items():
        seconds, memory = (best[:, k].sum() / least[first][:, k].sum() for k in (0, 1))
        rows.append(["all", name, number(best[:, 0].sum(), 2), number(seconds, 2), number(best[:, 1].max(), 0), number(memory, 2), number(best[:, 2].sum(), 2)])
    report.write_markdown(
        args.out / "beside-commit.md",
        header,
        f"The search for the nearest answer, {args.n} series of each dataset with a forest, labels only. Seconds are the least of {args.rounds} rounds of the processor's time without the model's; memory is the peak of the process, the median of the rounds. Ratios are to {first}.",
        report.table(["dataset", "engine at", "own seconds", "ratio", "peak MB", "ratio", "sum of distances"], rows),
    )


if __name__ == "__main__":
    main()
