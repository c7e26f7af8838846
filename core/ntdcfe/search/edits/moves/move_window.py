"""Move or stretch the window of an edit, and let it do a little less."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places


class MoveWindow(EditMove):
    """Both ends move together, or each by itself, by about a third of the length."""

    chance = 0.16

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """Another window of the same edit."""
        n, edit, steps = len(place), lists.at(place), self.editor.steps
        reach = np.maximum(1.0, 0.4 * (edit.last - edit.first + 1))
        one, other = (np.round(rng.standard_normal(n) * reach).astype(int) for _ in range(2))
        ends = np.sort([edit.first + one, edit.last + np.where(rng.random(n) < 0.5, one, other)], axis=0)
        first, last = np.clip(ends, steps[0], steps[-1])
        moved = self.editor.weakened(edit, rng.uniform(0.5, 1.05, n), at_places(neutral, place))
        lists.put(None, place, moved.replaced(first=first, last=last))
        return lists
