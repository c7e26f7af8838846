"""What one edit of an answer does."""

from __future__ import annotations

from typing import Any, NamedTuple


class Contribution(NamedTuple):
    """What the model says of the answer without one edit, and with that edit alone.

    `share` is the edit's Shapley share of what all edits do together, from the model's scores; None where the model
    gives labels only.
    """

    without: Any
    alone: Any
    share: float | None
