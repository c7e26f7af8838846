"""The letters that are saved from the page: into one folder, and back to the browser by their names only."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from tornado.web import HTTPError, RequestHandler

from ntdcfe import Counterfactual
from ntdcfe_plugins.app.state import Question
from ntdcfe_plugins.letter import write_letter


class Letters:
    """What was saved.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.saved: dict[str, Path] = {}
        self._lock = threading.Lock()

    def save(self, cf: Counterfactual, question: Question, title: str, command: str | None = None) -> Path:
        """Write the letter of an answer under a name that is not taken; the JSON is beside it."""
        with self._lock:
            path = self._free(title)
            path.touch(exist_ok=False)
        write_letter(cf, path, title=title, explainer=question.explainer, command=command)
        self.saved[path.name] = path
        self.saved[path.with_suffix(".json").name] = path.with_suffix(".json")
        return path

    def _free(self, title: str) -> Path:
        # Names of series and labels come from outside: only letters and digits of them get into the name of a file.
        name = re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "letter"
        number = 1
        while any((self.folder / f"{name}-{number}{suffix}").exists() for suffix in (".html", ".json")):
            number += 1
        return self.folder / f"{name}-{number}.html"


class ReadLetter(RequestHandler):
    """Shows a letter that was saved by this server; there are no other files."""

    def initialize(self, letters: Letters) -> None:
        """Take the letters."""
        self._letters = letters

    def get(self, name: str) -> None:
        """One of them by its name."""
        path = self._letters.saved.get(name)
        if path is None or not path.is_file():
            raise HTTPError(404)
        kind = "application/json" if path.suffix == ".json" else "text/html"
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.finish(path.read_bytes())
