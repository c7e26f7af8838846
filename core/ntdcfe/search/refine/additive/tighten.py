"""Bring every changed cell back as far as the state stays valid: all cells at several levels in one question."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.search.base import Answer, Asks, Search
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.scaling import between

Based = Generator[NDArray[Any], Answer, Base]


def tightened(search: Search, base: Base, finely: bool = False) -> Based:
    """The state with less of its changes, first in coarse steps, and finely if that is asked for."""
    tuning = search.settings.tuning.additive
    even = np.arange(tuning.levels) / tuning.levels
    steps = tuning.levels ** np.arange(tuning.finest if finely else 1)
    grids = [even, *(1 - even[:0:-1] / step for step in steps[1:])]
    for kept in grids:
        while search.left():
            before = base.cost
            yield from _once(search, base, kept)
            base = base.moved_on()
            if not base.cost < before * (1 - tuning.least_gain):
                break
    return base


def _once(search: Search, base: Base, kept: NDArray[np.float64]) -> Asks:
    """Each changed cell alone at each of the shares `kept` ``(l,)``, then what held together."""
    tuning, rng = search.settings.tuning.additive, search.rng
    cells, price = base.changed(tuning.most_rows // len(kept))
    if not len(cells):
        return
    values = _back(search, base, cells[:, None], kept)  # (cells, l)
    tried = base.with_cells(np.repeat(cells, len(kept)), values.ravel())
    valid = (yield from base.ask(tried)).reshape(values.shape)
    least = np.where(valid.any(1), values[np.arange(len(cells)), valid.argmax(1)], base.flat[cells])
    gain = price - base.price(least, cells)
    order = np.argsort(-gain, kind="stable")
    order = order[gain[order] > 0]
    if len(order) < 2 or gain.sum() < tuning.least_gain * base.cost:
        return
    sizes = np.unique(np.geomspace(2, len(order), 2 * tuning.together).astype(int))
    some = np.arange(len(order)) < sizes[:, None]  # those with most to give, together
    any_ = rng.random((tuning.together, len(order))) < rng.random((tuning.together, 1))
    row, column = np.nonzero(np.concatenate([some, any_]))
    states = np.repeat(base.flat[None], row.max() + 1, axis=0)
    states[row, cells[order[column]]] = least[order[column]]
    yield from base.ask(states)


def _back(search: Search, base: Base, cells: NDArray[np.int64], kept: NDArray[np.float64]) -> NDArray[Any]:
    """The values of cells ``(m, 1)`` when shares ``(l,)`` of their changes are kept ``(m, l)``."""
    space = search.space
    discrete = space.discrete[cells % len(space.discrete)]
    discrete = np.broadcast_to(discrete, (len(cells), len(kept)))
    return between(base.original[cells], base.flat[cells], kept, discrete)
