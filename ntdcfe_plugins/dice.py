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
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import NTDCFE as Engine
from ntdcfe import Counterfactual, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe.candidates import Candidates
from ntdcfe.constraints import Constraint
from ntdcfe.counterfactual import changes
from ntdcfe.environment import Environment
from ntdcfe.predictor import Prediction, Predictor
from ntdcfe.scale import units_of

try:
    import dice_ml
    import dice_ml.dice
    import pandas as pd
    from dice_ml.constants import ModelTypes
    from dice_ml.counterfactual_explanations import CounterfactualExplanations
    from dice_ml.diverse_counterfactuals import CounterfactualExamples
    from dice_ml.explainer_interfaces.explainer_base import ExplainerBase
    from raiutils.exceptions import UserConfigValidationException
except ImportError as missing:
    raise ImportError("this adapter needs DiCE: pip install 'ntdcfe-plugins[dice]'") from missing

from ntdcfe_plugins.dice_columns import SeriesColumns, Table

__all__ = ["NTDCFE", "Dice", "Examples", "NoCounterfactualsFound", "SeriesColumns", "register"]

METHOD = "ntdcfe"
# Rows of a table are small and take less than the usual budget: so many a feature, or a wanted counterfactual,
# within limits, in calls of 40.
ROWS_A_FEATURE, ROWS_A_COUNTERFACTUAL, FEWEST_ROWS, ROWS_A_CALL = 35, 40, 450, 40
# A changed feature costs as much as a quarter of its range, because DiCE's users want few.
SPARSITY_WEIGHT = 1.0
# What DiCE passes along and means something here.
OUR_OPTIONS = {"random_seed", "sparsity_weight", "proximity_weight"}
# What explain_batch takes beside the series, their targets and how many are wanted.
SEARCH_OPTIONS = set(inspect.signature(Engine.explain_batch).parameters) - {"self", "X", "target", "n_counterfactuals"}
# Counterfactuals that the engine is asked for a wanted one, and its share of the rows; the rest takes changes back.
SPARE, ENGINES_SHARE = 2, 0.85
# Rows tried around a query that already is as desired.
NEIGHBOURS = 500


class NoCounterfactualsFound(UserConfigValidationException):  # type: ignore[misc]
    """Nothing was found for any query; `explanations` has the near misses and the reasons."""

    def __init__(self, message: str, explanations: CounterfactualExplanations) -> None:
        super().__init__(message)
        self.explanations = explanations


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
        Categories rise in the order in which the data interface lists them.
    constraints : sequence of Causal or AtMost
        Functions of categories get, and return, positions in the data interface's list.
    plausible : callable, optional
        Takes rows as a DataFrame, returns which of them may be counterfactuals ``(n,)``.
    settings : SearchSettings, optional
        If not given, 35 rows a feature or 40 a wanted counterfactual, at least 450, for a query, and a price on
        changed features.
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
            ``max_queries`` (rows a query), ``max_seconds`` (for all), ``progress`` and what else
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
        if isinstance(desired_range, np.ndarray):
            desired_range = desired_range.tolist()  # DiCE's JSON knows no arrays
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
        present = self._prediction(frame)
        if self.model.model_type == ModelTypes.Regressor:
            assert desired_range is not None
            targets, wanted = [Target.interval(*desired_range)] * len(frame), [desired_class] * len(frame)
        else:
            targets, wanted = self._targets(desired_class, present, stopping_threshold)
        answers: list[Counterfactual] = []
        found = [frame[:0]] * len(frame)
        if total_CFs > 0:
            options = {"progress": verbose, **kwargs}
            answers, found = self._search(table, frame, targets, present.classes, int(total_CFs), options)
        outcome_name, examples = self.data_interface.outcome_name, []
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
                    desired_class=wanted[i],
                    model_type=self.model.model_type,
                )
            )
        # As DiCE's own explainers leave them behind: those of the last query.
        self.final_cfs_df, self.final_cfs_df_sparse = examples[-1].final_cfs_df, examples[-1].final_cfs_df_sparse
        self.final_cfs = None if rows is None else rows[table.columns].to_numpy()
        self.cfs_preds = None if rows is None else rows[[outcome_name]].to_numpy()
        return examples

    def _search(
        self,
        table: Table,
        frame: pd.DataFrame,
        targets: list[Target],
        classes: NDArray[Any] | None,
        total: int,
        options: dict[str, Any],
    ) -> tuple[list[Counterfactual], list[pd.DataFrame]]:
        """The engine's answers, and what they amount to: distinct rows with outcomes that reach the target."""
        sparsity, proximity = (options.get(name) for name in ("sparsity_weight", "proximity_weight"))
        usual = self.settings or _settings(len(table.columns), total)
        limits = usual.given(max_queries=options.pop("max_queries", None), sparsity_weight=sparsity)
        if proximity is not None:
            if not (isinstance(proximity, (int, float, np.number)) and proximity > 0):
                raise UserConfigValidationException(f"proximity_weight must be positive, got {proximity!r}.")
            limits = replace(limits, sparsity_weight=limits.sparsity_weight / proximity)
        # Ours are: a look at the query, taking changes back, and the outcomes of what is handed out.
        rows = np.inf if limits.max_queries is None else limits.max_queries - 1 - total
        settings = replace(
            limits,
            n_counterfactuals=SPARE * total,
            max_queries=None if limits.max_queries is None else max(1, int(ENGINES_SHARE * rows)),
        )
        seed, plausible = options.get("random_seed"), self.plausible
        engine = Engine(
            lambda states: self.predict_fn(table.decode(states)),
            table.features,
            self.constraints,
            None if plausible is None else lambda states: plausible(table.decode(states)),
            settings,
            0 if seed is None else seed,
            output="values" if classes is None else "probabilities",
            classes=classes,
        )
        starts = table.start(table.encode(frame), self.constraints)
        answers = engine.explain_batch(
            starts, targets, **{name: value for name, value in options.items() if name in SEARCH_OPTIONS}
        )
        environments = [_environment(start, engine) for start in starts]
        pools = [
            np.reshape(cf.candidates, (-1, *e.original.shape)) for cf, e in zip(answers, environments, strict=True)
        ]
        if already := [i for i, cf in enumerate(answers) if cf.status == "already_target"]:
            warnings.warn(f"queries {already} already are as desired: rows near them that are, too.", stacklevel=4)
            spare = [int(min(NEIGHBOURS, max(0, rows - answers[i].n_queries))) for i in already]
            near = [_neighbours(environments[i], engine.seed, n) for i, n in zip(already, spare, strict=True)]
            held = self._held(table, near, [targets[i] for i in already])
            for i, states, valid in zip(already, near, held, strict=True):
                pools[i] = np.concatenate([pools[i], states[valid]])
        left = [0 if cf.status == "already_target" else max(0, rows - cf.n_queries) for cf in answers]
        sparser = self._sparser(table, environments, pools, targets, left)
        chosen = [
            _chosen(environments[i], np.atleast_2d(query), [sparser[i], pools[i]], total)
            for i, query in enumerate(table.encode(frame))
        ]
        found = []
        for i, said in enumerate(self._said(table, chosen)):
            rows = table.decode(chosen[i])
            if said is not None:
                rows = rows.assign(**{self.data_interface.outcome_name: said.outcomes})
                kept = targets[i].reached(said) & ~rows[table.columns].duplicated().to_numpy()
                rows = rows[kept].reset_index(drop=True)
                answers[i] = _told(answers[i], environments[i], chosen[i][kept], rows)
            found.append(rows)
        return answers, found

    def _sparser(
        self,
        table: Table,
        environments: list[Environment],
        pools: list[NDArray[Any]],
        targets: list[Target],
        left: list[float],
    ) -> list[NDArray[Any]]:
        """Counterfactuals ``(m, K, F)`` of each query without the features that did not have to change.

        They are taken back one by one as long as the target is held, in at most `left` rows a query.
        """
        pools, open_ = [pool.copy() for pool in pools], [np.ones(len(pool), bool) for pool in pools]
        while any(mask.any() for mask in open_):
            trials, rows = [], []
            for i, (environment, pool) in enumerate(zip(environments, pools, strict=True)):
                changed = (pool != environment.original).any(1)
                row, feature = np.nonzero(changed & ((changed.sum(1) > 1) & open_[i])[:, None])
                states = pool[row]
                states[np.arange(len(row)), :, feature] = environment.original[:, feature].T
                states = environment.project(states, pool[row])
                fewer = (states != environment.original).any(1).sum(1) < changed.sum(1)[row]
                kept = np.flatnonzero(fewer)[: int(min(left[i], len(row)))]
                left[i] -= len(kept)
                trials.append(states[kept])
                rows.append(row[kept])
            for i, valid in enumerate(self._held(table, trials, targets)):
                cost = np.where(valid, environments[i].cost(trials[i]), np.inf)
                open_[i][:] = False
                # The least costly comes last, and stays.
                for trial in sorted(np.flatnonzero(valid), key=lambda trial: -cost[trial]):
                    pools[i][rows[i][trial]] = trials[i][trial]
                    open_[i][rows[i][trial]] = True
        return pools

    def _held(self, table: Table, pools: list[NDArray[Any]], targets: list[Target]) -> list[NDArray[np.bool_]]:
        """Which states of each query ``(m, K, F)`` are as desired, and plausible; one call for all."""
        held = [
            target.reached(said) if said else np.zeros(0, bool)
            for said, target in zip(self._said(table, pools), targets, strict=True)
        ]
        if self.plausible is not None:
            for valid, pool in zip(held, pools, strict=True):
                if valid.any():
                    valid[valid] = self._in_distribution(table.decode(pool[valid]))
        return held

    def _in_distribution(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows are plausible ``(n,)``."""
        assert self.plausible is not None
        try:
            verdict = np.asarray(self.plausible(frame)).astype(bool)
        except Exception as cause:
            raise PredictorError(f"plausible raised {type(cause).__name__}: {cause}") from cause
        if verdict.shape != (len(frame),):
            raise InvalidInputError(f"plausible must return one verdict a row, {len(frame)}, got {verdict.shape}.")
        return verdict

    def _said(self, table: Table, pools: list[NDArray[Any]]) -> list[Prediction | None]:
        """What the model says of the states of each query, None of none; one call for all."""
        ends = np.cumsum([len(pool) for pool in pools])
        if not ends[-1]:
            return [None] * len(pools)
        said = self._prediction(table.decode(np.concatenate(pools)))
        return [said[end - len(pool) : end] if len(pool) else None for pool, end in zip(pools, ends, strict=True)]

    def _prediction(self, frame: pd.DataFrame) -> Prediction:
        """What the model says of rows, in its own labels or values."""
        regression = self.model.model_type == ModelTypes.Regressor
        predict = Predictor(
            lambda rows: self.predict_fn(frame.iloc[rows[:, 0]]),
            "values" if regression else "probabilities",
            max_batch_size=self.settings.max_batch_size if self.settings else None,
        )
        said = predict(np.arange(len(frame))[:, None])
        if said.probabilities is None:
            return said
        labels = self._labels(said.probabilities.shape[1])
        return Prediction(labels[said.probabilities.argmax(1)], said.probabilities, labels)

    def _labels(self, n_classes: int) -> NDArray[Any]:
        """The model's labels in the order of its probabilities; indices if it does not tell."""
        labels = np.asarray(getattr(self.model.model, "classes_", None))
        return labels if labels.shape == (n_classes,) else np.arange(n_classes)

    def _targets(
        self, desired_class: Any, present: Prediction, stopping_threshold: float
    ) -> tuple[list[Target], list[str | int]]:
        """What is wanted of each query, and its name in the results."""
        assert present.probabilities is not None
        assert present.classes is not None
        labels, now = present.classes, present.probabilities.argmax(1)
        if isinstance(desired_class, str) and desired_class == "opposite":
            wanted = [np.delete(np.arange(len(labels)), i) for i in now]
        else:
            wanted = [np.array([self._class_index(desired_class, labels)])] * len(now)
        names = [_name(labels[w[0]]) if len(w) == 1 else f"not {labels[i]}" for w, i in zip(wanted, now, strict=True)]
        if stopping_threshold > 0.5:
            return [_Likely(tuple(labels[w].tolist()), tuple(w.tolist()), stopping_threshold) for w in wanted], names
        return [Target.labels(labels[w].tolist()) for w in wanted], names

    def _class_index(self, desired_class: Any, labels: NDArray[Any]) -> int:
        """A class index as DiCE takes it, or the index of a label."""
        if isinstance(desired_class, np.integer):
            desired_class = int(desired_class)
        matches = [i for i, label in enumerate(labels.tolist()) if label == desired_class]
        if isinstance(desired_class, int) and 0 <= desired_class < len(labels):
            if matches not in ([], [desired_class]):
                warnings.warn(
                    f"desired_class={desired_class} is taken as an index, as in DiCE: class {labels[desired_class]}.",
                    stacklevel=6,
                )
            return int(desired_class)
        return matches[0] if matches else int(self.infer_target_cfs_class(desired_class, None, len(labels)))

    def _frame(self, queries: Any) -> pd.DataFrame:
        """Queries in any of DiCE's forms as rows; checks that they have the data's features."""
        if isinstance(queries, (list, tuple)) and queries and all(isinstance(q, pd.DataFrame) for q in queries):
            queries = pd.concat(queries)
        elif isinstance(queries, (list, tuple)) and queries and all(isinstance(q, (list, tuple)) for q in queries):
            names = self.data_interface.feature_names
            if any(len(query) != len(names) for query in queries):
                raise ValueError(f"a query as a list must have one value for each of {names}.")
            queries = pd.DataFrame(list(queries), columns=names)
        frame = self.data_interface.query_instance_to_df(queries).reset_index(drop=True)
        if frame.empty:
            raise ValueError("query_instances must have at least one row.")
        if self.data_interface.outcome_name in frame:
            raise ValueError(f"Target {self.data_interface.outcome_name} present in query instance.")
        if unknown := set(frame) - set(self.data_interface.feature_names):
            raise ValueError(f"Features {sorted(unknown)} of the query are not present in training data.")
        if absent := set(self.data_interface.feature_names) - set(frame):
            raise ValueError(f"the query lacks features {sorted(absent)}.")
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


def _settings(n_features: int, total: int) -> SearchSettings:
    usual = SearchSettings()
    assert usual.max_queries is not None
    assert usual.max_calls is not None
    rows = min(max(FEWEST_ROWS, ROWS_A_FEATURE * n_features, ROWS_A_COUNTERFACTUAL * total), usual.max_queries)
    return replace(
        usual, max_queries=rows, max_calls=min(rows // ROWS_A_CALL, usual.max_calls), sparsity_weight=SPARSITY_WEIGHT
    )


def _described(features: Any) -> Mapping[str, Mapping[str, Any]]:
    """Descriptions by feature; raises if that is not what they are."""
    features = {} if features is None else features
    if not isinstance(features, Mapping) or not all(isinstance(options, Mapping) for options in features.values()):
        raise UserConfigValidationException(f"features must be a dict from feature name to a dict, got {features!r}.")
    return features


def _environment(start: NDArray[Any], engine: Engine) -> Environment:
    """The states that the search for one query may reach, and what they cost."""
    assert engine.features is not None
    state, settings = np.atleast_2d(start), engine.settings
    return Environment(
        state,
        engine.features,
        engine.constraints,
        settings.on_violation,
        units=units_of(state, engine.features),
        reach=settings.reach,
        sparsity_weight=settings.sparsity_weight,
    )


def _chosen(environment: Environment, query: NDArray[Any], pools: list[NDArray[Any]], total: int) -> NDArray[Any]:
    """The best and most different states ``(m, K, F)``, later pools only where those before have too few."""
    candidates = Candidates(environment, keep=max(1, sum(map(len, pools))))
    best: list[NDArray[Any]] = []
    for pool in pools:
        if len(best) < total:
            others = pool[(pool != query).any((1, 2))]
            candidates.extend(others, *environment.cost_and_sparsity(others))
            best = candidates.diverse(total)
    return np.reshape(best, (-1, *query.shape))


def _told(cf: Counterfactual, environment: Environment, states: NDArray[Any], rows: pd.DataFrame) -> Counterfactual:
    """The engine's answer, told of the states ``(m, K, F)`` and rows that are handed out."""
    if not len(states) or cf.status == "already_target":
        return cf
    best, features = states[:1], environment.features
    sparsity = int(environment.sparsity(best)[0])
    units = np.where(environment.discrete, np.inf, environment.units)
    return replace(
        cf,
        x=best[0].reshape(cf.original.shape),
        prediction=rows.iloc[0, -1],
        proximity=float(environment.proximity(best)[0]),
        sparsity=sparsity,
        proximity_in_units=float(environment.cost(best)[0] - environment.sparsity_weight * sparsity),
        largest_change=float((np.abs(best - environment.original) / units).max()),
        changes=changes(environment.original, best[0], features),
        candidates=tuple(state.reshape(cf.original.shape) for state in states),
    )


def _neighbours(environment: Environment, seed: int, n: int) -> NDArray[Any]:
    """Up to `n` states ``(m, K, F)`` with one to three features set to other values."""
    rng, original = np.random.default_rng(seed), environment.original
    limits = zip(environment.choices, environment.low.min(0), environment.high.max(0), strict=True)
    values = np.column_stack([rng.uniform(a, b, n) if c is None else rng.choice(c, n) for c, a, b in limits])
    moved = rng.random(values.shape).argsort(1) < rng.integers(1, 4, (n, 1))
    states = environment.project(np.where(moved[:, None], values[:, None], original))
    return states[(states != original).any((1, 2))]


@dataclass(frozen=True)
class _Likely(Target):
    """Any of several classes, with at least a probability above one half (so that it is the likeliest)."""

    labels_: tuple[Any, ...]
    columns: tuple[int, ...]
    at_least: float

    def _best(self, prediction: Prediction) -> NDArray[np.float64]:
        assert prediction.probabilities is not None
        return np.asarray(prediction.probabilities[:, list(self.columns)].max(1))

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        return self._best(prediction) >= self.at_least

    def score(self, prediction: Prediction) -> NDArray[np.float64]:
        return 0.5 + (self._best(prediction) - self.at_least) / 2

    def __str__(self) -> str:
        return f"{' or '.join(map(str, self.labels_))} with a probability of at least {self.at_least:g}"


def _name(label: Any) -> str | int:
    """A label as DiCE's JSON takes it."""
    return int(label) if isinstance(label, (int, np.integer)) and not isinstance(label, bool) else str(label)
