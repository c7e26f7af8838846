"""Explainers side by side: the same instances, the same counted model, one table."""

from ntdcfe_plugins.compare.calls import Flat
from ntdcfe_plugins.compare.counted import CountedModel, TimeLimitError
from ntdcfe_plugins.compare.side_by_side import COLUMNS, Comparison, Cost, Result, compare, results

__all__ = [
    "COLUMNS",
    "Comparison",
    "Cost",
    "CountedModel",
    "Flat",
    "Result",
    "TimeLimitError",
    "compare",
    "results",
]
