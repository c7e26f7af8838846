"""NTD-CFE in DiCE: what its users rely on, on private data first."""

import copy
import doctest
import json
import pickle
import sys
import types
import warnings
from dataclasses import replace

import numpy as np
import pytest

dice_ml = pytest.importorskip("dice_ml")
import pandas as pd  # noqa: E402
import torch  # noqa: E402
from dice_ml.counterfactual_explanations import CounterfactualExplanations  # noqa: E402
from dice_ml.diverse_counterfactuals import CounterfactualExamples  # noqa: E402
from dice_ml.explainer_interfaces.dice_random import DiceRandom  # noqa: E402
from dice_ml.explainer_interfaces.explainer_base import ExplainerBase  # noqa: E402
from moves import forbidden, random_feature  # noqa: E402
from raiutils.exceptions import UserConfigValidationException  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.datasets import load_wine  # noqa: E402
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402
from tabular import CASES, Case, changed, needless, refused, sets_there_are  # noqa: E402

from ntdcfe import (  # noqa: E402
    AtMost,
    Causal,
    Continuous,
    Counterfactual,
    Features,
    InvalidInputError,
    OneHot,
    Ordered,
    PredictorError,
    SearchSettings,
    Target,
    Term,
)
from ntdcfe_plugins.dice import NTDCFE, Dice, NoCounterfactualsFound, SeriesColumns, register  # noqa: E402

FAST = SearchSettings(max_rows=300, batch_rows=25, options=["nearest"])
RANGES = {"age": [18, 80], "income": [0.0, 150.0], "job": ["clerk", "nurse", "pilot"], "own": ["yes", "no"]}
PRECISION = {"income": ["float", 1]}


class Scored:
    """A model that thinks in columns: fast, and with labels of any kind."""

    def __init__(self, score, classes=("bad", "good")):
        self.score, self.classes_ = score, np.array(classes)

    def predict_proba(self, X):
        score = np.asarray(self.score(X), dtype=float)
        if score.ndim == 1:
            score = np.column_stack([-score, score])
        powers = np.exp(score - score.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    def predict(self, X):
        return np.asarray(self.score(X), dtype=float)


def worth(X):
    return X["age"] / 20 + X["income"] / 10 + 2.0 * (X["job"] == "nurse") + (X["own"] == "yes") - 8


def three_classes(X):
    return np.column_stack([-worth(X), np.full(len(X), 0.3), worth(X) - 2])


def private(**params):
    return dice_ml.Data(
        features=copy.deepcopy(RANGES), outcome_name="ok", type_and_precision=copy.deepcopy(PRECISION), **params
    )


def public(n=300):
    frame = applicants(n)
    frame["ok"] = (worth(frame) > 0).astype(int)
    return dice_ml.Data(dataframe=frame, continuous_features=["age", "income"], outcome_name="ok")


def applicants(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 60, n),
            "income": rng.normal(30, 10, n).clip(0).round(1),
            "job": rng.choice(RANGES["job"], n),
            "own": rng.choice(RANGES["own"], n),
        }
    )


def poor(n):
    frame = applicants(200)
    return frame[worth(frame) < -1].head(n).reset_index(drop=True)


def model(score=worth, classes=("bad", "good"), model_type="classifier"):
    return dice_ml.Model(model=Scored(score, classes), backend="sklearn", model_type=model_type)


def explainer(data=None, m=None, **options):
    return NTDCFE(data or private(), m or model(), **{"settings": FAST, **options})


def rows_of(explanations):
    return [example.final_cfs_df for example in explanations.cf_examples_list]


@pytest.mark.parametrize("data", [private, public])
def test_binary_with_text_labels(data):
    queries = poor(3)
    before = queries.copy()
    explanations = explainer(data()).generate_counterfactuals(queries, 4)
    pd.testing.assert_frame_equal(queries, before)
    for i, example in enumerate(explanations.cf_examples_list):
        rows = example.final_cfs_df
        assert len(rows) == 4
        assert not rows.duplicated().any()
        assert (rows["ok"] == "good").all()
        assert (worth(rows) > 0).all()
        assert example.new_outcome == "good"
        assert (rows.dtypes[queries.columns] == queries.dtypes).all()
        pd.testing.assert_frame_equal(
            example.test_instance_df.drop(columns="ok"), queries.iloc[[i]].reset_index(drop=True)
        )
        assert example.test_instance_df["ok"].tolist() == ["bad"]
        pd.testing.assert_frame_equal(rows, example.final_cfs_df_sparse)
        told = example.counterfactual
        assert told.prediction == "good"
        assert told.sparsity == len(told.changes) == (rows[queries.columns].iloc[0] != queries.iloc[i]).sum()
        assert "For good instead" in str(told)


@pytest.mark.parametrize(
    ("desired", "allowed"), [(2, {"top"}), ("top", {"top"}), (np.int64(1), {"fair"}), ("opposite", {"fair", "top"})]
)
def test_multiclass(desired, allowed):
    m = model(three_classes, ("low", "fair", "top"))
    explanations = explainer(m=m).generate_counterfactuals(poor(2), 3, desired_class=desired)
    for example in explanations.cf_examples_list:
        assert set(example.final_cfs_df["ok"]) <= allowed
        assert example.new_outcome == ("not low" if desired == "opposite" else next(iter(allowed)))
    assert CounterfactualExplanations.from_json(explanations.to_json()) == explanations


def test_a_class_is_an_index_before_it_is_a_label():
    m = model(three_classes, (1, 2, 3))
    with pytest.warns(UserWarning, match="taken as an index, as in DiCE: class 2"):
        rows = rows_of(explainer(m=m).generate_counterfactuals(poor(1), 2, desired_class=1))[0]
    assert set(rows["ok"]) == {2}
    assert set(rows_of(explainer(m=m).generate_counterfactuals(poor(1), 2, desired_class=3))[0]["ok"]) == {3}
    with pytest.raises(UserConfigValidationException, match="not present in training data"):
        explainer(m=m).generate_counterfactuals(poor(1), 2, desired_class=7)


@pytest.mark.parametrize(("m", "wanted"), [(model(), "good"), (model(three_classes, ("l", "m", "h")), "h")])
def test_stopping_threshold_is_the_least_probability(m, wanted):
    e = explainer(m=m)
    rows = rows_of(e.generate_counterfactuals(poor(2), 3, desired_class=wanted, stopping_threshold=0.9))
    for frame in rows:
        assert (m.model.predict_proba(frame)[:, -1] >= 0.9).all()
    lax = rows_of(e.generate_counterfactuals(poor(2), 3, desired_class=wanted, stopping_threshold=0.2))
    assert min(m.model.predict_proba(frame)[:, -1].min() for frame in lax) < 0.9


def test_regression_by_range_is_not_rounded():
    m = model(lambda X: worth(X) / 3, model_type="regressor")
    explanations = explainer(m=m).generate_counterfactuals(poor(2), 3, desired_range=[0.5, 0.75])
    for example in explanations.cf_examples_list:
        outcome = example.final_cfs_df["ok"]
        np.testing.assert_array_equal(outcome, worth(example.final_cfs_df) / 3)
        assert outcome.between(0.5, 0.75).all()
        np.testing.assert_array_equal(example.test_instance_df["ok"], worth(example.test_instance_df) / 3)
    with pytest.raises(UserConfigValidationException, match="desired_range"):
        explainer(m=m).generate_counterfactuals(poor(1), 3)
    for desired in ((0.5, 0.75), np.array([0.5, 0.75])):
        explanations = explainer(m=m).generate_counterfactuals(poor(1), 1, desired_range=desired)
        assert CounterfactualExplanations.from_json(explanations.to_json()) == explanations


def test_sklearn_pipelines():
    frame = applicants(300)
    encode = make_column_transformer((OneHotEncoder(), ["job", "own"]), remainder="passthrough")
    y = np.where(worth(frame) > -2, "good", "bad")
    forest = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(frame, y)
    queries = frame[forest.predict(frame) == "bad"].head(2)
    m = dice_ml.Model(model=forest, backend="sklearn")
    for rows in rows_of(explainer(m=m).generate_counterfactuals(queries, 2)):
        assert set(forest.predict(rows[frame.columns])) == {"good"}
    trees = make_pipeline(encode, RandomForestRegressor(10, random_state=0)).fit(frame, worth(frame))
    m = dice_ml.Model(model=trees, backend="sklearn", model_type="regressor")
    for rows in rows_of(explainer(m=m).generate_counterfactuals(queries, 2, desired_range=[0, 9])):
        np.testing.assert_array_equal(trees.predict(rows[frame.columns]), rows["ok"])


class Net(torch.nn.Module):
    def __init__(self, n_outputs, last):
        super().__init__()
        self.n_outputs, self.last = n_outputs, last

    def forward(self, x):
        score = 4 * (x[:, :2].sum(1, keepdim=True) - 1)  # age and income, scaled to 0 to 1
        score = score if self.n_outputs == 1 else torch.cat([-score, torch.zeros_like(score), score], 1)
        return self.last(score)


@pytest.mark.parametrize("data", [private, public])
@pytest.mark.parametrize(
    ("net", "desired"),
    [
        (Net(1, torch.sigmoid), "opposite"),
        (Net(3, lambda score: score.softmax(1)), 2),
        (Net(3, lambda logits: logits), 2),
    ],
)
def test_pytorch_classifiers_with_dices_transformer(data, net, desired):
    d = data()
    m = dice_ml.Model(model=net, backend="PYT", func="ohe-min-max")
    query = poor(1).assign(age=18, income=5.0)
    (rows,) = rows_of(explainer(d, m).generate_counterfactuals(query, 3, desired_class=desired))
    score = net(torch.tensor(d.get_ohe_min_max_normalized_data(rows[list(RANGES)]).to_numpy(float)))
    says = score[:, 0] > 0.5 if net.n_outputs == 1 else score.argmax(1) == 2
    assert says.all()
    assert set(rows["ok"]) == {1 if net.n_outputs == 1 else 2}


def test_pytorch_regression():
    m = dice_ml.Model(model=Net(1, lambda s: s), backend="PYT", func="ohe-min-max", model_type="regressor")
    (rows,) = rows_of(explainer(m=m).generate_counterfactuals(poor(1), 3, desired_range=[0.5, 1.0]))
    assert rows["ok"].between(0.5, 1.0).all()


def test_a_network_without_its_sigmoid_is_told_to_have_one():
    m = dice_ml.Model(model=Net(1, lambda logit: logit), backend="PYT", func="ohe-min-max")
    with pytest.raises(PredictorError, match="append a sigmoid"):
        explainer(m=m).generate_counterfactuals(poor(1), 1)


@pytest.mark.parametrize("form", ["frame", "dict", "dicts", "list", "lists", "frames", "other order"])
def test_every_form_of_query(form):
    frame = poor(1)
    row = frame.iloc[0].to_dict()
    queries = {
        "frame": frame,
        "dict": row,
        "dicts": [row, row],
        "list": list(row.values()),
        "lists": [list(row.values())] * 2,
        "frames": [frame, frame],
        "other order": frame[list(row)[::-1]],
    }[form]
    explanations = explainer().generate_counterfactuals(queries, 2)
    assert len(explanations.cf_examples_list) == (2 if form in ("dicts", "lists", "frames") else 1)
    for rows in rows_of(explanations):
        assert len(rows) == 2
        assert (worth(rows) > 0).all()
    recovered = CounterfactualExplanations.from_json(explanations.to_json()).cf_examples_list[0]
    assert recovered.final_cfs_df.to_dict() == explanations.cf_examples_list[0].final_cfs_df.to_dict()
    assert recovered.test_instance_df["income"].tolist() == frame["income"].tolist()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (poor(1).assign(ok="good"), "present in query instance"),
        (poor(1).assign(hat=1), "not present in training data"),
        (poor(1).drop(columns="job"), r"lacks features \['job'\]"),
        (poor(0), "at least one row"),
        ([], "at least one row"),
        (poor(1).assign(job="king"), "has a value outside the dataset: 'king'"),
    ],
)
def test_queries_that_do_not_fit(query, message):
    with pytest.raises(ValueError, match=message):
        explainer().generate_counterfactuals(query, 1)
    with pytest.raises(UserConfigValidationException, match="missing values"):
        explainer().generate_counterfactuals(poor(1).assign(income=np.nan), 1)


def test_precision_is_the_querys_where_private_data_was_not_told():
    ranges = {"a": [0, 10], "b": [0, 10], "c": [0.0, 10.0]}
    data = dice_ml.Data(features=ranges, outcome_name="y")  # DiCE takes all of them for whole numbers
    m = model(lambda X: X["a"] + X["b"] + X["c"] - 20, (0, 1))
    e = explainer(data, m)
    (rows,) = rows_of(e.generate_counterfactuals({"a": 1, "b": 1.5, "c": 2.0}, 3))
    assert rows["a"].dtype.kind == "i"
    assert (rows[["b", "c"]] % 1 != 0).to_numpy().any()
    assert rows["c"].max() > 2


def test_numbers_that_dice_misreads():
    features = {"code": [1, 2, 3], "size": [np.int64(0), np.int64(9)], "flag": [True, False]}
    data = dice_ml.Data(features=features, outcome_name="y")
    m = model(lambda X: 2.0 * (X["code"] == 3) + X["size"] / 9 + X["flag"] - 1.9, (0, 1))
    query = pd.DataFrame({"code": [1], "size": [4], "flag": [False]})
    (rows,) = rows_of(explainer(data, m).generate_counterfactuals(query, 5))
    assert set(rows["code"]) <= {1, 2, 3}
    assert rows["size"].between(0, 9).all()
    assert (rows.dtypes[query.columns] == query.dtypes).all()


@pytest.mark.parametrize("dtype", ["int64", "category", "object", "int-category"])
def test_integer_coded_categories_of_public_data(dtype):
    frame = pd.DataFrame({"code": [0, 1, 2] * 10, "size": np.arange(30), "y": [0, 1] * 15})
    data = dice_ml.Data(dataframe=frame, continuous_features=["size"], outcome_name="y")
    m = model(lambda X: 2.0 * (X["code"].astype(int) == 2) - 1, (0, 1))
    code = pd.Series(["0"] if dtype in ("category", "object") else [0])
    query = pd.DataFrame({"code": code.astype({"int-category": "category"}.get(dtype, dtype)), "size": [3]})
    (rows,) = rows_of(explainer(data, m).generate_counterfactuals(query, 1))
    assert rows["code"].astype(int).tolist() == [2]
    if dtype in ("int64", "object"):
        assert rows["code"].dtype == query["code"].dtype


@pytest.mark.parametrize("dtype", ["int8", "Int8", "category"])
def test_small_integers_do_not_wrap_around(dtype):
    data = dice_ml.Data(features={"age": [18, 300], "size": [0, 9]}, outcome_name="y")
    m = model(lambda X: np.where(X["age"].astype(int) < 0, 5.0, X["age"].astype(float) - 100), (0, 1))
    age = pd.Series([30], dtype="int8").astype(dtype)
    (rows,) = rows_of(explainer(data, m).generate_counterfactuals(pd.DataFrame({"age": age, "size": [3]}), 3))
    assert rows["age"].astype(int).between(101, 127).all()
    with pytest.raises(ValueError, match=r"age is int8 .* nothing of the range \[200.0, 250.0\]"):
        explainer(data, m).generate_counterfactuals(
            pd.DataFrame({"age": np.int8([30]), "size": [3]}), 1, permitted_range={"age": [200, 250]}
        )


def test_codes_may_be_permitted_as_they_were_declared_or_as_the_query_has_them():
    data = dice_ml.Data(features={"code": [3, 17, 19], "size": [0, 9]}, outcome_name="y")
    m = model(lambda X: 2.0 * (X["code"] != 3) - 1, (0, 1))
    query = pd.DataFrame({"code": [3.0], "size": [4]})
    for permitted in ([3, 17], [3.0, 17.0], [3, 17, 17.0]):
        e = explainer(data, m)
        (rows,) = rows_of(e.generate_counterfactuals(query, 1, permitted_range={"code": permitted}))
        assert rows["code"].tolist() == [17.0]


def test_a_whole_value_does_not_make_a_feature_whole_that_is_declared_otherwise():
    data = dice_ml.Data(features={"rate": [0.0, 1.0]}, outcome_name="y", type_and_precision={"rate": ["float", 2]})
    m = model(lambda X: 0.2 - np.abs(X["rate"] - 0.5), (0, 1))
    for query in ({"rate": 0}, [[0]], [{"rate": 0}]):
        (rows,) = rows_of(explainer(data, m).generate_counterfactuals(query, 2))
        assert rows["rate"].between(0.3, 0.7).all()


def test_a_feature_of_floats_that_is_whole():
    data = dice_ml.Data(features={"age": [18.0, 80.0]}, outcome_name="y", type_and_precision={"age": "int"})
    e = explainer(data, model(lambda X: X["age"] - 40.5, (0, 1)), features={"age": {"precision": 0}})
    (rows,) = rows_of(e.generate_counterfactuals({"age": 30.0}, 2))
    assert (rows["age"] % 1 == 0).all()


def test_a_query_outside_its_range():
    query = poor(1).assign(age=15)
    e = explainer(features={"income": {"weight": 0.01}})
    (rows,) = rows_of(e.generate_counterfactuals(query, 1))
    assert rows["age"].tolist() == [15]  # the data's own range: left alone
    (rows,) = rows_of(e.generate_counterfactuals(query, 1, permitted_range={"age": [30, 40], "job": ["pilot"]}))
    assert rows["age"].between(30, 40).all()  # asked for: held
    assert set(rows["job"]) == {"pilot"}
    with pytest.raises(ValueError, match="age is outside the permitted range and isn't allowed to vary"):
        e.generate_counterfactuals(query, 1, permitted_range={"age": [30, 40]}, features_to_vary=["income"])


@pytest.mark.parametrize("income", [45.0, 46.0])
def test_a_query_moved_into_a_range_is_told_of_from_where_it_was(income):
    query = pd.DataFrame([{"age": 30, "income": income, "job": "clerk", "own": "no"}])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="queries .* already are")  # it was not: moving did it, or nearly
        explanations = explainer().generate_counterfactuals(query, 1, permitted_range={"age": [72, 80]})
    (example,) = explanations.cf_examples_list
    told, row = example.counterfactual, example.final_cfs_df.iloc[0]
    assert (told.status, told.present, told.prediction) == ("found", "bad", "good")
    assert "raise 'age' from 30 to" in str(told)
    assert {change.feature for change in told.changes} == {name for name in RANGES if row[name] != query[name][0]}
    np.testing.assert_array_equal(told.original[:2], [30, income])


def test_a_query_moved_to_where_it_is_as_desired_must_be_plausible_there():
    query = pd.DataFrame([{"age": 30, "income": 46.0, "job": "clerk", "own": "no"}])
    e = explainer(plausible=lambda rows: rows["age"] > 76)
    (rows,) = rows_of(e.generate_counterfactuals(query, 2, permitted_range={"age": [75, 80]}))
    assert (rows["age"] > 76).all()
    with pytest.raises(NoCounterfactualsFound) as raised:
        explainer(plausible=lambda rows: rows["age"] > 99).generate_counterfactuals(
            query, 2, permitted_range={"age": [75, 80]}
        )
    assert raised.value.explanations.cf_examples_list[0].counterfactual.status == "not_found"


def test_moving_a_query_into_a_range_takes_its_effects_along():
    rule = Causal("income", "age", lambda age: age / 2)
    (rows,) = rows_of(
        explainer(constraints=[rule]).generate_counterfactuals(
            poor(1).assign(age=20), 2, permitted_range={"age": [40, 80]}, features_to_vary=["age", "job"]
        )
    )
    np.testing.assert_array_equal(rows["income"], (rows["age"] / 2).round(1))


def test_beyond_dice():
    rules = [AtMost("income", "age"), Causal("income", "age", lambda age: age * 0.75)]
    e = explainer(constraints=rules[:1], features={"age": {"direction": "rise"}, "job": {"role": "immutable"}})
    for i, rows in enumerate(rows_of(e.generate_counterfactuals(poor(3), 3))):
        assert (rows["income"] <= rows["age"]).all()
        assert (rows["age"] >= poor(3)["age"][i]).all()
        assert set(rows["job"]) == {poor(3)["job"][i]}
    (rows,) = rows_of(explainer(constraints=rules[1:]).generate_counterfactuals(poor(1), 3, features_to_vary=["age"]))
    np.testing.assert_array_equal(rows["income"], (rows["age"] * 0.75).round(1))
    with pytest.raises(UserConfigValidationException, match="hat"):
        explainer(features={"hat": {"role": "immutable"}})
    with pytest.raises(UserConfigValidationException, match=r"job.*scale"):
        explainer(features={"job": {"scale": 2}}).generate_counterfactuals(poor(1), 1)


def test_plausible_rows_only():
    e = explainer(plausible=lambda rows: rows["income"] < 60)
    for rows in rows_of(e.generate_counterfactuals(poor(2), 3)):
        assert (rows["income"] < 60).all()


def test_nothing_found_says_how_near_it_came():
    with pytest.raises(NoCounterfactualsFound, match=r"No counterfactuals found for any.*Reason: ") as raised:
        explainer().generate_counterfactuals(poor(2), 2, permitted_range={"age": [18, 60]}, features_to_vary=["age"])
    for i, example in enumerate(raised.value.explanations.cf_examples_list):
        assert example.final_cfs_df is None
        assert example.reason
        assert worth(example.near_miss_df)[0] > worth(poor(2))[i]
        assert example.near_miss_df["ok"].tolist() == ["bad"]
    mixed = pd.concat([poor(1), poor(1).assign(age=50, income=40.0)], ignore_index=True)
    with pytest.warns(UserWarning, match=r"fewer than 2 counterfactuals were found for queries \[0\]"):
        explanations = explainer().generate_counterfactuals(mixed, 2, features_to_vary=["age"])
    first, second = explanations.cf_examples_list
    assert first.final_cfs_df is None
    assert len(second.final_cfs_df) == 2
    assert second.reason == ""
    assert CounterfactualExplanations.from_json(explanations.to_json()) == explanations


def test_queries_that_are_as_desired_get_others_that_are():
    rich = poor(1).assign(income=120.0)
    with pytest.warns(UserWarning, match=r"queries \[0\] already are as desired"):
        (rows,) = rows_of(explainer().generate_counterfactuals(rich, 5, desired_class=1))
    assert len(rows) == 5
    assert (worth(rows) > 0).all()
    assert not rows.duplicated().any()
    assert (rows[list(RANGES)] != rich.iloc[0]).any(axis=1).all()


def test_zero_counterfactuals():
    example = explainer()._generate_counterfactuals(poor(1), 0)
    assert example.final_cfs_df is None
    with pytest.raises(UserConfigValidationException, match="positive integer"):
        explainer().generate_counterfactuals(poor(1), 0)


def test_fifteen_distinct_ones_for_ten_queries():
    for rows in rows_of(explainer().generate_counterfactuals(poor(10), 15)):
        assert len(rows) == 15
        assert not rows.duplicated().any()


class Counting(Scored):
    """Counts what it is asked; a row takes so many seconds of a clock that only it moves."""

    def __init__(self, score=worth, seconds=0.0):
        super().__init__(score)
        self.rows = self.calls = 0
        self.now, self.seconds = 0.0, seconds

    def predict_proba(self, X):
        self.rows += len(X)
        self.calls += 1
        self.now += self.seconds * len(X)
        return super().predict_proba(X)


def test_budgets_hold():
    counting = Counting()
    e = NTDCFE(private(), dice_ml.Model(model=counting, backend="sklearn"))
    e.generate_counterfactuals(poor(4), 5, max_rows=200)
    assert counting.rows <= 4 * 200
    with pytest.raises(NoCounterfactualsFound, match="budget"):
        e.generate_counterfactuals(poor(4), 5, max_seconds=1e-9)


@pytest.mark.parametrize("batch_rows", [80, 45, 28])
def test_calls_follow_from_the_rows_and_all_that_is_asked_is_told(batch_rows):
    counting = Counting()
    e = explainer(
        m=dice_ml.Model(model=counting, backend="sklearn"),
        settings=SearchSettings(max_rows=400, batch_rows=batch_rows),
    )
    with pytest.warns(UserWarning, match=r"queries \[2\] already are"):
        explanations = e.generate_counterfactuals(poor(3).assign(income=[5.0, 20.0, 120.0]), 2, desired_class=1)
    told = [example.counterfactual for example in explanations.cf_examples_list]
    assert sum(cf.rows for cf in told) == counting.rows
    counting.rows = counting.calls = 0
    (example,) = e.generate_counterfactuals(poor(1), 2).cf_examples_list
    assert (example.counterfactual.rows, example.counterfactual.calls) == (counting.rows, counting.calls)
    # Those that look for several ways, that take changes back, and of each answer alone, are small.
    assert counting.calls <= 400 / batch_rows + 15


def test_more_rows_bring_the_calls_that_they_take():
    counting = Counting(lambda X: worth(X) - 100)
    e = NTDCFE(private(), dice_ml.Model(model=counting, backend="sklearn"))
    with pytest.raises(NoCounterfactualsFound):
        e.generate_counterfactuals(poor(1), 1, max_rows=4000)
    assert 3000 < counting.rows <= 4000


@pytest.mark.parametrize("total", [1, 10, 50])
@pytest.mark.parametrize("income", [[20.0], [100.0], [20.0, 15.0, 100.0]])
def test_seconds_hold_with_a_slow_model(monkeypatch, total, income):
    slow = Counting(seconds=0.01)
    monkeypatch.setattr("time.monotonic", lambda: slow.now)
    e = NTDCFE(private(), dice_ml.Model(model=slow, backend="sklearn"))
    queries = poor(len(income)).assign(income=income)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "fewer than|queries .* already are")
        e.generate_counterfactuals(queries, total, desired_class=1, max_seconds=1.0)  # finds some
    assert slow.now <= 1.0


def test_our_own_questions_are_tried_again_too():
    class Flaky(Counting):
        def predict_proba(self, X):
            answer = super().predict_proba(X)
            if self.calls == 1:
                raise ConnectionError("try again")
            return answer

    settings = SearchSettings(max_rows=300, batch_rows=25, retries=1, retry_wait=0.0)
    e = explainer(m=dice_ml.Model(model=Flaky(), backend="sklearn"), settings=settings)
    (example,) = e.generate_counterfactuals(poor(1), 1).cf_examples_list
    assert example.counterfactual.failures == 1


def test_the_seed_decides():
    queries = poor(2)
    one, same, other = (
        explainer().generate_counterfactuals(queries, 5, random_seed=seed).to_json() for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_arguments_without_meaning_are_named_once():
    with pytest.warns(UserWarning, match="no effect") as caught:
        explainer().generate_counterfactuals(
            poor(1), 1, diversity_weight=5.0, categorical_penalty=0.1, sample_size=100, posthoc_sparsity_param=0.2
        )
    (message,) = [str(w.message) for w in caught]
    assert message.startswith("categorical_penalty, diversity_weight, posthoc_sparsity_param, sample_size: no effect")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explainer().generate_counterfactuals(poor(1), 1, sparsity_weight=2.0, proximity_weight=0.5, random_seed=3)
    with pytest.raises(UserConfigValidationException, match="proximity_weight"):
        explainer().generate_counterfactuals(poor(1), 1, proximity_weight=0)


def test_a_higher_sparsity_weight_changes_fewer_features():
    m = model(lambda X: np.minimum(X["age"] / 80, 0.6) + np.minimum(X["income"] / 150, 0.6) - 1.1)
    few, many = (rows_of(explainer(m=m).generate_counterfactuals(poor(3), 1, sparsity_weight=w)) for w in (5.0, 0.0))
    changed = [
        sum((rows[list(RANGES)] != poor(3).iloc[i]).sum(axis=1)[0] for i, rows in enumerate(each))
        for each in (few, many)
    ]
    assert changed[0] <= changed[1]


def test_importance_json_and_pictures_on_private_data(capsys, monkeypatch):
    notebook = types.ModuleType("IPython.display")
    notebook.display = lambda frame: print(frame.to_string())
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)  # DiCE needs it and does not declare it
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    e = explainer()
    local = e.local_feature_importance(poor(2), total_CFs=10)
    assert [set(scores) for scores in local.local_importance] == [set(RANGES)] * 2
    assert all(0 <= score <= 1 for scores in local.local_importance for score in scores.values())
    overall = e.global_feature_importance(poor(10), total_CFs=10)
    assert overall.summary_importance["income"] > 0
    assert list(overall.summary_importance.values()) == sorted(overall.summary_importance.values(), reverse=True)
    recovered = CounterfactualExplanations.from_json(overall.to_json())
    assert recovered == overall
    assert recovered.summary_importance == overall.summary_importance
    for version in ("1.0", "2.0"):
        example = overall.cf_examples_list[0]
        assert CounterfactualExamples.from_json(example.to_json(version)) == example
    local.visualize_as_dataframe(show_only_changes=True)
    local.visualize_as_list()
    assert "good" in capsys.readouterr().out


def test_pickling(tmp_path):
    e = explainer()
    explanations = e.generate_counterfactuals(poor(1), 2)
    e.serialize_explainer(tmp_path / "e.pkl")
    again = ExplainerBase.deserialize_explainer(tmp_path / "e.pkl").generate_counterfactuals(poor(1), 2)
    assert again.to_json() == explanations.to_json()
    assert pickle.loads(pickle.dumps(explanations)).to_json() == explanations.to_json()
    with pytest.raises(NoCounterfactualsFound) as raised:
        e.generate_counterfactuals(poor(1), 1, features_to_vary=["age"], permitted_range={"age": [18, 60]})
    error = pickle.loads(pickle.dumps(raised.value))
    assert str(error) == str(raised.value)
    assert error.explanations.cf_examples_list[0].reason


def test_three_ways_in(monkeypatch):
    assert isinstance(Dice(private(), model()), NTDCFE)
    assert isinstance(Dice(private(), model(), method="ntdcfe", settings=FAST), NTDCFE)
    assert isinstance(Dice(private(), model(), method="random"), DiceRandom)
    monkeypatch.setattr(dice_ml.dice, "decide", dice_ml.dice.decide)  # undone afterwards
    with pytest.raises(UserConfigValidationException, match="Unsupported sample strategy"):
        dice_ml.Dice(private(), model(), method="ntdcfe")
    register()
    register()
    assert isinstance(dice_ml.Dice(private(), model(), method="ntdcfe"), NTDCFE)
    assert isinstance(dice_ml.Dice(private(), model(), method="random"), DiceRandom)


def test_a_series_as_columns():
    layout = SeriesColumns(12, ["load", "wind"])
    x = np.random.default_rng(0).normal(size=(12, 2)).round(2)
    np.testing.assert_array_equal(layout.to_series(layout.to_frame(x))[0], x)
    shuffled = layout.to_frame(np.stack([x, x + 1]))[layout.columns[::-1]]
    np.testing.assert_array_equal(layout(shuffled, data_interface=None), np.stack([x, x + 1]))
    with pytest.raises(ValueError, match="must be"):
        layout.to_frame(x.T)

    ranges = layout.ranges({"load": [-3.0, 3.0], "wind": [-3.0, 3.0]})
    data = dice_ml.Data(features=ranges, outcome_name="y", type_and_precision=layout.precisions(2))

    class Late:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            assert X.shape[1:] == (12, 2)
            p = 1 / (1 + np.exp(-4 * (X[:, -4:, 0].mean(1) - 1)))
            return np.column_stack([1 - p, p])

    m = dice_ml.Model(model=Late(), backend="sklearn", func=layout)
    e = NTDCFE(data, m, series=layout, settings=FAST, features={"wind": {"weight": 5.0}})
    explanations = e.generate_counterfactuals(layout.to_frame(x), 3)
    found = layout.to_series(explanations.cf_examples_list[0].final_cfs_df)
    assert (Late().predict_proba(found)[:, 1] > 0.5).all()
    changed = found[found != x]
    np.testing.assert_array_equal(changed, changed.round(2))
    assert (np.abs(changed) <= 3).all()
    (rows,) = rows_of(e.generate_counterfactuals(layout.to_frame(x), 2, features_to_vary=["load"]))
    np.testing.assert_array_equal(layout.to_series(rows)[..., 1], np.repeat(x[None, :, 1], 2, 0))
    late = [f"load_{step}" for step in range(9, 12)]
    (rows,) = rows_of(e.generate_counterfactuals(layout.to_frame(x), 2, features_to_vary=late))
    assert (layout.to_series(rows)[:, :9] == x[:9]).all()
    with pytest.raises(UserConfigValidationException, match="same channels"):
        e.generate_counterfactuals(layout.to_frame(x), 2, features_to_vary=["load_0", "wind_1"])
    plain = NTDCFE(data, m, settings=FAST).generate_counterfactuals(
        layout.to_frame(x), 2
    )  # column by column works, too
    assert (Late().predict_proba(layout.to_series(rows_of(plain)[0]))[:, 1] > 0.5).all()


def test_targets_of_the_engine():
    m = model(three_classes, ("low", "fair", "top"))
    sure = Target.label("top").confident(0.8)
    explanations = explainer(m=m).generate_counterfactuals(poor(2), 2, desired_class=sure)
    for example in explanations.cf_examples_list:
        assert (m.model.predict_proba(example.final_cfs_df)[:, 2] >= 0.8).all()
        assert example.new_outcome == "top with a probability of at least 0.8"
    assert CounterfactualExplanations.from_json(explanations.to_json()) == explanations
    each = explainer(m=m).generate_counterfactuals(poor(2), 2, desired_class=[Target.label("fair"), Target.other()])
    first, second = rows_of(each)
    assert set(first["ok"]) == {"fair"}
    assert "low" not in set(second["ok"])
    with pytest.raises(ValueError, match="2 instances, 1 targets"):
        explainer(m=m).generate_counterfactuals(poor(2), 2, desired_class=[sure])
    with pytest.warns(UserWarning, match="stopping_threshold: no effect"):
        explainer(m=m).generate_counterfactuals(poor(1), 1, desired_class=sure, stopping_threshold=0.9)


def test_a_target_in_place_of_a_desired_range():
    m = model(lambda X: worth(X) / 3, model_type="regressor")
    explanations = explainer(m=m).generate_counterfactuals(poor(2), 2, desired_class=Target.interval(0.5, 0.75))
    for rows in rows_of(explanations):
        assert rows["ok"].between(0.5, 0.75).all()
    assert CounterfactualExplanations.from_json(explanations.to_json()) == explanations


class Together(Term):
    """Two features change together, or it costs more than any distance."""

    def cost(self, x, original, features):
        one, other = ((x[..., i] != original[:, i]).any(1) for i in (features.index("age"), features.index("income")))
        return 100.0 * (one ^ other)


def test_changes_are_not_taken_back_against_a_term():
    m = model(lambda X: X["income"] - 60)
    alone, together = (
        rows_of(
            explainer(m=m, settings=replace(FAST, max_rows=600, terms=terms)).generate_counterfactuals(
                poor(1), 1, features_to_vary=["age", "income"]
            )
        )[0]
        for terms in ([], [Together()])
    )
    assert alone["age"][0] == poor(1)["age"][0]
    assert together["age"][0] != poor(1)["age"][0]
    assert together["income"][0] != poor(1)["income"][0]


def test_a_result_with_categories_comes_back_from_plain_json():
    m = model(lambda X: 2.0 * (X["job"] == "pilot") - 1)
    query = poor(1).assign(job="clerk")
    (example,) = explainer(m=m).generate_counterfactuals(query, 2).cf_examples_list
    cf = example.counterfactual
    again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict())))
    assert str(again) == str(cf)
    assert "set 'job' from clerk to pilot" in str(again)
    np.testing.assert_array_equal(again.x, cf.x)
    assert again.features.names == cf.features.names


@pytest.mark.parametrize(("limited", "limit"), [("load", "wind"), ("load_0", "wind_5"), (0, -1)])
def test_a_constraint_names_channels_by_name_column_or_position(limited, limit):
    layout = SeriesColumns(6, ["load", "wind"])
    data = dice_ml.Data(
        features=layout.ranges({"load": [-3.0, 3.0], "wind": [-3.0, 3.0]}),
        outcome_name="y",
        type_and_precision=layout.precisions(2),
    )
    seen = []

    class High(Scored):
        def predict_proba(self, X):
            seen.append(X)
            return super().predict_proba(X)

    m = dice_ml.Model(model=High(lambda X: 4 * (X[:, :, 0].mean(1) - 0.5), (0, 1)), backend="sklearn", func=layout)
    e = NTDCFE(data, m, series=layout, settings=FAST, constraints=[AtMost(limited, limit)])
    (rows,) = rows_of(e.generate_counterfactuals(layout.to_frame(np.zeros((6, 2))), 1))
    assert (rows["y"] == 1).all()
    load, wind = np.concatenate(seen).transpose(2, 0, 1)
    assert (load <= wind).all()
    assert load.max() > 0


def test_the_layout_s_example():
    (example,) = doctest.DocTestFinder(recurse=False).find(SeriesColumns)
    results = doctest.DocTestRunner().run(example)
    assert results.attempted > 2
    assert results.failed == 0


@pytest.mark.parametrize("block", range(10))
@pytest.mark.slow
def test_500_random_private_problems(block):
    found = [check_problem(Problem(np.random.default_rng(seed))) for seed in range(50 * block, 50 * block + 50)]
    assert sum(found) >= 25  # some have no solution


class Problem:
    """Random queries of a table declared by ranges and categories only, a random model, what may vary and how far."""

    DTYPES = {  # noqa: RUF012
        "int": ["int64", "int8", "Int16"],
        "float": ["float64", "float32", "Float64"],
        "category": ["object", "category", "string"],
        "code": ["int64", "int8", "float64", "category"],
    }

    def __init__(self, rng):
        self.rng, self.ranges, self.decimals, self.weights, columns = rng, {}, {}, {}, {}
        n = int(rng.choice([1, 1, 2, 3]))
        for i in range(rng.integers(2, 6)):
            name, kind = f"f{i}", str(rng.choice(["int", "float", "category", "code"], p=[0.3, 0.3, 0.25, 0.15]))
            columns[name] = pd.Series(self.column(name, kind, n)).astype(rng.choice(self.DTYPES[kind]))
        self.frame = pd.DataFrame(columns)
        precisions = {name: ["float", decimals] for name, decimals in self.decimals.items() if decimals}
        self.data = dice_ml.Data(
            features=copy.deepcopy(self.ranges), outcome_name="y", type_and_precision=copy.deepcopy(precisions)
        )
        self.set_model(str(rng.choice(["regression", "binary", "multiclass"], p=[0.3, 0.4, 0.3])))
        names = list(columns)
        some = [str(name) for name in rng.choice(names, rng.integers(1, len(names)), replace=False)]
        self.vary = "all" if rng.random() < 0.5 else some
        self.varied = names if self.vary == "all" else some
        self.permitted = {name: self.part_of(name) for name in self.varied if rng.random() < 0.4}

    def column(self, name, kind, n):
        """Declares a feature; returns values of it."""
        rng = self.rng
        if kind in ("category", "code"):
            size = rng.integers(2, 5) if kind == "category" else rng.integers(3, 6)
            codes = sorted(rng.choice(20, size, replace=False).tolist())
            self.ranges[name] = codes if kind == "code" else [f"c{code}" for code in codes]
            self.weights[name] = dict(zip(self.ranges[name], rng.normal(size=size), strict=True))
            return rng.choice(self.ranges[name], n)
        low, width = int(rng.integers(-20, 20)), int(rng.integers(2, 40))
        self.weights[name] = rng.normal() * 3 / width
        if kind == "int":
            self.ranges[name], self.decimals[name] = [low, low + width], 0
            return rng.integers(low - 1, low + width + 2, n)  # sometimes outside
        self.ranges[name], self.decimals[name] = [low + 0.5, float(low + width)], int(rng.integers(1, 4))
        return rng.uniform(low + 0.5, low + width, n)  # off the grid

    def part_of(self, name):
        """A permitted range."""
        rng, options = self.rng, self.ranges[name]
        if name not in self.decimals:
            return [options[i] for i in rng.permutation(len(options))[: rng.integers(1, len(options) + 1)]]
        low, high = sorted(rng.uniform(*options, 2))
        return [low, high + 0.2] if self.decimals[name] else [int(low), int(high) + 1]

    def set_model(self, kind):
        rng, start, up = self.rng, self.score(self.frame)[0], self.rng.choice([-1.0, 1.0])
        goal, self.regression = start + up * rng.uniform(0.2, 1.5), kind == "regression"
        self.aim, self.index = {"desired_class": "opposite"}, None
        if self.regression:
            self.model, self.aim = (
                model(self.score, model_type="regressor"),
                {"desired_range": sorted([goal, goal + up])},
            )
            return
        if kind == "binary":
            self.model = model(lambda X: 4 * up * (self.score(X) - goal), ("no", "yes"))
        else:
            low, high = start - rng.uniform(0.2, 1.5), start + rng.uniform(0.2, 1.5)
            self.model = model(lambda X: self.three(self.score(X), low, high), ("low", "mid", "high"))
            if rng.random() < 0.5:
                self.index = int(rng.choice([0, 2]))
                self.aim["desired_class"] = ("low", "mid", "high")[self.index]
        if rng.random() < 0.3:
            self.aim["stopping_threshold"] = 0.8

    @staticmethod
    def three(score, low, high):
        return 4 * np.column_stack([low - score, np.zeros(len(score)), score - high])

    def score(self, X):
        parts = [X[n].map(w) if isinstance(w, dict) else X[n].astype(float) * w for n, w in self.weights.items()]
        return sum(part.to_numpy(dtype=float) for part in parts)

    def reached(self, i, rows):
        """Which rows are what is wanted of query i."""
        if self.regression:
            low, high = self.aim["desired_range"]
            value = self.model.model.predict(rows)
            return (value >= low) & (value <= high)
        now, said = (self.model.model.predict_proba(X) for X in (self.frame.iloc[[i]], rows))
        wanted = np.arange(said.shape[1]) != now.argmax() if self.index is None else np.arange(3) == self.index
        return wanted[said.argmax(1)] & (said[:, wanted].max(1) >= self.aim.get("stopping_threshold", 0))

    def solvable(self, i):
        """Whether many of the rows that query i may become are as wanted, or one with every feature at an end is."""
        n, rng = 500, self.rng
        tried = {name: np.full(n, value, dtype=object) for name, value in self.frame.iloc[i].items()}
        for name in self.varied:
            options = self.permitted.get(name, self.ranges[name])
            if name in self.decimals:
                grid = 10 ** self.decimals[name]
                low, high = int(np.ceil(options[0] * grid)), int(np.floor(options[1] * grid))
                if low > high:
                    return False
                options = [low / grid, high / grid, *(rng.integers(low, high + 1, n) / grid)]
            options = options if name in self.permitted else [*options, self.frame[name].iloc[i]]
            tried[name] = np.array([options[k] for k in rng.integers(0, len(options), n)], dtype=object)
            by_worth = sorted(options, key=lambda v, w=self.weights[name]: w[v] if isinstance(w, dict) else w * v)
            tried[name][:2] = by_worth[0], by_worth[-1]
        reached = self.reached(i, pd.DataFrame(tried))
        return reached[:2].any() or reached.mean() > 0.02


def check_problem(problem):
    """Whether anything was found; what was is as wanted and breaks no rule, and what should be found is."""
    frame, before = problem.frame, problem.frame.copy()
    total, seed = int(problem.rng.integers(1, 6)), int(problem.rng.integers(100))

    def explain(settings, **options):
        try:
            return explainer(problem.data, problem.model, settings=settings).generate_counterfactuals(
                frame, total, permitted_range=copy.deepcopy(problem.permitted), features_to_vary=problem.vary,
                random_seed=seed, **problem.aim, **options,
            )  # fmt: skip
        except NoCounterfactualsFound as error:
            return error.explanations

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "fewer than|queries .* already are")
        try:
            found = rows_of(explain(FAST))
            missed = [i for i, rows in enumerate(found) if rows is None]
            if missed := [i for i in missed if problem.solvable(i)]:
                found = rows_of(explain(None))
            if any(found[i] is None for i in missed):  # four of the 500: a single corner is as wanted
                found = rows_of(explain(None, max_rows=5000))
                assert not any(found[i] is None for i in missed)
        except ValueError as refused:
            if "no feature is left" in str(refused) or "isn't allowed to vary" in str(refused):
                return False
            raise
    pd.testing.assert_frame_equal(frame, before)
    assert problem.data.permitted_range == problem.ranges
    for i, rows in enumerate(found):
        if rows is not None:
            assert 1 <= len(rows) <= total
            check_rows(problem, i, rows)
    return any(rows is not None for rows in found)


def check_rows(problem, i, rows):
    query, names = problem.frame.iloc[[i]], list(problem.ranges)
    assert not rows[names].duplicated().any()
    assert problem.reached(i, rows).all()
    if problem.regression:
        np.testing.assert_array_equal(problem.model.model.predict(rows), rows["y"])
    else:
        said = problem.model.model.predict_proba(rows).argmax(1)
        assert problem.model.model.classes_[said].tolist() == rows["y"].tolist()
    # A category that the query's own dtype does not know is the one thing that DiCE's cast would lose.
    same = [name for name in names if rows[name].dtype == query[name].dtype]
    assert all(isinstance(rows[name].dtype, pd.CategoricalDtype) for name in set(names) - set(same))
    pd.testing.assert_frame_equal(rows[same], problem.data.ensure_consistent_type(rows[same], query[same]))
    for name in names:
        new, allowed = rows[name], problem.permitted.get(name, problem.ranges[name])
        changed = new[(new.astype(object) != query[name].astype(object).iloc[0]).to_numpy()]
        if name not in problem.varied:
            assert changed.empty
        if name not in problem.decimals:
            assert set(new) <= set(allowed)
            continue
        rough = 1e-5 if new.dtype == np.float32 else 0.0
        inside = (new if name in problem.permitted else changed).astype(float)
        assert inside.between(allowed[0] - rough, allowed[1] + rough).all()
        changed = changed.astype(float)
        np.testing.assert_allclose(changed, changed.round(problem.decimals[name]), rtol=0, atol=rough)


class ByPlace(Scored):
    """A model that knows its columns by their places, as one that was fitted on an array does."""

    def predict_proba(self, X):
        return super().predict_proba(pd.DataFrame(np.asarray(X), columns=list(RANGES)))


def test_columns_in_another_order_reach_the_model_in_that_of_the_data():
    m = dice_ml.Model(model=ByPlace(lambda X: X["age"] / 20 + X["income"] / 10 - 8.0), backend="sklearn")
    queries = poor(2)
    expected = rows_of(explainer(m=m).generate_counterfactuals(queries, 2))
    for form in (lambda X: X, lambda X: X.to_dict("records"), lambda X: [X[:1], X[1:]]):
        turned = form(queries[["own", "income", "job", "age"]])
        for rows, same in zip(rows_of(explainer(m=m).generate_counterfactuals(turned, 2)), expected, strict=True):
            pd.testing.assert_frame_equal(rows, same)
    with pytest.raises(ValueError, match=r"lacks features \['job'\]"):
        explainer(m=m).generate_counterfactuals(queries[["own", "income", "age"]], 1)
    with pytest.raises(ValueError, match=r"\['height'\] of the query are not present"):
        explainer(m=m).generate_counterfactuals(queries.assign(height=1), 1)
    with pytest.raises(ValueError, match=r"features \['age'\] more than once"):
        explainer(m=m).generate_counterfactuals(pd.concat([queries, queries[["age"]]], axis=1), 1)


@pytest.mark.parametrize("max_rows", [1, 2, 3, 5, 8, 20, 60])
@pytest.mark.parametrize("total", [1, 5])
def test_a_few_rows_are_not_exceeded(max_rows, total):
    m, asked = counted()
    try:
        examples = explainer(m=m).generate_counterfactuals(poor(2), total, max_rows=max_rows).cf_examples_list
    except NoCounterfactualsFound as nothing:
        examples = nothing.explanations.cf_examples_list
    assert sum(asked) <= 2 * max_rows
    assert sum(example.counterfactual.rows for example in examples) == sum(asked)


def counted():
    """The usual model, and the numbers of rows that it was asked about."""
    asked = []

    def score(X):
        asked.append(len(X))
        return worth(X)

    return model(score), asked


def held(rows, noise):
    """The share of 400 copies of each row whose numbers are off by so much of a quarter of their ranges."""
    rng, copies = np.random.default_rng(3), pd.concat([rows] * 400)
    for name in ("age", "income"):
        copies[name] = copies[name] + noise * np.ptp(RANGES[name]) / 4 * rng.standard_normal(len(copies))
    copies["age"] = copies["age"].round()
    return (worth(copies) > 0).to_numpy().reshape(400, -1).mean(0)


def test_rows_tell_their_edits_and_how_they_do_under_noise():
    explanations = NTDCFE(private(), model()).generate_counterfactuals(poor(2), 2)
    for example in explanations.cf_examples_list:
        query, rows, details = example.test_instance_df.iloc[0], example.final_cfs_df, example.details_df
        assert list(details.columns) == [*rows.columns, "edits", "survival", "lower_bound"]
        for i, edits in enumerate(example.edits):
            assert {edit.feature for edit in edits} == {name for name in RANGES if rows[name][i] != query[name]}
            assert details["edits"][i] == "; ".join(edit.text for edit in edits)
        first = example.survival[0]
        assert example.counterfactual.survival == first
        assert example.counterfactual.edits == example.edits[0]
        assert first.lower_bound - 0.05 <= held(rows[:1], first.noise)[0] <= 1
        assert str(first) in str(example.counterfactual)


@pytest.mark.parametrize("total", [1, 2, 6])
def test_the_first_row_is_tried_under_noise_before_the_others(total):
    """As far as rows are left; of what was not tried there is no bound either."""
    (example,) = (
        NTDCFE(private(), model()).generate_counterfactuals(poor(1).assign(income=35.0), total).cf_examples_list
    )
    details = example.details_df
    tried = details["survival"].notna().tolist()
    assert tried[0]
    assert tried == sorted(tried, reverse=True)
    assert details["lower_bound"].notna().tolist() == tried


def test_of_our_own_few_rows_one_counterfactual_is_tried_under_noise_of_the_users_all():
    usual, more = (
        NTDCFE(private(), model()).generate_counterfactuals(poor(1), 3, **options).cf_examples_list[0].details_df
        for options in ({}, {"max_rows": 2000})
    )
    assert usual["survival"].notna().tolist() == [True, False, False]
    assert more["survival"].notna().all()


def test_five_counterfactuals_take_fewer_rows_than_there_are():
    asked_model, asked = counted()
    (example,) = NTDCFE(private(), asked_model).generate_counterfactuals(poor(1), 5).cf_examples_list
    assert len(example.final_cfs_df) == 5
    assert sum(asked) <= 400


def test_the_preferred_kind_comes_first_and_withstands_noise():
    queries = poor(2)
    nearest, sturdy = (
        NTDCFE(private(), model()).generate_counterfactuals(queries, 2, prefer=prefer).cf_examples_list
        for prefer in ("nearest", "sturdiest")
    )
    for near, far in zip(nearest, sturdy, strict=True):
        assert far.survival[0].share >= 0.95
        assert held(far.final_cfs_df[:1], 0.01)[0] >= 0.9
        assert held(near.final_cfs_df[:1], 0.01)[0] <= held(far.final_cfs_df[:1], 0.01)[0]
        changed = [
            {name for name in RANGES if far.final_cfs_df[name][i] != far.test_instance_df[name][0]} for i in (0, 1)
        ]
        assert changed[0] != changed[1]
    with pytest.raises(ValueError, match="prefer must be"):
        NTDCFE(private(), model()).generate_counterfactuals(queries, 1, prefer="best")


def test_all_kinds_of_answers_as_rows_where_they_are_asked_for():
    e = explainer(settings=SearchSettings(max_rows=4000))
    (example,) = e.generate_counterfactuals(poor(1), 1).cf_examples_list
    options = example.options_df
    assert set(options.index) == {"simplest", "nearest", "sturdiest"}
    assert (worth(options) > 0).all()
    first = example.final_cfs_df[list(RANGES)].iloc[0]
    assert options.loc["simplest", list(RANGES)].tolist() == first.tolist()
    (alone,) = explainer().generate_counterfactuals(poor(1), 1).cf_examples_list
    assert alone.options_df is None


LADDER = ["school", "bachelor", "master"]


@pytest.mark.parametrize("kind", ["private", "public"])
def test_an_ordered_category_keeps_its_own_order_and_way(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"education": rng.choice(LADDER, 60), "income": rng.integers(10, 60, 60)})
    seen = []

    def granted(X):
        seen.append(X.copy())
        # The model likes schools best: what is lowest in the order must not be taken all the same.
        return X["education"].map({"school": 3.0, "bachelor": 0.0, "master": 1.5}) + X["income"] / 20 - 3.2

    data = (
        dice_ml.Data(features={"education": LADDER, "income": [10, 60]}, outcome_name="y")
        if kind == "private"
        else dice_ml.Data(dataframe=frame.assign(y=0), continuous_features=["income"], outcome_name="y")
    )
    ordered = {"education": Ordered(LADDER, direction="rise")}
    e = explainer(data, model(granted, (0, 1)), features=ordered)
    query = pd.DataFrame({"education": ["bachelor"], "income": [35]})
    examples = e.generate_counterfactuals(query, 4).cf_examples_list[0]
    assert "school" not in set(pd.concat(seen)["education"])
    assert any("raise 'education' from bachelor to master" in text for text in examples.details_df["edits"])
    with pytest.raises(UserConfigValidationException, match=r"categories.*the data has"):
        explainer(data, features={"education": Ordered(["school", "doctor"])}).generate_counterfactuals(query, 1)


@pytest.mark.parametrize("permitted", [None, ["married", "widowed", "divorced"], ["divorced", "widowed"]])
def test_forbidden_moves_of_categories_hold_from_the_query_itself(permitted):
    statuses = ["single", "married", "divorced", "widowed"]
    data = dice_ml.Data(features={"status": statuses, "income": [10, 60]}, outcome_name="y")
    moves = {"single": ["married", "widowed"], "married": ["divorced", "widowed"], "divorced": ["married"]}
    seen = []

    def granted(X):
        seen.append(X.copy())
        return 3.0 * (X["status"] == "divorced") + X["income"] / 20 - 2.8

    e = explainer(data, model(granted, (0, 1)), features={"status": {"moves": moves}})
    query = pd.DataFrame({"status": ["single"], "income": [20]})
    options = {} if permitted is None else {"permitted_range": {"status": permitted}}
    examples = e.generate_counterfactuals(query, 3, **options).cf_examples_list[0]
    assert "divorced" not in set(pd.concat(seen)["status"]) | set(examples.final_cfs_df["status"])
    with pytest.raises(InvalidInputError, match="moves names"):
        explainer(data, features={"status": {"moves": {"single": ["engaged"]}}}).generate_counterfactuals(query, 1)


def test_the_readmes_lender_has_two_ways_and_both_are_told():
    def lender(X):
        return X["income"] / 20 + (X["home"] == "own") - 3

    ranges = {"age": [18, 90], "job_years": [0, 50], "income": [0, 200], "home": ["rent", "own"]}
    data = dice_ml.Data(features=ranges, outcome_name="says")
    e = NTDCFE(data, model(lender), constraints=[AtMost("job_years", "age")])
    query = {"age": 30, "job_years": 3, "income": 35, "home": "rent"}
    for total in (3, 6):
        rows = e.generate_counterfactuals(query, total, desired_class="good").cf_examples_list[0].final_cfs_df
        owners = rows[rows["home"] == "own"]
        assert len(rows) == total
        assert owners["income"].between(41, 48).all()
        assert len(owners) >= 1
        assert (rows[["age", "job_years"]] == [30, 3]).all(axis=None)  # neither does anything


@pytest.mark.parametrize(
    ("name", "n"),
    [("loans", 3), *(pytest.param(name, 8, marks=pytest.mark.slow) for name in CASES)],
)
def test_five_counterfactuals_are_different_and_none_has_a_needless_change(name, n):
    case = CASES[name]()
    precision = {column: ["float", 1] for column in case.X if case.X[column].dtype.kind == "f"}
    data = dice_ml.Data(features=dict(case.ranges), outcome_name="y", type_and_precision=precision)
    e = NTDCFE(data, dice_ml.Model(model=case.model, backend="sklearn"))
    extra = []
    for i in range(n):
        query = refused(case, n).iloc[[i]]
        examples = e.generate_counterfactuals(query, 5).cf_examples_list[0]
        rows = examples.final_cfs_df
        assert len(rows) == 5
        assert (case.model.predict(rows[case.X.columns]) == 1).all()
        assert examples.counterfactual.rows <= 450
        sets = len(set(changed(query, rows)))
        assert sets >= 3 or sets >= len(sets_there_are(case, query))
        extra += needless(case, query, rows)
    assert np.mean(extra) <= 0.05


class Rows:
    """A fitted model that counts the rows that it is asked about."""

    def __init__(self, model):
        self.model, self.classes_, self.rows = model, model.classes_, 0

    def predict_proba(self, X):
        self.rows += len(X)
        return self.model.predict_proba(X)


def test_where_nothing_is_found_there_is_a_second_search_that_is_counted():
    """Four features have to be high together: fewer of them tell nothing."""

    class Together:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            yes = (X[names[:4]] > 0.8).all(axis=1).to_numpy(float)
            return np.column_stack([1 - yes, yes])

    names = [f"f{i}" for i in range(10)]
    precision = {name: ["float", 2] for name in names}
    data = dice_ml.Data(features={name: [0.0, 1.0] for name in names}, outcome_name="y", type_and_precision=precision)
    queries = pd.DataFrame(np.full((2, 10), 0.2), columns=names)
    queries.loc[1, names[:3]] = 0.9

    def explained(some, **options):
        m = Rows(Together())
        e = NTDCFE(data, dice_ml.Model(model=m, backend="sklearn"))
        examples = e.generate_counterfactuals(some, 5, **options).cf_examples_list
        assert sum(example.counterfactual.rows for example in examples) == m.rows
        return examples

    (hard,), (easy,), both = explained(queries[:1]), explained(queries[1:]), explained(queries)
    most = 450
    assert most < hard.counterfactual.rows <= 3 * most
    assert easy.counterfactual.rows <= most
    for alone, together in zip((hard, easy), both, strict=True):
        assert len(alone.final_cfs_df) == 5
        pd.testing.assert_frame_equal(alone.final_cfs_df, together.final_cfs_df)
    with pytest.raises(NoCounterfactualsFound):
        explained(queries[:1], max_rows=most)  # what the user says holds


def test_neighbours_of_a_far_class_are_answered_within_the_usual_rows():
    """All neighbours say no, and so they do after any single change."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier(9)).fit(X, (y == 0).astype(int))
    case = Case(X, y, {name: [X[name].min(), X[name].max()] for name in X}, neighbours)
    data = dice_ml.Data(features=case.ranges, outcome_name="y", type_and_precision={name: ["float", 2] for name in X})
    e = NTDCFE(data, dice_ml.Model(model=neighbours, backend="sklearn"))
    for i in (2, 5, 7, 9):
        query = refused(case, 10).iloc[[i]]
        (example,) = e.generate_counterfactuals(query, 5).cf_examples_list
        assert example.counterfactual.rows <= 35 * X.shape[1]
        assert (neighbours.predict(example.final_cfs_df[list(X)]) == 1).all()
        assert len(set(changed(query, example.final_cfs_df))) >= 3
        assert sum(needless(case, query, example.final_cfs_df)) <= 1


def in_one_column(feature):
    """The same feature; in a table of DiCE a category is one column."""
    if not isinstance(feature, OneHot):
        return feature
    return Ordered(feature.categories, name=feature.name, direction=feature.direction, moves=feature.moves)


def as_options(category):
    """What the explainer takes as `features` of a category without an order of its own."""
    options = {} if category.direction is None else {"direction": category.direction}
    return options if category.moves is None else {**options, "moves": dict(category.moves)}


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 300), marks=pytest.mark.slow)], ids=len)
def test_no_forbidden_move_of_a_category_is_ever_shown_to_the_model_nor_answered(seeds):
    moved = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        drawn = [in_one_column(random_feature(rng, name)) for name in "abc"]
        features = Features([*drawn, Continuous(name="d", bounds=(-2, 2))])
        state = np.array([[rng.uniform(-1, 1) if f.choices is None else rng.choice(f.choices) for f in features]])
        weights, seen = rng.normal(size=len(features)), []

        def coded(frame, features=features):
            columns = [frame[f.name] if f.choices is None else [f.labels.index(v) for v in frame[f.name]]
                       for f in features]  # fmt: skip
            return np.column_stack(columns).astype(float)

        def score(frame, coded=coded, weights=weights, seen=seen):
            seen.append(coded(frame))
            return seen[-1] @ weights - 0.3

        ranges = {f.name: [-2.0, 2.0] if f.choices is None else list(f.labels) for f in features}
        query = {f.name: v if f.choices is None else f.labels[int(v)]
                 for f, v in zip(features, state[0], strict=True)}  # fmt: skip
        options = {f.name: f if isinstance(f, Ordered) else as_options(f) for f in features if f.choices is not None}
        data = dice_ml.Data(features=ranges, outcome_name="y", type_and_precision={"d": ["float", 2]})
        e = NTDCFE(data, model(score, (0, 1)), features=options, settings=replace(FAST, max_rows=80))
        try:
            rows = e.generate_counterfactuals(query, 1 + seed % 3).cf_examples_list[0].final_cfs_df
        except NoCounterfactualsFound:
            rows = pd.DataFrame([query])
        shown = np.concatenate([*seen, coded(rows)])[:, None]
        assert forbidden(features, state, shown) == set(), (seed, features)
        moved += bool((shown[..., :3] != state[:, :3]).any())
    assert moved > 0.6 * len(seeds)


def test_a_picture_and_a_letter_of_any_row_in_one_line(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    rule = Causal("age", "income", lambda income: 18 + income / 3)
    e = explainer(constraints=[rule], features={"own": {"role": "immutable"}})
    explanations = e.generate_counterfactuals(poor(2), 3, random_seed=4)
    example = explanations.cf_examples_list[1]
    for row, cf in enumerate(example.counterfactuals):
        told = example.details_df.iloc[row]
        assert "; ".join(cf.sentences()) == told["edits"]
        assert cf.prediction == told["ok"] == "good"
        assert cf.survival == example.survival[row]
        pyplot.close(explanations.plot(1, row, title="What would do?"))
    letter = explanations.report(tmp_path / "letter.html", 1, row=2, model="lender 1.0")
    facts = json.loads(letter.with_suffix(".json").read_text())
    assert "; ".join(facts["decision"]["sentences"]) == example.details_df["edits"][2]
    assert facts["search"]["seed"] == 4
    assert facts["rules"]["constraints"] == ["'age' follows from 'income'"]
    assert "lender 1.0" in letter.read_text()
    again = pickle.loads(pickle.dumps(explanations))  # the rule's function is not
    pyplot.close(again.plot(1, 2))
    with pytest.raises(InvalidInputError, match="one of 3 counterfactuals"):
        explanations.plot(0, 3)
    with pytest.raises(NoCounterfactualsFound) as raised:
        explainer().generate_counterfactuals(poor(1), 1, features_to_vary=["age"], permitted_range={"age": [18, 60]})
    letter = raised.value.explanations.report(tmp_path / "none.html")
    assert json.loads(letter.with_suffix(".json").read_text())["decision"]["found"] is False


def test_edits_and_survival_as_columns_where_asked(capsys, monkeypatch):
    notebook = types.ModuleType("IPython.display")
    notebook.display = lambda frame: print(frame.to_string())
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    explanations = explainer().generate_counterfactuals(poor(1), 3)
    (example,) = explanations.cf_examples_list
    for show in (explanations.visualize_as_dataframe, explanations.visualize_as_list):
        for only_changes in (False, True):
            show(show_only_changes=only_changes)
            without = capsys.readouterr().out
            show(show_only_changes=only_changes, show_edits=True)
            shown = capsys.readouterr().out
            for text in example.details_df["edits"]:
                assert text in shown
                assert text not in without
    assert "survival" not in example.final_cfs_df


def test_a_row_that_the_model_cannot_score_is_not_handed_out():
    """Where a query is as desired already, rows near it are tried: those of a region of NaN were taken for such."""

    class Holed(Scored):
        def predict_proba(self, X):
            return np.where(np.asarray(X["b"], float)[:, None] > 0.4, np.nan, super().predict_proba(X))

    model = Holed(lambda X: -5 - np.asarray(X["a"], float))
    data = dice_ml.Data(features={"a": [-1.0, 1.0], "b": [-1.0, 1.0]}, outcome_name="ok")
    explainer = NTDCFE(data, dice_ml.Model(model=model, backend="sklearn"), settings=FAST)
    with pytest.warns(UserWarning, match="already"):
        found = explainer.generate_counterfactuals(
            pd.DataFrame({"a": [0.0], "b": [0.4]}), 5, desired_class="bad", features_to_vary=["b"]
        )
    rows = found.cf_examples_list[0].final_cfs_df
    assert len(rows) == 5
    assert (rows["b"] <= 0.4).all()


@pytest.mark.parametrize("desired", ["opposite", None, 1, (), 0.5, np.int64(1)])
def test_the_json_of_a_regressor_takes_any_desired_class(desired):
    """It has no effect there, and what is no text and no whole number does not fit DiCE's own schema."""
    model = types.SimpleNamespace(predict=lambda X: np.asarray(X["a"], float))
    data = dice_ml.Data(features={"a": [-1.0, 1.0]}, outcome_name="ok")
    wrapped = dice_ml.Model(model=model, backend="sklearn", model_type="regressor")
    query = pd.DataFrame({"a": [0.0]})
    found = NTDCFE(data, wrapped, settings=FAST).generate_counterfactuals(
        query, 1, desired_class=desired, desired_range=(0.5, 1)
    )
    assert json.loads(found.to_json())


def test_a_feature_without_limits_is_no_obstacle_where_the_query_reaches_the_target_already():
    class Positive:
        def predict(self, X):
            return (X["a"].to_numpy(float) > 0).astype(int)

        def predict_proba(self, X):
            return np.eye(2)[self.predict(X)]

    data = dice_ml.Data(features={"a": [-np.inf, np.inf], "b": [0.0, 1.0]}, outcome_name="ok")
    model = dice_ml.Model(model=Positive(), backend="sklearn")
    query = pd.DataFrame({"a": [1.0], "b": [0.5]})
    explainer = NTDCFE(data, model, settings=SearchSettings(reach=None))
    rows = explainer.generate_counterfactuals(query, total_CFs=4, desired_class=1).cf_examples_list[0].final_cfs_df
    assert (rows["ok"] == 1).all()
    assert np.isfinite(rows[["a", "b"]].to_numpy(float)).all()
