"""NTD-CFE as an alibi explainer: alibi's arguments and ``Explanation``, without fit.

In place of ``CounterfactualRL``: no autoencoder, no training, no training data.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from alibi.api.interfaces import Explainer
from numpy.typing import ArrayLike, NDArray

import ntdcfe
from ntdcfe import Constraint, InvalidInputError, SearchSettings
from ntdcfe.search.options import OptionName
from ntdcfe_plugins._shared.arguments import constraints_of, listed, mapped, refuse_unknown, settings_of
from ntdcfe_plugins._shared.keyed import Key, KeyedFeatures
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.alibi import run
from ntdcfe_plugins.alibi.columns import features_of, named
from ntdcfe_plugins.alibi.explanation import Explanation, params_of
from ntdcfe_plugins.alibi.model import Model, Output
from ntdcfe_plugins.alibi.targets import Targets

# alibi fills in the name and the version.
META: dict[str, Any] = {
    "name": None, "type": ["blackbox"], "explanations": ["local"], "params": {}, "version": None
}  # fmt: skip
# Names of the engine's arguments, and of other explainers, that are spelled differently here.
SPELLED = {
    "predict": "predictor",
    "model": "predictor",
    "target": "target_class",
    "features": "feature_names, with category_map, feature_range and so on, describes features here.",
    "bounds": "feature_range",
    "random_state": "seed",
    "precision": "decimals",
    "precisions": "decimals",
    "permitted_range": "feature_range",
    "ranges": "feature_range",
    "features_to_vary": "immutable_features names those that may not change.",
    "n_counterfactuals": "num_samples is an argument of explain.",
}


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
        The one way in which a feature may change; a category, in the order of `category_map`.
    moves : dict of column to dict of category to categories, optional
        From a category to those that it may become; one without an entry stays as it is.
    weights : dict of column to float, optional
        The cost of a unit of change; 1 if not given.
    scales : dict of column to float, optional
        Units of change; from the range, else from the series itself. Give them for static data without ranges.
    decimals : dict of column to int or None, optional
        Decimals of a feature's changed values, None for as many as it takes. If not given, a feature whose values in
        the instances are whole stays whole: integers, or floating numbers of which one is 10 or more.
    constraints : sequence of ntdcfe.Constraint
        Rules between features: Causal, AtMost, or a Constraint of your own.
    actionable_steps : slice, sequence of int, or boolean mask (K,), optional
        Time steps that may change.
    step_names : sequence, optional
        What the K steps are called in sentences, for instance dates; "step 3" if not given.
    plausible : callable, optional
        In-distribution test: takes rows as `predictor` does, returns which of them may be answers ``(N,)``.
    target_proba : float, optional
        Least probability of a target class; if not given, the class only has to be the likeliest.
    target_interval : (low, high), optional
        The wanted values of a regression, None for an open side.
    output : {"auto", "labels", "probabilities", "probability", "logits", "values"}
        The form of the predictor's answers. "auto" decides by the first answers, and a warning says what was taken
        where that is not plain: columns that add up to 1 are probabilities, others logits; one number from 0 to 1 is
        the probability of class 1.
    classes : sequence, optional
        Labels of the columns that `predictor` returns; 0, 1, ... if not given.
    max_rows, max_seconds : optional
        Most rows for each instance, and most seconds for a call of ``explain``; else as in `settings`.
    settings : ntdcfe.SearchSettings, optional
        Its `options` say which kinds of answers are searched for, its `survival` what they have to withstand.
    seed : int
        Decides the result, together with the instance and the predictor.

    Examples
    --------
    >>> import numpy as np
    >>> from ntdcfe_plugins.alibi import NTDCFE
    >>> def predictor(X):  # (N, K, D) -> probabilities (N, C)
    ...     p = 1 / (1 + np.exp(-4 * X[:, -3:, 0].mean(axis=1)))
    ...     return np.column_stack([1 - p, p])
    >>> explainer = NTDCFE(predictor, feature_names=["load", "wind"], immutable_features=["wind"], max_rows=1000)
    >>> explanation = explainer.explain(np.full((2, 8, 2), -0.5), Y_t=np.array([1]))
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
        moves: Mapping[Key, Mapping[str, Sequence[str]]] | None = None,
        weights: Mapping[Key, float] | None = None,
        scales: Mapping[Key, float] | None = None,
        decimals: Mapping[Key, int | None] | None = None,
        constraints: Sequence[Constraint] = (),
        actionable_steps: slice | ArrayLike | None = None,
        step_names: Sequence[Any] | None = None,
        plausible: Callable[[NDArray[Any]], Any] | None = None,
        target_proba: float | None = None,
        target_interval: tuple[float | None, float | None] | None = None,
        output: Output = "auto",
        classes: Sequence[Any] | NDArray[Any] | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        settings: SearchSettings | None = None,
        seed: int = 0,
        **unknown: Any,
    ) -> None:
        refuse_unknown("NTDCFE", unknown, inspect.signature(type(self)).parameters, SPELLED)
        super().__init__(meta=copy.deepcopy(META))
        self.target_class = target_class
        self.feature_names = None if feature_names is None else [str(n) for n in listed("feature_names", feature_names)]
        self.category_map = mapped("category_map", category_map)
        self.ohe = list(self.category_map) if ohe is True else [] if ohe is False else named("ohe", ohe)
        self.immutable_features = named("immutable_features", immutable_features)
        self.non_actionable_features = named("non_actionable_features", non_actionable_features)
        self.feature_range = feature_range
        self.directions = mapped("directions", directions)
        self.moves = mapped("moves", moves)
        self.weights = mapped("weights", weights)
        self.scales = mapped("scales", scales)
        self.decimals = mapped("decimals", decimals)
        self.constraints = constraints_of(() if constraints is None else constraints)
        self.actionable_steps = actionable_steps
        self.step_names = None if step_names is None else [str(name) for name in listed("step_names", step_names)]
        self.plausible = plausible
        self.target_proba, self.target_interval = target_proba, target_interval
        self.output: Output = "values" if output == "auto" and self._targets.regression else output
        self.classes = None if classes is None else np.asarray(classes)
        self.settings = (settings_of(settings) or SearchSettings()).given(max_rows=max_rows, max_seconds=max_seconds)
        self.seed = seed
        own = {name: value for name, value in vars(self).items() if name not in {"meta", *self.meta}}
        self.meta["params"].update(params_of(own), ntdcfe_version=ntdcfe.__version__)
        self.reset_predictor(predictor)
        self._targets.check(self.output)
        self._said = False  # whether it was said in which form the predictor's answers are taken
        run.engine(self, Model(predictor, self.output), None, self.settings, None)  # raises if an argument is wrong
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
        prefer: OptionName | None = None,
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
        prefer : {"simplest", "nearest", "sturdiest"}, optional
            Which kind of answer ``cf`` is, in place of the settings' value; ``all`` has the others.
        **options
            ``max_rows``, ``max_seconds``, ``backend``, ``backend_params``, ``n_jobs``, ``checkpoint``: see
            :meth:`ntdcfe.NTDCFE.explain_batch`.

        Returns
        -------
        Explanation
            Has ``plot(i, sample)`` and ``report(path, i, sample)``. Each part of ``data`` has one entry an instance:

            - ``orig`` and ``cf``: ``X (N, ...)`` and ``class (N, 1)``, ``cf`` also ``proba (N, C)`` and
              ``distance (N,)``. Where no counterfactual was found, ``cf`` is masked (null in JSON).
            - ``target (N, 1)``: the wanted label, or the target in words where no single label is wanted.
            - ``all``: up to `num_samples` counterfactuals, the best first, then those among the ``options`` that are
              not among these. Each is a dict of ``X (1, ...)``, ``class``, ``proba``, ``distance``, and ``option``,
              ``edits``, ``survival`` as below.
            - ``option``: the kind of answer that ``cf`` is, None where it is of none; ``options``: from the name of
              each kind ("simplest", "nearest", "sturdiest") to its place in ``all``.
            - ``edits``, ``contributions``: the changes as few named edits, and what each does; ``survival``: the share
              of copies disturbed by noise that held, and its lower bound, None where no rows were left for that, and
              whether the ``second_model`` of the settings reaches the target, too. Dicts with the fields of
              :class:`ntdcfe.Counterfactual`'s.
            - ``orig_class (N,)``, ``orig_proba (N, C)``; None in place of ``proba`` where there are no probabilities.
            - ``success``: bools, with ``status`` and ``reason`` in words. ``near_miss``: where no counterfactual was
              found, the row that came nearest to the target, as a dict like those in ``all``; else None.
            - ``proximity``: weighted distance, categories counting 1 if changed; ``sparsity``: changed cells;
              ``changes`` and ``text``: the changes one by one and in words; ``rows``, ``calls``, ``seconds``: costs.
            - ``condition``: None, as in alibi where there is no condition.
        """
        with silent():
            return run.explanation(self, X, Y_t, num_samples, verbose, prefer, options)

    @property
    def _targets(self) -> Targets:
        return Targets(self.target_class, self.target_proba, self.target_interval)

    def _features(self, n_columns: int | None) -> KeyedFeatures:
        """The engine's features of so many columns; of as many as the names make up, if None."""
        return features_of(n_columns, vars(self))
