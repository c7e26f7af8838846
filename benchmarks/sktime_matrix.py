"""Every classifier and regressor that sktime ships and that runs here: fitted small, and explained.

    python benchmarks/sktime_matrix.py [--only FCNClassifierTorch TimeSeriesSVC]

All estimators of `sktime.registry.all_estimators` whose dependencies are installed, with the parameters of sktime's own
tests; networks are trained for more epochs than there, and where those parameters have a dummy inside, it is replaced, so
that answers differ from one series to the next. Each one is fitted and explained in a process of its own, which is
ended when it takes too long. Written to ``results/sktime.md``; with ``--only`` these are measured again, and the other
rows of the file stay.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
import report
from sktime.classification.base import BaseClassifier
from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
from sktime.classification.dummy import DummyClassifier
from sktime.datasets import load_basic_motions, load_covid_3month, load_unit_test
from sktime.datatypes import convert_to
from sktime.dists_kernels import FlatDist, ScipyDist
from sktime.registry import all_estimators
from sktime.regression.distance_based import KNeighborsTimeSeriesRegressor
from sktime.regression.dummy import DummyRegressor
from sktime.utils.dependencies import _check_estimator_deps

from ntdcfe import InvalidInputError, SearchSettings
from ntdcfe_plugins.sktime import CounterfactualExplainer, CounterfactualResult
from ntdcfe_plugins.sktime.company import COMPANY_IN_WORDS

SERIES, ROWS = 2, 600
# Rows of the second try, where the status says to raise them.
MORE_ROWS = 10_000
# Seconds that a process may take, its imports and the fit included.
LIMIT = 240
EPOCHS = 30
KINDS = ("classifier", "regressor")
HEAD = ["Estimator", "Data", "Outcome", "Success", "Rows", "Seconds", "Reason"]
# What can come out, best first.
OUTCOMES = {
    "explained": "each series has a counterfactual that `predict` confirms in the container that comes back",
    "one by one": "its answer to a series depends on what else is in the call, which is noticed: each series is asked in a "
    "call of its own, as the result says, and has a counterfactual that `predict` of it alone confirms",
    "more rows": f"the status says to raise `max_rows`, and with {MORE_ROWS} each series has a counterfactual",
    "refused": "refused before the search, with the reason and the remedy",
    "constant": "it says the same of every series that it was fitted to, which the result says, with the remedy",
    "in part": "one of the series has a counterfactual, with more rows, too",
    "not found": "none has, with more rows, too",
    "failed": "it fits and predicts by itself, and ended with an error",
    "too slow": f"it was ended after {LIMIT} s",
    "does not run": "it fails to fit or to predict by itself, without us",
}
EXPLAINED, TOLD = ("explained", "one by one"), ("more rows", "refused", "constant")


def estimators() -> dict[str, tuple[str, Any]]:
    """All classifiers and regressors whose dependencies are installed: from their names to kind and class."""
    return {
        name: (kind, estimator)
        for kind in KINDS
        for name, estimator in all_estimators(kind)
        if _check_estimator_deps(estimator, severity="none")
    }


def data(kind: str, multivariate: bool) -> tuple[str, Any, Any]:
    """A small set: its name, series (instance, channel, time) and outcomes."""
    if kind == "regressor":
        X, y = load_covid_3month(split="train")
        X = convert_to(X, "numpy3D")[:30, :, ::3]
        return "Covid3Month", X / X.std(), y[:30]
    if multivariate:
        X, y = load_basic_motions(split="train", return_type="numpy3D")
        return "BasicMotions", X[::2, :3, ::4], y[::2]
    X, y = load_unit_test(split="train", return_type="numpy3D")
    return "UnitTest", X, y


def small(estimator: Any) -> Any:
    """The estimator with parameters of sktime's tests: networks trained for longer, and no dummy inside another."""
    instances, _ = estimator.create_test_instances_and_names()
    made = next((one for one in instances if not _dummies(one)), instances[0])
    neighbours = KNeighborsTimeSeriesClassifier if _kind(made) == "classifier" else KNeighborsTimeSeriesRegressor
    made.set_params(**{name: neighbours(distance=FlatDist(ScipyDist())) for name in _dummies(made)})
    epochs = [name for name in ("num_epochs", "n_epochs", "max_epochs") if name in made.get_params(deep=False)]
    seed = ["random_state"] if "random_state" in made.get_params(deep=False) else []
    return made.set_params(**dict.fromkeys(epochs, EPOCHS), **dict.fromkeys(seed, 0))


def _kind(made: Any) -> str:
    return "classifier" if isinstance(made, BaseClassifier) else "regressor"


def _dummies(made: Any) -> list[str]:
    """The parameters of an estimator that are dummies, whose predictions do not depend on the series."""
    parts = made.get_params()
    return [name for name, part in parts.items() if isinstance(part, (DummyClassifier, DummyRegressor))]


def explained(name: str) -> dict[str, Any]:
    """What comes of one estimator, for the table."""
    kind, estimator = estimators()[name]
    warnings.simplefilter("ignore")
    row: dict[str, Any] = {"outcome": "does not run", "reason": ""}
    try:
        model = small(estimator)
        row["data"], X, y = data(kind, model.get_tag("capability:multivariate", False, raise_error=False))
        model.fit(X, y)
        now = model.predict(X)
    except Exception as error:
        return {**row, "reason": f"{type(error).__name__}: {error}"}
    constant = len(set(np.asarray(now).tolist())) == 1
    if kind == "classifier":
        target, which = "other", np.arange(SERIES)
    else:
        # A value that a constant one does say would be no question.
        target, which = (float(np.nanquantile(now, 0.75)) + constant, None), np.argsort(now)[:SERIES]
        which = which[now[which] < target[0]]  # nor would one about a series that is as wanted already
    began = time.monotonic()
    try:
        result = CounterfactualExplainer(model, random_state=0).explain(
            X[which], target, max_rows=ROWS, seconds_per_series=60
        )
    except InvalidInputError as error:
        return {**row, "outcome": "refused", "reason": str(error)}
    except Exception as error:
        return {**row, "outcome": "failed", "reason": f"{type(error).__name__}: {error}"}
    seconds = time.monotonic() - began
    found, outcome = confirmed(model, X[which], target, result)
    if found < len(which):
        outcome = "in part" if found else "constant" if constant and result.note else "not found"
    if outcome in ("in part", "not found"):
        more = CounterfactualExplainer(model, random_state=0).explain(
            X[which], target, max_rows=MORE_ROWS, seconds_per_series=60
        )
        outcome = "more rows" if confirmed(model, X[which], target, more)[0] == len(which) else outcome
    reasons = ([result.note] if result.note else []) + [cf.reason for cf in result.details if not cf.found]
    reasons += [text for cf in result.details for text in cf.reservations()]
    return {
        **row,
        "outcome": outcome,
        "success": f"{found} of {len(which)}",
        "rows": float(result.table["rows"].mean()),
        "seconds": seconds / len(which),
        "reason": "; ".join(dict.fromkeys(reasons)),
    }


def confirmed(model: Any, X: Any, target: Any, result: CounterfactualResult) -> tuple[int, str]:
    """How many of the series have a counterfactual by the model's own predict, and which outcome that is."""
    best = (0, "explained")
    for outcome, size in (("explained", len(X)), ("one by one", 1)):
        if outcome == "one by one" and COMPANY_IN_WORDS not in result.note:
            break
        parts = [slice(i, i + size) for i in range(0, len(X), size)]
        now, then = (np.concatenate([model.predict(Z[part]) for part in parts]) for Z in (X, result.counterfactuals))
        valid = then != now if target == "other" else then >= target[0]
        # A series that is as wanted already is not explained.
        found = int((valid & result.table["valid"] & (result.table["status"] != "already_target")).sum())
        best = max(best, (found, outcome), key=lambda entry: entry[0])
    return best


def in_a_process(name: str) -> dict[str, Any]:
    """The same in a process that is ended when it takes too long."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--one", name], capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return {"outcome": "too slow", "reason": ""}
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"outcome"')]
    if lines:
        return dict(json.loads(lines[-1]))
    last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
    return {"outcome": "failed", "reason": f"the process ended with {done.returncode}: {last[0]}"}


def counted(outcomes: list[str]) -> str:
    """All outcomes in one line."""
    run = [outcome for outcome in outcomes if outcome != "does not run"]
    explained, told = sum(outcome in EXPLAINED for outcome in run), sum(outcome in TOLD for outcome in run)
    return (
        f"**{len(run)} run by themselves: {explained} are explained, {told} are refused or told of with the reason and a "
        f"remedy, {len(run) - explained - told} others.**"
    )


def main() -> None:
    """All estimators, one after the other."""
    parser = report.parser(__doc__)
    parser.add_argument("--only", nargs="*", help="names of estimators that are measured again, in place of all")
    parser.add_argument("--one", help="the name of the estimator that this process is for")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(explained(args.one)))
        return
    header = report.made(SearchSettings(max_rows=ROWS), args, packages=("sktime", "scikit-learn", "pandas"))
    kept: dict[str, list[object]] = {}
    if args.only:
        before, _ = report.read_markdown(args.out / "sktime.md")
        tables = report.read_tables(args.out / "sktime.md")
        kept = {row["Estimator"]: [row[name] for name in HEAD] for table in tables for row in table}
        header = report.continued(header, before, [{"commit": before.commit}])
    everything = {kind: len(all_estimators(kind)) for kind in KINDS}
    rows: dict[str, list[list[object]]] = {kind: [] for kind in KINDS}
    for name, (kind, _) in estimators().items():
        if args.only and name not in args.only:
            rows[kind].append(kept[name])
            continue
        came = in_a_process(name)
        success = came.get("success", "-")
        reason = " ".join(str(came["reason"]).replace("|", "/").split())
        rows[kind].append(
            [
                name, came.get("data", "-"), came["outcome"], success, report.number(came.get("rows"), 0),
                report.number(came.get("seconds")), reason if len(reason) <= 300 else f"{reason[:297]}...",
            ]
        )  # fmt: skip
        print(rows[kind][-1], flush=True)
    parts: list[Any] = []
    for kind in KINDS:
        counts = {outcome: sum(row[2] == outcome for row in rows[kind]) for outcome in OUTCOMES}
        said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        parts += [
            f"## {kind.capitalize()}s",
            f"{len(rows[kind])} of the {everything[kind]} that sktime lists have their dependencies here: {said}.",
            report.table(HEAD, rows[kind]),
        ]
    report.write_markdown(
        args.out / "sktime.md",
        header,
        "# Every classifier and regressor of sktime that runs here",
        counted([str(row[2]) for some in rows.values() for row in some]),
        f"Each with the parameters of sktime's own tests (networks with {EPOCHS} epochs; a dummy inside another estimator is "
        "replaced by nearest neighbours), fitted to a small set that sktime "
        "brings: UnitTest (20 x 1 x 24), for those that take several channels part of BasicMotions (20 x 3 x 25), for "
        "regressors part of Covid3Month (30 x 1 x 28, divided by its standard deviation). "
        f"`CounterfactualExplainer(model, random_state=0)` is asked about {SERIES} of these series (one, where all others are as wanted already) for another class, or "
        "for a value in the highest quarter of those that the regressor predicts, from the lowest ones. At most "
        f"{ROWS} rows each, fewer where a series would take more than a minute. Rows and seconds are means over the "
        f"series. Each estimator has a process of its own. Outcomes: "
        + "; ".join(f"*{outcome}*: {said}" for outcome, said in OUTCOMES.items()) + ".",
        *parts,
    )  # fmt: skip


if __name__ == "__main__":
    main()
