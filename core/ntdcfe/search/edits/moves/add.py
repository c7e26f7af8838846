"""Add a small random edit and let another do less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places

# Units that an added edit moves its feature by at most (rule of thumb).
STRENGTH = 1.5


class Add(EditMove):
    """One edit more: pays where the other can do much less with its help."""

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """A new edit, and a weaker one."""
        n, edit = len(place), lists.at(place)
        lists = lists.widened(lists.kind.shape[1] + 1)
        weaker = self.editor.weakened(edit, rng.uniform(0.2, 0.95, n), at_places(neutral, place))
        lists.put(None, place, weaker)
        lists.put(None, (lists.kind == NONE).argmax(1), self.editor.draw(n, STRENGTH, rng))
        return lists
