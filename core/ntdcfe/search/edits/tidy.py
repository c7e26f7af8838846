"""Shifts of one feature in one window are one shift: nobody would say them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.problem.edits import Editor
from ntdcfe.problem.kinds import PLACE
from ntdcfe.search.base import Found

# Apart by less than that share of a unit, values are the same but for rounding.
SAME = 1e-9


def tidied(editor: Editor, state: NDArray[Any], edits: EditLists) -> Found:
    """An answer ``(K, F)`` and its edits ``(1, m)``, with as few of them as lead to the same state."""
    joined = edits.copy()
    windows = [tuple(codes) for codes in edits.codes[:, 0].T]
    for i, window in enumerate(windows):
        first = windows.index(window)
        if first < i and window[0] == PLACE["shift"]:
            joined.number[0, first] += edits.number[0, i]
            joined.kind[0, i] = NONE
    if (joined.kind == edits.kind).all():
        return Found(state, edits)
    joined = editor.rounded(joined).packed()
    as_joined = editor.states(joined)[0]
    apart = (np.abs(as_joined - state) > SAME * editor.units).any()  # limits, or another edit in between
    return Found(state, edits) if apart else Found(as_joined, joined)
