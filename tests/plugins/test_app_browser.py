"""The page in a real browser: what a person does on it, and what comes of it."""

import base64
import json
import re
import threading
import time

import numpy as np
import pytest

from ntdcfe import NTDCFE, Counterfactual, Features, SearchSettings

pytest.importorskip("bokeh")

from browser import Browser, needed

from ntdcfe_plugins.app import serve

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror='window.hit=1'>"
WORSE = "</script><script>window.hit=2</script> $$\\unicode{x}$$ & \"quoted\""
LONG = "a_name_without_a_single_place_where_a_line_may_be_broken_" * 3
STEPS = 20


def rises(X):
    """Probabilities of "flat" and "high", by the mean of the second half of the first feature."""
    high = 1 / (1 + np.exp(-4 * (X[:, X.shape[1] // 2 :, 0].mean(1) + 0.3 * X[:, :, 1].mean(1) - 1)))
    return np.column_stack([1 - high, high])


class Model:
    """A model whose calls can be made slow, or made to fail."""

    def __init__(self) -> None:
        self.seconds, self.failure, self.calls = 0.0, "", 0

    def __call__(self, X):
        self.calls += 1
        time.sleep(self.seconds)
        if self.failure:
            raise RuntimeError(self.failure)
        return rises(X)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    needed()
    opened = Browser(tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def model():
    return Model()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("letters")


@pytest.fixture(scope="module")
def served(model, folder):
    X = np.random.default_rng(0).normal(0, 0.3, size=(3, STEPS, 3))
    features = Features.continuous(3, names=["load", "wind", "heat"])
    explainer = NTDCFE(model, features, settings=SearchSettings(max_rows=3000), classes=["flat", "high"], seed=0)
    page = serve(explainer, X, names=["first", "second", "third"], folder=folder)
    yield page
    page.stop()


@pytest.fixture
def page(browser, served, model):
    """A new tab's state, 1280 pixels wide; in the end, nothing may have gone wrong in it."""
    model.seconds, model.failure = 0.0, ""
    browser.size(1280)
    browser.open(served.url)
    yield browser
    assert browser.errors() == []


def asked(page, target="high"):
    """Press the button, and wait for the answer to what is wanted."""
    if target:
        page.choose("target", target)
    before = page.ended()
    page.press("ask")
    page.until(lambda: page.ended() > before, 30)
    page.until(page.idle)


def letter(page, folder):
    """The JSON of the letter of the answer that is shown, saved by the button."""
    before = set(folder.glob("*.json"))
    page.press("save")
    page.until(lambda: "Saved as" in page.text("saved") and set(folder.glob("*.json")) - before)
    (path,) = set(folder.glob("*.json")) - before
    return json.loads(page.until(lambda: path.read_text(encoding="utf-8")))


def states(told):
    """The original and the changed series of a letter."""
    cf = Counterfactual.from_dict(told["result"])
    return cf.original, cf.x


@pytest.mark.parametrize(
    ("ci", "no_browser", "outcome"), [("", "", "skip"), ("true", "", "fail"), ("true", "(no apt)", "skip")]
)
def test_a_missing_browser_is_a_failure_where_it_could_have_been_installed(monkeypatch, ci, no_browser, outcome):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("NO_BROWSER", no_browser)
    with pytest.raises(getattr(pytest, outcome).Exception, match=r"chromium, chromedriver.*: make browser"):
        needed()


def test_it_loads_and_all_of_it_comes_from_this_machine(page, served):
    assert page.driver.title == "What would change the decision?"
    assert page.choices("series") == ["first", "second", "third"]
    assert page.choices("target") == ["any other label", "flat", "high"]
    page.until(lambda: "The model says flat (probability 0.9" in page.text("decision"))
    asked_for = [url for url in page.requests() if not url.startswith("chrome:")]  # its own empty page
    assert any("bokeh" in url for url in asked_for)
    assert [url for url in asked_for if not url.startswith((served.url, "data:"))] == []


def test_a_series_is_picked_and_a_label_and_the_options_come(page):
    page.choose("series", "second")
    page.until(lambda: "of second" in page.text("decision"))
    asked(page)
    assert "For high there are these options" in page.text("decision")
    told = page.text("options")
    assert [kind in told for kind in ("simplest (shown)", "nearest", "sturdiest")] == [True] * 3
    assert "'load'" in told
    page.choose("option", "nearest")
    page.until(lambda: "nearest (shown)" in page.text("options"))


def test_a_brushed_window_is_frozen_and_the_next_answer_obeys(page, folder):
    asked(page)
    before, after = states(letter(page, folder))
    assert (before[10:15] != after[10:15]).any()
    page.drag(page.place(0, 9.6, -1), page.place(0, 14.4, -1))
    page.until(lambda: page.value("windows") == "10-14")
    assert "10-14: no feature may change" in page.text("rules")
    assert "ask again" in page.text("rules")
    asked(page)
    before, after = states(letter(page, folder))
    assert (before[10:15] == after[10:15]).all()
    assert (before != after).any()


def test_windows_bounds_directions_and_features_are_typed_and_the_answer_obeys(page, folder):
    page.type("windows", "0-3, 12")
    page.type("windows", "0-3, 10")  # over what is in the box
    page.type("high", "1.75")
    page.type("weight", "0.5")
    page.choose("direction", "up only")
    page.choose("feature", "wind")
    page.until(lambda: page.value("weight") == "1")
    page.press("may", "input")
    page.until(lambda: "wind: may not change" in page.text("rules"))
    asked(page)
    told = letter(page, folder)
    before, after = states(told)
    assert (before[[0, 1, 2, 3, 10]] == after[[0, 1, 2, 3, 10]]).all()
    assert (before[:, 1] == after[:, 1]).all()
    assert (after[:, 0] >= before[:, 0]).all()
    assert after[before != after].max() <= 1.75
    assert (before != after).any()
    assert "weight 0.5" in str(told["rules"])
    page.type("windows", "3-99")
    page.until(lambda: "steps go from 0 to 19" in page.text("message"))
    page.press("free")
    page.until(lambda: "none beside those of the explainer" in page.text("rules"))


def test_a_bound_is_moved_on_its_slider_and_the_answer_obeys(page, folder):
    from selenium.webdriver.common.keys import Keys

    page.focus("limits", ".noUi-handle-upper")
    page.keys(*[Keys.ARROW_LEFT] * 3)
    page.until(lambda: page.value("high") and f"load: at most {page.value('high')}" in page.text("rules"))
    high = float(page.value("high"))
    assert high < page.value("limits", "end")
    asked(page)
    before, after = states(letter(page, folder))
    assert after[:, 0][before[:, 0] != after[:, 0]].max() <= high + 1e-5  # the box shows six digits


def test_values_are_typed_and_dragged_and_the_label_follows(page):
    page.until(lambda: "says flat" in page.text("trial"))
    shown = page.value("value")
    page.type("step", "19")
    # The value of that step comes from the server: one that is typed before it has come would be overwritten.
    page.until(lambda: page.value("value") != shown)
    page.until(page.idle)
    page.type("value", "40")
    page.until(lambda: "says high" in page.text("trial") and "1 value differs" in page.text("trial"))
    page.until(page.idle)
    page.drag(page.place(1, 19, 40), page.place(1, 19, 2))
    page.until(lambda: "says flat" in page.text("trial"))
    assert "1 value differs" in page.text("trial")
    page.press("from-series")
    page.until(lambda: "0 values differ" in page.text("trial"))


def test_progress_is_shown_at_once_and_a_search_is_stopped(page, model):
    model.seconds = 0.5  # slow enough for a busy machine: the page stands still between two calls
    page.choose("target", "high")
    begun = time.monotonic()
    page.press("ask")
    page.until(lambda: "asking the model" in page.text("progress"), 2)
    assert time.monotonic() - begun < 2
    assert page.disabled("ask")
    page.until(lambda: " rows, " in page.text("progress"))
    calls = model.calls
    page.press("stop")
    page.until(lambda: not page.disabled("ask"), 10)
    assert model.calls - calls < 8  # the present one, and those that confirm what was found
    model.seconds = 0.0
    page.until(lambda: "interrupted" in page.text("decision") or "stopped" in page.text("decision"))
    asked(page)
    assert "simplest" in page.text("options")


def test_answers_are_bookmarked_compared_recalled_and_removed(page):
    asked(page)
    page.press("keep")
    page.until(lambda: "1. first, high, simplest" in page.text("bookmarks"))
    first = page.text("options")
    page.type("windows", "10-14")
    asked(page)
    assert page.text("options") != first
    page.press("keep")
    page.until(lambda: "2. first, high, simplest" in page.text("bookmarks"))
    page.choose("marks", "1. first, high, simplest")
    page.until(lambda: "The answer" in page.text("bookmarks"))
    page.press("recall")
    page.until(lambda: page.text("options") == first)
    assert page.value("windows") == ""
    page.press("remove")
    page.until(lambda: "1. first" not in page.text("bookmarks"))
    assert "2. first" in page.text("bookmarks")


def test_the_letter_is_saved_and_read_from_the_page(page, served, folder):
    asked(page)
    told = letter(page, folder)
    links = page.links("saved")
    assert [link.startswith(f"{served.url}letters/first-what-would-change") for link in links] == [True, True]
    page.driver.get(links[0])
    text = page.driver.find_element("tag name", "body").text
    for sentence in told["decision"]["in_short"]:
        assert sentence in text
    page.driver.get(links[1])
    assert json.loads(page.driver.find_element("tag name", "body").text)["decision"] == told["decision"]


def test_a_long_letter_prints_on_two_sheets(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(1, 40, 30))
    features = Features.from_dict(
        {f"{i}: a name of some length, as tables have": {"bounds": (-9, 9 + i), "weight": 1 + i} for i in range(30)}
    )
    settings = SearchSettings(max_rows=2000)
    explainer = NTDCFE(lambda X: (X[:, -20:].mean(1) > -0.1).mean(1) > 0.95, features, settings=settings, seed=0)
    cf = explainer.explain(X[0], True)
    assert len(cf.sentences()) > 6
    path = cf.report(tmp_path / "long.html", explainer=explainer, model="forest, sha256 " + 64 * "a", command=LONG)
    browser.driver.get(path.as_uri())
    sheets = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) == 2


def test_two_tabs_have_their_own_questions_and_answers(page, served, folder):
    first, driver = page.driver.current_window_handle, page.driver
    page.type("windows", "10-14")
    page.choose("target", "high")
    driver.switch_to.new_window("tab")
    try:
        page.size(1280)
        page.open(served.url)
        assert page.value("windows") == ""
        assert page.value("target") == ""
        page.choose("series", "third")
        page.until(lambda: "of third" in page.text("decision"))
        page.choose("target", "high")
        page.press("ask")
        driver.switch_to.window(first)
        asked(page, target=None)  # while the other is asking
        before, after = states(letter(page, folder))
        assert "of first" in page.text("decision")
        assert (before[10:15] == after[10:15]).all()
        driver.switch_to.window(driver.window_handles[-1])
        page.until(lambda: page.value("ask", "label") == "Ask again")
        assert "of third" in page.text("decision")
        told = letter(page, folder)
        assert told["title"].startswith("third")
    finally:
        driver.switch_to.window(driver.window_handles[-1])
        driver.close()
        driver.switch_to.window(first)


def test_a_model_that_fails_says_so_and_can_be_asked_again(page, model):
    model.failure = f"the licence has run out {EVIL}"
    page.choose("target", "high")
    page.press("ask")
    page.until(lambda: model.failure in page.text("message"))
    assert page.driver.execute_script("return window.hit") is None
    assert not page.disabled("ask")
    model.failure = ""
    asked(page)
    assert "simplest" in page.text("options")
    assert "licence" not in page.text("message")


def test_names_full_of_markup_are_text(browser, tmp_path):
    X = np.random.default_rng(0).normal(0, 0.3, size=(2, STEPS, 3))
    features = Features.continuous(3, names=[EVIL, WORSE, LONG])
    explainer = NTDCFE(rises, features, settings=SearchSettings(max_rows=2000), classes=["flat", EVIL], seed=0)
    page = serve(explainer, X, names=[WORSE, EVIL], title=WORSE, folder=tmp_path)
    try:
        browser.size(1280)
        browser.open(page.url)
        assert browser.driver.title == WORSE
        assert browser.driver.find_element("tag name", "h1").text == WORSE
        assert browser.choices("series") == [WORSE, EVIL]
        assert browser.choices("feature") == [EVIL, WORSE, LONG]
        for name in (EVIL, WORSE, LONG):
            browser.choose("feature", name)
        asked(browser, EVIL)
        assert EVIL in browser.text("options")
        browser.press("keep")
        browser.until(lambda: EVIL in browser.text("bookmarks"))
        letter(browser, tmp_path)
        assert browser.driver.execute_script("return window.hit") is None
        assert browser.deep("img[src=x]") is None
        browser.driver.get(browser.links("saved")[0])
        assert EVIL in browser.driver.find_element("tag name", "body").text
        assert browser.driver.execute_script("return window.hit") is None
        assert browser.errors() == []
    finally:
        page.stop()


def test_on_a_phone_nothing_scrolls_sideways(browser, model, tmp_path):
    X = np.random.default_rng(0).normal(0, 0.3, size=(2, STEPS, 3))
    features = Features.continuous(3, names=["load", LONG, EVIL])
    explainer = NTDCFE(model, features, settings=SearchSettings(max_rows=2000), classes=["flat", "high"], seed=0)
    model.seconds, model.failure = 0.0, ""
    page = serve(explainer, X, names=[LONG, "second"], folder=tmp_path)
    try:
        for width in (400, 320):
            browser.size(width, 800, mobile=True)
            browser.open(page.url)
            assert browser.wide() <= width
            browser.choose("feature", LONG)
            browser.type("weight", "0.1")
            asked(browser)
            assert browser.wide() <= width
            browser.press("keep")
            browser.until(lambda: "simplest" in browser.text("bookmarks"))
            browser.choose("marks", browser.choices("marks")[1])
            browser.until(lambda: "The answer" in browser.text("bookmarks"))
            assert browser.wide() <= width
            letter(browser, tmp_path)
            assert browser.wide() <= width
            model.failure = LONG
            browser.press("ask")
            browser.until(lambda: LONG in browser.text("message"))
            assert browser.wide() <= width
            model.failure = ""
        assert browser.errors() == []
    finally:
        page.stop()
        browser.size(1280)


def test_a_row_of_a_table_has_its_values_side_by_side(browser, tmp_path):
    features = Features.from_dict(
        {"income": {"bounds": (0, 90)}, "age": {"role": "immutable"}, "home": {"categories": ["rents", "owns"]}}
    )
    explainer = NTDCFE(lambda X: np.where(X[:, 0] + 10 * X[:, 3] > 50, "granted", "refused"), features, seed=0)
    page = serve(explainer, np.array([[32.0, 44, 1, 0]]), names=["Ms <b>B</b>"], folder=tmp_path)
    try:
        browser.size(1280)
        browser.open(page.url)
        assert "rents" in browser.text("row")
        asked(browser, None)
        assert "→" in browser.text("row")
        assert "age" in browser.text("row")
        assert browser.find("windows", "input") is None or not browser.value("windows", "visible")
        browser.choose("feature", "income")
        assert (browser.value("limits", "start"), browser.value("limits", "end")) == (0, 90)
        browser.type("value", "89")
        browser.until(lambda: "says granted" in browser.text("trial"))
        assert browser.errors() == []
    finally:
        page.stop()


def test_all_of_it_is_reached_with_the_keyboard_and_the_focus_is_seen(page):
    from selenium.webdriver.common.keys import Keys

    reached, unseen = [], []
    for _ in range(60):
        page.keys(Keys.TAB)
        name, outline = page.driver.execute_script(FOCUSED)
        if reached and name == reached[0]:
            break
        reached.append(name)
        if outline == "none":
            unseen.append(name)
    order = ["series", "target", "prefer", "rows", "ask", "windows", "feature", "may", "limits", "low", "high",
             "direction", "weight", "free", "step", "value", "from-series", "marks"]  # fmt: skip
    assert [name for name in dict.fromkeys(reached) if name in order] == order
    assert [name for name in unseen if name in order] == []
    page.focus("target", "select")
    page.keys("h")  # a select goes to the option that begins with it
    page.until(lambda: page.value("target") == "1")
    page.focus("ask", "button")
    page.keys(Keys.SPACE)
    page.until(lambda: "simplest" in page.text("options"), 30)


FOCUSED = """
let at = document.activeElement, inner = at;
const path = [];
while (inner) { path.push(inner); at = inner; inner = inner.shadowRoot ? inner.shadowRoot.activeElement : null }
let name = '';
for (const [model, view] of Bokeh.documents[0].roots().flatMap(r => [...r.references()])
     .filter(m => m.name).map(m => [m, Bokeh.index.find_one(m)]))
  if (view && path.includes(view.el) && !['question','answer','rules_part','try_part','keep_part'].includes(model.name))
    name = model.name;
return [name, getComputedStyle(at).outlineStyle]
"""


def test_a_tab_that_is_closed_ends_its_search(browser, served, model):
    model.seconds, model.failure = 0.1, ""
    first, driver = browser.driver.current_window_handle, browser.driver
    driver.switch_to.new_window("tab")
    browser.size(1280)
    browser.open(served.url)
    browser.choose("target", "high")
    browser.press("ask")
    browser.until(lambda: " rows, " in browser.text("progress"))
    driver.close()
    driver.switch_to.window(first)
    ended = threading.Event()

    def quiet():
        calls = model.calls
        ended.wait(0.5)
        return model.calls == calls

    browser.until(quiet, 20)
    model.seconds = 0.0
