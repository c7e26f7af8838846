"""One table for all explainers: the same question, the same counted model, the same scores."""

import contextlib
import csv
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ntdcfe import NTDCFE, AtMost, Causal, Features, InvalidInputError, SearchSettings, Target
from ntdcfe_plugins.compare import COLUMNS, GLOSSARY, CountedModel, Flat, compare, measures
from ntdcfe_plugins.compare.marks import BETTER, marks_of

QUICK = SearchSettings(max_rows=500, batch_rows=25)
X = np.full((2, 6, 3), -0.5)


def predict(rows):
    """Probabilities (n, 2): class 1 if the first feature is positive over the last two steps."""
    p = 1 / (1 + np.exp(-4 * rows[:, -2:, 0].mean(1)))
    return np.column_stack([1 - p, p])


def lifted(x):
    """A counterfactual: 4 cells in 2 features, 3 segments, L1 8."""
    x = x.copy()
    x[-2:, 0] += 2
    x[[0, 3], 1] -= 2
    return x


def run(explainers, X=X, predict=predict, target=1, **options):
    return compare(explainers, X, predict, target, progress=False, **options)


def one(explainer, **options):
    return run({"it": explainer}, X=X[:1], **options).table[0]


# -- scores --------------------------------------------------------------------------------


def test_scores_of_a_known_change():
    row = one(lifted)
    assert row["success"] is True
    assert (row["status"], row["validity"]) == ("found", 1.0)
    assert (row["l1"], row["l2"]) == (8, 4)
    assert (row["sparsity"], row["features"], row["segments"]) == (4, 2, 3)
    assert np.isnan(row["plausible"])
    assert np.isnan(row["allowed"])


def test_the_nearest_valid_one_of_several_is_scored():
    row = one(lambda x: [x + 9.0, lifted(x), x])
    assert row["validity"] == pytest.approx(2 / 3)
    assert row["l1"] == 8
    assert row["diversity"] == pytest.approx(np.abs(X[0] + 9 - lifted(X[0])).sum())


def test_a_trip_through_single_precision_is_no_change():
    x = np.random.default_rng(0).normal(size=(1, 6, 3)) - 3
    row = run({"it": lambda x: lifted(x * 1.0).astype(np.float32) + np.float32([6, 0, 0])}, X=x).table[0]
    assert row["sparsity"] == 6 + 2  # the first feature everywhere, two cells of the second


def test_discrete_features_and_one_hot_groups_count_once():
    features = Features.from_dict(
        {"a": {}, "rating": {"values": [1, 5, 9]}, "home": {"categories": ["rent", "own", "other"]}}
    )
    x = np.array([[-1.0, 1, 1, 0, 0]])
    row = run({"it": lambda x: np.array([1.0, 9, 0, 0, 1])}, x, lambda r: r[:, 0] > 0, True, features=features).table[0]
    assert (row["l1"], row["sparsity"], row["features"]) == (2 + 1 + 1, 3, 3)
    assert row["allowed"] is True


@pytest.mark.parametrize(
    "broken",
    [
        [1.0, 1, 1, 0, 0, 8],  # immutable
        [1.0, 2, 1, 0, 0, 7],  # not listed
        [1.0, 1, 1, 1, 0, 7],  # two categories at once
        [99.0, 1, 1, 0, 0, 7],  # out of bounds
    ],
)
def test_broken_rules_are_told(broken):
    features = Features.from_dict(
        {
            "a": {"bounds": (-5, 5)},
            "rating": {"values": [1, 5]},
            "home": {"categories": ["rent", "own", "other"]},
            "age": {"role": "immutable"},
        }
    )
    x = np.array([[-1.0, 1, 1, 0, 0, 7]])
    row = run(
        {"it": lambda x: np.array(broken)}, X=x, predict=lambda r: r[:, 0] > 0, target=True, features=features
    ).table[0]
    assert row["success"] is True
    assert row["allowed"] is False


def test_directions_and_steps_are_rules_too():
    falls = Features.from_dict({"a": {"direction": "fall"}, "b": {}, "c": {}})
    assert one(lifted, features=falls)["allowed"] is False
    last = Features.continuous(3, actionable_steps=slice(1, None))
    assert one(lifted, features=last)["allowed"] is False
    assert one(lifted, features=Features.continuous(3))["allowed"] is True


def test_constraints_are_rules_too():
    assert one(lifted, constraints=[AtMost(1, 0)])["allowed"] is True
    assert one(lifted, constraints=[AtMost(0, 1)])["allowed"] is False
    named = Features.continuous(3, ["a", "b", "c"])
    assert one(lifted, constraints=[AtMost("b", "a")], features=named)["allowed"] is True
    follows = Causal(2, 0, lambda cause: cause)
    assert one(lifted, constraints=[follows])["allowed"] is False
    # Rounding to single precision is no change, and breaks no rule.
    zero = Causal(2, 1, lambda cause: 0 * cause)
    explainers = {
        "both": lambda x: lifted(x).astype(np.float32),
        "first": lambda x: np.where(np.arange(3) == 0, x + 2, x).astype(np.float32),
    }
    table = run(explainers, X=np.full((1, 6, 3), -0.1), constraints=[zero]).table
    assert [row["allowed"] for row in table] == [False, True]


def test_plausibility_only_with_reference_data():
    pytest.importorskip("sklearn")
    reference = np.random.default_rng(0).normal(size=(60, 6, 3))
    table = run({"near": lifted, "far": lambda x: x + 500}, reference=reference).table
    assert [row["plausible"] for row in table] == [True, True, False, False]
    assert [row["plausible_forest"] for row in table] == [True, True, False, False]


# -- measures ------------------------------------------------------------------------------


def test_contiguity_counts_the_beginnings_of_changed_stretches():
    row = one(lifted)  # steps 0, 3, 4 and 5 of 6: two stretches
    assert row["contiguity"] == pytest.approx(1 - 2 / 6)
    assert one(lambda x: x + 1)["contiguity"] == pytest.approx(1 - 1 / 6)


def test_roughness_is_of_the_changed_channels_only():
    x = np.zeros((1, 6, 3))
    x[0, :, 0], x[0, :, 2] = [0, 1, 0, 1, 0, 1], [0, 9, 0, 9, 0, 9]
    doubled = run({"it": lambda x: x * [2, 1, 1]}, X=x, predict=lambda r: r[:, 1, 0] > 1, target=True).table[0]
    assert doubled["roughness"] == 2
    straight = run({"it": lambda x: lifted(x)}, X=np.full((1, 6, 3), -0.5)).table[0]
    assert np.isnan(straight["roughness"])


def test_a_change_of_discrete_features_alone_makes_nothing_rougher():
    features = Features.from_dict({"a": {}, "plan": {"values": [0, 1]}})
    x = np.random.default_rng(0).normal(size=(1, 6, 2)) * [1, 0]
    row = run({"it": lambda x: x + np.array([0, 1])}, x, lambda r: r[:, -1, 1] > 0, True, features=features).table[0]
    assert row["roughness"] == 1
    assert row["survival_5"] == 1  # discrete features are not disturbed


def test_survival_is_the_share_of_noisy_copies_that_hold():
    features = Features.continuous(3, scale=10.0)
    edge = one(lambda x: np.where(np.arange(3) == 0, 1e-9, x), features=features)
    assert 0.4 < edge["survival_1"] < 0.6
    # The mean of two cells 0.14 above: 2 deviations at 1% of 10, 0.4 at 5%.
    near = one(lambda x: np.where(np.arange(3) == 0, 0.14, x), features=features)
    assert 0.93 < near["survival_1"] < 1
    assert 0.55 < near["survival_5"] < 0.75
    assert near == one(lambda x: np.where(np.arange(3) == 0, 0.14, x), features=features) | {
        name: near[name] for name in ("seconds", "cpu_seconds")
    }


def test_noise_is_in_units_of_each_feature():
    features = Features.from_dict(
        {"a": {"scale": 5.0}, "b": {"bounds": (0, 8)}, "plan": {"values": [0, 1]}, "home": {"categories": ["x", "y"]}}
    )
    np.testing.assert_array_equal(measures.noise_of(np.zeros((4, 5)), features), [5, 2, 0, 0, 0])


def test_no_draws_no_survival():
    row = one(lifted, draws=0)
    assert np.isnan([row["survival_1"], row["survival_5"]]).all()
    with pytest.raises(InvalidInputError, match="draws"):
        one(lifted, draws=-1)


def test_a_model_that_refuses_disturbed_values_costs_only_the_survival():
    def whole(rows):
        if (rows != rows.round()).any():
            raise ValueError("whole numbers only")
        return rows[:, -1, 0] > 0

    row = run({"it": lambda x: x + 2}, X=np.full((1, 6, 3), -1.0), predict=whole, target=True).table[0]
    assert row["success"] is True
    assert np.isnan(row["survival_1"])


def test_large_series_are_disturbed_in_parts(monkeypatch):
    asked = []
    monkeypatch.setattr(measures, "_MOST_NUMBERS", 18 * 70)

    def counting(rows):
        asked.append(len(rows))
        return predict(rows)

    assert one(lifted, predict=counting)["survival_1"] == 1
    assert asked[-3:] == [70, 70, 60]


def test_confidence_is_the_probability_of_what_is_wanted():
    p = predict(lifted(X[0])[None])[0, 1]
    assert one(lifted)["confidence"] == pytest.approx(p)
    assert one(lifted, target="other")["confidence"] == pytest.approx(p)
    both = three(lifted(X[0])[None])[0, 1:].sum()
    assert one(lifted, predict=three, target=[1, 2])["confidence"] == pytest.approx(both)
    assert np.isnan(one(lifted, predict=lambda r: predict(r).argmax(1))["confidence"])
    assert np.isnan(one(lifted, predict=lambda r: r[:, -1, 0], target=Target.interval(0, None))["confidence"])


def test_dtw_follows_a_shift_in_time():
    x = np.sin(np.arange(40) / 3)[:, None] * [1.0, -1.0]
    late = np.concatenate([x[:1], x[:-1]])
    assert measures.dtw(x, x) == 0
    assert measures.dtw(x, late) < 0.25 * np.sqrt(((x - late) ** 2).sum())
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    assert measures.dtw(a, b) == pytest.approx(by_the_book(a, b))


def by_the_book(a, b):
    """Dynamic time warping, cell by cell."""
    least = np.full((len(a) + 1, len(b) + 1), np.inf)
    least[0, 0] = 0
    for i, u in enumerate(a):
        for j, v in enumerate(b):
            least[i + 1, j + 1] = ((u - v) ** 2).sum() + min(least[i, j], least[i, j + 1], least[i + 1, j])
    return np.sqrt(least[-1, -1])


def test_ours_tells_its_edits_and_others_do_not():
    row = one(lambda predict: NTDCFE(predict, settings=QUICK))
    own = NTDCFE(predict, settings=QUICK).explain(X[0], 1)
    assert row["edits"] == len(own.edits) > 0
    assert np.isnan(one(lifted)["edits"])
    nearest = SearchSettings(max_rows=500, batch_rows=25, options=["nearest"])
    assert np.isnan(one(lambda predict: NTDCFE(predict, settings=nearest))["edits"])


def test_what_edits_do_not_speak_of_counts_by_its_runs():
    own = NTDCFE(predict, settings=QUICK).explain(X[0], 1)
    edit = own.edits[0]._replace(feature="feature 0", last_feature="feature 1")
    changed = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 0, 1]], bool)
    assert measures.n_edits([edit], changed, own.features.names) == 1 + 2


def test_measures_of_series_do_not_apply_to_a_row_of_a_table():
    row = run({"it": lambda x: x + 2}, np.full((1, 3), -1.0), lambda r: r[:, 0] > 0, True).table[0]
    assert np.isnan([row[name] for name in ("contiguity", "roughness", "dtw")]).all()
    assert row["survival_1"] == 1


# -- counting ------------------------------------------------------------------------------


def asks_twice(predict):
    predict(X)  # while it is built

    def explain(x):
        predict(np.stack([x, x, x]))
        predict(x[None])
        return lifted(x)

    return explain


def test_a_factory_is_counted_and_its_building_kept_apart():
    comparison = run({"it": asks_twice})
    assert [(row["rows"], row["calls"]) for row in comparison.table] == [(4, 2), (4, 2)]
    assert comparison.fits["it"][:2] == (2, 1)


def test_a_ready_explainer_that_asks_past_the_counter_has_unknown_costs():
    row = one(lambda x: lifted(x))
    assert np.isnan(row["rows"])
    assert np.isnan(row["calls"])


def test_a_model_counted_by_the_user_counts_ready_explainers():
    model = CountedModel(predict, X.shape[1:])
    row = one(lambda x: lifted(x) if len(model(x[None])) else None, predict=model)
    assert (row["rows"], row["calls"]) == (1, 1)


@pytest.mark.parametrize("ours", [NTDCFE(predict, settings=QUICK), lambda predict: NTDCFE(predict, settings=QUICK)])
def test_ours_is_counted_ready_or_not(ours):
    own = NTDCFE(predict, settings=QUICK).explain(X[0], 1)
    row = one(ours)
    assert row["success"] is True
    assert (row["rows"], row["calls"]) == (own.rows, own.calls)
    assert row["l1"] == pytest.approx(own.proximity)
    assert row["sparsity"] == own.sparsity


def test_a_factory_may_wrap_the_counted_model():
    row = one(lambda predict: NTDCFE(predict.predict, settings=QUICK))  # labels in place of probabilities
    own = NTDCFE(lambda X: predict(X).argmax(1), settings=QUICK).explain(X[0], 1)
    assert (row["rows"], row["l1"]) == (own.rows, pytest.approx(own.proximity))


def test_ours_if_ready_keeps_its_own_form_of_the_model():
    labels = NTDCFE(lambda X: predict(X).argmax(1), settings=QUICK, output="labels")
    row = one(labels)
    own = labels.explain(X[0], 1)
    assert (row["rows"], row["l1"]) == (own.rows, pytest.approx(own.proximity))


def test_ours_learns_the_classes_of_the_comparison():
    row = one(lambda predict: NTDCFE(predict, settings=QUICK), target="yes", classes=["no", "yes"])
    assert row["success"] is True


def test_the_judge_does_not_count():
    model = CountedModel(predict, X.shape[1:])
    run({"it": lifted}, predict=model)
    assert model.n_rows == 0


def test_the_counted_model_takes_flat_rows_frames_and_channels_first():
    pd = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(4, 6, 3))
    model = CountedModel(predict, (6, 3))
    for rows in (x, x.reshape(4, -1), pd.DataFrame(x.reshape(4, -1))):
        np.testing.assert_allclose(model.predict_proba(rows), predict(x))
    np.testing.assert_allclose(model.channels_first.predict_proba(x.transpose(0, 2, 1)), predict(x))
    np.testing.assert_array_equal(model.predict(x), predict(x).argmax(1))
    assert (model.n_rows, model.n_calls) == (20, 5)


def test_labels_become_certainties_for_those_who_want_probabilities():
    seen = []

    def factory(predict):
        seen.append(predict.predict_proba(X))
        return lifted

    run({"it": factory}, predict=lambda r: np.where(predict(r)[:, 1] > 0.5, "yes", "no"), target="yes")
    np.testing.assert_array_equal(seen[0], [[1, 0], [1, 0]])


# -- kinds of explainers ---------------------------------------------------------------------


class AlibiLike:
    """What alibi's explainers offer, under the three spellings of the wanted class."""

    def __init__(self, success=True):
        self.meta = {"name": "AlibiLike"}
        self.success, self.asked = success, []

    def answer(self, X, wanted):
        self.asked.append(wanted)
        cf = {"X": np.stack([lifted(x) for x in X]), "class": 1} if self.success else None
        return SimpleNamespace(cf=cf, data={})


class RL(AlibiLike):
    def explain(self, X, Y_t=None, C=None):
        return self.answer(X, Y_t.tolist())


class Proto(AlibiLike):
    def explain(self, X, Y=None, target_class=None):
        return self.answer(X, target_class)


class Plain(AlibiLike):
    def explain(self, X):
        return self.answer(X, None)


@pytest.mark.parametrize(("kind", "wanted"), [(RL, [1]), (Proto, [1]), (Plain, None)])
def test_alibi_explainers(kind, wanted):
    explainer = kind()
    assert one(explainer)["l1"] == 8
    assert explainer.asked == [wanted]
    row = one(kind(success=False))
    assert (row["success"], row["status"]) == (False, "not found")


def test_masked_answers_are_none():
    def masked(x):
        return {"X": np.ma.masked_all((1, *x.shape))}

    assert one(masked)["status"] == "not found"


def test_tscf_eval_methods_get_features_first():
    class Method:
        def explain(self, x, y_pred=None, *, class_of_interest=None):
            assert x.shape == (3, 6)
            assert class_of_interest == 1
            return lifted(x.T).T, 1, {"notes": True}

    assert one(Method())["l1"] == 8


class Interpreted:
    """What TSInterpret's methods have in common; each spells the rest of its question in its own way."""

    def __init__(self, mode):
        self.mode, self.asked = mode, []

    def answer(self, x, *rest):
        self.asked.append(rest)
        assert x.shape == ((1, 6, 3) if self.mode == "time" else (1, 3, 6))
        changed = lifted(x[0] if self.mode == "time" else x[0].T)
        return (changed if self.mode == "time" else changed.T)[None], 1


class InterpretedCoMTE(Interpreted):
    def explain(self, x, orig_class=None, target=None):
        return self.answer(x, orig_class, target)


class InterpretedTSEvo(Interpreted):
    def explain(self, original_x, original_y, target_y=None):
        return self.answer(original_x, original_y.shape, type(target_y))


class InterpretedGuide(Interpreted):
    def explain(self, x, y):
        return self.answer(x, y)


@pytest.mark.parametrize("mode", ["feat", "time"])
@pytest.mark.parametrize(
    ("kind", "asked"), [(InterpretedCoMTE, (0, 1)), (InterpretedTSEvo, ((1, 2), int)), (InterpretedGuide, (0,))]
)
def test_tsinterpret_methods(kind, asked, mode):
    explainer = kind(mode)
    assert one(explainer)["l1"] == 8
    assert explainer.asked == [asked]


def test_tsinterpret_that_finds_nothing_has_not_failed():
    class Nothing(Interpreted):
        def explain(self, x, y):
            return None, None

    assert one(Nothing("feat"))["status"] == "not found"


def test_dice_explainers():
    pd = pytest.importorskip("pandas")
    asked = []

    class Dice:
        data_interface = SimpleNamespace(feature_names=[f"c{i}" for i in range(18)], categorical_feature_names=["c17"])

        def generate_counterfactuals(self, query_instances, total_CFs, desired_class, verbose):
            asked.append((query_instances["c17"].iloc[0], total_CFs, desired_class))
            flat = [lifted(X[0]).ravel(), (X[0] + 5).ravel()]
            frame = pd.DataFrame(flat, columns=self.data_interface.feature_names).assign(outcome=1)
            return SimpleNamespace(cf_examples_list=[SimpleNamespace(final_cfs_df=frame)])

    row = one(Dice(), n_counterfactuals=2)
    assert asked == [("-0.5", 2, 1)]
    assert (row["l1"], row["validity"]) == (8, 1)
    assert row["diversity"] > 0


def test_dice_that_finds_nothing_has_not_failed():
    pytest.importorskip("pandas")

    class UserConfigValidationException(Exception):
        pass

    class Dice:
        data_interface = SimpleNamespace(feature_names=list(map(str, range(18))))

        def generate_counterfactuals(self, *_, **__):
            raise UserConfigValidationException("No counterfactuals found for any of the query points!")

    assert one(Dice())["status"] == "not found"


def test_flat_explainers_get_flat_rows():
    def flat(x):
        assert x.shape == (18,)
        return lifted(x.reshape(6, 3)).ravel()

    assert one(Flat(flat))["l1"] == 8
    assert one(lambda predict: Flat(flat))["l1"] == 8


def test_real_dice_and_alibi_explainers():
    pytest.importorskip("alibi")
    dice_ml = pytest.importorskip("dice_ml")
    import pandas as pd
    import torch
    from alibi.explainers import CounterfactualRL

    rng = np.random.default_rng(0)
    train = rng.normal(size=(200, 4))

    def model(rows):
        p = 1 / (1 + np.exp(-3 * (rows[:, 0] + rows[:, 1])))
        return np.column_stack([1 - p, p])

    def dice(predict):
        frame = pd.DataFrame(train, columns=list("abcd")).assign(y=model(train).argmax(1))
        data = dice_ml.Data(dataframe=frame, continuous_features=list("abcd"), outcome_name="y")
        return dice_ml.Dice(data, dice_ml.Model(model=predict, backend="sklearn"), method="random")

    def cfrl(predict):
        torch.manual_seed(0)
        encoder = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
        decoder = torch.nn.Linear(4, 4)
        explainer = CounterfactualRL(
            predict, encoder, decoder, latent_dim=4, coeff_sparsity=0.5, coeff_consistency=0.0, backend="pytorch",
            num_workers=0, batch_size=64, train_steps=20,
        )  # fmt: skip
        return explainer.fit(train.astype(np.float32))

    comparison = compare({"DiCE": dice, "CFRL": cfrl}, np.full((2, 4), -0.7), model, 1, progress=False)
    by = {row["method"]: row for row in comparison.table}
    assert by["DiCE"]["success"] is True
    assert by["DiCE"]["rows"] > 0
    assert by["CFRL"]["status"] in ("found", "not found")  # hardly trained: it may miss
    assert by["CFRL"]["validity"] >= 0
    assert comparison.fits["CFRL"].rows > 20


def test_our_alibi_adapter():
    pytest.importorskip("alibi")
    adapter = pytest.importorskip("ntdcfe_plugins.alibi")
    row = one(lambda predict: adapter.NTDCFE(predict, settings=QUICK))
    assert row["success"] is True
    assert 0 < row["rows"] <= QUICK.max_rows
    several = one(lambda predict: adapter.NTDCFE(predict, settings=QUICK), n_counterfactuals=2)
    assert several["diversity"] > 0


def test_our_dice_adapter():
    dice_ml = pytest.importorskip("dice_ml")
    adapter = pytest.importorskip("ntdcfe_plugins.dice")

    def ours(predict):
        columns = {f"c{i}": [-5.0, 5.0] for i in range(18)}
        precision = {name: ["float", 3] for name in columns}
        data = dice_ml.Data(features=columns, outcome_name="y", type_and_precision=precision)
        return adapter.NTDCFE(data, dice_ml.Model(model=predict, backend="sklearn"))

    row = one(ours)
    assert row["success"] is True
    assert row["rows"] > 0


# -- targets -------------------------------------------------------------------------------


def three(rows):
    """Probabilities of 3 classes: those of a middling, a likely and an unlikely one."""
    p = predict(rows)
    return np.column_stack([0.6 * p[:, 0], 0.4 * p[:, 0], p[:, 1]])


@pytest.mark.parametrize(("target", "wanted"), [(2, [2]), ("other", [1]), ([0, 2], None), ([2, 1], [1])])
def test_who_takes_one_class_gets_the_likeliest_that_counts(target, wanted):
    explainer = RL()
    one(explainer, predict=three, target=target)
    assert explainer.asked == ([] if wanted is None else [wanted])  # [0, 2] is reached already


def test_instances_that_are_there_already_are_not_asked():
    row = run({"it": lambda x: pytest.fail("asked")}, X=-X).table[0]
    assert (row["status"], row["success"]) == ("already target", True)


def test_labels_in_words_and_regression():
    words = run({"ours": lambda predict: NTDCFE(predict, settings=QUICK), "it": lifted}, target="yes",
                predict=lambda r: np.where(predict(r)[:, 1] > 0.5, "yes", "no"))  # fmt: skip
    assert [row["success"] for row in words.table] == [True] * 4
    values = run({"ours": lambda predict: NTDCFE(predict, settings=QUICK), "rl": RL()}, target=Target.interval(1, 9),
                 predict=lambda r: r[:, -1, 0])  # fmt: skip
    assert [row["success"] for row in values.table[:2]] == [True, True]
    assert "takes a class as its target" in values.table[2]["note"]


# -- failures ------------------------------------------------------------------------------


def test_a_failing_explainer_is_a_row_that_says_so():
    def broken(x):
        raise RuntimeError("no <luck>\ntoday")

    def unbuildable(predict):
        raise OSError("no data")

    comparison = run({"broken": broken, "unbuildable": unbuildable, "odd": lambda x: "what", "fine": lifted})
    by = {row["method"]: row for row in comparison.table}
    assert (by["broken"]["status"], by["broken"]["note"]) == ("failed", "RuntimeError: no <luck> today")
    assert "could not be built: OSError: no data" in by["unbuildable"]["note"]
    assert by["odd"]["status"] == "failed"
    assert by["fine"]["success"] is True
    assert "no explainer" not in str(comparison)


def test_something_invalid_is_no_success():
    row = one(lambda x: x + 0.1)
    assert (row["success"], row["validity"], row["status"]) == (False, 0.0, "not found")
    assert np.isnan(row["l1"])
    assert one(lambda x: np.full_like(x, np.nan))["status"] == "not found"


def test_a_slow_explainer_is_stopped_even_if_it_catches_everything():
    def slow(predict):
        def explain(x):
            while True:
                with contextlib.suppress(Exception):
                    predict(x[None])

        return explain

    row = one(slow, max_seconds=0.2)
    assert (row["status"], row["success"]) == ("time limit", False)
    assert row["rows"] > 0


def test_ours_keeps_what_it_has_at_the_limit():
    endless = SearchSettings(max_rows=None)
    row = one(lambda predict: NTDCFE(predict, settings=endless), max_seconds=1.5)
    assert row["status"] == "found"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"explainers": {}}, "at least one explainer"),
        ({"X": np.zeros(3)}, "X must be numbers"),
        ({"features": Features.continuous(2)}, "describe 2 columns, X has 3"),
        ({"n_counterfactuals": 0}, "n_counterfactuals must be at least 1"),
        ({"constraints": ["a <= b"]}, "Causal, AtMost or another Constraint"),
        ({"constraints": [AtMost(0, "z")]}, "no feature 'z'"),
        ({"predict": CountedModel(predict, (5, 3))}, "is counted for shape"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        run(**{"explainers": {"it": lifted}, **arguments})


def test_what_is_no_explainer_is_told():
    assert "must be an NTDCFE" in one(42)["note"]


# -- reports -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison():
    features = Features.continuous(3, names=["<b>a</b>", "b & c", "d"])
    explainers = {
        "ours": lambda predict: NTDCFE(predict, features, settings=QUICK),
        "lift | it": lifted,
        "<i>none</i>": lambda x: None,
    }
    return run(explainers, features=features)


def test_the_summary_has_means_over_successes(comparison):
    by = {row["method"]: row for row in comparison.summary()}
    assert by["ours"]["success %"] == 100
    assert by["lift | it"]["l1"] == 8
    assert by["<i>none</i>"]["success %"] == 0
    assert np.isnan(by["<i>none</i>"]["l1"])
    assert by["ours"]["l1"] < 8


def test_csv_frame_and_markdown(comparison, tmp_path):
    comparison.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 6
    assert float(rows[2]["l1"]) == 8
    text = comparison.to_markdown(tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text() == text
    lines = text.splitlines()
    assert len(lines) == 2 + 3
    assert r"lift \| it" in lines[3]
    assert "plausible" not in lines[0]  # nothing to say without reference data
    pytest.importorskip("pandas")
    assert comparison.to_frame().shape == (6, len(COLUMNS))


def test_the_page_stands_alone_and_escapes(comparison, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    comparison.to_html(tmp_path / "page.html", title="A <title>")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<img ") == page.count("<picture>") == 3  # trade-off and two instances
    assert page.count("data:image/png;base64,") == 2 * 3  # each for a wide screen and for a phone
    for outside in ("http:", "https:", "<script", "<link", "@import", "url("):
        assert outside not in page
    assert "<i>none</i>" not in page
    assert "&lt;i&gt;none&lt;/i&gt;" in page
    assert "<title>A &lt;title&gt;</title>" in page
    assert "Where there was none" in page
    assert GLOSSARY["contiguity"] in page
    assert GLOSSARY["plausible"] not in page  # no such column without reference data
    assert "<dt>seconds to fit (less is better)</dt><dd>time to build and fit" in page  # a column of the summary only
    assert "within 2% of it (0.1 s for times)" in page
    assert "ours" in comparison._repr_html_()


def test_the_page_fits_a_phone(comparison, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    comparison.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<meta name='viewport' content='width=device-width, initial-scale=1'>" in page
    cards = page[page.index("<div class='wide cards'>") :]
    assert cards.index("data-label='success, %'") < cards.index("</table>")  # a card names its figures by itself
    assert "overflow-x: auto" in page


def test_the_page_names_classes_versions_notes_and_reasons(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    methods = {"ours": lambda predict: NTDCFE(predict, settings=QUICK), "stays": lambda x: x, "none": lambda x: None}
    comparison = run(methods, target="up & away", classes=["<down>", "up & away"])
    assert comparison.labels == ["<down>", "<down>"]
    assert list(comparison.versions) == ["ours"]  # the others are no package's
    assert "ntdcfe" in comparison.versions["ours"]
    replace(comparison, notes=["Made up <for tests>."]).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for told in (
        "wanted is: up &amp; away", "The model says of them: &lt;down&gt; (2)", "Made up &lt;for tests&gt;.",
        "instance 1 (&lt;down&gt;)", "the model says &lt;down&gt; of what it returned", "returned nothing",
        comparison.versions["ours"], "All explanations together took",
    ):  # fmt: skip
        assert told in page


def test_the_best_and_the_worst_are_marked_among_equals(comparison):
    marks = marks_of(comparison.summary())
    assert [marks.of(name, "success %") for name in comparison.methods] == ["best", "best", "worst"]
    assert [marks.of(name, "l1") for name in comparison.methods] == ["best", "worst", ""]
    fewer = [
        {"method": "a", "success %": 100.0, "l1": 8.0, "rows": 10.0},
        {"method": "b", "success %": 50.0, "l1": 1.0, "rows": 5.0},
        {"method": "c", "success %": 100.0, "l1": 8.1, "rows": 20.0},
        {"method": "d", "success %": 0.0, "l1": np.nan, "rows": 1.0},
    ]
    marks = marks_of([dict.fromkeys(BETTER, np.nan) | row for row in fewer])
    assert [marks.of(name, "l1") for name in "abcd"] == ["", "apart", "", ""]  # 8 and 8.1 are level
    assert [marks.of(name, "rows") for name in "abcd"] == ["", "best", "worst", "apart"]


def test_every_measure_of_the_summary_says_what_is_better(comparison):
    assert set(comparison.summary()[0]) - set(BETTER) == {"method", "n"}


def test_pictures_of_an_instance(comparison):
    pytest.importorskip("matplotlib").use("Agg")
    titles = [axis.get_title() for axis in comparison.plot_instance(0).axes]
    assert titles[2] == "<i>none</i>\nnone found"
    assert "L1 8, 4 cells" in titles[1]


@pytest.mark.slow
def test_comparing_imports_no_ecosystem():
    code = (
        "import sys, numpy as np\n"
        "from ntdcfe import NTDCFE\n"
        "from ntdcfe_plugins.compare import compare\n"
        "compare({'a': NTDCFE, 'b': lambda x: x}, np.full((1, 2), -1.0), lambda X: X[:, 0] > 0, True, progress=False)\n"
        "heavy = {'pandas', 'sklearn', 'alibi', 'dice_ml', 'sktime', 'matplotlib', 'tscf_eval'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_docstring_example():
    import doctest

    from ntdcfe_plugins.compare import side_by_side

    results = doctest.testmod(side_by_side)
    assert results.attempted > 0
    assert results.failed == 0


def test_a_report_where_nothing_succeeded_says_so(tmp_path):
    methods = {"none": lambda x: None, "same": lambda x: x}
    comparison = compare(methods, np.zeros((2, 6, 2)), lambda X: np.zeros(len(X), int), 1, progress=False)
    comparison.to_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Where there was none" in page
    assert not any(row["success"] for row in comparison.table)
    comparison.to_markdown(tmp_path / "summary.md")


def test_names_with_dollars_are_no_formulas(tmp_path):
    features = Features.continuous(2, ["cost $", "rate $x^{$"])
    methods = {"some $x^{$": lambda x: x + 1, "none $": lambda x: None}
    model = lambda X: (X[:, -1, 0] > 0.5).astype(int)  # noqa: E731
    comparison = compare(methods, np.zeros((2, 6, 2)), model, 1, features=features, progress=False)
    comparison.to_html(tmp_path / "report.html")
    assert "some $x^{$" in (tmp_path / "report.html").read_text()


def test_a_row_that_the_model_cannot_score_is_no_success():
    def holed(X):
        p = np.where(X[:, 0] > 2, np.nan, X[:, 0] > 0)
        return np.column_stack([1 - p, p])

    explainers = {"into the hole": lambda x: [x + 5, x + 4], "good": lambda x: [x + 1.5, x + 5]}
    table = compare(explainers, np.full((1, 2), -1.0), holed, 1, progress=False, draws=0).table
    assert [row["success"] for row in table] == [False, True]
    assert [row["validity"] for row in table] == [0, 0.5]
    assert "the model fails on what was returned" in table[0]["note"]
