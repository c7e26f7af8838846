"""A caller who has numpy raise on every floating-point error: our arithmetic does not, and their model still does."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, Features, InvalidInputError, SearchSettings
from ntdcfe_plugins._shared.numpy_errors import as_caller, silent

SMALL = SearchSettings(max_rows=400, batch_rows=25)
# In single precision they are 0 or infinite, as some products of them are in double precision.
SIZES = [1e-60, 1.0, 1e60]


class Seen:
    """A model of labels, or probabilities, that notes what is set of numpy where it is asked."""

    def __init__(self, size):
        self.size, self.states = size, []

    def label(self, X):
        self.states.append(np.geterr())
        X = np.asarray(X, float)
        return (X.reshape(len(X), -1)[:, -2:].mean(1) > 0.2 * self.size).astype(int)

    def __call__(self, X):
        label = self.label(X)
        return np.column_stack([1 - label, label]).astype(float)


def rows(size, *shape):
    return size * np.random.default_rng(0).normal(-0.5, 0.3, shape)


def by_alibi(size):
    pytest.importorskip("alibi")
    from ntdcfe_plugins.alibi import NTDCFE as Explainer

    model = Seen(size)
    data = Explainer(model, target_class=1, settings=SMALL).explain(rows(size, 2, 3), num_samples=2).data
    return model, np.asarray(data["cf"]["X"])


def by_dice(size):
    dice_ml = pytest.importorskip("dice_ml")
    import pandas as pd

    from ntdcfe_plugins.dice import NTDCFE as Explainer

    model, names = Seen(size), ["a", "b", "c"]
    model.predict_proba, model.predict, model.classes_ = model.__call__, model.label, np.array([0, 1])
    frame = pd.DataFrame(rows(size, 2, 3), columns=names)
    frame.iloc[1] = 0.4 * size  # one that reaches the target already: rows near it are tried
    data = dice_ml.Data(
        features={name: [-3.0 * size, 3.0 * size] for name in names},
        outcome_name="y",
        type_and_precision={name: ["float", 100] for name in names},
    )
    wrapped = dice_ml.Model(model=model, backend="sklearn")
    settings = SMALL.given(prefer="simplest")
    explainer = Explainer(data, wrapped, settings=settings)
    found = explainer.generate_counterfactuals(frame, total_CFs=2, desired_class=1, random_seed=0)
    return model, [example.final_cfs_df.to_numpy(float) for example in found.cf_examples_list]


def by_sktime(size):
    pytest.importorskip("sktime")
    from sktime.classification.base import BaseClassifier

    from ntdcfe_plugins.sktime import CounterfactualExplainer

    model = Seen(size)

    class Classifier(BaseClassifier):
        _tags = {"X_inner_mtype": "numpy3D", "capability:multivariate": True}  # noqa: RUF012

        def _fit(self, X, y):
            return self

        def _predict(self, X):
            return model.label(X)

        def _predict_proba(self, X):
            return model(X)

    X = rows(size, 2, 3, 8)
    fitted = Classifier().fit(np.concatenate([X, -X]), np.array([0, 0, 1, 1]))
    return model, CounterfactualExplainer(fitted, settings=SMALL, random_state=0).explain(X, 1).counterfactuals


def by_comparison(size):
    from ntdcfe_plugins.compare import compare

    model, X = Seen(size), rows(size, 2, 6, 2)
    explainers = {"ours": NTDCFE(model, settings=SMALL), "shift": lambda x: x + 2 * size}
    # scikit-learn refuses what is infinite in single precision.
    reference = rows(size, 30, 6, 2) if size <= 1 else None
    found = compare(explainers, X, model, 1, reference, draws=20, progress=False)
    assert {row["status"] for row in found.table} == {"found"}, found.table
    shown = [row | {"seconds": 0, "cpu_seconds": 0} for row in found.table]
    assert str(found)
    return model, [*found.counterfactuals.values(), np.array(repr(shown))]


ADAPTERS = {"alibi": by_alibi, "dice": by_dice, "sktime": by_sktime, "compare": by_comparison}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_our_arithmetic_is_silent_and_the_model_runs_as_the_caller_has_set(adapter, size):
    _, expected = ADAPTERS[adapter](size)
    with np.errstate(all="raise"):
        model, found = ADAPTERS[adapter](size)
        assert np.geterr() == dict.fromkeys(np.geterr(), "raise")
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.states
    assert all(set(state.values()) == {"raise"} for state in model.states)


@pytest.mark.parametrize("size", SIZES)
def test_pictures_and_letters_are_drawn_under_any_state(size, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from ntdcfe_plugins.letter import write_letter
    from ntdcfe_plugins.plot import plot_counterfactual, plot_options

    cfs = []
    for shape in ((8, 2), (4,)):
        features = Features.continuous(shape[-1], scale=0.3 * size)
        cfs.append(NTDCFE(Seen(size), features, settings=SMALL).explain(rows(size, *shape), 1))
    for i, cf in enumerate(cfs):
        with np.errstate(all="raise"):
            assert plot_counterfactual(cf)
            assert plot_options(cf)
            assert write_letter(cf, tmp_path / f"{i}.html").exists()
            assert str(cf)


def test_a_model_within_our_code_has_the_callers_state_and_what_it_calls_of_ours_has_ours():
    seen = []

    @silent()
    def ours(then):
        seen.append(np.geterr()["over"])
        with as_caller():
            seen.append(np.geterr()["over"])
            then()
        seen.append(np.geterr()["over"])

    with np.errstate(over="raise"):
        ours(lambda: ours(lambda: None))
    assert seen == ["ignore", "raise", "ignore", "raise", "ignore", "ignore"]
    with as_caller():  # outside of our code it does nothing
        assert np.geterr()["over"] == "warn"


@pytest.mark.parametrize("adapter", ["alibi", "dice", "sktime"])
def test_integers_beyond_2_to_the_53_are_refused_or_reach_the_model_unchanged(adapter):
    """As those of the core, see tests/core/test_whole.py."""
    large = 2**53 + 1
    if adapter == "alibi":
        pytest.importorskip("alibi")
        from ntdcfe_plugins.alibi import NTDCFE as Explainer

        with pytest.raises(InvalidInputError, match=r"beyond 2\*\*53"):
            Explainer(Seen(1), target_class=1, settings=SMALL).explain(np.array([[large, 3]]))
    if adapter == "dice":
        dice_ml = pytest.importorskip("dice_ml")
        import pandas as pd

        from ntdcfe_plugins.dice import NTDCFE as Explainer

        model = Seen(1)
        model.predict_proba, model.classes_ = model.__call__, np.array([0, 1])
        data = dice_ml.Data(features={"id": [0, 2**60], "b": [0, 9]}, outcome_name="y")
        explainer = Explainer(data, dice_ml.Model(model=model, backend="sklearn"), settings=SMALL)
        query = pd.DataFrame({"id": [large], "b": [3]})
        with pytest.raises(InvalidInputError, match=r"beyond 2\*\*53"):
            explainer.generate_counterfactuals(query, total_CFs=1, desired_class=0, features_to_vary=["b"])
    if adapter == "sktime":
        pytest.importorskip("sktime")
        from ntdcfe_plugins.sktime.values import written

        old = np.array([[large, 3]])
        np.testing.assert_array_equal(written(old, np.array([[float(large), 4.2]])), [[large, 4]])
