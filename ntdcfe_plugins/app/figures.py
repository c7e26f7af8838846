"""The pictures of the page: all features as lanes, where windows are brushed; one feature, where values are dragged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.events import SelectionGeometry
from bokeh.models import BoxSelectTool, ColumnDataSource, FixedTicker, PlainText, PointDrawTool, Range1d, Span
from bokeh.plotting import figure
from numpy.typing import NDArray

from ntdcfe_plugins._shared.answer import Answer
from ntdcfe_plugins._shared.drawing import COLOURS
from ntdcfe_plugins.app.rules import windows_in
from ntdcfe_plugins.app.state import State

# More lanes than this are too thin to read: the changed features come first.
MOST_LANES = 10
BEFORE, AFTER, BESIDE, TRIED = "#777777", COLOURS[0], COLOURS[3], COLOURS[1]


class Lanes:
    """All features below each other, each in its own scale; a brushed window is told to a function.

    Parameters
    ----------
    brushed : callable
        Told of the first and the last step of a window.
    """

    def __init__(self, brushed: Callable[[float, float], None]) -> None:
        self.figure = plot = _figure("All features: brush what may not change", 320)
        self._before, self._after, self._beside = (ColumnDataSource({"xs": [], "ys": []}) for _ in range(3))
        self._cells = ColumnDataSource({"x": [], "y": []})
        self._held = ColumnDataSource({"left": [], "right": [], "bottom": [], "top": []})
        plot.quad("left", "right", "top", "bottom", source=self._held, fill_color="#dddddd", line_color=None,
                  hatch_pattern="/", hatch_color="#bbbbbb")  # fmt: skip
        plot.multi_line("xs", "ys", source=self._before, color=BEFORE, line_width=1.2)
        plot.multi_line("xs", "ys", source=self._beside, color=BESIDE, line_width=1.5, line_dash="dashed")
        plot.multi_line("xs", "ys", source=self._after, color=AFTER, line_width=2)
        # A change by a hundredth of a lane is still seen by its mark.
        plot.scatter("x", "y", source=self._cells, marker="diamond", size=7, color=AFTER)
        brush = BoxSelectTool(dimensions="width", description="brush steps that may not change")
        plot.add_tools(brush)
        plot.toolbar.active_drag = brush
        plot.yaxis.minor_tick_line_color = None
        plot.ygrid.grid_line_color = None
        plot.on_event(SelectionGeometry, lambda event: _told(event, brushed))

    def draw(self, state: State) -> None:
        """Draw the state."""
        before, answer, beside = state.original, state.shown, state.beside
        first = [] if answer is None else answer.changed
        shown = list(dict.fromkeys([*first, *range(before.shape[1])]))[:MOST_LANES]
        states = [before, *(a.after for a in (answer, beside) if a is not None)]
        scale = {i: _scale([s[:, i] for s in states]) for i in shown}
        lanes = {i: -lane for lane, i in enumerate(sorted(shown))}

        def at(values: NDArray[Any], i: int) -> NDArray[Any]:
            low, span = scale[i]
            return (values[:, i] - low) / span * 0.8 - 0.4 + lanes[i]

        self._before.data = _lines(before, lanes, at)
        self._after.data = _lines(None if answer is None else answer.after, _changed(lanes, answer), at)
        self._beside.data = _lines(None if beside is None else beside.after, _changed(lanes, beside), at)
        cells = [(step, at(answer.after, i)[step]) for i in lanes for step in np.flatnonzero(answer.differs[:, i])] \
            if answer is not None else []  # fmt: skip
        self._cells.data = {"x": [float(step) for step, _ in cells], "y": [float(y) for _, y in cells]}
        self._held.data = self._fixed(state, lanes)
        names = state.subject.features.names
        self.figure.yaxis.ticker = FixedTicker(ticks=sorted(lanes.values()))
        self.figure.yaxis.major_label_overrides = {lane: PlainText(text=_short(names[i])) for i, lane in lanes.items()}
        self.figure.y_range.update(start=-len(lanes) + 0.4, end=0.6)
        self.figure.x_range.update(start=-0.5, end=len(before) - 0.5)
        self.figure.height = 110 + 36 * len(lanes)

    def _fixed(self, state: State, lanes: dict[int, int]) -> dict[str, list[float]]:
        """The windows and the features that may not change."""
        features, n_steps = state.subject.features, state.subject.n_steps
        mask = ~features.step_mask(n_steps)
        for first, last in state.rules.windows:
            mask[first : last + 1] = True
        boxes = [(first - 0.5, last + 0.5, -len(lanes) + 0.4, 0.6) for first, last in windows_in(mask)]
        for i, lane in lanes.items():
            if features[i].role == "immutable" or not state.rules.of(features.names[i]).may_change:
                boxes.append((-0.5, n_steps - 0.5, lane - 0.45, lane + 0.45))
        return {name: [box[k] for box in boxes] for k, name in enumerate(("left", "right", "bottom", "top"))}


class Detail:
    """One feature in its own scale, with values that can be dragged.

    Parameters
    ----------
    dragged : callable
        Told of all steps and values ``(K,)`` after something was dragged.
    """

    def __init__(self, dragged: Callable[[NDArray[Any], NDArray[Any]], None]) -> None:
        self.figure = plot = _figure("One feature: drag a value", 300)
        self._lines = {name: ColumnDataSource({"x": [], "y": []}) for name in ("before", "after", "beside")}
        self._points = ColumnDataSource({"x": [], "y": []})
        looks: dict[str, dict[str, Any]] = {
            "before": {"color": BEFORE, "legend_label": "series"},
            "after": {"color": AFTER, "line_width": 2, "legend_label": "answer"},
            "beside": {"color": BESIDE, "line_dash": "dashed", "line_width": 2, "legend_label": "bookmark"},
        }
        for name, look in looks.items():
            plot.line("x", "y", source=self._lines[name], **look)
        plot.line("x", "y", source=self._points, color=TRIED, line_dash="dotted")
        points = plot.scatter("x", "y", source=self._points, size=9, color=TRIED, alpha=0.75, legend_label="tried")
        drag = PointDrawTool(renderers=[points], add=False, description="drag a value")
        plot.add_tools(drag)
        plot.toolbar.active_tap = drag
        plot.toolbar.active_drag = drag
        plot.add_layout(plot.legend[0], "above")  # beside the values, it would cover some of them
        plot.legend.update(orientation="horizontal", border_line_color=None, padding=0, label_text_font_size="9pt")
        self._limits = [Span(dimension="width", line_dash="dashed", line_color="#333333") for _ in range(2)]
        for span in self._limits:
            plot.add_layout(span)
        self._drawing = False

        def changed(_: str, __: Any, new: Any) -> None:
            if not self._drawing:
                dragged(np.asarray(new["x"], float), np.asarray(new["y"], float))

        self._points.on_change("data", changed)

    def draw(self, state: State, name: str) -> None:
        """Draw one feature of the state."""
        i = state.subject.features.index(name)
        steps = np.arange(len(state.original), dtype=float)
        found = {"before": state.original, "after": _after(state.shown), "beside": _after(state.beside)}
        for key, source in self._lines.items():
            values = found[key]
            source.data = {"x": [], "y": []} if values is None else {"x": steps, "y": values[:, i].astype(float)}
        self._drawing = True
        self._points.data = {"x": steps, "y": state.trial[:, i].astype(float)}
        self._drawing = False
        rule = state.rules.of(name)
        for span, limit in zip(self._limits, (rule.low, rule.high), strict=True):
            span.location = 0 if limit is None else limit
            span.visible = limit is not None
        shown = [values[:, i] for values in (*found.values(), state.trial) if values is not None]
        shown += [np.array([limit]) for limit in (rule.low, rule.high) if limit is not None]
        low, span_of = _scale(shown)
        self.figure.y_range.update(start=low - 0.1 * span_of, end=low + 1.1 * span_of)
        self.figure.x_range.update(start=-0.5, end=len(steps) - 0.5)
        self.figure.yaxis.axis_label = PlainText(text=_short(name))


def _figure(title: str, height: int) -> Any:
    plot = figure(height=height, sizing_mode="stretch_width", tools="xpan,xwheel_zoom,reset", toolbar_location="below",
                  title=title, x_range=Range1d(0, 1), y_range=Range1d(0, 1))  # fmt: skip
    plot.toolbar.logo = None
    plot.xaxis.axis_label = "step"
    plot.title.text_font_size = "10pt"
    return plot


def _told(event: SelectionGeometry, brushed: Callable[[float, float], None]) -> None:
    box: Any = event.geometry or {}
    if event.final and box.get("type") == "rect":
        brushed(float(box["x0"]), float(box["x1"]))


def _lines(values: NDArray[Any] | None, lanes: dict[int, int], at: Callable[[Any, int], Any]) -> dict[str, list[Any]]:
    if values is None:
        return {"xs": [], "ys": []}
    steps = np.arange(len(values), dtype=float)
    return {"xs": [steps for _ in lanes], "ys": [np.asarray(at(values, i), float) for i in lanes]}


def _changed(lanes: dict[int, int], answer: Answer | None) -> dict[int, int]:
    return {} if answer is None else {i: lane for i, lane in lanes.items() if answer.differs[:, i].any()}


def _after(answer: Answer | None) -> NDArray[Any] | None:
    return None if answer is None else answer.after


def _scale(values: list[NDArray[Any]]) -> tuple[float, float]:
    """Least value, and the span; of missing values only, 0 and 1."""
    known = np.concatenate(values)
    known = known[np.isfinite(known)]
    if not len(known):
        return 0.0, 1.0
    return float(known.min()), float(np.ptp(known)) or 1.0


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"
