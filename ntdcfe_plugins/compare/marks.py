"""Which methods of a comparison are best and worst by each measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Mark = Literal["best", "worst", "apart", ""]

#: Whether more or less of a column of the summary is better; of the others neither is.
BETTER: dict[str, Literal["more", "less"]] = {
    "success %": "more", "validity %": "more", "l1": "less", "l2": "less", "sparsity": "less", "features": "less",
    "edits": "less", "segments": "less", "contiguity": "more", "roughness": "less", "survival_1 %": "more",
    "survival_5 %": "more", "confidence": "more", "dtw": "less", "plausible %": "more", "plausible_forest %": "more",
    "allowed %": "more", "diversity": "more", "rows": "less", "calls": "less", "seconds": "less", "fit seconds": "less",
    "fit rows": "less",
}  # fmt: skip
#: Means over all instances; the other columns are means over successes, and say nothing beside more successes.
OVER_ALL = ("success %", "validity %", "rows", "calls", "seconds", "fit seconds", "fit rows")
#: Within this share of the best counts as best.
LEVEL = 0.02
#: Times closer than this are level: they differ by what else the machine does.
SECONDS = 0.1


@dataclass(frozen=True)
class Marks:
    """The marks of a summary.

    Parameters
    ----------
    marks : dict of (method, column) to mark
        "best"; "worst"; "apart" for what is not compared: a mean over fewer successes than others have, and the costs
        of a method that never succeeds.
    level : float
        Within this share of the best counts as best.
    """

    marks: Mapping[tuple[str, str], Mark]
    level: float = LEVEL

    def of(self, method: str, column: str) -> Mark:
        """The mark of one cell."""
        return self.marks.get((method, column), "")


def marks_of(summary: Sequence[Mapping[str, Any]]) -> Marks:
    """Mark the best and the worst of every column.

    Parameters
    ----------
    summary : sequence of mappings
        One for each method, see :meth:`.Comparison.summary`.

    Notes
    -----
    Nothing is marked where all are alike, or only one has a value.
    """
    marks: dict[tuple[str, str], Mark] = {}
    most = max((row["success %"] for row in summary if row["success %"] == row["success %"]), default=0.0)
    for column, better in BETTER.items():
        there = {row["method"]: float(row[column]) for row in summary if row[column] == row[column]}
        if column not in ("success %", "validity %"):
            enough = 1e-9 if column in OVER_ALL else most
            fewer = [row["method"] for row in summary if row["method"] in there and row["success %"] < enough]
            marks |= dict.fromkeys(((method, column) for method in fewer), "apart")
            there = {method: value for method, value in there.items() if method not in fewer}
        if len(there) < 2:
            continue
        best, worst = (max, min) if better == "more" else (min, max)
        top, bottom = best(there.values()), worst(there.values())
        slack = SECONDS if column.endswith("seconds") else LEVEL * abs(top)
        if abs(top - bottom) <= slack:
            continue
        for method, value in there.items():
            if abs(value - top) <= slack:
                marks[method, column] = "best"
            elif value == bottom:
                marks[method, column] = "worst"
    return Marks(marks)
