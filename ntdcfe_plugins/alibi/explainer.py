"""NTD-CFE as an alibi explainer: alibi's arguments and ``Explanation``, without fit. Needs the extra ``alibi``.

In place of ``CounterfactualRL``: no autoencoder, no training, no training data.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from alibi.api.interfaces import Explainer, Explanation
from alibi.exceptions import PredictorCallError, PredictorReturnTypeError
from numpy.typing import ArrayLike, NDArray

import ntdcfe
from ntdcfe import Counterfactual, Features, SearchSettings, Target
from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.constraints import Constraint
from ntdcfe.problem.objective import weighted_l1
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins.alibi.columns import Column, Columns, listed, mapped, named
from ntdcfe_plugins.alibi.model import Model, Output, errors_of_alibi, kind

#: Wanted labels, or the ends of an interval; None for any class but the present one.
Goal = tuple[Any, ...] | None


class NTDCFE(Explainer):  # type: ignore[misc]
    """Counterfactuals of any model from its predictions alone, for tabular data and time series.

    Features are named by name, or by column; any column of a one-hot group stands for the group.

    Parameters
    ----------
    predictor : callable
        Takes ``(N, D)`` or ``(N, K, D)``; returns probabilities or logits ``(N, C)``, labels, one
        probability ``(N,)`` or ``(N, 1)``, or values (regression).
    target_class : {"other", "same"}, label, or collection of labels
        What the predictor should say, where ``explain`` is given no `Y_t`.
    feature_names : sequence of str, optional
        One a feature; a one-hot group is one feature.
    category_map : dict of column to category names, optional
        Columns with the codes 0, 1, ... of categories that have no order.
    ohe : bool or collection of columns
        Which features of `category_map` are one-hot groups, named by their first column.
    immutable_features : sequence of columns, optional
        Never change.
    non_actionable_features : sequence of columns, optional
        Change only through `constraints`.
    feature_range : (low, high), or dict of column to (low, high), optional
        Limits of numeric features: numbers, or arrays with one entry a column, ``(D,)`` or ``(1, D)``.
    directions : dict of column to {"rise", "fall"}, optional
        The one way in which a feature may change.
    weights : dict of column to float, optional
        What a change costs; 1 if not given.
    scales : dict of column to float, optional
        Units of change; from the range, else from the series itself. Give them for static data without ranges.
    constraints : sequence of ntdcfe.Causal or ntdcfe.AtMost
        Features that follow others, and features that others limit.
    actionable_steps : slice, sequence of int, or boolean mask (K,), optional
        Time steps that may change.
    plausible : callable, optional
        In-distribution test: takes rows as `predictor` does, tells which may be answers ``(N,)``.
    target_proba : float, optional
        Least probability of the target class; being the likeliest is enough if not given.
    target_interval : (low, high), optional
        Makes it regression: the values that are wanted, None for an open side.
    output : {"auto", "labels", "probabilities", "probability", "logits", "values"}
        What `predictor` returns. "auto" takes one number from 0 to 1 for the probability of class 1.
    classes : sequence, optional
        Labels of the columns that `predictor` returns; 0, 1, ... if not given.
    max_rows, max_seconds : optional
        Most rows for each instance, and most seconds for a call of ``explain``; else as in `settings`.
    settings : ntdcfe.SearchSettings, optional
    seed : int
        Decides the result, together with the instance and the predictor.

    Examples
    --------
    >>> import numpy as np
    >>> from ntdcfe_plugins.alibi import NTDCFE
    >>> def predictor(X):  # (N, K, D) -> probabilities (N, C)
    ...     p = 1 / (1 + np.exp(-4 * X[:, -3:, 0].mean(axis=1)))
    ...     return np.column_stack([1 - p, p])
    >>> X = np.full((2, 8, 2), -0.5)
    >>> explainer = NTDCFE(predictor, feature_names=["load", "wind"], immutable_features=["wind"], max_rows=1000)
    >>> explanation = explainer.explain(X, Y_t=np.array([1]))
    >>> explanation.success, explanation.cf["X"].shape, explanation.cf["class"].tolist()
    ([True, True], (2, 8, 2), [[1], [1]])
    """

    def __init__(
        self,
        predictor: Callable[[NDArray[Any]], Any],
        target_class: Any = "other",
        feature_names: Sequence[str] | None = None,
        category_map: Mapping[Column, Sequence[str]] | None = None,
        immutable_features: Sequence[Column] | None = None,
        feature_range: Any = None,
        *,
        ohe: bool | Sequence[Column] = False,
        non_actionable_features: Sequence[Column] | None = None,
        directions: Mapping[Column, str] | None = None,
        weights: Mapping[Column, float] | None = None,
        scales: Mapping[Column, float] | None = None,
        constraints: Sequence[Constraint] = (),
        actionable_steps: slice | ArrayLike | None = None,
        plausible: Callable[[NDArray[Any]], Any] | None = None,
        target_proba: float | None = None,
        target_interval: tuple[float | None, float | None] | None = None,
        output: Output = "auto",
        classes: Sequence[Any] | NDArray[Any] | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        settings: SearchSettings | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            meta={"name": None, "type": ["blackbox"], "explanations": ["local"], "params": {}, "version": None}
        )
        self.target_class = target_class
        self.feature_names = None if feature_names is None else [str(n) for n in listed("feature_names", feature_names)]
        self.category_map = mapped("category_map", category_map)
        self.ohe = list(self.category_map) if ohe is True else [] if ohe is False else named("ohe", ohe)
        self.immutable_features = named("immutable_features", immutable_features)
        self.non_actionable_features = named("non_actionable_features", non_actionable_features)
        self.feature_range = feature_range
        self.directions = mapped("directions", directions)
        self.weights = mapped("weights", weights)
        self.scales = mapped("scales", scales)
        self.constraints = tuple(listed("constraints", constraints))
        self.actionable_steps = actionable_steps
        self.plausible = plausible
        self.target_proba = target_proba
        self.target_interval = target_interval
        self.output: Output = "values" if output == "auto" and target_interval is not None else output
        self.classes = None if classes is None else np.asarray(classes)
        self.settings = (settings or SearchSettings()).given(max_rows=max_rows, max_seconds=max_seconds)
        self.seed = seed
        own = {name: value for name, value in vars(self).items() if name not in {"meta", *self.meta}}
        self.meta["params"].update(_plain(own), ntdcfe_version=ntdcfe.__version__)
        self.reset_predictor(predictor)
        self._check_arguments()

    def reset_predictor(self, predictor: Callable[[NDArray[Any]], Any]) -> None:
        """Ask this predictor from now on."""
        if not callable(predictor):
            raise InvalidInputError(f"predictor must be a function of an array, got {type(predictor).__name__}.")
        self.predictor = predictor

    def explain(
        self,
        X: ArrayLike,
        Y_t: ArrayLike | None = None,
        num_samples: int = 1,
        verbose: bool = False,
        **options: Any,
    ) -> Explanation:
        """Counterfactuals of one instance or many.

        Parameters
        ----------
        X : array (N, D), or (N, K, D) for series
        Y_t : array, optional
            Wanted labels ``(1,)``, ``(N,)`` or ``(N, 1)``, or one-hot ``(1, C)`` or ``(N, C)``; in regression
            wanted intervals ``(1, 2)`` or ``(N, 2)``. In place of `target_class` or `target_interval`.
        num_samples : int
            How many counterfactuals, differing in what they change, are wanted of each.
        verbose : bool
            Whether to show a bar.
        **options
            Passed on to :meth:`ntdcfe.NTDCFE.explain_batch`.

        Returns
        -------
        Explanation
            With one entry an instance in each part of its ``data``:

            - ``orig`` and ``cf``: ``X (N, ...)`` and ``class (N, 1)``, ``cf`` also ``proba (N, C)`` and
              ``distance (N,)``. Where nothing was found, ``cf`` is masked (null in JSON).
            - ``target (N, 1)``: the wanted label, or words where it is not a single one.
            - ``all``: up to `num_samples` dicts of ``X (1, ...)``, ``class``, ``proba``, ``distance``, the best first.
            - ``orig_class (N,)``, ``orig_proba (N, C)``; None in place of ``proba`` where there are no probabilities.
            - ``success``: bools, with ``status`` and ``reason`` in words. ``near_miss``: where nothing was found,
              what came nearest to the target, as a dict like those in ``all``; else None.
            - ``proximity``: weighted distance, categories counting 1 if changed; ``sparsity``: changed cells;
              ``changes`` and ``text`` tell them; ``rows``, ``calls``, ``seconds``: what it cost.
            - ``condition``: None, as in alibi where nothing is conditioned on.
        """
        X = _instances(X)
        if isinstance(num_samples, bool) or not isinstance(num_samples, (int, np.integer)) or num_samples < 1:
            raise InvalidInputError(f"num_samples must be a whole number from 1, got {num_samples!r}.")
        num_samples = int(num_samples)
        features, rules = self._features(X.shape[-1])
        features.encode(X)  # raises before the predictor is asked anything
        with errors_of_alibi():
            model, first = self._first_look(X)
            goals = self._goals(Y_t, first)
            classes = self.classes if first.classes is None else first.classes
            settings = self.settings
            if settings.max_rows is not None:  # the first look and the reading of the answers take their share
                settings = replace(settings, max_rows=max(1, settings.max_rows - 1 - num_samples))
            engine = ntdcfe.NTDCFE(
                model, features, rules, self.plausible, settings, self.seed, output=model.form, classes=classes
            )
            found = engine.explain_batch(
                X, [self._target(goal) for goal in goals], n_counterfactuals=num_samples, progress=verbose, **options
            )
            entries = _entries(found, num_samples, model)
        found = [
            replace(cf, rows=cf.rows + 1 + len(some), calls=cf.calls + 1 + bool(some))
            for cf, some in zip(found, entries, strict=True)
        ]
        meta = copy.deepcopy(self.meta)
        meta["params"].update(num_samples=num_samples, output=model.output)
        return Explanation(meta=meta, data=_data(X, first, goals, found, entries))

    def _check_arguments(self) -> None:
        """Whatever can be told to be wrong before there is an instance."""
        if self.target_proba is not None and not (isinstance(self.target_proba, Real) and 0 < self.target_proba <= 1):
            raise InvalidInputError(f"target_proba must be above 0 and up to 1, got {self.target_proba!r}.")
        if self.target_interval is not None:
            pair = (
                self.target_interval.tolist() if isinstance(self.target_interval, np.ndarray) else self.target_interval
            )
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise InvalidInputError(f"target_interval must be (low, high), got {pair!r}.")
            Target.interval(*pair)
            if self.output != "values":
                raise InvalidInputError(
                    f"target_interval is of a regression: output must be 'values', got {self.output!r}."
                )
        model = Model(self.predictor, self.output, self.classes)
        ntdcfe.NTDCFE(
            model, None, (), self.plausible, self.settings, self.seed, output=model.form, classes=self.classes
        )
        if self.feature_names is not None:
            self._features(None)

    def _first_look(self, X: NDArray[Any]) -> tuple[Model, Prediction]:
        """The model, knowing what it returns, and what it says of the instances."""
        model = Model(self.predictor, self.output, self.classes, self.settings.max_batch_size)
        answer = model.ask(X)
        if model.output == "auto":
            model = replace(model, output=kind(answer))
        return model, model.understand(answer, X)

    def _goals(self, Y_t: ArrayLike | None, first: Prediction) -> list[Goal]:
        """What is wanted of each instance."""
        if self.output == "values":
            goals = _intervals(self.target_interval, Y_t)
        elif Y_t is not None:
            goals = [(label,) for label in _labels(Y_t, first)]
        else:
            return [_goal(self.target_class, present, first.classes) for present in first.outcomes.tolist()]
        if len(goals) not in (1, len(first)):
            raise InvalidInputError(f"Y_t must have 1 row or one an instance ({len(first)}), got {len(goals)}.")
        return goals * len(first) if len(goals) == 1 else goals

    def _target(self, goal: Goal) -> Target:
        if goal is not None and self.output == "values":
            return Target.interval(*goal)
        target = Target.other() if goal is None else Target.labels(goal)
        return target if self.target_proba is None else _Confident(target, self.target_proba)

    def _features(self, n_columns: int | None) -> tuple[Features, list[Constraint]]:
        """What the columns are (as many as the names make up, if None), and the rules between them."""
        columns = Columns(n_columns, self.feature_names, self.category_map, self.ohe)
        options: list[tuple[str, Mapping[Column, Any]]] = [
            ("direction", self.directions),
            ("weight", self.weights),
            ("scale", self.scales),
            ("role", dict.fromkeys(self.non_actionable_features, "non_actionable")),
            ("role", dict.fromkeys(self.immutable_features, "immutable")),
        ]
        return columns.features(options, self.feature_range, self.actionable_steps), columns.rules(self.constraints)


@dataclass(frozen=True)
class _Confident(Target):
    """A target that is reached with a probability of at least `at_least` only."""

    target: Target
    at_least: float

    def given(self, present: Prediction) -> Target:
        return replace(self, target=self.target.given(present))

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return self.target.reached(prediction) & (self._lead(prediction) >= 0)

    def score(self, prediction: Prediction) -> NDArray[np.float64]:
        score, confident = self.target.score(prediction), 0.5 + self._lead(prediction) / 2
        return confident if score is None else np.minimum(score, confident)

    def check_classes(self, classes: NDArray[Any]) -> None:
        self.target.check_classes(classes)

    def _lead(self, prediction: Prediction) -> NDArray[np.float64]:
        if prediction.probabilities is None or prediction.classes is None:
            raise PredictorReturnTypeError("target_proba needs a predictor of probabilities; this one returns labels.")
        wanted = self.target.reached(Prediction(prediction.classes))
        return np.asarray(prediction.probabilities[:, wanted].max(1) - self.at_least)

    def __str__(self) -> str:
        return f"{self.target} with a probability of at least {self.at_least:g}"


def _instances(X: ArrayLike) -> NDArray[Any]:
    """Finite floating numbers ``(N, D)`` or ``(N, K, D)``; one static instance may come without its first axis."""
    X = np.asarray(X)
    X = X[None] if X.ndim == 1 else X
    if X.ndim not in (2, 3) or 0 in X.shape or X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be numbers (N, D) or (N, K, D), got shape {X.shape} of {X.dtype}.")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(float)
    if not np.isfinite(X).all():
        raise InvalidInputError("X has NaN or infinity.")
    return X


def _goal(target_class: Any, present: Any, classes: NDArray[Any] | None) -> Goal:
    """`target_class` for an instance of class `present`; "other" of two classes is one of them."""
    if isinstance(target_class, str) and target_class == "same":
        return (present,)
    if isinstance(target_class, str) and target_class == "other":
        others = [] if classes is None else [label for label in classes.tolist() if label != present]
        return (others[0],) if len(others) == 1 else None
    if isinstance(target_class, np.ndarray):
        target_class = target_class.tolist()
    several = isinstance(target_class, (list, tuple, set, frozenset, range))
    labels = tuple(map(_plain, target_class)) if several else (_plain(target_class),)
    if any(isinstance(label, (list, dict)) for label in labels):
        raise InvalidInputError(f"target_class must be a label or a collection of labels, got {target_class!r}.")
    return labels


def _labels(wanted: ArrayLike, first: Prediction) -> list[Any]:
    """Labels from labels ``(), (n,), (n, 1)`` or from one-hot rows ``(n, C)``."""
    try:
        Y_t = np.asarray(wanted)
    except ValueError:
        raise InvalidInputError(f"Y_t must be labels (n,) or one-hot (n, C), got {wanted!r}.") from None
    if Y_t.ndim > 2 or Y_t.size == 0 or (Y_t.dtype.kind == "f" and np.isnan(Y_t).any()):
        raise InvalidInputError(f"Y_t must be labels (n,) or one-hot (n, C), got {wanted!r} of shape {Y_t.shape}.")
    if Y_t.ndim == 2 and Y_t.shape[1] > 1:
        classes = np.arange(Y_t.shape[1]) if first.classes is None else first.classes
        if Y_t.dtype.kind not in "fiub":
            raise InvalidInputError(f"Y_t of several columns must be one-hot numbers, got {Y_t.dtype}.")
        if Y_t.shape[1] != len(classes):
            raise InvalidInputError(f"Y_t has {Y_t.shape[1]} columns, the predictor {len(classes)} classes.")
        return list(classes[Y_t.argmax(1)].tolist())
    whole = Y_t.dtype.kind == "f" and first.outcomes.dtype.kind in "iu" and (Y_t == Y_t.round()).all()
    return list((Y_t.astype(int) if whole else Y_t).reshape(-1).tolist())


def _intervals(target_interval: Any, Y_t: ArrayLike | None) -> list[Any]:
    if Y_t is None and target_interval is None:
        raise InvalidInputError("a regression needs target_interval=(low, high), or intervals as Y_t.")
    try:
        intervals = np.asarray([target_interval] if Y_t is None else Y_t, dtype=float)  # None becomes NaN
    except (TypeError, ValueError):
        raise InvalidInputError(f"Y_t of a regression must be intervals of numbers, got {Y_t!r}.") from None
    if intervals.ndim != 2 or intervals.shape[1] != 2:
        raise InvalidInputError(f"Y_t of a regression must be intervals (1, 2) or (N, 2), got {intervals.shape}.")
    return [tuple(None if np.isnan(end) else end for end in pair) for pair in intervals.tolist()]


def _entries(found: list[Counterfactual], num_samples: int, model: Model) -> list[list[dict[str, Any]]]:
    """The answers of each instance, else its near miss, with what the model says of them."""
    kept = [list(cf.candidates[:num_samples]) for cf in found]
    kept = [some or ([] if cf.near_miss is None else [cf.near_miss]) for some, cf in zip(kept, found, strict=True)]
    if not any(kept):
        return [[] for _ in found]
    rows = np.stack([x for some in kept for x in some])
    try:
        prediction = model.understand(model.ask(rows), rows)
        said = iter([(_plain(prediction.outcomes[i]), prediction[i : i + 1].probabilities) for i in range(len(rows))])
    except PredictorCallError as error:  # what was found stays found
        warnings.warn(f"the probabilities of the counterfactuals are missing: {error}", stacklevel=3)
        known = [cf.prediction if cf.found else cf.near_miss_prediction for cf in found]
        said = iter([(k if x is some[0] else None, None) for k, some in zip(known, kept, strict=True) for x in some])
    return [[_entry(cf, x, *next(said)) for x in some] for some, cf in zip(kept, found, strict=True)]


def _entry(cf: Counterfactual, x: NDArray[Any], label: Any, proba: NDArray[Any] | None) -> dict[str, Any]:
    original, state = (cf.features.encode(np.atleast_2d(rows)) for rows in (cf.original, x))
    distance = weighted_l1(original, state[None], cf.features.weights, cf.features.discrete)
    return {"X": x[None], "class": label, "proba": proba, "distance": float(distance[0])}


def _data(
    X: NDArray[Any],
    first: Prediction,
    goals: list[Goal],
    found: list[Counterfactual],
    entries: list[list[dict[str, Any]]],
) -> dict[str, Any]:
    """alibi's keys and ours, with one entry an instance."""
    best = [some[0] if cf.found else None for some, cf in zip(entries, found, strict=True)]

    def stacked(key: str, blank: NDArray[Any]) -> NDArray[Any]:
        values = [None if entry is None else entry[key] for entry in best]
        missing = np.array([value is None for value in values])
        rows = [b if v is None else np.reshape(v, b.shape) for v, b in zip(values, blank, strict=True)]
        if not missing.any():
            return np.stack(rows)
        # Masked, because a row that is no counterfactual must not pass for one; and unlike NaN it is null in JSON.
        mask = np.broadcast_to(missing.reshape(-1, *[1] * (blank.ndim - 1)), blank.shape)
        return np.ma.masked_array(np.stack(rows), mask.copy())  # type: ignore[no-untyped-call]

    wanted = [goal[0] if goal and len(goal) == 1 else cf.target for goal, cf in zip(goals, found, strict=True)]
    uniform = len(set(map(type, wanted))) == 1
    present, proba = first.outcomes.reshape(-1, 1), first.probabilities
    return {
        "orig": {"X": X, "class": present},
        "cf": {
            "X": stacked("X", np.full(X.shape, np.nan, X.dtype)),
            "class": stacked("class", present),
            "proba": None if proba is None else stacked("proba", np.full_like(proba, np.nan)),
            "distance": stacked("distance", np.full(len(X), np.nan)),
        },
        "target": np.array(wanted, dtype=None if uniform else object).reshape(-1, 1),
        "condition": None,
        "all": [some if cf.found else [] for some, cf in zip(entries, found, strict=True)],
        "orig_class": first.outcomes,
        "orig_proba": proba,
        "success": [cf.found for cf in found],
        "status": [cf.status for cf in found],
        "reason": [cf.reason for cf in found],
        "near_miss": [None if cf.found or not some else some[0] for some, cf in zip(entries, found, strict=True)],
        "proximity": [None if entry is None else entry["distance"] for entry in best],
        "sparsity": [cf.sparsity for cf in found],
        "changes": [[_plain(change._asdict()) for change in cf.changes] for cf in found],
        "text": [str(cf) for cf in found],
        "rows": [cf.rows for cf in found],
        "calls": [cf.calls for cf in found],
        "seconds": [cf.seconds for cf in found],
    }


def _plain(value: Any) -> Any:
    """As JSON can hold it and a person can read it: functions by their name, infinity as None."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return repr(value) if isinstance(value, slice) else getattr(value, "__name__", type(value).__name__)
