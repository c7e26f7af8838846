"""Join two edits of a feature into one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.search.edits.moves.base import EditMove, Numbers, Others, at_places


class Join(EditMove):
    """The window of both, by a share of the edit at the place; the other goes."""

    chance = 0.04

    def propose(
        self, lists: EditLists, place: NDArray[np.int64], neutral: Numbers, others: Others, rng: np.random.Generator
    ) -> EditLists:
        """One edit less, where another is of the same feature."""
        n, edit = len(place), lists.at(place)
        same = (lists.feature == edit.feature[:, None]) & (lists.kind != NONE)
        same[np.arange(n), place] = False
        other = np.where(same, rng.random(same.shape), -1.0).argmax(1)
        partner, possible = lists.at(other), same.any(1)
        # Where both windows overlap, effects add up; apart from each other, either of them may be enough.
        own = self.editor.changed_by(edit, at_places(neutral, place))
        change = own + rng.random(n) * self.editor.changed_by(partner, at_places(neutral, other))
        both = edit.replaced(first=np.minimum(edit.first, partner.first), last=np.maximum(edit.last, partner.last))
        added = self.editor.of_kind(both, edit.kind, change)
        scaled = self.editor.weakened(both, rng.uniform(0.4, 1.1, n))
        joined = both.replaced(number=np.where(rng.random(n) < 0.5, added.number, scaled.number), kind=added.kind)
        joined = joined.replaced(number=np.where(joined.kind == edit.kind, joined.number, added.number))
        possible &= ~self.editor.space.discrete[edit.feature]
        lists.put(possible, place, joined)
        lists.put(possible, other, partner.replaced(kind=np.full(n, NONE)))
        return lists
