"""Odd input of every kind through the adapters: an exception that is documented, or a result that is valid."""

import json
import sys
import warnings
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from callers import in_states, states_of_callers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("alibi")
pytest.importorskip("dice_ml")
pytest.importorskip("sktime")

import dice_ml
import pandas as pd
from alibi.api.interfaces import Explanation
from alibi.exceptions import PredictorCallError, PredictorReturnTypeError
from raiutils.exceptions import UserConfigValidationException
from sklearn.base import BaseEstimator as SklearnEstimator
from sklearn.utils import check_array
from sktime.classification.base import BaseClassifier
from sktime.regression.base import BaseRegressor

from ntdcfe import PAPER, Causal, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe_plugins import alibi, dice, sktime

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))
from test_fuzz import MODELS, arrays, model_failed, mostly, places, refused_or, score

SMALL = [
    SearchSettings(max_rows=60, batch_rows=15),
    SearchSettings(max_rows=40, batch_rows=13, shape="to_end", n_counterfactuals=3),
    SearchSettings(max_rows=60, batch_rows=15, on_violation="discard", reach=None, margin=0.0),
    replace(PAPER, max_episodes=2, max_interventions=4, hidden=(4,), max_rows=30),
]
BROKEN = {"NaN", "raises", "scalar", "ragged", "strange", "sometimes", "infinite", "two outputs", "one column"}
fuzzed = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@contextmanager
def strict(states=(), but=()):
    """What the caller may have set. Warnings for users pass; all others of our own code are errors."""
    # Other packages warn of this and that: to make errors of all warnings is to forbid their use.
    with in_states([name for name in states if name != "warnings are errors"], but), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", module="ntdcfe")
        warnings.simplefilter("ignore", UserWarning)
        yield


def deliberate(error, *others):
    """Whether it was raised by a `raise` of an adapter, or in another package that an adapter hands its input to."""
    own = [place for place in places(error) if any(f"/{name}/" in place[0] for name in ("ntdcfe_plugins", *others))]
    return bool(own) and ("ntdcfe_plugins" not in own[-1][0] or own[-1][1].startswith("raise"))


@st.composite
def some_of(draw, usual, odd, each, rare):
    """A dict with some of the usual options, now and then one of them odd: name to values, name to odd values."""
    chosen = {}
    for name in usual:
        what = draw(st.sampled_from([None, "odd", *["usual"] * (rare // each), *[None] * (rare - rare // each)]))
        if what:
            chosen[name] = draw(st.sampled_from((odd if what == "odd" else usual)[name]))
    return chosen


# alibi

ALIBI_MODELS = {
    **MODELS,
    "logits": lambda X: np.column_stack([-3 * score(X), 3 * score(X)]),
    "three columns": lambda X: np.column_stack([0.5 - score(X) / 2, 0.5 + score(X) / 2, 0 * score(X)]) / 1.0,
    "one probability": lambda X: 0.5 + score(X) / 2,
}
ALIBI_USUAL = [
    "labels",
    "text",
    "two columns",
    "two columns",
    "logits",
    "three columns",
    "one probability",
    "one column",
]
ALIBI_OPTIONS = {
    "target_class": ["other", "same", 1, {1}, np.array([1]), Target.label(1), Target.other()],
    "feature_names": [["a", "b"]],
    "immutable_features": [[0], [-1], []],
    "non_actionable_features": [[0], [1]],
    "feature_range": [(-3, 3), (0, 1), {0: (-1, 1)}, (-1e10, 1e10), {0: (None, 2)}, (np.full((1, 2), -2), np.full((1,
        2), 2))],
    "directions": [{0: "rise"}, {0: "fall", 1: "rise"}],
    "weights": [{0: 2.0}, {1: 1e-6}, {0: np.float32(2)}],
    "scales": [{0: 0.5}, {0: 1e-12}, {1: 1e12}],
    "actionable_steps": [slice(0, None), [0]],
    "target_proba": [0.6, 1, 0.01],
    "target_interval": [(0.2, None), (None, 0.1), (-0.1, 0.1)],
    "output": ["auto"],
    "classes": [[0, 1], np.array([0, 1])],
    "max_rows": [20, 80, np.int64(30)],
    "max_seconds": [5, 0.5],
    "constraints": [[Causal(1, 0, lambda cause: 2 * cause)]],
    "plausible": [lambda X: np.ones(len(X)), lambda X: score(X) < 0.8],
    "seed": [1, 2**63, np.int64(3)],
}  # fmt: skip
ALIBI_ODD = {
    "target_class": [
        [Target.other()] * 2, [Target.label(1), 0], Target.interval(0, 1), [0, 1], None, 7, "x", np.nan, [], (),
        {"a": 1}, 0.5, True, [[0, 1]], np.array(1), np.array([[0, 1]]),
    ],
    "feature_names": [[], ["a", "a"], "ab", [1, 2], 5, ["a", "b", "c", "d", "e"]],
    "immutable_features": ["a", ["a"], [9], [None], [0.5], 0, [True], [[0]], {0: 1}],
    "non_actionable_features": [["z"], 3, [-9]],
    "feature_range": [
        (1, 0), (np.nan, 1), "ab", 5, {7: (0, 1)}, {0: 3}, {0: ("a", 1)}, (None, None), (0, 1, 2), ([0, 1], [1]), [],
        (np.inf, -np.inf), {0: (1e308, 1e309)}, ([[0, 0], [1, 1]], 9), {"b": (0, 1)}, {None: (0, 1)}, (0, 0),
        {0: (5e-324, 1e-320)},
        ([], []), ({}, {}), {0: {1: 2, 3: 4}}, np.zeros((2, 2)), {0: (True, "1")}, ((0,), (1,)),
    ],
    "directions": [{0: "up"}, {9: "rise"}, "rise", ["rise"], {0: None}, {0: ["rise"]}, 5],
    "weights": [{0: 0}, {0: -1}, {0: np.nan}, {0: "heavy"}, {9: 1.0}, [1.0, 2.0], {0: None}, 3.0, {0: np.array([1,
        2])}],
    "scales": [{0: 0}, {0: np.inf}, {0: "a"}, {"z": 1}, 1.0, {0: [1]}, {0: np.nan}],
    "actionable_steps": [[True, True, False], slice(1, None), [9], [], "all", slice(9, None), 3, [[0]], [0.5], None,
        {0}, np.array(True)],
    "target_proba": [0, -1, 2, np.nan, "a", None, True, [0.5], np.array([0.5])],
    "target_interval": [(1, 0), (np.nan, 1), 5, ("a", "b"), (None, None), (1,), (np.inf, np.inf), "ab", [], {},
        (1e308, None)],
    "output": ["logit", None, 3, ["labels"], "labels", "probabilities", "probability", "logits", "values"],
    "classes": [["a", "b"], np.array([0, 1, 2]), [], [1], ["a", "a"], "ab", 5, [None, 1], [[0, 1]], {0, 1}, [0,
        np.nan], np.array(3)],
    "max_rows": [0, -1, 1, 2, 1.5, "many", np.nan, True],
    "max_seconds": [0, -1, 1e-9, "soon", np.nan, np.inf],
    "constraints": [
        [Causal(1, 0, lambda cause: np.nan * cause)], [Causal("z", 0, abs)], 3, ["rule"], [None],
        [Causal(1, 0, lambda cause: "text")], [Causal(0, 0, lambda cause: cause)], [Causal(1, 0,
        lambda cause: cause[:1])],
    ],
    "plausible": [lambda X: True, lambda X: 1 / 0, 3, lambda X: np.full(len(X), np.nan)],
    "seed": [-1, 0.5, None, "a", True, 2**70, [1]],
}  # fmt: skip
ALIBI_CALL = {
    "Y_t": [[1], np.array([1]), [[1]], [[0, 1]], 1, [0.0]],
    "num_samples": [2, 3, np.int64(2)],
    "verbose": [False],
}
ALIBI_CALL_ODD = {
    "Y_t": [
        [], "x", [None], [np.nan], [[0, 1, 0, 0]], np.zeros((2, 2, 2)), [7], [1, 0, 1, 0, 1], [["a"]], [0.5], {},
        [[np.nan, 1]],
        [[1], [0, 1]], np.array(["1"]), [[1e300, np.inf]], [[5, 1]], [True],
    ],
    "num_samples": [0, -1, 1.5, "two", None, True, np.nan, 50],
    "verbose": [None, "loud"],
}  # fmt: skip
category_maps = mostly(
    [({0: ["x", "y", "z"]}, False), ({0: ["x", "y"]}, True), ({1: ["x", "y"]}, [1]), ({"a": ("x", "y", "z")}, False)],
    [
        ({9: ["x"]}, False), ({0: []}, False), ({0: 3}, False), ({0: None}, True), ({"z": ["x", "y"]}, ["z"]),
        ({0: "xy"}, False),
        ({0: ["x"]}, True), ({0: ["x", "x"]}, True), ([1], False), ({-1: ["x", "y"]}, False), ({None: ["x"]}, False),
        (5, True),
        ({0: ["x", "y"]}, [3]), ({0: ["x", "y"]}, 0), ({0: ["x", "y"]}, None), ({0.0: ["x", "y", "z"]}, False),
        ({0: [None, 1]}, False),
    ],
    3,
)  # fmt: skip


@st.composite
def rows_of_numbers(draw):
    """Mostly two columns, or series of them; now and then any array."""
    odd = draw(st.sampled_from(["lead", "any"] + [None] * 8))
    if odd:
        return draw(arrays((draw(st.sampled_from([0, 1, 3])),) if odd == "lead" else ()))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    return rng.normal(size=draw(st.sampled_from([(1, 2), (2, 2), (1, 3, 2), (2, 4, 2)]))) - draw(
        st.sampled_from([0, 0.5])
    )


@st.composite
def alibi_calls(draw):
    """A model's name, arguments of the explainer, and of explain."""
    X = draw(rows_of_numbers())
    options = draw(some_of(ALIBI_OPTIONS, ALIBI_ODD, 8, 48))
    if draw(st.integers(0, 4)) == 0:
        options["category_map"], options["ohe"] = draw(category_maps)
        X = coded(X, options["category_map"], options["ohe"]) if draw(st.integers(0, 7)) else X
    options["settings"] = draw(st.sampled_from(SMALL))
    if draw(st.booleans()):
        options.pop("target_interval", None)
    usual = ["values", "one probability"] if "target_interval" in options else ALIBI_USUAL
    name = draw(mostly(usual, sorted(ALIBI_MODELS), 1))
    return name, options, X, draw(some_of(ALIBI_CALL, ALIBI_CALL_ODD, 6, 25))


def coded(X, category_map, ohe):
    """X with codes of categories, or groups of them, where the map says that there are some."""
    X = X.copy()
    for key, names in category_map.items() if isinstance(category_map, dict) else []:
        column = {"a": 0}.get(key, key) if isinstance(key, (int, str)) else None
        n = len(names) if isinstance(names, (list, tuple)) else 0
        if X.dtype.kind not in "fiu" or column not in range(X.shape[-1] if X.ndim else 0) or not n:
            continue
        if ohe is True or (isinstance(ohe, list) and key in ohe):
            X[..., column : column + n] = np.eye(n)[0][: X.shape[-1] - column]
        else:
            with np.errstate(all="ignore"):
                X[..., column] = np.nan_to_num(np.abs(X[..., column]), nan=0, posinf=0).clip(0, n - 1).round()
    return X


def check_alibi(call, states=()):
    """Make the call where the caller has set those states; returns what became of it."""
    name, options, X, limits = call
    model = ALIBI_MODELS[name]
    try:
        with strict(states):
            explainer = alibi.NTDCFE(model, **options)
            explanation = explainer.explain(X, **limits)
    except InvalidInputError:
        return "refused"
    except (PredictorCallError, PredictorReturnTypeError) as error:
        return model_failed(error, name in BROKEN, PredictorCallError, PredictorReturnTypeError)
    data, D = explanation.data, X.shape[-1]
    if name != "strange":  # labels of any type, which JSON cannot hold
        again = Explanation.from_json(explanation.to_json())
        assert again.data.keys() == data.keys()
        json.dumps(json.loads(explanation.to_json()), allow_nan=False)
    rows = np.atleast_2d(X)
    assert len(rows) == len(data["success"])
    for i, success in enumerate(data["success"]):
        assert data["text"][i]
        assert bool(np.ma.getmaskarray(data["cf"]["X"][i]).all()) != success
        if not success:
            assert data["all"][i] == []
            continue
        assert 1 <= len(data["all"][i]) <= limits.get("num_samples", 1) + 2  # the other options follow
        for entry in data["all"][i]:
            cf, original = np.asarray(entry["X"][0], float), np.asarray(rows[i], float)
            assert cf.shape == original.shape
            assert np.isfinite(cf).all()
            held(cf, original, options, D)
            if "target_interval" in options and data["status"][i] != "model_failed":
                low, high = options["target_interval"]
                if "Y_t" not in limits:
                    assert (-np.inf if low is None else low) <= model(cf[None])[0] <= (np.inf if high is None else high)
            elif name == "labels" and repr(limits.get("Y_t", options.get("target_class"))) in ("1", "[1]", "{1}"):
                assert model(cf.astype(rows.dtype)[None])[0] == 1
        if name in ("labels", "text", "two columns") and not {"classes", "output", "target_interval"} & set(options):
            told = np.asarray(data["cf"]["class"]).reshape(-1)[i]
            said = model(np.asarray(data["cf"]["X"][i : i + 1]))
            assert str(told) == str(said.argmax(1)[0] if said.ndim == 2 else said[0])
    return data["status"][0]


def held(cf, original, options, D):
    """Whether a counterfactual of plain numbers is as its description says."""
    changed = cf != original
    plain = "category_map" not in options
    steps = options.get("actionable_steps")
    if steps is not None and original.ndim == 2:
        fixed = np.ones(len(original), bool)
        fixed[steps if isinstance(steps, slice) else np.asarray(steps)] = False
        assert not changed[fixed].any()
    if plain:
        names = list(options.get("feature_names", []))
        for key in options.get("immutable_features", ()):
            assert not changed[..., names.index(key) if isinstance(key, str) else key].any()
        if isinstance(options.get("feature_range"), tuple) and np.ndim(options["feature_range"][0]) == 0:
            low, high = (None if v is None or abs(v) >= 1e10 else v for v in options["feature_range"])
            assert low is None or (cf[changed] >= low).all()
            assert high is None or (cf[changed] <= high).all()
        for key, way in options.get("directions", {}).items():
            sign = {"rise": 1, "fall": -1, None: 0}[way]
            assert (sign * (cf - original)[..., key] >= 0).all()
        return
    for key, names in options["category_map"].items():
        column = {"a": 0}.get(key, key)
        if not options["ohe"]:
            assert np.isin(cf[..., int(column)], range(len(names))).all()
        else:
            assert (cf[..., column : column + len(names)].sum(-1) == 1).all()


@fuzzed
@given(call=alibi_calls(), states=states_of_callers)
def test_alibi(call, states):
    check_alibi(call, states)


@pytest.mark.parametrize(
    "options",
    [
        {"immutable_features": 0},
        {"immutable_features": "ab"},
        {"immutable_features": [[0]]},
        {"directions": "rise"},
        {"weights": [1.0, 2.0]},
        {"feature_names": 5},
        {"category_map": {0: 3}},
        {"category_map": {0: "xy"}},
        {"category_map": {0: ["x", "y"]}, "ohe": 0},
        {"constraints": 3},
        {"constraints": [None]},
        {"target_proba": [0.5]},
        {"target_class": [[0, 1]]},
        {"target_class": np.array([[0, 1]])},
        {"target_class": {"a": 1}},
        {"target_interval": {}},
        {"target_interval": (0.1, 0.2, 0.3)},
        {"target_interval": (-0.1, 0.1), "output": "probability"},
        {"scales": {0: "a"}},
        {"classes": 5},
        {"seed": 2**70},
    ],
)
def test_alibi_refuses(options):
    with pytest.raises(InvalidInputError, match=r"must be|target_interval"):
        alibi.NTDCFE(MODELS["two columns"], **options).explain(np.zeros((1, 2)))


@pytest.mark.parametrize("Y_t", [[[1], [0, 1]], "ab", [["low", "high"]], [np.nan]])
@pytest.mark.parametrize("options", [{}, {"target_interval": (0, 1)}])
def test_alibi_refuses_targets(Y_t, options):
    with pytest.raises(InvalidInputError):
        alibi.NTDCFE(MODELS["two columns" if not options else "values"], **options).explain(np.zeros((1, 2)), Y_t)


@pytest.mark.parametrize("name", ["labels", "text", "values", "NaN", "strange"])
def test_alibi_says_that_they_are_no_logits(name):
    with pytest.raises(PredictorReturnTypeError, match="the model returned"):
        alibi.NTDCFE(ALIBI_MODELS[name], output="logits").explain(np.full((1, 2), 9.0))


# DiCE

RANGES = {
    "whole": ([0, 9], [3, 7, 0]),
    "real": ([-3.0, 3.0], [0.25, -1.5, 0.0]),
    "job": (["clerk", "nurse", "pilot"], ["clerk", "pilot"]),
    "flag": ([True, False], [True, False]),
    "level": ([1, 2, 3], [1, 3]),
    "text": (["0", "1"], ["0", "1"]),
}
ODD_RANGES = [
    [3, 0], [1, 1], [0.0, np.nan], [-np.inf, np.inf], [1], [], ["a"], ["a", "a"], ["a", 1], [None, None], "ab", 5,
    None, [0, "9"], (0, 9), [0, 1e308], [-1e308, 1e308], [0, 5e-324], [np.int64(0), np.int64(9)], [0, 1.5],
    [np.float32(0.1), np.float32(0.9)], [[0, 1], [2, 3]], np.array([0, 9]), [False, True], [True, 5], [2, 4, np.nan],
]  # fmt: skip
PRECISIONS = [None, {"real": ["float", 1]}, {"real": ["float", 0], "whole": "int"}]
ODD_PRECISIONS = [
    {"real": "float"},
    {"real": ["float", -1]},
    {"real": ["float", "x"]},
    {"real": 3},
    {"z": "int"},
    {"real": ["float", 400]},
]
DICE_MODELS = [
    *["two columns"] * 8, *["three columns", "one column", "logits", "one", "values"] * 2, "NaN", "raises", "scalar",
    "ragged", "strange", "never", "infinite", "sometimes",
]  # fmt: skip
DICE_OPTIONS = {
    "features": [
        {},
        {"whole": {"direction": "rise"}},
        {"real": {"weight": 2.0, "role": "immutable"}},
        {"job": {"weight": 0.5}},
    ],
    "constraints": [[Causal("whole", "real", lambda cause: cause)], [Causal(0, -1, lambda cause: cause)]],
    "plausible": [lambda X: np.ones(len(X), bool), lambda X: np.arange(len(X)) % 2 == 0, lambda X: [True] * len(X)],
}
DICE_OPTIONS_ODD = {
    "features": [
        {"whole": {"role": "owner"}}, {"real": {"bounds": (2, 1)}}, {"real": {"bounds": ("a", 1)}}, {"real": 3},
        {"z": {}}, 5,
        {"real": {"precision": 0.5}}, {"job": {"values": []}}, {"whole": {"name": "x"}}, {"real": {"weight": "a"}},
        {"real": None},
        {"real": {"scale": -1}}, {"flag": {"direction": "up"}}, ["real"], {"real": {"scale": "a"}}, {"real": {3: 4}},
    ],
    "constraints": [[Causal("z", "real", abs)], 3, ["rule"], [Causal("real", "whole", lambda cause: np.nan * cause)]],
    "plausible": [lambda X: True, lambda X: 1 / 0, 3, lambda X: [1], lambda X: np.full(len(X), np.nan)],
}  # fmt: skip
DICE_CALL = {
    "desired_class": ["opposite", 0, 1, np.int64(1), "1", Target.other()],
    "features_to_vary": ["all", ["real"], ["whole", "job"], ("real",), {"real", "job"}],
    "stopping_threshold": [0.5, 0.7, 0, 1],
    "permitted_range": [
        None,
        {},
        {"whole": [2, 5]},
        {"job": ["nurse"]},
        {"real": (0.0, 1.0)},
        {"flag": [True]},
        {"level": [2]},
    ],
    "random_seed": [None, 1, np.int64(3)],
    "max_rows": [5, 30, 100],
    "max_seconds": [5.0],
    "sparsity_weight": [0, 0.5],
    "proximity_weight": [0.5, 2],
    "verbose": [False],
    "posthoc_sparsity_param": [0.1, None, 0],
    "posthoc_sparsity_algorithm": ["linear", "binary"],
}
DICE_CALL_ODD = {
    "desired_class": [
        [Target.other()] * 2, [Target.other(), 1], Target.interval(0, 1), 7, -1, None, np.nan, [1], "x", 0.5, 1.0,
        True, np.array([1]), (), {},
    ],
    "features_to_vary": [[], ["z"], "real", None, 3, [["real"]], [None], "z", {"real": 1}, np.array(["real"]),
        ["real", "real"]],
    "stopping_threshold": [np.nan, 2, -1, "a", None, [0.5], True],
    "permitted_range": [
        {"z": [0, 1]}, {"whole": [5, 2]}, {"job": ["king"]}, {"real": [np.nan, 1]}, {"real": ["a", 1]},
        {"whole": [1]}, 5, {"real": None},
        {"job": []}, {"job": "nurse"}, {"real": 3}, {"whole": [1, 2, 3]}, {"real": [-np.inf, np.inf]}, {"whole": [2.2,
        2.8]}, ["real"],
        {"job": ["nurse", "nurse"]}, {"real": [1e300, 1e308]}, {"flag": ["True"]}, {"level": [2, 9]}, {"real": [None,
        1]}, {"flag": [None]},
    ],
    "random_seed": [-1, 0.5, "a", True, 2**70],
    "max_rows": [0, -1, 1, 2, 1.5, "many", np.nan],
    "max_seconds": [0, -1, 1e-9, "soon", np.nan],
    "sparsity_weight": [-1, "a", np.nan, np.inf],
    "proximity_weight": [0, -1, "a", np.nan, np.inf, 1e-320],
    "verbose": [None, "loud"],
    "posthoc_sparsity_param": [2, -1, "a", np.nan],
    "posthoc_sparsity_algorithm": [None, "cubic", 3],
}  # fmt: skip


class Tabular:
    """A model of tables, of as many kinds as a user may wrap."""

    def __init__(self, kind, classes):
        self.kind, self.n_rows, self.n_calls = kind, 0, 0
        if classes is not None:
            self.classes_ = classes

    def score(self, X):
        total = np.zeros(len(X))
        for name in X.columns:
            try:
                total += np.nan_to_num(X[name].to_numpy(dtype=float), posinf=9, neginf=-9).clip(-9, 9)
            except (TypeError, ValueError):
                total += 2 * np.array([str(value) == "nurse" for value in X[name]])
        return np.tanh(total - 3)

    def predict_proba(self, X):
        self.n_rows, self.n_calls = self.n_rows + len(X), self.n_calls + 1
        z = self.score(X)
        if self.kind == "two columns":
            return np.column_stack([0.5 - z / 2, 0.5 + z / 2])
        if self.kind == "three columns":
            return np.column_stack([0.5 - z / 2, 0.25 + z / 4, 0.25 + z / 4])
        if self.kind == "one column":
            return (0.5 + z / 2)[:, None]
        if self.kind == "one":
            return 0.5 + z / 2
        if self.kind == "logits":
            return np.column_stack([-3 * z, 3 * z])
        if self.kind == "never":
            return np.tile([0.9, 0.1], (len(X), 1))
        return self.predict(X)

    def predict(self, X):
        z = self.score(X)
        match self.kind:
            case "NaN":
                return np.full((len(X), 2), np.nan)
            case "infinite":
                return np.column_stack([-np.inf * z, np.inf * z])
            case "sometimes":
                return np.column_stack([0.5 - z / 2, np.where(z > 0.8, np.nan, 0.5 + z / 2)])
            case "raises":
                raise KeyError("missing")
            case "scalar":
                return 1
            case "ragged":
                return [[1]] * (len(X) - 1) + [[1, 2]]
            case "strange":
                return [object()] * len(X)
        return z


@st.composite
def dice_calls(draw):
    """What the data interface, the model, the explainer and generate_counterfactuals get."""
    names = draw(st.lists(st.sampled_from(sorted(RANGES)), min_size=1, max_size=4, unique=True))
    ranges = {name: list(RANGES[name][0]) for name in names}
    n = draw(mostly([1, 2], [0, 3]))
    rows = {name: [draw(st.sampled_from(RANGES[name][1])) for _ in range(n)] for name in names}
    odd = draw(st.integers(0, 29))
    name = draw(st.sampled_from(names))
    if odd == 0:
        ranges[name] = draw(st.sampled_from(ODD_RANGES))
    elif odd == 1 and n:
        rows[name][0] = draw(
            st.sampled_from([99, -99, 1e300, np.nan, np.inf, None, "king", "", 0.333, True, [1], 2**62, "3", 1e-300])
        )
    elif odd == 2:
        rows.pop(name)
    elif odd == 3:
        rows[draw(st.sampled_from(["extra", "ok", 3]))] = [1] * n
    dtype = draw(
        mostly(
            [None], ["category", "float32", "object", "int8", "str", "float64", "Int64", "bool", "uint8", "string"], 5
        )
    )
    form = draw(
        mostly(
            ["frame"] * 4 + ["dict", "dicts", "values"],
            ["text", "none", "lists", "array", "series", "frames", "set"],
            8,
        )
    )
    types = draw(mostly(PRECISIONS, ODD_PRECISIONS, 12))
    data = {"features": ranges, "outcome_name": "ok"}
    if types is not None:
        data["type_and_precision"] = {key: value for key, value in types.items() if key in names or key == "z"}
    if draw(st.integers(0, 9)) == 0:
        data["mad"] = draw(
            st.sampled_from([{"real": 0.5}, {"real": 0}, {"real": np.nan}, {"real": "a"}, {}, None, {"z": 1}])
        )
    kind = draw(st.sampled_from(DICE_MODELS))
    regressor = kind == "values" or draw(st.integers(0, 14)) == 0
    classes = draw(
        mostly(
            [None, np.array([0, 1]), np.array(["bad", "good"])],
            [np.array([1, 2]), np.array([0, 1, 2]), [True, False], 5],
        )
    )
    call = draw(some_of(DICE_CALL, DICE_CALL_ODD, 8, 60))
    call["total_CFs"] = draw(mostly([1, 2, 3], [0, -1, 1.5, "two", None, True, np.int64(2), np.nan, 40]))
    if regressor != (draw(st.integers(0, 39)) == 0):
        call["desired_range"] = draw(
            mostly(
                [(0.2, 1), [-0.5, 0.5]],
                [None, (1, 0), [np.nan, 1], ("a", "b"), (0.1,), 5, [None, 1], np.array([0.1, 1]), [5, 6]],
                3,
            )
        )
    options = draw(some_of(DICE_OPTIONS, DICE_OPTIONS_ODD, 8, 40))
    if draw(st.integers(0, 9)):  # about features that are there
        for given, named in ((options, "features"), (call, "permitted_range")):
            if isinstance(given.get(named), dict):
                given[named] = {key: value for key, value in given[named].items() if key in names}
        if isinstance(call.get("features_to_vary"), (list, tuple, set)) and not set(
            map(str, call["features_to_vary"])
        ) <= set(names):
            call["features_to_vary"] = [name]
        if "constraints" in options and not {"whole", "real"} <= set(names):
            del options["constraints"]
    options["settings"] = draw(st.sampled_from(SMALL))
    public = draw(st.integers(0, 5)) == 0
    return data, public, (rows, name, dtype, form), (kind, regressor, classes), options, call


def queries_of(rows, name, dtype, form):
    frame = pd.DataFrame(rows)
    if dtype is not None and name in frame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                frame[name] = frame[name].astype(dtype)
            except (TypeError, ValueError, OverflowError):
                frame[name] = frame[name].astype(object)
    records = frame.to_dict("records")
    forms = {
        "frame": frame, "dict": records[0] if records else {}, "dicts": records,
        "values": [*(records[0] if records else {}).values()],
        "text": "rows", "none": None, "lists": [[*record.values()] for record in records], "array": frame.to_numpy(),
        "series": frame.iloc[0] if len(frame) else frame, "frames": [frame.iloc[[i]] for i in range(len(frame))],
        "set": set(),
    }  # fmt: skip
    return forms[form]


def public_data(ranges):
    rng = np.random.default_rng(0)
    columns = {}
    for name in ranges:
        if name in ("whole", "real"):
            columns[name] = (
                rng.uniform(*RANGES[name][0], 20)
                .round(0 if name == "whole" else 2)
                .astype(int if name == "whole" else float)
            )
        else:
            columns[name] = [RANGES[name][0][i] for i in rng.integers(0, len(RANGES[name][0]), 20)]
    frame = pd.DataFrame(columns).assign(ok=[0, 1] * 10)
    continuous = [name for name in ranges if name in ("whole", "real")]
    return dice_ml.Data(dataframe=frame, continuous_features=continuous, outcome_name="ok")


def check_dice(call, states=()):
    """Make the call where the caller has set those states; returns what became of it."""
    data, public, query, (kind, regressor, classes), options, arguments = call
    model, limit = Tabular(kind, classes), options["settings"].max_rows
    try:
        with strict(states):
            try:
                interface = public_data(data["features"]) if public else dice_ml.Data(**data)
            except Exception:
                return "refused"  # by DiCE, before there is an explainer
            wrapped = dice_ml.Model(
                model=model, backend="sklearn", model_type="regressor" if regressor else "classifier"
            )
            explainer = dice.NTDCFE(interface, wrapped, **options)
            explanations = explainer.generate_counterfactuals(queries_of(*query), **arguments)
            before = json.loads(explanations.to_json())
    except dice.NoCounterfactualsFound as nothing:
        reasons = [example.reason for example in nothing.explanations.cf_examples_list]
        return "not found" if all(reasons) else pytest.fail(f"no reason for what was not found: {reasons}")
    except (InvalidInputError, UserConfigValidationException):
        return "refused"
    except PredictorError as error:
        return model_failed(error, kind in BROKEN)
    except Exception as error:
        if deliberate(error, "dice_ml/data_interfaces", "dice_ml/explainer_interfaces"):
            return "refused"
        raise
    assert before
    examples = explanations.cf_examples_list
    limit = arguments.get("max_rows") or limit
    n = len(examples)
    assert regressor or model.n_rows <= n * max(limit, 2 + arguments["total_CFs"])
    for example in examples:
        rows, original = example.final_cfs_df, example.test_instance_df
        if rows is None:
            assert example.reason
            continue
        assert 1 <= len(rows) <= arguments["total_CFs"]
        assert list(rows.columns) == list(original.columns)
        columns = [name for name in rows if name != "ok"]
        assert not rows[columns].duplicated().any()
        assert not rows[columns].isna().any().any()
        for name in columns:
            permitted = (arguments.get("permitted_range") or {}).get(name)
            allowed = data["features"][name] if permitted is None else permitted
            if public and permitted is None:
                allowed = list(interface.permitted_range[name])
            changed = rows[name] != original[name].iloc[0]
            vary = arguments.get("features_to_vary", "all")
            if (
                isinstance(vary, (list, tuple, set))
                and name not in vary
                and permitted is None
                and "constraints" not in options
            ):
                assert not changed.any()
            numeric = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in allowed)
            if numeric and len(allowed) == 2:
                values = rows[name].astype(float)[changed]
                # Public data keeps its limits as float32.
                assert (values >= float(allowed[0]) - 1e-6 * public).all()
                assert (values <= float(allowed[1]) + 1e-6 * public).all()
            else:
                assert {shortest(value) for value in rows[name][changed]} <= {
                    spelled for value in allowed for spelled in spellings(value)
                }
        with strict():
            said = explainer.predict_fn(rows[columns])
        wanted = arguments.get("desired_class", "opposite")
        if isinstance(wanted, (Target, list)):
            if not regressor and "other" in repr(wanted):
                assert (said.argmax(1) != explainer.predict_fn(original[columns]).argmax(1)[0]).all()
        elif regressor:
            low, high = arguments["desired_range"]
            assert ((said >= (-np.inf if low is None else low)) & (said <= (np.inf if high is None else high))).all()
        else:
            present = explainer.predict_fn(original[columns]).argmax(1)[0]
            if arguments.get("desired_class", "opposite") == "opposite":
                assert (said.argmax(1) != present).all()
            elif arguments["desired_class"] in (0, 1) and not isinstance(arguments["desired_class"], bool):
                assert (said.argmax(1) == arguments["desired_class"]).all()
            threshold = arguments.get("stopping_threshold", 0.5)
            if threshold > 0.5:
                assert (said.max(1) >= threshold).all()
    return "found" if all(example.final_cfs_df is not None for example in examples) else "some found"


def shortest(value):
    """The text of a value, 17 for 17.0."""
    text = str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def spellings(value):
    """What a category may look like in the queries' type."""
    return {
        str(value),
        shortest(value),
        str(value == 1 or str(value) == "True"),
        str(int(str(value) in ("True", "1"))),
    }


@fuzzed
@given(call=dice_calls(), states=states_of_callers)
def test_dice(call, states):
    check_dice(call, states)


def dice_explainer(kind="two columns", data=None, regressor=False, classes=None, **options):
    data = {"features": {"whole": [0, 9], "real": [-3.0, 3.0], "job": ["clerk", "nurse"]}, **(data or {})}
    model = Tabular(kind, classes)
    wrapped = dice_ml.Model(model=model, backend="sklearn", model_type="regressor" if regressor else "classifier")
    return dice.NTDCFE(dice_ml.Data(**data, outcome_name="ok"), wrapped, **{"settings": SMALL[0], **options}), model


QUERY = pd.DataFrame({"whole": [1], "real": [0.5], "job": ["clerk"]})


@pytest.mark.parametrize("regressor", [False, True])
@pytest.mark.parametrize("kind", ["NaN", "raises", "scalar", "ragged", "strange", "infinite"])
def test_dice_says_that_the_model_failed(kind, regressor):
    explainer, _ = dice_explainer(kind, regressor=regressor)
    with pytest.raises(PredictorError, match="the model"):
        explainer.generate_counterfactuals(QUERY, 1, desired_range=[0, 1] if regressor else None)


@pytest.mark.parametrize("options", [{"features": 5}, {"features": {"real": 3}}, {"constraints": 3}, {"plausible": 3}])
def test_dice_refuses(options):
    with pytest.raises(UserConfigValidationException, match="must be"):
        dice_explainer(**options)


@pytest.mark.parametrize(
    "arguments",
    [
        {"total_CFs": np.nan},
        {"total_CFs": 1.5},
        {"total_CFs": "two"},
        {"features_to_vary": None},
        {"features_to_vary": [["real"]]},
        {"permitted_range": 5},
        {"permitted_range": {"real": 3}},
        {"proximity_weight": "a"},
    ],
)
def test_dice_refuses_in_a_call(arguments):
    with pytest.raises(UserConfigValidationException, match=next(iter(arguments))):
        dice_explainer()[0].generate_counterfactuals(QUERY, **{"total_CFs": 1, **arguments})


@pytest.mark.parametrize(
    ("data", "query"),
    [
        ({"type_and_precision": {"real": "float"}}, {}),
        ({"type_and_precision": {"real": ["float", 400]}}, {}),
        ({"mad": {"real": "a"}}, {}),
        ({"mad": {"real": np.nan}}, {}),
        ({}, {"real": ["0.5"]}),
        ({}, {"job": [3]}),
        ({}, {"job": [[1]]}),
        ({"features": {"whole": [0, 9], "real": [0.0, 1.0], "job": [["clerk"], ["nurse"]]}}, {}),
    ],
)
def test_dice_refuses_data(data, query):
    with pytest.raises((InvalidInputError, UserConfigValidationException, ValueError), match=r"[Ff]eature|precision"):
        dice_explainer(data=data)[0].generate_counterfactuals(QUERY.assign(**query), 1)


def test_dice_refuses_lists_that_are_too_long():
    with pytest.raises(ValueError, match="one value for each of"):
        dice_explainer()[0].generate_counterfactuals([[1, 0.5, "clerk", 4]], 1)


@pytest.mark.parametrize("dtype", ["Int64", "category", "Int8"])
def test_dice_takes_pandas_own_types(dtype):
    explainer, _ = dice_explainer()
    rows = explainer.generate_counterfactuals(QUERY.astype({"whole": dtype}), 1).cf_examples_list[0].final_cfs_df
    assert rows["whole"].dtype == ("int64" if dtype == "category" else dtype)


def test_dice_takes_true_for_an_index_and_ignores_classes_that_are_none():
    explainer, _ = dice_explainer(classes=5)
    assert set(explainer.generate_counterfactuals(QUERY, 1, True).cf_examples_list[0].final_cfs_df["ok"]) == {1}


@pytest.mark.parametrize("limit", [1, 2, 10, 30])
def test_dice_keeps_to_its_budget_where_the_query_is_as_desired(limit):
    explainer, model = dice_explainer(settings=SMALL[3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(dice.NoCounterfactualsFound):
            explainer.generate_counterfactuals(QUERY, 2, 0, max_rows=limit)
    assert model.n_rows <= max(limit, 4)  # two looks and one confirmation at least


@pytest.mark.parametrize("plausible", [lambda X: True, lambda X: 1 / 0])
@pytest.mark.parametrize("desired_class", [0, 1])
@pytest.mark.filterwarnings("ignore:queries")
def test_dice_says_what_is_wrong_with_plausible(plausible, desired_class):
    with pytest.raises((InvalidInputError, PredictorError), match=r"verdict|ZeroDivisionError"):
        dice_explainer(plausible=plausible)[0].generate_counterfactuals(QUERY, 1, desired_class)


def test_dice_writes_a_range_that_is_an_array():
    explainer, _ = dice_explainer("values", regressor=True)
    found = explainer.generate_counterfactuals(QUERY, 1, desired_range=np.array([0.1, 1.0]))
    assert json.loads(found.to_json())


# sktime


class Classifier(BaseClassifier):
    """An sktime classifier of that kind."""

    _tags = {  # noqa: RUF012
        "X_inner_mtype": "df-list", "capability:multivariate": True, "capability:unequal_length": True,
        "capability:missing_values": True, "capability:predict_proba": True,
    }  # fmt: skip

    def __init__(self, kind="two columns", capable=True):
        self.kind, self.capable = kind, capable
        super().__init__()
        if not capable:
            names = ("multivariate", "unequal_length", "missing_values", "predict_proba")
            self.set_tags(**{f"capability:{name}": False for name in names})

    def _fit(self, X, y):
        return self

    def _predict(self, X):
        match self.kind:
            case "NaN":
                return np.full(len(X), np.nan)
            case "raises":
                raise KeyError("missing")
            case "sometimes":
                if len(X) > 3:
                    raise RuntimeError("too many")
            case "scalar":
                return 1
            case "two outputs":
                return np.ones((len(X), 2))
            case "unknown":
                return np.full(len(X), "zebra")
            case "never":
                return np.repeat(self.classes_[0], len(X))
        return self.classes_[self._predict_proba(X).argmax(1)]

    def _predict_proba(self, X):
        z = list_score(X)
        match self.kind:
            case "NaN":
                return np.full((len(X), 2), np.nan)
            case "raises":
                raise KeyError("missing")
            case "one column":
                return (0.5 + z / 2)[:, None]
            case "three columns":
                return np.column_stack([0.5 - z / 2, 0.25 + z / 4, 0.25 + z / 4])
            case "never":
                return np.tile([0.9, 0.1], (len(X), 1))
        return np.column_stack([0.5 - z / 2, 0.5 + z / 2])


class Regressor(BaseRegressor):
    """An sktime regressor of that kind."""

    _tags = {  # noqa: RUF012
        "X_inner_mtype": "df-list", "capability:multivariate": True, "capability:unequal_length": True,
        "capability:missing_values": True,
    }  # fmt: skip

    def __init__(self, kind="values"):
        self.kind = kind
        super().__init__()

    def _fit(self, X, y):
        return self

    def _predict(self, X):
        match self.kind:
            case "NaN":
                return np.full(len(X), np.nan)
            case "raises":
                raise KeyError("missing")
        return list_score(X)


class Flat(SklearnEstimator):
    """A scikit-learn model of that kind, on flat series."""

    def __init__(self, kind="values"):
        self.kind = kind

    def fit(self, X, classes):
        self.fitted_ = True
        if classes is not None:
            self.classes_ = classes
        return self

    def predict(self, X):
        if self.kind == "raises":
            raise KeyError("missing")
        if self.kind == "NaN":
            return np.full(len(X), np.nan)
        z = score(check_array(X))
        return np.asarray(self.classes_)[(z > 0).astype(int)] if hasattr(self, "classes_") else z


def list_score(X):
    with np.errstate(all="ignore"):
        totals = [sum(float(value) for value in one.to_numpy(object).flat if not pd.isna(value)) for one in X]
        return np.tanh(np.nan_to_num(totals))


FIT_X, FIT_Y = np.random.default_rng(0).normal(size=(4, 1, 3)), np.array(["0", "1", "0", "1"])
SKTIME_OPTIONS = {
    "features": [{}, {"a": {"role": "immutable"}}, {"a": {"bounds": (-1, 1)}}, {"a": {"direction": "rise"}}],
    "constraints": [[], [Causal(-1, 0, lambda cause: 2 * cause)]],
    "plausible": [lambda X: np.ones(len(X)), lambda X: X.reshape(len(X), -1).sum(1) < 2],
    "random_state": [0, 1, np.random.RandomState(3)],
    "backend": [None, "threading"],
    "backend_params": [None, {"n_jobs": 1}, {}],
}
SKTIME_OPTIONS_ODD = {
    "features": [
        {"z": {}}, {"a": 3}, 5, ["a"], {"a": {"bounds": (2, 1)}}, {"a": {"values": []}}, {"a": {"values": [0, 1]}},
        {"a": None},
        {"a": {"precision": 0.5}}, {"a": {"categories": 2}}, {"a": {"nonsense": 1}}, {"a": {"scale": "a"}}, {0: {}},
    ],
    "constraints": [3, [None], [Causal("z", 0, abs)], [Causal(0, 9, abs)], None],
    "plausible": [3, lambda X: True, lambda X: 1 / 0],
    "random_state": [-1, "a", 0.5, 2**40, None],
    "backend": ["gpu", "dask_lazy", 3, "None"],
    "backend_params": [{"n_jobs": 0}, {"n_jobs": "a"}, 5, {"nonsense": 1}],
}  # fmt: skip
SKTIME_CALL = {"n_counterfactuals": [1, 2], "max_rows": [10, 50], "max_seconds": [5.0], "progress": [False]}
SKTIME_CALL_ODD = {
    "n_counterfactuals": [0, 1.5, "two", -1, True],
    "max_rows": [0, -1, 1.5, "many", np.nan, 1],
    "max_seconds": [0, -1, "soon", np.nan, 1e-9, np.inf],
    "progress": [None],
}
sktime_targets = st.one_of(
    mostly(
        ["other", "other", "1", "0", ["0", "1"], np.array(["1"]), pd.Series(["1"]), {"1"}],
        [
            7,
            None,
            [],
            np.nan,
            (),
            1,
            np.array("1"),
            np.array([["1"]]),
            ["1", None],
            {},
            object(),
            pd.Series([], dtype=object),
            True,
            b"1",
        ],
        3,
    ),
    st.builds(lambda p: refused_or(lambda: Target.probability("1", p)), mostly([0.6], [1, np.nan, 2, "a"])),
)
sktime_intervals = mostly(
    [(0.2, None), (None, 0.1), (-0.1, 0.1), Target.interval(0.1, None)],
    [(1, 0), (np.nan, 1), 5, ("a", "b"), (None, None), [(0, 1)], [(0, 1), (2, 3)], "other", (1, 2, 3), np.array([0,
        1]), [], None, [None, 1]],
    3,
)  # fmt: skip
KINDS = ["numpy3D", "numpyflat", "series", "frame", "pd.Series", "df-list", "pd-multiindex", "nested_univ"]
ODD_KINDS = [
    "list",
    "text",
    "4D",
    "three levels",
    "duplicates",
    "no columns",
    "unsorted",
    "None",
    "dict",
    "mixed",
    "tuple",
    "repeated",
]


@st.composite
def sktime_calls(draw):
    """A model, arguments of the explainer, a container, a target and limits."""
    n, D, K = draw(mostly([1, 2], [3])), draw(mostly([1, 2], [3])), draw(mostly([3, 4], [1, 2]))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    X = rng.normal(size=(n, D, K)) * draw(mostly([1.0], [0.0, 1e-300, 1e-12, 1e6, 1e150, 1e308], 6))
    if draw(st.integers(0, 7)) == 0:
        X.flat[rng.integers(X.size)] = draw(st.sampled_from([np.nan, np.nan, np.inf, -np.inf, 1e300, 5e-324]))
    if draw(st.integers(0, 19)) == 0:
        X[0] = np.nan
    dtype = draw(
        mostly(
            ["f8", "f8", "f4"],
            ["f2", "i8", "u1", "i1", "?", "O", "U3", "c16", "M8[s]", "Int64", "Float32", "boolean", "u8"],
            5,
        )
    )
    kind, uneven = draw(mostly(KINDS, ODD_KINDS, 6)), draw(st.integers(0, 7)) == 0
    regressor = draw(st.integers(0, 3)) == 0
    usual = ["values"] if regressor else ["two columns"]
    odd = (
        ["NaN", "raises"]
        if regressor
        else ["NaN", "raises", "sometimes", "scalar", "two outputs", "one column", "three columns", "unknown", "never"]
    )
    model = (
        draw(mostly(["sktime"] * 7 + ["flat"], ["incapable", "whole numbers"], 8)),
        regressor,
        draw(mostly(usual, odd, 3)),
    )
    target = draw(sktime_intervals if regressor != (draw(st.integers(0, 19)) == 0) else sktime_targets)
    options = draw(some_of(SKTIME_OPTIONS, SKTIME_OPTIONS_ODD, 8, 60))
    options["settings"] = draw(st.sampled_from(SMALL))
    if (
        isinstance(options.get("features"), dict)
        and (kind.startswith("numpy") or kind == "series")
        and draw(st.integers(0, 9))
    ):
        column = "channel 0" if kind == "numpy3D" else "value"
        options["features"] = dict.fromkeys(
            [column] * bool(options["features"]), next(iter(options["features"].values()), {})
        )
    return model, options, (X, dtype, kind, uneven), target, draw(some_of(SKTIME_CALL, SKTIME_CALL_ODD, 6, 48))


def container_of(X, dtype, kind, uneven):
    """Arrays (n, D, K) as a container of that kind."""
    n, D, K = X.shape

    def cast(values):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                if isinstance(values, np.ndarray):
                    return values.astype(dtype if dtype[0] not in "IFb" else float)
                return values.astype(dtype)
            except (TypeError, ValueError, OverflowError):
                return values

    names = ["a", "b", "c"][:D]
    frames = [cast(pd.DataFrame(one.T, columns=names)) for one in X]
    if uneven and n > 1 and K > 1:
        frames[0] = frames[0].iloc[:-1]
    stacked = pd.concat(dict(enumerate(frames)), names=["id", "time"])
    match kind:
        case "numpy3D":
            return cast(X)
        case "numpyflat":
            return cast(X[:, 0])
        case "series":
            return cast(X[0, 0])
        case "frame":
            return frames[0]
        case "pd.Series":
            return frames[0].iloc[:, 0]
        case "df-list":
            return frames
        case "pd-multiindex":
            return stacked
        case "unsorted":
            return stacked.iloc[::-1]
        case "duplicates":
            return stacked.set_axis(["a"] * D, axis=1)
        case "repeated":
            return pd.concat([stacked, stacked])
        case "three levels":
            return pd.concat({0: stacked})
        case "no columns":
            return stacked.iloc[:, :0]
        case "nested_univ":
            return pd.DataFrame({name: [one[name].reset_index(drop=True) for one in frames] for name in names})
        case "mixed":
            return [frames[0], frames[-1].rename(columns={"a": "z"})]
        case "list":
            return X.tolist()
        case "4D":
            return X[None]
    return {"text": "panel", "None": None, "dict": {"a": X}, "tuple": tuple(frames)}[kind]


def check_sktime(call, states=()):
    """Make the call where the caller has set those states; returns what became of it."""
    (sort, regressor, kind), options, container, target, limits = call
    X = container_of(*container)
    if sort in ("flat", "whole numbers"):
        model = Flat(kind).fit(X, None if regressor else np.array(["0", "1"]) if sort == "flat" else [0, 1])
    elif regressor:
        model = Regressor(kind).fit(FIT_X, np.arange(4.0))
    else:
        model = Classifier(kind, sort == "sktime").fit(FIT_X, FIT_Y)
    try:
        if isinstance(target, InvalidInputError):
            raise target
        # Without a seed it is drawn from numpy's own generator, as in scikit-learn.
        seeded = isinstance(options.get("random_state"), int)
        with strict(states, () if seeded else ("numpy random",)):
            explainer = sktime.CounterfactualExplainer(model, **options)
            result = explainer.explain(X, target, **limits)
    except InvalidInputError:
        return "refused"
    except PredictorError as error:
        return model_failed(error, kind in BROKEN)
    except (TypeError, ValueError) as error:
        if any("/sktime/" in file or "/sklearn/" in file for file, _ in places(error)[-3:]):
            return "refused"  # by sktime's own checks
        raise
    assert repr(result)
    assert str(result)
    table, filled = result.table, result.counterfactuals
    assert type(filled) is type(X)
    for old, new in zip(columns_of(X), columns_of(filled), strict=True):
        assert old.dtype == new.dtype
        assert old.index.equals(new.index)
        before, after = (column.to_numpy(float, na_value=np.nan) for column in (old, new))
        assert (np.isnan(before) == np.isnan(after)).all()
        assert not np.isinf(after).any()
        if not table["valid"].any():
            assert old.equals(new)
    if table["valid"].any():
        said = np.asarray(model.predict(as_panel(filled, sort in ("flat", "whole numbers"))))
        for valid, status, told, now in zip(table["valid"], table["status"], table["prediction"], said, strict=True):
            assert not valid or told == now
            assert status in ("found", "already_target", "model_failed", "budget_exhausted", "not_found", "interrupted")
            if valid and isinstance(target, str) and target in ("0", "1"):
                assert str(now) == target
            if valid and isinstance(target, tuple) and regressor:
                low, high = target
                assert (-np.inf if low is None else low) <= now <= (np.inf if high is None else high)
    features = options.get("features")
    if isinstance(features, dict) and features.get("a") == {"role": "immutable"} and container[2] == "frame":
        assert X["a"].equals(filled["a"])
    return table["status"].iloc[0]


def as_panel(X, tabular):
    """One series as a panel of one; panels as they are."""
    if isinstance(X, np.ndarray) and X.ndim == 1:
        return X[None] if tabular else X[None, None]
    plain = isinstance(X, pd.Series) or (isinstance(X, pd.DataFrame) and X.index.nlevels == 1 and not tabular)
    return [pd.DataFrame(X)] if plain and not isinstance(X.iloc[0, 0] if X.ndim == 2 else None, pd.Series) else X


def columns_of(X):
    """The columns of a container, or the cells of a nested one."""
    if isinstance(X, np.ndarray):
        return [pd.Series(X.reshape(-1))]
    if isinstance(X, pd.Series) and X.dtype != object:
        return [X]
    parts = [X.iloc[:, j] for j in range(X.shape[1])] if isinstance(X, pd.DataFrame) else list(X)
    return [column for part in parts for column in columns_of(part)]


@fuzzed
@given(call=sktime_calls(), states=states_of_callers)
def test_sktime(call, states):
    check_sktime(call, states)


def of_sktime(kind="two columns", **options):
    return sktime.CounterfactualExplainer(Classifier(kind).fit(FIT_X, FIT_Y), **{"settings": SMALL[0], **options})


@pytest.mark.parametrize("kind", ["raises", "scalar"])
def test_sktime_says_that_the_model_failed(kind):
    with pytest.raises((PredictorError, InvalidInputError), match=r"the estimator (raised|gave|has)"):
        of_sktime(kind).explain(FIT_X[:2])


@pytest.mark.parametrize(
    ("options", "limits"),
    [
        ({"features": ["a"]}, {}),
        ({"features": {"channel 0": {"scale": "a"}}}, {}),
        ({"constraints": None}, {}),
        ({"plausible": 3}, {}),
        ({"backend_params": 5}, {}),
        ({"random_state": -1}, {}),
        ({"random_state": "a"}, {}),
        ({}, {"max_seconds": "soon"}),
        ({}, {"max_rows": 0}),
    ],
)
def test_sktime_refuses_before_the_model_is_asked(options, limits):
    with pytest.raises(InvalidInputError, match="must be"):
        of_sktime("raises", **options).explain(FIT_X[:1], **limits)


def test_sktime_counts_the_predictions():
    stacked = pd.concat(dict(enumerate([pd.DataFrame({"a": [1.0, 2.0]})] * 2)))
    with pytest.raises(PredictorError, match="4 predictions for the 2 series"):
        sktime.CounterfactualExplainer(Flat().fit(None, np.array(["0", "1"]))).explain(stacked)


def test_sktime_refuses_what_is_no_estimator():
    class Duck:
        classes_ = (0, 1)

        def fit(self):
            return self

        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(InvalidInputError, match="sktime or scikit-learn"):
        sktime.CounterfactualExplainer(Duck())


def test_sktime_takes_a_label_in_an_array_without_axes():
    assert of_sktime().explain(FIT_X[:2], np.array("1")).table["target"].tolist() == ["1", "1"]


@pytest.mark.parametrize("dtype", ["Float32", "Int64"])
def test_sktime_keeps_pandas_own_types_in_nested_panels(dtype):
    cell = pd.Series([1, 2, None, -5], dtype=dtype)
    X = pd.DataFrame({"a": [cell, cell + 1]})
    result = of_sktime(random_state=0).explain(X, "1")
    for old, new in zip(X["a"], result.counterfactuals["a"], strict=True):
        assert new.dtype == dtype
        assert (new.isna() == old.isna()).all()


ADAPTERS = {
    "alibi": (alibi_calls, check_alibi),
    "DiCE": (dice_calls, check_dice),
    "sktime": (sktime_calls, check_sktime),
}
