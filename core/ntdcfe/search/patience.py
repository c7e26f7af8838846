"""When a search is done: many rows were asked, and the best answer has hardly become cheaper."""

from __future__ import annotations

from dataclasses import dataclass

# A best answer that is cheaper by a smaller share than this has not moved.
LEAST_GAIN = 0.01


@dataclass
class Patience:
    """Rows since the best answer was last made cheaper by 1%, all at once or little by little.

    Parameters
    ----------
    rows : int
        After so many of them the search is done.
    """

    rows: int
    begun: int = 0
    """Rows that were asked before."""
    waiting: bool = False
    """Whether something is still to come that may gain more: as long as that is so, the search is not done."""

    def __post_init__(self) -> None:
        self._cost, self._gained_at, self._now = float("inf"), self.begun, self.begun

    def note(self, now: int, cost: float) -> None:
        """After `now` rows the best answer has that cost, infinity while there is none."""
        self._now = now
        if not cost > self._cost * (1 - LEAST_GAIN):
            self._cost, self._gained_at = cost, now

    @property
    def over(self) -> bool:
        """Whether the search is done."""
        return not self.waiting and self._now - self._gained_at >= self.rows
