"""What the numbers of edits do to one series: by which they change nothing, and by which they change it so much."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.problem.kind import Window
from ntdcfe.problem.kinds import BUILT_IN
from ntdcfe.problem.kinds_used import Kinds
from ntdcfe.problem.objective import VALUES_AT_ONCE
from ntdcfe.problem.space import Space

# Up to so many windows are looked at by all kinds (rule of thumb).
FEW_WINDOWS = 100


class EditNumbers:
    """The numbers of edits of one series.

    Parameters
    ----------
    space : Space
    kinds : Kinds, optional
        Of edits; the built-in ones if not given.
    """

    def __init__(self, space: Space, kinds: Kinds | None = None) -> None:
        self.space = space
        self.kinds = Kinds() if kinds is None else kinds
        self.units = space.units
        self._values = np.ascontiguousarray(space.original.T)
        self._has_discrete = bool(space.discrete.any())
        self._at_once = max(1, VALUES_AT_ONCE // space.n_steps)

    def window(self, edit: EditLists) -> Window:
        """What the original is like in the windows of single edits, columns ``(n,)``."""
        return Window(self._values, edit.feature, edit.first, edit.last)

    def neutral(self, edit: EditLists) -> NDArray[np.float64]:
        """The numbers ``(n,)`` with which single edits would change nothing, or least."""
        known = self.kinds.nothing.take(edit.kind)
        return self._completed(known, edit.kind, lambda kind, window: kind.neutral(window), edit)

    def weakened(
        self, edit: EditLists, ratio: NDArray[np.float64], neutral: NDArray[np.float64] | None = None
    ) -> EditLists:
        """Edits with their numbers moved to that share of their effect; set ones stay as they are.

        Single edits, columns ``(n,)``, or lists ``(n, m)`` whose `neutral` numbers are known.
        """
        neutral = self.neutral(edit) if neutral is None else neutral
        number = neutral + (edit.number - neutral) * ratio
        if self._has_discrete:
            number = np.where(self.space.discrete[edit.feature], edit.number, number)
        return EditLists(edit.codes, number)

    def all_weakened(self, lists: EditLists, ratio: Any, neutral: NDArray[np.float64] | None = None) -> EditLists:
        """All edits of each list with their effects multiplied by `ratio`, one number or one a list ``(n,)``."""
        if neutral is not None:
            return self.weakened(lists, np.reshape(ratio, (-1, 1)), neutral)
        shape, flat, number = lists.number.shape, lists.flat, lists.number.ravel().copy()
        ratio = np.broadcast_to(np.reshape(ratio, (-1, 1)), shape).ravel()
        edits = (flat.kind != NONE).nonzero()[0]
        for start in range(0, len(edits), self._at_once):
            some = edits[start : start + self._at_once]
            number[some] = self.weakened(flat.take(some), ratio[some]).number
        return lists.replaced(number=number.reshape(shape))

    def changed_by(self, edit: EditLists, neutral: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """About how far single edits move their feature, up or down, in its own scale ``(n,)``."""
        neutral = self.neutral(edit) if neutral is None else neutral
        away, ratios = edit.number - neutral, (~self.kinds.scaled[edit.kind]).nonzero()[0]
        if len(ratios):
            window = self.window(edit.take(ratios))
            away[ratios] *= window.high - window.low
        return away

    def of_kind(self, edit: EditLists, kind: NDArray[np.int64], change: NDArray[np.float64]) -> EditLists:
        """Single edits of that kind ``(n,)`` in the same windows, changing them by about `change` ``(n,)``."""
        kind = self.kinds.fitting(kind, change)
        known = self.kinds.times_change.take(kind) * change
        number = self._completed(known, kind, lambda k, window, c: k.number_for(c, window), edit, change)
        return edit.replaced(kind=kind, number=number)

    def _completed(
        self, numbers: NDArray[np.float64], kinds: NDArray[np.int64], ask: Any, edit: EditLists, *columns: NDArray[Any]
    ) -> NDArray[np.float64]:
        """The numbers ``(n,)``, and where they are NaN, because they depend on the window, what kinds ``(n,)`` say.

        `ask` takes a kind, windows of the single edits, and the columns ``(n,)`` of these.
        """
        unknown = np.isnan(numbers)
        if not unknown.any():
            return numbers
        # A few windows are looked at once for all kinds: numpy's calls take longer than the numbers.
        shared = self.window(edit) if len(kinds) <= FEW_WINDOWS else None
        for which in set(kinds[unknown].tolist()):
            kind, here = self.kinds.all[which], kinds == which
            if shared is not None and which < len(BUILT_IN):
                np.copyto(numbers, ask(kind, shared, *columns), where=here)
                continue
            rows = here.nonzero()[0]
            told = ask(kind, self.window(edit.take(rows)), *(column[rows] for column in columns))
            numbers[rows] = np.where(np.isfinite(told), told, 0.0) if which >= len(BUILT_IN) else told
        return numbers
