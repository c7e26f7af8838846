import json
from dataclasses import fields, replace

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    Category,
    Continuous,
    Counterfactual,
    Discrete,
    Features,
    InvalidInputError,
    OneHot,
    SearchSettings,
    Target,
)
from ntdcfe.testing import Failing, ends_high, logistic, series, total


def explained(**options):
    return NTDCFE(ends_high, **options).explain(series(20, 2, mean=-1.5), 1, max_rows=400)


def again(cf):
    return Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict(), allow_nan=False)))


def test_the_text_of_a_result_fits_on_a_line():
    """It had 212,515 characters."""
    cf = NTDCFE(ends_high).explain(series(500, 20, mean=-1.5), 1, max_rows=300)
    assert len(repr(cf)) < 120
    assert repr(cf).startswith("<Counterfactual found: 500 x 20, proximity=")


def test_help_shows_every_field():
    for entry in fields(Counterfactual):
        assert f"\n    {entry.name} : " in Counterfactual.__doc__


def test_with_every_feature_bounded_nothing_is_said_of_a_wider_reach():
    """"values were let go 16 times as far as usual" was said although no value could go any further."""

    def never_but_far(X):
        return (X.min((1, 2)) > 2.9).astype(int)

    x = np.zeros((8, 6))
    bounded = NTDCFE(never_but_far, Features.continuous(6, bounds=(0, 3))).explain(x, 1, max_rows=4000)
    assert bounded.widened == 1
    assert "as far as usual" not in str(bounded)
    free = NTDCFE(lambda X: (X.min((1, 2)) > 40).astype(int)).explain(x[:, :2], 1, max_rows=4000)
    assert free.widened > 1
    assert "times as far as usual" in str(free)


@pytest.mark.parametrize(
    "features",
    [
        Features([Continuous(), Continuous(name="b", bounds=(None, 5))]),
        Features([Discrete(values=[-2, -1.5, -1, 1]), Continuous()], actionable_steps=slice(1, None)),
        Features([Category(labels=["low", "high"]), Continuous()], actionable_steps=[0, 1]),
    ],
)
def test_a_result_comes_back_from_json(features):
    x = np.zeros((4, 2)) if isinstance(features[0], Category) else np.full((4, 2), -1.0)
    cf = NTDCFE(lambda X: (X[:, -1].sum(1) > 0).astype(int), features).explain(x, 1, max_rows=300)
    read = again(cf)
    assert str(read) == str(cf)
    assert read.features == cf.features
    np.testing.assert_array_equal(read.x, cf.x)
    assert repr(read.features) == repr(cf.features)
    assert eval(repr(cf.features)) == cf.features


def test_a_feature_of_an_unknown_kind_is_named():
    entry = explained().to_dict()
    entry["features"]["features"][0]["kind"] = "Colour"
    with pytest.raises(InvalidInputError, match="kind 'Colour' cannot be read"):
        Counterfactual.from_dict(entry)


def test_reservations_are_told_once_in_one_place():
    cf = NTDCFE(Failing(9)).explain(series(20, 2, mean=-1.5), 1)
    (reservation,) = cf.reservations()
    assert reservation.startswith("the model failed before this could be asked again")
    assert reservation in str(cf)
    assert explained().reservations() == []


def test_the_answer_says_which_of_its_features_hardly_vary_in_the_series_so_that_their_unit_is_a_guess():
    x = series(20, 4, mean=-0.5)
    x[:, 1], x[:, 2] = 7.0, 100.0 + 0.01 * x[:, 2]

    def both_high(X):
        return ((X[:, -3:, 1].min(1) > 7.2) & (X[:, -3:, 2].min(1) > 100.1)).astype(int)

    says = NTDCFE(both_high).explain(x, 1, max_rows=3_000)
    (reservation,) = [said for said in says.reservations() if "guess" in said]
    assert reservation.startswith("what counts as a small change of 'feature 1', 'feature 2' is a guess")
    assert reservation in str(says)
    known = Features([Continuous(), Continuous(scale=2.0), Continuous(bounds=(0, 200)), Continuous()])
    assert NTDCFE(both_high, known).explain(x, 1, max_rows=3_000).reservations() == []
    assert NTDCFE(ends_high).explain(x, 1, max_rows=3_000).reservations() == [], "they are not changed"


def test_a_forecast_of_thousands_is_said_without_a_power_of_ten():
    x = series(12, 2)
    cf = NTDCFE(lambda X: 71_220.0 + X[:, :, 0].sum(1)).explain(x, Target.interval(71_230, None))
    assert str(cf).startswith("The model says 712")
    assert "e+" not in str(cf)


def test_whole_numbers_in_a_small_table_are_tried_under_noise():
    income = Continuous(name="income", bounds=(0, 100), precision=0)
    features = Features([income, Continuous(bounds=(0, 3), precision=0)])
    cf = NTDCFE(lambda X: (X[:, 0] / 40 + X[:, 1] >= 2.6).astype(int), features).explain(np.array([30.0, 1.0]), 1)
    assert cf.survival.draws > 0
    assert cf.survival.share >= 0.95
    assert cf.options["nearest"].survival.draws > 0
    few = Features([Discrete([0, 1, 2]), Discrete([0, 1])])  # nothing that noise would change
    assert NTDCFE(lambda X: X.sum(1) >= 2, few).explain(np.zeros(2), True).survival.draws == 0


@pytest.mark.parametrize("max_rows", range(80, 150, 10))
def test_draws_that_the_budget_cut_off_count_neither_for_an_answer_nor_against_it(max_rows):
    features = Features([Continuous(bounds=(0, 7), precision=0), Continuous(bounds=(0, 7), precision=0)])
    cf = NTDCFE(lambda X: (X.sum(1) >= 7).astype(int), features).explain(np.array([1, 1]), 1, max_rows=max_rows)
    assert cf.survival.draws == 0 or cf.survival.share == 1.0


def test_a_search_that_the_time_ended_says_so():
    done = explained()
    assert done.complete
    late = replace(done, complete=False)
    (reservation,) = late.reservations()
    assert reservation.startswith("the time gave out before the search had ended")
    assert reservation in str(late)


def test_a_model_that_answers_by_a_row_s_company_is_met_with_the_remedy():
    def by_company(X):  # the answer depends on where in the batch a row stands
        return ((X[:, -1, 0] > 0) ^ (np.arange(len(X)) % 2 == 1)).astype(int)

    x = series(20, 2, mean=-1.5)
    together = NTDCFE(by_company).explain(x, 1, max_rows=300)
    assert together.contradicted
    assert not together.found
    assert "SearchSettings(max_batch_size=1) asks row by row" in str(together)
    alone = NTDCFE(by_company, settings=SearchSettings(max_batch_size=1)).explain(x, 1, max_rows=300)
    assert alone.found
    assert not alone.contradicted


def test_a_result_with_fewer_counterfactuals_than_asked_for_says_so():
    def one_way(X):  # only the first of the features decides
        return (X[:, 0] > 1).astype(int)

    features = Features([Discrete(range(4)), Discrete(range(2), role="immutable")])
    cf = NTDCFE(one_way, features).explain(np.zeros(2), 1, n_counterfactuals=5)
    assert (len(cf.candidates), cf.wanted) == (2, 5)
    (reservation,) = cf.reservations()
    assert reservation.startswith("2 of 5 counterfactuals found that differ in what they change: for more, raise max_")
    assert f"({reservation})" in str(cf)
    assert again(cf) == cf
    enough = NTDCFE(one_way, features).explain(np.zeros(2), 1, n_counterfactuals=2)
    assert enough.reservations() == []


def test_a_result_that_was_saved_without_how_many_were_asked_for_is_read():
    entry = explained().to_dict()
    del entry["wanted"]
    assert Counterfactual.from_dict(entry).wanted == 1


def test_texts_of_targets_type_back():
    for target in (
        Target.label("a"), Target.labels([1, 2]), Target.other(), Target.probability(1, 0.7), Target.interval(None, 3),
        Target.label(1) & Target.probability(1, 0.7), Target.other().confident(0.9),
    ):  # fmt: skip
        assert repr(eval(repr(target))) == repr(target)


def test_targets_combine():
    x = series(10, 2)
    cf = NTDCFE(logistic).explain(x, Target.label(1) & Target.probability(1, 0.9), max_rows=500)
    assert logistic(cf.x[None])[0, 1] >= 0.9
    cf = NTDCFE(total).explain(x, Target.interval(2, None) & Target.interval(None, 2.5), max_rows=900)
    assert 2 <= total(cf.x[None])[0] <= 2.5
    cf = NTDCFE(logistic).explain(x, Target.other().confident(0.8), max_rows=500)
    assert logistic(cf.x[None])[0, 1] >= 0.8


def test_one_hot_features_type_back():
    features = Features([OneHot(["a", "b"], weight=2.0), Continuous(precision=1)])
    assert repr(features) == "Features(features=(OneHot(weight=2.0, categories=('a', 'b')), Continuous(precision=1)))"
