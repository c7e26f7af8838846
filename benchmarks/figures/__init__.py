"""Every figure of the README and the docs, rendered from the files in ``benchmarks/results`` alone.

A figure is a function without arguments that gives Markdown. To add one, write the function in the module of its
subject, name it in ``FIGURES``, and put its markers where it belongs; ``readme.py`` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import report

from figures import adapters, answers, load, paper_cases, peers, search
from figures.text import result


def demo() -> str:
    """What ``make demo`` prints."""
    return report.read_markdown(result("demo.md"))[1]


def first_steps() -> str:
    """What a newcomer's first steps take."""
    path = result("first-steps.md")
    (rows,) = report.read_tables(path)
    table = report.table(list(rows[0]), [list(row.values()) for row in rows])
    return "\n".join([*table, "", f"On the machine of the tests, Python's packages from a mirror ({report.read_header(path).note})."])


FIGURES: Mapping[str, Callable[[], str]] = {
    "demo": demo,
    "beside-others": answers.beside_others,
    "explanations": answers.averages,
    "explanations-aims": answers.aims,
    "in-distribution": answers.in_distribution,
    "many-classes": answers.many_classes,
    "typed-back": answers.typed_back,
    "alibi": adapters.alibi,
    "dice": adapters.dice,
    "dice-diversity": adapters.dice_diversity,
    "sktime": adapters.sktime,
    "page": adapters.page,
    "first-steps": first_steps,
    "paper-true": paper_cases.on_real_series,
    "paper-published": paper_cases.in_published_layout,
    "paper-averages": paper_cases.averages,
    "plausibility": paper_cases.plausible,
    "search": search.measurements,
    "peers": peers.table,
    "peers-words": peers.words,
    "own-ground": peers.own_ground,
    "tscf-eval": peers.harness,
    "load": load.tried,
}
