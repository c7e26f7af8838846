"""What is said is what holds: the original with the printed sentences typed in gives the target."""

import numpy as np
import pytest
from answers_to_type import KINDS, answers_of, texts_of
from sentences import NotUnderstoodError, Sentences

from ntdcfe import NTDCFE, Features
from ntdcfe.testing import series

QUICK = 1500  # rows
SERIES = np.array([[0.0, 5, 1], [1, 5, 0], [2, 5, 2], [3, 5, 0]])
READER = Sentences(["a", "b", "plan"], {"plan": {"none": 0, "basic": 1, "gold, old": 2}})


@pytest.mark.parametrize(
    ("sentence", "feature", "after"),
    [
        ("raise 'a' by 1.5 from step 1 to 2", 0, [0, 2.5, 3.5, 3]),
        ("lower 'a' by 2 from step 2 to the end (not further)", 0, [0, 1, 0, 1]),
        ("keep 'a' at 1.25 or above throughout", 0, [1.25, 1.25, 2, 3]),
        ("keep 'a' at 1.25 or below from step 0 to 2 (no more than 5% further)", 0, [0, 1, 1.25, 3]),
        ("hold 'a' at -1e-07 at step 3", 0, [0, 1, 2, -1e-7]),
        ("reduce the swing of 'a' by 50% from step 1 to 3", 0, [0, 1.5, 2, 2.5]),
        ("let 'a' fall by 4 throughout", 0, [-1, -1, -1, -1]),
        ("let 'a' rise by up to 4 and come back throughout", 0, [2, 5, 6, 5]),
        ("raise 'a' by 2 throughout, not above 4, but not at step 0 and from step 2 to 3", 0, [0, 3, 2, 3]),
        ("raise 'a' by 5 throughout, not above 6.5", 0, [5, 6, 6.5, 6.5]),
        ("lower 'a' by 5 throughout, not above 9, not below -3 (not further)", 0, [-3, -3, -3, -2]),
        ("raise 'a' to 4, 4.5 from step 1 to 2; lower 'a' from 3 to -2 at step 3", 0, [0, 4, 4.5, -2]),
        ("raise each of 'a' to 'b' by 1 throughout", 1, [6, 6, 6, 6]),
        ("set 'plan' to gold, old throughout", 2, [2, 2, 2, 2]),
        ("switch 'plan' from none to basic at step 1", 2, [1, 1, 2, 0]),
        ("set 'plan' to none, basic from step 0 to 1", 2, [0, 1, 2, 0]),
    ],
)
def test_the_parser_does_what_is_said(sentence, feature, after):
    np.testing.assert_allclose(READER.typed(SERIES, [sentence])[:, feature], after)


@pytest.mark.parametrize("seed", range(3))
def test_frozen_steps_within_the_window_of_an_edit_are_named(seed):
    x, names = series(40, 3, mean=-0.5), ["a", "b", "c"]
    may_change = np.ones(40, bool)
    may_change[[*range(10, 20), 30]] = False

    def rule(rows):
        return (rows[..., 0].mean(1) > 0.4).astype(int)

    features = Features.continuous(3, names=names, actionable_steps=may_change)
    cf = NTDCFE(rule, features, seed=seed).explain(x, 1, max_rows=3000)
    assert any(", but not from step 10 to 19" in edit.text for edit in cf.edits)
    typed = Sentences(names).printed(x, str(cf))
    assert rule(typed[None]) == 1
    assert (typed[~may_change] == x[~may_change]).all()


@pytest.mark.parametrize(
    "sentence", ["raise 'd' by 1", "wiggle 'a' by 1 throughout", "raise 'a' by 1", "set 'plan' to silver throughout"]
)
def test_the_parser_refuses_what_it_does_not_know(sentence):
    with pytest.raises(NotUnderstoodError):
        READER.typed(SERIES, [sentence])


def test_the_parser_knows_names_of_steps_and_leaves_gaps():
    reader = Sentences(["a"], step_names=["May", "June", "1 July"])
    x = np.array([[1.0], [np.nan], [3.0]])
    np.testing.assert_array_equal(reader.typed(x, ["raise 'a' by 1 from May to June"])[:, 0], [2, np.nan, 3])
    np.testing.assert_array_equal(reader.typed(x, ["hold 'a' at 9 from June to the end"])[:, 0], [1, np.nan, 9])
    np.testing.assert_array_equal(reader.typed(x, ["lower 'a' from 3 to 2 at 1 July"])[:, 0], [1, np.nan, 2])


def failures(kind, max_rows, seeds):
    """Texts that do not give the target when they are typed in, and how many were."""
    failed, n = [], 0
    for question in KINDS[kind](seeds):
        cf = question.answer(max_rows)
        texts = texts_of(cf) if cf.found else {}
        n += len(texts)
        failed += [(question.name, key, text) for key, text in texts.items() if not question.reached(text)]
    return failed, n


@pytest.mark.parametrize("kind", ["mixed series", "gaps", "constraints", "tables"])
def test_sentences_typed_back_give_the_target(kind):
    pytest.importorskip("sklearn")
    failed, n = failures(kind, QUICK, [0, 1])
    assert failed == []
    assert n >= 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_sentences_typed_back_give_the_target_at_the_full_budget(kind):
    pytest.importorskip("sklearn")
    failed, n = failures(kind, None, [2])
    assert failed == []
    assert n > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_is_all_that_changes(kind):
    pytest.importorskip("sklearn")
    for question in KINDS[kind]([2, 3]):
        cf = question.answer()
        answers = answers_of(cf) if cf.found else {}
        for key, text in texts_of(cf).items() if cf.found else ():
            assert question.is_all(text, answers[key]), (question.name, key, text)
