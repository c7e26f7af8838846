"""Change the kind of an edit, for about the same effect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places

# The most units that the new kind may move its feature by (rule of thumb).
MOST_UNITS = 6.0


class ChangeKind(EditMove):
    """A shift that becomes a level, a level that becomes a limit, and so on."""

    chance = 0.08

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """The same window, another kind, half to all of the effect or a little more."""
        n, edit = len(place), lists.at(place)
        most = MOST_UNITS * self.editor.units[edit.feature]
        now = self.editor.changed_by(edit, at_places(neutral, place))
        change = np.clip(now, -most, most) * rng.uniform(0.5, 1.2, n)
        changed = self.editor.of_kind(edit, self.editor.draw_kinds(edit.feature, rng), change)
        lists.put(~self.editor.space.discrete[edit.feature] & (edit.width == 1), place, changed)
        return lists
