"""What the page says, as HTML. All text from outside is escaped."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ntdcfe_plugins._shared.answer import Answer, cost_in_words, value_in_words
from ntdcfe_plugins.app.rules import windows_in_words
from ntdcfe_plugins.app.state import State
from ntdcfe_plugins.report import escaped, held, table_html

# What a page has room for; the letter and its JSON have all of it.
MOST_SENTENCES, MOST_LETTERS, MOST_ROWS = 8, 160, 40


def decision(state: State, present: str) -> str:
    """What the model says, and what would change it."""
    said = f"<p>The model says <b>{escaped(present)}</b> of {escaped(state.subject.names[state.index])}.</p>"
    cf = state.cf
    if cf is None:
        return said + "<p>Choose what it should say instead, and ask.</p>"
    if not state.answers:
        return said + f"<p>{escaped(cf)}</p>"
    notes = "".join(f"<p class='note'>Note: {escaped(note)}.</p>" for note in cf.reservations())
    cost = f"{cf.rows} rows in {cf.calls} calls to the model, {cf.seconds:.1f} s"
    return said + f"<p>For <b>{escaped(cf.target)}</b> there are these options ({cost}):</p>{notes}"


def options(state: State) -> str:
    """Each option with its edits as sentences, its costs and its survival; the shown one is marked."""
    return "".join(_option(name, answer, name == state.option) for name, answer in state.answers.items())


def _option(name: str, answer: Answer, shown: bool) -> str:
    told = answer.in_short()
    items = "".join(f"<li>{escaped(_short(text))}</li>" for text in told[:MOST_SENTENCES])
    more = f"<li>and {len(told) - MOST_SENTENCES} more, see the letter</li>" if len(told) > MOST_SENTENCES else ""
    mark = " (shown)" if shown else ""
    style = "border-left:4px solid #0072B2" if shown else "border-left:4px solid #ccc"
    return (
        f"<section class='option' style='{style};padding:.1em .7em;margin:.5em 0'><b>{escaped(name)}{mark}</b>"
        f"<ol style='margin:.2em 0;padding-left:1.4em'>{items}{more}</ol>"
        f"<small>{escaped(cost_in_words(answer))}; still holds: {escaped(held(answer.survival))}</small></section>"
    )


def rules(state: State) -> str:
    """The rules in force, in words, and whether the answer is older than they are."""
    told = state.rules.told(state.subject.features)
    items = "".join(f"<li>{escaped(text)}</li>" for text in told) or "<li>none beside those of the explainer</li>"
    old = "<p><b>The question has changed since the answer: ask again.</b></p>" if state.stale else ""
    return f"<b>Rules in force</b><ul style='margin:.2em 0;padding-left:1.2em'>{items}</ul>{old}"


def progress(state: State) -> str:
    """A bar while the search is at work."""
    if state.phase == "idle":
        return "<div role='status'></div>"
    told = "stopping after this call to the model" if state.phase == "stopping" else "asking the model"
    seen = state.progress
    if seen is None:
        return f"<div role='status'><progress style='width:100%'></progress><br>{told} …</div>"
    most = seen.max_rows or state.max_rows
    bar = f"value='{seen.rows}' max='{most}'" if most else ""
    best = "nothing found yet" if seen.best == float("inf") else f"nearest so far {seen.best:.4g}"
    return (
        f"<div role='status'><progress style='width:100%' {bar}></progress><br>"
        f"{told}: {seen.rows} rows, {best}, {seen.seconds:.1f} s</div>"
    )


def message(text: str) -> str:
    """An error or a remark."""
    style = "border:1px solid #D55E00;padding:.4em .6em;white-space:pre-wrap;overflow-wrap:anywhere"
    return f"<div role='alert' style='{style}'>{escaped(text)}</div>" if text else "<div role='alert'></div>"


def trial(text: str, changed: int, noun: str) -> str:
    """What the model says of the values that are tried; a noun for what they are compared with."""
    cells = f"{changed} value{'s' * (changed != 1)} differ{'s' * (changed == 1)} from the {noun}"
    return f"<div role='status'>With these values the model says <b>{escaped(text)}</b> ({cells}).</div>"


def row(state: State) -> str:
    """A row of a table: what is now, and what would be, unchanged features small."""
    answer = state.shown
    features, now = state.subject.features, state.original[0]
    lines = []
    for i, name in enumerate(features.names):
        old = value_in_words(features[i], now[i])
        new = "" if answer is None or not answer.differs[0, i] else value_in_words(features[i], answer.after[0, i])
        look = "" if new or answer is None else " style='color:#666;font-size:85%'"
        cells = (escaped(name), escaped(old), f"→ <b>{escaped(new)}</b>" if new else "")
        line = "".join(f"<td style='padding:.1em .8em .1em 0'>{cell}</td>" for cell in cells)
        lines.append((not new, f"<tr{look}>{line}</tr>"))
    ordered = [line for _, line in sorted(lines, key=lambda entry: entry[0])]
    return f"<table>{''.join(ordered[:MOST_ROWS])}</table>"


def bookmarks(state: State) -> str:
    """The bookmarks as a table; where one is compared, its sentences beside those of the answer."""
    if not state.bookmarks:
        return "<p>No bookmarks yet.</p>"
    lines: list[Sequence[object]] = []
    for mark in state.bookmarks:
        chosen = mark.cf.options.get(mark.option, mark.cf)
        told = [windows_in_words(mark.question.rules.windows)] * bool(mark.question.rules.windows)
        told += list(mark.question.rules.features)
        lines.append(
            [mark.name, len(chosen.edits) or "cell by cell", chosen.sparsity, chosen.proximity, held(chosen.survival),
             ", ".join(told) or "none"]
        )  # fmt: skip
    head = ["bookmark", "edits", "changed values", "proximity", "still holds", "rules on"]
    table = f"<div class='wide'>{table_html(head, lines)}</div>"
    return STYLE + table + _compared(state)


STYLE = (
    "<style>table{border-collapse:collapse;font-size:90%}th,td{text-align:left;padding:.2em .6em;"
    "border-bottom:1px solid #ddd;vertical-align:top}.wide th,.wide td:nth-child(n+2):nth-child(-n+5)"
    "{overflow-wrap:normal}.wide td:first-child{min-width:8em}.wide{overflow-x:auto}</style>"
)


def _compared(state: State) -> str:
    other, mine = state.beside, state.shown
    if state.compared is None:
        return ""
    if other is None:
        return f"<p>This bookmark is of another {state.subject.noun}.</p>"
    columns = []
    for head, answer in (("The answer", mine), (state.bookmarks[state.compared].name, other)):
        told = ["no answer yet"] if answer is None else answer.in_short()[:MOST_SENTENCES]
        items = "".join(f"<li>{escaped(_short(text))}</li>" for text in told)
        cost = "" if answer is None else escaped(cost_in_words(answer))
        columns.append(f"<td><b>{escaped(head)}</b><ol style='padding-left:1.2em'>{items}</ol>{cost}</td>")
    return f"<table class='compared'><tr>{''.join(columns)}</tr></table>"


def _short(text: str) -> str:
    return textwrap.shorten(text, MOST_LETTERS, placeholder=" … (all of it: in the letter)")
