"""The picture of a forecast: now and then, what is wanted, and below it what would have to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntdcfe.problem.words import number_in_words
from ntdcfe_plugins._shared.answer import Answer, Lane, answer_of
from ntdcfe_plugins._shared.drawing import COLOURS, as_text, pyplot, tidy
from ntdcfe_plugins._shared.lanes import draw_lane, step_axis, wrapped
from ntdcfe_plugins.sktime.forecasting import amount_in_words
from ntdcfe_plugins.sktime.steps import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ntdcfe_plugins.sktime.forecast_result import ForecastResult

# Lanes of changes; more are too thin to read.
MOST_LANES = 5


def forecast_picture(result: ForecastResult, title: str | None, history: int) -> Figure:
    """The forecast now and then, and one lane for each change.

    Parameters
    ----------
    result : ForecastResult
    title : str, optional
    history : int
        Steps of the past that are shown.
    """
    cf = result.details[0]
    answer = answer_of(cf) if cf.found else None
    lanes = [] if answer is None else answer.lanes()[:MOST_LANES]
    figure, axes = pyplot().subplots(
        1 + len(lanes), 1, squeeze=False, layout="constrained", figsize=(8.6, 3.4 + 1.6 * len(lanes)),
        height_ratios=[2.0] + [1.0] * len(lanes),
    )  # fmt: skip
    _draw_forecast(axes[0, 0], result, history)
    for axis, lane in zip(axes[1:, 0], lanes, strict=True):
        assert answer is not None
        draw_lane(axis, answer, lane)
        step_axis(axis, answer.features, len(answer.before))
        _last_steps(axis, answer, lane, history)
    now, then = (amount_in_words(float(result.table[name].iloc[0])) for name in ("present", "prediction"))
    heading = [title] if title else []
    off = " (the step farthest off)" if result.aim.of == "all" else ""
    heading += [f"Wanted: {result.aim}. Now{off} {now}" + (f", then {then}." if lanes else ".")]
    heading += [str(answer.survival)] if answer is not None and answer.survival is not None else []
    figure.suptitle("\n".join(wrapped(line, 105) for line in heading), fontsize=10.5, x=0.01, ha="left")
    return figure


def _last_steps(axis: Axes, answer: Answer, lane: Lane, steps: int) -> None:
    """Of a lane with a long past, its last steps, and those that change."""
    first = min([len(answer.before) - steps, *np.flatnonzero(answer.differs[:, lane.features].any(axis=1))])
    if first <= 0:
        return
    shown = np.concatenate([answer.before[first:, lane.features], answer.after[first:, lane.features]])
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    room = 0.08 * (high - low) or 1.0
    axis.set(xlim=(first - 0.5, len(answer.before) - 0.5), ylim=(low - room, high + room))


def _draw_forecast(axis: Axes, result: ForecastResult, history: int) -> None:
    """The last steps of the past, the forecast now in grey and then in colour, and where it is wanted."""
    before = _values(result.history)
    n = min(history, 0 if before is None else len(before))
    names: list[str] = []
    if before is not None and n:
        axis.plot(np.arange(n), before[len(before) - n :], color="0.5", linewidth=1.2, label="past")
        names = _names(result.history.index[len(before) - n :])
        after = _values(result.counterfactual) if result.change == "y" else None
        if after is not None and result.valid and len(after) == len(before):
            # From the step before the first change on.
            same = int(np.argmax(before != after)) - 1 if (before != after).any() else len(before)
            start = max(same, len(before) - n, 0)
            places = np.arange(start, len(before)) - len(before) + n
            axis.plot(places, after[start:], color=COLOURS[0], linewidth=1.4, alpha=0.7, label="past then")
    now, then = _values(result.present), _values(result.forecast)
    assert now is not None
    assert then is not None
    ahead = n + np.arange(len(now))
    if n:
        axis.axvline(n - 0.5, color="0.7", linewidth=1, linestyle=":")
    names += _names(result.present.index)
    axis.plot(ahead, now, color="0.4", linestyle=(0, (4, 2)), marker="o", markersize=4, label="forecast now")
    axis.plot(ahead, then, color=COLOURS[0], marker="D", markersize=4, linewidth=1.8, label="forecast then")
    for end in ("lower", "upper"):
        value = getattr(result.aim.target, end, np.nan)
        if np.isfinite(value) and result.aim.of != "sum":
            whole = result.aim.of in ("all", "mean")
            first, last = (ahead[0], ahead[-1]) if whole else (ahead[int(result.aim.of)],) * 2
            axis.plot([first - 0.5, last + 0.5], [value] * 2, color=COLOURS[1], linewidth=1.6)
            limit = f"at {'least' if end == 'lower' else 'most'} {number_in_words(value)}"
            words = f"{'mean ' * (result.aim.of == 'mean')}{limit} "
            # Before the forecast, where its lines do not cross the words.
            axis.annotate(
                words, (ahead[0] - 0.5, value), color=COLOURS[1], fontsize=9, va="center", ha="right",
                bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )  # fmt: skip
    places = np.unique(np.linspace(0, len(names) - 1, min(7, len(names))).round().astype(int))
    axis.set_xticks(places, [as_text(names[place]) for place in places])
    axis.legend(fontsize=8.5, frameon=False, loc="best")
    tidy(axis)


def _values(series: Any) -> NDArray[Any] | None:
    """The numbers of a forecast or of a past; of several columns, the first."""
    if series is None:
        return None
    return np.asarray(series.iloc[:, 0] if isinstance(series, pd.DataFrame) else series, float)


def _names(index: pd.Index) -> list[str]:
    # A period of a week is told by both of its ends, for which there is no room.
    return [name.partition("/")[0] for name in names_of(index) or map(str, index)]
