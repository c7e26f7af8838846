"""From a finished job to the answer that a user keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.counterfactual import Counterfactual
from ntdcfe.model.job import Job
from ntdcfe.model.last_check import known
from ntdcfe.model.noting import noting
from ntdcfe.model.second import SecondModel
from ntdcfe.model.threads import one_thread
from ntdcfe.problem.edits import Edit, Editor
from ntdcfe.problem.option import Option
from ntdcfe.problem.prediction import outcome_of
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.survival import Survived
from ntdcfe.problem.words import changes, edits_in_words, limited, sentences
from ntdcfe.search.base import Found


@one_thread()
@np.errstate(all="ignore")
def described(
    problem: Problem,
    states: list[NDArray[Any]],
    original: NDArray[Any],
    answer: Found | None = None,
    failures: list[Exception] | None = None,
) -> dict[str, Any]:
    """The fields of a counterfactual that follow from its states ``(K, F)``, the answer first.

    Parameters
    ----------
    problem : Problem
    states : list of arrays (K, F)
    original : array
        The series as the user gave it, whose shape the arrays have.
    answer : Found, optional
        What the search knows of the first state: its edits, and its draws under noise.
    failures : list, optional
        Takes what the user's own proximity raised, which then is NaN.
    """
    if not states:
        nothing = dict.fromkeys(("proximity", "proximity_in_units", "largest_change"), np.nan)
        return {
            **nothing, "x": None, "sparsity": None, "edits": (), "survival": None, "changes": (), "candidates": ()
        }  # fmt: skip
    space, objective, best = problem.space, problem.objective, states[0]
    units = np.where(space.discrete, np.inf, space.units)
    proximity, in_units = _far(problem, best, failures)
    return {
        "x": as_given(problem, best, original),
        "proximity": proximity,
        "sparsity": int(objective.sparsity(best[None])[0]),
        "proximity_in_units": in_units,
        "largest_change": float((np.abs(best - space.original) / units).max()),
        "edits": _edits(problem, best, answer),
        "survival": None,
        "changes": changes(space.original, best, problem.features),
        "candidates": tuple(as_given(problem, state, original) for state in states),
    }


def _far(problem: Problem, state: NDArray[Any], failures: list[Exception] | None) -> tuple[float, float]:
    """The proximity of a state ``(K, F)`` in the features' own scales, and in units."""
    try:
        parts = problem.objective.parts(state[None])
        return float(problem.objective.proximity(state[None])[0]), float(parts["distance"][0])
    except Exception as cause:
        if failures is None:
            raise
        failures.append(cause)
        return np.nan, np.nan


def _edits(problem: Problem, state: NDArray[Any], answer: Found | None) -> tuple[Edit, ...]:
    """The edits that lead to a state: as the search found them; in a row of a table, one for each changed feature."""
    changed = bool((state != problem.space.original).any())
    lists = None if answer is None else answer.edits
    if not changed or (lists is None and problem.space.n_steps > 1):
        return ()
    editor = Editor(problem.space, problem.kinds)
    return edits_in_words(editor, editor.from_states(state[None]) if lists is None else lists, state)


def _survived(job: Job, answer: Found) -> Survived | None:
    survival, second = job.search.settings.survival, job.search.second
    if survival is None:
        return None
    rows = second.rows if isinstance(second, SecondModel) else 0
    held = Survived.of(answer.held, answer.draws, survival.noise)
    return held._replace(second_model=answer.agreed, second_rows=rows)


def _within(job: Job, answer: Found, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits of an answer with how far they hold, where the model was asked."""
    holds_to = job.holds_to.get(answer.state.tobytes(), ())
    return tuple(map(limited, edits, holds_to)) if len(holds_to) == len(edits) else edits


def _options(
    job: Job, original: NDArray[Any], failures: list[Exception], told: dict[int, dict[str, Any]]
) -> dict[str, Option]:
    """Of each kind of answer, the best that held when it was asked again.

    `told` has the fields of answers by their identity: words for thousands of changes are not made twice.
    """
    problem = job.search.problem
    sure = {state.tobytes() for state in (*job.answers, *job.others)}
    options = {}
    for kind, answers in job.search.found.items():
        answer = next((a for a in answers if a.state.tobytes() in sure), None)
        if answer is not None:
            if id(answer) not in told:
                told[id(answer)] = described(problem, [answer.state], original, answer, failures)
            fields = told[id(answer)]
            edits = _within(job, answer, fields["edits"])
            options[kind] = Option(
                x=fields["x"].copy(),
                edits=edits,
                proximity=fields["proximity"],
                sparsity=fields["sparsity"],
                survival=_survived(job, answer),
                text="\n".join(sentences(fields["changes"], edits, problem.features.names)),
            )
    return options


def as_given(problem: Problem, state: NDArray[Any], original: NDArray[Any]) -> NDArray[Any]:
    """A state ``(K, F)`` as the model's columns, in the shape of the `original`; a copy."""
    columns = problem.space.rows(state).reshape(original.shape)
    return columns.copy() if columns is state or columns.base is state else columns


def result(job: Job, original: NDArray[Any]) -> Counterfactual:
    """What a finished job amounts to, for the `original` as the user gave it."""
    search, budget, problem = job.search, job.budget, job.search.problem
    miss = None if job.answers else job.near_miss
    answer = known(job)
    failures: list[Exception] = []
    fields = described(problem, [*job.answers, *job.others], original, answer, failures)
    options = _options(job, original, failures, {} if answer is None else {id(answer): fields})
    for cause in failures:
        with noting(job):
            raise cause
    if answer is not None:
        fields["edits"] = _within(job, answer, fields["edits"])
        fields["survival"] = _survived(job, answer)
    return Counterfactual(
        status=job.status,
        original=original,
        present=outcome_of(job.present),
        prediction=outcome_of(job.prediction),
        target=str(job.trust.target),
        widened=problem.space.limits.widened,
        near_miss=None if miss is None else as_given(problem, miss.state, original),
        options=options,
        contributions=job.contributions if len(job.contributions) == len(fields["edits"]) else (),
        near_miss_prediction=None if miss is None else outcome_of(miss.prediction),
        rows=budget.rows,
        calls=budget.calls,
        failures=budget.failures,
        unscored=budget.unscored,
        first_found=search.first_found,
        seconds=budget.seconds,
        confirmed=job.confirmed,
        holds_alone=job.holds_alone,
        implausible=not job.found and problem.plausible is not None and len(search.pool) > 0,
        contradicted=job.trust.contradicted,
        cause=job.cause,
        complete=job.complete,
        history=tuple(search.history),
        features=problem.features,
        wanted=search.settings.n_counterfactuals,
        said="" if job.found else str(search.said),
        converged=job.found and job.complete and search.converged,
        **fields,
    )
