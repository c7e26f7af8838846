"""A comparison as one page of HTML, for a wide screen and for a phone; no network, no scripts.

On a narrow screen every method of the summary becomes a card, other tables keep their first column in sight while the
rest is moved sideways, and pictures have their panels one below the other. All text from outside is escaped.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.compare.marks import BETTER, SECONDS, Marks, marks_of
from ntdcfe_plugins.report import escaped, filled, number, picture

if TYPE_CHECKING:
    from ntdcfe_plugins.compare import Comparison

#: What a reader wants to know first; the other measures are one click away.
FIRST = (
    "method", "success %", "edits", "segments", "l1", "sparsity", "survival_1 %", "plausible %", "rows", "calls",
    "seconds", "fit seconds",
)  # fmt: skip
#: The columns in words, where their names are not.
LABELS = {
    "n": "instances", "l1": "L1", "l2": "L2", "sparsity": "changed cells", "features": "changed features",
    "segments": "runs of changed cells", "survival_1": "survives 1% noise", "survival_5": "survives 5% noise",
    "dtw": "DTW", "plausible": "plausible by LOF", "plausible_forest": "plausible by isolation forest",
    "allowed": "keeps the rules", "cpu_seconds": "processor seconds", "fit seconds": "seconds to fit",
    "fit rows": "rows to fit",
}  # fmt: skip
#: What those columns mean that only the summary has.
OF_THE_SUMMARY = {
    "fit seconds": "time to build and fit the method, before the first instance",
    "fit rows": "rows that the model was asked about meanwhile",
}
MARKS = {"best": "▲", "worst": "▼", "": ""}
# A reason is cut after so many letters.
MOST_LETTERS = 200
# Pictures on a screen narrower than this have one panel a row.
NARROW = 640

STYLE = f"""
* {{ box-sizing: border-box; }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 1250px; margin: 1.5rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; line-height: 1.25; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; }}
p, ul, dl {{ max-width: 50rem; overflow-wrap: anywhere; }} .note {{ color: #555; font-size: 14px; }}
table {{ border-collapse: separate; border-spacing: 0; font-size: 14px; }}
th, td {{ border-bottom: 1px solid #ddd; padding: .35rem .55rem; text-align: right; vertical-align: top; }}
th {{ border-bottom: 2px solid #888; vertical-align: bottom; font-weight: 600; }}
th:first-child, td:first-child {{ text-align: left; position: sticky; left: 0; background: #fff; font-weight: 600; }}
td {{ white-space: nowrap; }} td:first-child {{ white-space: normal; min-width: 9rem; }}
td.text, th.text {{ text-align: left; }} td.text {{ white-space: normal; overflow-wrap: anywhere; min-width: 5rem; }}
.wide {{ overflow-x: auto; }} img {{ max-width: 100%; height: auto; }}
.best {{ color: #00614a; font-weight: 600; }} .worst {{ color: #a33c00; }} .apart {{ color: #666; font-style: italic; }}
dt {{ font-weight: 600; }} dd {{ margin: 0 0 .4rem 1rem; }}
summary {{ cursor: pointer; margin: .6rem 0; padding: .4rem 0; }}
@media (max-width: {NARROW}px) {{
  .wide td:first-child {{ max-width: 9rem; overflow-wrap: anywhere; }}
  .cards td:first-child {{ max-width: none; }}
  .cards table, .cards tbody, .cards tr, .cards td {{ display: block; width: 100%; }}
  .cards thead {{ display: none; }}
  .cards tr {{ border: 1px solid #bbb; border-radius: 6px; margin: 0 0 .8rem; padding: .3rem .7rem .5rem; }}
  .cards td {{ display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .12rem 0; }}
  .cards td.text {{ display: block; }}
  .cards td::before {{ content: attr(data-label); color: #555; font-weight: 400; font-style: normal; }}
  .cards td.text::before {{ content: attr(data-label) ": "; }}
  .cards td:first-child {{ position: static; font-size: 1.05rem; }} .cards td:first-child::before {{ content: none; }}
}}
"""

Cell = tuple[str, str]


@silent()
def comparison_html(comparison: Comparison, title: str, glossary: Mapping[str, str]) -> str:
    """A comparison as one page: summary, pictures, failures, every instance, and what the columns mean.

    Parameters
    ----------
    comparison : ntdcfe_plugins.compare.Comparison
    title : str
    glossary : dict of column to str
        What the columns of its table mean.
    """
    parts = [
        f"<h1>{escaped(title)}</h1>",
        *(f"<p>{escaped(text)}</p>" for text in (_about(comparison), *comparison.notes, _took(comparison))),
        "<h2>Summary</h2>",
        summary_html(comparison),
        *_failures(comparison),
        "<h2>Proximity against sparsity</h2>",
        picture(comparison.plot(), "proximity against sparsity of each method", comparison.plot(narrow=True), NARROW),
        "<p class='note'>Small points are instances, large ones means over successes; hollow where a method "
        "failed on some, so that its mean is over the others.</p>",
    ]
    for i in _telling(comparison):
        told = instance_name(comparison, i)
        panels = comparison.plot_instance(i), comparison.plot_instance(i, columns=1)
        parts += [
            f"<h2>{escaped(told[0].upper() + told[1:])}, as each method changes it</h2>",
            picture(panels[0], f"{told} before and after, by method", panels[1], NARROW),
        ]
    parts += [*_every_instance(comparison), *_versions(comparison), *_meanings(comparison, glossary)]
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{escaped(title)}</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def summary_html(comparison: Comparison) -> str:
    """The summary of a comparison as an HTML fragment: what matters first, then all measures."""
    summary = comparison.summary()
    marks, there = marks_of(summary), filled(summary)
    first = [name for name in FIRST if name in there]
    rest = [name for name in there if name != "method"]
    cards = _table(
        [label(name) for name in first], [[_marked(row, name, marks) for name in first] for row in summary], "cards"
    )
    # Measures as lines, since there are more of them than of methods.
    lines = [[(_directed(name), ""), *(_marked(row, name, marks) for row in summary)] for name in rest]
    every = _table(["measure", *(row["method"] for row in summary)], lines)
    level = f"{100 * marks.level:.0f}%"
    return (
        f"{cards}<p class='note'>▲ the best of a column, or within {level} of it ({SECONDS} s for times); ▼ the worst. "
        "Distances and changes are means over successes, so only methods that succeed as often as the best are marked; "
        "those of the others, <span class='apart'>in italics</span>, are over fewer instances. Costs are over all "
        "instances, and not marked where a method never succeeds; - stands for a number that does not apply or is not "
        "known.</p>"
        f"<details><summary>All measures</summary>{every}</details>"
    )


def label(name: str) -> str:
    """A column in words."""
    stem = name.removesuffix(" %")
    return LABELS.get(stem, stem) + (", %" if name.endswith(" %") else "")


def instance_name(comparison: Comparison, i: int) -> str:
    """An instance by its number, and by what the model says of it."""
    said = comparison.labels[i] if i < len(comparison.labels) else ""
    return f"instance {i}" + (f" ({said})" if said else "")


def _about(comparison: Comparison) -> str:
    n, shape = len(comparison.instances), comparison.instances.shape[1:]
    size = f"{shape[0]} steps of {shape[1]} features" if len(shape) == 2 else f"{shape[0]} features"
    names = f" ({', '.join(comparison.features.names)})" if comparison.features and shape[-1] <= 12 else ""
    counts = ", ".join(f"{said} ({k})" for said, k in Counter(comparison.labels).items())
    said = f" The model says of them: {counts}." if counts else ""
    return (
        f"{len(comparison.methods)} methods, {n} instance{'s' if n != 1 else ''} of {size}{names}; wanted is: "
        f"{comparison.target}.{said} Every method was asked about the same instances and the same model."
    )


def _took(comparison: Comparison) -> str:
    explained = sum(row["seconds"] for row in comparison.table if row["seconds"] == row["seconds"])
    fitted = sum(cost.seconds for cost in comparison.fits.values() if cost.seconds == cost.seconds)
    return f"All explanations together took {duration(explained)}, and {duration(fitted)} to build and fit the methods."


def duration(seconds: float) -> str:
    """A time as a person would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _failures(comparison: Comparison) -> list[str]:
    """Where a method has no counterfactual, with the reason: a line for all instances of the same reason."""
    reasons: dict[tuple[str, str, str], list[int]] = {}
    for row in comparison.table:
        if not row["success"]:
            reasons.setdefault((row["method"], row["status"], row["note"]), []).append(row["instance"])
    if not reasons:
        return []
    lines = []
    for (method, status, why), where in reasons.items():
        named = ", ".join(instance_name(comparison, i) for i in where)
        told = textwrap.shorten(why, MOST_LETTERS, placeholder=" …")
        lines.append([(method, ""), (named, "text"), (status, "text"), (told, "text")])
    table = _table(["method", "where", "status", "why"], lines, "cards", text=True)
    return ["<h2>Where there was none, and why</h2>", table]


def _every_instance(comparison: Comparison) -> list[str]:
    shown = [name for name in filled(comparison.table) if name not in ("note", "instance")]
    rows = [
        [(f"{row['method']}: {instance_name(comparison, row['instance'])}", ""),
         *((number(row[name]), "") for name in shown if name != "method")]
        for row in comparison.table
    ]  # fmt: skip
    head = ["method and instance", *(label(name) for name in shown if name != "method")]
    return ["<h2>Every instance</h2>", f"<details><summary>The table</summary>{_table(head, rows)}</details>"]


def _versions(comparison: Comparison) -> list[str]:
    if not comparison.versions:
        return []
    rows = [[(method, ""), (text, "text")] for method, text in comparison.versions.items()]
    return ["<h2>Versions</h2>", _table(["method", "made with"], rows, text=True)]


def _meanings(comparison: Comparison, glossary: Mapping[str, str]) -> list[str]:
    shown = [name for name in filled(comparison.table) if name in glossary]
    meanings = {name: glossary[name] for name in shown}
    meanings |= {name: OF_THE_SUMMARY[name] for name in filled(comparison.summary()) if name in OF_THE_SUMMARY}
    told = "".join(f"<dt>{escaped(_directed(name))}</dt><dd>{escaped(text)}</dd>" for name, text in meanings.items())
    return ["<h2>What the columns mean</h2>", f"<dl class='note'>{told}</dl>"]


def _directed(name: str) -> str:
    """A column in words, with what is better."""
    better = BETTER.get(name, BETTER.get(f"{name} %"))
    return label(name) + (f" ({better} is better)" if better else "")


def _marked(row: Mapping[str, Any], name: str, marks: Marks) -> Cell:
    mark = marks.of(row["method"], name)
    text = "< 0.01" if name.endswith("seconds") and row[name] < 0.01 else number(row[name])
    return f"{MARKS.get(mark, '')} {text}".strip(), mark


def _table(head: Sequence[str], rows: Iterable[Sequence[Cell]], kind: str = "", text: bool = False) -> str:
    """A table of escaped cells, each with a class; a cell carries its column's name for cards on narrow screens."""
    top = "".join(f"<th class='{'text' if text else ''}'>{escaped(cell)}</th>" for cell in head)
    lines = (
        "".join(
            f"<td data-label='{escaped(name)}' class='{look}'>{escaped(cell)}</td>"
            for name, (cell, look) in zip(head, row, strict=True)
        )
        for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<div class='wide {kind}'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _telling(comparison: Comparison, most: int = 2) -> list[int]:
    """The instances for which the most methods have a counterfactual, in order."""
    count = {
        i: sum(comparison.counterfactuals.get((method, i)) is not None for method in comparison.methods)
        for i in range(len(comparison.instances))
    }
    return sorted(sorted((i for i in count if count[i]), key=lambda i: -count[i])[:most])
