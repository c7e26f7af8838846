"""Split an edit in two and leave out the middle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others


class Split(EditMove):
    """The same edit in two shorter windows: pays where the middle does nothing and is long."""

    chance = 0.04

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """One edit more, fewer cells."""
        n, edit = len(place), lists.at(place)
        lists = lists.widened(lists.kind.shape[1] + 1)
        length = edit.last - edit.first + 1
        ends = np.sort(edit.first + (rng.random((2, n)) * length).astype(int), axis=0)
        possible = (length > 2) & (ends[0] > edit.first) & (ends[1] < edit.last)
        free = (lists.kind == NONE).argmax(1)
        lists.put(possible, place, edit.replaced(last=ends[0]))
        lists.put(possible, free, edit.replaced(first=ends[1]))
        return lists
