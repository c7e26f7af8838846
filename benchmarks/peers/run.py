"""Run methods on the saved cases, in whichever environment has them; a rerun does only what is missing.

    python benchmarks/peers/run.py --methods NTD-CFE CoMTE [--layout true] [--cases BasicMotions] [--again]

Each explanation is written to ``results/peers/<method>.csv`` as soon as it is done, with its layout and the commit it was
done at, its counterfactual to the folder of the cases (for pictures). ``--again`` forgets what was there for these
methods and cases, unless the present code has done it.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cases import WANTED, Case, folder_of, load, protocol, report
from methods import METHODS
from tqdm import tqdm

from ntdcfe_plugins.compare import COLUMNS, Cost, TimeLimitError, results

KEY = ("layout", "dataset", "model", "sample")
FIELDS = ("method", *KEY, *(c for c in COLUMNS if c not in ("method", "instance")), "fit_rows", "fit_seconds", "commit")
# What decides a row, beside the case and the packages of the others; the engine decides only our own rows.
SOURCES = ("benchmarks/peers", "ntdcfe_plugins")
OURS = "NTD-CFE"


def slug(method: str) -> str:
    """A method's name in file names."""
    return re.sub(r"[^a-z0-9]+", "-", method.lower()).strip("-")


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
        {name: factory}, case.X[todo], case.model.predict_proba, WANTED if case.classes else 1, case.X,
        features=case.features, classes=case.classes or None, max_seconds=None, progress=False, fits=fits,
    )  # fmt: skip
    for i, sample in enumerate(todo):
        random.seed(0)  # the peers draw from the global generators
        np.random.seed(0)  # noqa: NPY002
        torch.manual_seed(0)
        about = {"layout": case.layout, "dataset": case.dataset, "model": case.model_name, "sample": sample}
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
    parser = report.parser(__doc__)
    parser.set_defaults(out=report.RESULTS / "peers")
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), required=True)
    parser.add_argument("--layout", choices=protocol.LAYOUTS, default="true", help="which of the saved cases")
    parser.add_argument("--folder", type=Path, help="where cases.py saved the cases, if not in the layout's own folder")
    parser.add_argument("--cases", nargs="*", default=[], help="BasicMotions, or BasicMotions/knn; all if not given")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="processor time of one explanation")
    parser.add_argument("--fit-seconds", type=float, default=300.0, help="processor time of building, and fitting")
    parser.add_argument("--n", type=int, help="most samples a case, evenly spaced over the saved ones")
    parser.add_argument("--again", action="store_true", help="do the chosen methods and cases afresh")
    args = parser.parse_args()
    torch.set_num_threads(1)
    folder = args.folder or folder_of(args.layout)
    cases = [load(path) for path in sorted(folder.glob("*.npz"))]
    cases = [c for c in cases if not args.cases or {c.dataset, f"{c.dataset}/{c.model_name}"} & set(args.cases)]
    for name in args.methods:
        run_method(name, cases, folder, args)


def run_method(name: str, cases: list[Case], folder: Path, args: argparse.Namespace) -> None:
    """Do what one method has not done yet."""
    ours = name.startswith(OURS)
    method = METHODS[name]
    settings = [method.settings] if method.settings else []
    run = report.made(method.system, *settings, args, packages=method.packages)
    path = args.out / f"{slug(name)}.csv"
    before, rows = report.read_csv(path) if path.exists() else (run, [])
    if args.again:
        chosen = {(c.layout, c.dataset, c.model_name) for c in cases}
        sources = (*SOURCES, "core") if ours else SOURCES
        current = {commit: report.is_present(commit, *sources) for commit in {row["commit"] for row in rows}}
        rows = [r for r in rows if current[r["commit"]] or (r["layout"], r["dataset"], r["model"]) not in chosen]
    done = {tuple(r[k] for k in KEY) for r in rows}
    with report.appending(path, report.continued(run, before, rows), FIELDS, rows, digits=6) as add:
        for case in tqdm(cases, desc=name):
            if case.static and method.series_only:
                continue
            samples = protocol.evenly_spaced(case.samples, args.n or len(case.samples))
            about = (case.layout, case.dataset, case.model_name)
            todo = [int(s) for s in samples if (*about, str(s)) not in done]
            for row in run_case(name, case, todo, args.max_seconds, args.fit_seconds) if todo else ():
                add(row | {"commit": run.commit})
                keep(row.get("x"), found_file(folder, name, case.dataset, case.model_name, row["sample"]))


def found_file(folder: Path, method: str, dataset: str, model: str, sample: int) -> Path:
    """Where a method's counterfactual is kept."""
    return folder / "found" / f"{slug(method)}-{dataset}-{model}-{sample}.npy"


def keep(x: Any, path: Path) -> None:
    """Save a counterfactual, or remove what was there if there is none."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if x is not None:
        np.save(path, x)


if __name__ == "__main__":
    main()
