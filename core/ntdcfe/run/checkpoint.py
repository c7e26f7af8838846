"""A file that keeps what is finished: one line of JSON for the run, one for each instance.

Every line is flushed to the disk before the next instance is counted as done. A line that was torn by a crash, or by
a disk that was full, is left out, and its instance is done again; a file of another run is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.counterfactual import Counterfactual
from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.features import Features

_START = '{"checkpoint": "ntdcfe", "version": 1, '


class Checkpoint:
    """The finished instances of one run.

    Parameters
    ----------
    path : str or Path
        Where they are kept; made if it is not there.
    run : mapping
        What decides the results, in plain JSON: a file made by another run is refused, the difference named.
    X : array (N, K, D) or (N, D)
        The series.
    features : Features
    """

    def __init__(
        self, path: str | os.PathLike[str], run: Mapping[str, Any], X: NDArray[Any], features: Features
    ) -> None:
        self.path = Path(path)
        self.results: dict[int, Counterfactual] = {}
        """What is known of each instance, by its place in X."""
        self._features = features
        run = json.loads(json.dumps({**run, "data": _digest(X)}))
        content = self.path.read_bytes() if self.path.exists() else b""
        good = self._read(content, run, X)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._size, self._waiting = good, b""
        """Bytes of whole lines in the file, and lines that it had no room for."""
        if good < len(content):
            os.ftruncate(self._file, good)
        if good == 0:
            self._write(f"{_START}{json.dumps({'run': run})[1:]}")

    def todo(self) -> list[int]:
        """Places in X that are still to be done, those that were cut short among them."""
        return [i for i in range(self._n) if i not in self.results or not self.results[i].complete]

    def add(self, index: int, result: Counterfactual) -> None:
        """Keep what became of an instance, if there is something to keep."""
        if result.complete or result.found:
            self.results[index] = result
            entry = result.to_dict(with_series=False)
            self._write(json.dumps({"instance": index, "result": entry}, allow_nan=False))

    def close(self) -> None:
        """Let go of the file; warns if it lacks what could not be written."""
        problem = self._write_out() if self._waiting else None
        os.close(self._file)
        if problem is not None:
            warnings.warn(
                f"checkpoint: {self.path} could not be written to ({problem}): it lacks {self._waiting.count(10)} "
                "instances, which the next run will explain again. The results of this one are complete.",
                stacklevel=4,
            )

    def _write(self, line: str) -> None:
        """Add a line; one for which there is no room waits for the next, and for the end."""
        self._waiting += f"{line}\n".encode()
        self._write_out()

    def _write_out(self) -> OSError | None:
        """Write what waits, in one piece, so that a process that is killed leaves whole lines; else nothing of it."""
        try:
            done = 0
            while done < len(self._waiting):
                done += os.write(self._file, self._waiting[done:])
            os.fsync(self._file)
        except OSError as problem:
            with contextlib.suppress(OSError):  # a torn line at the end is cut off by the next run
                os.ftruncate(self._file, self._size)
            return problem
        self._size, self._waiting = self._size + len(self._waiting), b""
        return None

    def _read(self, content: bytes, run: Mapping[str, Any], X: NDArray[Any]) -> int:
        """Take in what the file has; returns how many of its bytes are whole lines."""
        self._n = len(X)
        good = content.rfind(b"\n") + 1
        start = _START.encode()
        if not (content.startswith(start) or start.startswith(content)):
            raise InvalidInputError(f"checkpoint: {self.path} is not one, and is left as it is.")
        lines, damaged = content[:good].splitlines(), []
        for number, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                if number == 1:
                    self._compare(entry["run"], run)
                    continue
                i = entry["instance"]
                self.results[i] = Counterfactual.from_dict(entry["result"], X[i], self._features)
            except InvalidInputError:
                raise
            except (ValueError, KeyError, TypeError, IndexError) as cause:
                if number == 1:
                    raise InvalidInputError(f"checkpoint: line 1 of {self.path} is damaged ({cause}).") from cause
                if number == len(lines):
                    # The end of the line reached the disk, but not all of it.
                    return good - len(line) - 1
                damaged.append(number)
        if damaged:
            where = f"{'line' if len(damaged) == 1 else 'lines'} {', '.join(map(str, damaged))}"
            warnings.warn(
                f"checkpoint: {where} of {self.path} cannot be read; what they held is explained again.", stacklevel=5
            )
        return good

    def _compare(self, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
        different = [
            f"{name} was {_short(there.get(name))} and is {_short(here.get(name))}"
            for name in dict.fromkeys([*there, *here])
            if there.get(name) != here.get(name)
        ]
        if different:
            raise InvalidInputError(
                f"checkpoint: {self.path} is of another run: {'; '.join(different)}. Give another file."
            )


def begun_with(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """What decides the results of the run that a file was begun with; nothing if there is no such file."""
    try:
        with Path(path).open(encoding="utf-8") as lines:
            return dict(json.loads(lines.readline())["run"])
    except (OSError, ValueError, KeyError, TypeError):  # a file that is damaged is refused where it is gone on from
        return {}


def _digest(X: NDArray[Any]) -> dict[str, Any]:
    return {
        "shape": list(X.shape),
        "dtype": X.dtype.name,
        "sha256": hashlib.sha256(np.ascontiguousarray(X).data).hexdigest(),
    }


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 160 else f"{text[:120]}..."
