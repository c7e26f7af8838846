"""Extend the window of an edit to an end of the series, where it has no edge, and let it do less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places


class Extend(EditMove):
    """To the first step, to the last, or to both."""

    chance = 0.05

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """A longer window and a weaker edit."""
        n, edit, steps, side = len(place), lists.at(place), self.editor.steps, rng.random(len(place))
        longer = self.editor.weakened(edit, rng.uniform(0.2, 1.0, n), at_places(neutral, place)).replaced(
            first=np.where(side < 0.66, steps[0], edit.first), last=np.where(side > 0.33, steps[-1], edit.last)
        )
        lists.put(None, place, longer)
        return lists


class ExtendAll(EditMove):
    """All edits to both ends: one that still has its edges would leave the list as rough as before."""

    chance = 0.03

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """The longest windows, and a weaker effect of all edits."""
        steps, share = self.editor.steps, rng.uniform(0.2, 1.0, len(place))
        lists = self.editor.all_weakened(lists, share, neutral)
        return lists.replaced(first=np.full(lists.first.shape, steps[0]), last=np.full(lists.last.shape, steps[-1]))
