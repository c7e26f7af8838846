"""The answers that one search gives: the simplest, the nearest, the sturdiest; each drawn afresh under noise."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.survival import Noise, Survival
from ntdcfe.search.base import Answer, Found, Search

OptionName = Literal["simplest", "nearest", "sturdiest"]

# Draws of a last test under noise, and the most of them (rule of thumb: 40 of 40 bound the share at 94%).
DRAWS, MOST_DRAWS = 40, 160


def retested(
    search: Search, answers: list[Found], wanted: int, rng: np.random.Generator
) -> Generator[NDArray[Any], Answer, list[Found]]:
    """Answers drawn once more, in their order, until as many as wanted hold; returns those that hold first.

    The counts of each are of these draws alone: the draws by which an answer was chosen flatter it.
    """
    survival = search.settings.survival
    if survival is None:
        return answers
    answers = agreed_first(search, answers)
    noise, size = Noise(survival, search.space, rng, reused=1), max(1, search.budget.batch_size // DRAWS)
    for answer in answers:
        answer.draws = answer.held = 0
    pending = list(answers)
    while pending and search.left() and sum(holds(a, survival) and _decided(a, survival) for a in answers) < wanted:
        group = pending[:size]
        draws = max(DRAWS, search.budget.batch_size // len(group))
        states = noise.added(np.repeat(np.array([answer.state for answer in group]), draws, axis=0))
        search.budget.proposed += len(states)
        said = yield states
        asked = len(states) if said.asked is None else said.asked  # the budget may end in between
        if not asked:
            break
        counted = np.clip(asked - draws * np.arange(len(group)), 0, draws)
        for answer, n, held in zip(group, counted, said.reached.reshape(len(group), draws).sum(1), strict=True):
            answer.draws += int(n)
            answer.held += int(held)
        pending = [a for a in group if a.draws < MOST_DRAWS and not _decided(a, survival)] + pending[size:]
    # Stable: the cheaper one first among those that hold, then the surer one first, the second model's before others.
    return sorted(
        answers,
        key=lambda a: (not holds(a, survival), a.agreed is False, 0 if holds(a, survival) else -_share(a)),
    )


def agreed_first(search: Search, answers: list[Found]) -> list[Found]:
    """Answers in their order, but first those that the second model agrees with, if there is one."""
    if search.second is None or not answers:
        return answers
    for answer, agreed in zip(answers, search.second(np.array([a.state for a in answers])), strict=True):
        answer.agreed = bool(agreed)
    return sorted(answers, key=lambda answer: not answer.agreed)


def in_order(found: dict[str, list[Found]], prefer: str) -> Iterable[Found]:
    """All answers, those of the preferred kind first."""
    for kind in (prefer, *(kind for kind in found if kind != prefer)):
        yield from found.get(kind, [])


def first_holds(search: Search, answers: list[Found]) -> bool:
    """Whether the first of the answers held often enough; of no answer, no; without a test, yes."""
    survival = search.settings.survival
    return bool(answers) and (survival is None or holds(answers[0], survival))


def holds(answer: Found, survival: Survival) -> bool:
    """Whether an answer that was drawn held often enough, and of the second model as well."""
    return answer.agreed is not False and answer.draws > 0 and answer.held >= survival.at_least * answer.draws


def _share(answer: Found) -> float:
    return answer.held / answer.draws if answer.draws else 0.0


def _decided(answer: Found, survival: Survival) -> bool:
    """Whether the share of draws that held is clearly enough, or clearly not."""
    if answer.draws == 0:
        return False
    share = _share(answer)
    error = 1.64 * np.sqrt(max(share * (1 - share), 0.01) / answer.draws)
    return bool(share == 1.0 or abs(share - survival.at_least) > error)
