"""Results as HTML: a counterfactual in a notebook, and the report of a comparison.

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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ntdcfe_plugins.compare import Comparison

# A cell of a table has no more letters than this of what an option changes.
MOST_LETTERS = 220
# Characters that HTML has no place for: controls, and halves of pairs.
CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\ufffe\\uffff]")

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1250px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 13px; }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .55rem; text-align: right; }
th { border-bottom: 2px solid #888; } th:first-child, td:first-child { text-align: left; white-space: nowrap; }
img { max-width: 100%; height: auto; } .wide { overflow-x: auto; } p { max-width: 50rem; } .note { color: #555; }
"""


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
        return _picture(figure, "before and after, change by change")
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


def comparison_html(comparison: Comparison, title: str, glossary: Mapping[str, str]) -> str:
    """A comparison as one page: tables, pictures, failures; no network, no scripts.

    Parameters
    ----------
    comparison : ntdcfe_plugins.compare.Comparison
    title : str
    glossary : dict of column to str
        What the columns of its table mean.
    """
    table, n = comparison.table, len(comparison.instances)
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{len(comparison.methods)} methods, {n} instance{'s' if n != 1 else ''} of shape "
        f"{escape(' x '.join(map(str, comparison.instances.shape[1:])))}; target: {escape(comparison.target)}. "
        "Every method was asked about the same instances and the same model.</p>",
        "<h2>Summary</h2>",
        summary_html(comparison),
        "<h2>Proximity against sparsity</h2>",
        _picture(comparison.plot(), "proximity against sparsity of each method"),
        "<p class='note'>Small points are instances, large ones means over successes; hollow where a method "
        "failed on some, so that its mean is over the others.</p>",
    ]
    for i in _telling(comparison):
        parts += [
            f"<h2>Instance {i}, as each method changes it</h2>",
            _picture(comparison.plot_instance(i), f"instance {i} before and after, by method"),
        ]
    failures = [[row["method"], row["instance"], row["status"], row["note"]] for row in table if not row["success"]]
    if failures:
        head = ["method", "instance", "status", "why"]
        parts += ["<h2>Where there was none</h2>", f"<div class='wide'>{table_html(head, failures)}</div>"]
    shown = [name for name in filled(table) if name != "note"]
    cells = [[number(row[name]) for name in shown] for row in table]
    parts += ["<h2>Every instance</h2>", f"<div class='wide'>{table_html(shown, cells)}</div>"]
    meanings = "".join(f"<li><b>{escape(name)}</b>: {escape(glossary[name])}</li>" for name in shown)
    parts += ["<h2>What the columns mean</h2>", f"<ul class='note'>{meanings}</ul>"]
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def summary_html(comparison: Comparison) -> str:
    """The summary of a comparison as an HTML fragment."""
    summary = comparison.summary()
    shown = filled(summary)
    cells = [[number(row[name]) for name in shown] for row in summary]
    return (
        f"<div class='wide'>{table_html(shown, cells)}</div>"
        "<p class='note'>Distances and changes are means over successes, costs over all instances; "
        "- stands for a number that does not apply or is not known.</p>"
    )


def _telling(comparison: Comparison, most: int = 2) -> list[int]:
    """The instances for which the most methods have a counterfactual, in order."""
    count = {
        i: sum(comparison.counterfactuals.get((method, i)) is not None for method in comparison.methods)
        for i in range(len(comparison.instances))
    }
    return sorted(sorted((i for i in count if count[i]), key=lambda i: -count[i])[:most])


def _picture(figure: Figure, alt: str) -> str:
    """A figure as an image within the page."""
    import matplotlib.pyplot as plt

    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    plt.close(figure)
    return f"<img alt='{escape(alt)}' src='data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}'>"
