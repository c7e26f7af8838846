"""What every search is given and what it is told: the ask-and-tell face.

A search is a function of a :class:`Search` that returns a generator. It yields states
``(n, K, F)`` to be predicted and is sent an :class:`Answer` about them; the driver does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.counterfactual import Update
from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.problem.objective import Objective
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.said import Said
from ntdcfe.problem.space import Space
from ntdcfe.search.answers import Answers
from ntdcfe.search.patience import Patience
from ntdcfe.search.pool import Pool

if TYPE_CHECKING:
    import torch

    from ntdcfe.search.tables import Singles
    from ntdcfe.settings import SearchSettings

# A valid state that is not plausible counts as so many times as far: it is a start, and no answer. Where the test has
# a score, a state that is further out of distribution counts up to so much more (rule of thumb).
IMPLAUSIBLE, MORE_IMPLAUSIBLE = 4.0, 4.0
# As much more where the test refuses the original itself: what is plausible is far then, and goes first nevertheless.
FROM_OUTSIDE = 25.0
# A list of edits that the second model does not agree with counts as so many times as far (rule of thumb): it is a
# start, and an answer only where there is no other.
REFUSED = 100.0
# States that are kept of each label that the model said (rule of thumb).
STATES_OF_A_LABEL = 4
# How many of one batch enter the pool: the next batch will have better ones (rule of thumb).
MOST_OF_A_BATCH = 8


class Answer(NamedTuple):
    """What became of n states: whether each reached the target, and how near it came.

    `score` ``(n,)`` runs from 0 to 1 with the boundary at 0.5; None where the model gives labels only. `asked` is how
    many of them were asked about, from the first; None if all were.
    """

    reached: NDArray[np.bool_]
    score: NDArray[np.float64] | None
    labels: NDArray[Any] | None = None
    asked: int | None = None

    def padded(self, n: int) -> Answer:
        """The same about n states: those that follow were not reached."""
        if n == len(self.reached):
            return self
        missing = (0, n - len(self.reached))
        score = None if self.score is None else np.pad(self.score, missing)
        return Answer(np.pad(self.reached, missing), score, asked=len(self.reached))


Asks: TypeAlias = Generator[NDArray[Any], Answer, None]


class Outcome(NamedTuple):
    """What became of a batch: states ``(n, K, F)``, whether each is valid, its score and its cost ``(n,)``."""

    states: NDArray[Any]
    valid: NDArray[np.bool_]
    score: NDArray[np.float64] | None
    cost: NDArray[np.float64]

    def copy(self) -> Outcome:
        """The same, to be written into."""
        score = None if self.score is None else self.score.copy()
        return Outcome(self.states.copy(), self.valid.copy(), score, self.cost.copy())

    def take(self, rows: slice | NDArray[Any]) -> Outcome:
        """Those rows of it."""
        score = None if self.score is None else self.score[rows]
        return Outcome(self.states[rows], self.valid[rows], score, self.cost[rows])


@dataclass
class Found:
    """An answer of one kind: its state ``(K, F)``, its edits ``(1, m)`` if it has any, and its draws under noise.

    `agreed` tells whether the second model reaches the target on it, too; None if there is none.
    """

    state: NDArray[Any]
    edits: EditLists | None = None
    draws: int = 0
    held: int = 0
    agreed: bool | None = None


class Allowance(Protocol):
    """What a search may spend; see :class:`ntdcfe.model.budget.Budget`."""

    rows: int
    proposed: int

    @property
    def batch_size(self) -> int:
        """Rows in the next batch."""

    @property
    def widest(self) -> int:
        """Most rows of one question."""

    @property
    def used(self) -> float:
        """The share that is used up."""

    def left(self, share: float = 1.0, found: bool = True) -> bool:
        """Whether less than that share is used up; of the rows alone, as long as nothing is found."""

    def look_at_clock(self, ahead: float = 0.0) -> None:
        """Ends the search when its seconds are used up, or will be after a step that takes so many of them."""

    def replan(self) -> None:
        """Something is found: spread the rows that are left over batches anew, if it took long."""


@dataclass
class Search:
    """The search for one instance: what it works with, and what it has found so far."""

    problem: Problem
    settings: SearchSettings
    pool: Pool
    budget: Allowance
    seed: int
    of_values: bool = False
    """Whether scores are of a regressor's values: the share of the way to the target, half of it at the boundary."""
    first_found: int | None = None
    """Rows it took to the first counterfactual of the default search."""
    history: list[Update] = field(default_factory=list)
    found: dict[str, list[Found]] = field(default_factory=dict)
    """Answers by the name of their kind, the best first."""
    references: NDArray[Any] | None = None
    """States ``(R, K, F)`` that the search may start from: the user's other series."""
    seen: dict[Any, list[NDArray[Any]]] = field(default_factory=dict)
    """While nothing is found: a few states of each label that the model said."""
    second: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None
    """Whether the second model reaches the target on states ``(n, K, F)``, too; None without one."""
    singles: Singles | None = None
    """What single changes of a row of a table do."""
    ceiling: float = 1.0
    """The share of the budget that the present phase may use up."""
    patience: Patience | None = None
    """Of the present phase, where it ends as soon as little is gained."""
    converged: bool = False
    """Whether the search ended because more rows would have gained little."""
    beyond: float = 0.0
    """What an implausible state costs more than by its distance: as much as the first plausible one, if that is far."""

    def __post_init__(self) -> None:
        self.said = Said(self.of_values)  # while nothing is found
        self.rng = np.random.default_rng(self.seed)
        self.answers = Answers()  # of a row of a table
        # A generator of its own, so that what is kept of labels does not reach the other draws.
        self.novelty_rng = np.random.default_rng([self.seed, 3])

    @cached_property
    def generator(self) -> torch.Generator:
        """Draws the weights and the actions of a policy; torch is loaded when a policy is built, not before."""
        import torch

        return torch.Generator(device="cpu").manual_seed(self.seed)

    @property
    def space(self) -> Space:
        """The states that the series may take."""
        return self.problem.space

    @property
    def objective(self) -> Objective:
        """What they cost."""
        return self.problem.objective

    def left(self, share: float = 1.0) -> bool:
        """Whether less than that share of the budget is used up, and more of it may gain something."""
        return not (self.patience is not None and self.patience.over) and self.may_ask(share)

    def may_ask(self, share: float = 1.0) -> bool:
        """Whether less than that share of the budget is used up."""
        return self.budget.left(share * self.ceiling, len(self.pool) > 0)

    @property
    def rows_left(self) -> float:
        """Rows that the present phase may still ask about."""
        most = self.settings.max_rows
        return np.inf if most is None else self.ceiling * most - self.budget.rows

    def judged(self, states: NDArray[Any], cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """What valid states ``(n, K, F)`` of that cost ``(n,)`` count: more where they are not plausible."""
        plausible = self.problem.plausible
        if plausible is None or not len(states):
            return cost
        odd = ~plausible(states)
        factor = np.full(int(odd.sum()), IMPLAUSIBLE)
        if self.problem.usual is not None and odd.any():
            away = np.maximum(0.0, -self.problem.usual(states[odd]))
            factor += MORE_IMPLAUSIBLE * away / (1 + away)
        if self.problem.from_outside:
            factor *= FROM_OUTSIDE
        cost = cost.copy()
        cost[odd] = cost[odd] * factor + self.beyond
        return cost

    def disagreement(self, states: NDArray[Any]) -> NDArray[np.float64]:
        """What the cost of valid states ``(n, K, F)`` is multiplied by: 1 if the second model agrees ``(n,)``."""
        if self.second is None or not len(states):
            return np.ones(len(states))
        return np.where(self.second(states), 1.0, REFUSED)

    def note(self, best_cost: float) -> None:
        """The best answer of the present phase has that cost, infinity as long as there is none."""
        if self.patience is not None:
            self.patience.note(self.budget.rows, best_cost)

    def wait(self, waiting: bool) -> None:
        """Whether the present phase is not to end for want of gains, since something may gain more soon."""
        if self.patience is not None:
            self.patience.waiting = waiting

    def wait_at_most(self, rows: int) -> None:
        """From now on the present phase ends after so many rows without a gain, if it ends for want of gains."""
        if self.patience is not None:
            self.patience.rows = rows

    @contextmanager
    def until_converged(self, rows: int | None) -> Iterator[None]:
        """A phase that is over when so many rows gained little, too; notes whether it had its budget left then."""
        self.patience = None if rows is None else Patience(rows, self.budget.rows)
        try:
            yield
        finally:
            self.patience = None
        self.converged = rows is not None and self.may_ask()

    def report(self, success_share: float) -> None:
        """Note the state of things after an update of the policy."""
        self.history.append(Update(self.budget.rows, success_share, self.pool.best_proximity))

    def ask(
        self, proposals: NDArray[Any], previous: NDArray[Any] | None = None
    ) -> Generator[NDArray[Any], Answer, Outcome]:
        """Project proposals ``(n, K, F)``, ask about them, keep what is valid.

        Those that cannot be made to obey are `previous` again, the original if not given. Once something is found
        in a row of a table, no state is asked about twice.
        """
        self.budget.look_at_clock()
        states = self.space.project(proposals, previous)
        self.budget.proposed += len(states)
        if self.space.n_steps > 1:
            return self.keep(states, (yield states))
        asked = self.answers.unknown(states) if len(self.pool) else np.arange(len(states))
        answer = yield states[asked]
        self.answers.note(states[asked], answer)
        return self.keep(states, self.answers.of(states, asked, answer) if len(asked) < len(states) else answer)

    def _note_labels(self, states: NDArray[Any], labels: NDArray[Any]) -> None:
        """Keep a few states ``(n, K, F)`` of each label ``(n,)``; later ones take the places of earlier ones."""
        for label, first in zip(*np.unique(labels, return_index=True), strict=True):
            kept = self.seen.setdefault(label.item() if isinstance(label, np.generic) else label, [])
            if len(kept) < STATES_OF_A_LABEL:
                kept.append(states[first].copy())
            else:
                kept[self.novelty_rng.integers(STATES_OF_A_LABEL)] = states[first].copy()

    def keep(self, states: NDArray[Any], answer: Answer) -> Outcome:
        """Take those states ``(n, K, F)`` that reached the target into the pool; implausible ones are costly."""
        reached = answer.reached.copy()
        if answer.labels is not None and not len(self.pool):
            self._note_labels(states, answer.labels)
        cost, sparsity = self.objective.cost_and_sparsity(states)
        if reached.any():
            valid = states[reached]
            cost[reached] = self.judged(valid, cost[reached])
            if self.first_found is None:
                self.budget.replan()
                self.first_found = self.budget.rows - len(states) + int(reached.argmax()) + 1
            most = max(MOST_OF_A_BATCH, self.settings.n_counterfactuals)
            self.pool.extend(valid, cost[reached], sparsity[reached], most)
        self.note(self.pool.best_cost)
        return Outcome(states, reached, answer.score, cost)
