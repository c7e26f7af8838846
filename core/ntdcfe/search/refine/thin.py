"""Of a change of very many cells, those that matter: random groups of cells are given up, whatever held together."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Answer, Search
from ntdcfe.search.refine.additive.base import Base

Based: TypeAlias = Generator[NDArray[Any], Answer, Base]


@dataclass(frozen=True, repr=False)
class ThinTuning:
    """Numbers of group testing where very many cells are changed (rules of thumb, chosen at 144 x 963: scale.md).

    Parameters
    ----------
    many : int
        Only where more cells than that are changed.
    groups : int
        Groups of cells that are tried in one question, and shares of the whole change in the first.
    span : float
        How many times as large the largest groups are as the smallest. The best size is what gave up most so far.
    together : int
        Groups that held are put together to at most twice as many sets, in the next question.
    least_gain, most_failed : float, int
        After so many questions in turn that made the answer cheaper by a smaller share, it is done.
    """

    many: int = 4_000
    groups: int = 40
    span: float = 8.0
    together: int = 8
    least_gain: float = 0.02
    most_failed: int = 3

    __repr__ = typed_back


def thinned(search: Search, base: Base) -> Based:
    """The state with fewer changed cells, moved by as little as all of them together allow.

    With n cells that matter, a group of one cell in n holds in a third of cases: many such groups in one question, and
    those that held, together, in the next, leave out most of the cells that do not matter, however many there are.
    """
    tuning, rng = search.settings.tuning.thin, search.rng
    shares = np.arange(1, tuning.groups) / tuning.groups
    yield from base.ask(base.original + shares[:, None] * (base.flat - base.original))
    base = base.moved_on()
    failed, size = 0, 0.5  # the share of cells that a group has
    known = np.zeros((0, len(base.flat)), bool)  # groups that held
    while failed < tuning.most_failed and search.left():
        cells = np.flatnonzero(base.flat != base.original)
        unions = _unions(known[:, cells], tuning.together, rng)
        sizes = np.minimum(size * np.geomspace(1 / tuning.span, tuning.span, tuning.groups) ** 0.5, 0.9)
        groups = rng.random((tuning.groups, len(cells))) < sizes[:, None]
        held = (yield from base.ask(_without(base, cells, np.concatenate([unions, groups]))))[len(unions) :]
        known = np.zeros((held.sum(), len(base.flat)), bool)
        known[:, cells] = groups[held]
        size = _best_size(sizes, held)
        before, base = base.cost, base.moved_on()
        failed = 0 if base.cost < before * (1 - tuning.least_gain) else failed + 1
    return base


def _unions(groups: NDArray[np.bool_], most: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Some of the groups ``(n, cells)`` together: the largest of them, and any ``(m, cells)``."""
    if not len(groups):
        return groups
    order = np.argsort(-groups.sum(1), kind="stable")
    counts = np.unique(np.geomspace(1, len(order), most).astype(int))
    sets = [order[:n] for n in counts] + [rng.permutation(order)[:n] for n in counts[1:]]
    return np.array([groups[some].any(0) for some in sets])


def _best_size(sizes: NDArray[np.float64], held: NDArray[np.bool_]) -> float:
    """The size of groups by which most was given up, from one question: sizes ``(n,)``, the smallest first."""
    window = np.ones(max(1, len(sizes) // 4))
    rate = np.convolve(held, window, "same") / np.convolve(np.ones(len(sizes)), window, "same")
    if not held.any():
        return float(sizes[0] / 2)
    return float(sizes[np.argmax(rate * sizes)])


def _without(base: Base, cells: NDArray[np.int64], given_up: NDArray[np.bool_]) -> NDArray[Any]:
    """The state with groups of its changed cells as they were: ``(n, cells)`` to ``(n, K * F)``."""
    states = np.repeat(base.flat[None], len(given_up), axis=0)
    states[:, cells] = np.where(given_up, base.original[cells], base.flat[cells])
    return states
