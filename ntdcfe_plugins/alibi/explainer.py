"""NTD-CFE as an alibi explainer: alibi's arguments and ``Explanation``, without fit.

In place of ``CounterfactualRL``: no autoencoder, no training, no training data.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from alibi.api.interfaces import Explainer, Explanation
from numpy.typing import ArrayLike, NDArray

import ntdcfe
from ntdcfe import Constraint, InvalidInputError, SearchSettings
from ntdcfe_plugins._shared.arguments import constraints_of, listed, mapped
from ntdcfe_plugins._shared.asked import AskedModel
from ntdcfe_plugins._shared.keyed import Key, KeyedFeatures
from ntdcfe_plugins.alibi.columns import features_of, named
from ntdcfe_plugins.alibi.explanation import data_of, entries_of, plain
from ntdcfe_plugins.alibi.model import Model, Output, errors_of_alibi
from ntdcfe_plugins.alibi.targets import Targets

# alibi fills in the name and the version.
META: dict[str, Any] = {
    "name": None, "type": ["blackbox"], "explanations": ["local"], "params": {}, "version": None
}  # fmt: skip


class NTDCFE(Explainer):  # type: ignore[misc]
    """Counterfactuals of any model from its predictions alone, for tabular data and time series.

    Features are named by name, or by column; any column of a one-hot group stands for the group.

    Parameters
    ----------
    predictor : callable
        Takes ``(N, D)`` or ``(N, K, D)``; returns probabilities or logits ``(N, C)``, labels, one
        probability ``(N,)`` or ``(N, 1)``, or values (regression).
    target_class : {"other", "same"}, label, collection of labels, Target, or list of Targets
        The wanted prediction, where ``explain`` is given no `Y_t`; in a list of Targets, one for each instance.
    feature_names : sequence of str, optional
        One for each feature; a one-hot group is one feature.
    category_map : dict of column to category names, optional
        Columns with the codes 0, 1, ... of categories that have no order.
    ohe : bool or collection of columns
        Which features of `category_map` are one-hot groups, named by their first column.
    immutable_features, non_actionable_features : sequence of columns, optional
        Features that never change, and features that change only through `constraints`.
    feature_range : (low, high), or dict of column to (low, high), optional
        Limits of numeric features: numbers, or arrays with one entry a column, ``(D,)`` or ``(1, D)``.
    directions : dict of column to {"rise", "fall"}, optional
        The one way in which a feature may change.
    weights : dict of column to float, optional
        The cost of a unit of change; 1 if not given.
    scales : dict of column to float, optional
        Units of change; from the range, else from the series itself. Give them for static data without ranges.
    constraints : sequence of ntdcfe.Constraint
        Rules between features: Causal, AtMost, or a Constraint of your own.
    actionable_steps : slice, sequence of int, or boolean mask (K,), optional
        Time steps that may change.
    plausible : callable, optional
        In-distribution test: takes rows as `predictor` does, returns which of them may be answers ``(N,)``.
    target_proba : float, optional
        Least probability of a target class; if not given, the class only has to be the likeliest.
    target_interval : (low, high), optional
        The wanted values of a regression, None for an open side.
    output : {"auto", "labels", "probabilities", "probability", "logits", "values"}
        The form of the predictor's answers. "auto" takes one number from 0 to 1 for the probability of class 1.
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
        category_map: Mapping[Key, Sequence[str]] | None = None,
        immutable_features: Sequence[Key] | None = None,
        feature_range: Any = None,
        *,
        ohe: bool | Sequence[Key] = False,
        non_actionable_features: Sequence[Key] | None = None,
        directions: Mapping[Key, str] | None = None,
        weights: Mapping[Key, float] | None = None,
        scales: Mapping[Key, float] | None = None,
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
        super().__init__(meta=copy.deepcopy(META))
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
        self.constraints = constraints_of(() if constraints is None else constraints)
        self.actionable_steps = actionable_steps
        self.plausible = plausible
        self.target_proba = target_proba
        self.target_interval = target_interval
        self.output: Output = "values" if output == "auto" and self._targets.regression else output
        self.classes = None if classes is None else np.asarray(classes)
        self.settings = (settings or SearchSettings()).given(max_rows=max_rows, max_seconds=max_seconds)
        self.seed = seed
        own = {name: value for name, value in vars(self).items() if name not in {"meta", *self.meta}}
        self.meta["params"].update(plain(own), ntdcfe_version=ntdcfe.__version__)
        self.reset_predictor(predictor)
        self._targets.check(self.output)
        self._engine(Model(predictor, self.output), None, self.settings, None)  # raises if an argument is wrong
        if self.feature_names is not None:
            self._features(None)

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
            How many counterfactuals are wanted of each instance; they differ in the features that they change.
        verbose : bool
            Whether to show a bar.
        **options
            Passed on to :meth:`ntdcfe.NTDCFE.explain_batch`.

        Returns
        -------
        Explanation
            Each part of its ``data`` has one entry an instance:

            - ``orig`` and ``cf``: ``X (N, ...)`` and ``class (N, 1)``, ``cf`` also ``proba (N, C)`` and
              ``distance (N,)``. Where no counterfactual was found, ``cf`` is masked (null in JSON).
            - ``target (N, 1)``: the wanted label, or the target in words where no single label is wanted.
            - ``all``: up to `num_samples` dicts of ``X (1, ...)``, ``class``, ``proba``, ``distance``, the best first.
            - ``orig_class (N,)``, ``orig_proba (N, C)``; None in place of ``proba`` where there are no probabilities.
            - ``success``: bools, with ``status`` and ``reason`` in words. ``near_miss``: where no counterfactual was
              found, the row that came nearest to the target, as a dict like those in ``all``; else None.
            - ``proximity``: weighted distance, categories counting 1 if changed; ``sparsity``: changed cells;
              ``changes`` and ``text``: the changes one by one and in words; ``rows``, ``calls``, ``seconds``: the
              costs.
            - ``condition``: None, as in alibi where there is no condition.
        """
        X = _instances(X)
        if isinstance(num_samples, bool) or not isinstance(num_samples, (int, np.integer)) or num_samples < 1:
            raise InvalidInputError(f"num_samples must be a whole number from 1, got {num_samples!r}.")
        num_samples = int(num_samples)
        features = self._features(X.shape[-1])
        features.encode(X)  # raises before the predictor is asked anything
        limits = self.settings.given(**{name: options.pop(name, None) for name in ("max_rows", "max_seconds")})
        model = Model(self.predictor, self.output)
        asked = AskedModel(len(X), limits, model.form, self.classes)
        with errors_of_alibi():
            first = asked.ask(model, X)
            goals = self._targets.goals(Y_t, first, regression=self.output == "values")
            # The first look takes a row of each instance, and the predictions of the answers one an answer.
            engine = self._engine(model, features, asked.for_the_search(rows=1 + num_samples), first.classes)
            targets = [goal.target for goal in goals]
            found = engine.explain_batch(X, targets, n_counterfactuals=num_samples, progress=verbose, **options)
            entries = entries_of(found, num_samples, asked, model)
        found = [asked.counted(i, cf) for i, cf in enumerate(found)]
        meta = copy.deepcopy(self.meta)
        meta["params"].update(num_samples=num_samples, output=model.output)
        return Explanation(meta=meta, data=data_of(X, first, goals, found, entries))

    @property
    def _targets(self) -> Targets:
        return Targets(self.target_class, self.target_proba, self.target_interval)

    def _engine(
        self, model: Model, features: KeyedFeatures | None, settings: SearchSettings, classes: NDArray[Any] | None
    ) -> ntdcfe.NTDCFE:
        return ntdcfe.NTDCFE(
            model, features, self.constraints, self.plausible, settings, self.seed, output=model.form,
            classes=self.classes if classes is None else classes,
        )  # fmt: skip

    def _features(self, n_columns: int | None) -> KeyedFeatures:
        """The engine's features of so many columns; of as many as the names make up, if None."""
        return features_of(n_columns, vars(self))


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
