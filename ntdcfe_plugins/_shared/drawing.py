"""The parts of which pictures are made: lanes, spans, colours and styles."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe_plugins._shared.errors import extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, safe for colour-blind readers; with the styles also safe in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", (0, (5, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (1.2, 1.2)))
MARKERS = "osD^vP*X<>hp"


def pyplot() -> Any:
    """matplotlib's pyplot; raises ImportError with the name of the extra where matplotlib is missing."""
    with extra("plot", "matplotlib"):
        import matplotlib.pyplot as plt
    return plt


def lane_scales(series: Sequence[NDArray[Any]], shown: NDArray[np.intp]) -> dict[int, tuple[float, float]]:
    """Least and greatest value of each shown column over all the series ``(K, F)``."""
    return {int(i): (min(np.nanmin(s[:, i]) for s in series), max(np.nanmax(s[:, i]) for s in series)) for i in shown}


def as_text(text: str) -> str:
    """Text that matplotlib shows as it is: a dollar sign does not start a formula."""
    return text.replace("$", r"\$")


def lane_label(name: str, scale: tuple[float, float]) -> str:
    """The name of a lane with the range of its values."""
    return f"{as_text(textwrap.shorten(name, 28, placeholder='…'))}\n[{scale[0]:.3g}, {scale[1]:.3g}]"


def draw_lanes(
    axis: Axes,
    values: NDArray[Any],
    before: NDArray[Any] | None,
    changed: NDArray[np.bool_],
    shown: NDArray[np.intp],
    scales: Mapping[int, tuple[float, float]],
) -> None:
    """One lane for each shown feature, in its own scale, with its changed spans shaded.

    Parameters
    ----------
    axis : Axes
    values : array (K, F)
    before : array (K, F), optional
        Drawn in grey behind the values.
    changed : array (K, F)
    shown : array of int
        Positions of the features.
    scales : dict of position to least and greatest value
    """
    for lane, i in enumerate(shown):
        low, high = scales[int(i)]
        span = (high - low) or 1.0

        def at(column: NDArray[Any], low: float = low, span: float = span, lane: int = lane) -> NDArray[Any]:
            return (column - low) / span * 0.8 - 0.4 - lane

        for first, stop in runs(changed[:, i]):
            axis.fill_between([first - 0.5, stop - 0.5], -0.47 - lane, 0.47 - lane, color="0.86", linewidth=0, zorder=0)
        if before is not None:
            axis.plot(at(before[:, i]), color="0.5", linewidth=0.9, linestyle=(0, (1.2, 1)), zorder=2)
        axis.plot(at(values[:, i]), zorder=3, **{**line_look(lane), "linestyle": "-", "linewidth": 1.3})
    axis.set_ylim(-max(len(shown), 1) + 0.45, 0.55)
    axis.set_yticks([])
    tidy(axis)


def draw_points(
    axis: Axes,
    values: NDArray[Any],
    before: NDArray[Any] | None,
    changed: NDArray[np.bool_],
    shown: NDArray[np.intp],
    scales: Mapping[int, tuple[float, float]],
) -> None:
    """One lane for each shown column of a static row: its value before and after; see :func:`draw_lanes`."""
    old = values if before is None else before
    for lane, i in enumerate(shown):
        low, high = scales[int(i)]
        start, end = ((v[0, i] - low) / ((high - low) or 1.0) for v in (old, values))
        axis.plot([start, end], [-lane, -lane], color=COLOURS[0], linewidth=1.8, zorder=2)
        axis.plot(start, -lane, marker="o", markerfacecolor="white", color="0.25", markersize=6, zorder=3)
        if changed[0, i]:
            axis.plot(end, -lane, marker="D", color=COLOURS[0], markersize=6, zorder=4)
    axis.set(ylim=(-max(len(shown), 1) + 0.45, 0.55), yticks=[], xlim=(-0.1, 1.1), xticks=[])
    tidy(axis)


def shade_steps(axis: Axes, changed: NDArray[np.bool_]) -> None:
    """Shade the steps where any feature changes."""
    for first, stop in runs(changed.any(1)):
        axis.axvspan(first - 0.5, stop - 0.5, color="0.88", linewidth=0, zorder=0)


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First step and the step behind the last of each run of True."""
    edges = np.diff(np.pad(mask, 1).astype(np.int8))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


def line_look(rank: int) -> dict[str, Any]:
    """Colour, style and width of the line of that rank."""
    # The number of styles and the number of colours differ, so that pairs of them stay distinct.
    return {
        "color": COLOURS[rank % len(COLOURS)],
        "linestyle": STYLES[rank % len(STYLES)],
        "linewidth": 1.7,
    }


def tidy(axis: Axes) -> None:
    """A light grid, no frame, small labels."""
    axis.grid(True, color="0.9", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=9)
    axis.margins(x=0.01)


def plain_ticks(*axes: Any) -> None:
    """Plain numbers at 1, 2 and 5 of each decade of logarithmic axes."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in axes:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
