"""The result of a comparison: a table, a summary, and the counterfactuals behind them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Features
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.compare.page import comparison_html, summary_html
from ntdcfe_plugins.report import filled, number

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]
NAN = float("nan")

#: What the columns of the table mean; it has one row for each method and instance. An entry that does not apply is NaN.
#: Where a method gave several counterfactuals, the nearest valid one is scored.
GLOSSARY = {
    "method": "the name of the explainer",
    "instance": "the row of X",
    "status": '"found", "not found" (nothing returned, or nothing valid), "failed", "time limit" or "already target"',
    "success": "whether one of the counterfactuals reaches the target",
    "validity": "the share of them that do",
    "l1": "sum of the absolute changes; discrete features count 1 if changed, one-hot groups once",
    "l2": "root of the sum of their squares",
    "sparsity": "how many values differ, each of one feature at one step",
    "features": "how many features differ at some step",
    "edits": "named edits that it is made of, where its explainer tells; features that they do not speak of count by "
    "their runs",
    "segments": "how many unbroken runs of changed steps there are, feature by feature",
    "contiguity": "one less the share of steps at which a run of changed steps begins, whichever features changed: "
    "near 1 if all changes hang together",
    "roughness": "sum of absolute second differences of the changed continuous features, after beside before: 1 if the "
    "series is as smooth as it was, more if it has got spikes",
    "survival_1": "share of disturbed copies that still reach the target, with Gaussian noise of 1% of each continuous "
    "feature's unit on every cell",
    "survival_5": "the same with noise of 5%",
    "confidence": "the model's probability of the target, where it gives probabilities",
    "dtw": "distance if time may be stretched: dynamic time warping, all features together",
    "plausible": "whether it is an inlier of the reference data by the local outlier factor",
    "plausible_forest": "whether it is one by an isolation forest",
    "allowed": "whether it keeps to the descriptions of the features, and to the constraints",
    "diversity": "mean L1 distance between the valid ones of a method",
    "rows": "rows that the model was asked about",
    "calls": "calls to the model",
    "seconds": "time by the clock",
    "cpu_seconds": "processor time",
    "note": "why there is none",
}
#: The columns of the table, in their order.
COLUMNS = tuple(GLOSSARY)


class Cost(NamedTuple):
    """The costs of building, and fitting, an explainer; rows and calls are NaN of one that was built before."""

    rows: float
    calls: float
    seconds: float


class Result(NamedTuple):
    """One method on one instance: its row of the table, and its nearest valid counterfactual.

    Beside them what the model says of the instance, and the package that the method comes from, where it is known.
    """

    row: dict[str, Any]
    x: Array | None
    said: str = ""
    made_with: str = ""


@dataclass(frozen=True)
class Comparison:
    """Explainers side by side: the result of :func:`ntdcfe_plugins.compare.compare`.

    Parameters
    ----------
    table : list of dict
        One row for each method and instance; :data:`GLOSSARY` says what its entries mean.
    instances : array (N, K, D) or (N, D)
    counterfactuals : dict of (method, instance) to array or None
        The nearest valid one of each.
    fits : dict of method to Cost
        The costs of building the explainers.
    target : str
    features : Features, optional
    labels : sequence of str
        What the model says of each instance, as text.
    versions : dict of method to str
        The packages that each method was made with.
    notes : sequence of str
        What a reader of the page has to know beside it, such as what the instances are.
    """

    table: list[dict[str, Any]] = field(repr=False)
    instances: Array = field(repr=False)
    counterfactuals: dict[tuple[str, int], Array | None] = field(repr=False)
    fits: dict[str, Cost]
    target: str
    features: Features | None = field(default=None, repr=False)
    labels: Sequence[str] = field(default=(), repr=False)
    versions: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: Sequence[str] = field(default=(), repr=False)

    @property
    def methods(self) -> list[str]:
        """The names, in order."""
        return list(dict.fromkeys(row["method"] for row in self.table))

    @silent()
    def summary(self) -> list[dict[str, Any]]:
        """One row a method: shares in percent, means of the rest.

        Distances and counts of changes are means over successes, so that they can be compared between methods of
        equal success. Costs are means over all instances.
        """
        return [self._summary_of(method) for method in self.methods]

    def _summary_of(self, method: str) -> dict[str, Any]:
        rows = [row for row in self.table if row["method"] == method and row["status"] != "already target"]
        good = [row for row in rows if row["success"]]

        def mean(name: str, over: list[dict[str, Any]], factor: float = 1.0) -> float:
            values = np.array([row[name] for row in over], dtype=float)
            return factor * float(values[~np.isnan(values)].mean()) if (~np.isnan(values)).any() else NAN

        fit = self.fits.get(method, Cost(NAN, NAN, NAN))
        return {
            "method": method,
            "n": len(rows),
            "success %": mean("success", rows, 100),
            "validity %": mean("validity", rows, 100),
            **{name: mean(name, good) for name in ("l1", "l2", "sparsity", "features", "edits", "segments")},
            **{name: mean(name, good) for name in ("contiguity", "roughness")},
            **{f"{name} %": mean(name, good, 100) for name in ("survival_1", "survival_5")},
            **{name: mean(name, good) for name in ("confidence", "dtw")},
            **{f"{name} %": mean(name, good, 100) for name in ("plausible", "plausible_forest", "allowed")},
            "diversity": mean("diversity", good),
            **{name: mean(name, rows) for name in ("rows", "calls", "seconds")},
            "fit seconds": fit.seconds,
            "fit rows": fit.rows,
        }

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame; needs pandas."""
        import pandas as pd

        return pd.DataFrame(self.table, columns=list(COLUMNS))

    def to_csv(self, path: str | Path) -> None:
        """Write the table."""
        with Path(path).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(self.table)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The summary as a Markdown table, written to `path` if given; columns without an entry are left out."""
        summary = self.summary()
        shown = filled(summary)
        out = io.StringIO()
        out.write("| " + " | ".join(shown) + " |\n" + "| --- " * len(shown) + "|\n")
        for row in summary:
            out.write("| " + " | ".join(number(row[name]).replace("|", "\\|") for name in shown) + " |\n")
        if path is not None:
            Path(path).write_text(out.getvalue(), encoding="utf-8")
        return out.getvalue()

    def to_html(self, path: str | Path, title: str = "Counterfactual explainers side by side") -> None:
        """Write one page with tables and pictures that needs no network and no scripts; needs matplotlib."""
        Path(path).write_text(comparison_html(self, title, GLOSSARY), encoding="utf-8")

    def plot(self, **options: Any) -> Any:
        """Proximity against sparsity, see :func:`ntdcfe_plugins.plot.plot_tradeoff`; needs matplotlib."""
        from ntdcfe_plugins.plot import plot_tradeoff

        return plot_tradeoff(self.table, **options)

    def plot_instance(self, instance: int, **options: Any) -> Any:
        """One instance as each method changes it, see :func:`ntdcfe_plugins.plot.plot_methods`."""
        from ntdcfe_plugins.plot import plot_methods

        found = {method: self.counterfactuals.get((method, instance)) for method in self.methods}
        return plot_methods(self.instances[instance], found, self.features, **options)

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        return summary_html(self)
