"""The letter: one page about one decision that can be printed and handed on, and the same as JSON beside it.

The page is made from what the JSON says. It loads nothing from anywhere; all text from outside is escaped.
"""

from __future__ import annotations

import datetime
import json
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ntdcfe import Counterfactual, InvalidInputError, __version__
from ntdcfe.problem.codec import plain
from ntdcfe.problem.words import outcome_in_words
from ntdcfe_plugins._shared.answer import answer_of, answers_of
from ntdcfe_plugins._shared.in_force import constraints_of, fixed_steps, rules_of
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.report import escaped, held, picture_html, table_html

if TYPE_CHECKING:
    from ntdcfe import NTDCFE

# What two printed sheets have room for; all of it is in the JSON.
MOST_SENTENCES, MOST_LETTERS, MOST_RULES, MOST_LANES = 8, 240, 8, 4

STYLE = """
@page { size: A4; margin: 14mm 16mm; }
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.45rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin: 1.3rem 0 .3rem; }
p, ol, ul { margin: .3rem 0; overflow-wrap: anywhere; } .note { color: #555; font-size: .9em; }
table { border-collapse: collapse; font-size: .87em; width: 100%; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .45rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { border-bottom: 2px solid #888; overflow-wrap: normal; } th:last-child, td:last-child { min-width: 6rem; }
td:first-child { min-width: 4.2rem; } img { max-width: 100%; height: auto; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f5f5f5; padding: .4rem; font-size: .85em; }
@media print {
  body { font-size: 9pt; margin: 0; max-width: none; padding: 0; } h1 { font-size: 14pt; } h2 { font-size: 11pt; }
  h2, p:has(+ ol) { break-after: avoid; } tr, li, img, pre { break-inside: avoid; } img { max-height: 125mm; }
  th, td { padding: .12rem .4rem; } h2 { margin: .8rem 0 .2rem; }
}
"""


def write_letter(
    cf: Counterfactual,
    path: str | os.PathLike[str],
    *,
    title: str = "What would change the decision",
    explainer: NTDCFE | None = None,
    model: str | None = None,
    command: str | None = None,
    units: Mapping[str, str] | None = None,
    date: str | None = None,
) -> Path:
    """Write the letter of a counterfactual, and a file with the same name and the ending ``.json`` beside it.

    Parameters
    ----------
    cf : Counterfactual
    path : path
        Of the page; ends with ``.html``.
    title : str
    explainer : NTDCFE, optional
        What found it, for the seed, the settings and the rules between features.
    model : str, optional
        What tells this model from others: a name, a version, a hash of its file.
    command : str, optional
        What repeats the search.
    units : mapping of str to str, optional
        From a feature's name to the unit that stands behind its values in the picture of a row.
    date : str, optional
        Today's if not given.

    Returns
    -------
    pathlib.Path
        Of the page.
    """
    page = Path(path)
    if page.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"path must end with .html, got {str(path)!r}.")
    letter = {"title": title, **letter_of(cf, explainer), "model": model, "command": command,
              "date": date or datetime.date.today().isoformat()}  # fmt: skip
    picture = picture_html(cf, units, MOST_LANES) if cf.found and cf.status != "already_target" else ""
    facts = page.with_suffix(".json")
    page.write_text(letter_html(letter, picture, facts.name), encoding="utf-8")
    facts.write_text(json.dumps({**letter, "result": cf.to_dict()}, allow_nan=False, indent=1), encoding="utf-8")
    return page


@silent()
def letter_of(cf: Counterfactual, explainer: NTDCFE | None = None) -> dict[str, Any]:
    """What a letter says, in plain JSON.

    Parameters
    ----------
    cf : Counterfactual
    explainer : NTDCFE, optional
        What found it.
    """
    options = [
        {
            "name": name,
            "is_the_answer": answer.same_as(cf),
            "sentences": answer.sentences(),
            "in_short": answer.in_short(),
            "edits": [edit._asdict() for edit in answer.edits],
            "changed": answer.sparsity,
            "proximity": _plain(answer.proximity),
            "survival": _survival(answer.survival),
            "still_holds": held(answer.survival),
        }
        for name, answer in answers_of(cf).items()
    ]
    contributions = [
        {"edit": edit.text, "without": _plain(each.without), "alone": _plain(each.alone), "share": _plain(each.share)}
        for edit, each in zip(cf.edits, cf.contributions, strict=False)
    ]
    return {
        "decision": {
            "present": _plain(cf.present),
            "wanted": cf.target,
            "found": cf.found,
            "prediction": _plain(cf.prediction),
            "text": str(cf),
            "sentences": cf.sentences() if cf.found else [],
            "in_short": answer_of(cf).in_short() if cf.found else [],
            "survival": _survival(cf.survival),
            "reservations": cf.reservations(),
        },
        "options": options,
        "contributions": contributions,
        "rules": {
            "features": rules_of(cf.features),
            "fixed_steps": fixed_steps(cf),
            "missing_cells": int(np.isnan(cf.original).sum()),
            "constraints": constraints_of(cf.features, explainer),
        },
        "search": {
            "rows": cf.rows,
            "calls": cf.calls,
            "failures": cf.failures,
            "seconds": _plain(cf.seconds),
            "status": cf.status,
            "asked_again": cf.confirmed,
            "contradicted": cf.contradicted,
            "version": __version__,
            "seed": None if explainer is None else explainer.seed,
            "settings": None if explainer is None else repr(explainer.settings),
        },
    }


def letter_html(letter: Mapping[str, Any], picture: str, facts: str) -> str:
    """The page.

    Parameters
    ----------
    letter : mapping
        What it says, see :func:`letter_of`; with a title, a model, a command and a date.
    picture : str
        HTML of the picture, or nothing.
    facts : str
        Name of the file with the same as JSON.
    """
    parts = [
        f"<header><h1>{escaped(letter['title'])}</h1><p class='note'>{escaped(letter['date'])}</p></header>",
        _section("The decision", *_decision(letter["decision"]), picture),
        _section("The ways to change it", _options(letter["options"])),
        _section("Which change does how much", _contributions(letter["contributions"])),
        _section("What was held fixed, and the rules in force", _in_force(letter["rules"])),
        _section("How it was found", _search(letter, facts)),
    ]
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{escaped(letter['title'])}</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><link rel='icon' href='data:,'>"
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(filter(None, parts)) + "\n</body></html>\n"
    )


def _section(heading: str, *parts: str) -> str:
    body = "\n".join(filter(None, parts))
    return f"<section><h2>{escaped(heading)}</h2>\n{body}</section>" if body else ""


def _decision(decision: Mapping[str, Any]) -> list[str]:
    says = f"<p>The model says <b>{_outcome(decision['present'])}</b>.</p>"
    if not decision["sentences"]:  # nothing has to change, or nothing was found: the text says which and why
        return [*([says] * (decision["present"] is not None)), f"<p>{escaped(decision['text'])}</p>"]
    then = decision["wanted"] if decision["prediction"] is None else decision["prediction"]
    listed = decision["in_short"][:MOST_SENTENCES]
    more = len(decision["in_short"]) - len(listed)
    parts = [
        says,
        f"<p>It would say <b>{_outcome(then)}</b> after {'this' if len(listed) == 1 else 'all of this'}:</p>",
        "<ol>" + "".join(f"<li>{escaped(_short(text))}</li>" for text in listed) + "</ol>",
        f"<p>and {more} more, see the JSON file.</p>" if more else "",
    ]
    if decision["survival"]:
        parts.append(f"<p>{escaped(decision['survival']['text'])}</p>")
    return parts + [f"<p><b>Note:</b> {escaped(reservation)}.</p>" for reservation in decision["reservations"]]


def _options(options: Sequence[Mapping[str, Any]]) -> str:
    if not options:
        return ""
    rows = [
        [
            option["name"] + " (above)" * option["is_the_answer"],
            _short("; ".join(option["in_short"])),
            len(option["edits"]) or "cell by cell",
            option["changed"],
            option["proximity"],
            option["still_holds"],
        ]
        for option in options
    ]
    note = "<p class='note'>Proximity is the weighted sum of all changes: less is nearer to what is now.</p>"
    return table_html(["option", "what changes", "edits", "changed values", "proximity", "still holds"], rows) + note


def _contributions(contributions: Sequence[Mapping[str, Any]]) -> str:
    if not contributions:
        return ""
    shares = any(each["share"] is not None for each in contributions)
    rows = [
        [_short(each["edit"]), _outcome(each["without"], safe=False), _outcome(each["alone"], safe=False)]
        + ([_percent(each["share"])] if shares else [])
        for each in contributions[:MOST_SENTENCES]
    ]
    head = ["change", "the model says without it", "with it alone"] + ["share of the effect"] * shares
    return table_html(head, rows)


def _in_force(rules: Mapping[str, Any]) -> str:
    listed = rules["features"][:MOST_RULES]
    rows = [[_short(", ".join(group["names"])), group["may_change"], group["limits"] or "none"] for group in listed]
    told = [rules["fixed_steps"]] if rules["fixed_steps"] else []
    told += [f"{rules['missing_cells']} missing values stay missing"] if rules["missing_cells"] else []
    told += rules["constraints"]
    told += [f"{len(rules['features']) - len(listed)} more kinds of features, see the JSON file"] * (
        len(rules["features"]) > len(listed)
    )
    items = "".join(f"<li>{escaped(_short(text))}</li>" for text in told)
    return table_html(["feature", "may it change?", "limits"], rows) + (f"<ul>{items}</ul>" if items else "")


def _search(letter: Mapping[str, Any], facts: str) -> str:
    search = letter["search"]
    asked = "asked again and confirmed" if search["asked_again"] else "not asked again"
    lines = [
        f"The model answered {search['rows']} rows in {search['calls']} calls "
        f"({search['failures']} failed), {search['seconds']:.1f} s."
    ]
    lines += [f"The answer was {asked}."] if letter["decision"]["sentences"] else []
    lines += ["The model gave different answers to the same question."] if search["contradicted"] else []
    seed = "" if search["seed"] is None else f", seed {search['seed']}"
    lines += [f"Found by ntdcfe {search['version']}{seed}."]
    lines += [f"Settings: {_short(search['settings'])}."] if search["settings"] else []
    parts = [f"<p>{escaped(' '.join(lines))}</p>"]
    parts += [f"<p>Model: {escaped(letter['model'])}</p>"] if letter["model"] else []
    if letter["command"]:
        parts.append(f"<p>To repeat it:</p><pre>{escaped(letter['command'])}</pre>")
    return "\n".join([*parts, f"<p class='note'>The same with all numbers: {escaped(facts)}</p>"])


def _plain(value: Any) -> Any:
    """A number, a label or None as strict JSON has it: a number that is none as None, other things as text."""
    value = plain(value)
    return None if value == {"number": "nan"} else value["number"] if isinstance(value, dict) else value


def _survival(survived: Any) -> dict[str, Any] | None:
    if survived is None:
        return None
    return {**{key: _plain(value) for key, value in survived._asdict().items()}, "text": str(survived)}


def _percent(share: Any) -> str:
    return f"{100 * share:.0f}%" if isinstance(share, (int, float)) else "not known"


def _outcome(outcome: Any, safe: bool = True) -> str:
    text = "not asked" if outcome is None else outcome_in_words(outcome)
    return escaped(text) if safe else text


def _short(text: str) -> str:
    return textwrap.shorten(text, MOST_LETTERS, placeholder=" …")
