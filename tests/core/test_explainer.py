"""End to end, as a user meets it."""

from dataclasses import replace

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    PAPER,
    Causal,
    Continuous,
    Counterfactual,
    Discrete,
    Features,
    InvalidInputError,
    LocalOutlierDetector,
    OneHot,
    PredictorError,
    SearchSettings,
    Target,
)
from ntdcfe.problem.problem import Problem
from ntdcfe.testing import ends_high, series, stumps

SMALL_PAPER = replace(PAPER, max_episodes=30, max_interventions=30, hidden=(32,), learning_rate=1e-3)
SERIES = np.full((6, 3), -0.5)


def rule(X):
    """1 where feature 0 is positive over the last two steps."""
    return (X[:, -2:, 0].min(1) > 0).astype(int)


SMALL_DEFAULT = SearchSettings(max_rows=1500, batch_rows=75)


@pytest.fixture(params=[SMALL_PAPER, SMALL_DEFAULT], ids=["paper", "default"])
def settings(request):
    return request.param


def test_labels_alone_are_enough(settings):
    cf = NTDCFE(rule, settings=settings).explain(SERIES, target=1)
    assert cf.status == "found"
    assert rule(cf.x[None])[0] == 1
    assert cf.prediction == 1
    assert cf.present == 0
    assert cf.x.shape == SERIES.shape
    assert cf.proximity == pytest.approx(np.abs(cf.x - SERIES).sum())
    assert cf.sparsity == (cf.x != SERIES).sum()
    assert all(rule(x[None])[0] == 1 for x in cf.candidates)


def test_candidates_are_the_nearest_first_where_the_nearest_are_wanted():
    settings = SearchSettings(options=["nearest"])
    cf = NTDCFE(rule, settings=settings).explain(SERIES, target=1)
    # The unit of a constant series is 1.
    costs = [np.abs(x - SERIES).sum() + settings.sparsity_weight * (x != SERIES).sum() for x in cf.candidates]
    assert len(costs) > 3
    assert costs == sorted(costs)


def test_the_model_is_counted_exactly(settings):
    rows, calls = [], []

    def predict(X):
        rows.append(len(X))
        calls.append(1)
        return rule(X)

    cf = NTDCFE(predict, settings=settings).explain(SERIES, target=1)
    assert (cf.rows, cf.calls) == (sum(rows), len(calls))


def test_probabilities_and_a_least_probability(settings):
    def proba(X):
        p = 1 / (1 + np.exp(-X[:, -2:, 0].sum(1)))
        return np.column_stack([1 - p, p])

    cf = NTDCFE(proba, settings=settings, classes=["no", "yes"]).explain(SERIES, Target.probability("yes", 0.8))
    assert proba(cf.x[None])[0, 1] >= 0.8
    cf = NTDCFE(proba, settings=settings, classes=["no", "yes"]).explain(SERIES, "yes")
    assert cf.prediction == "yes"


def test_a_single_probability_column(settings):
    cf = NTDCFE(lambda X: rule(X)[:, None] * 0.9, settings=settings, output="probability").explain(SERIES, 1)
    assert rule(cf.x[None])[0] == 1


def test_regression_with_an_interval(settings):
    def value(X):
        return X[:, :, 0].mean(1)

    cf = NTDCFE(value, settings=settings).explain(SERIES, Target.interval(0.1, 1.0))
    assert 0.1 <= value(cf.x[None])[0] <= 1.0
    assert cf.prediction == pytest.approx(value(cf.x[None])[0])


def test_several_target_classes_and_other(settings):
    def three(X):
        return np.digitize(X[:, -1, 0], [0, 1])

    for target, allowed in [([1, 2], {1, 2}), ("other", {1, 2}), ({2}, {2})]:
        cf = NTDCFE(three, settings=settings).explain(SERIES, target)
        assert three(cf.x[None])[0] in allowed


def test_static_data_with_discrete_features(settings):
    features = Features(
        [Continuous(name="income"), Discrete([0, 1, 2], name="rating"), OneHot(["rent", "own"], name="home")]
    )

    def approve(X):  # (n, 4): income, rating, rent, own
        assert X.ndim == 2
        assert (X[:, 2] + X[:, 3] == 1).all()
        return (X[:, 1] == 2) & (X[:, 3] == 1)

    x = np.array([0.3, 0.0, 1.0, 0.0])
    cf = NTDCFE(approve, features, settings=settings).explain(x, target=True)
    assert cf.found
    assert cf.x.shape == (4,)
    assert approve(cf.x[None])[0]
    assert {change.feature for change in cf.changes} >= {"rating", "home"}
    assert "switch 'home' from rent to own" in str(cf)


def test_feasibility_weights_choose_between_equals(settings):
    def either(X):
        return (X[:, -1, 0] > 0) | (X[:, -1, 1] > 0)

    for weights, cheap in [((1, 10), 0), ((10, 1), 1)]:
        features = Features(
            [Continuous(weight=weights[0]), Continuous(weight=weights[1]), Continuous(role="immutable")]
        )
        cf = NTDCFE(either, features, settings=settings).explain(SERIES, True)
        assert {change.feature for change in cf.changes} == {f"feature {cheap}"}


def test_causal_rules_reach_the_model(settings):
    features = Features.from_dict({"cause": {}, "effect": {"role": "non_actionable"}, "rest": {"role": "immutable"}})
    chain = Causal("effect", "cause", lambda cause: cause + 0.2)
    cf = NTDCFE(lambda X: X[:, -1, 1] > 0, features, [chain], settings=settings).explain(SERIES, True)
    assert cf.found
    fired = cf.x[:, 0] != SERIES[:, 0]
    np.testing.assert_allclose(cf.x[fired, 1], cf.x[fired, 0] + 0.2)


def test_already_at_the_target(settings):
    cf = NTDCFE(rule, settings=settings).explain(-SERIES, target=1)
    assert cf.status == "already_target"
    np.testing.assert_array_equal(cf.x, -SERIES)
    assert (cf.rows, cf.sparsity, cf.proximity, cf.changes) == (2 + settings.confirmations, 0, 0, ())
    assert "Nothing has to change" in str(cf)


def test_not_found_says_so(settings):
    limited = replace(settings, max_rows=200)
    cf = NTDCFE(lambda X: np.zeros(len(X), int), settings=limited).explain(SERIES, target=1)
    assert not cf.found
    assert cf.x is None
    assert cf.status in ("not_found", "budget_exhausted")
    assert np.isnan(cf.proximity)
    assert "No counterfactual found" in str(cf)


def test_budgets_are_hard(settings):
    for limit in (1, 2, 7, 50):
        cf = NTDCFE(lambda X: np.zeros(len(X), int), settings=settings).explain(SERIES, 1, max_rows=limit)
        assert cf.rows <= limit
        assert cf.status == "budget_exhausted"
    cf = NTDCFE(lambda X: np.zeros(len(X), int), settings=settings).explain(SERIES, 1, max_seconds=1e-9)
    assert cf.status == "budget_exhausted"


def test_an_interrupt_keeps_what_was_found(settings):
    calls = []

    def predict(X):
        calls.append(len(X))
        if len(calls) == 25:
            raise KeyboardInterrupt
        return (X != SERIES).any((1, 2)).astype(int)

    cf = NTDCFE(predict, settings=replace(settings, max_batch_size=5)).explain(SERIES, 1)
    assert cf.status == "interrupted"
    assert cf.found


def test_the_seed_decides(settings):
    def explain(seed):
        return NTDCFE(rule, settings=settings, seed=seed).explain(SERIES, 1)

    np.testing.assert_array_equal(explain(3).x, explain(3).x)
    assert not np.array_equal(explain(3).x, explain(4).x)


def test_an_instance_does_not_depend_on_its_company(settings):
    X = np.stack([SERIES, SERIES * 2, SERIES - 0.1])
    explainer = NTDCFE(rule, settings=settings)
    together = explainer.explain_batch(X, 1)
    for x, cf in zip(X, together, strict=True):
        alone = explainer.explain(x, 1)
        np.testing.assert_array_equal(alone.x, cf.x)
        assert alone.rows == cf.rows
    backwards = explainer.explain_batch(X[::-1], 1)
    np.testing.assert_array_equal(backwards[0].x, together[2].x)


def test_one_target_an_instance(settings):
    cfs = NTDCFE(rule, settings=settings).explain_batch(np.stack([SERIES, -SERIES]), [Target.label(1), Target.label(0)])
    assert [cf.prediction for cf in cfs] == [1, 0]
    assert NTDCFE(rule, settings=settings).explain_batch(np.zeros((0, 6, 3)), 1) == []


def test_only_plausible_ones_are_handed_out(settings):
    cf = NTDCFE(rule, settings=settings, plausible=lambda X: X[:, -1, 0] > 0.5).explain(SERIES, 1)
    assert cf.found
    assert cf.x[-1, 0] > 0.5
    assert all(x[-1, 0] > 0.5 for x in cf.candidates)


def test_off_the_boundary_is_not_out_of_the_distribution():
    settings = SearchSettings(options=("nearest",), prefer="nearest", margin=0.2)

    def beyond_one(X):
        return (X[:, -1, 0] > 1).astype(int)

    cf = NTDCFE(beyond_one, settings=settings, plausible=lambda X: X[:, -1, 0] < 1.1).explain(np.zeros((6, 3)), 1)
    assert cf.found
    assert 1 < cf.x[-1, 0] < 1.1


class Near:
    """Plausible are series whose last two features are near 2 at all steps, which the original is far from."""

    def __call__(self, X):
        return self.score_samples(X) >= 0

    def score_samples(self, X):
        return 0.5 - np.abs(X[:, :, 1:] - 2.0).max((1, 2))


@pytest.mark.parametrize("seed", range(3))
def test_a_score_leads_into_the_distribution_an_original_that_is_outside(seed):
    cf = NTDCFE(rule, plausible=Near(), seed=seed).explain(SERIES, 1)
    assert cf.found
    assert Near()(cf.x[None])[0]
    assert rule(cf.x[None])[0] == 1


def test_the_ready_detector():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    detector = LocalOutlierDetector(rng.normal(size=(100, 6, 3)))
    assert detector(rng.normal(size=(20, 6, 3))).mean() > 0.8
    assert not detector(np.full((1, 6, 3), 50.0))[0]
    with pytest.raises(InvalidInputError, match="reference"):
        LocalOutlierDetector(np.zeros(3))


def test_float32_models_get_float32(settings):
    def predict(X):
        assert X.dtype == np.float32
        return rule(X)

    cf = NTDCFE(predict, settings=settings).explain(SERIES.astype(np.float32), 1)
    assert cf.x.dtype == np.float32
    assert rule(cf.x[None])[0] == 1


def test_results_read_as_sentences(settings):
    features = Features.continuous(3, names=["load", "wind", "sun"])
    text = str(NTDCFE(rule, features, settings=settings).explain(SERIES, 1))
    assert text.startswith("The model says 0. For 1 instead:")
    assert "'load'" in text
    assert "from step" in text or "at step" in text
    assert "calls to the model" in text


@pytest.mark.parametrize(
    ("options", "x", "target", "message"),
    [
        ({}, np.zeros((2, 3, 4)), 1, r"one series.*\(2, 3, 4\)"),
        ({}, np.full((6, 3), np.nan), 1, "NaN"),
        ({}, np.full((6, 3), np.inf), 1, "infinity"),
        ({}, np.array([["a"]]), 1, "must be numbers"),
        ({}, np.zeros((0, 3)), 1, "at least one step"),
        ({"classes": [0, 1]}, SERIES, 2, "classes are"),
        ({"features": Features.continuous(2)}, SERIES, 1, "2 columns, the series has 3"),
        ({"features": Features.continuous(3, role="immutable")}, SERIES, 1, "no feature is left"),
        ({"features": Features([Discrete([0, 1]), Continuous(), Continuous()])}, SERIES, 1, "do not list"),
        ({"features": "all"}, SERIES, 1, "must be a Features"),
        ({"seed": -1}, SERIES, 1, "seed"),
        ({"seed": 0.5}, SERIES, 1, "seed"),
        ({"constraints": [Causal("zz", 0, abs)]}, SERIES, 1, "no feature 'zz'"),
        ({"constraints": 3}, SERIES, 1, "must be a list of Constraints"),
        ({"plausible": 3}, SERIES, 1, "plausible"),
        ({}, SERIES, None, "target"),
        ({}, SERIES, [], "at least one class"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_the_model_is_called(options, x, target, message):
    def predict(X):
        raise AssertionError("the model was called")

    with pytest.raises(InvalidInputError, match=message):
        NTDCFE(predict, **options).explain(x, target)


def test_errors_of_the_model_are_named():
    def predict(X):
        raise OSError("lost connection")

    with pytest.raises(PredictorError, match="lost connection"):
        NTDCFE(predict).explain(SERIES, 1)
    with pytest.raises(PredictorError, match="NaN"):
        NTDCFE(lambda X: np.full(len(X), np.nan)).explain(SERIES, Target.interval(0, 1))
    with pytest.raises(InvalidInputError, match="classes are"):
        NTDCFE(lambda X: np.full((len(X), 2), 0.5)).explain(SERIES, 7)


def test_default_settings_are_used_when_none_are_given():
    assert NTDCFE(rule).settings == SearchSettings()


def test_several_counterfactuals_differ_in_what_they_change():
    def any_of_three(X):
        return (X[:, -1] > 0).any(1)

    cf = NTDCFE(any_of_three).explain(SERIES, True, n_counterfactuals=3)
    assert len(cf.candidates) == 3
    assert all(any_of_three(x[None])[0] for x in cf.candidates)
    changed = [frozenset(np.flatnonzero((x != SERIES).any(0))) for x in cf.candidates]
    assert len(set(changed)) == 3
    np.testing.assert_array_equal(cf.x, cf.candidates[0])
    assert cf.rows <= SearchSettings().max_rows


def test_what_is_minimised_is_a_setting():
    """One cell far off, or a little of everything: the price of a changed cell decides."""

    def total(X):
        return X.sum((1, 2)) > -6.0  # from -9

    settings = SearchSettings(options=["nearest"], sparsity_weight=1.0)
    sparse = NTDCFE(total, settings=settings).explain(SERIES, True)
    assert sparse.proximity == pytest.approx(3.0, rel=0.05)
    assert sparse.sparsity <= 2


def test_changes_can_keep_the_papers_shape():
    settings = SearchSettings(shape="to_end", max_rows=3000)
    cf = NTDCFE(lambda X: X[:, 2:4, 0].min(1) > 0, settings=settings).explain(SERIES, True)
    assert cf.found
    for x in (cf.x, *(option.x for option in cf.options.values())):
        assert (np.diff((x != SERIES).astype(int), axis=0) >= 0).all()
    nearest = cf.options["nearest"].x
    assert (nearest != SERIES)[:, 0].tolist() == [False, False, True, True, True, True]
    segments = NTDCFE(lambda X: X[:, 2:4, 0].min(1) > 0).explain(SERIES, True).options["nearest"].x
    assert (segments != SERIES)[:, 0].tolist() == [False, False, True, True, False, False]


def test_reach_is_widened_only_when_nothing_else_succeeds():
    near = NTDCFE(lambda X: X[:, -1, 0] > 1).explain(SERIES, True)
    assert near.widened == 1
    assert near.largest_change <= 3
    far = NTDCFE(lambda X: X[:, -1, 0] > 20).explain(SERIES, True)
    assert far.found
    assert far.widened > 1
    assert "as far as usual" in str(far)


@pytest.mark.parametrize("stir", [0.005, 0.01, 0.02])
def test_a_series_that_is_all_but_still_is_let_go_as_far_as_the_values_of_a_regressor_tell(stir):
    """Its own deviation is no measure of what matters to the model: twice as far every other round took all rows."""
    still = stir * np.random.default_rng(0).normal(size=(12, 2))

    def predict(X):
        return np.tanh(X.mean((1, 2)))

    cf = NTDCFE(predict, output="values").explain(still, Target.interval(0.4, None), max_rows=600)
    assert cf.found
    assert cf.widened > 2
    assert predict(cf.x[None])[0] >= 0.4


def test_what_the_model_said_is_told_where_nothing_is_found():
    x = np.zeros((6, 2))

    def missed(predict, target, max_rows=300, **options):
        return NTDCFE(predict, **options).explain(x, target, max_rows=max_rows)

    never = missed(lambda X: np.clip(X.mean((1, 2)), 0, 1), Target.interval(2, None), output="values")
    assert never.said == "values from 0 to 1"
    assert f"{never.rows} rows were asked, and the model said values from 0 to 1" in never.reason
    assert "raise max_rows" in never.reason
    assert "bounds or a scale" in never.reason
    assert "ask for less" in never.reason
    two = missed(lambda X: np.where(X[:, 0, 0] > 1, "b", "a"), "c")
    assert "the model said a and b" in two.reason
    many = missed(lambda X: X[:, 0, 0].round().astype(int), 77, max_rows=900)
    assert many.said.endswith(" and others")
    constant = missed(lambda X: np.zeros(len(X), int), 1)
    assert "the model said 0 of every row" in constant.reason
    assert "see whether it ever says anything else" in constant.reason
    in_bounds = missed(lambda X: np.zeros(len(X), int), 1, features=Features.continuous(2, bounds=(0.0, 5.0)))
    assert "as far as usual" not in in_bounds.reason
    assert "bounds or a scale" not in in_bounds.reason
    unlimited = SearchSettings(max_rows=None, max_seconds=0.3)
    late = NTDCFE(lambda X: np.zeros(len(X), int), settings=unlimited).explain(x, 1)
    assert "its time was over" in late.reason
    assert "raise max_seconds" in late.reason
    assert NTDCFE(lambda X: X[:, -1, 0] > 1).explain(x, True, max_rows=300).said == ""
    assert Counterfactual.from_dict(two.to_dict()).reason == two.reason


def test_raw_features_are_as_good_as_standardised_ones():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 3))
    factor, shift = np.array([1e-3, 1.0, 1e3]), np.array([5.0, -2.0, 1e4])

    def standard(X):
        return (X[:, -3:, 0].mean(1) > 1.5) & (X[:, -3:, 2].mean(1) > 1.5)

    plain = NTDCFE(standard).explain(x, True)
    raw = NTDCFE(lambda X: standard((X - shift) / factor)).explain(x * factor + shift, True)
    assert plain.found
    assert raw.found
    assert raw.proximity_in_units == pytest.approx(plain.proximity_in_units, rel=0.1)


def test_the_answer_is_no_tie():
    cf = NTDCFE(lambda X: X[:, -1, 0] > 0).explain(SERIES, True)
    assert cf.x[-1, 0] >= 0.5 * 0.002


def test_history_tells_how_the_search_went(settings):
    history = NTDCFE(rule, settings=settings).explain(SERIES, 1).history
    assert len(history) >= 1
    assert all(0 <= update.success_share <= 1 for update in history)
    rows = [update.rows for update in history]
    assert rows == sorted(rows)


def test_seconds_are_for_the_whole_batch():
    import time

    def slow(X):
        time.sleep(0.05)
        return np.zeros(len(X), int)

    started = time.monotonic()
    cfs = NTDCFE(slow).explain_batch(np.tile(SERIES, (8, 200, 1)), 1, max_seconds=0.5)  # pools of a few each
    assert time.monotonic() - started < 5
    assert {cf.status for cf in cfs} == {"budget_exhausted"}


def test_an_interrupt_ends_the_batch_and_keeps_its_order():
    calls = []

    def predict(X):
        calls.append(len(X))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return np.zeros(len(X), int)

    cfs = NTDCFE(predict).explain_batch(np.tile(SERIES, (12, 1000, 1)), 1)
    assert [cf.status for cf in cfs] == ["interrupted"] * 12
    assert len(calls) <= 5


def test_another_transition_is_all_that_is_used():
    """Only the last step may be reached by the user's own transition; nothing else is ever asked."""

    def last_step(states, action, discrete):
        out = states.copy()
        out[np.arange(len(out)), -1, action.feature] += action.strength
        return out

    def predict(X):
        assert (X[:, :-1] == SERIES[:-1]).all()
        return X[:, -1, 0] > 0

    cf = NTDCFE(predict, transition=last_step).explain(SERIES, True)
    assert cf.found


def test_the_nearest_miss_is_kept_when_nothing_is_found():
    def predict(X):  # class 1 needs a mean of 10, out of bounds
        p = np.clip(X.mean((1, 2)) / 20, 0, 1)
        return np.stack([1 - p, p], 1)

    features = Features.continuous(2, bounds=(0.0, 5.0))
    cf = NTDCFE(predict, features).explain(np.full((6, 2), 1.0), target=1, max_rows=500)
    assert not cf.found
    assert cf.reason
    assert predict(cf.near_miss[None])[0, 1] > predict(cf.original[None])[0, 1] + 0.05
    assert cf.near_miss_prediction == 0
    assert cf.near_miss.max() <= 5


def test_no_nearest_miss_beside_an_answer_or_with_labels_alone():
    x = np.full((6, 2), -1.0)
    found = NTDCFE(lambda X: (X.mean((1, 2)) > 0).astype(int)).explain(x, target=1)
    missed = NTDCFE(lambda X: np.zeros(len(X), int), classes=[0, 1]).explain(x, target=1, max_rows=300)
    assert found.near_miss is None
    assert found.reason == ""
    assert missed.near_miss is None
    assert missed.reason


def test_nothing_but_categories(settings):
    features = Features([Discrete((0, 1, 2)), OneHot(2)])
    cf = NTDCFE(lambda X: (X[:, 0] == 2).astype(int), features, settings=settings).explain(np.array([0.0, 1.0, 0.0]), 1)
    assert cf.found
    assert cf.x[0] == 2


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 2**70},
        {"classes": 5},
        {"constraints": [Causal(1, 0, lambda cause: "text")]},
    ],
)
def test_more_that_is_refused(options):
    with pytest.raises(InvalidInputError, match="must"):
        NTDCFE(rule, **options).explain(SERIES, 1)


def test_every_instance_of_a_batch_is_prepared_once(monkeypatch):
    """Each was prepared twice: for the check at the door, and again for its search."""
    built = []
    original = Problem.of.__func__

    def counted(cls, *args, **options):
        built.append(1)
        return original(cls, *args, **options)

    monkeypatch.setattr(Problem, "of", classmethod(counted))
    X = np.stack([series(12, 2, seed, mean=-1.5) for seed in range(5)])
    NTDCFE(ends_high).explain_batch(X, 1, max_rows=200)
    assert len(built) == 5


@pytest.mark.parametrize("wanted", [31, 32, 40, 60])
def test_many_counterfactuals_get_as_many_as_asked_and_the_rows_that_there_are(wanted):
    settings = SearchSettings(options=("nearest",))
    cf = NTDCFE(stumps, settings=settings).explain(series(20, 4), 1, n_counterfactuals=wanted)
    assert len({x.tobytes() for x in cf.candidates}) == wanted
    assert (stumps(np.array(cf.candidates)) == 1).all()
    assert cf.rows > 7500  # of 10,000: some are set aside for the last check of each


def test_results_can_be_compared():
    one, same = (NTDCFE(rule).explain(SERIES, 1, max_rows=300) for _ in range(2))
    other = NTDCFE(rule, seed=1).explain(SERIES - 0.1, 1, max_rows=300)
    assert one == same
    assert one != other
    assert one != "a counterfactual"
    assert same in [other, one]
    assert len({one, same, other}) == 2
    assert Counterfactual.from_dict(one.to_dict()) == one
    assert one.options == same.options
    assert one.changes == same.changes


def test_an_interval_that_is_wanted_of_a_model_of_labels_ends_with_words():
    predict = lambda X: np.where(X[:, 0] > 1e9, "2", "0")  # noqa: E731
    cf = NTDCFE(predict, output="labels", seed=0).explain(np.zeros(4), Target.interval(0.2, None), max_rows=200)
    assert not cf.found
    assert "0" in cf.reason
