"""The search for the counterfactuals of a table of queries: the engine's, then fewer changes, then a choice."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntdcfe import NTDCFE as Engine
from ntdcfe import Constraint, Counterfactual, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe.model.result import described
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.space import Space
from ntdcfe.search.pool import Pool
from ntdcfe_plugins._shared.arguments import with_second_model
from ntdcfe_plugins._shared.asked import from_first_look, parted, reached
from ntdcfe_plugins._shared.budget import LEAST_SECONDS
from ntdcfe_plugins.dice.details import Details, details_of
from ntdcfe_plugins.dice.left import Left
from ntdcfe_plugins.dice.limits import ENGINES_SHARE, SEARCH_OPTIONS
from ntdcfe_plugins.dice.model import Model
from ntdcfe_plugins.dice.second import or_second
from ntdcfe_plugins.dice.table import Table

# How many counterfactuals the engine is asked for, for each wanted one: changes are taken back, and then some may be
# the same (rule of thumb).
SPARE = 2
# The share of its seconds that the engine's last check may take (rule of thumb).
SHARE_FOR_CHECK = 0.25
# Rows that are tried around a query that already reaches the target.
NEIGHBOURS = 500
# Units by which a value without limits is moved there, at most.
UNLIMITED = 10.0


@dataclass
class TableSearch:
    """The search for the counterfactuals of a table of queries.

    Beside the engine's questions there are those of the adapter: about the queries themselves, asked before this
    begins; about rows near queries that reach the target already; about counterfactuals with changes taken back; and
    about the rows that are handed out.

    Parameters
    ----------
    model : Model
        With the limits of the call.
    table : Table
    targets : list of Target
        One for each query.
    constraints : sequence of Constraint
    plausible : callable, optional
        Takes rows as a DataFrame.
    total : int
        How many counterfactuals are wanted of each query.
    rows_of_second : int
        Rows of a second search for each query of which the first one finds nothing; 0 for no such search.
    under_noise : int, optional
        How many of the rows that are handed out are tried under noise, within the limits; all if not given.
    """

    model: Model
    table: Table
    targets: list[Target]
    constraints: Sequence[Constraint]
    plausible: Callable[[pd.DataFrame], Any] | None
    total: int
    rows_of_second: int = 0
    under_noise: int | None = None

    def __post_init__(self) -> None:
        self.left = Left(self.model, self.total)

    def run(
        self, frame: pd.DataFrame, present: Prediction, options: Mapping[str, Any], outcome_name: str
    ) -> tuple[list[Counterfactual], list[pd.DataFrame], list[Details]]:
        """The engine's answers, and the counterfactuals of each query: distinct rows with their outcomes, and details.

        Parameters
        ----------
        frame : DataFrame
            The queries.
        present : Prediction
            The model's predictions of the queries.
        options : dict
            Further arguments of the call.
        outcome_name : str
            Of the column with the outcomes.
        """
        table, engine = self.table, self._engine(present.classes, options)
        queries = table.encode(frame)
        starts = table.starts(queries, engine)
        settled = {"max_rows", "max_seconds", "prefer"}
        passed_on = {name: options[name] for name in SEARCH_OPTIONS & set(options) - settled}
        if self.model.rows_left(1 + self.left.reserved):
            answers = engine.explain_batch(starts, self.targets, **passed_on)
        else:
            answers = from_first_look(engine, starts, self.targets, present)
        self.left.engines_rows[:] = [cf.rows for cf in answers]
        answers = or_second(self, engine, starts, answers, passed_on)
        self.targets = [target.given(present[i : i + 1]) for i, target in enumerate(self.targets)]

        moved = (starts != queries).reshape(len(queries), -1).any(1)
        already = np.array([cf.status == "already_target" for cf in answers])
        if (done := np.flatnonzero(already & ~moved)).size:
            text = f"queries {done.tolist()} already are as desired: rows near them that are, too."
            warnings.warn(text, stacklevel=4)
        problems = [engine.problem(np.atleast_2d(start), table.features) for start in starts]
        shapes = [(-1, *problem.space.original.shape) for problem in problems]
        pools = [np.reshape(cf.candidates, shape) for cf, shape in zip(answers, shapes, strict=True)]
        pools = self._with_neighbours(problems, pools, already, engine.seed)
        sparser = self._sparser(problems, pools, ~already)
        # An answer that was tested under noise comes first, as it is.
        tested = [cf.survival is not None and engine.settings.prefer != "nearest" for cf in answers]
        firsts = [cf.x if tested[i] and not already[i] else None for i, cf in enumerate(answers)]
        chosen = [
            _chosen(problems[i], np.atleast_2d(queries[i]), [sparser[i], pools[i]], self.total, firsts[i])
            for i in range(len(queries))
        ]
        # Where little time is left, one counterfactual a query has to do.
        chosen = [states[: min(max(1, self.left.in_time()), self.left.rows(i))] for i, states in enumerate(chosen)]
        # The answer is about the query, not about the state from which the search for it began.
        for i in np.flatnonzero(moved):
            problems[i] = engine.problem(np.atleast_2d(queries[i]), table.features)
            answers[i] = _about_query(answers[i], problems[i], queries[i], present.outcomes.tolist()[i])
        found, states = self._with_outcomes(chosen, outcome_name)
        details = details_of(self, problems, answers, states, np.random.default_rng([engine.seed, 3]))
        answers = [_about_rows(*each) for each in zip(answers, problems, states, found, details, strict=True)]
        counted = [replace(self.model.counted(i, cf), wanted=self.total) for i, cf in enumerate(answers)]
        return counted, found, details

    def _engine(self, classes: NDArray[Any] | None, options: Mapping[str, Any]) -> Engine:
        """The engine, with its share of the limits."""
        table, plausible, seed = self.table, self.plausible, options.get("random_seed")
        limits = self.limits_of_search(fixed=options.get("checkpoint") is not None)
        return Engine(
            lambda states: self.model.predict(table.decode(states)),
            table.features,
            self.constraints,
            None if plausible is None else lambda states: plausible(table.decode(states)),
            with_second_model(limits, lambda ask: lambda states: ask(table.decode(states))),
            0 if seed is None else seed,
            output="values" if classes is None else "probabilities",
            classes=classes,
        )

    def limits_of_search(self, fixed: bool) -> SearchSettings:
        """The engine's share of the limits; `fixed` if nothing but the seconds may depend on the clock."""
        total, spent = self.total, self.model.seconds
        # One row for the look at the query, and one for each row that is handed out.
        rows = 1 + self.left.reserved
        share = self.model.for_the_search(rows, ENGINES_SHARE)
        wanted = _asked_for(self.total, share.prefer, self.table)
        share = replace(share, n_counterfactuals=wanted)
        if share.max_seconds is None:
            return share
        # The engine keeps time for a last check as long as its slowest call, but the check may take longer than that.
        affordable = int(SHARE_FOR_CHECK * share.max_seconds / spent)
        if not fixed:
            n = min(max(affordable - 1, total), wanted)
            confirmations = min(max(affordable // (n + 1), 1), share.confirmations)
            share = replace(share, n_counterfactuals=n, confirmations=confirmations)
        return replace(share, max_seconds=max((1 - SHARE_FOR_CHECK) * (share.max_seconds or 0.0), LEAST_SECONDS))

    def _with_neighbours(
        self, problems: list[Problem], pools: list[NDArray[Any]], already: NDArray[np.bool_], seed: int
    ) -> list[NDArray[Any]]:
        """The pools ``(m, K, F)``, with rows near those queries ``(N,)`` that reach the target already."""
        if not already.any():
            return pools
        pools, near = list(pools), [pool[:0] for pool in pools]
        for i in np.flatnonzero(already):
            near[i] = _neighbours(problems[i].space, seed, min(NEIGHBOURS, self.left.to_try(i)))
            pools[i] = pools[i][_plausible(problems[i], pools[i])]
        valid = self._valid(problems, near)
        return [np.concatenate([pool, n[v]]) for pool, n, v in zip(pools, near, valid, strict=True)]

    def _sparser(
        self, problems: list[Problem], pools: list[NDArray[Any]], needed: NDArray[np.bool_]
    ) -> list[NDArray[Any]]:
        """The counterfactuals ``(m, K, F)`` of each query without the features that did not have to change.

        Features are taken back one by one as long as the row reaches the target and costs less by the objective, and
        as long as there are rows and seconds left; only of the queries ``(N,)`` for which a change is needed.
        """
        pools = [pool.copy() for pool in pools]
        open_ = [np.full(len(pool), need) for pool, need in zip(pools, needed, strict=True)]
        while any(mask.any() for mask in open_):
            trials, bases = [], []
            for i, (problem, pool) in enumerate(zip(problems, pools, strict=True)):
                states, base = _without_one_feature(problem, pool, open_[i])
                left = self.left.to_try(i)
                trials.append(states[:left])
                bases.append(base[:left])
            for i, valid in enumerate(self._valid(problems, trials)):
                objective, base = problems[i].objective, bases[i]
                cost = objective.cost(trials[i])
                cheaper = valid & (cost < objective.cost(pools[i])[base])
                open_[i][:] = False
                # The least costly comes last, and stays.
                for trial in sorted(np.flatnonzero(cheaper), key=lambda trial: -cost[trial]):
                    pools[i][base[trial]] = trials[i][trial]
                    open_[i][base[trial]] = True
        return pools

    def _with_outcomes(
        self, chosen: list[NDArray[Any]], outcome_name: str
    ) -> tuple[list[pd.DataFrame], list[NDArray[Any]]]:
        """The chosen states ``(m, K, F)`` that reach the target: as rows with their outcomes, and as states."""
        found, states = [], []
        for i, prediction in enumerate(self.predictions(chosen)):
            rows, kept = self.table.decode(chosen[i]), np.zeros(len(chosen[i]), bool)
            if len(rows):
                rows = rows.assign(**{outcome_name: prediction.outcomes})
                kept = reached(self.targets[i], prediction) & ~rows[self.table.columns].duplicated().to_numpy()
            found.append(rows[kept].reset_index(drop=True))
            states.append(chosen[i][kept])
        return found, states

    def _valid(self, problems: list[Problem], pools: list[NDArray[Any]]) -> list[NDArray[np.bool_]]:
        """Which states of each query ``(m, K, F)`` reach the target, and are plausible."""
        valid = []
        for i, prediction in enumerate(self.predictions(pools)):
            wanted = np.zeros(len(pools[i]), bool)
            if len(pools[i]):
                wanted[:] = reached(self.targets[i], prediction)
                wanted[wanted] = _plausible(problems[i], pools[i][wanted])
            valid.append(wanted)
        return valid

    def predictions(self, pools: list[NDArray[Any]]) -> list[Prediction]:
        """The model's predictions of the states of each query, from one call for all."""
        sizes = [len(pool) for pool in pools]
        if not any(sizes):
            return [Prediction(np.empty(0))] * len(pools)
        return parted(self.model.ask_rows(self.table.decode(np.concatenate(pools)), sizes), sizes)


def _asked_for(total: int, prefer: str, table: Table) -> int:
    """How many counterfactuals the engine is asked for, where `total` are wanted."""
    if total == 1:
        return SPARE if prefer == "nearest" else 1  # an answer that withstands noise is final
    # Of a row that is no series the engine itself looks for different ways without a needless change.
    return total if prefer == "nearest" and len(table.shape) == 1 else SPARE * total


def _plausible(problem: Problem, states: NDArray[Any]) -> NDArray[np.bool_]:
    """Which states ``(m, K, F)`` are plausible ``(m,)``."""
    if problem.plausible is None or not len(states):
        return np.ones(len(states), bool)
    try:
        return problem.plausible(states)
    except InvalidInputError:
        raise
    except Exception as cause:
        raise PredictorError(f"plausible raised {type(cause).__name__}: {cause}") from cause


def _without_one_feature(
    problem: Problem, pool: NDArray[Any], open_: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The open states ``(m, K, F)`` with each of their changed features taken back, and their positions in the pool."""
    space = problem.space
    changed = (pool != space.original).any(1)
    base, feature = np.nonzero(changed & ((changed.sum(1) > 1) & open_)[:, None])
    states = pool[base]
    states[np.arange(len(base)), :, feature] = space.original[:, feature].T
    states = space.project(states, pool[base])
    fewer = (states != space.original).any(1).sum(1) < changed.sum(1)[base]
    return states[fewer], base[fewer]


def _chosen(
    problem: Problem, query: NDArray[Any], pools: list[NDArray[Any]], total: int, first: NDArray[Any] | None
) -> NDArray[Any]:
    """The least costly and most different states ``(m, K, F)``, later pools only where those before have too few.

    With a `first` state, that one and then those that change other features than it does.
    """
    kept = Pool(problem, keep=max(1, sum(map(len, pools))))
    best: list[NDArray[Any]] = []
    for pool in pools:
        if len(best) < total:
            others = pool[(pool != query).any((1, 2))]
            kept.extend(others, *problem.objective.cost_and_sparsity(others))
            best = kept.diverse(total)
    if first is not None:
        first = np.reshape(first, query.shape)
        changed = (first != query).any(0)
        others = [state for state in best if not np.array_equal(state, first)]
        best = [first, *sorted(others, key=lambda state: ((state != query).any(0) == changed).all())][:total]
    return np.reshape(best, (-1, *query.shape))


def _neighbours(space: Space, seed: int, n: int) -> NDArray[Any]:
    """Up to `n` states ``(m, K, F)`` with one to three features set to other values."""
    rng, original = np.random.default_rng(seed), space.original
    low, high = space.low.min(0), space.high.max(0)
    with np.errstate(over="ignore"):
        endless = ~np.isfinite(high - low)
    low = np.where(endless, np.maximum(low, original.min(0) - UNLIMITED * space.units), low)
    high = np.where(endless, np.minimum(high, original.max(0) + UNLIMITED * space.units), high)
    limits = zip(space.choices, low, high, strict=True)
    values = np.column_stack([rng.uniform(a, b, n) if c is None else rng.choice(c, n) for c, a, b in limits])
    moved = rng.random(values.shape).argsort(1) < rng.integers(1, 4, (n, 1))
    states = space.project(np.where(moved[:, None], values[:, None], original))
    return states[(states != original).any((1, 2))]


def _about_query(cf: Counterfactual, problem: Problem, query: NDArray[Any], present: Any) -> Counterfactual:
    """The answer to a query that was moved before the search; the move itself is a change that was needed."""
    # The edits, and what each of them does, are about another state: the rows tell of the changes.
    cf = replace(cf, original=query, present=present, edits=(), contributions=(), options={})
    if cf.status != "already_target":
        return cf
    return replace(cf, status="not_found", prediction=None, **described(problem, [], query))


def _about_rows(
    cf: Counterfactual, problem: Problem, states: NDArray[Any], rows: pd.DataFrame, details: Details
) -> Counterfactual:
    """The engine's answer, about the states ``(m, K, F)`` and rows that are handed out."""
    if not len(states) or cf.status == "already_target":
        return cf
    status = "found" if cf.status == "not_found" else cf.status
    first = details.rows[0]
    fields = {**described(problem, list(states), cf.original), "edits": first.edits, "survival": first.survival}
    if first.edits != cf.edits:
        fields["contributions"] = ()
    return replace(cf, status=status, prediction=rows.iloc[0, -1], **fields)
