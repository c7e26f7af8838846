"""The moves in the space of edits, one file each; :data:`EDIT_MOVES` says which take part."""

from ntdcfe.search.edits.moves.add import Add
from ntdcfe.search.edits.moves.base import EditMove
from ntdcfe.search.edits.moves.broaden import Broaden
from ntdcfe.search.edits.moves.change_kind import ChangeKind
from ntdcfe.search.edits.moves.cross import Cross
from ntdcfe.search.edits.moves.drop import Drop
from ntdcfe.search.edits.moves.extend import Extend, ExtendAll
from ntdcfe.search.edits.moves.join import Join
from ntdcfe.search.edits.moves.move_window import MoveWindow
from ntdcfe.search.edits.moves.replace import Replace
from ntdcfe.search.edits.moves.shorten import Shorten
from ntdcfe.search.edits.moves.split import Split
from ntdcfe.search.edits.moves.swap_feature import SwapFeature
from ntdcfe.search.edits.moves.weaken import Weaken, WeakenAll

EDIT_MOVES: tuple[type[EditMove], ...] = (
    *(Weaken, WeakenAll, Shorten, MoveWindow, Extend, ExtendAll, Broaden, ChangeKind, Drop, Join, Split),
    *(SwapFeature, Replace, Cross, Add),
)

__all__ = ["EDIT_MOVES", "EditMove"]
