"""The kinds of edits that take part in a search: those that the settings name, and a user's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.kind import Kind
from ntdcfe.problem.kinds import BUILT_IN, KINDS, PLACE


def problem_with(kinds: Any) -> str:
    """What is wrong with the kinds that a user names, empty if nothing is."""
    if not isinstance(kinds, (tuple, list)):
        return "must be a list"
    own = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Kind)]
    if any(kind not in own and kind not in KINDS for kind in kinds):
        return f"must be names of built-in kinds {KINDS}, or subclasses of Kind"
    if any(kind.__abstractmethods__ or not isinstance(getattr(kind, "name", None), str) for kind in own):
        return "a Kind needs a name, and apply, neutral, number_for and say"
    names = [kind if isinstance(kind, str) else kind.name for kind in kinds]
    if len(set(names)) < len(names) or {kind.name for kind in own} & set(KINDS):
        return "their names must differ from each other and from those of the built-in ones"
    listed = {kind.name for kind in BUILT_IN if kind.discrete} | {kind.name for kind in own if kind.discrete}
    return "" if set(names) - listed else "at least one must be of numbers"


class Kinds:
    """The kinds of edits of one search, in the order of their places.

    Parameters
    ----------
    used : sequence of str or of Kind classes
        Those that take part: names of built-in kinds, and classes of the user's own. What sets listed values always
        does, and in a row of a table what sets a value.

    Attributes
    ----------
    all : tuple of Kind
        The built-in kinds, used or not, then the user's own.
    used, effort, scaled, is_value, nothing, times_change : array (n + 1,)
        Of each kind, and last of an empty place: whether it takes part, and the attributes of :class:`Kind`; the last
        two are NaN where they depend on the window, or on a user.
    """

    def __init__(self, used: Sequence[str | type[Kind]] = KINDS) -> None:
        own = [kind for kind in used if not isinstance(kind, str)]
        self.all = (*BUILT_IN, *(kind() for kind in own))
        names = {kind if isinstance(kind, str) else kind.name for kind in used}
        self.used = np.array([*(kind.discrete or kind.name in names for kind in self.all), False])
        self.usual = set(KINDS) == names
        """Whether all built-in kinds take part, and no other."""
        self.effort = np.array([*(kind.effort for kind in self.all), 0.0])
        self.scaled = np.array([*(kind.scaled for kind in self.all), True])
        self.is_value = np.array([*(kind.is_value and not kind.discrete for kind in self.all), False])
        self.nothing, self.times_change = (
            np.array([*(getattr(kind, name) for kind in BUILT_IN), *(None for _ in own), 0.0], float)
            for name in ("nothing", "times_change")
        )
        # A limit is at least where a window is to rise, and at most where it is not.
        self._turned = np.tile(np.append(np.arange(len(self.all)), -1), (2, 1))
        self._turned[0, PLACE["at_least"]], self._turned[1, PLACE["at_most"]] = PLACE["at_most"], PLACE["at_least"]

    def fitting(self, place: NDArray[np.int64], change: NDArray[Any]) -> NDArray[np.int64]:
        """Places ``(n,)`` of kinds that take part and can change a window so ``(n,)``; -1 where there is none."""
        place = self._turned[(change > 0).astype(int), place]
        if self.usual:
            return place
        of_numbers = [used and not kind.discrete for used, kind in zip(self.used.tolist(), self.all, strict=False)]
        fits = np.array([kind.fits(change.copy()) & may for may, kind in zip(of_numbers, self.all, strict=True)])
        as_is = self.used[place] & (fits[place, np.arange(len(place))] | ~np.array(of_numbers)[place])
        return np.where(as_is, place, np.where(fits.any(0), fits.argmax(0), -1))
