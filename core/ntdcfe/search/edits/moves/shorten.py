"""Shorten the window of an edit from one end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others


class Shorten(EditMove):
    """Up to half of the window goes, small pieces more often."""

    chance = 0.16

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """Cut off at the front or at the back."""
        n, edit = len(place), lists.at(place)
        length = edit.last - edit.first + 1
        cut = np.minimum(np.maximum(1, (length * 0.6 * rng.random(n) ** 1.5).astype(int)), length - 1)
        front = rng.random(n) < 0.5
        first, last = np.where(front, edit.first + cut, edit.first), np.where(front, edit.last, edit.last - cut)
        lists.put(length > 1, place, edit.replaced(first=first, last=last))
        return lists
