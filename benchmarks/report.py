"""The one place that writes and reads result files: header, Markdown tables, numbers, CSV.

Every result file begins with the same header, as the front matter of a Markdown file or as lines that begin with
``#`` in a CSV file: the commit, the settings and the command that it was made with, the date, and the versions.
A figure without them cannot be told from a stale one.

Only the standard library is imported here, so that reading results takes no time and needs no packages.

Examples
--------
>>> print("\n".join(table(["case", "cost"], [["a", number(1.25, 2)], ["b", number(float("nan"))]])))
| case | cost |
| --- | --- |
| a | 1.25 |
| b | - |
"""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
# What a figure can depend on. The results themselves are left out: one benchmark writes while the next is still to run.
SOURCES = ("core", "ntdcfe_plugins", "benchmarks", ":!benchmarks/results")
CHANGED = " + changes"
Row = dict[str, str]


class NoHeaderError(ValueError):
    """A result file does not say how it was made."""


# --------------------------------------------------------------------------------------
# Header
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Header:
    """How a result file was made.

    Attributes
    ----------
    commit
        Short hash of the commit, with "+ changes" if the code was not as committed. Several, separated by commas
        and oldest first, for a file whose rows were made at several commits.
    settings
        The settings of the search and the arguments of the script, defaults included.
    command
        The command line, from the project's root.
    date
        The day on which the run began, UTC.
    versions
        Of Python and the packages that decide figures.
    note
        What else a reader has to know; may be empty.
    """

    commit: str
    settings: str
    command: str
    date: str
    versions: str
    note: str = ""

    def lines(self) -> list[str]:
        """Give a line for each field: its name and a JSON string, which is YAML, too."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items() if value]

    @classmethod
    def parse(cls, lines: Iterable[str], where: str) -> Header:
        """Read what :meth:`lines` gave; `where` names the file in errors."""
        values = {}
        for line in lines:
            name, colon, value = line.partition(": ")
            if not colon:
                raise NoHeaderError(f"{where}: the line {line!r} of its header is not 'name: value'")
            values[name] = json.loads(value)
        needed = {field.name for field in fields(cls)} - {"note"}
        if missing := sorted(needed - set(values)):
            raise NoHeaderError(f"{where}: its header has no {', '.join(missing)}")
        if unknown := sorted(set(values) - needed - {"note"}):
            raise NoHeaderError(f"{where}: its header has {', '.join(unknown)}, which is not known")
        return cls(**values)


def made(*settings: object, packages: Sequence[str] = (), note: str = "") -> Header:
    """Describe the run that begins now; call it first, so that the commit is that of the code that is loaded.

    Parameters
    ----------
    *settings
        Settings of the search, arguments of the script, or texts.
    packages
        Whose versions decide the figures, beside Python, numpy and torch.
    note
        What else a reader has to know.

    Raises
    ------
    SystemExit
        Where the engine would be imported from another tree, so that the commit would be a false statement.
    """
    _check_engine()
    return Header(
        commit=present_commit(),
        settings="; ".join(_described(part) for part in settings),
        command=command_line(sys.argv),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        versions=versions("numpy", "torch", *packages),
        note=note,
    )


def present_commit() -> str:
    """Give the short hash of HEAD, with "+ changes" if sources differ from it; "unknown" outside a checkout."""
    commit = git("rev-parse", "--short", "HEAD")
    if not commit:
        return "unknown"
    return commit + (CHANGED if git("status", "--porcelain", "--", *SOURCES) else "")


def git(*arguments: str) -> str:
    """Give what git prints about the project, stripped; nothing where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def command_line(argv: Sequence[str]) -> str:
    """Give a command line as typed at the project's root: no absolute paths."""
    return shlex.join(["python", *(_relative(argument) for argument in (os.path.abspath(argv[0]), *argv[1:]))])


def versions(*packages: str) -> str:
    """Give the versions of Python and of `packages`, as installed here."""

    def installed(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "not installed"

    return ", ".join([f"python {platform.python_version()}", *(f"{name} {installed(name)}" for name in packages)])


def continued(header: Header, before: Header, rows: Iterable[Mapping[str, str]]) -> Header:
    """Give the header of a file in which a run adds to rows of earlier ones.

    Parameters
    ----------
    header
        Of the run.
    before
        Of the file until now.
    rows
        Those that stay; their column "commit" says what each was made at.
    """
    kept = list(dict.fromkeys(row["commit"] for row in rows))
    if not kept:
        return header
    joined = {
        name: " && ".join(dict.fromkeys([*getattr(before, name).split(" && "), getattr(header, name)]))
        for name in ("settings", "command")
    }
    return replace(header, commit=", ".join(dict.fromkeys([*kept, header.commit])), note=before.note, **joined)


def is_present(commit: str, *paths: str) -> bool:
    """Tell whether `paths` are still what they were at a commit that a row or a header names."""
    if CHANGED in commit or not commit or commit == "unknown":
        return False
    done = subprocess.run(["git", "diff", "--quiet", commit, "--", *paths], cwd=ROOT, capture_output=True, check=False)
    return done.returncode == 0


def _check_engine() -> None:
    found = find_spec("ntdcfe")
    origin = Path(found.origin).resolve() if found and found.origin else None
    if origin is None or not origin.is_relative_to(ROOT):
        raise SystemExit(
            f"The engine would be imported from {origin}, not from this tree, so that the commit in the header would "
            "be wrong. From the project's root, set PYTHONPATH=core:."
        )


def _described(part: object) -> str:
    if isinstance(part, argparse.Namespace):
        return ", ".join(f"{name}={_argument(value)}" for name, value in vars(part).items())
    return part if isinstance(part, str) else repr(part)


def _argument(value: object) -> str:
    return _relative(str(value)) if isinstance(value, Path) else repr(value)


def _relative(text: str) -> str:
    # "/knn" is no path: it names the KNN of every dataset.
    return os.path.relpath(text, ROOT) if os.path.isabs(text) and text.count(os.sep) > 1 else text


def parser(description: str | None) -> argparse.ArgumentParser:
    """Give a parser of command lines with what every benchmark takes: where to write."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--out", type=Path, default=RESULTS, help="folder of the result files")
    return made


# --------------------------------------------------------------------------------------
# Numbers and tables
# --------------------------------------------------------------------------------------


def number(value: float | None, digits: int = 1, sign: str = "") -> str:
    """Give a number for a table or a sentence; "-" where there is none.

    Parameters
    ----------
    value
        The number; None and nan are none.
    digits
        Digits after the point.
    sign
        A flag of Python's format: "," separates thousands, "+" shows the sign.
    """
    return "-" if value is None or value != value else f"{value:{sign}.{digits}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Give the lines of a Markdown table; numbers are to be formatted by :func:`number`."""
    lines = [_line(head), "|" + " --- |" * len(head)]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"rows: got {len(row)} cells, {list(row)!r}, for the {len(head)} columns {list(head)!r}")
        lines.append(_line(row))
    return lines


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


# --------------------------------------------------------------------------------------
# Markdown files
# --------------------------------------------------------------------------------------


def write_markdown(path: Path, header: Header, *parts: str | Iterable[str]) -> None:
    """Write a Markdown result file and print what it says.

    Parameters
    ----------
    path
        Where to; its folder is made.
    header
        How it was made.
    *parts
        Paragraphs, or the lines of a table each, separated by an empty line.
    """
    body = "\n\n".join(part if isinstance(part, str) else "\n".join(part) for part in parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["---", *header.lines(), "---", "", body]) + "\n", encoding="utf-8")
    print(f"{body}\n\nwrote {_relative(str(path.resolve()))}", flush=True)


def read_markdown(path: Path) -> tuple[Header, str]:
    """Read a Markdown result file: its header and its text."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise NoHeaderError(f"{path.name}: it does not begin with a header between lines of '---'")
    end = lines.index("---", 1)
    return Header.parse(lines[1:end], path.name), "\n".join(lines[end + 1 :]).strip("\n")


def read_tables(path: Path) -> list[list[Row]]:
    """Read the tables of a Markdown result file, each as a list of rows by the names of its columns.

    Where two columns have the same name, the second is called "name (2)", and so on.
    """
    _, text = read_markdown(path)
    blocks: list[list[list[str]]] = [[]]
    for line in text.split("\n"):
        if line.startswith("|"):
            blocks[-1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif blocks[-1]:
            blocks.append([])
    return [[dict(zip(_unique(block[0]), row, strict=True)) for row in block[2:]] for block in blocks if block]


def _unique(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


# --------------------------------------------------------------------------------------
# CSV files
# --------------------------------------------------------------------------------------


class Append(Protocol):
    """Adds one row to a file."""

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Write the row, and flush it to the disk."""
        ...


def write_csv(path: Path, header: Header, rows: Sequence[Mapping[str, Any]], digits: int = 4) -> None:
    """Write rows of the same columns, floats rounded to `digits`."""
    with appending(path, header, list(rows[0]), rows, digits):
        pass


@contextmanager
def appending(
    path: Path, header: Header, columns: Sequence[str], rows: Iterable[Mapping[str, Any]] = (), digits: int = 4
) -> Iterator[Append]:
    """Write a CSV file with `rows`, and give a function that adds a row as soon as there is one.

    The file is replaced in one step: an interrupt loses no row that was there.
    """

    def rounded(row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: round(value, digits) if isinstance(value, float) else value for name, value in row.items()}

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as stream:
        stream.writelines(f"# {line}\n" for line in header.lines())
        writer = csv.DictWriter(stream, list(columns), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rounded(row) for row in rows)
    partial.replace(path)
    with path.open("a", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(columns), extrasaction="ignore", lineterminator="\n")

        def add(row: Mapping[str, Any]) -> None:
            writer.writerow(rounded(row))
            stream.flush()

        yield add


def read_csv(path: Path) -> tuple[Header, list[Row]]:
    """Read a CSV result file: its header and its rows, as text."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    n = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    if not n:
        raise NoHeaderError(f"{path.name}: it does not begin with lines of '# name: value'")
    header = Header.parse((line[1:].strip() for line in lines[:n]), path.name)
    return header, list(csv.DictReader(io.StringIO("".join(lines[n:]))))


def read_header(path: Path) -> Header:
    """Read the header of a result file of either kind."""
    return (read_csv if path.suffix == ".csv" else read_markdown)(path)[0]
