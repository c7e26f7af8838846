"""Put the figures into the README and the docs, or check that they are there.

    python benchmarks/readme.py            # writes what differs
    python benchmarks/readme.py --check    # writes nothing, exits with 1 where something differs

A figure stands between ``<!-- figures: NAME -->`` and ``<!-- /figures -->``, each on a line of its own, and comes from
``benchmarks/results`` alone, by the function of that name in ``benchmarks/figures``.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import report
from figures import FIGURES

BEGIN = re.compile(r"^(?P<indent>\s*)<!-- figures: (?P<name>[^ ]+) -->$")
END = re.compile(r"^\s*<!-- /figures -->$")


class MarkerError(ValueError):
    """A marker of a figure is not closed, or names no figure."""


def documents() -> list[Path]:
    """The files that may hold figures."""
    return [report.ROOT / "README.md", *sorted((report.ROOT / "docs").rglob("*.md"))]


def rendered(text: str, where: str = "README.md") -> str:
    """Give a document with its figures as they are now; `where` names it in errors."""
    lines: list[str] = []
    open_at: str | None = None
    fenced = False  # within an example, a marker is only text
    for number, line in enumerate(text.split("\n"), start=1):
        if not open_at and line.lstrip().startswith("```"):
            fenced = not fenced
        if fenced:
            lines.append(line)
        elif begin := BEGIN.match(line):
            if open_at:
                raise MarkerError(f"{where}, line {number}: {open_at} is not closed by '<!-- /figures -->' before it")
            open_at = begin["name"]
            if open_at not in FIGURES:
                raise MarkerError(f"{where}, line {number}: there is no figure {open_at!r}, only {', '.join(FIGURES)}")
            # Markdown wants an empty line around a table or a list; within a list, where markers are indented, it would
            # set its items apart.
            around = [] if begin["indent"] else [""]
            lines += [line, *around, FIGURES[open_at](), *around]
        elif END.match(line):
            if not open_at:
                raise MarkerError(f"{where}, line {number}: no figure is open")
            open_at = None
            lines.append(line)
        elif not open_at:
            lines.append(line)
    if open_at:
        raise MarkerError(f"{where}: {open_at} is not closed by '<!-- /figures -->'")
    return "\n".join(lines)


def stale() -> dict[Path, str]:
    """Give the documents whose figures differ from the result files, each with what it should say."""
    found = {}
    for path in documents():
        text = path.read_text(encoding="utf-8")
        should = rendered(text, path.name)
        if should != text:
            found[path] = should
    return found


def main() -> None:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 where something differs")
    args = parser.parse_args()
    differing = stale()
    for path, text in differing.items():
        print(f"{path.relative_to(report.ROOT)}: {'differs from' if args.check else 'written from'} benchmarks/results")
        if not args.check:
            path.write_text(text, encoding="utf-8")
    if args.check and differing:
        sys.exit(1)


if __name__ == "__main__":
    main()
