"""In sktime: any container in, the same container out; estimators that pass sktime's own checks."""

import copy
import doctest
import json
import pickle
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest

pytest.importorskip("sktime")

import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError as SklearnNotFitted
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.preprocessing import StandardScaler
from sktime.classification.base import BaseClassifier
from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
from sktime.classification.dummy import DummyClassifier
from sktime.classification.interval_based import TimeSeriesForestClassifier
from sktime.classification.model_selection import TSCGridSearchCV
from sktime.datasets import load_basic_motions, load_japanese_vowels, load_unit_test
from sktime.datatypes import convert_to
from sktime.dists_kernels import FlatDist, ScipyDist
from sktime.exceptions import NotFittedError
from sktime.pipeline import make_pipeline
from sktime.regression.distance_based import KNeighborsTimeSeriesRegressor
from sktime.transformations.compose import FeatureUnion, FitInTransform, Id
from sktime.transformations.panel.padder import PaddingTransformer
from sktime.transformations.panel.truncation import TruncationTransformer
from sktime.transformations.series.adapt import TabularToSeriesAdaptor
from sktime.transformations.series.detrend import Detrender
from sktime.transformations.series.difference import Differencer
from sktime.transformations.series.exponent import ExponentTransformer
from sktime.transformations.series.impute import Imputer
from sktime.transformations.series.paa import PAA
from sktime.transformations.series.summarize import SummaryTransformer
from sktime.utils.estimator_checks import check_estimator

from ntdcfe import NTDCFE, Counterfactual, Features, InvalidInputError, SearchSettings, Target
from ntdcfe_plugins.sktime import (
    CounterfactualClassifier,
    CounterfactualExplainer,
    CounterfactualRegressor,
    CounterfactualTransformer,
)
from ntdcfe_plugins.sktime.panels import panel_of
from ntdcfe_plugins.sktime.steps import names_of

ESTIMATORS = [CounterfactualClassifier, CounterfactualRegressor, CounterfactualTransformer]
try:
    from sktime.transformations.colconcat import ColumnConcatenator
    from sktime.utils.estimator_checks import parametrize_with_checks

    with_checks = parametrize_with_checks(ESTIMATORS)
except ImportError:  # the oldest sktime, whose checks of an estimator are one test
    from sktime.transformations.panel.compose import ColumnConcatenator

    with_checks = pytest.mark.parametrize(("obj", "test_name"), [(estimator, None) for estimator in ESTIMATORS])

detrends = pytest.mark.skipif(
    version("sktime").startswith("0.30."), reason="sktime 0.30 cannot fit Detrender to panels"
)
EUCLIDEAN = FlatDist(ScipyDist())  # fast without numba
QUICK = SearchSettings(max_rows=1000, batch_rows=20)
SLOW = SearchSettings(max_rows=250, batch_rows=12)  # for models that take milliseconds a row
DAYS = pd.date_range("2024-02-27", periods=100, freq="D")


@with_checks
def test_sktime_s_own_checks(obj, test_name):
    check_estimator(obj, tests_to_run=test_name, raise_exceptions=True, verbose=False)


def test_the_explainer_s_example():  # sktime checks those of its estimators
    (example,) = doctest.DocTestFinder(recurse=False).find(CounterfactualExplainer)
    results = doctest.DocTestRunner().run(example)
    assert results.attempted > 5
    assert results.failed == 0


def motions(n=6):
    """BasicMotions, every fourth step of three channels: (n, 3, 25), and labels."""
    X, y = load_basic_motions(split="train", return_type="numpy3D")
    return X[::-2, :3, ::4][:n].copy(), y[::-2][:n]


@pytest.fixture(scope="module")
def knn():
    X, y = motions(20)
    return KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN).fit(X, y)


@pytest.fixture(scope="module")
def explainer(knn):
    return CounterfactualExplainer(knn, settings=QUICK, random_state=1)


def frames(X, dtypes=("float64",) * 3, names=("x", "y", "z"), delay=0):
    """An array (n, D, K) as DataFrames with timestamps, each `delay` days after the last."""
    return [
        pd.DataFrame(dict(zip(names, one, strict=True)))
        .astype(dict(zip(names, dtypes, strict=True)))
        .set_axis(DAYS[delay * i : delay * i + one.shape[1]])
        .rename_axis("day")
        for i, one in enumerate(X)
    ]


def nested(X, cell):
    return pd.DataFrame(
        {name: [cell(one[j]) for one in X] for j, name in enumerate("xyz")},
        index=pd.Index([f"watch {9 - i}" for i in range(len(X))], name="id"),
    )


def container(kind, X):
    ids = [f"watch {9 - i}" for i in range(len(X))]
    whole = np.rint(10 * np.nan_to_num(X))
    return {
        "numpy3D": X,
        "numpy3D float32": X.astype(np.float32),
        "numpy3D int16": whole.astype(np.int16),
        "numpyflat": X.reshape(len(X), -1),
        "numpyflat uint8": np.clip(whole + 100, 0, 200).astype(np.uint8).reshape(len(X), -1),
        "pd-multiindex": pd.concat(frames(X), keys=ids, names=["id", "day"]),
        "pd-multiindex mixed": pd.concat(frames(whole, ("int64", "float32", "float64")), keys=ids, names=["id", "day"]),
        "nested_univ": nested(X, lambda values: pd.Series(values, index=DAYS[: len(values)], name="cell")),
        "nested_univ int": nested(whole, lambda values: pd.Series(values.astype(int))),
        "nested_univ float32": nested(X, lambda values: pd.Series(values.astype(np.float32))),
        "df-list": frames(X),
        "df-list delayed": frames(X, delay=1),
        "df-list mixed": frames(whole, ("int32", "float32", "float64")),
    }[kind]


KINDS = [
    "numpy3D", "numpy3D float32", "numpy3D int16", "numpyflat", "numpyflat uint8", "pd-multiindex",
    "pd-multiindex mixed", "nested_univ", "nested_univ int", "nested_univ float32",
    "df-list", "df-list mixed",
]  # fmt: skip


def cells(X):
    """Every value of a container in one list, and all around the values."""
    if isinstance(X, np.ndarray):
        return X.ravel(), (X.shape, X.dtype)
    if isinstance(X, list):
        values, around = zip(*map(cells, X), strict=True)
        return np.concatenate(values), around
    if isinstance(X.iloc[0, 0], pd.Series):
        values, around = cells([cell.to_frame() for cell in X.to_numpy().ravel()])
        return values, (around, list(X.index), X.index.name, list(X.columns))
    index = [list(X.index), list(X.index.names), X.index.dtype]
    return X.to_numpy(dtype=float, na_value=np.nan).ravel(), (index, list(X.columns), list(X.dtypes))


@pytest.mark.parametrize("kind", KINDS)
def test_every_container_comes_back_with_its_changed_cells_only(kind):
    X, y = motions(20)
    given = container(kind, X)
    model = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN).fit(given, y)
    some = given.loc[given.index.unique(0)[:3]] if isinstance(given, pd.DataFrame) else given[:3]
    if kind.startswith("nested"):
        some = given.iloc[:3]
    untouched = cells(copy.deepcopy(some))
    result = CounterfactualExplainer(model, settings=QUICK, random_state=0).explain(some, "other")

    assert result.table["valid"].all()
    assert (model.predict(result.counterfactuals) == result.table["prediction"]).all()
    assert (model.predict(some) != model.predict(result.counterfactuals)).all()
    before, around_before = cells(some)
    np.testing.assert_array_equal(before, untouched[0])
    after, around_after = cells(result.counterfactuals)
    assert around_after == around_before == untouched[1]
    assert (before != after).sum() == result.table["sparsity"].sum()
    assert np.abs(after.astype(float) - before).sum() == pytest.approx(result.table["proximity"].sum(), rel=1e-4)


def test_types_that_know_missing_values_are_kept():
    frame = frames(np.rint(motions(1)[0]), ("Int32", "Float64", "float64"))[0]
    frame.iloc[3, :2] = pd.NA
    panel, as_given = panel_of(frame, tabular=False)
    (values,) = panel.series
    assert np.isnan(values[3, 0])
    values = values.copy()
    values[5] = 7.2
    written = as_given(panel.filled([values]))
    assert written.iloc[5].tolist() == [7, 7.2, 7.2]
    pd.testing.assert_frame_equal(written.drop(index=frame.index[5]), frame.drop(index=frame.index[5]))


class TestTheTable:
    def test_has_a_row_an_instance_under_its_id(self, explainer):
        X = container("pd-multiindex", motions(3)[0])
        result = explainer.explain(X, "other")
        assert list(result.table.index) == ["watch 9", "watch 8", "watch 7"]
        assert list(result.table.columns) == [
            "present", "target", "prediction", "valid", "status", "complete", "proximity", "sparsity", "changes",
            "option", "edits", "survival", "lower_bound", "rows", "calls", "seconds",
        ]  # fmt: skip
        assert (result.table["rows"] <= 1000).all()
        assert result.table["changes"].str.contains("'[xyz]'").all()
        assert repr(result) == "CounterfactualResult(3 instances, 3 valid)"
        assert "watch 8" in str(result)
        assert [cf.sparsity for cf in result.details] == result.table["sparsity"].tolist()

    def test_says_what_was_not_found(self):
        X, y = motions(20)
        never = CounterfactualExplainer(DummyClassifier().fit(X, y), settings=QUICK)
        target = next(label for label in np.unique(y) if label != never.estimator.predict(X[:1])[0])
        result = never.explain(X[:2], target)
        np.testing.assert_array_equal(result.counterfactuals, X[:2])
        assert not result.table["valid"].any()
        assert result.table["sparsity"].isna().all()
        assert set(result.table["status"]) == {"budget_exhausted"}


class Seen(BaseClassifier):
    """Notes how many series it is asked about, by whichever method; its predict need not be what is likeliest."""

    _tags = {"X_inner_mtype": "numpy3D", "capability:multivariate": True, "capability:predict_proba": True}  # noqa: RUF012

    def __init__(self, threshold=0.5):
        self.threshold = threshold
        super().__init__()

    def _fit(self, X, y):
        self.seen_ = []
        return self

    def predict(self, X):
        self.seen_.append(len(super().predict_proba(X)))
        return self.classes_[(super().predict_proba(X)[:, 1] > self.threshold).astype(int)]

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        self.seen_.append(len(proba))
        return proba

    def _predict_proba(self, X):
        high = 1 / (1 + np.exp(-3 * (X[:, 0].mean(1) - 1)))
        return np.column_stack([1 - high, high])


class TestTheBudget:
    @pytest.mark.parametrize("kind", ["numpy3D", "pd-multiindex"])
    @pytest.mark.parametrize("threshold", [0.5, 0.8])
    @pytest.mark.parametrize("max_rows", [1, 2, 4, 6, 9, 40, 300])
    def test_rows_are_what_the_model_sees(self, kind, threshold, max_rows):
        X = motions(2)[0]
        X = container(kind, X - X[:, :1].mean(2, keepdims=True))
        model = Seen(threshold).fit(X, np.array([0, 1]))
        result = CounterfactualExplainer(model, random_state=0).explain(X, 1, max_rows=max_rows)
        assert sum(model.seen_) <= 2 * max_rows
        assert result.table["rows"].sum() == sum(model.seen_)
        seen = len(model.seen_)
        np.testing.assert_array_equal(model.predict(result.counterfactuals), result.table["prediction"])
        assert (model.predict(result.counterfactuals) == 1).tolist() == result.table["valid"].tolist()
        assert len(model.seen_) == seen + 2

    def test_a_single_row_is_enough_to_see_that_nothing_has_to_change(self):
        X = motions(2)[0]
        model = Seen().fit(X, np.array([0, 1]))
        present = model.predict(X)
        model.seen_.clear()
        result = CounterfactualExplainer(model).explain(X, present, max_rows=1)
        assert sum(model.seen_) == 2
        assert set(result.table["status"]) == {"already_target"}
        np.testing.assert_array_equal(result.counterfactuals, X)


class TestKindsOfAnswers:
    @pytest.mark.parametrize("prefer", ["simplest", "nearest", "sturdiest"])
    def test_the_preferred_one_is_in_the_container_and_in_the_table(self, prefer):
        X = motions(2)[0]
        X = X - X[:, :1].mean(2, keepdims=True)
        model = Seen().fit(X, np.array([0, 1]))
        result = CounterfactualExplainer(model, random_state=0).explain(X, 1, prefer=prefer, max_rows=3000)
        assert result.table["option"].tolist() == [prefer] * 2
        assert (result.table["lower_bound"] <= result.table["survival"]).all()
        for i, cf in enumerate(result.details):
            assert set(cf.options) == {"simplest", "nearest", "sturdiest"}
            np.testing.assert_array_equal(result.counterfactuals[i].T, cf.options[prefer].x)
            assert result.table["edits"].iloc[i] == "; ".join(edit.text for edit in cf.edits)
            assert (cf.edits == ()) == (prefer == "nearest")
            assert cf.survival.share == result.table["survival"].iloc[i]

    def test_wrappers_pass_it_on(self):
        X, y = motions(6)
        wrapped = CounterfactualClassifier(KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN), random_state=0).fit(X, y)
        result = wrapped.explain(X[:1], prefer="nearest", max_rows=600)
        assert result.table["option"].tolist() == ["nearest"]


class TestTime:
    @pytest.mark.parametrize("kind", ["pd-multiindex", "df-list", "nested_univ"])
    def test_sentences_and_tables_speak_of_the_container_s_own_time(self, kind):
        X = motions(2)[0][:, :, :6]
        X = frames(X - X[:, :1].mean(2, keepdims=True))
        X[0].index = pd.date_range("2024-01-29", periods=6)
        X[1].index = pd.date_range("2025-05-30", periods=6)  # each has its own
        given = X if kind == "df-list" else convert_to(X, kind)
        model = TakesAnything().fit(given, np.array(["low", "high"]))
        result = CounterfactualExplainer(model, random_state=0).explain(given, max_rows=900)
        for i, (year, cf) in enumerate(zip(("2024-", "2025-"), result.details, strict=True)):
            for option in cf.options.values():
                assert "step" not in option.text
            told = [text for text in cf.sentences() if "throughout" not in text]
            assert all(year in text and "00:00" not in text for text in told)
            assert result.table["changes"].iloc[i] == "; ".join(cf.sentences())
            assert cf.features.step_names == tuple(str(day.date()) for day in X[i].index)
            assert str(Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict())))) == str(cf)

    @pytest.mark.parametrize(
        ("index", "expected"),
        [
            (pd.RangeIndex(3), None),
            (pd.Index([0, 1, 2]), None),
            (pd.Index([2001, 2002, 2003]), ["2001", "2002", "2003"]),
            (pd.period_range("2024-11", periods=3, freq="M"), ["2024-11", "2024-12", "2025-01"]),
            (pd.date_range("2024-01-01 08:00", periods=2, freq="h"), ["2024-01-01 08:00:00", "2024-01-01 09:00:00"]),
            (pd.Index(["t0", "t1"]), ["t0", "t1"]),
        ],
    )
    def test_names_of_steps(self, index, expected):
        assert names_of(index) == expected

    def test_names_that_the_user_gives_stay(self):
        X = frames(motions(1)[0][:, :, :4])
        X[0].index = pd.date_range("2024-01-29", periods=4)
        features = Features.continuous(3, ["x", "y", "z"])
        features = replace(features, step_names=["first", "second", "third", "last"])
        model = TakesAnything().fit(X * 2, np.array(["low", "high"]))
        (cf,) = CounterfactualExplainer(model, features, random_state=0).explain(X, max_rows=600).details
        assert cf.features.step_names == ("first", "second", "third", "last")
        assert "2024" not in str(cf)


class TestCompositions:
    @pytest.mark.parametrize(
        ("transformer", "named", "n"),
        [
            (Differencer(), "Differencer", 2),
            (Differencer(), "Differencer", 20),
            (ExponentTransformer(2) * Differencer(), "Differencer", 2),
            (TabularToSeriesAdaptor(StandardScaler()), "TabularToSeriesAdaptor", 2),
            (FeatureUnion([("power", ExponentTransformer(2)), ("steps", Differencer())]), "Differencer", 2),
            (Imputer(), "Imputer", 2),
        ],
        ids=["one", "as many as fitted", "two", "adaptor", "union", "imputer"],
    )
    def test_a_transformer_that_is_fitted_to_each_series_is_refused_with_the_remedy(self, transformer, named, n):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        knn = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)
        each = CounterfactualExplainer((transformer.clone() * knn).fit(X, y), settings=SLOW, random_state=0)
        with pytest.raises(InvalidInputError, match=rf"only the 20 series .*FitInTransform\({named}\(...\)\) in place"):
            each.explain(X[:n])

    @detrends
    def test_one_that_answers_nothing_about_other_series_is_refused_too(self):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        knn = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)
        with pytest.raises(InvalidInputError, match=r"contains NaN.*FitInTransform\(Detrender\(...\)\) in place"):
            CounterfactualExplainer((Detrender() * knn).fit(X, y)).explain(X[:2])
        mended = (FitInTransform(Detrender()) * knn).fit(X, y)
        with pytest.raises(ValueError, match="X") as refused:  # too short for the classifier, which says so itself
            CounterfactualExplainer(mended).explain(X[:2, :, :9])
        assert "in place of Detrender" not in str(refused.value)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "transformer",
        [
            FitInTransform(Differencer()),
            pytest.param(FitInTransform(Detrender()), marks=detrends),
            TabularToSeriesAdaptor(StandardScaler(), fit_in_transform=True),
            FeatureUnion([("as it is", Id()), ("power", ExponentTransformer(2))]),
            Imputer("mean"),
            PAA(6),
            TruncationTransformer(10),
        ],
        ids=lambda transformer: type(transformer).__name__,
    )
    def test_the_remedy_and_other_transformers_are_explained(self, transformer):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        model = (transformer * KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)).fit(X, y)
        settings = SearchSettings(max_rows=120, batch_rows=12)
        result = CounterfactualExplainer(model, settings=settings, random_state=0).explain(X[:1])
        assert result.table["valid"].all()
        assert (model.predict(result.counterfactuals) != model.predict(X[:1])).all()

    def test_what_a_pipeline_takes_is_found_out_by_asking_it(self):
        X, y = motions(20)
        forest = TimeSeriesForestClassifier(5, random_state=0)
        model = (ColumnConcatenator() * forest).fit(X, y)
        assert not model.get_tag("capability:multivariate")
        result = CounterfactualExplainer(model, settings=SLOW, random_state=0).explain(X[:1])
        assert result.table["valid"].all()
        alone = CounterfactualExplainer(forest.clone().fit(X[:, :1], y))
        with pytest.raises(InvalidInputError, match=r"several channels.*ColumnConcatenator\(\)"):
            alone.explain(X[:1])

    def test_scikit_learn_s_model_selection_takes_the_wrappers(self):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        knn = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)
        wrapped = CounterfactualClassifier(knn, settings=QUICK, random_state=0)
        folds = KFold(2, shuffle=True, random_state=0)
        scores = cross_val_score(wrapped, X, y, cv=folds)
        inner = [knn.clone().fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds.split(X)]
        np.testing.assert_allclose(scores, inner)
        assert cross_val_predict(wrapped, X, y, cv=folds).shape == y.shape
        search = GridSearchCV(wrapped, {"classifier__n_neighbors": [1, 3]}, cv=folds, error_score="raise").fit(X, y)
        assert search.best_params_["classifier__n_neighbors"] in (1, 3)
        assert search.best_estimator_.explain(X[:1], max_rows=500).table["valid"].all()
        regressor = CounterfactualRegressor(KNeighborsTimeSeriesRegressor(distance=EUCLIDEAN))
        assert len(cross_val_score(regressor, X, y.astype(float), cv=folds)) == 2

    def test_a_transformer_that_was_fitted_to_one_class_changes_nothing(self):
        X, _ = load_unit_test(split="train", return_type="numpy3D")
        knn = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)
        with pytest.warns(UserWarning, match="fitted to the class '1' only: no series has a counterfactual"):
            same = CounterfactualTransformer(knn, random_state=0).fit_transform(X[:3], np.array(["1"] * 3))
        np.testing.assert_array_equal(same, X[:3])


class TestOneSeries:
    def test_a_frame_a_series_an_array(self, explainer):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        uni = CounterfactualExplainer(
            KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN).fit(X, y), settings=QUICK, random_state=0
        )
        series = pd.Series(X[0, 0], index=DAYS[: X.shape[2]], name="load")
        for given in (series, series.to_frame(), X[0, 0]):
            result = uni.explain(given, "2")
            assert type(result.counterfactuals) is type(given)
            assert len(result.table) == 1
            assert str(result).startswith("The model says 1. For 2 instead:")
        back = uni.explain(series, "2").counterfactuals
        assert back.name == "load"
        assert back.index.equals(series.index)

    def test_is_the_same_alone_and_in_a_panel(self, explainer):
        X, _ = motions(4)
        together = explainer.explain(X, "other").counterfactuals
        np.testing.assert_array_equal(explainer.explain(X[2:3], "other").counterfactuals, together[2:3])


class TestTargets:
    def test_of_a_classifier(self, explainer, knn):
        X, _ = motions(2)
        assert set(explainer.explain(X, "walking").table["prediction"]) == {"walking"}
        several = explainer.explain(X, ["walking", "running"])
        assert set(several.table["prediction"]) <= {"walking", "running"}
        sure = explainer.explain(X, Target.probability("running", 0.9))
        assert (knn.predict_proba(sure.counterfactuals)[:, list(knn.classes_).index("running")] >= 0.9).all()
        for each in (np.array(["walking", "running"]), pd.Series(["walking", "running"], index=[5, 3])):
            assert explainer.explain(X, each).table["prediction"].tolist() == ["walking", "running"]
        each = [Target.label("running"), Target.other()]
        assert explainer.explain(X, each).table["prediction"][0] == "running"

    def test_of_a_regressor(self):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        reg = KNeighborsTimeSeriesRegressor(distance=EUCLIDEAN, n_neighbors=4).fit(X, y.astype(float))
        explainer = CounterfactualExplainer(reg, settings=QUICK, random_state=0)
        assert explainer.explain(X[:3], (None, 1.6)).table["prediction"].max() <= 1.6
        result = explainer.explain(X[:2], [(1.0, 1.3), (1.7, 2.0)])
        assert result.table["valid"].all()
        assert 1.0 <= reg.predict(result.counterfactuals)[0] <= 1.3
        assert 1.7 <= reg.predict(result.counterfactuals)[1] <= 2.0

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("flying", "flying"),
            (np.array(["walking"] * 3), "2 instances, 3 targets"),
            (Target.interval(0, 1), "suit a classifier"),
            ([Target.other()] * 3, "2 instances, 3 targets"),
        ],
    )
    def test_that_make_no_sense_to_a_classifier(self, explainer, target, message):
        with pytest.raises(InvalidInputError, match=message):
            explainer.explain(motions(2)[0], target)

    @pytest.mark.parametrize("target", ["other", 1.5])
    def test_that_make_no_sense_to_a_regressor(self, target):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        reg = KNeighborsTimeSeriesRegressor(distance=EUCLIDEAN).fit(X, y.astype(float))
        with pytest.raises(InvalidInputError, match="regressor: give an interval"):
            CounterfactualExplainer(reg).explain(X[:1], target)


class TestWhatMayChange:
    def test_features_by_the_columns_names(self, knn):
        X = container("pd-multiindex", motions(3)[0])
        features = {"y": {"role": "immutable"}, "x": {"bounds": (-5, 5)}}
        result = CounterfactualExplainer(knn, features, settings=QUICK, random_state=0).explain(X)
        changed = result.counterfactuals != X
        assert not changed["y"].any()
        assert result.counterfactuals["x"][changed["x"]].between(-5, 5).all()

    def test_features_of_the_engine(self, knn):
        X, _ = motions(2)
        features = Features.continuous(3, actionable_steps=slice(5, None))
        result = CounterfactualExplainer(knn, features, settings=QUICK, random_state=0).explain(X)
        assert (result.counterfactuals != X).any()
        np.testing.assert_array_equal(result.counterfactuals[:, :, :5], X[:, :, :5])
        assert "channel" in result.table["changes"][0]

    def test_the_in_distribution_test_sees_numpy3D(self, knn):
        X, _ = motions(2)
        shapes = set()

        def plausible(rows):
            shapes.add(rows.shape[1:])
            return np.abs(rows).max((1, 2)) <= np.abs(X).max()

        result = CounterfactualExplainer(knn, plausible=plausible, settings=QUICK, random_state=0).explain(X)
        assert shapes == {(3, 25)}
        assert np.abs(result.counterfactuals).max() <= np.abs(X).max()

    @pytest.mark.parametrize("features", [{"wind": {}}, Features.continuous(2)])
    def test_features_that_are_not_there(self, knn, features):
        with pytest.raises(InvalidInputError, match=r"features (names|describes)"):
            CounterfactualExplainer(knn, features).explain(motions(1)[0])


class ReadsTheCalendar(BaseClassifier):
    """Says whether the mean over Sundays is high: timestamps matter."""

    _tags = {"X_inner_mtype": "pd-multiindex", "capability:multivariate": True, "capability:predict_proba": True}  # noqa: RUF012

    def _fit(self, X, y):
        return self

    def _predict_proba(self, X):
        days = X.index.get_level_values(1)
        sunday = days.dayofweek == 6 if isinstance(days, pd.DatetimeIndex) else days > np.inf
        mean = X["x"].where(sunday).groupby(level=0, sort=False).mean().fillna(0).to_numpy()
        high = 1 / (1 + np.exp(-mean))
        return np.column_stack([1 - high, high])

    def _predict(self, X):
        return self.classes_[self._predict_proba(X).argmax(1)]


class ContradictsItself(BaseClassifier):
    """Predicts the first class unless the second is almost certain, whatever is likelier."""

    _tags = {"X_inner_mtype": "numpy3D", "capability:multivariate": True, "capability:predict_proba": True}  # noqa: RUF012

    def _fit(self, X, y):
        return self

    def _predict_proba(self, X):
        high = 1 / (1 + np.exp(-X[:, 0].mean(1)))
        return np.column_stack([1 - high, high])

    def _predict(self, X):
        return self.classes_[(self._predict_proba(X)[:, 1] > 0.8).astype(int)]


class TestAsking:
    @pytest.mark.parametrize("kind", ["pd-multiindex", "df-list delayed", "nested_univ"])
    def test_a_model_for_which_timestamps_matter_gets_them(self, kind):
        X = container(kind, motions(2)[0] - 10)
        model = ReadsTheCalendar().fit(container(kind, motions(4)[0]), np.array([0, 1, 0, 1]))
        result = CounterfactualExplainer(model, settings=SLOW, random_state=0).explain(X, 1)
        assert result.table["valid"].all()
        assert (model.predict(result.counterfactuals) == 1).all()
        assert cells(result.counterfactuals)[1] == cells(X)[1]

    def test_predict_has_the_last_word(self):
        X, _ = motions(4)
        model = ContradictsItself().fit(X, np.array(["low", "high"] * 2))
        X = X - X[:, :1].mean(2, keepdims=True)
        result = CounterfactualExplainer(model, settings=QUICK, random_state=0).explain(X, "low")
        assert (model.predict(result.counterfactuals) == "low").all()
        assert result.table["valid"].all()

    @pytest.mark.parametrize("frame", [False, True])
    def test_scikit_learn_on_flat_series(self, frame, recwarn):
        X, y = load_unit_test(split="train", return_type="numpy3D")
        flat = X[:, 0]
        if frame:
            flat = pd.DataFrame(flat, columns=[f"t{k}" for k in range(flat.shape[1])]).set_axis(range(100, 120))
        forest = RandomForestClassifier(10, random_state=0).fit(flat, y)
        result = CounterfactualExplainer(forest, settings=QUICK, random_state=0).explain(flat[:3])
        assert result.table["valid"].all()
        assert (forest.predict(flat[:3]) != forest.predict(result.counterfactuals)).all()
        assert cells(result.counterfactuals)[1] == cells(flat[:3])[1]
        assert not [w for w in recwarn if "feature names" in str(w.message)]
        values = RandomForestRegressor(10, random_state=0).fit(flat, y.astype(float))
        assert CounterfactualExplainer(values, settings=QUICK).explain(flat[:2], (1.4, 1.6)).table["valid"].all()

    @pytest.mark.slow
    def test_a_pipeline_with_a_scikit_learn_classifier(self):
        X, y = motions(20)
        pipeline = (SummaryTransformer() * RandomForestClassifier(10, random_state=0)).fit(X, y)
        result = CounterfactualExplainer(pipeline, settings=SLOW, random_state=0).explain(X[:1])
        assert (pipeline.predict(X[:1]) != pipeline.predict(result.counterfactuals)).all()

    def test_a_model_of_labels_only(self):
        X, y = motions(20)

        class LabelsOnly(BaseClassifier):
            _tags = {"capability:multivariate": True}  # noqa: RUF012

            def _fit(self, X, y):
                return self

            def _predict(self, X):
                return self.classes_[(X[:, 0].mean(1) > 0).astype(int)]

        explainer = CounterfactualExplainer(LabelsOnly().fit(X, (y == "walking")), settings=QUICK)
        assert explainer.explain(X[:2]).table["valid"].all()
        assert explainer.model.method == "predict"

    def test_probabilities_are_used_whatever_the_tag_says(self):
        X, _ = motions(4)

        class Modest(ContradictsItself):
            _tags = {"capability:predict_proba": False}  # noqa: RUF012

        model = Modest().fit(X, np.array(["low", "high"] * 2))
        out_of_reach = Target.probability("high", 1.0)
        result = CounterfactualExplainer(model, settings=SLOW).explain(X[:1], out_of_reach)
        assert result.details[0].found or result.details[0].near_miss is not None


class TakesAnything(BaseClassifier):
    """Says whether the first channel is high on average; of any length, with gaps."""

    _tags = {  # noqa: RUF012
        "X_inner_mtype": "df-list",
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "capability:missing_values": True,
        "capability:predict_proba": True,
    }

    def _fit(self, X, y):
        return self

    def _predict_proba(self, X):
        high = 1 / (1 + np.exp(-np.array([np.nanmean(one.to_numpy()[:, 0]) for one in X])))
        return np.column_stack([1 - high, high])

    def _predict(self, X):
        return self.classes_[self._predict_proba(X).argmax(1)]


class WritesIntoItsInput(BaseClassifier):
    """Says whether the first channel is high on average, and leaves zeros in what it was given."""

    _tags = {  # noqa: RUF012
        "X_inner_mtype": ["numpy3D", "pd-multiindex", "nested_univ", "df-list"],
        "capability:multivariate": True,
        "capability:predict_proba": True,
    }

    def _fit(self, X, y):
        return self

    def _predict_proba(self, X):
        if isinstance(X, np.ndarray):
            high = X[:, 0].mean(-1)
            X[...] = 0
        elif isinstance(X, list):
            high = np.array([one.to_numpy()[:, 0].mean() for one in X])
            for one in X:
                one.iloc[:, :] = 0
        elif isinstance(X.iloc[0, 0], pd.Series):
            high = np.array([cell.mean() for cell in X.iloc[:, 0]])
            for cell in X.to_numpy().ravel():
                cell.iloc[:] = 0
        else:
            high = X.iloc[:, 0].groupby(level=0, sort=False).mean().to_numpy()
            X.iloc[:, :] = 0
        high = 1 / (1 + np.exp(-high))
        return np.column_stack([1 - high, high])

    def _predict(self, X):
        return self.classes_[self._predict_proba(X).argmax(1)]


@pytest.mark.parametrize("kind", ["numpy3D", "pd-multiindex", "nested_univ", "df-list"])
def test_an_estimator_that_writes_into_its_input_does_not_reach_the_users_series(kind):
    X, _ = motions(4)
    model = WritesIntoItsInput().fit(container(kind, X.copy()), np.array([0, 1, 0, 1]))
    given = container(kind, X.copy())
    result = CounterfactualExplainer(model, settings=QUICK, random_state=0).explain(given, "other")
    np.testing.assert_array_equal(cells(given)[0], cells(container(kind, X))[0])
    assert result.table["valid"].all()
    assert (cells(given)[0] != cells(result.counterfactuals)[0]).sum() == result.table["sparsity"].sum()
    assert all((cf.original == one.T).all() for cf, one in zip(result.details, X, strict=True))


class TestLengthsAndGaps:
    @pytest.mark.parametrize("mtype", ["df-list", "nested_univ", "pd-multiindex"])
    @pytest.mark.slow
    def test_unequal_lengths_are_kept(self, mtype):
        X = convert_to(load_japanese_vowels(split="train", return_type="df-list")[0][::12], mtype)
        some = X[:4] if mtype == "df-list" else X.iloc[:4] if mtype == "nested_univ" else X.loc[0:3]
        model = TakesAnything().fit(some, np.array(["low", "high"] * 2))
        result = CounterfactualExplainer(model, settings=QUICK, random_state=0).explain(some)
        assert result.table["valid"].all()
        assert (model.predict(some) != model.predict(result.counterfactuals)).all()
        assert len({len(cf.original) for cf in result.details}) > 1
        assert cells(result.counterfactuals)[1] == cells(some)[1]

    @pytest.mark.slow
    def test_unequal_lengths_behind_a_padder(self):
        X, y = load_japanese_vowels(split="train", return_type="nested_univ")
        X, y = X.iloc[::12], y[::12]
        knn = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)
        model = (PaddingTransformer(pad_length=29) * knn).fit(X, y)
        enough = SearchSettings(max_rows=600, batch_rows=30)  # with 250 rows it takes luck
        result = CounterfactualExplainer(model, settings=enough, random_state=0).explain(X.iloc[:1])
        assert result.table["valid"].all()
        assert cells(result.counterfactuals)[1] == cells(X.iloc[:1])[1]

    def test_unequal_lengths_are_refused_by_tag(self):
        X, _ = motions(2)
        explainer = CounterfactualExplainer(ContradictsItself().fit(X, np.array(["low", "high"])))
        X = frames(X)
        X[1] = X[1].iloc[:20]
        with pytest.raises(InvalidInputError, match=r"unequal length.*capability:unequal_length is False.*Padding"):
            explainer.explain(X)

    @pytest.mark.parametrize("kind", ["numpy3D", "pd-multiindex", "nested_univ", "df-list"])
    def test_gaps_stay(self, kind):
        X, _ = motions(3)
        X[:, :2, ::4] = np.nan
        given = container(kind, X)
        model = TakesAnything().fit(given, np.array(["low", "high", "low"]))
        result = CounterfactualExplainer(model, settings=QUICK, random_state=0).explain(given)
        assert result.table["valid"].all()
        (before, around), (after, around_after) = cells(given), cells(result.counterfactuals)
        assert around == around_after
        np.testing.assert_array_equal(np.isnan(after), np.isnan(before))
        assert (before[~np.isnan(before)] != after[~np.isnan(before)]).sum() == result.table["sparsity"].sum()

    def test_gaps_before_an_imputer(self):
        X, y = motions(20)
        X[:, 1, ::4] = np.nan
        model = (Imputer("mean") * KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)).fit(X, y)
        settings = replace(SLOW, max_rows=600)  # four of five are found in 250 rows, and this is not about that
        result = CounterfactualExplainer(model, settings=settings, random_state=0).explain(X[8:9])
        assert result.table["valid"].all()
        np.testing.assert_array_equal(np.isnan(result.counterfactuals), np.isnan(X[8:9]))

    def test_gaps_are_refused_by_tag(self):
        X, _ = motions(2)
        explainer = CounterfactualExplainer(ContradictsItself().fit(X, np.array(["low", "high"])))
        X[0, 0, 3] = np.nan
        with pytest.raises(InvalidInputError, match=r"missing values.*capability:missing_values is False.*Imputer"):
            explainer.explain(X)

    def test_the_seconds_of_the_settings_hold_for_all_lengths_together(self, monkeypatch):
        clock = [time.time()]
        monkeypatch.setattr("time.time", lambda: clock[0])
        given = []
        search = NTDCFE.explain_batch

        def watched(*arguments, **options):
            given.append(options["max_seconds"])
            clock[0] += 4.0
            return search(*arguments, **options)

        monkeypatch.setattr(NTDCFE, "explain_batch", watched)
        X = frames(motions(2)[0])
        X[1] = X[1].iloc[:20]
        model = TakesAnything().fit(X, np.array(["low", "high"]))
        settings = replace(QUICK, max_seconds=10.0)
        CounterfactualExplainer(model, settings=settings, random_state=0).explain(X)
        assert given == pytest.approx([10.0, 6.0], abs=1.0)

    def test_infinity_is_refused(self, explainer):
        X = motions(2)[0].copy()
        X[0, 0, 3] = np.inf
        with pytest.raises(ValueError, match="infinity"):
            explainer.explain(X)


class TestBackends:
    @pytest.mark.parametrize(
        ("backend", "n_jobs"), [("loky", 2), ("multiprocessing", 2), ("threading", 3), ("threading", 1)]
    )
    @pytest.mark.slow
    def test_give_the_same(self, knn, backend, n_jobs):
        X, _ = motions(5)
        here = CounterfactualExplainer(knn, settings=QUICK, random_state=3).explain(X)
        there = CounterfactualExplainer(
            knn, settings=QUICK, random_state=3, backend=backend, backend_params={"n_jobs": n_jobs}
        ).explain(X)
        np.testing.assert_array_equal(here.counterfactuals, there.counterfactuals)
        # Rows asked may differ by one or two: the last bits of a distance depend on the size of the batch.
        tables = [result.table.drop(columns=["seconds", "rows"]) for result in (here, there)]
        pd.testing.assert_frame_equal(*tables)

    @pytest.mark.filterwarnings("ignore::UserWarning:distributed", "ignore::UserWarning:joblib")
    @pytest.mark.cluster
    def test_a_dask_cluster_too(self, knn):
        distributed = pytest.importorskip("distributed")
        X, _ = motions(5)
        here = CounterfactualExplainer(knn, settings=QUICK, random_state=3).explain(X)
        with (
            distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
            distributed.Client(cluster),
        ):
            there = CounterfactualExplainer(knn, settings=QUICK, random_state=3, backend="dask").explain(X)
        np.testing.assert_array_equal(here.counterfactuals, there.counterfactuals)

    def test_that_sktime_does_not_know(self, knn):
        with pytest.raises(InvalidInputError, match=r"backend must be None or one of .*'loky'.*got 'gpu'"):
            CounterfactualExplainer(knn, backend="gpu")


class TestAtTheDoor:
    def test_without_sktime_the_extra_is_named(self):
        code = "import sys; sys.modules['sktime'] = None; import ntdcfe_plugins.sktime"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "pip install 'ntdcfe-plugins[sktime]'" in done.stderr

    def test_the_model_must_be_fitted(self):
        with pytest.raises(NotFittedError):
            CounterfactualExplainer(KNeighborsTimeSeriesClassifier())
        with pytest.raises(SklearnNotFitted):
            CounterfactualExplainer(RandomForestClassifier())
        with pytest.raises(NotFittedError):
            CounterfactualClassifier(KNeighborsTimeSeriesClassifier()).explain(motions(1)[0])

    def test_the_model_must_predict(self):
        with pytest.raises(InvalidInputError, match="predict"):
            CounterfactualExplainer(ExponentTransformer().fit(motions(1)[0]))

    def test_there_must_be_another_class(self):
        X, _ = motions(4)
        model = CounterfactualClassifier(KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)).fit(X, np.array(["a"] * 4))
        with pytest.raises(InvalidInputError, match="one class"):
            model.explain(X)
        with pytest.raises(InvalidInputError, match="no other"):
            CounterfactualExplainer(KNeighborsTimeSeriesClassifier().fit(X, np.array(["a"] * 4)))

    @pytest.mark.parametrize("X", ["text", np.zeros((0, 3, 25)), [], np.zeros((2, 2, 2, 2)), [np.zeros((3, 25))]])
    def test_what_is_no_panel(self, explainer, X):
        with pytest.raises(InvalidInputError, match=r"X (must be a panel|is empty)"):
            explainer.explain(X)

    def test_what_is_no_number(self, explainer):
        X = container("pd-multiindex", motions(2)[0]).assign(y="walking")
        with pytest.raises(InvalidInputError, match="column 'y' has dtype"):
            explainer.explain(X)


@pytest.fixture(scope="module")
def wrapped():
    X, y = motions(20)
    knn = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)
    return CounterfactualClassifier(knn, settings=QUICK, random_state=2).fit(X, y)


class TestEstimators:
    def test_the_classifier_predicts_as_the_inner_one_and_explains(self, wrapped, knn):
        X, _ = motions(5)
        np.testing.assert_array_equal(wrapped.predict_proba(X), knn.predict_proba(X))
        result = wrapped.explain(X[1:4], "walking", max_rows=900)
        assert set(wrapped.predict(result.counterfactuals)) == {"walking"}
        assert result.table["rows"].max() <= 900

    @pytest.mark.parametrize(
        "compose",
        [
            lambda last: ExponentTransformer(3) * last,
            lambda last: ExponentTransformer(3) * ExponentTransformer(1) * last,
            lambda last: make_pipeline(ExponentTransformer(3), last),
        ],
        ids=["star", "two stars", "make_pipeline"],
    )
    @pytest.mark.slow
    def test_a_pipeline_is_explained_in_its_raw_input(self, compose):
        X, y = motions(20)
        knn = KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN)
        model = compose(CounterfactualClassifier(knn, settings=SLOW, random_state=0))
        assert isinstance(model, CounterfactualClassifier)
        x = X[8:9]
        result = model.fit(X, y).explain(x)
        plain = (ExponentTransformer(3) * knn).fit(X, y)
        assert (plain.predict(x) != plain.predict(result.counterfactuals)).all()
        # Raw values: the third powers have nothing in common with them.
        assert (result.counterfactuals == x).mean() > 0.3

    def test_the_regressor_in_a_pipeline(self):
        X, y = load_unit_test(split="train")
        knn = KNeighborsTimeSeriesRegressor(distance=EUCLIDEAN, n_neighbors=3)
        model = ExponentTransformer(2) * CounterfactualRegressor(knn, settings=SLOW, random_state=0)
        result = model.fit(X, y.astype(float)).explain(X.iloc[:2], (1.3, 1.7))
        assert isinstance(model, CounterfactualRegressor)
        assert result.table["valid"].all()
        assert np.all(np.abs(model.predict(result.counterfactuals) - 1.5) <= 0.2)

    @pytest.mark.parametrize("kind", ["numpy3D", "pd-multiindex", "nested_univ", "df-list"])
    def test_the_transformer_keeps_the_container(self, kind):
        X, y = motions(8)
        given = container(kind, X)
        trafo = CounterfactualTransformer(
            KNeighborsTimeSeriesClassifier(distance=EUCLIDEAN), target="walking", settings=QUICK, random_state=0
        )
        changed = trafo.fit(given, y).transform(given)
        assert cells(changed)[1] == cells(given)[1]
        assert set(trafo.estimator_.predict(given)) == {"badminton", "walking"}
        assert set(trafo.estimator_.predict(changed)) == {"walking"}

    def test_clone_and_parameters(self, wrapped):
        copy = wrapped.clone()
        assert not copy.is_fitted
        assert copy.get_params()["settings"] == QUICK
        assert copy.set_params(classifier__n_neighbors=3, random_state=7).classifier.n_neighbors == 3
        assert copy.random_state == 7
        assert wrapped.classifier.n_neighbors == 1
        assert copy.get_tag("capability:multivariate")
        assert not CounterfactualClassifier(ContradictsItself()).get_tag("capability:unequal_length")

    def test_pickling(self, wrapped):
        X, _ = motions(3)
        loaded = pickle.loads(pickle.dumps(wrapped))
        np.testing.assert_array_equal(loaded.explain(X).counterfactuals, wrapped.explain(X).counterfactuals)
        result = pickle.loads(pickle.dumps(wrapped.explain(X)))
        assert result.table["valid"].all()

    def test_saving_as_sktime_does(self, wrapped, tmp_path):
        X, _ = motions(3)
        wrapped.save(tmp_path / "model")
        loaded = CounterfactualClassifier.load_from_path(tmp_path / "model.zip")
        np.testing.assert_array_equal(loaded.explain(X).counterfactuals, wrapped.explain(X).counterfactuals)

    def test_grid_search_over_the_inner_one(self, wrapped):
        X, y = motions(20)
        grid = TSCGridSearchCV(wrapped.clone(), {"classifier__n_neighbors": [1, 3]}, cv=KFold(4, shuffle=True))
        grid.fit(X, y)
        assert grid.best_params_["classifier__n_neighbors"] in (1, 3)
        assert grid.best_estimator_.explain(X[8:9]).table["valid"].all()
        assert CounterfactualExplainer(grid, settings=QUICK).explain(X[8:9]).table["valid"].all()


def test_a_table_of_nullable_whole_numbers_for_a_scikit_learn_model():
    """A frame with an instance a row: its nullable dtypes were no types of numpy's."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(-5, 6, (30, 6))).astype("Int64")
    y = (frame.sum(axis=1) > 0).astype(int).to_numpy()
    model = LogisticRegression().fit(frame.to_numpy(float), y)
    result = CounterfactualExplainer(model, settings=QUICK, random_state=0).explain(frame.iloc[:2], "other")
    assert result.table["valid"].all()
    assert (result.counterfactuals.dtypes == "Int64").all()
