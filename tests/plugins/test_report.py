"""Notebooks and letters say what the counterfactual says: all of it, escaped, and the same figures everywhere."""

import dataclasses
import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    AtMost,
    Causal,
    Counterfactual,
    Discrete,
    Features,
    PredictorError,
    SearchSettings,
    __version__,
)
from ntdcfe_plugins.letter import letter_html, letter_of, write_letter
from ntdcfe_plugins.report import counterfactual_html

QUICK = SearchSettings(max_rows=2000, batch_rows=50)
EVIL = "<script>alert(1 & '2')</script>"
LOAN = Features.from_dict(
    {
        "income": {"bounds": (0, 200), "direction": "rise"},
        "debt": {"bounds": (0, None), "precision": 1},
        "instalment": {"role": "non_actionable"},
        "home": {"categories": ["rent", "own"], "weight": 5.0},
        "age": {"role": "immutable"},
    }
)
RULES = [Causal("instalment", "debt", lambda debt: 0.1 * debt), AtMost("debt", 0)]


def loan(X):
    return np.where(X[:, 2] < 1.5, "granted", "refused")


@pytest.fixture(scope="module")
def lender():
    return NTDCFE(loan, LOAN, RULES, settings=QUICK, seed=3)


@pytest.fixture(scope="module")
def row(lender):
    return lender.explain(np.array([34.0, 27.0, 2.7, 1, 0, 41]), "granted")


@pytest.fixture(scope="module")
def series():
    features = Features.continuous(3, names=["a", EVIL, "c\x00d"], actionable_steps=slice(5, None))
    x = np.random.default_rng(0).normal(size=(20, 3))
    x[3, 0] = np.nan

    def predict(X):
        yes = 1 / (1 + np.exp(-5 * (X[:, -4:, 1:].min((1, 2)) - 0.5)))
        return np.column_stack([1 - yes, yes])

    cf = NTDCFE(predict, features, settings=QUICK, classes=["no", EVIL], missing="fixed").explain(x, EVIL)
    assert cf.edits
    assert cf.contributions
    return cf


class Page(HTMLParser):
    """A page whose tags are closed in order; its text, and where it would load from."""

    ALONE = ("meta", "link", "img", "br")

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.addresses, self.told = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.ALONE:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.told.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.told).split())


def in_one_line(text):
    return " ".join(text.replace("\x00", "\N{REPLACEMENT CHARACTER}").split())


def refused(strict):
    raise AssertionError(f"JSON has no {strict}")


def test_a_notebook_shows_the_text_of_the_answer_whole(row, series):
    failed = dataclasses.replace(
        series, status="model_failed", confirmed=False, widened=4.0, cause=PredictorError("timeout <1 s>")
    )
    for cf in (row, series, failed):
        page = Page(cf._repr_html_())
        for line in str(cf).split("\n"):
            assert in_one_line(line.removeprefix("  - ")) in page.text
        assert "script" not in page.seen
    assert "the model failed before this could be asked again: timeout <1 s>" in Page(failed._repr_html_()).text


def test_a_notebook_shows_the_picture_and_the_options(row):
    pytest.importorskip("matplotlib")
    page = Page(row._repr_html_())
    assert [address[:22] for address in page.addresses] == ["data:image/png;base64,"]
    for name, option in row.options.items():
        assert name in page.text
        assert f"{option.proximity:.4g}" in page.text
    assert "simplest (shown above)" in page.text


def test_a_notebook_says_that_nothing_was_found_or_has_to_change():
    nothing = NTDCFE(lambda X: np.zeros(len(X), int)).explain(np.zeros((4, 2)), 1, max_rows=50)
    assert Page(nothing._repr_html_()).text == in_one_line(str(nothing))
    already = NTDCFE(lambda X: np.ones(len(X), int)).explain(np.zeros((4, 2)), 1)
    assert Page(already._repr_html_()).text == "Nothing has to change: the model already says 1."


def test_a_letter_is_one_valid_page_that_loads_nothing(row, series, tmp_path):
    html5lib = pytest.importorskip("html5lib")
    nothing = NTDCFE(lambda X: np.zeros(len(X), int)).explain(np.zeros((4, 2)), 1, max_rows=50)
    for cf in (row, series, nothing):
        page = cf.report(tmp_path / "decision.html", title=EVIL, model=EVIL, command=EVIL)
        assert page.stat().st_size < 2e6
        written = page.read_text(encoding="utf-8")
        html5lib.HTMLParser(strict=True).parse(written)  # raises at the first error
        seen = Page(written)
        assert all(address.startswith("data:") for address in seen.addresses)
        assert not {"script", "iframe"} & set(seen.seen)
        assert "http" not in seen.text
        assert seen.text.count(EVIL) >= 3


def test_the_validator_finds_what_is_wrong(row, tmp_path):
    html5lib = pytest.importorskip("html5lib")
    written = row.report(tmp_path / "decision.html").read_text(encoding="utf-8")
    for right, spoilt in (("</ol>", ""), ("<!DOCTYPE html>", ""), ("<ol>", "<ol")):
        wrong = written.replace(right, spoilt, 1)
        with pytest.raises(html5lib.html5parser.ParseError):
            html5lib.HTMLParser(strict=True).parse(wrong)


def test_an_answer_of_many_values_is_summed_up_and_the_json_has_all_of_them(tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 2))
    settings = SearchSettings(max_rows=1500, options=["nearest"])
    features = Features.continuous(2, names=["a", "b"])
    cf = NTDCFE(lambda X: X[:, 10:, 0].mean(1) > 1, features, settings=settings).explain(x, True)
    page = Page(cf.report(tmp_path / "decision.html").read_text(encoding="utf-8"))
    told = json.loads((tmp_path / "decision.json").read_text(encoding="utf-8"))["decision"]
    assert told["sentences"] == cf.sentences()
    assert max(map(len, told["sentences"])) > 200
    (short,) = told["in_short"]
    assert short in page.text
    moved = (cf.x - x)[cf.x != x]
    assert re.match(rf"(raise|move) 'a' by {moved.min():.3g}.* to \+?{moved.max():.3g} (at|from) step \d+", short)
    assert len(short) < 150


def test_a_letter_tells_decision_options_rules_and_search(row, lender, tmp_path):
    page = write_letter(
        row, tmp_path / "decision.html", explainer=lender, model="v7, sha256:12ab", command="make it", date="2026-02-03"
    )
    text = Page(page.read_text(encoding="utf-8")).text
    for sentence in row.sentences():
        assert sentence in text
    for part in [
        "The model says refused",
        "granted",
        str(row.survival),
        "at least 0, at most 200, may only rise",
        "1 decimals",
        "only by a rule",
        "no: held fixed",
        "one of rent, own, weight 5",
        "'instalment' follows from 'debt'",
        "'debt' is at most 'income'",
        f"{row.rows} rows in {row.calls} calls",
        f"ntdcfe {__version__}, seed 3",
        "Model: v7, sha256:12ab",
        "make it",
        "2026-02-03",
        "decision.json",
    ]:
        assert part in text, part


def test_a_letter_tells_what_each_edit_does_and_which_steps_were_fixed(series, tmp_path):
    text = Page(series.report(tmp_path / "decision.html").read_text(encoding="utf-8")).text
    for edit, each in zip(series.edits, series.contributions, strict=True):
        assert in_one_line(f"{edit.text} {each.without} {each.alone} {100 * each.share:.0f}%") in text
    assert "held fixed in time: step 0 to 4" in text
    assert "1 missing values stay missing" in text


def test_the_json_beside_a_letter_is_strict_and_has_the_figures_of_the_answer(row, series, tmp_path):
    for cf in (row, series):
        page = cf.report(tmp_path / "decision.html", model="m")
        letter = json.loads((tmp_path / "decision.json").read_text(encoding="utf-8"), parse_constant=refused)
        assert str(Counterfactual.from_dict(letter["result"])) == str(cf) == letter["decision"]["text"]
        text = Page(page.read_text(encoding="utf-8")).text
        assert {option["name"] for option in letter["options"]} == set(cf.options)
        for option in letter["options"]:
            mine = cf.options[option["name"]]
            assert (option["proximity"], option["changed"]) == (mine.proximity, mine.sparsity)
            held = "not asked"
            if mine.survival.draws:
                assert option["survival"]["share"] == mine.survival.share
                held = f"{100 * mine.survival.share:.0f}% (values off by 1%)"
            assert f"{option['changed']} {option['proximity']:.4g} {held}" in text
        assert letter["search"]["rows"] == cf.rows
        assert f"{letter['search']['rows']} rows" in text


def test_a_letter_hides_no_reservation(row, tmp_path):
    unsure = dataclasses.replace(row, confirmed=False, widened=2.0)
    text = Page(unsure.report(tmp_path / "a.html").read_text(encoding="utf-8")).text
    for reservation in unsure.reservations():
        assert reservation in text
    assert "not asked again" in text


def test_a_letter_says_that_nothing_was_found(tmp_path):
    nothing = NTDCFE(lambda X: np.zeros(len(X), int)).explain(np.zeros((4, 2)), 1, max_rows=50)
    text = Page(nothing.report(tmp_path / "none.html").read_text(encoding="utf-8")).text
    assert in_one_line(str(nothing)) in text
    json.loads((tmp_path / "none.json").read_text(encoding="utf-8"), parse_constant=refused)


def test_a_letter_of_many_features_and_changes_stays_short(tmp_path):
    x = np.random.default_rng(0).normal(size=(10, 200))
    settings = SearchSettings(max_rows=500, options=["nearest"])
    cf = NTDCFE(lambda X: (X[:, -1] > 0).all(1), settings=settings).explain(x, True)
    page = cf.report(tmp_path / "long.html").read_text(encoding="utf-8")
    without_picture = re.sub("src='[^']*'", "", page)
    assert len(html.unescape(without_picture)) < 12_000
    assert "see the JSON file" in page


def test_a_letter_needs_a_name_that_leaves_room_for_the_json(row, tmp_path):
    with pytest.raises(ValueError, match=r"must end with \.html"):
        row.report(tmp_path / "decision.json")


@pytest.mark.slow
def test_letters_need_no_matplotlib(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np\n"
        "from ntdcfe import NTDCFE\n"
        "cf = NTDCFE(lambda X: X[:, 0] > 0).explain(np.full(2, -0.5), True, max_rows=300)\n"
        "page = cf.report('decision.html').read_text()\n"
        "assert 'still holds' in page and '<img' not in page\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


def test_fewer_counterfactuals_than_asked_for_are_told_alike_everywhere():
    cf = NTDCFE(lambda X: (X[:, 0] > 1).astype(int), Features([Discrete(range(4)), Discrete(range(2))]))
    cf = cf.explain(np.zeros(2), 1, n_counterfactuals=9)
    told = "4 of 9 counterfactuals found that differ in what they change"
    letter = {"title": "t", "date": "", "model": None, "command": None, **letter_of(cf)}
    assert told in str(cf)
    assert told in counterfactual_html(cf)
    assert told in letter_html(letter, "", "facts.json")
