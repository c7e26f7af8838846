"""Random edits, as the search over edits draws them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.problem.edits import Editor
from ntdcfe.problem.kinds import PLACE
from ntdcfe.problem.kinds_used import Kinds
from ntdcfe.problem.space import Space
from ntdcfe.search.draws import ends_of, one_of, signs, up_to

# How often an edit is drawn of several neighbouring features, and the fewest neighbours of one scale for that (rules
# of thumb: bands of a spectrum, sensors of an array).
BROAD, FEWEST_BROAD = 0.1, 8


class Drawer(Editor):
    """An editor that draws edits.

    Parameters
    ----------
    space : Space
    kinds : Kinds
        Of edits.
    names : sequence of str, optional
        Of those that are drawn; all that take part if not given.
    """

    def __init__(self, space: Space, kinds: Kinds, names: Sequence[str] | None = None) -> None:
        super().__init__(space, kinds)
        self.runs = _runs(space, self.decimals)
        places = range(len(kinds.all))
        if space.n_steps == 1:  # in a row of a table an edit sets a value
            usable = [PLACE["level"], PLACE["set"]]
        else:
            usable = [i for i in places if kinds.used[i] and (names is None or kinds.all[i].name in names)]
        self._kinds = {
            discrete: np.array([i for i in usable if kinds.all[i].discrete == discrete]) for discrete in (False, True)
        }
        self._ends = {
            discrete: ends_of(np.array([kinds.all[i].chance for i in some])) if len(some) else np.empty(0)
            for discrete, some in self._kinds.items()
        }
        self._may_broaden = bool((self.runs[1] >= FEWEST_BROAD).any() and kinds.used[PLACE["shift"]])

    def draw(
        self,
        n: int,
        strength: float,
        rng: np.random.Generator,
        features: NDArray[np.int64] | None = None,
        windows: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None,
    ) -> EditLists:
        """n single edits, columns ``(n,)``, that change their feature by up to `strength` units."""
        feature = one_of(self.features, n, rng) if features is None else features
        first, last = self.draw_windows(n, rng) if windows is None else windows
        kind = self.draw_kinds(feature, rng)
        change = signs(n, rng) * rng.uniform(0.1, 1.0, n) * strength * self.units[feature]
        edit = EditLists.of(kind, feature, 1, first, last, np.zeros(n))
        drawn = self.of_kind(edit, kind, change)
        for i in np.flatnonzero(self.space.discrete[feature]) if self._has_discrete else ():
            drawn.number[i] = rng.choice(self.space.choices[feature[i]])  # type: ignore[arg-type]
        return self.widened(drawn, rng.random(n) < BROAD, rng)

    def widened(self, edit: EditLists, rows: NDArray[np.bool_], rng: np.random.Generator) -> EditLists:
        """Those of the single edits, columns ``(n,)``, as shifts of several neighbouring features of one scale."""
        n = len(edit.kind)
        grown, moved, share = rng.uniform(0.3, 1.0, n), rng.random(n), rng.uniform(0.02, 1.0, n)
        if not self._may_broaden or not rows.any():
            return edit
        size = self.runs[1].take(edit.feature)
        width = np.minimum(np.ceil(size**grown).astype(int), size)
        at = (rows & (size >= FEWEST_BROAD) & (width > 1)).nonzero()[0]
        if not len(at):
            return edit
        one, size, width = edit.take(at), size[at], width[at]
        first = self.runs[0].take(one.feature) + (moved[at] * (size - width + 1)).astype(int)
        change = np.where(np.abs(one.number) > 0, self.changed_by(one), 0.0) * share[at]
        edit = edit.copy()
        edit.codes[:, at] = EditLists.of(PLACE["shift"], first, width, one.first, one.last, change).codes
        edit.number[at] = change
        return edit

    def draw_kinds(self, feature: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A kind for each feature ``(n,)``."""
        if not self._has_discrete:
            return self._kinds[False].take(up_to(self._ends[False], len(feature), rng))
        kind = np.full(len(feature), NONE)
        for discrete, usable in self._kinds.items():
            rows = np.flatnonzero(self.space.discrete[feature] == discrete)
            if len(rows):
                kind[rows] = usable[up_to(self._ends[discrete], len(rows), rng)]
        return kind

    def draw_windows(self, n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and last steps ``(n,)``: half of any length, the others up to one or both ends of the series."""
        steps, k = self.steps, len(self.steps)
        length = np.rint(k ** rng.uniform(0.15, 1, n)).astype(int)
        first = (rng.random(n) * (k - length + 1)).astype(int)
        last = first + length - 1
        share, cut = rng.random(n), (rng.random(n) * k).astype(int)
        whole, to_end, from_start = share < 0.2, (share >= 0.2) & (share < 0.4), (share >= 0.4) & (share < 0.5)
        first[whole | from_start], last[whole | to_end] = 0, k - 1
        np.copyto(first, cut, where=to_end)
        np.copyto(last, cut, where=from_start)
        return steps.take(first), steps.take(last)


def _runs(space: Space, decimals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each feature the first of its neighbours of one scale that may all be moved, and how many they are."""
    free = space.movable.any(0) & ~space.discrete
    alike = free[1:] & free[:-1] & (decimals[1:] == decimals[:-1])
    first = np.flatnonzero(np.append(True, ~alike))
    size = np.diff(first, append=len(free))
    return np.repeat(first, size), np.repeat(size, size)
