"""Which kinds of edits an answer may be made of: some of the built-in ones, and a user's own."""

import numpy as np
import pytest

from ntdcfe import KINDS, NTDCFE, PAPER, Discrete, Features, InvalidInputError, Kind, PredictorError, SearchSettings
from ntdcfe.problem.kinds import Bump, Shift
from ntdcfe.testing import ends_high, series, stumps

X = series(16, 3, mean=-0.7)


class Scale(Kind):
    """Multiplies the window by a factor."""

    name = "scale"
    scaled = False

    def apply(self, values, window, number):
        made = values * number
        values[...] = 99  # what it is given are copies
        return made

    def neutral(self, window):
        return np.ones(len(window))

    def number_for(self, change, window):
        return 1 + change / window.mean  # not a number where that is 0

    def say(self, name, number, rises, when):
        return f"take {number}% of {name}{when}"


class Nameless(Scale):
    name = None


class Unfinished(Kind):
    name = "unfinished"


class AlsoShift(Shift):
    """Has a built-in kind's name."""


class Broken(Scale):
    name = "broken"

    def apply(self, values, window, number):
        return values[:, :1]


def kinds_of(cf):
    return {edit.kind for option in cf.options.values() for edit in option.edits}


@pytest.mark.parametrize(("steps", "shares"), [(1, [1]), (4, [0.5, 1, 1, 0.5]), (5, [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3])])
def test_a_bump_grows_to_the_middle_of_its_window_and_comes_back(steps, shares):
    inside = np.zeros((1, 9), bool)
    inside[0, 2 : 2 + steps] = True
    after = Bump().apply(np.ones((1, 9)), inside, np.full((1, 1), -3.0))
    assert after[0, 2 : 2 + steps] == pytest.approx(1 - 3 * np.array(shares))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("set", "swing")])
def test_one_kind_alone_is_enough(kind):
    def rule(rows):  # either way: a level, from below or from above
        return (np.abs(rows[:, -3:, 0] - rows[:, :3, 1]).mean(1) > 1.8).astype(int)

    cf = NTDCFE(rule, settings=SearchSettings(max_rows=2000, kinds=[kind], reach=8.0)).explain(X, 1)
    assert cf.found
    assert kinds_of(cf) == {kind}


def test_the_swing_alone():
    def rule(rows):
        return (rows[:, :, 0].std(1) < 0.3).astype(int)

    cf = NTDCFE(rule, settings=SearchSettings(max_rows=2000, kinds=["swing"])).explain(X, 1)
    assert kinds_of(cf) == {"swing"}


def test_categories_are_set_whatever_kinds_take_part():
    features = Features([Discrete([0, 1, 2]), *Features.continuous(2)])
    x = np.column_stack([np.zeros(16), X[:, 1:]])
    cf = NTDCFE(lambda r: (r[:, -4:, 0] == 2).all(1).astype(int), features,
                settings=SearchSettings(max_rows=1500, kinds=["level"])).explain(x, 1)  # fmt: skip
    assert [edit.kind for edit in cf.edits] == ["set"]


def test_a_row_of_a_table_is_set_whatever_kinds_take_part():
    rule = lambda rows: (rows[:, 0] > 1).astype(int)  # noqa: E731
    usual, other = (
        NTDCFE(rule, settings=SearchSettings(max_rows=800, kinds=kinds)).explain(np.zeros(3), 1)
        for kinds in (KINDS, [Scale])
    )
    np.testing.assert_array_equal(usual.x, other.x)
    assert usual.sentences() == other.sentences()


def test_a_kind_of_the_users_own_is_searched_with_and_said():
    x = np.abs(X) + 0.1
    wanted = 2 * x[-4:, 1].mean()

    def grows(rows):
        return (rows[:, -4:, 1].mean(1) > wanted).astype(int)

    cf = NTDCFE(grows, settings=SearchSettings(max_rows=2500, kinds=[Scale], reach=50.0)).explain(x, 1)
    assert kinds_of(cf) == {"scale"}
    after = x.copy()
    for edit in cf.edits:
        assert edit.text.startswith(f"take {round(100 * edit.value)}% of '{edit.feature}'")
        place = cf.features.index(edit.feature)
        after[edit.first_step : edit.last_step + 1, place] *= edit.value
    np.testing.assert_allclose(after, cf.x)
    assert grows(after[None]) == 1


def test_the_usual_kinds_named_one_by_one_give_the_usual_answer():
    usual, named = (
        NTDCFE(stumps, settings=settings).explain(X, 1)
        for settings in (SearchSettings(max_rows=700), SearchSettings(max_rows=700, kinds=list(KINDS)))
    )
    np.testing.assert_array_equal(usual.x, named.x)


def test_a_kind_that_does_not_return_the_values_is_named():
    cf = NTDCFE(ends_high, settings=SearchSettings(max_rows=900, kinds=[Broken])).explain(X, 1)
    assert cf.status == "model_failed"
    assert isinstance(cf.cause, PredictorError)
    assert "Broken.apply must return values" in str(cf.cause)


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        ("level", "must be a list"),
        (["hold"], "must be names of built-in kinds"),
        ([3], "must be names of built-in kinds"),
        ([Scale()], "or subclasses of Kind"),
        ([], "at least one must be of numbers"),
        (["set"], "at least one must be of numbers"),
        (["level", "level"], "must differ"),
        ([Scale, Scale], "must differ"),
        ([AlsoShift], "must differ"),
        ([Nameless], "needs a name"),
        ([Unfinished], "needs a name, and apply"),
    ],
)
def test_kinds_are_checked_at_the_door(kinds, why):
    with pytest.raises(InvalidInputError, match=why):
        SearchSettings(kinds=kinds)


def test_kinds_that_would_have_no_effect_are_refused():
    with pytest.raises(InvalidInputError, match="no effect with shape='to_end'"):
        SearchSettings(kinds=["level"], shape="to_end")
    with pytest.raises(InvalidInputError, match="no effect with algorithm='algorithm_1'"):
        PAPER.given(kinds=["level"])


def test_another_choice_of_kinds_is_another_run(tmp_path):
    def explain(kinds):
        settings = SearchSettings(max_rows=300, kinds=kinds)
        return NTDCFE(ends_high, settings=settings).explain_batch([X], 1, checkpoint=tmp_path / "run")

    assert explain([Scale, "level"]) == explain([Scale, "level"])
    with pytest.raises(InvalidInputError, match="kinds was"):
        explain(["level"])
