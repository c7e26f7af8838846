"""The page: widgets around a State. Each does one thing to the state, and all of it is drawn anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from bokeh.document import Document
from numpy.typing import NDArray

from ntdcfe import Counterfactual, NTDCFEError, Progress
from ntdcfe_plugins.app import words
from ntdcfe_plugins.app.controls import Controls, number_of
from ntdcfe_plugins.app.figures import Detail, Lanes
from ntdcfe_plugins.app.layout import laid_out
from ntdcfe_plugins.app.letters import Letters
from ntdcfe_plugins.app.model import Said, Subject
from ntdcfe_plugins.app.search import Latest, Search
from ntdcfe_plugins.app.state import State


class Page:
    """One tab.

    Parameters
    ----------
    document : Document
        Of Bokeh, one a tab.
    subject : Subject
    letters : Letters
    title : str
    """

    def __init__(self, document: Document, subject: Subject, letters: Letters, title: str) -> None:
        self.document = document
        self.letters = letters
        self.title = title
        self.state = State(subject)
        self.controls = Controls(subject, self)
        self.lanes = Lanes(self.brushed)
        self.detail = Detail(self.dragged)
        self.feature = subject.features.names[0]
        self._present = "…"
        self._tried = ""
        self._search: Search | None = None
        self._trials, self._looks = Latest(), Latest()
        self._open = True

    def add(self) -> None:
        """Put the page into its document."""
        laid_out(self.document, self.controls, self.lanes, self.detail, self.title, self.state.subject.static)
        self.document.on_session_destroyed(self._closed)
        self._look()
        self.draw()

    def do(self, step: Callable[[], object], pictures: bool = True) -> None:
        """Change the state, and draw it; what is refused is said."""
        try:
            self.state.message = ""
            step()
        except NTDCFEError as refusal:
            self.state.message = str(refusal)
        self.draw(pictures)

    def draw(self, pictures: bool = True) -> None:
        """Draw the state."""
        state = self.state
        self.controls.draw(state, self.feature)
        self.controls.decision.text = words.decision(state, self._present)
        if pictures and not state.subject.static:
            self.lanes.draw(state)
            self.detail.draw(state, self.feature)
        self.draw_trial()

    def draw_trial(self) -> None:
        """Say what the model says of the tried values."""
        now, tried = self.state.original, self.state.trial
        changed = int(((now != tried) & ~np.isnan(now)).sum())
        self.controls.trial.text = words.trial(self._tried or self._present, changed, self.state.subject.noun)

    def pick(self, index: int) -> None:
        """Another series."""
        self.do(lambda: self.state.pick(index))
        self._look()

    def pick_feature(self, name: str) -> None:
        """Another feature, in the rules and in the picture."""
        self.feature = name
        self.draw()

    def ask(self) -> None:
        """Ask, or ask again; the bar is shown at once."""
        self.do(self._begin, pictures=False)

    def stop(self) -> None:
        """Stop asking."""
        self.do(self.state.stop, pictures=False)
        if self._search is not None:
            self._search.stop()

    def brushed(self, first: float, last: float) -> None:
        """A window was brushed."""
        self.do(lambda: self.state.freeze(first, last))

    def dragged(self, steps: NDArray[Any], values: NDArray[Any]) -> None:
        """Values of the shown feature were dragged."""
        tried = self.state.trial[:, self.state.subject.features.index(self.feature)]
        if len(values) == len(tried):
            for step in np.flatnonzero((values != tried) & ~np.isnan(tried)):
                self.try_value(int(step), float(values[step]), draw=False)
        self.detail.draw(self.state, self.feature)  # a point stays at its step
        self._try()

    def try_value(self, step: int, value: float, draw: bool = True) -> None:
        """A value was typed or dragged."""
        try:
            self.state.set_value(step, self.feature, value)
        except NTDCFEError as refusal:
            self.state.message = str(refusal)
        if draw:
            self.draw()
            self._try()

    def restart(self, from_answer: bool) -> None:
        """Try from the answer, or from the series."""
        self.do(lambda: self.state.restart(from_answer))
        self._try()

    def show(self, option: str) -> None:
        """Show another option."""
        self.do(lambda: self.state.show(option))
        self._try()

    def recall(self, place: int) -> None:
        """Go back to a bookmark."""
        self.do(lambda: self.state.recall(place))
        self._look()

    def save(self) -> None:
        """Save the letter of the answer."""
        self.do(self._saved)

    def want_between(self, low: str, high: str) -> None:
        """What is wanted of a model of values."""
        self.do(lambda: self.state.want_between(number_of(low), number_of(high)))

    def _begin(self) -> None:
        question = self.state.begin()
        self._search = Search(question, lambda told: self._later(lambda: self._told(told)),
                              lambda end: self._later(lambda: self._ended(end)))  # fmt: skip
        self._search.start()

    def _told(self, progress: Progress) -> None:
        self.state.progress = progress
        self.controls.progress.text = words.progress(self.state)

    def _ended(self, outcome: Counterfactual | str) -> None:
        self._search = None
        if isinstance(outcome, str):
            self.state.fail(outcome)
        else:
            self.state.finish(outcome)
        self.draw()
        self._try()

    def _saved(self) -> None:
        state = self.state
        if state.cf is None or state.question is None:
            state.message = "there is no answer to save yet: ask first."
            return
        title = f"{state.subject.names[state.index]}: what would change the decision to {state.cf.target}"
        path = self.letters.save(state.cf, state.question, title)
        self.controls.say_saved(path)

    def _look(self) -> None:
        """What the model says of the series that is picked."""
        x, self._present, self._tried = self.state.x, "…", ""
        self._looks.do(lambda: self.state.subject.say(x).text, lambda text: self._later(lambda: self._looked(text)))

    def _looked(self, text: str) -> None:
        self._present = text
        self.draw()

    def _try(self) -> None:
        """What the model says of the tried values."""
        x = self.state.subject.series(self.state.trial.copy())

        def then(said: Said | str) -> None:
            text = said if isinstance(said, str) else said.text
            self._later(lambda: self._said(text))

        self._trials.do(lambda: self.state.subject.say(x), then)

    def _said(self, text: str) -> None:
        self._tried = text
        self.draw_trial()

    def _later(self, step: Callable[[], None]) -> None:
        """Do it in the page's own thread."""
        if not self._open:
            return
        try:
            self.document.add_next_tick_callback(step)
        except AttributeError:  # Bokeh takes a document apart before it says that the tab is gone
            self._closed(None)

    def _closed(self, _: Any) -> None:
        """The tab is gone: nobody waits for its search."""
        self._open = False
        if self._search is not None:
            self._search.stop()
