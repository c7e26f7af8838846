"""How long the page takes to answer, in a real browser: from the click to the bar, and to the answer.

    python benchmarks/page.py

BasicMotions with the forest of ``examples/app_basic_motions.py``. Each series is asked about twice: at first, and again
with the steps 20 to 50 frozen. Times are taken in the browser; on a busy machine, the seconds of the processor tell what
it would take alone. Needs Chromium (``make browser``).
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import report

sys.path.insert(0, str(report.ROOT / "tests"))
from browser import Browser

from ntdcfe_plugins.app import serve

EXAMPLE = report.ROOT / "examples" / "app_basic_motions.py"
FROZEN = "20-50"
AIM = 3.0
# The button is disabled when the bar is drawn, and enabled when the answer is.
WATCH = """
const ask = Bokeh.documents[0].get_model_by_name('ask');
window.times = [];
ask.properties.disabled.change.connect(() => window.times.push(performance.now()));
Bokeh.index.find_one(ask).shadow_el.addEventListener('click', () => window.times.push(performance.now()), true)
"""


def main() -> None:
    """Measure, and write the table."""
    parser = report.parser(__doc__)
    parser.add_argument("--n", type=int, default=10, help="series")
    args = parser.parse_args()
    example = runpy.run_path(str(EXAMPLE), run_name="__page__")
    explainer, X = example["explainer"], example["X"]
    before = os.getloadavg()[0]
    chosen = np.linspace(0, len(X) - 1, args.n).astype(int).tolist()
    with tempfile.TemporaryDirectory() as folder:
        page = serve(explainer, X, names=example["names"], folder=folder)
        browser = Browser(Path(folder))
        try:
            times = [one(browser, page.url, example["names"][i]) for i in chosen]
        finally:
            browser.close()
            page.stop()
    bar, answer, worked = np.array(times).transpose(2, 1, 0)  # (what, first or again, series)
    note = f"load of the machine (1 minute, of {os.cpu_count()} processors) when it began: {before:.1f}"
    header = report.made(explainer.settings, args, packages=("bokeh", "scikit-learn", "sktime"), note=note)
    rows = [
        [
            when, len(chosen), report.number(np.median(bar[i]), 2), report.number(bar[i].max(), 2),
            report.number(np.median(answer[i]), 2), report.number(answer[i].max(), 2),
            f"{np.mean(answer[i] <= AIM):.0%}", report.number(np.median(worked[i]), 2), report.number(worked[i].max(), 2),
        ]
        for i, when in enumerate(("asked first", f"asked again, steps {FROZEN} frozen"))
    ]  # fmt: skip
    report.write_markdown(
        args.out / "page.md",
        header,
        "Seconds from the click to the bar, and to the answer, in Chromium without a window; BasicMotions (100 steps, 6 "
        "channels) with a forest of 100 trees that says probabilities, any other label than the present one, 10,000 rows. "
        "The seconds of the processor are those of the server, the search and the model; Chromium's are not in them.",
        report.table(
            [
                "question", "series", "bar, median s", "bar, most s", "answer, median s", "answer, most s",
                f"within {AIM:g} s", "processor, median s", "processor, most s",
            ],
            rows,
        ),
    )


def one(browser: Browser, url: str, series: str) -> list[tuple[float, float, float]]:
    """Ask about one series twice; gives the seconds to the bar, to the answer, and of the processor of each."""
    browser.open(url)
    browser.choose("series", series)
    browser.until(lambda: f"of {series}" in browser.text("decision"))
    browser.driver.execute_script(WATCH)
    first = _asked(browser)
    browser.type("windows", FROZEN)
    browser.until(lambda: FROZEN in browser.text("rules"))
    return [first, _asked(browser)]


def _asked(browser: Browser) -> tuple[float, float, float]:
    worked = time.process_time()
    browser.driver.execute_script("window.times.length = 0")
    browser.press("ask")
    browser.until(lambda: browser.driver.execute_script("return window.times.length") >= 3, 120)
    click, bar, answer = browser.driver.execute_script("return window.times")
    return (bar - click) / 1000, (answer - click) / 1000, time.process_time() - worked


if __name__ == "__main__":
    main()
