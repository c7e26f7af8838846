"""What changes of single cells gain near the boundary of a smooth model, measured from answers of yes and no.

Near its boundary a smooth model is as good as a plane. A state that lacks a known share of the present change is
mended by a move of one cell as soon as that has gained as much; a state that goes beyond the boundary by a known share
fails as soon as a changed cell has given up as much. How far each cell has to go tells its slope.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Answer
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.additive.measure import Measured, Moves

Shares = Generator[NDArray[Any], Answer, NDArray[np.float64]]


@dataclass(frozen=True, repr=False)
class SlopeTuning:
    """Numbers of measuring slopes; rules of thumb, chosen on four datasets (benchmarks/results/limits.md).

    Parameters
    ----------
    races : int
        Before the first round there are so many races from other starts.
    least_to_go_on : float
        A round that made the state cheaper by less than that share is the last one from this start.
    room, room_a_move : int, float
        Rows that have to be left for a round: so many, and so many for each possible move of a cell.
    levels : int
        Shares of the present change at which the boundary is looked for, in each of two questions.
    deepest, depths, tries : float, int, int
        A state may lack at most that share of what the change gains; half of it, a quarter and so on are tried, with
        so many moves each.
    mending, fewest, most : float
        It lacks so much that so many moves for each changed cell mend it, or as near to that as those shares allow.
    least, questions : float, int
        How far a cell has to go is told from that share of its way on, in so many questions, each of which divides what
        is open by three.
    most_alone, part : int, float
        More moves than that are first tried together with their neighbours in time; each group goes that
        part of its ways in sum.
    most_measured : int
        At most so many moves are measured, some of those that are left: rows and memory go with them.
    """

    races: int = 1
    least_to_go_on: float = 0.1
    room: int = 1_000
    room_a_move: float = 1.5
    levels: int = 64
    deepest: float = 0.1
    depths: int = 10
    tries: int = 30
    mending: float = 1.0
    fewest: float = 0.08
    most: float = 0.3
    least: float = 1 / 64
    questions: int = 2
    most_alone: int = 640
    part: float = 3.0
    most_measured: int = 1_280

    __repr__ = typed_back


class Slopes(NamedTuple):
    """Changes of single cells, and what each gains as a share of what the present change gains.

    Cells ``(m,)``, the values that they go from and to, and the gains; those that go on from where the present change
    takes their cell are `further` ``(m,)``, all others start at the original. Cells that are no part of the present
    change, and what goes further, are `new`.
    """

    cell: NDArray[np.int64]
    start: NDArray[Any]
    end: NDArray[Any]
    gain: NDArray[np.float64]
    new: NDArray[np.bool_]
    further: NDArray[np.bool_]


def slopes_of(measured: Measured, base: Base) -> Generator[NDArray[Any], Answer, Slopes | None]:
    """What the changed cells gain, and the others that gain most; None where nothing mends a near miss."""
    tuning = measured.search.settings.tuning.slopes
    cells = np.flatnonzero((base.flat != base.original) & ~measured.discrete)
    moves = measured.possible(base)
    if not len(cells) or not len(moves.cell):
        return None
    share = yield from _boundary(measured, base)
    wanted = np.clip(tuning.mending * len(cells) / len(moves.cell), tuning.fewest, tuning.most)
    depth = yield from _depth(measured, base, share, moves, float(wanted))
    missing = measured.with_share(base, np.array([share * (1 - depth)]))[0]
    beyond = measured.with_share(base, np.array([share * (1 + depth)]))[0]
    moves = yield from _promising(measured, base, missing, moves)
    if len(moves.cell) > tuning.most_measured:
        some = measured.search.rng.permutation(len(moves.cell))[: tuning.most_measured]
        moves = moves.take(np.sort(some))
    ends = measured.ends(moves)
    mends = yield from base.ask(_with(missing, moves.cell, ends))
    moves, ends = moves.take(mends), ends[mends]

    def moved(shares: NDArray[np.float64]) -> NDArray[Any]:
        return _with(missing, moves.cell, missing[moves.cell] + shares * (ends - missing[moves.cell]))

    def given_up(shares: NDArray[np.float64]) -> NDArray[Any]:
        return _with(beyond, cells, beyond[cells] + shares * (base.original[cells] - beyond[cells]))

    gain = depth / (yield from _enough(base, moved, len(moves.cell), True, tuning))
    matters = ~(yield from base.ask(given_up(np.ones(len(cells)))))
    worth = np.where(matters, 1 / (yield from _enough(base, given_up, len(cells), False, tuning)), 0.5)
    # All of the present change gains 1: how deep inside `beyond` is need not be known, where limits cut it.
    worth /= worth.sum()
    further = base.flat[moves.cell] != base.original[moves.cell]
    return Slopes(
        np.concatenate([cells, moves.cell]),
        np.concatenate([base.original[cells], base.flat[moves.cell]]),
        np.concatenate([base.flat[cells], ends]),
        np.concatenate([worth, gain]),
        np.repeat([False, True], [len(cells), len(moves.cell)]),
        np.concatenate([np.zeros(len(cells), bool), further]),
    )


def _boundary(measured: Measured, base: Base) -> Generator[NDArray[Any], Answer, float]:
    """The share of the present change at which the target is just missed."""
    low, high = 0.5, 1.0
    for _ in range(2):
        shares = np.linspace(low, high, measured.search.settings.tuning.slopes.levels + 2)[1:-1]
        missed = np.flatnonzero(~(yield from base.ask(measured.with_share(base, shares))))
        step = shares[1] - shares[0]
        low = float(shares[missed[-1]]) if len(missed) else low
        high = min(high, low + step)
    return (low + high) / 2


def _depth(
    measured: Measured, base: Base, share: float, moves: Moves, wanted: float
) -> Generator[NDArray[Any], Answer, float]:
    """The share of what the change gains that a state may lack so that the wanted share of moves mend it."""
    tuning = measured.search.settings.tuning.slopes
    sample = moves.take(measured.search.rng.permutation(len(moves.cell))[: tuning.tries])
    depths = tuning.deepest / 2.0 ** np.arange(tuning.depths)
    states = measured.with_share(base, share * (1 - depths))
    rows = [states, *(_with(state, sample.cell, measured.ends(sample)) for state in states)]
    valid = yield from base.ask(np.concatenate(rows))
    mended = valid[len(states) :].reshape(len(states), -1).mean(1)
    enough = np.flatnonzero((mended >= wanted) & ~valid[: len(states)])
    return float(depths[enough[0] if len(enough) else -1])


def _promising(
    measured: Measured, base: Base, missing: NDArray[Any], moves: Moves
) -> Generator[NDArray[Any], Answer, Moves]:
    """Of very many moves, those whose neighbours in time and they mend a near miss together.

    Neighbouring steps act alike: of some that go the same way together each goes a part of its way.
    """
    tuning = measured.search.settings.tuning.slopes
    width = -(-len(moves.cell) // tuning.most_alone)
    if width == 1:
        return moves
    step, feature = np.divmod(moves.cell, len(measured.search.space.features))
    _, block = np.unique(np.stack([moves.sign, feature, step // width]), axis=1, return_inverse=True)
    block = block.ravel()
    rows = np.repeat(missing[None], block.max() + 1, axis=0)
    part = min(1.0, tuning.part / width)
    rows[block, moves.cell] += part * (measured.ends(moves) - missing[moves.cell])
    return moves.take((yield from base.ask(rows))[block])


def _enough(
    base: Base, states_of: Callable[[NDArray[np.float64]], NDArray[Any]], n: int, valid: bool, tuning: SlopeTuning
) -> Shares:
    """The least share of its way ``(n,)`` at which each of n states is valid, or is not."""
    low, high = np.full(n, tuning.least), np.ones(n)
    for _ in range(tuning.questions):
        third = (high / low) ** (1 / 3)
        first, second = low * third, low * third**2
        answers = yield from base.ask(np.concatenate([states_of(first), states_of(second)]))
        at_first, at_second = (answers == valid).reshape(2, n)
        high = np.where(at_first, first, np.where(at_second, second, high))
        low = np.where(at_first, low, np.where(at_second, first, second))
    return np.sqrt(low * high)


def _with(state: NDArray[Any], cells: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
    """A flat state with one cell set to a value, for each of them ``(n, K * F)``."""
    states = np.repeat(state[None], len(cells), axis=0)
    states[np.arange(len(cells)), cells] = values
    return states
