"""Lists of edits that the walk starts from: random ones, and stronger ones than those known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import NONE, EditLists
from ntdcfe.problem.kinds import PLACE
from ntdcfe.search.edits.draws import Drawer


def random_lists(
    editor: Drawer,
    n: int,
    most: int,
    strength: float,
    rng: np.random.Generator,
    features: NDArray[np.int64] | None = None,
) -> EditLists:
    """n lists of one to `most` random edits of up to `strength` units, of some features if they are given."""
    lists, count = EditLists.empty(n, most), rng.integers(1, most + 1, n)
    for place in range(most):
        chosen = None if features is None else rng.choice(features, n)
        lists.put(count > place, np.full(n, place), editor.draw(n, strength, rng, chosen))
    return lists


def bold_lists(
    editor: Drawer, known: EditLists, n: int, most: int, strength: float, rng: np.random.Generator
) -> EditLists:
    """n lists of up to `most` of the edits of known ones, in long windows and much stronger: directions are known."""
    steps = editor.steps
    lists = known.take(rng.integers(0, len(known), n))
    rank = np.where(lists.kind >= 0, rng.random(lists.kind.shape), 2.0).argsort(1).argsort(1)
    kept = (lists.kind >= 0) & (rank < rng.integers(1, most + 1, n)[:, None])
    lists = lists.replaced(kind=np.where(kept, lists.kind, NONE)).copy()
    strengths = rng.uniform(0.2, strength, n)
    for place in range(lists.kind.shape[1]):
        at, whole = np.full(n, place), rng.random(n) < 0.7
        edit = lists.at(at)
        edit = edit.replaced(first=np.where(whole, steps[0], edit.first), last=np.where(whole, steps[-1], edit.last))
        change = np.sign(editor.changed_by(edit)) * strengths * editor.units[edit.feature]
        bold = editor.of_kind(edit, edit.kind, change)
        lists.put((edit.kind >= 0) & ~editor.space.discrete[edit.feature], at, bold)
    return lists.packed()


def band_lists(editor: Drawer, n: int, most: int, strength: float, rng: np.random.Generator) -> EditLists:
    """n lists of one to `most` shifts of neighbouring features, side by side, up or down by up to `strength` units.

    Together they move all features of one scale, so that few edits do what many single ones would.
    """
    start, size = editor.runs
    run = rng.choice(editor.features[size[editor.features] > 1], n)
    first, count = start[run], np.minimum(rng.integers(1, most + 1, n), size[run])
    # Cuts between the bands, in order; those beyond the last band are at the end of the run.
    cuts = np.sort(np.where(np.arange(most - 1) < count[:, None] - 1, rng.random((n, most - 1)), 1.0), axis=1)
    cuts = np.round(cuts * size[run][:, None]).astype(int)
    cuts = np.column_stack([np.zeros(n, int), cuts, size[run]])
    windows, lists = editor.draw_windows(n, rng), EditLists.empty(n, most)
    whole = rng.random(n) < 0.5
    windows = np.where(whole, editor.steps[0], windows[0]), np.where(whole, editor.steps[-1], windows[1])
    strengths = rng.uniform(0.2, strength, n)
    for place in range(most):
        width = cuts[:, place + 1] - cuts[:, place]
        feature = np.minimum(first + cuts[:, place], len(start) - 1)
        change = rng.choice([-1.0, 1.0], n) * strengths * editor.units[feature]
        shift = EditLists.of(np.full(n, PLACE["shift"]), feature, np.maximum(width, 1), *windows, change)
        lists.put(width > 0, np.full(n, place), shift)
    return lists.packed()


def strengthened(editor: Drawer, lists: EditLists, ratio: Any) -> EditLists:
    """All edits of each list with their effects multiplied by `ratio`, one number or one a list ``(n,)``."""
    return editor.all_weakened(lists, ratio)


def at_strengths(editor: Drawer, lists: EditLists, ratios: Sequence[float]) -> EditLists:
    """All lists with their effects multiplied by the first of the ratios, then all by the second, and so on."""
    copies = EditLists.concatenate([lists] * len(ratios))
    return strengthened(editor, copies, np.repeat(ratios, len(lists)))


def grown(editor: Drawer, lists: EditLists, rng: np.random.Generator) -> EditLists:
    """Stronger edits in longer windows."""
    steps, n = editor.steps, len(lists)
    lists = strengthened(editor, lists, rng.uniform(1.0, 2.5, n))
    more = np.where(rng.random(n) < 0.6, rng.uniform(0, 0.7, n), 0.0)[:, None]
    by = np.ceil((lists.last - lists.first + 1) * more).astype(int)
    return lists.replaced(
        first=np.maximum(lists.first - by, steps[0]), last=np.minimum(lists.last + by, steps[-1])
    )
