"""Time steps by the names that the user's container has for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntdcfe import Counterfactual, Features, InvalidInputError
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.words import changes, sentences, when


def names_of(index: pd.Index) -> list[str] | None:
    """The names of the steps of an index; None for one that only counts them."""
    if index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index))):
        return None
    if isinstance(index, pd.DatetimeIndex) and (index == index.normalize()).all():
        return [str(day) for day in index.date]
    return [str(step) for step in index]


def step_mask(steps: Any, index: pd.Index) -> NDArray[np.bool_]:
    """Which steps of an index are meant ``(K,)``.

    Parameters
    ----------
    steps : slice or list, of times or of positions, or a boolean mask
        Times are those of the index, as they are or as text (``slice("2024-05", None)``, ends included); a text may
        stand for several of them. Whole numbers are positions.
    index : pandas.Index
    """
    mask = np.zeros(len(index), bool)
    try:
        if isinstance(steps, slice):
            ends = (steps.start, steps.stop)
            by_position = all(end is None or isinstance(end, (int, np.integer)) for end in ends)
            mask[steps if by_position else index.slice_indexer(*ends, steps.step)] = True
            return mask
        listed = np.atleast_1d(np.asarray(steps, dtype=object)) if isinstance(steps, str) else np.asarray(steps)
        if listed.dtype.kind in "biu" or not listed.size:
            mask[listed if listed.size else listed.astype(int)] = True
            return mask
        for time in [steps] if isinstance(steps, str) or np.ndim(listed) == 0 else list(steps):
            mask[index.slice_indexer(time, time)] = True
            if not mask[index.slice_indexer(time, time)].any():
                raise KeyError(time)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"actionable_steps must pick from the {len(index)} steps of the series, {index[0]} to {index[-1]}, got "
            f"{steps!r} ({type(error).__name__}: {error})."
        ) from None
    return mask


def in_steps(cf: Counterfactual, names: Sequence[str] | None) -> Counterfactual:
    """The counterfactual with sentences in which steps have those names."""
    if names is None or cf.features.step_names is not None:
        return cf
    old, new = cf.features, replace(cf.features, step_names=names)
    original = np.atleast_2d(cf.original)

    def named(edits: Sequence[Edit]) -> tuple[Edit, ...]:
        def window(edit: Edit, features: Features) -> str:
            return when(features, edit.first_step, edit.last_step, len(original))

        return tuple(e._replace(text=e.text.replace(window(e, old), window(e, new))) for e in edits)

    def changed(x: Any) -> Any:
        return () if x is None else changes(old.encode(original), old.encode(np.atleast_2d(x)), new)

    options = {}
    for kind, option in cf.options.items():
        edits = named(option.edits)
        text = "\n".join(sentences(changed(option.x), edits, new.names))
        options[kind] = replace(option, edits=edits, text=text)
    return replace(cf, features=new, edits=named(cf.edits), changes=changed(cf.x), options=options)
