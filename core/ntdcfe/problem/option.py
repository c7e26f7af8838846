"""One of the answers of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from numpy.typing import NDArray

from ntdcfe.problem.alike import Comparable
from ntdcfe.problem.codec import plain, plain_difference, undifference, unplain
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.survival import Survived


@dataclass(frozen=True, repr=False, eq=False)
class Option(Comparable):
    """One of the answers of a search.

    Attributes
    ----------
    x : array
        The counterfactual, in the shape of the series.
    edits : tuple of Edit
        Empty for an answer that was searched for cell by cell.
    proximity : float
    sparsity : int
    survival : Survived or None
    text : str
        Its sentences.
    """

    x: NDArray[Any]
    edits: tuple[Edit, ...]
    proximity: float
    sparsity: int
    survival: Survived | None
    text: str

    def to_dict(self, original: NDArray[Any]) -> dict[str, Any]:
        """This in plain JSON, as a difference from the original."""
        entry = {field.name: plain(getattr(self, field.name)) for field in fields(self) if field.name != "x"}
        return {"x": plain_difference(self.x, original), **entry}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any], original: NDArray[Any]) -> Option:
        """What `to_dict` was called on."""
        values = {name: unplain(value) for name, value in entry.items() if name != "x"}
        values["edits"] = tuple(Edit(*edit) for edit in values["edits"])
        values["survival"] = None if values["survival"] is None else Survived(*values["survival"])
        return cls(x=undifference(entry["x"], original), **values)

    def __repr__(self) -> str:
        held = "" if self.survival is None else f", survival={self.survival.share:.2f}"
        return f"<Option: {len(self.edits)} edits, proximity={self.proximity:.4g}, sparsity={self.sparsity}{held}>"

    def __str__(self) -> str:
        return self.text
