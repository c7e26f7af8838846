"""The explainer for DiCE."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from dice_ml.constants import ModelTypes
from dice_ml.explainer_interfaces.explainer_base import ExplainerBase
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import Category, Constraint, Counterfactual, InvalidInputError, SearchSettings
from ntdcfe_plugins._shared.arguments import constraints_of, plausible_of, settings_of, targets_of
from ntdcfe_plugins._shared.found_by import FoundBy
from ntdcfe_plugins._shared.numpy_errors import as_caller, silent
from ntdcfe_plugins.dice.details import Details
from ntdcfe_plugins.dice.limits import (
    OUR_OPTIONS,
    SEARCH_OPTIONS,
    limits_of,
    rows_if_nothing_is_found,
    tried_under_noise,
)
from ntdcfe_plugins.dice.model import Model, understood
from ntdcfe_plugins.dice.queries import check_arguments, rows_of
from ntdcfe_plugins.dice.results import Examples, Explanations, examples_of, explanations_of
from ntdcfe_plugins.dice.search import TableSearch
from ntdcfe_plugins.dice.series import SeriesColumns
from ntdcfe_plugins.dice.table import Table
from ntdcfe_plugins.dice.targets import goals_of

METHOD = "ntdcfe"


class NTDCFE(ExplainerBase):  # type: ignore[misc]
    """Counterfactuals of a DiCE model, over DiCE's public or private data.

    Parameters
    ----------
    data_interface : dice_ml.Data
        Private data (ranges and categories) is enough.
    model_interface : dice_ml.Model
    features : mapping, optional
        From feature name to options that DiCE does not have: ``{"age": {"direction": "rise"},
        "gender": {"role": "immutable"}, "income": {"weight": 2.0}}``, see :class:`ntdcfe.Continuous`.
        Categories rise in the order in which the data interface lists them; an :class:`ntdcfe.Ordered` says their
        order: ``{"education": Ordered(["school", "bachelor", "master"], direction="rise")}``. ``{"status": {"moves":
        {"single": ["married"]}}}`` lists what a category may become. ``{"age": {"precision": 0}}`` keeps
        a feature whole whose range and values are floats: DiCE does not tell a ``type_and_precision``
        of "int" from none.
    constraints : sequence of Constraint
        Causal, AtMost, or a Constraint of your own. The state of a category is its position in the data
        interface's list.
    plausible : callable, optional
        Takes rows as a DataFrame, returns which of them may be counterfactuals ``(n,)``.
    settings : SearchSettings, optional
        If not given, 35 rows a feature or 40 a wanted counterfactual, at least 450, for a query, twice as many more
        where nothing is found with these, and a price on changed features; only the first counterfactual is then
        tried under noise. The limits of rows and seconds hold for all questions; a search takes at least 7 calls.
    series : SeriesColumns, optional
        The layout of a series, if the columns are those of one. `features`, `constraints` and
        ``features_to_vary`` may then name its channels.

    Notes
    -----
    Differences from DiCE's own methods:

    - every row is cast to the query's dtypes and rounded to the data's precision *before* the model
      sees it, so that the rows that are handed out are those that were scored; queries and outcomes are never altered;
    - ``desired_class`` may be an index, as in DiCE, a label, a Target, or a list with a Target for each query;
      "opposite" of several classes is any other class;
    - ``stopping_threshold`` above 0.5 is the least probability of the desired class, up to 0.5 its
      label decides; multiclass models included, and without DiCE's detour over 0.25 and 0.75;
    - a query outside a ``permitted_range`` given with the call is moved into it first; a value outside the
      data's own range is left as it is until it is changed;
    - for a query that already reaches the target there are other rows nearby that reach it, and a warning.
    """

    def __init__(
        self,
        data_interface: Any,
        model_interface: Any,
        *,
        features: Mapping[str, Mapping[str, Any] | Category] | None = None,
        constraints: Sequence[Constraint] = (),
        plausible: Callable[[pd.DataFrame], Any] | None = None,
        settings: SearchSettings | None = None,
        series: SeriesColumns | None = None,
    ) -> None:
        super().__init__(data_interface, model_interface)
        self.features = dict(_described(features))
        try:
            self.constraints, self.plausible = constraints_of(constraints), plausible_of(plausible)
            self.settings = settings_of(settings)
        except InvalidInputError as wrong:
            raise UserConfigValidationException(str(wrong)) from None
        self.series = series
        known = data_interface.feature_names if series is None else series.names
        if unknown := set(self.features) - set(known):
            raise UserConfigValidationException(f"features describes {sorted(unknown)}, the data has {list(known)}.")
        if series is not None and set(series.columns) != set(data_interface.feature_names):
            raise UserConfigValidationException("the data's features are not the columns of the series.")

    def generate_counterfactuals(
        self,
        query_instances: Any,
        total_CFs: int,
        desired_class: Any = "opposite",
        desired_range: Sequence[float] | None = None,
        permitted_range: Mapping[str, Sequence[Any]] | None = None,
        features_to_vary: str | Iterable[str] = "all",
        stopping_threshold: float = 0.5,
        posthoc_sparsity_param: float | None = 0.1,
        posthoc_sparsity_algorithm: str = "linear",
        verbose: bool = False,
        **kwargs: Any,
    ) -> Explanations:
        """Up to `total_CFs` counterfactuals a query, nearest first; see DiCE for the arguments without an entry here.

        Parameters
        ----------
        query_instances : DataFrame, dict, list of dicts, of values or of one-row DataFrames
        desired_class : int, label, "opposite", Target, or list of Targets
            A Target takes the place of ``desired_range`` and ``stopping_threshold``, too.
        **kwargs
            ``prefer``: "nearest", "simplest" or "sturdiest", the kind of answer that comes first. Without settings
            it is "nearest", with a price on changed features; the others have to withstand noise, which takes up to
            10,000 rows a query. ``max_rows`` (rows a query), ``max_seconds`` (for all), ``progress`` and the other
            arguments of :meth:`ntdcfe.NTDCFE.explain_batch`; ``random_seed``; ``sparsity_weight`` and
            ``proximity_weight``, whose ratio is the price of a changed feature beside a unit of
            distance. Others have no effect and are named in a warning.

        Raises
        ------
        NoCounterfactualsFound
            No counterfactual was found for any query; the exception has near misses and reasons.
        UserConfigValidationException, ValueError
            An argument is wrong, or a query does not fit the data.
        ntdcfe.PredictorError
            The model failed, or returned no predictions.
        """
        frame = rows_of(query_instances, self.data_interface)
        vary = check_arguments(total_CFs, permitted_range, features_to_vary)
        targets = targets_of("desired_class", desired_class, len(frame))
        # DiCE demands a range of every regressor; a Target takes its place.
        checked_range = (0, 0) if targets is not None and self._regression else desired_range
        self._validate_counterfactual_configuration(
            frame, total_CFs, desired_class, checked_range, permitted_range, vary, stopping_threshold,
            posthoc_sparsity_param, posthoc_sparsity_algorithm, verbose,
        )  # fmt: skip
        examples = self._examples(
            frame, total_CFs, desired_class, desired_range, permitted_range, vary, stopping_threshold,
            posthoc_sparsity_param, posthoc_sparsity_algorithm, verbose, **kwargs,
        )  # fmt: skip
        explanations = explanations_of(examples)
        if short := [i for i, e in enumerate(examples) if e.final_cfs_df is None or len(e.final_cfs_df) < total_CFs]:
            warnings.warn(f"fewer than {total_CFs} counterfactuals were found for queries {short}.", stacklevel=2)
        return explanations

    def _generate_counterfactuals(self, query_instance: Any, total_CFs: int, *args: Any, **kwargs: Any) -> Examples:
        """DiCE's internal entry: one query, nothing is validated, and there is no exception where nothing is found."""
        arguments = inspect.signature(self.generate_counterfactuals).bind(query_instance, total_CFs, *args, **kwargs)
        arguments.apply_defaults()
        _, _, *given = arguments.args
        return self._examples(rows_of(query_instance, self.data_interface), total_CFs, *given, **arguments.kwargs)[0]

    def predict_fn(self, input_instance: pd.DataFrame) -> NDArray[Any]:
        """Probabilities ``(n, C)`` of a classifier, values ``(n,)`` of a regressor; other outputs as they are."""
        with as_caller():
            return understood(np.asarray(self.model.get_output(input_instance)), self._regression)

    predict_fn_for_sparsity = predict_fn

    @property
    def _regression(self) -> bool:
        return bool(self.model.model_type == ModelTypes.Regressor)

    def _examples(
        self,
        frame: pd.DataFrame,
        total_CFs: int,
        desired_class: Any,
        desired_range: Sequence[float] | None,
        permitted_range: Mapping[str, Sequence[Any]] | None,
        features_to_vary: str | list[str],
        stopping_threshold: float,
        posthoc_sparsity_param: float | None,
        posthoc_sparsity_algorithm: str,
        verbose: bool,
        **kwargs: Any,
    ) -> list[Examples]:
        """The results of all queries, which share the calls to the model."""
        if desired_range is not None:
            desired_range = np.asarray(desired_range).tolist()  # DiCE's JSON takes lists only
        idle = set(kwargs) - SEARCH_OPTIONS - OUR_OPTIONS
        idle |= {"posthoc_sparsity_param"} if posthoc_sparsity_param not in (None, 0.1) else set()
        idle |= {"posthoc_sparsity_algorithm"} if posthoc_sparsity_algorithm not in (None, "linear") else set()
        targets = targets_of("desired_class", desired_class, len(frame))
        if targets is not None:
            idle |= {"stopping_threshold"} if stopping_threshold != 0.5 else set()
            idle |= {"desired_range"} if desired_range is not None else set()
        if idle:
            warnings.warn(f"{', '.join(sorted(idle))}: no effect on method {METHOD!r}.", stacklevel=3)
        with silent():
            given = (self.data_interface, self.features, self.constraints, self.series)
            table = Table.of(frame, *given, permitted_range or {}, features_to_vary)
            limits = limits_of(self.settings, len(table.columns), int(total_CFs), kwargs)
            model = Model(self.predict_fn, self.model, len(frame), limits)
            present = model.ask_rows(frame)
            infer = self.infer_target_cfs_class
            goals = goals_of(targets, desired_class, desired_range, stopping_threshold, present, infer)
            answers: Sequence[Counterfactual | None] = [None] * len(frame)
            found, details = [frame[:0]] * len(frame), cast(Sequence["Details | None"], [None] * len(frame))
            if total_CFs > 0:
                aims, more = [goal.target for goal in goals], rows_if_nothing_is_found(self.settings, limits, kwargs)
                noisy = tried_under_noise(self.settings, limits, kwargs)
                search = TableSearch(model, table, aims, self.constraints, self.plausible, int(total_CFs), more, noisy)
                options, outcome = {"progress": verbose, **kwargs}, self.data_interface.outcome_name
                answers, found, details = search.run(frame, present, options, outcome)
            by = FoundBy(kwargs.get("random_seed") or 0, limits, self.constraints, self.plausible)
            examples = examples_of(
                frame, present, goals, answers, found, details, table, self.data_interface, by,
                model_type=self.model.model_type,
                desired_range=desired_range, posthoc_sparsity_param=posthoc_sparsity_param,
            )  # fmt: skip
            self._leave_behind(examples[-1], table.columns)
            return examples

    def _leave_behind(self, last: Examples, columns: list[str]) -> None:
        """Set the attributes in which DiCE's own explainers leave the results of the last query."""
        rows = self.final_cfs_df = last.final_cfs_df
        self.final_cfs_df_sparse = last.final_cfs_df_sparse
        self.final_cfs = None if rows is None else rows[columns].to_numpy()
        self.cfs_preds = None if rows is None else rows[[self.data_interface.outcome_name]].to_numpy()


def _described(features: Any) -> Mapping[str, Mapping[str, Any] | Category]:
    """The options of each feature; raises if they are no dict of dicts and categories."""
    features = {} if features is None else features
    if not isinstance(features, Mapping) or not all(isinstance(o, (Mapping, Category)) for o in features.values()):
        raise UserConfigValidationException(
            f"features must be a dict from feature name to a dict, or to Ordered or Category, got {features!r}."
        )
    return features
