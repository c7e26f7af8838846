"""Replace an edit by a random one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others
from ntdcfe.search.edits.moves.swap_feature import STRENGTH


class Replace(EditMove):
    """Feature, window, kind and number are drawn."""

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """A random edit in its place."""
        lists.put(None, place, self.editor.draw(len(place), STRENGTH, rng))
        return lists
