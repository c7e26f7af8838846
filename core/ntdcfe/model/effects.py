"""The effects of edits: after the last check, what each of the answer does, and how far one may go beyond it.

One question about all of it: the answer with every subset of its edits, and it and the other options with each of their
edits taken further.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.model.last_check import known
from ntdcfe.model.trust import Question, Talk
from ntdcfe.problem.contribution import Contribution
from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.problem.edits import Editor
from ntdcfe.problem.prediction import Prediction, outcome_of
from ntdcfe.search.base import Found

if TYPE_CHECKING:
    from ntdcfe.model.job import Job

# Up to so many edits every subset of them is asked about: 32 rows.
MOST_EDITS = 5
# How many times its effect an edit is taken to see whether it still holds (rule of thumb).
FURTHER = (1.05, 1.1, 1.25, 1.5)


def effects(job: Job) -> Talk:
    """Leaves in the job the contributions of the answer's edits, and how far the edits of each option hold.

    The answer comes first, then the other options as far as rows are left.
    """
    if job.trust.contradicted or job.status != "found":
        return
    editor = Editor(job.search.space, job.search.problem.kinds)
    answer, subsets, asked = known(job), list[tuple[int, ...]](), list[EditLists]()
    lists = None if answer is None else _lists(job, editor, answer)
    m = 0 if lists is None else int(lists.n_edits[0])
    # All is asked in one question, which has to fit into the memory as the batches of the search do.
    in_memory = job.budget.tuning.values_in_a_batch // job.search.space.original.size
    room = min(job.budget.rows_left, max(job.budget.tuning.fewest_rows, in_memory))
    if lists is not None and m:
        subsets = _subsets(m) if m <= MOST_EDITS else []
        if len(subsets) + m * len(FURTHER) > room:
            return
        asked = [*(_only(lists, subset) for subset in subsets), *_further(editor, lists)]
    ranges = {job.answers[0].tobytes(): m} if m else {}
    for option in _options(job):
        if option.state.tobytes() in ranges or (edits := _lists(job, editor, option)) is None:
            continue
        n = int(edits.n_edits[0])
        # Counted before they are built: as many lists as edits, of as many edits, may not fit into the memory.
        if 0 < n * len(FURTHER) <= room - len(asked):
            asked += _further(editor, edits)
            ranges[option.state.tobytes()] = n
    if not asked:
        return
    prediction = yield Question(editor.states(EditLists.concatenate(asked)))
    if m and m <= MOST_EDITS:
        job.contributions = _contributions(job, m, subsets, prediction[: len(subsets)])
    held, start = job.trust.reached(prediction), len(subsets)
    for state, n in ranges.items():
        job.holds_to[state] = _range(held[start : start + n * len(FURTHER)].reshape(n, len(FURTHER)))
        start += n * len(FURTHER)


def _options(job: Job) -> list[Found]:
    """The options that will be handed out: of each kind the best that held when it was asked again."""
    sure = {state.tobytes() for state in (*job.answers, *job.others)}
    found = [next((a for a in some if a.state.tobytes() in sure), None) for some in job.search.found.values()]
    return [answer for answer in found if answer is not None]


def _lists(job: Job, editor: Editor, answer: Found) -> EditLists | None:
    """The edits of an answer; of a row of a table that was searched for cell by cell, one for each changed feature."""
    if answer.edits is None and editor.space.n_steps == 1 and set(job.search.settings.options) != {"nearest"}:
        return editor.from_states(answer.state[None])
    return answer.edits


def _range(held: NDArray[np.bool_]) -> tuple[float | None, ...]:
    """To how many times its effect each edit holds, from whether it did at each step ``(m, steps)``.

    A range ends before the first of the steps that does not hold; None where all do.
    """
    steps = np.where(held.all(1), len(FURTHER), (~held).argmax(1))
    return tuple(None if s == len(FURTHER) else (1.0, *FURTHER)[s] for s in steps.tolist())


def _subsets(m: int) -> list[tuple[int, ...]]:
    """Every subset of m edits but none and all."""
    return [subset for size in range(1, m) for subset in combinations(range(m), size)]


def _only(lists: EditLists, subset: tuple[int, ...]) -> EditLists:
    places = np.arange(lists.kind.shape[1])
    return lists.replaced(kind=np.where(np.isin(places, subset), lists.kind, NONE))


def _further(editor: Editor, lists: EditLists) -> list[EditLists]:
    """The list with each of its edits taken further by each factor."""
    out = []
    for place in range(int(lists.n_edits[0])):
        at = np.array([place])
        for factor in FURTHER:
            stronger = lists.copy()
            stronger.put(np.array([True]), at, editor.weakened(lists.at(at), np.array([factor])))
            out.append(stronger)
    return out


def _contributions(
    job: Job, m: int, subsets: list[tuple[int, ...]], prediction: Prediction
) -> tuple[Contribution, ...]:
    """What the model says without each edit and with it alone, and its Shapley share where there are scores."""
    place = {subset: i for i, subset in enumerate(subsets)}
    said: dict[tuple[int, ...], Prediction | None] = {(): job.present, tuple(range(m)): job.prediction}
    said |= {subset: prediction[i : i + 1] for subset, i in place.items()}
    score = {subset: _score(job, one) for subset, one in said.items()}
    out = []
    for edit in range(m):
        others = tuple(i for i in range(m) if i != edit)
        share = None if any(value is None for value in score.values()) else _shapley(edit, m, score)
        out.append(Contribution(outcome_of(said[others]), outcome_of(said[(edit,)]), share))
    total = sum(abs(c.share) for c in out if c.share is not None)
    return tuple(c._replace(share=None if c.share is None or not total else c.share / total) for c in out)


def _score(job: Job, prediction: Prediction | None) -> float | None:
    score: NDArray[Any] | None = None if prediction is None else job.trust.score(prediction)
    return None if score is None else float(score[0])


def _shapley(edit: int, m: int, score: dict[tuple[int, ...], float | None]) -> float:
    """What the edit adds to the score, averaged over all orders in which the edits may come."""
    total = 0.0
    others = [i for i in range(m) if i != edit]
    for size in range(m):
        for subset in combinations(others, size):
            weight = factorial(size) * factorial(m - size - 1) / factorial(m)
            with_it, without = score[tuple(sorted((*subset, edit)))], score[subset]
            assert with_it is not None
            assert without is not None
            total += weight * (with_it - without)
    return total
