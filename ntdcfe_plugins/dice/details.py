"""What is said of the rows that are handed out: their edits, and how they do under noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Counterfactual, PredictorError
from ntdcfe.model.predictor import Predictor
from ntdcfe.model.result import described
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.survival import Noise, Survived
from ntdcfe.problem.words import sentences
from ntdcfe_plugins._shared.asked import parted, reached

if TYPE_CHECKING:
    from ntdcfe_plugins.dice.search import TableSearch

# Disturbed copies of a row, as many as the engine draws first.
DRAWS = 40


class RowDetail(NamedTuple):
    """The edits that lead to a row, how it did under noise if that was asked, and its changes in words.

    `fields` are those of a counterfactual that follow from the row.
    """

    edits: tuple[Edit, ...]
    survival: Survived | None
    text: str
    fields: dict[str, Any]


class Details(NamedTuple):
    """What is said of the rows of one query, and the states of its further options by their names."""

    rows: list[RowDetail]
    options: dict[str, NDArray[Any]]


def details_of(
    search: TableSearch,
    problems: Sequence[Problem],
    answers: Sequence[Counterfactual],
    states: Sequence[NDArray[Any]],
    rng: np.random.Generator,
) -> list[Details]:
    """The details of each query.

    Parameters
    ----------
    search : TableSearch
        Whose rows are asked about under noise, as far as its limits allow.
    problems : sequence of Problem
        About the queries.
    answers : sequence of Counterfactual
        The engine's.
    states : sequence of arrays (m, K, F)
        Of the rows that are handed out.
    rng : Generator
        Draws the noise.
    """
    survived = _survived(search, problems, answers, states, rng)
    details = []
    for problem, cf, some, held in zip(problems, answers, states, survived, strict=True):
        rows = []
        for state, one in zip(some, held, strict=True):
            fields = described(problem, [state], cf.original)
            edits = cf.edits if cf.edits and _is(cf.x, state) else fields["edits"]
            text = "; ".join(sentences(fields["changes"], edits, problem.features.names))
            rows.append(RowDetail(edits, one, text, {**fields, "edits": edits, "survival": one}))
        details.append(Details(rows, {name: option.x for name, option in cf.options.items()}))
    return details


def _survived(
    search: TableSearch,
    problems: Sequence[Problem],
    answers: Sequence[Counterfactual],
    states: Sequence[NDArray[Any]],
    rng: np.random.Generator,
) -> list[list[Survived | None]]:
    """How each row did under noise, None where the limits do not allow to ask."""
    survival = search.model.limits.survival
    known: list[list[Survived | None]] = [
        [cf.survival if _is(cf.x, state) else None for state in some] for cf, some in zip(answers, states, strict=True)
    ]
    if survival is None or not survival.disturbs:
        return known
    agreed = _agreed(search, states)
    open_ = [[row for row, one in enumerate(some[: search.under_noise]) if one is None or not one.draws]
             for some in known]  # fmt: skip
    open_ = [rows[: search.left.for_noise(i) // DRAWS] for i, rows in enumerate(open_)]
    copies = [
        Noise(survival, problem.space, rng, reused=1).added(np.repeat(some[rows], DRAWS, axis=0))
        for problem, some, rows in zip(problems, states, open_, strict=True)
    ]
    try:
        predictions = search.predictions(copies)
    except PredictorError:  # the rows themselves were answered
        return known
    for i, (rows, prediction) in enumerate(zip(open_, predictions, strict=True)):
        if rows:
            held = reached(search.targets[i], prediction).reshape(-1, DRAWS).sum(1)
            for row, count in zip(rows, held.tolist(), strict=True):
                second = agreed[i][row]
                survived = Survived.of(int(count), DRAWS, survival.noise)
                known[i][row] = survived._replace(second_model=second, second_rows=int(second is not None))
    return known


def _agreed(search: TableSearch, states: Sequence[NDArray[Any]]) -> list[list[bool | None]]:
    """Whether the second model reaches the target on each row, too; None without one."""
    model, sizes = search.model, [len(some) for some in states]
    second = None if model.limits.survival is None else model.limits.survival.second_model
    if second is None or not any(sizes):
        return [[None] * size for size in sizes]
    frame = search.table.decode(np.concatenate(states))
    predictor = Predictor(lambda at: second(frame.iloc[at[:, 0]]), "auto", model.labels, regression=model.regression)
    parts = parted(predictor(np.arange(len(frame))[:, None]), sizes)
    return [[bool(held) for held in reached(target, part)] if len(part) else []
            for target, part in zip(search.targets, parts, strict=True)]  # fmt: skip


def _is(x: NDArray[Any] | None, state: NDArray[Any]) -> bool:
    """Whether a state ``(K, F)`` is that counterfactual."""
    return x is not None and np.array_equal(np.reshape(x, state.shape), state)
