"""Time steps by the names that the user's container has for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ntdcfe import Counterfactual, Features
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.words import changes, sentences, when


def names_of(index: pd.Index) -> list[str] | None:
    """The names of the steps of an index; None for one that only counts them."""
    if index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index))):
        return None
    if isinstance(index, pd.DatetimeIndex) and (index == index.normalize()).all():
        return [str(day) for day in index.date]
    return [str(step) for step in index]


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
