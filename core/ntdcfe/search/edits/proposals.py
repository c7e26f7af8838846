"""Lists of edits that may be cheaper than those known: moves, chosen by what they have gained."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.draws import weighted
from ntdcfe.search.edits.draws import Drawer
from ntdcfe.search.edits.moves import EDIT_MOVES
from ntdcfe.search.edits.prices import Priced
from ntdcfe.search.edits.tested import Tested
from ntdcfe.search.edits.tuning import ProposalTuning


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
    plausible : callable, optional
        Which states may be answers: of a list that may, none is made that may not.
    """

    def __init__(
        self,
        editor: Drawer,
        price: Callable[[EditLists], Priced],
        tuning: ProposalTuning,
        rng: np.random.Generator,
        plausible: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None,
    ) -> None:
        self.editor = editor
        self.price = price
        self.tuning = tuning
        self.rng = rng
        self.plausible = plausible
        self._moves = [move(editor) for move in EDIT_MOVES]
        chance = np.array([move.chance for move in self._moves])
        self._gain, self._tried = tuning.gain_before * chance / chance.sum(), np.ones(len(self._moves))

    def learn(self, moves: NDArray[np.int64], gain: NDArray[np.float64]) -> None:
        """Moves ``(n,)`` are made as often as they gain, by what reached the target once: shares ``(n,)``, else 0."""
        if len(moves):
            self._gain *= self.tuning.memory
            self._tried *= self.tuning.memory
            np.add.at(self._gain, moves, gain)
            np.add.at(self._tried, moves, 1.0)

    def cheaper(self, bases: list[Tested], n: int, preference: float) -> Proposed:
        """Up to n lists that cost less than those that they come from; the first of the bases are taken most."""
        rng = self.rng
        base = EditLists.concatenate([t.edits for t in bases])
        chance = preference ** np.arange(len(bases))
        spare = self.tuning.spare if self.plausible is None else self.tuning.spare_inside
        pick = weighted(chance, int(n * spare), rng)
        rate = self._gain / self._tried
        rate = np.maximum(rate / rate.sum(), self.tuning.least_chance)
        move = np.sort(weighted(rate, len(pick), rng))
        parts = []
        neutral = self.editor.neutral(base.flat).reshape(base.number.shape)
        most_edits, count = np.maximum(base.n_edits, 1), np.bincount(move, minlength=len(self._moves))
        for which, end in zip(count.nonzero()[0].tolist(), count[count > 0].cumsum().tolist(), strict=True):
            picked = pick[end - count[which] : end]
            place = (rng.random(len(picked)) * most_edits.take(picked)).astype(int)
            others = partial(base.take, rng.integers(0, len(base), len(picked)))
            lists, nothing = base.take(picked), neutral.take(picked, axis=0)
            parts.append(self._moves[which].propose(lists, place, nothing, others, rng))
        priced = self.price(EditLists.concatenate(parts).packed())
        before, original = np.array([t.cost for t in bases])[pick], self.editor.space.original
        changed, of_base = priced.changed, (np.array([t.state for t in bases]) != original).any(1)
        # At first a list of other features may cost a little more: it is yet to be made cheaper itself.
        most = before * np.where((changed != of_base[pick]).any(1), 1 + self.tuning.slack, 1.0)
        # What cannot be said costs infinitely much.
        better = np.flatnonzero((priced.cost < most - 1e-9) & changed.any(1))
        if self.plausible is not None and len(better):
            inside = self.plausible(np.array([t.state for t in bases]))
            better = better[~inside[pick[better]] | self.plausible(priced.states[better])]
        chosen = rng.permutation(better)[:n]
        return Proposed(priced.take(chosen), move[chosen], np.maximum(0.0, 1 - priced.cost[chosen] / before[chosen]))
