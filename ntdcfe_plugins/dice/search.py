"""The search for counterfactuals of a table of queries: the engine's, then fewer changes, then the best of them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import NTDCFE as Engine
from ntdcfe import Counterfactual, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe.model.result import described
from ntdcfe.problem.constraints import Constraint
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.space import Space
from ntdcfe.search.pool import Pool
from ntdcfe_plugins.dice.model import Model
from ntdcfe_plugins.dice.table import Table

# Rows of a table are small and take less than the usual budget: so many a feature, or a wanted counterfactual,
# within limits, in calls of 40.
ROWS_A_FEATURE, ROWS_A_COUNTERFACTUAL, FEWEST_ROWS, ROWS_A_CALL = 35, 40, 450, 40
# A changed feature costs as much as a quarter of its range, because DiCE's users want few.
SPARSITY_WEIGHT = 1.0
# What explain_batch takes beside the series, their targets and how many are wanted.
SEARCH_OPTIONS = set(inspect.signature(Engine.explain_batch).parameters) - {"self", "X", "target", "n_counterfactuals"}
# What DiCE passes along and means something here.
OUR_OPTIONS = {"random_seed", "sparsity_weight", "proximity_weight"}
# Counterfactuals that the engine is asked for a wanted one, and its share of rows and time; the rest takes changes
# back.
SPARE, ENGINES_SHARE = 2, 0.85
# The share of its time that the engine's last check may take.
SHARE_FOR_CHECK = 0.25
NO_LIMIT = 2**62
# Rows tried around a query that already is as desired.
NEIGHBOURS = 500


@dataclass
class TableSearch:
    """What is searched, against which model, within which limits, and what is wanted of each query.

    Our own questions are: a look at the queries, already taken when this begins; rows near those that
    are as desired; taking changes back; and the outcomes of what is handed out. The engine's are its own.
    """

    model: Model
    table: Table
    targets: list[Target]
    constraints: Sequence[Constraint]
    plausible: Callable[[pd.DataFrame], Any] | None
    outcome_name: str
    total: int
    """How many counterfactuals are wanted of each query."""
    limits: SearchSettings
    """Of a query, ours included; seconds of all."""

    def __post_init__(self) -> None:
        n = len(self.targets)
        self.rows = np.ones(n, int)  # of each query, the engine's among them as soon as it is done
        self.calls, self.failures = np.full(n, self.model.n_calls), np.full(n, self.model.n_failures)  # ours

    def run(
        self, frame: pd.DataFrame, present: Prediction, options: Mapping[str, Any]
    ) -> tuple[list[Counterfactual], list[pd.DataFrame]]:
        """The engine's answers, and what they amount to: distinct rows as wanted, with their outcomes."""
        table, targets = self.table, self.targets
        queries = table.encode(frame)
        starts = table.start(queries, self.constraints)
        engine = self._engine(present.classes, options)
        passed_on = {name: options[name] for name in SEARCH_OPTIONS & set(options) - {"max_rows", "max_seconds"}}
        answers = engine.explain_batch(starts, targets, **passed_on)
        self.rows += [cf.rows for cf in answers]
        problems = [engine.problem(np.atleast_2d(start), table.features) for start in starts]
        pools = [
            np.reshape(cf.candidates, (-1, *p.space.original.shape)) for cf, p in zip(answers, problems, strict=True)
        ]
        moved = (starts != queries).reshape(len(queries), -1).any(1)
        already = [i for i, cf in enumerate(answers) if cf.status == "already_target"]
        if as_desired := [i for i in already if not moved[i]]:
            warnings.warn(f"queries {as_desired} already are as desired: rows near them that are, too.", stacklevel=4)
        if already:
            near = [problem.space.original[None][:0] for problem in problems]
            for i in already:
                near[i] = _neighbours(problems[i].space, engine.seed, min(NEIGHBOURS, self._left(i)))
                if self.plausible is not None:
                    pools[i] = pools[i][self._in_distribution(table.decode(pools[i]))]
            for i, valid in enumerate(self._held(near)):
                pools[i] = np.concatenate([pools[i], near[i][valid]])
        chosen = [
            _chosen(problems[i], np.atleast_2d(queries[i]), [sparser, pools[i]], self.total)
            for i, sparser in enumerate(self._sparser(problems, pools, answers))
        ]
        # When it is late, one a query has to do.
        chosen = [states[: max(1, self._in_time())] for states in chosen]
        # Told of the query, not of where the search for it began.
        for i in np.flatnonzero(moved):
            problems[i] = engine.problem(np.atleast_2d(queries[i]), table.features)
            answers[i] = _moved(answers[i], queries[i], present.outcomes.tolist()[i])
        found = []
        for i, said in enumerate(self._said(chosen)):
            rows = table.decode(chosen[i])
            if said is not None:
                rows = rows.assign(**{self.outcome_name: said.outcomes})
                kept = targets[i].reached(said) & ~rows[table.columns].duplicated().to_numpy()
                rows = rows[kept].reset_index(drop=True)
                answers[i] = _told(answers[i], problems[i], chosen[i][kept], rows)
            found.append(rows)
        return [self._with_our_costs(i, cf) for i, cf in enumerate(answers)], found

    def _engine(self, classes: NDArray[Any] | None, options: Mapping[str, Any]) -> Engine:
        """The engine, with its share of the limits."""
        table, plausible, seed = self.table, self.plausible, options.get("random_seed")
        return Engine(
            lambda states: self.model.predict(table.decode(states)),
            table.features,
            self.constraints,
            None if plausible is None else lambda states: plausible(table.decode(states)),
            self._engines_share(fixed=options.get("checkpoint") is not None),
            0 if seed is None else seed,
            output="values" if classes is None else "probabilities",
            classes=classes,
        )

    def _engines_share(self, fixed: bool) -> SearchSettings:
        """The limits without what we ask ourselves; `fixed` if nothing but the seconds may depend on the clock."""
        limits, total = self.limits, self.total
        share = replace(limits, n_counterfactuals=SPARE * total)
        if limits.max_rows is not None:
            share = replace(share, max_rows=max(1, int(ENGINES_SHARE * (limits.max_rows - 1 - total))))
        if limits.max_seconds is None:
            return share
        spent = self.model.seconds
        seconds = ENGINES_SHARE * (limits.max_seconds - spent)
        # The engine's last check can be larger than any call before, which is all that it keeps time for.
        affordable = int(SHARE_FOR_CHECK * seconds / spent)
        if not fixed:
            n = min(max(affordable - 1, total), SPARE * total)
            confirmations = min(max(affordable // (n + 1), 1), limits.confirmations)
            share = replace(share, n_counterfactuals=n, confirmations=confirmations)
        return replace(share, max_seconds=max((1 - SHARE_FOR_CHECK) * seconds, 1e-9))

    def _left(self, i: int) -> int:
        """Rows of a query that may still be asked before the outcomes of what is handed out."""
        most = self.limits.max_rows
        left = min(NO_LIMIT if most is None else most - int(self.rows[i]), self._in_time())
        return max(0, left - self.total)

    def _in_time(self) -> int:
        """Rows of each query for which there is time, at the pace so far."""
        if self.limits.max_seconds is None:
            return NO_LIMIT
        spent = self.model.seconds
        return max(0, int((self.limits.max_seconds - spent) / spent * self.rows.mean()))

    def _with_our_costs(self, i: int, cf: Counterfactual) -> Counterfactual:
        return replace(
            cf,
            rows=int(self.rows[i]),
            calls=cf.calls + int(self.calls[i]),
            failures=cf.failures + int(self.failures[i]),
            seconds=self.model.seconds,
        )

    def _sparser(
        self, problems: list[Problem], pools: list[NDArray[Any]], answers: list[Counterfactual]
    ) -> list[NDArray[Any]]:
        """Counterfactuals ``(m, K, F)`` of each query without the features that did not have to change.

        They are taken back one by one as long as the target is held, and rows and time are left.
        """
        pools, open_ = [pool.copy() for pool in pools], [np.ones(len(pool), bool) for pool in pools]
        while any(mask.any() for mask in open_):
            trials, rows = [], []
            for i, (problem, pool) in enumerate(zip(problems, pools, strict=True)):
                space, had_to_change = problem.space, answers[i].status != "already_target"
                changed = (pool != space.original).any(1)
                row, feature = np.nonzero(changed & ((changed.sum(1) > 1) & open_[i])[:, None])
                states = pool[row]
                states[np.arange(len(row)), :, feature] = space.original[:, feature].T
                states = space.project(states, pool[row])
                fewer = (states != space.original).any(1).sum(1) < changed.sum(1)[row]
                kept = np.flatnonzero(fewer)[: self._left(i) if had_to_change else 0]
                trials.append(states[kept])
                rows.append(row[kept])
            for i, valid in enumerate(self._held(trials)):
                cost = np.where(valid, problems[i].objective.cost(trials[i]), np.inf)
                open_[i][:] = False
                # The least costly comes last, and stays.
                for trial in sorted(np.flatnonzero(valid), key=lambda trial: -cost[trial]):
                    pools[i][rows[i][trial]] = trials[i][trial]
                    open_[i][rows[i][trial]] = True
        return pools

    def _held(self, pools: list[NDArray[Any]]) -> list[NDArray[np.bool_]]:
        """Which states of each query ``(m, K, F)`` are as desired, and plausible; one call for all."""
        held = [
            target.reached(said) if said else np.zeros(0, bool)
            for said, target in zip(self._said(pools), self.targets, strict=True)
        ]
        if self.plausible is not None:
            for valid, pool in zip(held, pools, strict=True):
                if valid.any():
                    valid[valid] = self._in_distribution(self.table.decode(pool[valid]))
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

    def _said(self, pools: list[NDArray[Any]]) -> list[Prediction | None]:
        """What the model says of the states of each query, None of none; one call for all."""
        sizes = np.array([len(pool) for pool in pools])
        ends = np.cumsum(sizes)
        if not ends[-1]:
            return [None] * len(pools)
        calls, failures = self.model.n_calls, self.model.n_failures
        said = self.model(self.table.decode(np.concatenate(pools)))
        self.rows += sizes
        self.calls += (sizes > 0) * (self.model.n_calls - calls)
        self.failures += (sizes > 0) * (self.model.n_failures - failures)
        return [said[end - size : end] if size else None for size, end in zip(sizes, ends, strict=True)]


def limits(settings: SearchSettings | None, n_features: int, total: int, options: Mapping[str, Any]) -> SearchSettings:
    """The budget and the prices of a query: as set, or as tables need it, and as the call says."""
    sparsity, proximity = (options.get(name) for name in ("sparsity_weight", "proximity_weight"))
    given = {"sparsity_weight": sparsity, **{name: options.get(name) for name in ("max_rows", "max_seconds")}}
    settings = _usual(n_features, total, given) if settings is None else settings.given(**given)
    if proximity is None:
        return settings
    if not (isinstance(proximity, (int, float, np.number)) and proximity > 0):
        raise UserConfigValidationException(f"proximity_weight must be positive, got {proximity!r}.")
    return replace(settings, sparsity_weight=settings.sparsity_weight / proximity)


def _usual(n_features: int, total: int, given: Mapping[str, Any]) -> SearchSettings:
    """What tables need."""
    usual = SearchSettings()
    assert usual.max_rows is not None
    rows = min(max(FEWEST_ROWS, ROWS_A_FEATURE * n_features, ROWS_A_COUNTERFACTUAL * total), usual.max_rows)
    return replace(usual, max_rows=rows, batch_rows=ROWS_A_CALL, sparsity_weight=SPARSITY_WEIGHT).given(**given)


def _chosen(problem: Problem, query: NDArray[Any], pools: list[NDArray[Any]], total: int) -> NDArray[Any]:
    """The best and most different states ``(m, K, F)``, later pools only where those before have too few."""
    kept = Pool(problem, keep=max(1, sum(map(len, pools))))
    best: list[NDArray[Any]] = []
    for pool in pools:
        if len(best) < total:
            others = pool[(pool != query).any((1, 2))]
            kept.extend(others, *problem.objective.cost_and_sparsity(others))
            best = kept.diverse(total)
    return np.reshape(best, (-1, *query.shape))


def _moved(cf: Counterfactual, query: NDArray[Any], present: Any) -> Counterfactual:
    """The answer to a query that had to be moved first: if nothing further has to change, that had."""
    cf = replace(cf, original=query, present=present)
    if cf.status != "already_target":
        return cf
    return replace(
        cf, status="not_found", x=None, prediction=None, proximity=nan, sparsity=None, changes=(), candidates=()
    )


def _told(cf: Counterfactual, problem: Problem, states: NDArray[Any], rows: pd.DataFrame) -> Counterfactual:
    """The engine's answer, told of the states ``(m, K, F)`` and rows that are handed out."""
    if not len(states) or cf.status == "already_target":
        return cf
    status = "found" if cf.status == "not_found" else cf.status
    return replace(cf, status=status, prediction=rows.iloc[0, -1], **described(problem, list(states), cf.original))


def _neighbours(space: Space, seed: int, n: int) -> NDArray[Any]:
    """Up to `n` states ``(m, K, F)`` with one to three features set to other values."""
    rng, original = np.random.default_rng(seed), space.original
    limits = zip(space.choices, space.low.min(0), space.high.max(0), strict=True)
    values = np.column_stack([rng.uniform(a, b, n) if c is None else rng.choice(c, n) for c, a, b in limits])
    moved = rng.random(values.shape).argsort(1) < rng.integers(1, 4, (n, 1))
    states = space.project(np.where(moved[:, None], values[:, None], original))
    return states[(states != original).any((1, 2))]
