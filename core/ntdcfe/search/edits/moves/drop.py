"""Drop edits: one, or a random group of them (group testing); the others may do more instead."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others

# By how much the edits that are left may do more for each that goes, and at most (rule of thumb).
MORE_FOR_ONE, MOST_MORE = 1.2, 5.0


class Drop(EditMove):
    """The edit at the place goes, and each of the others with a random chance."""

    chance = 0.08

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """Fewer edits."""
        n, m = lists.kind.shape
        dropped = rng.random((n, m)) < np.where(rng.random(n) < 0.5, 0.0, rng.random(n))[:, None]
        dropped[np.arange(n), place] = True
        gone = (dropped & (lists.kind != NONE)).sum(1)
        lists = lists.replaced(kind=np.where(dropped, NONE, lists.kind))
        most = np.minimum(MORE_FOR_ONE**gone, MOST_MORE)
        more = np.where(rng.random(n) < 0.3, 1.0, 1.0 + rng.random(n) * (most - 1.0))
        return self.editor.all_weakened(lists, more, neutral)
