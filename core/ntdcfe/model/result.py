"""From a finished job to the answer that a user keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.counterfactual import Counterfactual, changes
from ntdcfe.model.job import Job
from ntdcfe.model.threads import one_thread
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.problem import Problem


@one_thread()
def described(problem: Problem, states: list[NDArray[Any]], original: NDArray[Any]) -> dict[str, Any]:
    """The fields of a counterfactual that follow from its states ``(K, F)``, the answer first.

    `original` is the series as the user gave it, whose shape the arrays have.
    """
    if not states:
        nothing = dict.fromkeys(("proximity", "proximity_in_units", "largest_change"), np.nan)
        return {**nothing, "x": None, "sparsity": None, "changes": (), "candidates": ()}
    space, objective, best = problem.space, problem.objective, states[0]
    units = np.where(space.discrete, np.inf, space.units)
    return {
        "x": as_given(problem, best, original),
        "proximity": float(objective.proximity(best[None])[0]),
        "sparsity": int(objective.sparsity(best[None])[0]),
        "proximity_in_units": float(objective.parts(best[None])["distance"][0]),
        "largest_change": float((np.abs(best - space.original) / units).max()),
        "changes": changes(space.original, best, problem.features),
        "candidates": tuple(as_given(problem, state, original) for state in states),
    }


def as_given(problem: Problem, state: NDArray[Any], original: NDArray[Any]) -> NDArray[Any]:
    """A state ``(K, F)`` as the model's columns, in the shape of the `original`; a copy."""
    columns = problem.space.rows(state).reshape(original.shape)
    return columns.copy() if columns is state or columns.base is state else columns


def result(job: Job, original: NDArray[Any]) -> Counterfactual:
    """What a finished job amounts to, for the `original` as the user gave it."""
    search, budget, problem = job.search, job.budget, job.search.problem
    space, miss = problem.space, None if job.answers else job.near_miss
    return Counterfactual(
        status=job.status,
        original=original,
        present=_outcome(job.present),
        prediction=_outcome(job.prediction),
        target=str(job.trust.target),
        widened=1.0 if space.reach is None else space.reach / (search.settings.reach or 1.0),
        near_miss=None if miss is None else as_given(problem, miss.state, original),
        near_miss_prediction=None if miss is None else _outcome(miss.prediction),
        rows=budget.rows,
        calls=budget.calls,
        failures=budget.failures,
        first_found=search.first_found,
        seconds=budget.seconds,
        confirmed=job.confirmed,
        contradicted=job.trust.contradicted,
        cause=job.cause,
        complete=job.complete,
        history=tuple(search.history),
        features=problem.features,
        **described(problem, [*job.answers, *job.others], original),
    )


def _outcome(prediction: Prediction | None) -> Any:
    """The one outcome as plain Python."""
    if prediction is None:
        return None
    value = prediction.outcomes[0]
    return value.item() if isinstance(value, np.generic) else value
