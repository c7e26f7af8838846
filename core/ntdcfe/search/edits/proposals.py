"""Lists of edits that may be cheaper than those known: moves, chosen by what they have gained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.draws import Drawer
from ntdcfe.search.edits.moves import EDIT_MOVES
from ntdcfe.search.edits.tested import Tested
from ntdcfe.search.edits.tuning import MOST_VALUES, ProposalTuning


class Priced(NamedTuple):
    """n lists of edits with numbers that a person would write, their states ``(n, K, F)`` and their costs ``(n,)``."""

    lists: EditLists
    states: NDArray[Any]
    cost: NDArray[np.float64]

    def take(self, rows: Any) -> Priced:
        """Those of the lists."""
        return Priced(self.lists.take(rows), self.states[rows], self.cost[rows])


class Proposed(NamedTuple):
    """n priced lists, the moves that made them ``(n,)``, and by what share they cost less than their bases ``(n,)``."""

    priced: Priced
    moves: NDArray[np.int64]
    gain: NDArray[np.float64]

    def take(self, rows: Any) -> Proposed:
        """Those of the lists."""
        return Proposed(self.priced.take(rows), self.moves[rows], self.gain[rows])


class Proposals:
    """The moves of one search, and their record: adaptive operator selection.

    Parameters
    ----------
    editor : Drawer
    price : callable
        ``(lists) -> Priced``.
    tuning : ProposalTuning
    rng : numpy Generator
    """

    def __init__(
        self, editor: Drawer, price: Callable[[EditLists], Priced], tuning: ProposalTuning, rng: np.random.Generator
    ) -> None:
        self.editor = editor
        self.price = price
        self.tuning = tuning
        self.rng = rng
        self._moves = [move(editor) for move in EDIT_MOVES]
        chance = np.array([move.chance for move in self._moves])
        self._gain, self._tried = tuning.gain_before * chance / chance.sum(), np.ones(len(self._moves))
        self._made: Proposed | None = None

    def cheaper(self, bases: list[Tested], n: int, preference: float) -> Proposed:
        """Up to n lists that cost less than those that they come from; the first of the bases are taken most."""
        made = self._made
        if made is None or len(made.moves) < n:
            room = MOST_VALUES // max(1, int(n * self.tuning.spare) * self.editor.space.original.size)
            made = self._mutated(bases, n * max(1, min(self.tuning.batches, room)), preference)
        now, self._made = made.take(slice(0, n)), made.take(slice(n, None))
        return now

    def learn(self, moves: NDArray[np.int64], gain: NDArray[np.float64]) -> None:
        """Moves ``(n,)`` are made as often as they gain, by what reached the target once: shares ``(n,)``, else 0."""
        if len(moves):
            self._gain *= self.tuning.memory
            self._tried *= self.tuning.memory
            np.add.at(self._gain, moves, gain)
            np.add.at(self._tried, moves, 1.0)

    def _mutated(self, bases: list[Tested], n: int, preference: float) -> Proposed:
        rng = self.rng
        base = EditLists.concatenate([t.edits for t in bases])
        chance = preference ** np.arange(len(bases))
        pick = rng.choice(len(bases), int(n * self.tuning.spare), p=chance / chance.sum())
        rate = self._gain / self._tried
        rate = np.maximum(rate / rate.sum(), self.tuning.least_chance)
        move = np.sort(rng.choice(len(self._moves), len(pick), p=rate / rate.sum()))
        parts = []
        for which in np.unique(move):
            lists = base.take(pick[move == which])
            place = (rng.random(len(lists)) * np.maximum(lists.n_edits, 1)).astype(int)
            others = base.take(rng.integers(0, len(base), len(lists)))
            parts.append(self._moves[which].propose(lists, place, others, rng))
        priced = self.price(EditLists.concatenate(parts).packed())
        before = np.array([t.cost for t in bases])[pick]
        changed = (priced.states != self.editor.space.original).any((1, 2))
        better = np.flatnonzero((priced.cost < before - 1e-9) & changed)  # what cannot be said costs infinitely much
        chosen = rng.permutation(better)[:n]
        return Proposed(priced.take(chosen), move[chosen], 1 - priced.cost[chosen] / before[chosen])
