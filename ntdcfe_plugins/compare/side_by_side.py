"""Explainers side by side: the same instances, the same counted model, one table.

.. code-block:: python

    comparison = compare(
        {
            "NTD-CFE": lambda predict: NTDCFE(predict, features),
            "CFRL": lambda predict: Flat(fitted_cfrl(predict)),
            "nearest": lambda predict: lambda x: nearest_of_the_target_class(x),
        },
        X, model.predict_proba, target=1, reference=X_train,
    )
    print(comparison.to_markdown())
    comparison.to_html("comparison.html")

**How the model is counted.** An explainer asks the model that it was built with, so it has to be built
with one that counts. Give a *factory*, a class or a function whose first parameter is called ``predict``:
it is called once with a :class:`CountedModel` around `predict` and returns the explainer. What it asks
while it is built or fitted is kept apart from what each explanation costs. Or make the
:class:`CountedModel` yourself, build the explainers with it, and pass it as `predict`. An explainer
that is ready and does not ask through the counted model still gets its row, with rows and calls unknown
(NaN); ours is the exception, since the counter can be put around its model.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from ntdcfe import Features, InvalidInputError, LocalOutlierDetector, Target
from ntdcfe.model.predictor import Output
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins.compare import scores as _scores
from ntdcfe_plugins.compare.calls import Call, Flat, Question, calling, is_factory
from ntdcfe_plugins.compare.counted import CountedModel, TimeLimitError
from ntdcfe_plugins.report import comparison_html, filled, number, summary_html

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "CountedModel", "Flat", "Result", "compare", "results"]

Array = NDArray[Any]
NAN = float("nan")

#: Columns of the table: one row a method and instance.
COLUMNS = (
    "method", "instance", "status", "success", "validity", "l1", "l2", "sparsity", "features", "segments",
    "plausible", "allowed", "diversity", "rows", "calls", "seconds", "cpu_seconds", "note",
)  # fmt: skip


class Cost(NamedTuple):
    """What building, and fitting, an explainer took; rows and calls are NaN where it came ready."""

    rows: float
    calls: float
    seconds: float


class Result(NamedTuple):
    """One method on one instance: its row of the table, and its nearest valid counterfactual."""

    row: dict[str, Any]
    x: Array | None


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` returns.

    Parameters
    ----------
    table : list of dict
        One a method and instance, with these keys:

        - ``method``, ``instance``: who, and which row of `X`;
        - ``status``: "found", "not found" (nothing returned, or nothing valid), "failed", "time limit" or
          "already target"; ``note`` says why;
        - ``success``: whether one of the counterfactuals reaches the target; ``validity``: the share that do;
        - ``l1``, ``l2``, ``sparsity`` (changed cells), ``features`` (changed), ``segments`` (runs of changed
          steps): of the nearest valid one. Discrete features count 1 if changed, one-hot groups once;
        - ``plausible``: whether it is an inlier of `reference` by the local outlier factor;
        - ``allowed``: whether it keeps to what `features` say;
        - ``diversity``: mean L1 distance between the valid ones;
        - ``rows``, ``calls``: what the model was asked; ``seconds``, ``cpu_seconds``.

        What does not apply is NaN.
    instances : array (N, K, D) or (N, D)
    counterfactuals : dict of (method, instance) to array or None
        The nearest valid one of each.
    fits : dict of method to Cost
        What it took to build the explainers.
    target : str
    features : Features, optional
    """

    table: list[dict[str, Any]] = field(repr=False)
    instances: Array = field(repr=False)
    counterfactuals: dict[tuple[str, int], Array | None] = field(repr=False)
    fits: dict[str, Cost]
    target: str
    features: Features | None = field(default=None, repr=False)

    @property
    def methods(self) -> list[str]:
        """The names, in order."""
        return list(dict.fromkeys(row["method"] for row in self.table))

    def summary(self) -> list[dict[str, Any]]:
        """One row a method: shares in percent, means of the rest.

        Distances and counts of changes are means over successes; so compare them between methods of equal
        success. Costs are means over all instances.
        """
        return [self._summary_of(method) for method in self.methods]

    def _summary_of(self, method: str) -> dict[str, Any]:
        rows = [row for row in self.table if row["method"] == method and row["status"] != "already target"]
        good = [row for row in rows if row["success"]]

        def mean(name: str, over: list[dict[str, Any]], factor: float = 1.0) -> float:
            values = np.array([row[name] for row in over], dtype=float)
            return factor * float(values[~np.isnan(values)].mean()) if (~np.isnan(values)).any() else NAN

        fit = self.fits.get(method, Cost(NAN, NAN, NAN))
        return {
            "method": method,
            "n": len(rows),
            "success %": mean("success", rows, 100),
            "validity %": mean("validity", rows, 100),
            **{name: mean(name, good) for name in ("l1", "l2", "sparsity", "features", "segments")},
            **{f"{name} %": mean(name, good, 100) for name in ("plausible", "allowed")},
            "diversity": mean("diversity", good),
            **{name: mean(name, rows) for name in ("rows", "calls", "seconds")},
            "fit seconds": fit.seconds,
            "fit rows": fit.rows,
        }

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame; needs pandas."""
        import pandas as pd

        return pd.DataFrame(self.table, columns=list(COLUMNS))

    def to_csv(self, path: str | Path) -> None:
        """Write the table."""
        with Path(path).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(self.table)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The summary as a Markdown table, written to `path` if given; columns that nobody fills are left out."""
        summary = self.summary()
        shown = filled(summary)
        out = io.StringIO()
        out.write("| " + " | ".join(shown) + " |\n" + "| --- " * len(shown) + "|\n")
        for row in summary:
            out.write("| " + " | ".join(number(row[name]).replace("|", "\\|") for name in shown) + " |\n")
        if path is not None:
            Path(path).write_text(out.getvalue(), encoding="utf-8")
        return out.getvalue()

    def to_html(self, path: str | Path, title: str = "Counterfactual explainers side by side") -> None:
        """Write one page with tables and pictures that needs no network and no scripts; needs matplotlib."""
        Path(path).write_text(comparison_html(self, title), encoding="utf-8")

    def plot(self, **options: Any) -> Any:
        """Proximity against sparsity, see :func:`ntdcfe_plugins.plot.plot_tradeoff`; needs matplotlib."""
        from ntdcfe_plugins.plot import plot_tradeoff

        return plot_tradeoff(self.table, **options)

    def plot_instance(self, instance: int, **options: Any) -> Any:
        """One instance as each method changes it, see :func:`ntdcfe_plugins.plot.plot_methods`."""
        from ntdcfe_plugins.plot import plot_methods

        found = {method: self.counterfactuals.get((method, instance)) for method in self.methods}
        return plot_methods(self.instances[instance], found, self.features, **options)

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return summary_html(self)


def compare(
    explainers: Mapping[str, Any],
    X: ArrayLike,
    predict: Callable[[Array], Any],
    target: Any,
    reference: ArrayLike | None = None,
    *,
    features: Features | None = None,
    n_counterfactuals: int = 1,
    max_seconds: float | None = 60.0,
    output: Output = "auto",
    classes: Sequence[Any] | Array | None = None,
    progress: bool = True,
) -> Comparison:
    """Ask every explainer about the same instances of the same model, and score all alike.

    Parameters
    ----------
    explainers : dict of name to explainer or factory
        An explainer is ours, one of alibi (``explain(X)`` and ``meta``), DiCE (``generate_counterfactuals``) or
        tscf-eval (``explain(x (D, K))``), or a function of ``x`` that returns a counterfactual, several in a
        list, or None. A factory makes one from ``predict``, see the module's text. :class:`Flat` around an
        explainer gives it flat rows.
    X : array (N, K, D), or (N, D) for static data
    predict : callable or CountedModel
        The model: labels, probabilities or values, as for the engine.
    target : label, collection of labels, "other", or Target
        Explainers that take a single class get the likeliest of those that count as reached.
    reference : array like X, optional
        Usual data. Only for scoring: no explainer sees it.
    features : Features, optional
        What the columns are: names in pictures, discrete features and one-hot groups in scores, and the rules
        that ``allowed`` checks.
    n_counterfactuals : int
        How many are asked of those that can give several.
    max_seconds : float, optional
        For one method on one instance. Ours stops by itself and keeps what it has; the others are stopped at
        their next call to the model, with nothing to show.
    output, classes : optional
        What `predict` returns, as for the engine.
    progress : bool
        Whether to show bars.

    Returns
    -------
    Comparison
        A failing explainer has rows that say so.

    Examples
    --------
    >>> import numpy as np
    >>> from ntdcfe import NTDCFE
    >>> from ntdcfe_plugins.compare import compare
    >>> def predict(X):
    ...     return (X[:, 0] > 0).astype(int)
    >>> shift = lambda x: x + np.array([2.0, 0.0])
    >>> comparison = compare({"ours": NTDCFE, "shift": shift}, np.full((2, 2), -1.0), predict, 1, progress=False)
    >>> [(row["method"], row["success"]) for row in comparison.table]
    [('ours', True), ('ours', True), ('shift', True), ('shift', True)]
    """
    fits: dict[str, Cost] = {}
    found = list(
        results(
            explainers, X, predict, target, reference, features=features, n_counterfactuals=n_counterfactuals,
            max_seconds=max_seconds, output=output, classes=classes, progress=progress, fits=fits,
        )
    )  # fmt: skip
    return Comparison(
        [result.row for result in found],
        np.asarray(X),
        {(result.row["method"], result.row["instance"]): result.x for result in found},
        fits,
        str(Target.of(target)),
        features,
    )


def results(
    explainers: Mapping[str, Any],
    X: ArrayLike,
    predict: Callable[[Array], Any],
    target: Any,
    reference: ArrayLike | None = None,
    *,
    features: Features | None = None,
    n_counterfactuals: int = 1,
    max_seconds: float | None = 60.0,
    output: Output = "auto",
    classes: Sequence[Any] | Array | None = None,
    progress: bool = True,
    fits: dict[str, Cost] | None = None,
) -> Iterator[Result]:
    """As :func:`compare`, result by result as they are done: for long runs that write as they go.

    Parameters
    ----------
    fits : dict, optional
        Filled with what it took to build each explainer.
    """
    X = np.asarray(X)
    if X.ndim not in (2, 3) or X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be numbers (N, K, D) or (N, D), got shape {X.shape} of {X.dtype}.")
    if not explainers:
        raise InvalidInputError("explainers must name at least one explainer, got none.")
    if features is not None and features.n_columns != X.shape[-1]:
        raise InvalidInputError(f"the features describe {features.n_columns} columns, X has {X.shape[-1]}.")
    if isinstance(n_counterfactuals, bool) or not n_counterfactuals >= 1:
        raise InvalidInputError(f"n_counterfactuals must be at least 1, got {n_counterfactuals!r}.")
    X = X.astype(float)
    goal = Target.of(target)
    if goal.regression and output == "auto":
        output = "values"
    if isinstance(predict, CountedModel):
        if predict.shape != X.shape[1:]:
            raise InvalidInputError(f"predict is counted for shape {predict.shape}, X has {X.shape[1:]}.")
        model = predict
    else:
        model = CountedModel(predict, X.shape[1:], output, classes)
    asker = _Asker(X, model, goal, n_counterfactuals, max_seconds)
    judge = _Judge(model, features, None if reference is None else LocalOutlierDetector(np.asarray(reference)))
    fits = {} if fits is None else fits
    with tqdm(total=len(explainers) * len(X), unit="explanation", disable=not progress) as bar:
        for name, explainer in explainers.items():
            bar.set_description(name)
            call, counts, why = _built(explainer, model, asker.columns, fits, name)
            for i in range(len(X)):
                yield asker.result(name, i, call, counts, why, judge)
                bar.update()


def _built(
    explainer: Any, model: CountedModel, classes: Array | None, fits: dict[str, Cost], name: str
) -> tuple[Call | None, bool, str]:
    """How to call an explainer, whether its questions to the model are counted for sure, or why it failed."""
    factory = is_factory(explainer)
    rows, calls, started = model.n_rows, model.n_calls, time.perf_counter()
    try:
        made = explainer(model) if factory else explainer
        call = calling(made, None if factory else model.around, classes)
    except Exception as error:
        return None, False, f"could not be built: {_said(error)}"
    fits[name] = (
        Cost(model.n_rows - rows, model.n_calls - calls, time.perf_counter() - started)
        if factory
        else Cost(NAN, NAN, NAN)
    )
    return call, factory, ""


@dataclass
class _Asker:
    """Puts the question about each instance, counts and times, and takes what comes."""

    X: Array
    model: CountedModel
    target: Target
    n: int
    max_seconds: float | None

    def __post_init__(self) -> None:
        self.present = self.model.understood(self.X)
        self.goals = [self.target.given(self.present[i : i + 1]) for i in range(len(self.X))]
        if not self.target.regression and not self.model.knows_classes:
            wanted = np.asarray(getattr(self.target, "wanted", ()))
            self.model.classes_ = np.unique(np.concatenate([np.asarray(self.present.outcomes), wanted]))

    @property
    def columns(self) -> Array | None:
        """Labels of the probability columns, None if there are no probabilities."""
        return None if self.present.probabilities is None else self.model.classes_

    def question(self, i: int) -> Question:
        """About instance `i`."""
        goal, index, label = self.goals[i], None, None
        if not goal.regression:
            classes = self.model.classes_
            reached = goal.reached(Prediction(classes, np.eye(len(classes)), classes))
            if reached.any():
                likely = self.model.probabilities(self.present[i : i + 1])[0]
                index = int(np.where(reached, likely, -1.0).argmax())
                label = classes[index]
        return Question(self.X[i].copy(), goal, label, index, self.n, self.max_seconds)

    def result(self, name: str, i: int, call: Call | None, counts: bool, why: str, judge: _Judge) -> Result:
        """Of one method about instance `i`."""
        row: dict[str, Any] = dict.fromkeys(COLUMNS, NAN) | {
            "method": name, "instance": i, "status": "failed", "success": False, "note": why,
        }  # fmt: skip
        if self.goals[i].reached(self.present[i : i + 1])[0]:
            return Result(row | {"status": "already target", "success": True, "note": ""}, None)
        if call is None:
            return Result(row, None)
        model = self.model
        rows, calls, wall, cpu = model.n_rows, model.n_calls, time.perf_counter(), time.process_time()
        # Ours stops by itself a little earlier.
        model.deadline = float("inf") if self.max_seconds is None else wall + 1.05 * self.max_seconds + 0.5
        answers: Sequence[Array] = []
        try:
            answers = call(self.question(i))
        except TimeLimitError:
            row |= {"status": "time limit", "note": f"stopped after {time.perf_counter() - wall:.1f} s"}
        except Exception as error:
            row["note"] = _said(error)
        else:
            row["status"] = "not found"
        finally:
            model.deadline = float("inf")
        row |= {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        if counts or model.n_rows > rows:
            row |= {"rows": model.n_rows - rows, "calls": model.n_calls - calls}
        elif row["status"] == "not found":
            row["note"] = "does not ask through the counted model"
        return judge.scored(row, self.X[i], answers, self.goals[i])


@dataclass(frozen=True)
class _Judge:
    """Scores what an explainer returned; its own questions to the model are not counted."""

    model: CountedModel
    features: Features | None
    plausible: Callable[[Array], Array] | None

    def scored(self, row: dict[str, Any], x: Array, answers: Sequence[Array], target: Target) -> Result:
        """The row with its scores, and the nearest valid counterfactual."""
        try:
            rows = [np.asarray(a, dtype=float).reshape(-1, *x.shape) for a in answers]
        except (TypeError, ValueError) as error:
            return Result(row | {"status": "failed", "note": f"returned no counterfactual: {_said(error)}"}, None)
        returned = np.concatenate([np.empty((0, *x.shape)), *rows])
        returned = returned[np.isfinite(returned).all(axis=tuple(range(1, returned.ndim)))]
        if not len(returned):
            return Result(row, None)
        valid = returned[target.reached(self.model.understood(returned))]
        row = row | {"validity": len(valid) / len(returned)}
        if not len(valid):
            return Result(row | {"note": row["note"] or "what it returned does not reach the target"}, None)
        changes = [_scores.cells(np.atleast_2d(x), np.atleast_2d(v), self.features) for v in valid]
        best = int(np.argmin([size.sum() for size, _ in changes]))
        size, changed = changes[best]
        nearest = valid[best]
        return Result(
            row
            | {
                "status": "found",
                "success": True,
                "l1": float(size.sum()),
                "l2": float(np.sqrt((size**2).sum())),
                "sparsity": int(changed.sum()),
                "features": int(changed.any(0).sum()),
                "segments": _scores.n_segments(changed),
                "plausible": NAN if self.plausible is None else bool(self.plausible(nearest[None])[0]),
                "allowed": NAN
                if self.features is None
                else _scores.allowed(np.atleast_2d(x), np.atleast_2d(nearest), self.features),
                "diversity": _scores.diversity(valid),
            },
            nearest,
        )


def _said(error: Exception) -> str:
    """What went wrong, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
