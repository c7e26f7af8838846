"""Pictures of counterfactuals, after the paper's figures. Needs matplotlib (extra ``plot``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ntdcfe import Counterfactual

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Line styles tell features apart without colour.
STYLES = ("-", "--", "-.", ":")
# A legend of more lines hides the picture.
MOST_IN_LEGEND = 10


def plot_counterfactual(cf: Counterfactual, title: str | None = None) -> Figure:
    """The paper's figure of a series: original, counterfactual, and the changed features before and after.

    Spans that were changed are shaded.

    Parameters
    ----------
    cf : Counterfactual
        Of a series ``(K, D)``.
    title : str, optional
        Stands above the panels.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError("pictures need matplotlib: pip install 'ntdcfe-plugins[plot]'") from missing
    if cf.x is None or cf.x.ndim != 2:
        raise ValueError("plot_counterfactual takes a counterfactual that was found, of a series (K, D).")
    before, after = cf.features.encode(cf.original), cf.features.encode(cf.x)
    changed = np.flatnonzero((before != after).any(0))
    everything = np.arange(before.shape[1])
    figure, axes = plt.subplots(2, 2, figsize=(11, 6.2), sharex=True, layout="constrained")
    panels = [
        (axes[0, 0], before, everything, f"original: the model says {cf.present}"),
        (axes[0, 1], after, everything, f"counterfactual: the model says {cf.prediction}"),
        (axes[1, 0], before, changed, "changed features, original"),
        (axes[1, 1], after, changed, "changed features, counterfactual"),
    ]
    for axis, values, shown, heading in panels:
        _draw(axis, cf, values, shown, set(changed.tolist()))
        axis.set_title(heading, fontsize=10)
    for i in changed:  # where it came from
        axes[1, 1].plot(before[:, i], color="0.6", linewidth=0.9, linestyle=":", zorder=1)
    for row in axes:
        low, high = min(a.get_ylim()[0] for a in row), max(a.get_ylim()[1] for a in row)
        for axis in row:
            axis.set_ylim(low, high)
    for axis in axes[1]:
        axis.set_xlabel("time step")
        if 0 < len(changed) <= MOST_IN_LEGEND:
            axis.legend(fontsize=8, loc="best", framealpha=0.9)
    for axis in axes[:, 0]:
        axis.set_ylabel("value")
    figure.suptitle(title or f"{cf.sparsity} cells changed, proximity {cf.proximity:.3g}", fontsize=11)
    return figure


def _draw(axis: Axes, cf: Counterfactual, values: Any, shown: Any, changed: set[int]) -> None:
    """Lines of the shown features, the changed ones in front, their changed spans shaded."""
    from matplotlib import colormaps

    palette = colormaps["tab10"]
    order = sorted(changed)
    steps = np.arange(len(values))
    for i in sorted(shown.tolist(), key=lambda i: i in changed):
        if i in changed:
            rank = order.index(i)
            look: dict[str, Any] = {
                "color": palette(rank % 10),
                "linestyle": STYLES[rank % len(STYLES)],
                "linewidth": 1.8,
            }
            axis.plot(steps, values[:, i], label=cf.features.names[i], **look)
        else:
            axis.plot(steps, values[:, i], color="0.75", linewidth=0.9)
    for change in cf.changes:
        axis.axvspan(change.first_step - 0.5, change.last_step + 0.5, color="0.5", alpha=0.12, linewidth=0)
    axis.grid(True, color="0.92", linewidth=0.6)
    axis.margins(x=0.01)
