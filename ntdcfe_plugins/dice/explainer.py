"""NTD-CFE in DiCE: its data and model wrappers in, its result objects out; no training data needed.

Three ways in, by how much of DiCE's own code stays as it is::

    NTDCFE(data, model).generate_counterfactuals(...)          # the explainer itself
    Dice(data, model, method="ntdcfe")                         # DiCE's other methods fall through
    register(); dice_ml.Dice(data, model, method="ntdcfe")     # opt-in
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import dice_ml
import dice_ml.dice
import numpy as np
import pandas as pd
from dice_ml.constants import ModelTypes
from dice_ml.counterfactual_explanations import CounterfactualExplanations
from dice_ml.diverse_counterfactuals import CounterfactualExamples
from dice_ml.explainer_interfaces.explainer_base import ExplainerBase
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import Counterfactual, SearchSettings, Target
from ntdcfe.problem.constraints import Constraint
from ntdcfe_plugins.dice.model import Model, targets
from ntdcfe_plugins.dice.search import OUR_OPTIONS, SEARCH_OPTIONS, TableSearch, limits
from ntdcfe_plugins.dice.table import SeriesColumns, Table

__all__ = ["NTDCFE", "Dice", "Examples", "NoCounterfactualsFound", "SeriesColumns", "register"]

METHOD = "ntdcfe"


class NoCounterfactualsFound(UserConfigValidationException):  # type: ignore[misc]
    """Nothing was found for any query; `explanations` has the near misses and the reasons."""

    def __init__(self, message: str, explanations: CounterfactualExplanations) -> None:
        super().__init__(message)
        self.explanations = explanations

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it comes back from another process."""
        return type(self), (*self.args, self.explanations)


class Examples(CounterfactualExamples):  # type: ignore[misc]
    """DiCE's result for one query, with what the search tells beside.

    `counterfactual` is the engine's own answer (costs, changes in words), `reason` says in words why
    there is no counterfactual ("" if there is one), and `near_miss_df` is then the row that came
    nearest to the target, with its outcome (None if there is none).
    """

    def __init__(self, counterfactual: Counterfactual | None, near_miss_df: Any, **dice: Any) -> None:
        super().__init__(**dice)
        self.counterfactual = counterfactual
        self.near_miss_df = near_miss_df

    @property
    def reason(self) -> str:
        """Why there is no counterfactual, and what to do; empty if there is one."""
        if self.final_cfs_df is not None or self.counterfactual is None:
            return ""
        return self.counterfactual.reason or "the model did not confirm what the search had found"


class NTDCFE(ExplainerBase):  # type: ignore[misc]
    """Counterfactuals of a DiCE model, over DiCE's public or private data.

    Parameters
    ----------
    data_interface : dice_ml.Data
        Private data (ranges and categories) is enough.
    model_interface : dice_ml.Model
    features : mapping, optional
        From feature name to what DiCE cannot say of it: ``{"age": {"direction": "rise"},
        "gender": {"role": "immutable"}, "income": {"weight": 2.0}}``, see :class:`ntdcfe.Continuous`.
        Categories rise in the order in which the data interface lists them. ``{"age": {"precision": 0}}``
        keeps a feature whole whose range and values are floats: DiCE does not tell a ``type_and_precision``
        of "int" from none.
    constraints : sequence of Causal or AtMost
        Functions of categories get, and return, positions in the data interface's list.
    plausible : callable, optional
        Takes rows as a DataFrame, returns which of them may be counterfactuals ``(n,)``.
    settings : SearchSettings, optional
        If not given, 35 rows a feature or 40 a wanted counterfactual, at least 450, for a query, and a price on
        changed features. Rows, calls and seconds are those of all that is asked; fewer than 7 calls are not enough.
    series : SeriesColumns, optional
        The columns are those of a series. `features`, `constraints` and ``features_to_vary`` may
        then name its channels.

    Notes
    -----
    What differs from DiCE's own methods:

    - every row is cast to the query's dtypes and rounded to the data's precision *before* the model
      sees it, so what is handed out is what was scored; queries and outcomes are never altered;
    - ``desired_class`` may be an index, as in DiCE, or a label; "opposite" of several classes is any other;
    - ``stopping_threshold`` above 0.5 is the least probability of the desired class, up to 0.5 its
      label decides; multiclass models included, and without DiCE's detour over 0.25 and 0.75;
    - a query outside a ``permitted_range`` given with the call is moved into it first; outside the
      data's own range it is left alone until it is changed;
    - a query that already is as desired gets other rows nearby that are, and a warning.
    """

    def __init__(
        self,
        data_interface: Any,
        model_interface: Any,
        *,
        features: Mapping[str, Mapping[str, Any]] | None = None,
        constraints: Sequence[Constraint] = (),
        plausible: Callable[[pd.DataFrame], Any] | None = None,
        settings: SearchSettings | None = None,
        series: SeriesColumns | None = None,
    ) -> None:
        super().__init__(data_interface, model_interface)
        self.features = dict(_described(features))
        if not isinstance(constraints, Iterable):
            raise UserConfigValidationException(f"constraints must be a list of Causal or AtMost, got {constraints!r}.")
        if plausible is not None and not callable(plausible):
            raise UserConfigValidationException(f"plausible must be a function of rows, got {plausible!r}.")
        self.constraints = tuple(constraints)
        self.plausible = plausible
        self.settings = settings
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
    ) -> CounterfactualExplanations:
        """Up to `total_CFs` counterfactuals a query, nearest first; see DiCE for the arguments they share.

        Parameters
        ----------
        query_instances : DataFrame, dict, list of dicts, of values or of one-row DataFrames
        **kwargs
            ``max_rows`` (rows a query), ``max_seconds`` (for all), ``progress`` and what else
            :meth:`ntdcfe.NTDCFE.explain_batch` takes; ``random_seed``; ``sparsity_weight`` and
            ``proximity_weight``, whose ratio is the price of a changed feature beside a unit of
            distance. Others have no effect and are named in a warning.

        Raises
        ------
        NoCounterfactualsFound
            Nothing was found for any query; the exception has near misses and reasons.
        UserConfigValidationException, ValueError
            An argument is wrong, or a query does not fit the data.
        ntdcfe.PredictorError
            The model failed, or returned no predictions.
        """
        frame = self._frame(query_instances)
        if not isinstance(total_CFs, Integral):
            raise UserConfigValidationException(
                "The number of counterfactuals generated per query instance (total_CFs) should be a positive integer, "
                f"got {total_CFs!r}."
            )
        vary = features_to_vary
        if isinstance(vary, Iterable) and not isinstance(vary, str):
            vary = list(vary)
        if not isinstance(vary, (str, list)) or not all(isinstance(name, Hashable) for name in vary):
            raise UserConfigValidationException(
                f"features_to_vary must be 'all' or a list of features, got {features_to_vary!r}."
            )
        if permitted_range is not None and not (
            isinstance(permitted_range, Mapping)
            and all(isinstance(given, (list, tuple, np.ndarray)) for given in permitted_range.values())
        ):
            raise UserConfigValidationException(
                f"permitted_range must be a dict from feature to a list, got {permitted_range!r}."
            )
        self._validate_counterfactual_configuration(
            frame, total_CFs, desired_class, desired_range, permitted_range, vary, stopping_threshold,
            posthoc_sparsity_param, posthoc_sparsity_algorithm, verbose,
        )  # fmt: skip
        examples = self._examples(
            frame, total_CFs, desired_class, desired_range, permitted_range, vary, stopping_threshold,
            posthoc_sparsity_param, posthoc_sparsity_algorithm, verbose, **kwargs,
        )  # fmt: skip
        explanations = CounterfactualExplanations(cf_examples_list=examples)
        if all(example.final_cfs_df is None for example in examples):
            reasons = "; ".join(dict.fromkeys(example.reason for example in examples))
            raise NoCounterfactualsFound(
                "No counterfactuals found for any of the query points! Kindly check your configuration. "
                f"Reason: {reasons}. The exception's `explanations` has the near misses.",
                explanations,
            )
        if short := [i for i, e in enumerate(examples) if e.final_cfs_df is None or len(e.final_cfs_df) < total_CFs]:
            warnings.warn(f"fewer than {total_CFs} counterfactuals were found for queries {short}.", stacklevel=2)
        return explanations

    def _generate_counterfactuals(self, query_instance: Any, total_CFs: int, *args: Any, **kwargs: Any) -> Examples:
        """DiCE's internal entry: one query, nothing validated, and no exception where nothing is found."""
        arguments = inspect.signature(self.generate_counterfactuals).bind(query_instance, total_CFs, *args, **kwargs)
        arguments.apply_defaults()
        _, _, *given = arguments.args
        return self._examples(self._frame(query_instance), total_CFs, *given, **arguments.kwargs)[0]

    def predict_fn(self, input_instance: pd.DataFrame) -> NDArray[Any]:
        """Probabilities ``(n, C)`` of a classifier, values ``(n,)`` of a regressor; anything else as it comes."""
        scores = np.asarray(self.model.get_output(input_instance))
        if scores.ndim not in (1, 2) or scores.dtype.kind not in "fiub" or not np.isfinite(scores).all():
            return scores  # the engine says what is wrong with it
        if self.model.model_type == ModelTypes.Regressor:
            return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
        if scores.ndim == 1 or scores.shape[1] == 1:
            positive = scores.reshape(len(scores))
            if len(positive) and (positive.min() < 0 or positive.max() > 1):
                raise ValueError(
                    f"one output a row must be the probability of class 1, got {positive.min():.4g} to "
                    f"{positive.max():.4g}: append a sigmoid to the network, or say model_type='regressor'"
                )
            return np.column_stack([1 - positive, positive])
        # A network without a last softmax gives logits; row by row, so that batches do not matter.
        powers = np.exp(scores - scores.max(1, keepdims=True))
        likely = (scores.min(1) >= 0) & (np.abs(scores.sum(1) - 1) < 1e-3)
        return np.where(likely[:, None], scores, powers / powers.sum(1, keepdims=True))

    predict_fn_for_sparsity = predict_fn

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
            desired_range = np.asarray(desired_range).tolist()  # DiCE's JSON knows lists only
        idle = set(kwargs) - SEARCH_OPTIONS - OUR_OPTIONS
        idle |= {"posthoc_sparsity_param"} if posthoc_sparsity_param not in (None, 0.1) else set()
        idle |= {"posthoc_sparsity_algorithm"} if posthoc_sparsity_algorithm not in (None, "linear") else set()
        if idle:
            warnings.warn(f"{', '.join(sorted(idle))}: no effect on method {METHOD!r}.", stacklevel=3)
        table = Table.of(
            frame,
            self.data_interface,
            self.features,
            self.constraints,
            self.series,
            permitted_range or {},
            features_to_vary,
        )
        budget = limits(self.settings, len(table.columns), int(total_CFs), kwargs)
        outcome_name = self.data_interface.outcome_name
        model = Model(self.predict_fn, self.model, budget)
        present = model(frame)
        if model.regression:
            assert desired_range is not None
            wanted, names = [Target.interval(*desired_range)] * len(frame), [desired_class] * len(frame)
        else:
            wanted, names = targets(present, self._class_index(desired_class, present.classes), stopping_threshold)
        answers: list[Counterfactual] = []
        found = [frame[:0]] * len(frame)
        if total_CFs > 0:
            search = TableSearch(
                model, table, wanted, self.constraints, self.plausible, outcome_name, int(total_CFs), budget
            )
            answers, found = search.run(frame, present, {"progress": verbose, **kwargs})
        examples = []
        for i, rows in enumerate(found):
            cf = answers[i] if answers else None
            rows, miss = (rows if len(rows) else None), None
            if cf is not None and cf.near_miss is not None:
                miss = table.decode(cf.near_miss[None]).assign(**{outcome_name: [cf.near_miss_prediction]})
            query = frame.iloc[[i]].reset_index(drop=True).assign(**{outcome_name: present.outcomes[[i]]})
            examples.append(
                Examples(
                    cf,
                    miss if rows is None else None,
                    data_interface=self.data_interface,
                    final_cfs_df=rows,
                    test_instance_df=query,
                    final_cfs_df_sparse=None if rows is None else rows.copy(),
                    posthoc_sparsity_param=posthoc_sparsity_param,
                    desired_range=desired_range,
                    desired_class=names[i],
                    model_type=self.model.model_type,
                )
            )
        # As DiCE's own explainers leave them behind: those of the last query.
        self.final_cfs_df, self.final_cfs_df_sparse = examples[-1].final_cfs_df, examples[-1].final_cfs_df_sparse
        self.final_cfs = None if rows is None else rows[table.columns].to_numpy()
        self.cfs_preds = None if rows is None else rows[[outcome_name]].to_numpy()
        return examples

    def _class_index(self, desired_class: Any, labels: NDArray[Any] | None) -> int | None:
        """A class index as DiCE takes it, or the index of a label; None for "opposite"."""
        assert labels is not None
        if isinstance(desired_class, str) and desired_class == "opposite":
            return None
        if isinstance(desired_class, np.integer):
            desired_class = int(desired_class)
        matches = [i for i, label in enumerate(labels.tolist()) if label == desired_class]
        if isinstance(desired_class, int) and 0 <= desired_class < len(labels):
            if matches not in ([], [desired_class]):
                warnings.warn(
                    f"desired_class={desired_class} is taken as an index, as in DiCE: class {labels[desired_class]}.",
                    stacklevel=4,
                )
            return int(desired_class)
        return matches[0] if matches else int(self.infer_target_cfs_class(desired_class, None, len(labels)))

    def _frame(self, queries: Any) -> pd.DataFrame:
        """Queries in any of DiCE's forms as rows; checks that they have the data's features."""
        several = list(queries) if isinstance(queries, (list, tuple)) else [queries]
        if not several:
            raise ValueError("query_instances must have at least one row.")
        typed = all(isinstance(query, pd.DataFrame) for query in several)
        if typed:
            queries = pd.concat(several)
        elif all(isinstance(query, (list, tuple)) for query in several):
            names = self.data_interface.feature_names
            if any(len(query) != len(names) for query in several):
                raise ValueError(f"a query as a list must have one value for each of {names}.")
            queries = pd.DataFrame(several, columns=names)
        frame = self.data_interface.query_instance_to_df(queries).reset_index(drop=True)
        if frame.empty:
            raise ValueError("query_instances must have at least one row.")
        if self.data_interface.outcome_name in frame:
            raise ValueError(f"Target {self.data_interface.outcome_name} present in query instance.")
        if unknown := set(frame) - set(self.data_interface.feature_names):
            raise ValueError(f"Features {sorted(unknown)} of the query are not present in training data.")
        if absent := set(self.data_interface.feature_names) - set(frame):
            raise ValueError(f"the query lacks features {sorted(absent)}.")
        if not typed:
            # A 0 among plain values does not say that the feature is whole; the data may say that it is not.
            decimals = self.data_interface.get_decimal_precisions(output_type="dict")
            frame = frame.astype(
                {name: float for name in frame if frame[name].dtype.kind in "iu" and decimals.get(name, 0)}
            )
        return frame


class Dice(dice_ml.Dice):  # type: ignore[misc]
    """``dice_ml.Dice`` that knows one method more; every other falls through."""

    def __new__(cls, data_interface: Any, model_interface: Any, method: str = METHOD, **options: Any) -> Any:
        """The explainer of that method."""
        if method == METHOD:
            return NTDCFE(data_interface, model_interface, **options)
        return dice_ml.Dice(data_interface, model_interface, method=method, **options)


def register() -> None:
    """Make ``dice_ml.Dice(data, model, method="ntdcfe")`` work; once is enough, twice does no harm."""
    dices = dice_ml.dice.decide
    if getattr(dices, "knows_ntdcfe", False):
        return

    def decide(model_interface: Any, method: Any) -> Any:
        return NTDCFE if method == METHOD else dices(model_interface, method)

    decide.knows_ntdcfe = True  # type: ignore[attr-defined]
    dice_ml.dice.decide = decide


def _described(features: Any) -> Mapping[str, Mapping[str, Any]]:
    """Descriptions by feature; raises if that is not what they are."""
    features = {} if features is None else features
    if not isinstance(features, Mapping) or not all(isinstance(options, Mapping) for options in features.values()):
        raise UserConfigValidationException(f"features must be a dict from feature name to a dict, got {features!r}.")
    return features
