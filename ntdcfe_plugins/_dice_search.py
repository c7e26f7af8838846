"""The search for counterfactuals of a table of queries: the engine's, then fewer changes, then the best of them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import NTDCFE as Engine
from ntdcfe import Counterfactual, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe.candidates import Candidates
from ntdcfe.constraints import Constraint
from ntdcfe.counterfactual import changes
from ntdcfe.environment import Environment
from ntdcfe.predictor import Prediction
from ntdcfe.scale import units_of
from ntdcfe_plugins._dice_model import Model
from ntdcfe_plugins.dice_columns import Table

# Rows of a table are small and take less than the usual budget: so many a feature, or a wanted counterfactual,
# within limits, in calls of 40.
ROWS_A_FEATURE, ROWS_A_COUNTERFACTUAL, FEWEST_ROWS, ROWS_A_CALL = 35, 40, 450, 40
# A changed feature costs as much as a quarter of its range, because DiCE's users want few.
SPARSITY_WEIGHT = 1.0
# What explain_batch takes beside the series, their targets and how many are wanted.
SEARCH_OPTIONS = set(inspect.signature(Engine.explain_batch).parameters) - {"self", "X", "target", "n_counterfactuals"}
# What DiCE passes along and means something here.
OUR_OPTIONS = {"random_seed", "sparsity_weight", "proximity_weight"}
# Counterfactuals that the engine is asked for a wanted one, and its share of the rows; the rest takes changes back.
SPARE, ENGINES_SHARE = 2, 0.85
# Rows tried around a query that already is as desired.
NEIGHBOURS = 500


@dataclass(frozen=True)
class TableSearch:
    """What is searched, against which model, and what is wanted of each query."""

    model: Model
    table: Table
    targets: list[Target]
    constraints: Sequence[Constraint]
    plausible: Callable[[pd.DataFrame], Any] | None
    outcome_name: str

    def run(
        self,
        frame: pd.DataFrame,
        classes: NDArray[Any] | None,
        total: int,
        limits: SearchSettings,
        options: Mapping[str, Any],
    ) -> tuple[list[Counterfactual], list[pd.DataFrame]]:
        """The engine's answers, and what they amount to: distinct rows as wanted, with their outcomes."""
        table, targets, plausible = self.table, self.targets, self.plausible
        # Ours are: a look at the query, taking changes back, and the outcomes of what is handed out.
        rows = np.inf if limits.max_queries is None else limits.max_queries - 1 - total
        settings = replace(
            limits,
            n_counterfactuals=SPARE * total,
            max_queries=None if limits.max_queries is None else max(1, int(ENGINES_SHARE * rows)),
        )
        seed = options.get("random_seed")
        engine = Engine(
            lambda states: self.model.predict(table.decode(states)),
            table.features,
            self.constraints,
            None if plausible is None else lambda states: plausible(table.decode(states)),
            settings,
            0 if seed is None else seed,
            output="values" if classes is None else "probabilities",
            classes=classes,
        )
        starts = table.start(table.encode(frame), self.constraints)
        passed_on = {name: options[name] for name in SEARCH_OPTIONS & set(options) - {"max_queries"}}
        answers = engine.explain_batch(starts, targets, **passed_on)
        environments = [_environment(start, engine) for start in starts]
        pools = [
            np.reshape(cf.candidates, (-1, *e.original.shape)) for cf, e in zip(answers, environments, strict=True)
        ]
        if already := [i for i, cf in enumerate(answers) if cf.status == "already_target"]:
            warnings.warn(f"queries {already} already are as desired: rows near them that are, too.", stacklevel=4)
            spare = [int(min(NEIGHBOURS, max(0, rows - answers[i].n_queries))) for i in already]
            near = [_neighbours(environments[i], engine.seed, n) for i, n in zip(already, spare, strict=True)]
            held = self._held(near, [targets[i] for i in already])
            for i, states, valid in zip(already, near, held, strict=True):
                pools[i] = np.concatenate([pools[i], states[valid]])
        left = [0 if cf.status == "already_target" else max(0, rows - cf.n_queries) for cf in answers]
        sparser = self._sparser(environments, pools, targets, left)
        chosen = [
            _chosen(environments[i], np.atleast_2d(query), [sparser[i], pools[i]], total)
            for i, query in enumerate(table.encode(frame))
        ]
        found = []
        for i, said in enumerate(self._said(chosen)):
            rows = table.decode(chosen[i])
            if said is not None:
                rows = rows.assign(**{self.outcome_name: said.outcomes})
                kept = targets[i].reached(said) & ~rows[table.columns].duplicated().to_numpy()
                rows = rows[kept].reset_index(drop=True)
                answers[i] = _told(answers[i], environments[i], chosen[i][kept], rows)
            found.append(rows)
        return answers, found

    def _sparser(
        self,
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
            for i, valid in enumerate(self._held(trials, targets)):
                cost = np.where(valid, environments[i].cost(trials[i]), np.inf)
                open_[i][:] = False
                # The least costly comes last, and stays.
                for trial in sorted(np.flatnonzero(valid), key=lambda trial: -cost[trial]):
                    pools[i][rows[i][trial]] = trials[i][trial]
                    open_[i][rows[i][trial]] = True
        return pools

    def _held(self, pools: list[NDArray[Any]], targets: list[Target]) -> list[NDArray[np.bool_]]:
        """Which states of each query ``(m, K, F)`` are as desired, and plausible; one call for all."""
        held = [
            target.reached(said) if said else np.zeros(0, bool)
            for said, target in zip(self._said(pools), targets, strict=True)
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
        ends = np.cumsum([len(pool) for pool in pools])
        if not ends[-1]:
            return [None] * len(pools)
        said = self.model(self.table.decode(np.concatenate(pools)))
        return [said[end - len(pool) : end] if len(pool) else None for pool, end in zip(pools, ends, strict=True)]


def limits(settings: SearchSettings | None, n_features: int, total: int, options: Mapping[str, Any]) -> SearchSettings:
    """The budget and the prices of a query: as set, or as tables need it, and as the call says."""
    sparsity, proximity = (options.get(name) for name in ("sparsity_weight", "proximity_weight"))
    settings = settings or _usual(n_features, total)
    settings = settings.given(max_queries=options.get("max_queries"), sparsity_weight=sparsity)
    if proximity is None:
        return settings
    if not (isinstance(proximity, (int, float, np.number)) and proximity > 0):
        raise UserConfigValidationException(f"proximity_weight must be positive, got {proximity!r}.")
    return replace(settings, sparsity_weight=settings.sparsity_weight / proximity)


def _usual(n_features: int, total: int) -> SearchSettings:
    usual = SearchSettings()
    assert usual.max_queries is not None
    assert usual.max_calls is not None
    rows = min(max(FEWEST_ROWS, ROWS_A_FEATURE * n_features, ROWS_A_COUNTERFACTUAL * total), usual.max_queries)
    return replace(
        usual, max_queries=rows, max_calls=min(rows // ROWS_A_CALL, usual.max_calls), sparsity_weight=SPARSITY_WEIGHT
    )


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
            candidates.extend(others, environment.cost(others))
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
