"""What one may believe of a model that may contradict itself: votes, as sequential tests.

Like a search, nothing here calls the model: it yields a :class:`Question` and is sent what the model says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import PredictorError
from ntdcfe.model.budget import Budget
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.target import Target
from ntdcfe.problem.users import called, numbers, verdicts

if TYPE_CHECKING:
    from ntdcfe.settings import SearchSettings


class Question(NamedTuple):
    """States ``(n, K, F)`` that the model is asked about.

    `needed` is how many of them, from the first, an answer has to cover; the others can be done without. None: all.
    `alone` tells that nothing else may be asked in the same call.
    """

    states: NDArray[Any]
    needed: int | None = None
    alone: bool = False


Talk: TypeAlias = Generator[Question, Prediction, None]


@dataclass(frozen=True, repr=False)
class TrustTuning:
    """Numbers of the votes.

    Parameters
    ----------
    trials : int
        How often a model that contradicted itself is asked about the original, to see how often it errs (rule of
        thumb).
    lowest_lead : int
        A claim is dropped below this lead: at an error in five, one of sixty that are valid.
    most_errors : float
        A model that errs more often than this tells nothing.
    one_in : int
        Of a model that errs, one false answer in so many may get into the search.
    most_lead : int
        The most votes that a claim has to lead by.
    most_checks : int
        Most calls of a last check: ends it where no budget does.
    alone : int
        How often an answer that does not hold in a call of its own is asked so altogether: the most of them decide.
    """

    trials: int = 30
    lowest_lead: int = -1
    most_errors: float = 0.45
    one_in: int = 10_000
    most_lead: int = 12
    most_checks: int = 200
    alone: int = 5

    __repr__ = typed_back

    def lead_needed(self, n_errors: int, n_trials: int) -> int:
        """By how many votes a claim has to lead, given how often the model erred: Wald's sequential test."""
        # A little pessimistic: no error in thirty trials does not mean that the model never errs (rule of succession).
        rate = min(self.most_errors, (1 + n_errors) / (2 + n_trials)) if n_trials else self.most_errors
        return min(self.most_lead, math.ceil(math.log(self.one_in) / math.log((1 - rate) / rate)))


class Poll:
    """Votes on n claims, each until it leads by enough or falls behind: a sequential probability ratio test.

    Parameters
    ----------
    n : int
        Each claim has one vote for it: the answer that made it.
    needed, lowest : int
        The lead at which a claim is believed, and below which it is dropped.
    """

    def __init__(self, n: int, needed: int, lowest: int) -> None:
        self.needed, self.lowest = needed, lowest
        self.lead, self.votes = np.ones(n, int), np.zeros(n, int)

    @property
    def undecided(self) -> NDArray[np.int64]:
        """The claims that are neither believed nor dropped."""
        return np.flatnonzero((self.lead >= self.lowest) & (self.lead < self.needed))

    @property
    def believed(self) -> NDArray[np.bool_]:
        """Which claims lead by enough ``(n,)``."""
        return self.lead >= self.needed

    @property
    def dropped(self) -> NDArray[np.bool_]:
        """Which claims fell behind ``(n,)``."""
        return self.lead < self.lowest

    def count(self, claims: NDArray[np.int64], votes: NDArray[np.bool_]) -> None:
        """One vote more on each of those claims."""
        self.lead[claims] += np.where(votes, 1, -1)
        self.votes[claims] += 1


class Trust:
    """What is believed of one model's answers about one instance.

    Parameters
    ----------
    original : array (K, F)
        Asked beside the claims: it does not reach the target.
    target : Target
    budget : Budget
    settings : SearchSettings

    Attributes
    ----------
    contradicted : bool
        Whether the model gave different answers to the same question.
    sure_of_some : bool
        Whether a claim has led by enough votes.
    """

    def __init__(self, original: NDArray[Any], target: Target, budget: Budget, settings: SearchSettings) -> None:
        self.original = original[None]
        self.target = target
        self.budget = budget
        self.tuning = settings.tuning.trust
        self.confirmations = settings.confirmations
        self.contradicted = False
        self.sure_of_some = False
        self._n_trials = 0
        self._n_errors = 0

    @property
    def lead(self) -> int:
        """By how many votes an answer has to lead before it is handed out."""
        return self.confirmations * (2 if self.contradicted else 1)

    @property
    def room(self) -> int:
        """Rows that the search may still ask."""
        return self.budget.room(self.contradicted)

    def reached(self, prediction: Prediction) -> NDArray[np.bool_]:
        """Which of n predictions are as wanted ``(n,)``; copies in and out, for the target may be the user's own."""
        told = called("target.reached", self.target.reached, prediction.copy())
        reached = verdicts("target.reached", len(prediction), told, unknown=False)
        return reached if prediction.unscored is None else reached & ~prediction.unscored

    def score(self, prediction: Prediction) -> NDArray[np.float64] | None:
        """How near each of n predictions is ``(n,)``, None where there are labels only; copies in and out.

        A row without a score is as far as the furthest of the others.
        """
        told = called("target.score", self.target.score, prediction.copy())
        if told is None:
            return None
        score = numbers("target.score", "one number a row", (len(prediction),), told).astype(float)
        known = np.isfinite(score)
        if prediction.unscored is not None:
            known &= ~prediction.unscored
        if known.all():
            return score
        return np.where(known, score, score[known].min() if known.any() else 0.0)

    def majority(self, prediction: Prediction) -> Generator[Question, Prediction, Prediction]:
        """The answer about the original that leads by enough votes, from those that were given already."""
        while True:
            prediction = scored(prediction)
            votes = (prediction.outcomes if self.target.relative else self.reached(prediction)).tolist()
            ((first, most), *rest) = Counter(votes).most_common(2)
            self.contradicted |= bool(rest)
            copies = min(self.confirmations, self.budget.rows_left // 4)
            if most - (rest[0][1] if rest else 0) >= self.lead or copies == 0 or len(votes) > 20 * self.lead:
                at = votes.index(first)
                return prediction[at : at + 1]
            more = yield Question(np.repeat(self.original, copies, axis=0))
            prediction = Prediction.concatenate([prediction, more])

    def alone(self, state: NDArray[Any]) -> Generator[Question, Prediction, bool | None]:
        """Whether a state ``(1, K, F)`` reaches the target in a call of its own, None without a row left to ask.

        Where it does not, it is asked some more: a model may just have contradicted itself.
        """
        said: list[bool] = []
        while self.budget.rows_left and (not said or (not said[0] and len(said) < self.tuning.alone)):
            prediction = yield Question(state, alone=True)
            said.append(bool(self.reached(prediction)[0]))
        self.contradicted |= not all(said)
        return 2 * sum(said) > len(said) if said else None

    def sure(self, states: NDArray[Any], claimed: NDArray[np.bool_]) -> Talk:
        """Leave of the claims ``(n,)`` that states ``(n, K, F)`` are valid those that hold, by a vote on each.

        Where it is ended from outside, or runs out of rows, before anything is sure, those that lead: the last
        check will tell.
        """
        if not claimed.any():
            return
        if self._n_trials == 0 and (trials := max(0, min(self.tuning.trials, self.room // 4))):
            said = yield Question(np.repeat(self.original, trials, axis=0))
            self._n_trials, self._n_errors = trials, int(self.reached(said).sum())
        at = np.flatnonzero(claimed)
        needed = self.tuning.lead_needed(self._n_errors, self._n_trials)
        poll = Poll(len(at), needed, self.tuning.lowest_lead)
        while len(asked := poll.undecided[: max(0, self.room)]):
            claimed[at] = poll.lead >= (needed if self.sure_of_some else 1)
            prediction = yield Question(states[at[asked]])
            poll.count(asked, self.reached(prediction))
            self.sure_of_some |= bool(poll.believed.any())
        # The votes on claims that were dropped tell how often the model errs.
        out = poll.dropped
        self._n_trials += int(poll.votes[out].sum())
        self._n_errors += int((poll.votes + poll.lead - 1)[out].sum()) // 2
        claimed[at] = poll.lead >= (needed if self.room > 0 or self.sure_of_some else 1)


def scored(prediction: Prediction) -> Prediction:
    """What was said of the original where it was scored; raises if it never was."""
    if prediction.unscored is None:
        return prediction
    parts = [prediction[i : i + 1] for i in range(len(prediction)) if not prediction[i : i + 1].n_unscored]
    if not parts:
        raise PredictorError("the model returned NaN, infinity or nothing for the series itself.")
    return replace(Prediction.concatenate(parts), unscored=None)
