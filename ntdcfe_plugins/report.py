"""Results as HTML: what a notebook shows of a counterfactual, and the report of a comparison.

Everything that is not ours, such as names of features, labels and errors, is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ntdcfe import Counterfactual

# A notebook shows this many changes; the rest are counted.
MOST_CHANGES = 20


def counterfactual_html(cf: Counterfactual) -> str:
    """A counterfactual as an HTML fragment: its changes and what it cost.

    Parameters
    ----------
    cf : Counterfactual

    Returns
    -------
    str
    """
    if cf.x is None or cf.status == "already_target":
        return f"<div><b>{escape(str(cf))}</b></div>"
    static = cf.x.ndim == 1
    rows = [[change.feature, _steps(change.first_step, change.last_step), change.text] for change in cf.changes]
    header = ["feature", "steps", "change"]
    if static:
        header, rows = ["feature", "change"], [[name, text] for name, _, text in rows]
    more = f"<p>and {len(rows) - MOST_CHANGES} more changes</p>" if len(rows) > MOST_CHANGES else ""
    cost = (
        f"{cf.sparsity} {'features' if static else 'cells'} changed, proximity {cf.proximity:.4g}; "
        f"{cf.n_queries} rows in {cf.n_calls} calls to the model, {cf.seconds:.1f} s"
    )
    return (
        f"<div><b>The model says {escape(_show(cf.present))}. For {escape(_show(cf.prediction))} instead:</b>"
        f"{table_html(header, rows[:MOST_CHANGES])}{more}<p>{escape(cost)}</p></div>"
    )


def table_html(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An HTML table of escaped cells."""
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(_show(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _steps(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
