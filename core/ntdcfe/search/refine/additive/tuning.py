"""The numbers of the additive rounds."""

from __future__ import annotations

from dataclasses import dataclass

from ntdcfe.problem.reprs import typed_back


@dataclass(frozen=True, repr=False)
class AdditiveTuning:
    """Numbers of the additive rounds; rules of thumb, chosen on four forests (benchmarks/results/limits.md).

    Parameters
    ----------
    room, room_for_next : int
        Rows that have to be left for the first round, and for a further one.
    largest : int
        Cells of the largest series that there are rounds for: of larger ones, wide questions take much memory.
    slow_calls, slow_gain : int, float
        A race is left for a round where so many calls made its best state cheaper by less than that share.
    most_cells : int
        Changed cells that a round looks at, the dearest of them.
    most_rows : int
        Rows that one question of a round has at most.
    levels : int
        Into how many parts the change of a cell is divided to find how much of it is needed.
    finest : int
        How often such parts are divided again in a fine look.
    least_gain : float
        What is gained by tightening has to be that share of the cost to be tried together, and to go on.
    together : int
        Random sets of what can be tightened that are tried together.
    tries, small, few : int, float, float
        So many moves at that share of the usual expense tell whether few of them decide: by a smaller share than `few`
        of them a near miss is mended in forests, by a larger one in smooth models (measured on seven datasets: at most
        0.07, and mostly more than 0.1).
    least_of_round, most_failed : float, int
        A round that gains a smaller share of the cost has failed; so many of them are the last ones, or the first.
    near_misses, samples : int
        States that may just miss the target, of two kinds so many each, and the moves that tell which of them does.
    scan : int
        Groups of moves that are tried, once some moves are known to hold.
    groups_holding, most_together : float, int
        How many members of a group of moves should hold on average, and how many members it has at most.
    expense : float
        The quantile of the prices of changed cells that a move may cost.
    amounts : tuple of float
        Shares of that expense at which a move that held is tried.
    most_moves : int
        Moves that a round looks at more closely, the least costly of them.
    units : int
        The most that one cell may be worth, in least costly moves that each make up for the near miss.
    parts : tuple of float
        Shares of a cell's change that it may be brought back to.
    most_gain : int
        Up to how much a move may be found to gain, in the same units.
    draws, dropped, margins : int, float, int
        How often the sum is solved for, which share of what is known is left out in each, and up to how many units
        more than needed are asked for.
    span : int
        Units that may be given up in all.
    """

    room: int = 3_000
    room_for_next: int = 1_200
    largest: int = 4_000
    slow_calls: int = 4
    slow_gain: float = 0.1
    most_cells: int = 32
    most_rows: int = 640
    levels: int = 4
    finest: int = 4
    least_gain: float = 0.003
    together: int = 24
    tries: int = 60
    small: float = 0.25
    few: float = 0.065
    least_of_round: float = 0.01
    most_failed: int = 2
    near_misses: int = 3
    samples: int = 24
    scan: int = 80
    groups_holding: float = 0.5
    most_together: int = 16
    expense: float = 0.9
    amounts: tuple[float, ...] = (1 / 32, 1 / 16, 3 / 32, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0)
    most_moves: int = 60
    units: int = 7
    parts: tuple[float, ...] = (0.25, 0.5, 0.75)
    most_gain: int = 4
    draws: int = 16
    dropped: float = 0.9
    margins: int = 4
    span: int = 80

    __repr__ = typed_back
