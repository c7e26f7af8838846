"""What the page remembers: rules, questions, answers, trials and bookmarks; without a browser."""

import json
import threading
import time

import numpy as np
import pytest

from ntdcfe import NTDCFE, Causal, Counterfactual, Features, InvalidInputError, PredictorError, SearchSettings
from ntdcfe_plugins.app.model import Subject
from ntdcfe_plugins.app.rules import Rule, Rules, windows_of
from ntdcfe_plugins.app.search import Latest, Search
from ntdcfe_plugins.app.state import State

QUICK = SearchSettings(max_rows=3000)
EVIL = "<script>alert('$$x$$')</script>"


def rises(X):
    """Probabilities of "flat" and "high", by the mean of the second half of the first feature."""
    high = 1 / (1 + np.exp(-4 * (X[:, X.shape[1] // 2 :, 0].mean(1) + 0.3 * X[:, :, 1].mean(1) - 1)))
    return np.column_stack([1 - high, high])


@pytest.fixture
def subject():
    X = np.random.default_rng(0).normal(0, 0.3, size=(4, 20, 3))
    features = Features.continuous(3, names=["a", EVIL, "c"])
    return Subject(NTDCFE(rises, features, settings=QUICK, classes=["flat", "high"]), X)


@pytest.fixture
def state(subject):
    return State(subject)


def answered(state):
    """The state after the search of its question."""
    ended = []
    search = Search(state.begin(), lambda progress: None, ended.append)
    search.start()
    assert search.join(60)
    if isinstance(ended[0], str):
        state.fail(ended[0])
    else:
        state.finish(ended[0])
    return state


def test_an_answer_comes_with_its_options_and_the_preferred_one_is_shown(state):
    state.want("high")
    answered(state)
    assert state.cf.found
    assert set(state.answers) == {"simplest", "nearest", "sturdiest"}
    assert state.option == "simplest"
    assert (state.trial == state.shown.after).all()
    state.show("nearest")
    assert (state.trial == state.answers["nearest"].after).all()
    with pytest.raises(InvalidInputError, match="no option"):
        state.show("cheapest")


def test_what_is_frozen_stays_as_it_is_and_bounds_and_directions_hold(state):
    state.want("high")
    state.freeze(9.6, 14.2)
    state.freeze_text("10-14, 0")
    state.rule("c", may_change=False)
    state.rule("a", high=2.5, direction="rise")
    answered(state)
    assert state.cf.found
    for answer in state.answers.values():
        change = answer.after - answer.before
        assert (change[[0, *range(10, 15)]] == 0).all()
        assert (change[:, 2] == 0).all()
        assert (change[:, 0] >= 0).all()
        assert (answer.after[change[:, 0] != 0, 0] <= 2.5).all()
    assert {text.split(":")[0] for text in state.rules.told(state.subject.features)} == {"0, 10-14", "c", "a"}


def test_a_weight_makes_a_feature_dear(state):
    state.want("high")
    state.rule("a", weight=1000.0)
    question = state.begin()
    assert question.explainer.features[0].weight == 1000
    assert state.subject.explainer.features[0].weight == 1  # the explainer itself is not touched


def test_rules_of_the_explainer_are_not_undone():
    features = Features.from_dict(
        {"a": {"bounds": (0, 1), "direction": "rise"}, "b": {"role": "immutable"}, "c": {}, "d": {}},
        actionable_steps=slice(3, None),
    )
    explainer = NTDCFE(lambda X: X[:, 0, 0] > 0, features)
    said = Rules().with_rule("a", low=-5, high=9, direction="fall").with_rule("b", may_change=True)
    ruled = said.with_windows([(8, 9)]).explainer(explainer, features, 12).features
    assert ruled[0].bounds == (0, 1)
    assert ruled[0].direction == "rise"
    assert ruled[1].role == "immutable"
    assert ruled.step_mask(12).tolist() == [False] * 3 + [True] * 5 + [False] * 2 + [True] * 2


def test_what_follows_by_a_rule_still_follows():
    features = Features.from_dict({"debt": {}, "instalment": {"role": "non_actionable"}})
    explainer = NTDCFE(lambda X: X[:, 0] < 0, features, [Causal("instalment", "debt", lambda debt: debt / 10)])
    state = State(Subject(explainer, np.array([[3.0, 0.3]])))
    state.rule("instalment", may_change=False)  # nobody acts on it anyway; the rule may
    answered(state)
    assert state.cf.found
    assert state.cf.x[1] == pytest.approx(state.cf.x[0] / 10)


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda s: s.freeze_text("4-99"), "steps go from 0 to 19"),
        (lambda s: s.freeze_text("9-4"), "the first one first"),
        (lambda s: s.freeze_text("__import__('os')"), "typed like"),
        (lambda s: s.rule("nobody", low=1.0), "no feature"),
        (lambda s: s.rule("a", low=2.0, high=1.0), "above the upper"),
        (lambda s: s.rule("a", weight=0.0), "positive"),
        (lambda s: s.rule("a", weight=float("inf")), "finite"),
        (lambda s: s.rule("a", direction="sideways"), "direction"),
        (lambda s: s.want("tall"), "does not know"),
        (lambda s: s.pick(99), "4 series"),
        (lambda s: s.allow_rows(0), "rows must be"),
        (lambda s: s.set_value(99, "a", 1.0), "steps go"),
        (lambda s: s.set_value(0, "a", float("nan")), "finite"),
        (lambda s: s.bookmark(), "no answer"),
        (lambda s: s.recall(0), "no bookmark"),
        (lambda s: s.remove(0), "no bookmark"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(state, act, why):
    before = state.rules, state.index, state.trial.copy()
    with pytest.raises(InvalidInputError, match=why):
        act(state)
    assert (state.rules, state.index) == before[:2]
    assert (state.trial == before[2]).all()


def test_rules_that_leave_nothing_to_change_are_refused(state):
    state.freeze_text("0-19")
    with pytest.raises(InvalidInputError, match="no step"):
        state.begin()
    state.free()
    for name in state.subject.features.names:
        state.rule(name, may_change=False)
    with pytest.raises(InvalidInputError, match="no feature"):
        state.begin()
    assert state.phase == "idle"


def test_an_answer_is_stale_once_something_else_would_be_asked(state):
    answered(state)
    assert not state.stale
    state.rule("a", low=-9.0)
    assert state.stale
    state.rule("a", low=None)
    assert not state.stale
    state.want("high")
    assert state.stale


def test_a_second_question_waits_for_the_first(state):
    state.begin()
    for act in (state.begin, lambda: state.pick(1)):
        with pytest.raises(InvalidInputError, match="not answered yet"):
            act()
    state.stop()
    assert state.phase == "stopping"
    state.fail("stopped")
    state.begin()


def test_a_stopped_search_hands_out_what_it_found_within_a_call():
    slow = threading.Event()

    def predict(X):
        if slow.is_set():
            time.sleep(0.05)
        return rises(X)

    X = np.random.default_rng(0).normal(0, 0.3, size=(1, 20, 2))
    state = State(Subject(NTDCFE(predict, classes=["flat", "high"]), X))
    slow.set()
    told, ended = [], []
    search = Search(state.begin(), told.append, ended.append)
    search.start()
    while not any(np.isfinite(progress.best) for progress in told):
        time.sleep(0.01)
    begun = time.monotonic()
    search.stop()
    assert search.join(10)
    assert time.monotonic() - begun < 2
    state.finish(ended[0])
    assert state.cf.status == "interrupted"
    assert state.cf.found
    assert not state.cf.complete


def test_a_model_that_fails_says_so_and_the_page_goes_on(state):
    def broken(X):
        raise ValueError(f"no licence {EVIL}")

    failing = Subject(broken, np.zeros((2, 5, 1)))
    assert EVIL in failing.failure
    state = State(failing)
    assert EVIL in state.message
    answered(state)
    assert f"no licence {EVIL}" in state.message
    assert state.phase == "idle"
    assert state.answers == {}
    with pytest.raises(PredictorError):
        failing.say(state.x)


def test_tried_values_reach_the_model_and_listed_ones_snap():
    features = Features.from_dict({"rating": {"values": [1, 2, 3]}, "home": {"categories": ["rent", "own"]}})
    subject = Subject(NTDCFE(lambda X: np.where(X[:, 0] + X[:, 2] > 3, "yes", "no"), features), [[1.0, 1, 0]])
    state = State(subject)
    assert subject.say(state.x).text == "no"
    assert state.set_value(0, "rating", 2.7) == 3
    assert state.set_value(0, "home", 0.9) == 1
    assert subject.series(state.trial).tolist() == [3, 0, 1]
    assert subject.say(subject.series(state.trial)).text == "yes"
    assert state.x.tolist() == [1, 1, 0]  # the series itself is not touched


def test_bookmarks_are_kept_compared_recalled_and_removed(state):
    state.want("high")
    state.rule("c", may_change=False)
    first = answered(state).bookmark()
    state.free()
    state.want(None)
    state.pick(1)
    answered(state).bookmark()
    state.compare(0)
    assert state.beside is None  # of another series
    state.recall(0)
    assert (state.index, state.cf, state.wanted) == (0, first.cf, "high")
    assert state.rules.of("c") == Rule(may_change=False)
    assert (state.beside.after == state.shown.after).all()
    assert not state.stale
    state.remove(0)
    assert [mark.name.split(".")[0] for mark in state.bookmarks] == ["2"]
    assert state.bookmark().name.startswith("3. ")


def test_a_model_of_values_is_asked_for_an_interval():
    X = np.random.default_rng(0).normal(size=(2, 10, 2))
    state = State(Subject(NTDCFE(lambda X: X[:, :, 0].mean(1), settings=QUICK), X))
    assert state.subject.regression
    with pytest.raises(InvalidInputError, match="say what is wanted"):
        state.begin()
    for wrong in ((2.0, 1.0), (float("nan"), None)):
        with pytest.raises(InvalidInputError):
            state.want_between(*wrong)
    state.want_between(2.0, None)
    assert answered(state).cf.prediction >= 2


def test_two_tabs_do_not_ask_the_model_at_once():
    inside, most = 0, 0

    def predict(X):
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.001)
        inside -= 1
        return rises(X)

    subject = Subject(NTDCFE(predict, settings=SearchSettings(max_rows=600)), np.zeros((1, 20, 2)))
    searches = [Search(State(subject).begin(), lambda told: None, lambda end: None) for _ in range(2)]
    for search in searches:
        search.start()
    assert all(search.join(60) for search in searches)
    assert most == 1


def test_answers_do_not_depend_on_other_tabs(subject):
    states = [State(subject) for _ in range(2)]
    for state, channel in zip(states, "ac", strict=True):
        state.want("high")
        state.rule(channel, may_change=False)
    ended = {}
    searches = [
        Search(state.begin(), lambda told: None, lambda end, i=i: ended.update({i: end}))
        for i, state in enumerate(states)
    ]
    for search in searches:
        search.start()
    assert all(search.join(60) for search in searches)
    for i, state in enumerate(states):
        state.finish(ended[i])
        assert str(answered(state).cf).split(" rows")[0] == str(ended[i]).split(" rows")[0]


def test_of_pieces_of_work_only_the_latest_is_done():
    gate, begun, done = threading.Event(), threading.Event(), []
    latest = Latest()
    latest.do(lambda: begun.set() or gate.wait(), done.append)
    assert begun.wait(5)
    for i in range(5):
        latest.do(lambda i=i: i, done.append)
    gate.set()
    assert latest.join(5)
    assert done == [True, 4]


def test_typed_windows():
    assert windows_of("3-9, 20; 11 to 12", 30) == [(3, 9), (20, 20), (11, 12)]
    assert windows_of("  ", 30) == []


def test_series_need_names_and_a_shape():
    for wrong in (np.zeros(3), np.zeros((0, 2, 2))):
        with pytest.raises(InvalidInputError, match="X must be"):
            Subject(rises, wrong)
    with pytest.raises(InvalidInputError, match="names must have"):
        Subject(rises, np.zeros((2, 4, 2)), names=["one"])
    with pytest.raises(InvalidInputError, match="describe 3 columns"):
        Subject(NTDCFE(rises, Features.continuous(3)), np.zeros((2, 4, 2)))


def test_what_is_saved_is_the_letter_of_the_answer(state, tmp_path):
    pytest.importorskip("bokeh")
    from ntdcfe_plugins.app.letters import Letters

    answered(state)
    letters = Letters(tmp_path)
    title = f"../../{EVIL}"
    first, second = (letters.save(state.cf, state.question, title) for _ in range(2))
    assert first != second
    assert {path.parent for path in (first, second)} == {tmp_path}
    assert EVIL not in first.read_text(encoding="utf-8")
    letter = json.loads(first.with_suffix(".json").read_text(encoding="utf-8"))
    assert Counterfactual.from_dict(letter["result"]) == state.cf
