"""Edit more of the neighbouring features, or fewer of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others


class Broaden(EditMove):
    """A single feature becomes several at a fraction of the effect; several become fewer."""

    chance = 0.05

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """Another range of features."""
        n, edit = len(place), lists.at(place)
        cut = np.minimum((edit.width * 0.6 * rng.random(n) ** 1.5).astype(int) + 1, edit.width - 1)
        front = rng.random(n) < 0.5
        fewer = edit.replaced(feature=np.where(front, edit.feature + cut, edit.feature), width=edit.width - cut)
        single = (edit.width == 1) & ~self.editor.space.discrete[edit.feature]
        broad = self.editor.widened(edit, single, rng)
        lists.put(None, place, EditLists.where(single, broad, fewer))
        return lists
