"""Weaken an edit, or all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places, towards_nothing


class Weaken(EditMove):
    """One edit does less."""

    chance = 0.2

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """A random share of its effect is left."""
        n = len(place)
        weaker = self.editor.weakened(lists.at(place), towards_nothing(n, rng), at_places(neutral, place))
        lists.put(None, place, weaker)
        return lists


class WeakenAll(EditMove):
    """All edits do less by the same share."""

    chance = 0.08

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """A random share of every effect is left."""
        return self.editor.all_weakened(lists, towards_nothing(len(lists), rng), neutral)
