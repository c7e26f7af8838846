"""What the model said of rows of a table: few cells are changed in few ways, so that the same states come up again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.pool import key_of

if TYPE_CHECKING:
    from ntdcfe.search.base import Answer


class Answers:
    """Answers by the state that they are about.

    Attributes
    ----------
    reliable : bool
        False once the model contradicted itself: a question may then be asked again.
    """

    def __init__(self) -> None:
        self.reliable = True
        self._said: dict[bytes, tuple[bool, float]] = {}

    def __contains__(self, state: NDArray[Any]) -> bool:
        return key_of(state) in self._said

    def note(self, states: NDArray[Any], answer: Answer) -> None:
        """Remember what was said of states ``(n, K, F)``, as far as they were asked."""
        if not self.reliable:
            return
        score = np.zeros(len(states)) if answer.score is None else answer.score
        for state, reached, near in zip(states[: answer.asked], answer.reached.tolist(), score.tolist(), strict=False):
            self._said[key_of(state)] = (reached, near)

    def unknown(self, states: NDArray[Any]) -> NDArray[np.int64]:
        """Positions of the states ``(n, K, F)`` to ask about: the first of each that is not known.

        One at least: every question takes a row, so that a search ends.
        """
        if not self.reliable:
            return np.arange(len(states))
        first: dict[bytes, int] = {}
        for i, state in enumerate(states):
            first.setdefault(key_of(state), i)
        return np.array([i for key, i in first.items() if key not in self._said] or [0])

    def of(self, states: NDArray[Any], asked: NDArray[np.int64], answer: Answer) -> Answer:
        """The answer about all of the states ``(n, K, F)``, from that about those that were asked, and what is known.

        What is not known counts as not reached.
        """
        said = [self._said.get(key_of(state), (False, 0.0)) for state in states]
        reached, score = np.array([one[0] for one in said], bool), np.array([one[1] for one in said], float)
        reached[asked] = answer.reached
        if answer.score is None:
            return answer._replace(reached=reached, score=None, labels=None)
        score[asked] = answer.score
        return answer._replace(reached=reached, score=score, labels=None)

    def forget(self) -> None:
        """The model contradicted itself: rely on nothing that it said."""
        self.reliable = False
        self._said.clear()
