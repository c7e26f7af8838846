"""A search in a thread of its own, which tells how far it is and can be stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ntdcfe import Counterfactual, Progress
from ntdcfe.errors import in_words
from ntdcfe_plugins.app.state import Question

# Seconds between two reports of how far it is: a page cannot show more.
BETWEEN = 0.1


class Search:
    """One search.

    Parameters
    ----------
    question : Question
    tell : callable
        Told of a Progress, at most every tenth of a second. Called in the thread of the search, as is `end`.
    end : callable
        Told of the Counterfactual, or of the text of what failed.
    """

    def __init__(
        self,
        question: Question,
        tell: Callable[[Progress], object],
        end: Callable[[Counterfactual | str], object],
    ) -> None:
        self.question = question
        self._tell = tell
        self._end = end
        self._stop = threading.Event()
        self._told = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it after the present call to the model; what was found is still asked again."""
        self._stop.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end; False if it does not come within so many seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            outcome: Counterfactual | str = self._explained()
        except Exception as failure:  # of the model, or of another function of the user's: the page tells it
            outcome = in_words(failure)
        self._end(outcome)

    def _explained(self) -> Counterfactual:
        question = self.question
        prefer: Any = question.prefer if question.explainer.settings.algorithm == "default" else None
        return question.explainer.explain(
            question.x, question.target, prefer=prefer, max_rows=question.max_rows, progress=self._watch
        )

    def _watch(self, progress: Progress) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt  # the explainer takes it as Ctrl-C, and hands out what was found
        now = time.monotonic()
        if now - self._told >= BETWEEN:
            self._told = now
            self._tell(progress)


class Latest:
    """Work in a thread, one piece at a time: of pieces that come while one is being done, only the last is done.

    Examples
    --------
    >>> said = []
    >>> latest = Latest()
    >>> latest.do(lambda: 1 + 1, said.append)
    >>> latest.join(5), said
    (True, [2])
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: tuple[Callable[[], Any], Callable[[Any], object]] | None = None
        self._thread: threading.Thread | None = None

    def do(self, work: Callable[[], Any], then: Callable[[Any], object]) -> None:
        """Do this next; `then` is told of what came out, or of the text of what failed, in that thread."""
        with self._lock:
            self._next = work, then
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def join(self, seconds: float) -> bool:
        """Wait until there is nothing to do; False if that takes longer."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return self._thread is None

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._next is None:
                    self._thread = None
                    return
                (work, then), self._next = self._next, None
            try:
                outcome = work()
            except Exception as failure:
                outcome = in_words(failure)
            then(outcome)
