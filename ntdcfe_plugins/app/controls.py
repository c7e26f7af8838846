"""The widgets, and what each of them does; all are native inputs, so that they work with the keyboard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import (
    Button,
    Checkbox,
    Div,
    NumericInput,
    RangeSlider,
    Select,
    TextInput,
)
from numpy.typing import NDArray

from ntdcfe import Continuous, InvalidInputError
from ntdcfe_plugins.app import words
from ntdcfe_plugins.app.model import Subject
from ntdcfe_plugins.app.rules import DIRECTIONS, windows_in_words
from ntdcfe_plugins.app.state import KINDS, State
from ntdcfe_plugins.report import escaped

if TYPE_CHECKING:
    from ntdcfe_plugins.app.page import Page

WIDE: dict[str, Any] = {"sizing_mode": "stretch_width"}
# Letters that a phone does not zoom into, and a frame around what the keyboard is at.
STYLE = """
:host { font-size: 15px } .bk-input, .bk-btn { font-size: 16px; min-height: 36px }
.bk-btn, label { white-space: normal } .bk-clearfix { width: 100%; overflow-wrap: anywhere }
:focus-visible { outline: 3px solid #D55E00 !important; outline-offset: 1px }
"""
KINDS_IN_WORDS = {"simplest": "the simplest: few edits", "nearest": "the nearest: cell by cell",
                  "sturdiest": "the sturdiest: holds under noise"}  # fmt: skip


class Widgets:
    """The widgets of a page, and whom they tell what a person does.

    Parameters
    ----------
    subject : Subject
    page : Page
        Told of what a person does.
    """

    def __init__(self, subject: Subject, page: Page) -> None:
        self.subject = subject
        self._page = page
        self._drawing = False
        self._choosing()
        self._ruling()
        self._asking()
        self._trying()
        self._keeping()

    def _choosing(self) -> None:
        subject, page = self.subject, self._page
        picks = [(str(i), name) for i, name in enumerate(subject.names)]
        self.series = _select(subject.noun.capitalize(), picks, "series")
        self._on(self.series, lambda value: page.pick(int(value)))
        labels = [(str(i), str(label)) for i, label in enumerate(subject.classes)]
        self.target = _select("The model should say", [("", "any other label"), *labels], "target")
        wanted: dict[str, Any] = {"": None, **{str(i): label for i, label in enumerate(subject.classes)}}
        self._on(self.target, lambda value: page.do(lambda: page.state.want(wanted[value])))
        self.at_least, self.at_most = _text("at least", "wanted-low"), _text("at most", "wanted-high")
        for box in (self.at_least, self.at_most):
            self._on(box, lambda _: page.want_between(self.at_least.value, self.at_most.value))
        self.target.visible = not subject.regression
        self.at_least.visible = self.at_most.visible = subject.regression
        self.decision = _div("decision")
        self.message = _div("message")

    def _ruling(self) -> None:
        page = self._page
        names = self.subject.features.names
        self.windows = _text("Steps that may not change, such as 3-9, 20", "windows")
        self.windows.visible = not self.subject.static
        self._on(self.windows, lambda value: page.do(lambda: page.state.freeze_text(value)))
        self.feature = _select("Feature", [(str(i), name) for i, name in enumerate(names)], "feature")
        self._on(self.feature, lambda value: page.pick_feature(names[int(value)]))
        self.may = Checkbox(label="may change", active=True, name="may", stylesheets=[STYLE], **WIDE)
        self._on(self.may, lambda value: self._rule(may_change=bool(value)), "active")
        self.limits = RangeSlider(
            start=0, end=1, value=(0, 1), step=0.01, title="values between", format="0.[00]", name="limits",
            stylesheets=[STYLE], **WIDE,
        )  # fmt: skip
        self._on(self.limits, self._slid, "value_throttled")
        self.low, self.high = _text("not below", "low"), _text("not above", "high")
        self._on(self.low, lambda value: page.do(lambda: self._say(low=number_of(value))))
        self._on(self.high, lambda value: page.do(lambda: self._say(high=number_of(value))))
        self.direction = _select(
            "direction", list(zip(DIRECTIONS, ("up or down", "up only", "down only"), strict=True)), "direction"
        )
        self._on(self.direction, lambda value: self._rule(direction=value))
        self.weight = _text("weight: what a unit of change costs", "weight")
        self._on(self.weight, lambda value: page.do(lambda: self._say(weight=number_of(value))))
        self.free = _button("Forget the rules", "free", lambda: page.do(page.state.free))
        self.rules = _div("rules")

    def _asking(self) -> None:
        page = self._page
        self.prefer = _select("Kind of answer", [(kind, KINDS_IN_WORDS[kind]) for kind in KINDS], "prefer")
        self._on(self.prefer, lambda value: page.do(lambda: setattr(page.state, "prefer", value)))
        self.rows = NumericInput(title="Most rows that the model is asked", mode="int", low=1, name="rows",
                                 stylesheets=[STYLE], **WIDE)  # fmt: skip
        self._on(self.rows, lambda value: page.do(lambda: page.state.allow_rows(value)))
        self.ask = _button("Ask", "ask", page.ask, "primary")
        self.stop = _button("Stop", "stop", page.stop, "warning")
        self.progress = _div("progress")
        self.option = _select("Shown", [], "option")
        self._on(self.option, page.show)
        self.options = _div("options")
        self.row = _div("row")

    def _trying(self) -> None:
        page = self._page
        self.step = NumericInput(title="step", mode="int", value=0, low=0, name="step", stylesheets=[STYLE], **WIDE)
        self.step.visible = not self.subject.static
        self.value = _text("value", "value")
        self._on(self.value, lambda value: self._typed(value))
        self._on(self.step, lambda _: page.draw())
        self.from_series = _button(f"Try from the {self.subject.noun}", "from-series", lambda: page.restart(False))
        self.from_answer = _button("Try from the answer", "from-answer", lambda: page.restart(True))
        self.trial = _div("trial")

    def _keeping(self) -> None:
        page = self._page
        self.keep = _button("Bookmark this answer", "keep", lambda: page.do(page.state.bookmark))
        self.save = _button("Save the letter", "save", page.save)
        self.saved = _div("saved")
        self.marks = _select("Bookmark", [("", "none")], "marks")
        self._on(self.marks, lambda value: page.do(lambda: page.state.compare(int(value) if value else None)))
        self.recall = _button("Go back to it", "recall", lambda: self._with_mark(page.recall))
        self.remove = _button("Remove it", "remove", lambda: self._with_mark(self._removed))
        self.bookmarks = _div("bookmarks")

    def _on(self, widget: Any, act: Any, attribute: str = "value") -> None:
        def changed(_: str, __: Any, new: Any) -> None:
            if not self._drawing:
                act(new)

        widget.on_change(attribute, changed)

    def _rule(self, **said: Any) -> None:
        self._page.do(lambda: self._say(**said))

    def _say(self, **said: Any) -> None:
        self._page.state.rule(self._page.feature, **said)

    def _slid(self, value: tuple[float, float]) -> None:
        start, end = float(self.limits.start), float(self.limits.end)
        low, high = (float(v) for v in value)
        # A slider at its end sets no limit.
        self._rule(low=None if low <= start else low, high=None if high >= end else high)

    def _typed(self, value: str) -> None:
        def act() -> None:
            number = number_of(value)
            if number is None:
                raise InvalidInputError("type a number.")
            self._page.try_value(int(self.step.value or 0), number)

        self._page.do(act)

    def _removed(self, place: int) -> None:
        self._page.do(lambda: self._page.state.remove(place))

    def _with_mark(self, act: Any) -> None:
        if self.marks.value:
            act(int(self.marks.value))


class Controls(Widgets):
    """The widgets of a page, which show a state."""

    def draw(self, state: State, feature: str) -> None:
        """Show the state."""
        self._drawing = True
        try:
            self._draw(state, feature)
        finally:
            self._drawing = False

    def _draw(self, state: State, feature: str) -> None:
        i, rule = state.subject.features.index(feature), state.rules.of(feature)
        idle = state.phase == "idle"
        self.series.value, self.feature.value = str(state.index), str(i)
        self.windows.value = windows_in_words(state.rules.windows)
        wanted = state.wanted
        self.target.value = "" if wanted is None else str(state.subject.classes.index(wanted))
        self.at_least.value, self.at_most.value = (_typed(limit) for limit in state.interval)
        self._draw_rule(state, i)
        self.may.active = rule.may_change
        self.prefer.value, self.rows.value = state.prefer, state.max_rows
        self.ask.label = "Ask" if state.cf is None else "Ask again"
        self.ask.disabled, self.stop.disabled, self.series.disabled = not idle, state.phase != "asking", not idle
        self.option.options = [(name, name) for name in state.answers]
        self.option.value = state.option
        self.option.visible = bool(state.answers)
        self.step.high = state.subject.n_steps - 1
        step = min(max(int(self.step.value or 0), 0), state.subject.n_steps - 1)
        self.value.value = _typed(float(state.trial[step, i]))
        self.from_answer.disabled = self.keep.disabled = state.shown is None
        self.save.disabled = state.cf is None
        self.marks.options = [("", "none"), *((str(place), mark.name) for place, mark in enumerate(state.bookmarks))]
        self.marks.value = "" if state.compared is None else str(state.compared)
        self.recall.disabled = self.remove.disabled = state.compared is None
        self.message.text = words.message(state.message)
        self.rules.text = words.rules(state)
        self.progress.text = words.progress(state)
        self.options.text = words.options(state)
        self.bookmarks.text = words.bookmarks(state)
        if state.subject.static:
            self.row.text = words.row(state)
        if state.cf is None:
            self.saved.text = ""

    def _draw_rule(self, state: State, i: int) -> None:
        feature, rule = state.subject.features[i], state.rules.of(state.subject.features.names[i])
        numeric = isinstance(feature, Continuous)
        self.limits.visible = self.low.visible = self.high.visible = numeric
        self.may.disabled = feature.role != "actionable"
        self.direction.visible = hasattr(feature, "direction")
        self.direction.value = getattr(feature, "direction", None) or rule.direction
        self.direction.disabled = getattr(feature, "direction", None) is not None
        self.weight.value = _typed(feature.weight if rule.weight is None else rule.weight)
        if not isinstance(feature, Continuous):
            return
        start, end = _range(feature, state.original[:, i])
        low, high = (limit if limit is not None else end_ for limit, end_ in ((rule.low, start), (rule.high, end)))
        self.limits.update(start=min(start, low), end=max(end, high), value=(low, high), step=_step(end - start))
        self.low.value, self.high.value = _typed(rule.low), _typed(rule.high)

    def say_saved(self, path: Path) -> None:
        """Tell where a letter is, with a link to read it."""
        facts = path.with_suffix(".json").name
        links = "".join(
            f" <a href='letters/{escaped(name)}' target='_blank' rel='noopener'>{text}</a>"
            for name, text in ((path.name, "read or print it"), (facts, "the same as JSON"))
        )
        self.saved.text = f"<div role='status'>Saved as {escaped(path.name)}:{links}</div>"


def _range(feature: Continuous, values: NDArray[Any]) -> tuple[float, float]:
    """The ends of the slider: of a row its bounds; else those of the values ``(K,)`` and half their span more."""
    known = values[np.isfinite(values)]
    least, most = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    spare = 0.5 * ((most - least) or abs(least) or 1.0)
    low, high = feature.limits
    if len(values) == 1 and math.isfinite(high - low):
        return low, high
    start, end = max(least - spare, low), min(most + spare, high)
    return (start, end) if start < end else (start - 1.0, start + 1.0)


def number_of(text: str) -> float | None:
    """The number that a person typed; None for nothing.

    Raises
    ------
    InvalidInputError
        If it is not a finite number.
    """
    if not text.strip():
        return None
    try:
        number = float(text.strip().replace(",", "."))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInputError(f"type a number, got {text[:40]!r}.")
    return number


def _typed(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"


def _step(span: float) -> float:
    """A step of a slider of about a two-hundredth of its length."""
    return float(10 ** math.floor(math.log10(span / 100))) if span > 0 else 0.01


def _select(title: str, options: list[tuple[str, str]], name: str) -> Select:
    value = options[0][0] if options else ""
    return Select(title=title, options=options, value=value, name=name, stylesheets=[STYLE], **WIDE)


def _text(title: str, name: str) -> TextInput:
    return TextInput(title=title, name=name, max_length=2000, stylesheets=[STYLE], **WIDE)


def _button(label: str, name: str, act: Any, kind: Any = "default") -> Button:
    button = Button(label=label, name=name, button_type=kind, stylesheets=[STYLE], **WIDE)
    button.on_click(lambda _: act())
    return button


def _div(name: str) -> Div:
    return Div(name=name, disable_math=True, stylesheets=[STYLE], **WIDE)
