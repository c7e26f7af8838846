"""Take an edit over from another list that holds: crossover."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places


class Cross(EditMove):
    """Half of the time in place of the list's own edit, else beside it, which then does less."""

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """A mixture of two lists."""
        n, edit = len(place), lists.at(place)
        lists = lists.widened(lists.kind.shape[1] + 1)
        theirs = others()
        taken = theirs.at((rng.random(n) * np.maximum(theirs.n_edits, 1)).astype(int))
        instead = rng.random(n) < 0.5
        weaker = self.editor.weakened(edit, rng.uniform(0.3, 1.0, n), at_places(neutral, place))
        lists.put(~instead, place, weaker)
        lists.put(None, np.where(instead, place, (lists.kind == NONE).argmax(1)), taken)
        return lists
