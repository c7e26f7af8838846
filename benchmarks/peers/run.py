"""Run methods on the saved cases, in whichever environment has them; a rerun does only what is missing.

    python benchmarks/peers/run.py --methods NTD-CFE CoMTE [--cases BasicMotions] [--max-seconds 60] [--again]

Each explanation is written to ``results/peers/<method>.csv`` as soon as it is done, its counterfactual to the folder of
the cases (for pictures). ``--again`` forgets what was there for these methods and cases.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cases import CASES, Case, load
from methods import METHODS
from protocol import evenly_spaced
from tqdm import tqdm

from ntdcfe_plugins.compare import COLUMNS, Cost, TimeLimitError, results

RESULTS = Path(__file__).parents[1] / "results" / "peers"
KEY = ("dataset", "model", "sample")
FIELDS = ("method", *KEY, *(c for c in COLUMNS if c not in ("method", "instance")), "fit_rows", "fit_seconds")


def slug(method: str) -> str:
    """A method's name in file names."""
    return re.sub(r"[^a-z0-9]+", "-", method.lower()).strip("-")


def read(path: Path) -> list[dict[str, str]]:
    """The rows written so far."""
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Stop whatever runs after that much processor time, also between its calls to the model.

    Not by the clock: the machine may be shared, and a method is not to fail for that.
    """

    def stop(*_: Any) -> None:
        raise TimeLimitError

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def run_case(
    name: str, case: Case, todo: list[int], max_seconds: float, fit_seconds: float
) -> Iterator[dict[str, Any]]:
    """Explain those samples of a case with one method."""
    method = METHODS[name]
    fits: dict[str, Cost] = {}

    def factory(predict: Any) -> Any:
        signal.setitimer(signal.ITIMER_PROF, fit_seconds)
        made = method.build(case, predict, max_seconds)
        signal.setitimer(signal.ITIMER_PROF, max_seconds)
        return made

    stream = results(
        {name: factory}, case.X[todo], case.model.predict_proba, 1, case.X, features=case.features,
        max_seconds=None, progress=False, fits=fits,
    )  # fmt: skip
    for i, sample in enumerate(todo):
        random.seed(0)  # the peers draw from the global generators
        np.random.seed(0)  # noqa: NPY002
        torch.manual_seed(0)
        about = {"dataset": case.dataset, "model": case.model_name, "sample": sample}
        try:
            with alarm(max_seconds):
                result = next(stream)
        except TimeLimitError:
            note = f"not built within {fit_seconds:g} s"
            for left in todo[i:]:
                yield {"method": name, **about, "sample": left, "status": "failed", "success": False, "note": note}
            return
        fit = fits.get(name, Cost(np.nan, np.nan, np.nan))
        yield {**result.row, **about, "fit_rows": fit.rows, "fit_seconds": fit.seconds, "x": result.x}


def main() -> None:
    """Run what is asked for and not done yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), required=True)
    parser.add_argument("--folder", type=Path, default=CASES, help="where cases.py saved the cases")
    parser.add_argument("--cases", nargs="*", default=[], help="BasicMotions, or BasicMotions/knn; all if not given")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--max-seconds", type=float, default=60.0, help="processor time of one explanation")
    parser.add_argument("--fit-seconds", type=float, default=300.0, help="processor time of building, and fitting")
    parser.add_argument("--n", type=int, help="most samples a case, evenly spaced over the saved ones")
    parser.add_argument("--again", action="store_true", help="do the chosen methods and cases afresh")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    cases = [load(path) for path in sorted(args.folder.glob("*.npz"))]
    cases = [c for c in cases if not args.cases or {c.dataset, f"{c.dataset}/{c.model_name}"} & set(args.cases)]
    chosen = {(c.dataset, c.model_name) for c in cases}
    for name in args.methods:
        path = args.out / f"{slug(name)}.csv"
        rows = [r for r in read(path) if not (args.again and (r["dataset"], r["model"]) in chosen)]
        done = {tuple(r[k] for k in KEY) for r in rows}
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, FIELDS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
            stream.flush()
            for case in tqdm(cases, desc=name):
                if case.static and METHODS[name].series_only:
                    continue
                samples = evenly_spaced(case.samples, args.n or len(case.samples))
                todo = [int(s) for s in samples if (case.dataset, case.model_name, str(s)) not in done]
                for row in run_case(name, case, todo, args.max_seconds, args.fit_seconds) if todo else ():
                    writer.writerow({k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()})
                    stream.flush()
                    kept = args.folder / "found" / f"{slug(name)}-{case.dataset}-{case.model_name}-{row['sample']}.npy"
                    kept.parent.mkdir(exist_ok=True)
                    kept.unlink(missing_ok=True)
                    if row.get("x") is not None:
                        np.save(kept, row["x"])


if __name__ == "__main__":
    main()
