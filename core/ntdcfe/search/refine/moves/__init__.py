"""The moves of a descent, one file each; :data:`MOVES` says which take part, in this order."""

from ntdcfe.search.refine.moves.base import Memory, Move
from ntdcfe.search.refine.moves.exchange import Exchange
from ntdcfe.search.refine.moves.rebuild import Rebuild
from ntdcfe.search.refine.moves.shrink import Shrink

MOVES: tuple[type[Move], ...] = (Shrink, Rebuild, Exchange)

__all__ = ["MOVES", "Exchange", "Memory", "Move", "Rebuild", "Shrink"]
