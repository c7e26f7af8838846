"""What an alibi user relies on: alibi's keys and shapes, and the things that alibi's users ask for."""

import doctest
import importlib
import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("alibi")
torch = pytest.importorskip("torch")

from alibi.api.defaults import DEFAULT_DATA_CF, DEFAULT_DATA_CFRL, DEFAULT_META_CF  # noqa: E402
from alibi.api.interfaces import Explainer, Explanation, FitMixin  # noqa: E402
from alibi.exceptions import PredictorCallError, PredictorReturnTypeError  # noqa: E402
from alibi.saving import load_explainer  # noqa: E402
from moves import forbidden, random_feature  # noqa: E402
from sklearn.datasets import load_diabetes, load_iris  # noqa: E402
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

import ntdcfe  # noqa: E402
from ntdcfe import Causal, Constraint, Continuous, Counterfactual, Features, OneHot, SearchSettings, Target  # noqa: E402
from ntdcfe.search.refine.race import RefineTuning  # noqa: E402
from ntdcfe.settings import Tuning  # noqa: E402
from ntdcfe_plugins.alibi import NTDCFE  # noqa: E402

ROWS = 600
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, LogisticRegression(max_iter=500).fit(X, y)


class Recorder:
    """A predictor that keeps every row it was sent."""

    def __init__(self, predictor):
        self.predictor, self.rows, self.calls = predictor, [], 0

    def __call__(self, X):
        self.calls += 1
        self.rows.append(X.copy())
        return self.predictor(X)

    @property
    def seen(self):
        return np.concatenate(self.rows)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def two_columns(p):
    return np.column_stack([1 - p, p])


def last_steps(X):
    """Probabilities of series (N, K, D): high where feature 0 ends high."""
    return two_columns(sigmoid(4 * X[:, -3:, 0].mean(1)))


def strictly(text):
    """JSON parsed by the standard, which knows no NaN."""
    return json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} in JSON"))


# What alibi's own tests assert of its counterfactual explainers.


@pytest.mark.parametrize("target_class", ["other", "same", 0, 1, 2, (1, 2)])
def test_targets_keys_and_shapes(iris, target_class):
    X, _, model = iris
    x = X[:1]
    before = model.predict(x)[0]
    explanation = NTDCFE(model.predict_proba, target_class=target_class, max_rows=ROWS).explain(x)

    assert isinstance(explanation, Explanation)
    assert explanation.meta.keys() == DEFAULT_META_CF.keys()
    assert explanation.data.keys() >= DEFAULT_DATA_CF.keys() | DEFAULT_DATA_CFRL.keys()
    assert explanation.cf["X"].shape == x.shape
    assert explanation.cf["class"].shape == explanation.orig["class"].shape == explanation.target.shape == (1, 1)
    assert explanation.cf["proba"].shape == explanation.orig_proba.shape == (1, 3)
    assert explanation.success == [True]
    assert type(explanation.success[0]) is bool
    assert explanation.orig_class.tolist() == [before]

    after = model.predict(explanation.cf["X"])[0]
    assert explanation.cf["class"].item() == after
    if target_class == "same":
        assert after == before
    elif target_class == "other":
        assert after != before
    else:
        assert after in np.atleast_1d(target_class)


def test_it_is_an_explainer_without_fit(iris):
    explainer = NTDCFE(iris[2].predict_proba)
    assert isinstance(explainer, Explainer)
    assert not isinstance(explainer, FitMixin)
    assert explainer.meta["name"] == "NTDCFE"
    assert explainer.meta["type"] == ["blackbox"]
    assert explainer.meta["params"]["ntdcfe_version"] == ntdcfe.__version__


def test_save_and_load_give_the_same_meta_and_counterfactuals(iris, tmp_path):
    X, _, model = iris
    explainer = NTDCFE(
        model.predict_proba,
        feature_names=NAMES,
        feature_range=(X.min(0), X.max(0)),
        constraints=[Causal("petal width", "petal length", lambda length: 0.4 * length)],
        plausible=lambda rows: rows[:, 1] < 4,
        max_rows=ROWS,
        seed=3,
    )
    first = explainer.explain(X[[0, 60]], Y_t=np.array([2]))
    explainer.save(tmp_path)
    assert explainer.predictor == model.predict_proba  # still usable
    loaded = load_explainer(tmp_path, predictor=lambda rows: model.predict_proba(rows))
    second = loaded.explain(X[[0, 60]], Y_t=np.array([2]))

    assert type(loaded) is NTDCFE
    assert loaded.meta == explainer.meta
    assert second.meta == first.meta
    np.testing.assert_array_equal(second.cf["X"], first.cf["X"])
    np.testing.assert_array_equal(second.cf["proba"], first.cf["proba"])
    assert second.changes == first.changes
    assert second.rows == first.rows


def test_saving_leaves_the_predictor_out(tmp_path):
    class Unpicklable:
        def __call__(self, X):
            return last_steps(X)

        def __reduce__(self):
            raise AssertionError("the predictor must not be saved")

    NTDCFE(Unpicklable()).save(tmp_path)
    assert NTDCFE.load(tmp_path, Unpicklable()).explain(np.full((1, 5, 1), -0.5), [1]).success == [True]


def test_reset_predictor(iris):
    X, _, model = iris
    explainer = NTDCFE(model.predict_proba, max_rows=ROWS)
    explainer.reset_predictor(lambda rows: np.eye(2)[(rows[:, 0] > 6).astype(int)])
    explanation = explainer.explain(X[:1])
    assert explanation.cf["X"][0, 0] > 6
    with pytest.raises(ValueError, match="predictor must be a function"):
        explainer.reset_predictor(None)


def test_immutable_features_and_ranges_hold_for_every_row_that_is_sent(iris):
    """Also what alibi's users report: frozen features that change, ranges without effect."""
    X, _, model = iris
    low, high = X.min(0)[None], X.max(0)[None]  # alibi's shape (1, D)
    recorder = Recorder(model.predict_proba)
    explainer = NTDCFE(
        recorder,
        feature_names=NAMES,
        immutable_features=np.array(["petal width"]),
        feature_range=(low, high),
        max_rows=ROWS,
    )
    explanation = explainer.explain(X[:1], Y_t=np.array([1]))
    assert explanation.success == [True]
    assert (recorder.seen[:, 3] == X[0, 3]).all()
    changed = recorder.seen != X[0]
    assert changed[:, :3].any(0).all()
    assert ((recorder.seen >= low) & (recorder.seen <= high) | ~changed).all()


# What alibi's users ask for.


def test_series_and_a_torch_lstm():
    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = torch.nn.LSTM(2, 8, batch_first=True), torch.nn.Linear(8, 3)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])  # logits, as alibi's own torch models return

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Classifier().eval()

    @torch.no_grad()
    def predictor(X: np.ndarray) -> np.ndarray:
        return 20 * model(torch.tensor(X, dtype=torch.float32)).cpu().numpy()

    X = np.random.default_rng(0).normal(size=(3, 12, 2)).astype(np.float32)
    explanation = NTDCFE(predictor, max_rows=ROWS).explain(X)
    assert explanation.cf["X"].shape == X.shape
    assert explanation.cf["X"].dtype == np.float32
    assert explanation.success == [True] * 3
    assert (predictor(explanation.cf["X"]).argmax(1) != predictor(X).argmax(1)).all()
    np.testing.assert_allclose(explanation.cf["proba"].sum(1), 1)


ADULT = {"home": ["rent", "own", "other"], "job": [f"job {i}" for i in range(8)]}


def likes_owners_with_job_7(home, job, income):
    return two_columns(sigmoid(3.0 * (home == 1) + 3.0 * (job == 7) + 0.05 * (income - 100)))


def test_categories_as_codes_have_no_order():
    def predictor(X):
        assert np.isin(X[:, 0], range(3)).all()
        assert np.isin(X[:, 2], range(8)).all()
        return likes_owners_with_job_7(X[:, 0], X[:, 2], X[:, 1])

    X = np.array([[0, 20, 0]])
    explainer = NTDCFE(
        predictor,
        feature_names=["home", "income", "job"],
        category_map={0: ADULT["home"], "job": ADULT["job"]},
        feature_range={"income": (0, 100)},
        scales={"income": 20},
        max_rows=2000,
    )
    explanation = explainer.explain(X, num_samples=3)
    changed = explanation.cf["X"][0] != X[0]
    income = abs(explanation.cf["X"][0, 1] - 20)
    # A switch counts 1, whatever the codes are: job 0 to 7 is as far as job 0 to 1.
    assert explanation.proximity[0] == pytest.approx(income + changed[0] + changed[2])
    assert explanation.cf["X"][0, 2] == 7
    assert "from job 0 to job 7" in explanation.text[0]


def test_one_hot_groups_beside_codes():
    def predictor(X):
        assert (X[:, 1:4].sum(1) == 1).all()
        assert np.isin(X[:, 1:4], (0, 1)).all()
        return likes_owners_with_job_7(X[:, 1:4].argmax(1), X[:, 4], X[:, 0])

    X = np.array([[20.0, 1, 0, 0, 2]])
    explainer = NTDCFE(
        predictor,
        feature_names=["income", "home", "job"],
        category_map={1: ADULT["home"], 4: ADULT["job"]},
        ohe=[1],
        immutable_features=["income"],
        max_rows=ROWS,
    )
    explanation = explainer.explain(X)
    assert explanation.cf["X"].tolist() == [[20, 0, 1, 0, 7]]
    assert explanation.sparsity == [2]
    assert explanation.cf["distance"].tolist() == [2.0]
    assert {change["feature"] for change in explanation.changes[0]} == {"home", "job"}
    # Any column of a group stands for it.
    frozen = NTDCFE(predictor, category_map={1: ADULT["home"]}, ohe=True, immutable_features=[2], max_rows=ROWS)
    home = frozen.explain(X).cf["X"][:, 1:4]
    np.testing.assert_array_equal(home, X[:, 1:4])


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(random_state=0), RandomForestClassifier(20, random_state=0), KNeighborsClassifier()],
)
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_trees_and_neighbours(iris, model, method):
    X, y, _ = iris
    model.fit(X, y)
    some = X[[0, 60, 120]]
    explanation = NTDCFE(getattr(model, method), feature_range=(X.min(0), X.max(0)), max_rows=ROWS).explain(some)
    assert explanation.success == [True] * 3
    assert (model.predict(explanation.cf["X"]) != model.predict(some)).all()


def test_one_column_is_the_probability_of_class_1():
    def one(X):
        return last_steps(X)[:, 1]

    X = np.full((2, 6, 2), -0.5)
    X[1] = 0.5
    shapes = [last_steps, one, lambda rows: one(rows)[:, None]]
    explanations = [NTDCFE(predictor, max_rows=ROWS).explain(X) for predictor in shapes]
    for explanation in explanations:
        assert explanation.target.tolist() == explanation.cf["class"].tolist() == [[1], [0]]
        np.testing.assert_array_equal(explanation.cf["X"], explanations[0].cf["X"])
        np.testing.assert_allclose(explanation.cf["proba"], explanations[0].cf["proba"])


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
@pytest.mark.parametrize(
    "labels", [np.array([0, 1]), np.array(["no", "yes"]), np.array([False, True]), np.array([0.0, 3.0])]
)
def test_labels_are_enough(labels, shape):
    def predictor(X):
        return labels[(X[:, 0] > 0).astype(int)].reshape(shape)

    explanation = NTDCFE(predictor, max_rows=ROWS, output="labels").explain(np.array([[-0.5, 0.0]]))
    assert explanation.orig_class.tolist() == labels[:1].tolist()
    assert explanation.cf["class"].tolist() == [labels[1:].tolist()]
    assert explanation.orig_proba is None
    assert explanation.cf["proba"] is None
    assert strictly(explanation.to_json())["data"]["cf"]["class"] == [labels[1:].tolist()]


def test_target_confidence():
    X = np.full((1, 6, 2), -0.5)
    explanation = NTDCFE(last_steps, target_proba=0.9, max_rows=ROWS).explain(X)
    assert explanation.cf["class"].tolist() == [[1]]
    assert 0.9 <= last_steps(explanation.cf["X"])[0, 1] < 0.95
    surer = NTDCFE(last_steps, target_class="same", target_proba=0.95, max_rows=ROWS).explain(X)
    assert surer.cf["class"].tolist() == [[0]]
    assert last_steps(surer.cf["X"])[0, 0] >= 0.95
    with pytest.raises(PredictorReturnTypeError, match="target_proba needs"):
        NTDCFE(lambda rows: last_steps(rows).argmax(1), target_proba=0.9).explain(X)


# The Explanation.


def test_a_failed_search_says_so_and_keeps_its_near_miss_apart():
    X = np.array([[-2.0, 0.0], [0.8, 0.0]])
    explainer = NTDCFE(
        lambda rows: two_columns(sigmoid(5 * (rows[:, 0] - 1))), feature_range=((-3, -3), (-1, 3)), max_rows=ROWS
    )
    explanation = explainer.explain(np.array([[-2.0, 0.0], [2.0, 0.0]]), Y_t=np.array([1, 0]))
    assert explanation.success == [False, True]
    assert "budget" in explanation.reason[0]
    assert explanation.reason[1] == ""
    assert explanation.all[0] == []
    cf = explanation.cf["X"]
    assert cf.shape == X.shape
    assert cf.mask.tolist() == [[True, True], [False, False]]
    assert np.isnan(cf.data[0]).all()  # a reader that ignores the mask gets NaN, not a number
    assert (explanation.cf["class"] == explanation.target).tolist() == [[None], [True]]
    miss = explanation.near_miss[0]
    assert miss["X"].shape == (1, 2)
    assert miss["X"][0, 0] == pytest.approx(-1, abs=0.05)
    assert miss["class"] == 0
    assert explanation.near_miss[1] is None
    assert explanation.proximity[0] is explanation.sparsity[0] is None
    data = strictly(explanation.to_json())["data"]
    assert data["cf"]["X"][0] == [None, None]
    assert data["cf"]["class"] == [[None], [0]]


def test_json_is_valid_and_comes_back_the_same():
    explainer = NTDCFE(
        lambda rows: rows[:, 1] > 0.5,
        target_class={True},
        feature_names=["a", "b", "c"],
        category_map={np.int64(2): ["x", "y"]},
        feature_range=(np.array([-np.inf, 0, 0]), np.array([np.inf, 1, 1])),
        weights={np.int64(1): np.float32(2)},
        constraints=[Causal("a", "b", lambda b: b)],
        plausible=lambda rows: np.ones(len(rows), bool),
        actionable_steps=slice(0, None),
        max_rows=ROWS,
    )
    explanation = explainer.explain(np.array([[0.0, 0.2, 1.0], [0.0, 0.9, 0.0]]), num_samples=2)
    text = explanation.to_json()
    assert Explanation.from_json(text).to_json() == text
    params = strictly(text)["meta"]["params"]
    assert params["seed"] == 0
    assert params["settings"]["max_rows"] == ROWS
    assert params["constraints"] == [{"effect": "a", "causes": ["b"], "function": "<lambda>"}]
    assert params["feature_range"][0] == [None, 0.0, 0.0]
    assert params["num_samples"] == 2
    assert "function" not in text.replace('"function": "<lambda>"', "")


def test_the_printed_parameters_have_the_tuning_only_where_somebody_chose_it():
    def predictor(X):
        return np.column_stack([X[:, 0] < 1, X[:, 0] >= 1]).astype(float)

    plain = NTDCFE(predictor, max_rows=ROWS)
    assert "tuning" not in plain.meta["params"]["settings"]
    assert len(str(plain.explain(np.zeros((1, 2)))).splitlines()) < 150
    tuned = NTDCFE(predictor, settings=SearchSettings(tuning=Tuning(refine=RefineTuning(racers=8))))
    assert tuned.meta["params"]["settings"]["tuning"]["refine"]["racers"] == 8


def test_several_counterfactuals_of_each():
    def predictor(X):
        return two_columns((X[:, :3].max(1) > 1).astype(float))

    X = np.zeros((2, 4))
    explanation = NTDCFE(predictor, max_rows=2000).explain(X, num_samples=3)
    for i, several in enumerate(explanation.all):
        assert len(several) == 3
        np.testing.assert_array_equal(several[0]["X"][0], explanation.cf["X"][i])
        assert all(predictor(entry["X"]).argmax() == entry["class"] == 1 for entry in several)
        assert len({tuple(np.flatnonzero(entry["X"][0])) for entry in several}) == 3


@pytest.mark.parametrize(
    "Y_t",
    [2, [2], np.array([2]), np.array([[2]]), np.array([2, 2]), np.array([[2], [2]]), np.array([2.0, 2.0]),
     np.eye(3)[[2]], np.eye(3)[[2, 2]]],
)  # fmt: skip
def test_wanted_labels_in_all_of_alibis_shapes(iris, Y_t):
    X, _, model = iris
    explanation = NTDCFE(model.predict_proba, max_rows=ROWS).explain(X[[60, 70]], Y_t)
    assert explanation.target.tolist() == explanation.cf["class"].tolist() == [[2], [2]]


def test_one_target_an_instance(iris):
    X, _, model = iris
    explanation = NTDCFE(model.predict_proba, max_rows=ROWS).explain(X[[0, 60]], np.array([1, 0]))
    assert explanation.cf["class"].tolist() == [[1], [0]]
    named = NTDCFE(model.predict_proba, classes=["a", "b", "c"], max_rows=ROWS).explain(X[[0]], np.array(["c"]))
    assert named.cf["class"].tolist() == [["c"]]
    # A class that is called like one of alibi's words is still a class.
    words = NTDCFE(model.predict_proba, classes=["other", "same", "c"], max_rows=ROWS).explain(X[[0]], ["same"])
    assert words.cf["class"].tolist() == [["same"]]


def test_an_instance_is_the_same_alone_and_in_a_batch_which_shares_calls(iris):
    X, _, model = iris
    recorder = Recorder(model.predict_proba)
    together = NTDCFE(recorder, max_rows=ROWS, seed=5).explain(X[[0, 60, 140]])
    assert recorder.calls < sum(together.calls)
    assert sum(together.rows) == len(recorder.seen)
    assert max(together.rows) <= ROWS
    alone = NTDCFE(model.predict_proba, max_rows=ROWS, seed=5).explain(X[140:141])
    np.testing.assert_array_equal(alone.cf["X"][0], together.cf["X"][2])
    assert NTDCFE(model.predict_proba, max_rows=ROWS).explain(X[140]).cf["X"].shape == (1, 4)


# What alibi lacks.


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    explainer = NTDCFE(model.predict, target_interval=(200, None), feature_range=(X.min(0), X.max(0)), max_rows=ROWS)
    explanation = explainer.explain(X[:2])
    assert explanation.success == [True, True]
    assert (model.predict(explanation.cf["X"]) >= 200).all()
    np.testing.assert_allclose(explanation.cf["class"].ravel(), model.predict(explanation.cf["X"]))
    assert explanation.orig_proba is None
    strictly(explanation.to_json())
    each = explainer.explain(X[:2], Y_t=np.array([[0, 100], [150, 160]]))
    low, high = model.predict(each.cf["X"])
    assert low <= 100
    assert 150 <= high <= 160


def test_rules_steps_directions_and_plausibility():
    recorder = Recorder(last_steps)
    X = np.full((1, 8, 3), -0.5)
    explainer = NTDCFE(
        recorder,
        feature_names=["load", "twice", "free"],
        non_actionable_features=["twice"],
        constraints=[Causal("twice", 0, lambda load: 2 * load)],
        directions={"load": "rise"},
        weights={"free": 3.0},
        actionable_steps=slice(4, None),
        plausible=lambda rows: rows[:, :, 0].max(1) < 2,
        max_rows=ROWS,
    )
    explanation = explainer.explain(X)
    cf = explanation.cf["X"]
    seen, changed = recorder.seen, recorder.seen != X[0]
    assert explanation.success == [True]
    assert not changed[:, :4].any()
    assert (seen[..., 0] >= -0.5).all()
    np.testing.assert_array_equal(changed[..., 0], changed[..., 1])
    np.testing.assert_allclose(seen[..., 1][changed[..., 1]], 2 * seen[..., 0][changed[..., 0]])
    assert cf[..., 0].max() < 2


@pytest.mark.parametrize(
    "feature_range",
    [(-1, 0.5), (np.full(2, -1), np.full((1, 2), 0.5)), (np.full((1, 6, 2), -1.0), 0.5), {"a": (-1, 0.5)}],
)
def test_ranges_in_all_shapes(feature_range):
    recorder = Recorder(last_steps)
    NTDCFE(recorder, feature_names=["a", "b"], feature_range=feature_range, max_rows=ROWS).explain(
        np.full((1, 6, 2), -0.5)
    )
    assert -1 <= recorder.seen[..., 0].min() < -0.5
    assert recorder.seen[..., 0].max() == 0.5


def test_alibis_default_range_is_no_range(iris):
    X, _, model = iris
    free, alibis = (
        NTDCFE(model.predict_proba, feature_range=limits, max_rows=ROWS).explain(X[:1])
        for limits in (None, (-1e10, 1e10))
    )
    np.testing.assert_array_equal(free.cf["X"], alibis.cf["X"])


# Faults.


def test_a_failing_predictor_raises_alibis_exceptions(iris):
    X, _, model = iris

    def broken(rows):
        raise KeyError("no such column")

    def breaks_later(rows):
        if len(rows) > 2:
            raise KeyError("no such column")
        return model.predict_proba(rows)

    for predictor in (broken, breaks_later):
        with pytest.raises(PredictorCallError, match="no such column") as raised:
            NTDCFE(predictor).explain(X[:1])
        assert isinstance(raised.value.__cause__, KeyError)
    wrong = {
        "shape": lambda rows: np.zeros((len(rows) + 1, 2)),
        "NaN": lambda rows: np.full((len(rows), 2), np.nan),
        "must return an array": lambda rows: torch.ones(len(rows), 2, requires_grad=True),
        "single numbers": lambda rows: rows[:, 0] + 0.5,
    }
    for message, predictor in wrong.items():
        with pytest.raises(PredictorReturnTypeError, match=message):
            NTDCFE(predictor).explain(X[:1])


def test_what_was_found_stays_found_when_the_predictor_fails_at_the_very_end(iris):
    X, _, model = iris
    whole = Recorder(model.predict_proba)
    expected = NTDCFE(whole, max_rows=ROWS).explain(X[:2])

    def breaks_last(rows):
        if recorder.calls == whole.calls:
            raise ConnectionError("gone")
        return model.predict_proba(rows)

    recorder = Recorder(breaks_last)
    with pytest.warns(UserWarning, match="probabilities of the counterfactuals are missing.*gone"):
        explanation = NTDCFE(recorder, max_rows=ROWS).explain(X[:2])
    np.testing.assert_array_equal(explanation.cf["X"], expected.cf["X"])
    np.testing.assert_array_equal(explanation.cf["class"], expected.cf["class"])
    assert explanation.cf["proba"].mask.all()
    strictly(explanation.to_json())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"immutable_features": ["petal"]}, "no feature 'petal'"),
        ({"immutable_features": [4]}, "no feature 4"),
        ({"immutable_features": [True, False]}, "no feature True"),
        ({"weights": {"sepal width": -1}}, "weight must be a positive number"),
        ({"category_map": {7: ["a", "b"]}}, "category_map must name features"),
        ({"ohe": [1]}, "category_map must name features"),
        ({"category_map": {0: ["a", "b"]}, "scales": {0: 2.0}}, "is categorical: it takes no scale"),
        ({"feature_range": (np.zeros(3), np.ones(3))}, "feature_range must be"),
        ({"feature_range": 5}, "feature_range must be"),
        ({"feature_range": (np.arange(8).reshape(2, 4), 9)}, "the same at all steps"),
        ({"category_map": {0: ["a", "b"]}, "feature_range": {0: (0, 1)}}, "takes no bounds"),
        ({"target_proba": 1.5}, "target_proba must be"),
        ({"target_interval": (2, 1)}, "lower <= upper"),
        ({"output": "classes"}, "output must be one of"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_wrong_arguments_are_told_at_construction(arguments, message):
    with pytest.raises(ValueError, match=message):
        NTDCFE(last_steps, feature_names=NAMES, **arguments)


def test_wrong_instances_and_targets(iris):
    X, _, model = iris
    never = Recorder(model.predict_proba)
    explainer = NTDCFE(never, feature_names=NAMES, category_map={0: ["a", "b"]})
    for wrong, message in [
        (X[:, :2], "make up 4 columns, the instances have 2"),
        (np.full((1, 4), np.nan), "NaN"),
        (X[:0], "shape"),
        (X[:1], "do not list"),
        (np.array([["a"] * 4]), "numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            explainer.explain(wrong)
    assert never.calls == 0
    explainer = NTDCFE(model.predict_proba)
    for Y_t, message in [
        ([1, 2, 0], "Y_t must have 1 row"),
        ([[0, 1]], "3 classes"),
        ([7], "classes are"),
        ([[[1]]], "Y_t"),
    ]:
        with pytest.raises(ValueError, match=message):
            explainer.explain(X[:2], Y_t)
    for num_samples in (0, 1.5, True):
        with pytest.raises(ValueError, match="num_samples"):
            explainer.explain(X[:1], num_samples=num_samples)


def test_settings_and_options_reach_the_engine(iris):
    X, _, model = iris
    recorder = Recorder(model.predict_proba)
    settings = SearchSettings(max_batch_size=50)
    NTDCFE(recorder, settings=settings, max_rows=300).explain(X[:3])
    assert max(map(len, recorder.rows)) <= 50
    with pytest.raises(TypeError, match="nonsense"):
        NTDCFE(recorder).explain(X[:1], nonsense=1)


def test_without_alibi_the_extra_is_named():
    code = "import sys; sys.modules['alibi'] = None; import ntdcfe_plugins; from ntdcfe_plugins.alibi import NTDCFE"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0
    assert "pip install 'ntdcfe-plugins[alibi]'" in done.stderr


def test_docstring_example():
    module = importlib.import_module("ntdcfe_plugins.alibi.explainer")
    results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 0
    assert results.failed == 0


def test_one_feature_limits_another():
    def predictor(X):
        return two_columns(sigmoid(X.sum(axis=1) - 3))

    order = ntdcfe.AtMost("part", "whole")
    explainer = NTDCFE(
        predictor, feature_names=["part", "whole"], constraints=[order], scales={0: 1.0, 1: 1.0}, max_rows=600
    )
    explanation = explainer.explain(np.array([[0.5, 1.0]]), Y_t=np.array([1]), num_samples=3)
    assert explanation.success == [True]
    for entry in explanation.all[0]:
        part, whole = entry["X"][0]
        assert part <= whole
    with pytest.raises(ValueError, match="Causal, AtMost or another Constraint"):
        NTDCFE(predictor, feature_names=["part", "whole"], constraints=["part"])


# Targets and constraints of the engine.


def test_targets_of_the_engine(iris):
    X, _, model = iris
    sure = NTDCFE(model.predict_proba, Target.label(2).confident(0.8), max_rows=ROWS).explain(X[[0, 60]])
    assert sure.success == [True, True]
    assert (model.predict_proba(sure.cf["X"])[:, 2] >= 0.8).all()
    assert sure.target.tolist() == [["2 with a probability of at least 0.8"]] * 2
    assert strictly(sure.to_json())["meta"]["params"]["target_class"] == "Target.label(2).confident(0.8)"
    each = NTDCFE(model.predict_proba, [Target.label(1), Target.other()], max_rows=ROWS).explain(X[[0, 60]])
    assert each.cf["class"][0, 0] == 1
    assert each.cf["class"][1, 0] != 1
    values = NTDCFE(lambda rows: rows.sum(1), Target.interval(20, 21), max_rows=ROWS).explain(X[:1])
    assert 20 <= values.cf["class"].item() <= 21


def test_targets_of_the_engine_that_do_not_fit(iris):
    X, _, model = iris
    with pytest.raises(ValueError, match="2 instances, 1 targets"):
        NTDCFE(model.predict_proba, [Target.label(1)]).explain(X[:2])
    with pytest.raises(ValueError, match="must be left out beside a Target"):
        NTDCFE(model.predict_proba, Target.label(1), target_proba=0.9)
    with pytest.raises(ValueError, match="must be left out beside a Target"):
        NTDCFE(model.predict, Target.label(1), target_interval=(0, 1))
    with pytest.raises(ValueError, match="output must be 'values'"):
        NTDCFE(model.predict_proba, Target.interval(0, 1), output="labels")
    with pytest.raises(ValueError, match="or Targets"):
        NTDCFE(model.predict_proba, [Target.label(1), 2]).explain(X[:2])


class Unchanged(Constraint):
    """A feature, by any of its keys, does not change."""

    def __init__(self, key):
        self.key = key

    def bind(self, features):
        return Unchanged(features.index(self.key))

    def broken(self, x, original):
        return (x[..., self.key] != original[:, self.key]).any(1)


@pytest.mark.parametrize("key", ["job", 4, -1])
def test_any_constraint_names_features_by_name_or_column(key):
    recorder = Recorder(lambda X: likes_owners_with_job_7(X[:, 1:4].argmax(1), X[:, 4], X[:, 0]))
    explainer = NTDCFE(
        recorder,
        feature_names=["income", "home", "job"],
        category_map={1: ADULT["home"], 4: ADULT["job"]},
        ohe=[1],
        constraints=[Unchanged(key)],
        feature_range={"income": (0, 200)},
        max_rows=ROWS,
    )
    explanation = explainer.explain(np.array([[20.0, 1, 0, 0, 2]]))
    assert explanation.success == [True]
    assert (recorder.seen[:, 4] == 2).all()
    assert (recorder.seen[:, 1:4] != [1, 0, 0]).any()


def test_a_near_miss_beyond_all_numbers_is_null_in_json():
    X = np.array([[1.0e308, -6.0e307], [-1.6e308, -1.0e307], [1.0e307, 2.0e307]])

    def predict(X):
        p = (np.tanh(X).mean(-1) + 1) / 2
        return np.column_stack([1 - p, p])

    explanation = NTDCFE(predict, max_rows=300, seed=0).explain(X)
    json.dumps(json.loads(explanation.to_json()), allow_nan=False)
    assert explanation.data["near_miss"][1]["distance"] is None


def test_a_result_with_categories_comes_back_from_plain_json(monkeypatch):
    kept = []
    search = ntdcfe.NTDCFE.explain_batch
    monkeypatch.setattr(ntdcfe.NTDCFE, "explain_batch", lambda *a, **k: kept.extend(found := search(*a, **k)) or found)
    explainer = NTDCFE(
        lambda X: likes_owners_with_job_7(X[:, 1:4].argmax(1), X[:, 4], X[:, 0]),
        feature_names=["income", "home", "job"],
        category_map={1: ADULT["home"], 4: ADULT["job"]},
        ohe=[1],
        immutable_features=["income"],
        max_rows=ROWS,
    )
    explainer.explain(np.array([[20.0, 1, 0, 0, 2]]))
    (cf,) = kept
    again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict())))
    assert str(again) == str(cf)
    assert "from job 2 to job 7" in str(again)
    np.testing.assert_array_equal(again.x, cf.x)


def test_the_adapter_s_own_questions_are_tried_again_and_counted(iris):
    X, _, model = iris

    def flaky(rows):
        if recorder.calls == 1:
            raise ConnectionError("try again")
        return model.predict_proba(rows)

    recorder = Recorder(flaky)
    settings = SearchSettings(max_rows=300, max_batch_size=1, retries=1, retry_wait=0.0)
    explanation = NTDCFE(recorder, settings=settings).explain(X[:1], num_samples=2)
    assert explanation.success == [True]
    assert explanation.calls == [recorder.calls]
    assert explanation.rows == [len(recorder.seen) - 1]  # without the row that failed


def test_rows_given_with_the_call_include_the_adapter_s_own(iris):
    X, _, model = iris
    recorder = Recorder(model.predict_proba)
    explanation = NTDCFE(recorder).explain(X[:1], max_rows=150)
    assert explanation.rows == [len(recorder.seen)]
    assert len(recorder.seen) <= 150


@pytest.mark.parametrize("max_rows", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("target", ["other", "same"])
def test_a_few_rows_are_not_exceeded(iris, max_rows, target):
    X, _, model = iris
    recorder = Recorder(model.predict_proba)
    explanation = NTDCFE(recorder, target).explain(X[[0, 60]], max_rows=max_rows)
    assert len(recorder.seen) <= 2 * max_rows
    assert sum(explanation.rows) == len(recorder.seen)
    if target == "same":
        assert explanation.status == ["already_target"] * 2
        np.testing.assert_array_equal(explanation.cf["X"], X[[0, 60]])


def held(predictor, x, noise, wanted):
    """The share of 500 copies of one row with that noise that the predictor puts into the class."""
    rng = np.random.default_rng(7)
    return (predictor(x + noise * rng.standard_normal((500, *x.shape))).argmax(1) == wanted).mean()


def test_the_options_of_an_explanation_and_which_of_them_is_preferred(tmp_path):
    X = np.full((1, 8, 2), -0.5)
    ranges = {"feature_range": (-2, 2), "feature_names": ["load", "wind"]}
    chosen = {}
    for prefer in ("simplest", "nearest", "sturdiest"):
        explanation = NTDCFE(last_steps, 1, **ranges, max_rows=3000).explain(X, prefer=prefer)
        assert explanation.option == [prefer]
        assert explanation.meta["params"]["prefer"] == prefer
        (places,), (several,) = explanation.options, explanation.all
        assert set(places) == {"simplest", "nearest", "sturdiest"}
        assert places[prefer] == 0
        for name, place in places.items():
            entry = several[place]
            assert name in entry["option"]
            assert entry["class"] == last_steps(entry["X"]).argmax() == 1
            assert entry["distance"] == pytest.approx(np.abs(entry["X"] - X).sum())
        chosen[prefer] = explanation
    nearest, simplest, sturdiest = (chosen[name].proximity[0] for name in ("nearest", "simplest", "sturdiest"))
    assert nearest <= simplest <= sturdiest
    explanation = chosen["simplest"]
    (edits,), (survival,) = explanation.edits, explanation.survival
    assert all(edit["text"] in explanation.text[0] for edit in edits)
    assert survival["lower_bound"] <= survival["share"] <= 1
    assert held(last_steps, explanation.cf["X"][0], survival["noise"], 1) >= survival["lower_bound"] - 0.05
    assert len(explanation.contributions[0]) == len(edits)
    again = Explanation.from_json(explanation.to_json())
    strictly(explanation.to_json())
    assert (again.edits, again.survival, again.options) == (
        explanation.edits, explanation.survival, explanation.options
    )  # fmt: skip
    explainer = NTDCFE(last_steps, 1, **ranges, max_rows=1500)
    explainer.save(tmp_path)
    loaded = load_explainer(tmp_path, last_steps)
    assert loaded.explain(X, prefer="nearest").edits == explainer.explain(X, prefer="nearest").edits


def test_sentences_name_the_steps_as_the_user_does():
    X, months = np.full((1, 4, 1), -0.5), ["May", "June", "July", "August"]
    explanation = NTDCFE(last_steps, 1, ["load"], step_names=months, max_rows=ROWS).explain(X)
    assert any(month in explanation.text[0] for month in months)
    assert "step " not in explanation.text[0]
    with pytest.raises(ValueError, match="step_names must name the 8 steps"):
        NTDCFE(last_steps, 1, step_names=months).explain(np.zeros((1, 8, 1)))


def test_what_auto_takes_the_answers_for_is_said_once_and_can_be_said():
    def logits(X):  # within 0 to 1, which probabilities are, too
        return np.column_stack([np.full(len(X), 0.5), np.clip(X[:, 0], 0, 1)])

    X = np.array([[0.2, 0.0]])
    explainer = NTDCFE(logits, scales={0: 0.2, 1: 0.2}, max_rows=ROWS)
    with pytest.warns(UserWarning, match="taken as logits, as the columns .* do not add up to 1"):
        first = explainer.explain(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explainer.explain(X)
    assert first.meta["params"]["output"] == "logits"
    np.testing.assert_allclose(first.orig_proba.sum(1), 1)
    with pytest.warns(UserWarning, match=r"taken as the probability of class 1, as 0\.2"):
        NTDCFE(lambda X: X[:, 0].clip(0, 1), max_rows=50).explain(X)
    for output, predictor in {"logits": logits, "auto": lambda X: two_columns(X[:, 0].clip(0, 1))}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            NTDCFE(predictor, output=output, max_rows=50).explain(X)


def test_probabilities_that_rounding_put_outside_0_to_1_are_probabilities():
    def rounded(X):
        return two_columns((X[:, 0] > 1).astype(float)) * 1.0000001

    explanation = NTDCFE(rounded, scales={0: 1.0}, max_rows=ROWS).explain(np.array([[0.0]]))
    assert explanation.meta["params"]["output"] == "probabilities"
    np.testing.assert_array_equal(explanation.orig_proba, [[1, 0]])
    assert explanation.success == [True]


@pytest.mark.parametrize("word", ["other", "same"])
def test_a_class_that_is_called_like_a_word_of_alibi_s(iris, word):
    X, _, model = iris
    explainer = NTDCFE(model.predict_proba, word, classes=["a", word, "c"], max_rows=ROWS)
    with pytest.raises(ValueError, match=rf"say Target.label\('{word}'\) for the class"):
        explainer.explain(X[:1])
    meant = NTDCFE(model.predict_proba, Target.label(word), classes=["a", word, "c"], max_rows=ROWS)
    assert meant.explain(X[:1]).cf["class"].tolist() == [[word]]


def test_labels_are_translated_to_the_type_of_the_predictor_s_own():
    def numbers(X):
        return (X[:, 0] > 1).astype(int)

    def words(X):
        return np.where(X[:, 0] > 1, "1", "0")

    X, options = np.array([[0.0]]), {"scales": {0: 1.0}, "max_rows": ROWS}
    assert NTDCFE(numbers, "1", **options).explain(X).cf["class"].tolist() == [[1]]
    assert NTDCFE(numbers, **options).explain(X, Y_t=["1"]).cf["class"].tolist() == [[1]]
    assert NTDCFE(words, 1, **options).explain(X).cf["class"].tolist() == [["1"]]
    assert NTDCFE(lambda X: two_columns(numbers(X)), "1", **options).explain(X).cf["class"].tolist() == [[1]]
    recorder = Recorder(numbers)
    with pytest.raises(ValueError, match=r"target 'yes' is no label of the predictor, which gives 0"):
        NTDCFE(recorder, "yes", **options).explain(X)
    assert len(recorder.seen) == 1


def test_names_of_the_engine_that_alibi_spells_differently(iris):
    X, _, model = iris
    explainer = NTDCFE(model.predict_proba, max_rows=ROWS)
    for wrong, meant in {
        "n_counterfactuals": "num_samples", "target": "Y_t", "desired_class": "Y_t", "progress": "verbose",
        "max_row": "max_rows",
    }.items():  # fmt: skip
        with pytest.raises(TypeError, match=f"unexpected argument '{wrong}': did you mean {meant}\\?"):
            explainer.explain(X[:1], **{wrong: 2})
    for wrong, meant in {
        "target": "target_class", "bounds": "feature_range", "permitted_range": "feature_range",
        "precision": "decimals", "imutable_features": "immutable",
    }.items():  # fmt: skip
        with pytest.raises(TypeError, match=f"unexpected argument '{wrong}': did you mean {meant}"):
            NTDCFE(model.predict_proba, **{wrong: 2})
    with pytest.raises(TypeError, match="conditions are given to the explainer"):
        explainer.explain(X[:1], C=[{}])
    with pytest.raises(TypeError, match="num_samples above 1"):
        explainer.explain(X[:1], diversity=True)
    for nothing in ([], None):  # as alibi's own tests call CounterfactualRL
        assert explainer.explain(X[:1], Y_t=np.array([1]), C=nothing).success == [True]


def test_whole_numbers_stay_whole_unless_it_is_said_otherwise():
    def predictor(X):
        return two_columns(sigmoid(X[:, 0] / 7 + X[:, 1] - 6.05))

    def explained(X, **options):
        limits = {"feature_range": {"age": (18, 70), "share": (0, 1)}, "immutable_features": ["share"]}
        explainer = NTDCFE(predictor, 1, ["age", "share"], max_rows=ROWS, **limits, **options)
        explanation = explainer.explain(X, prefer="nearest")
        assert explanation.success == [True]
        return explanation.cf["X"][0, 0]

    for X in (np.array([[26.0, 0.0]]), np.array([[26, 0]])):
        assert explained(X) == 43
    assert explained(np.array([[26.0, 0.0]]), decimals={"age": 2}) == pytest.approx(42.36, abs=0.2)
    assert explained(np.array([[26.0, 0.0]]), decimals={"age": None}) % 1 != 0
    assert explained(np.array([[26.5, 0.0]])) % 1 != 0
    # Few and small numbers without decimals are whole by chance.
    scaled = NTDCFE(lambda X: two_columns(sigmoid(9 * (X[:, 0] - 0.4))), 1, feature_range=(0, 1), max_rows=ROWS)
    assert scaled.explain(np.array([[0.0, 1.0]])).cf["X"][0, 0] % 1 != 0


@pytest.mark.parametrize("ohe", [False, True])
def test_categories_move_as_their_order_and_their_moves_allow(ohe):
    columns = {"education": ["school", "bachelor", "master"], "status": ["single", "married", "divorced"]}

    def codes(X):
        return np.column_stack([X[:, :3].argmax(1), X[:, 3:].argmax(1)]) if ohe else X

    recorder = Recorder(lambda X: (np.abs(codes(X)[:, 0] - 1) + (codes(X)[:, 1] == 2) > 0).astype(int))
    row = np.array([[0, 1, 0, 1, 0, 0]] if ohe else [[1, 0]], float)
    explainer = NTDCFE(
        recorder,
        feature_names=list(columns),
        category_map={3 * i if ohe else i: names for i, names in enumerate(columns.values())},
        ohe=ohe,
        directions={"education": "rise"},
        moves={"status": {"single": ["married"], "married": ["divorced"]}},
        max_rows=200,
    )
    explanation = explainer.explain(row, Y_t=np.array([1]), num_samples=2)
    seen = codes(recorder.seen)
    assert (seen[:, 0] >= 1).all()
    assert (seen[:, 1] < 2).all()
    for entry in explanation.all[0]:
        assert entry["edits"][0]["text"] == "raise 'education' from bachelor to master"
    assert explanation.edits[0][0]["text"] == "raise 'education' from bachelor to master"
    with pytest.raises(ntdcfe.InvalidInputError, match="moves"):
        NTDCFE(recorder, feature_names=["age"], moves={"age": {"young": ["old"]}})


@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 300), marks=pytest.mark.slow)], ids=len)
def test_no_forbidden_move_is_ever_sent_nor_answered(seeds):
    moved = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        features = Features([random_feature(rng, name) for name in "abc"] + [Continuous(name="d", bounds=(-2, 2))])
        groups = [group.start for group in features.groups()]
        categories = {column: f for f, column in zip(features, groups, strict=True) if f.choices is not None}
        state = np.array([[rng.normal() if f.choices is None else rng.choice(f.choices) for f in features]])
        weights = rng.normal(size=features.n_columns)
        recorder = Recorder(lambda X, weights=weights: (X @ weights > 0.3).astype(int))
        explainer = NTDCFE(
            recorder,
            feature_names=list(features.names),
            category_map={column: [f.describe(choice) for choice in f.choices] for column, f in categories.items()},
            ohe=[column for column, f in categories.items() if isinstance(f, OneHot)],
            feature_range={"d": (-2, 2)},
            directions={f.name: f.direction for f in categories.values() if f.direction},
            moves={f.name: dict(f.moves) for f in categories.values() if f.moves is not None},
            max_rows=60,
        )
        explanation = explainer.explain(features.decode(state), num_samples=1 + seed % 3)
        answers = [entry["X"] for entry in explanation.all[0]]
        shown = features.encode(np.concatenate([recorder.seen, *answers])[:, None])
        assert forbidden(features, state, shown) == set(), (seed, features)
        moved += bool((shown[..., :3] != state[:, :3]).any())
    assert moved > 0.6 * len(seeds)


def test_a_picture_and_a_letter_in_one_line(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    explainer = NTDCFE(
        lambda X: two_columns((X[:, 0] + X[:, 1] > 60).astype(float)),
        feature_names=["income", "savings"],
        feature_range={"income": (0, 100), "savings": (0, 100)},
        non_actionable_features=["savings"],
        constraints=[Causal("savings", "income", lambda income: income / 4)],
        max_rows=ROWS,
        seed=3,
    )
    explanation = explainer.explain(np.array([[20.0, 5.0], [80.0, 20.0]]), Y_t=np.array([1]))
    figure = explanation.plot(0, title="Why was it refused?")
    assert any("income" in text.get_text() for axis in figure.axes for text in axis.texts)
    pyplot.close(figure)
    letter = explanation.report(tmp_path / "letter.html", 0, model="lender 1.0")
    page, facts = letter.read_text(), json.loads(letter.with_suffix(".json").read_text())
    assert "lender 1.0" in page
    assert facts["search"]["seed"] == 3
    assert facts["rules"]["constraints"] == ["'savings' follows from 'income'"]
    assert facts["search"]["rows"] == explanation.rows[0]
    assert facts["decision"]["sentences"][0] in explanation.text[0]
    explanation.report(tmp_path / "other.html", i=1)
    for copied in (pickle.loads(pickle.dumps(explanation)), explanation):  # the rule's function is not pickled
        copied.plot(-2)
        with pytest.raises(ntdcfe.InvalidInputError, match="one of 2 instances"):
            copied.plot(2)
    pyplot.close("all")
    with pytest.raises(ntdcfe.InvalidInputError, match="read from JSON"):
        type(explanation).from_json(explanation.to_json()).plot()


def test_each_of_several_counterfactuals_has_its_edits_its_picture_and_its_letter(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    predictor = lambda X: two_columns((X[:, :3].max(1) > 1).astype(float))  # noqa: E731
    explainer = NTDCFE(predictor, feature_names=["a", "b", "c", "d"], max_rows=2000)
    explanation = explainer.explain(np.zeros((2, 4)), num_samples=3)
    for i, several in enumerate(explanation.all):
        assert len(several) == len(explanation.counterfactuals[i]) >= 3
        for sample, entry in enumerate(several):
            cf = explanation.counterfactuals[i][sample]
            np.testing.assert_array_equal(cf.x, entry["X"][0])
            assert [edit["text"] for edit in entry["edits"]] == cf.sentences() != []
            pyplot.close(explanation.plot(i, sample))
    letter = explanation.report(tmp_path / "letter.html", 1, sample=2)
    told = json.loads(letter.with_suffix(".json").read_text())["decision"]["sentences"]
    assert told == [edit["text"] for edit in explanation.all[1][2]["edits"]]
    with pytest.raises(ntdcfe.InvalidInputError, match="sample must be one of"):
        explanation.plot(0, 9)


def test_a_target_that_cannot_be_one_of_the_labels_seen_is_refused():
    """Labels may be objects of any type, which no text can be made into."""
    labels = NTDCFE(lambda X: np.array([object()] * len(X)), target_class=0, output="labels", max_rows=20)
    with pytest.raises(ntdcfe.InvalidInputError, match="no label of the predictor, which gives <object"):
        labels.explain(np.zeros((1, 2)), Y_t="x")
