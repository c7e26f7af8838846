"""How figures are put into words: names, lists, paragraphs."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from math import exp, log
from pathlib import Path

import report

WIDTH = 118
MODELS = {"rule_1": "rule 1", "rule_2": "rule 2", "knn": "KNN", "random_forest": "forest", "lstm": "LSTM"}


def result(name: str) -> Path:
    """Where a result file is."""
    return report.RESULTS / name


def paragraph(text: str) -> str:
    """Wrap a text as the rest of the README is; spaces and line ends of `text` do not count."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def bullet(text: str) -> str:
    """Wrap a text as an item of a list."""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def listing(parts: Sequence[str], nothing: str = "none") -> str:
    """Join parts as in a sentence: "a, b and c"; `nothing` if there are none."""
    if not parts:
        return nothing
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def dataset_name(name: str) -> str:
    """Give a dataset's name as people write it: "RacketSports" is "Racket Sports"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


def case_name(row: dict[str, str]) -> str:
    """Give the name of a case of the paper."""
    return f"{dataset_name(row['dataset'])} {MODELS[row['model']]}"


def value(text: str) -> float:
    """Read a cell of a table: "640,498", "100%", ">= 117" or "12.3 of 600" are numbers; nan where there is none."""
    found = re.search(r"[-+]?[0-9][0-9,]*\.?[0-9]*", text)
    return float(found[0].replace(",", "")) if found else float("nan")


def share(percent: float) -> str:
    """Give percents with one digit after the point, where it is not zero."""
    return f"{round(percent, 1):g}"


def span(values: Iterable[float], digits: int = 0, unit: str = "") -> str:
    """Give the least and the largest of some values: "1 to 3", or "2" where they are the same."""
    shown = [report.number(v, digits, ",") for v in sorted(values)]
    return f"{shown[0]} to {shown[-1]}{unit}" if shown[0] != shown[-1] else f"{shown[0]}{unit}"


def geometric_mean(values: Sequence[float]) -> float:
    """Give the geometric mean of positive values."""
    return exp(sum(map(log, values)) / len(values))


def mean(values: Sequence[float]) -> float:
    """Give the arithmetic mean."""
    return sum(values) / len(values)


def layout_of(path: Path) -> str:
    """Give the layout that the settings of a result file name."""
    found = re.search(r"layout='(\w+)'", report.read_header(path).settings)
    if not found:
        raise ValueError(f"{path.name}: the settings in its header name no layout")
    return found[1]


def constant_in_time() -> str:
    """Name the datasets of the published layout whose series are constant in time."""
    _, rows = report.read_csv(result("paper-published.csv"))
    return listing(list(dict.fromkeys(dataset_name(row["dataset"]) for row in rows if row["paper_constant"] == "1")))


def on_layout(path: Path) -> str:
    """Say on which series a result file was made."""
    if layout_of(path) == "true":
        return "on the real series"
    return f"in the published layout, in which {constant_in_time()} are constant in time"
