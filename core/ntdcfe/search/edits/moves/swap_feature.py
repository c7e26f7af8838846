"""Do to another feature, in the same window, what an edit does to its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.search.draws import signs
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places

# Units that the other feature is moved by at most, where the size is drawn (rule of thumb).
STRENGTH = 3.0


class SwapFeature(EditMove):
    """The window stays, half of the time the size in units, too; else feature, kind and number are drawn."""

    chance = 0.08

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """An edit of another feature."""
        n, editor, edit = len(place), self.editor, lists.at(place)
        drawn = editor.draw(n, STRENGTH, rng, windows=(edit.first, edit.last))
        numbers = ~(editor.space.discrete[edit.feature] | editor.space.discrete[drawn.feature]) & (drawn.width == 1)
        size = np.abs(editor.changed_by(edit, at_places(neutral, place))) / editor.units[edit.feature]
        size = size * editor.units[drawn.feature]
        change = np.minimum(size, STRENGTH * editor.units[drawn.feature]) * rng.uniform(0.5, 1.1, n)
        alike = editor.of_kind(drawn, drawn.kind, change * signs(n, rng))
        as_large = numbers & (rng.random(n) < 0.5) & (edit.kind >= 0)
        lists.put(None, place, EditLists.where(as_large, alike, drawn))
        return lists
