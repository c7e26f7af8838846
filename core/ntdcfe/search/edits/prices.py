"""What lists of edits cost in one walk: at first leniently, then, once their features are settled, by smoothness."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.problem.objective import LENIENT, STRICT, Touched
from ntdcfe.search.base import Search
from ntdcfe.search.edits.draws import Drawer
from ntdcfe.search.edits.tested import Tested


class Priced(NamedTuple):
    """n lists of edits with numbers that a person would write, their states ``(n, K, F)`` and their costs ``(n,)``.

    `changed` ``(n, F)`` tells which features of a state differ from the original.
    """

    lists: EditLists
    states: NDArray[Any]
    cost: NDArray[np.float64]
    changed: NDArray[np.bool_]

    def take(self, rows: Any) -> Priced:
        """Those of the lists."""
        return Priced(self.lists.take(rows), self.states[rows], self.cost[rows], self.changed[rows])


class Prices:
    """What lists of edits cost.

    Parameters
    ----------
    search : Search
    editor : Drawer
    """

    def __init__(self, search: Search, editor: Drawer) -> None:
        self.search = search
        self.editor = editor
        # Which states may be answers, where the in-distribution test refuses the original; else that is not asked here.
        self.inside = search.problem.plausible if search.problem.from_outside else None
        self.to_end = search.settings.shape == "to_end"
        self._settled: NDArray[np.bool_] | None = None  # which features change ``(F,)``, once that is settled

    def settle(self, state: NDArray[Any]) -> None:
        """From now on no bend is free, and lists that change other features than a state ``(K, F)`` are too costly."""
        self._settled = (state != self.search.space.original).any(0)

    def of(self, lists: EditLists) -> Priced:
        """Lists with numbers that a person would write, their states and their costs."""
        self.search.budget.look_at_clock()
        if self.to_end:
            lists = lists.replaced(last=np.full(lists.last.shape, self.editor.steps[-1]))
        lists = self.editor.rounded(lists if self.search.space.n_steps > 1 else lists.last_of_each_feature())
        states, touched = self.editor.states_and_touched(lists)
        changed = self.editor.changed(states, touched)
        cost = self._cost(states, changed, self.editor.effort(lists), touched)
        cost[self.editor.capped(lists)] = np.inf
        return Priced(lists, states, cost, changed)

    def again(self, lists: list[Tested]) -> NDArray[np.float64]:
        """What lists that reached the target cost now ``(n,)``."""
        states = np.array([t.state for t in lists])
        effort = np.concatenate([self.editor.effort(t.edits) for t in lists])
        return self.judged(states, self._cost(states, self.editor.changed(states, None), effort))

    def judged(self, states: NDArray[Any], cost: NDArray[np.float64]) -> NDArray[np.float64]:
        """What valid states ``(n, K, F)`` of that cost count ``(n,)``: more where implausible, or refused."""
        return self.search.judged(states, cost) * self.search.disagreement(states)

    def _cost(
        self,
        states: NDArray[Any],
        changed: NDArray[np.bool_],
        count: NDArray[np.float64],
        touched: Touched | None = None,
    ) -> NDArray[np.float64]:
        """What states ``(n, K, F)`` of so many edits ``(n,)`` cost ``(n,)``; `touched` as the objective has it.

        `changed` ``(n, F)`` tells which features differ from the original.
        """
        objective, settled = self.search.objective, self._settled
        if settled is None:
            return objective.cost_of_edits(states, count, touched, LENIENT)
        cost = objective.cost_of_edits(states, count, touched, STRICT)
        cost[(changed & ~settled).any(1)] = np.inf
        return cost
