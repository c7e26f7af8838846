"""Do to another feature, in the same window, what an edit does to its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove

# Units that the other feature is moved by at most (rule of thumb).
STRENGTH = 3.0


class SwapFeature(EditMove):
    """The window stays; feature, kind and number are drawn."""

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], others: EditLists, rng: np.random.Generator
    ) -> EditLists:
        """An edit of another feature."""
        edit = lists.at(place)
        drawn = self.editor.draw(len(place), STRENGTH, rng, windows=(edit.first, edit.last))
        lists.put(np.ones(len(place), bool), place, drawn)
        return lists
