"""Results as HTML: a counterfactual in a notebook, and the parts of which pages are made.

All text from outside, such as names of features, labels and errors, is escaped.
"""

from __future__ import annotations

import base64
import io
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ntdcfe import Counterfactual, Survived
from ntdcfe_plugins._shared.answer import answers_of
from ntdcfe_plugins._shared.numpy_errors import silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A cell of a table has no more letters than this of what an option changes.
MOST_LETTERS = 220
# Characters that HTML has no place for: controls, and halves of pairs.
CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufffe\\uffff]")


@silent()
def counterfactual_html(cf: Counterfactual) -> str:
    """A counterfactual as an HTML fragment: its text, its picture, and its options as a table.

    Parameters
    ----------
    cf : Counterfactual

    Returns
    -------
    str
    """
    parts = [text_html(str(cf))]
    if cf.found and cf.status != "already_target":
        parts.append(picture_html(cf))
        if len(cf.options) > 1:
            parts.append(options_html(cf))
    return f"<div>{''.join(parts)}</div>"


def text_html(text: str) -> str:
    """The text of a counterfactual: its first line in bold, its sentences as a list, the rest as lines."""
    head, *lines = text.split("\n")
    parts = [f"<b>{escaped(head)}</b>"]
    for listed, group in groupby(lines, lambda line: line.startswith("  - ")):
        if listed:
            parts.append(f"<ul>{''.join(f'<li>{escaped(line[4:])}</li>' for line in group)}</ul>")
        else:
            parts += [f"<div>{escaped(line.strip())}</div>" for line in group]
    return f"<div style='max-height:30em;overflow:auto;overflow-wrap:anywhere'>{''.join(parts)}</div>"


def picture_html(cf: Counterfactual, units: Mapping[str, str] | None = None, lanes: int | None = None) -> str:
    """Its picture, of at most so many lanes; nothing where matplotlib is missing."""
    from ntdcfe_plugins.plot import MOST_FEATURES, plot_counterfactual

    try:
        figure = plot_counterfactual(cf, max_features=lanes or MOST_FEATURES, units=units, words=False)
        return picture(figure, "before and after, change by change")
    except ImportError:  # the text says all of it
        return ""


def options_html(cf: Counterfactual) -> str:
    """The options of a search as a table: what each changes, how far it is, and how it does under noise."""
    rows = []
    for name, answer in answers_of(cf).items():
        shown = name + " (shown above)" * answer.same_as(cf)
        told = textwrap.shorten("; ".join(answer.in_short()), MOST_LETTERS, placeholder=" …")
        rows.append([shown, told, len(answer.edits) or "", answer.sparsity, answer.proximity, held(answer.survival)])
    cells = "features" if cf.original.ndim == 1 else "cells"
    return table_html(["option", "what changes", "edits", f"changed {cells}", "proximity", "still holds"], rows)


def held(survival: Survived | None) -> str:
    """How an answer did under noise, in a cell of a table."""
    if survival is None:
        return "not asked"
    told = f"{100 * survival.share:.0f}% (values off by {100 * survival.noise:g}%)" if survival.draws else "not asked"
    second = {None: "", True: "; of the second model, too", False: "; not of the second model"}
    return told + second[survival.second_model]


def escaped(text: Any) -> str:
    """Text from outside, made safe; characters that no page may have are replaced."""
    return escape(CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def table_html(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table of escaped cells."""
    head = "".join(f"<th>{escaped(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escaped(_show(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number(value: Any) -> str:
    """A cell of a table as a person would write it; ``-`` for NaN."""
    if isinstance(value, float):
        return "-" if value != value else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return _show(value)


def filled(table: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns in which some row has a value."""
    return [name for name in table[0] if any(row[name] == row[name] for row in table)]


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def picture(figure: Figure, alt: str, narrow: Figure | None = None, width: int = 640) -> str:
    """A figure as an image within the page.

    Parameters
    ----------
    figure : Figure
        Closed afterwards.
    alt : str
        What it shows, for who does not see it.
    narrow : Figure, optional
        Shown in its place on screens of at most `width` pixels; closed, too.
    width : int
    """
    image = f"<img alt='{escaped(alt)}' src='{_encoded(figure)}'>"
    if narrow is None:
        return image
    return f"<picture><source media='(max-width: {width}px)' srcset='{_encoded(narrow)}'>{image}</picture>"


def _encoded(figure: Figure) -> str:
    import matplotlib.pyplot as plt

    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    plt.close(figure)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
