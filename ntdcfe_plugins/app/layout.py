"""Where the parts of the page stand: beside each other, or below each other on a phone."""

from __future__ import annotations

from typing import Any

from bokeh.document import Document
from bokeh.layouts import column, row
from bokeh.models import UIElement
from jinja2 import Template

from ntdcfe_plugins.app.controls import Controls
from ntdcfe_plugins.app.figures import Detail, Lanes

PAGE = Template(
    """{% extends base %}
{% block preamble %}
<link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
  :root { color-scheme: light }
  body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff }
  header, main { max-width: 1400px; margin: 0 auto; padding: 0 14px; box-sizing: border-box }
  h1 { font-size: 1.35rem; margin: .6rem 0 } h2 { font-size: 1.05rem; margin: 1rem 0 .2rem }
  main { display: grid; grid-template: auto auto 1fr / minmax(260px, 340px) minmax(0, 1fr); gap: 0 28px }
  section, .own { min-width: 0 }
  /* The parts come in the order in which one needs them, which is also that of the Tab key and of a phone. */
  .question { grid-area: 1 / 1 } .rules { grid-area: 2 / 1 / 4 / 2 }
  .answer { grid-area: 1 / 2 / 3 / 3 } .own { grid-area: 3 / 2 }
  @media (max-width: 760px) { main { display: block } }
</style>
{% endblock %}
{% block contents %}
<header><h1>{{ title | e }}</h1></header>
<main>
  <section class="question" aria-label="the question"><h2>The question</h2>{{ embed(roots.question) }}</section>
  <section class="answer" aria-label="the answer"><h2>The answer</h2>{{ embed(roots.answer) }}</section>
  <section class="rules" aria-label="what may change"><h2>What may change</h2>{{ embed(roots.rules_part) }}</section>
  <div class="own">
    <section aria-label="try values"><h2>Try values of your own</h2>{{ embed(roots.try_part) }}</section>
    <section aria-label="keep and compare"><h2>Keep and compare</h2>{{ embed(roots.keep_part) }}</section>
  </div>
</main>
{% endblock %}
"""
)
WRAP = {"flex-wrap": "wrap", "gap": "0 8px"}


def laid_out(document: Document, c: Controls, lanes: Lanes, detail: Detail, title: str, static: bool) -> None:
    """Put the widgets into the document."""
    _add(document, "question", c.series, c.target, _beside(c.at_least, c.at_most), c.prefer, c.rows,
         _beside(c.ask, c.stop), c.progress, c.message)  # fmt: skip
    _add(document, "rules_part", c.windows, c.feature, c.may, c.limits, _beside(c.low, c.high), c.direction, c.weight,
         c.rules, c.free)  # fmt: skip
    picture: list[UIElement] = [c.row] if static else [lanes.figure]
    _add(document, "answer", c.decision, c.option, c.options, *picture)
    more: list[UIElement] = [] if static else [detail.figure]
    _add(document, "try_part", c.trial, *more, _beside(c.step, c.value), _beside(c.from_series, c.from_answer))
    _add(document, "keep_part", _beside(c.keep, c.save), c.saved, c.marks, _beside(c.recall, c.remove), c.bookmarks)
    document.title = title
    document.template = PAGE


def _add(document: Document, name: str, *parts: UIElement) -> None:
    document.add_root(column(*parts, name=name, sizing_mode="stretch_width"))


def _beside(*parts: Any) -> UIElement:
    return row(*parts, sizing_mode="stretch_width", styles=WRAP)
