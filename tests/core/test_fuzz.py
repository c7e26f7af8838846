"""Odd input of every kind: an exception that is documented, or a result that is valid. Nothing else."""

import traceback
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from callers import in_states, states_of_callers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ntdcfe import (
    NTDCFE,
    PAPER,
    Causal,
    Continuous,
    Discrete,
    Features,
    InvalidInputError,
    OneHot,
    PredictorError,
    SearchSettings,
    Target,
)


def mostly(usual, odd, times=12):
    """One of the usual, now and then one of the odd."""
    usual, odd = list(usual), list(odd)
    return st.sampled_from(usual * max(1, times * len(odd) // len(usual)) + odd)


numbers = st.sampled_from([0, 1, -1, 0.5, 3, 1e-300, 1e300, -1e30, 1e-9, np.inf, -np.inf, np.nan, True, None, "a", 2.5])
dtypes = mostly(["f8", "f8", "f4"], ["f2", "i8", "u1", "?", "O", "U3", "c16", "M8[s]"])
shapes = mostly(
    [(3, 2), (4, 3), (6, 2), (2,), (3,), (1, 4)], [(1, 1), (5, 1), (1,), (), (0,), (0, 2), (2, 0), (2, 2, 2)]
)


@st.composite
def arrays(draw, lead=()):
    shape = (*lead, *draw(shapes))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    scale = draw(mostly([1.0], [0.0, 1e-300, 1e-12, 1e6, 1e150, 1e308], 4))
    array = rng.normal(size=shape) * scale
    if draw(st.integers(0, 9)) == 0 and array.size:
        array.flat[rng.integers(array.size)] = draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -0.0, 5e-324]))
    if draw(st.integers(0, 3)) == 0:
        array = np.round(np.clip(array, -3, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(array).astype(draw(dtypes))


def refused_or(make):
    """What `make` gives, or the documented refusal."""
    try:
        return make()
    except InvalidInputError as refusal:
        return refusal


feature = st.one_of(
    st.builds(
        lambda b, d, s, r, w: refused_or(lambda: Continuous(bounds=b, direction=d, scale=s, role=r, weight=w)),
        mostly([None, (0, 1), (None, 2), (-9, 9), (1, 1)], [(3, 1), (np.nan, 1), 5, ("a", 1), (-np.inf, np.inf)]),
        mostly([None, "rise", "fall"], ["up"]),
        mostly([None, 1.0, 1e-12, 1e12], [0, -1, np.nan]),
        mostly(["actionable"] * 4 + ["immutable", "non_actionable"], ["owner"]),
        mostly([1.0, 1e-6, 1e6], [0, -1, np.inf, "heavy"]),
    ),
    st.builds(
        lambda v, d: refused_or(lambda: Discrete(v, direction=d)),
        mostly([(0, 1, 2, -1, 3, -2, -3)], [(0, 1), (), (1,), (0, 0), (np.nan, 1), ("a", "b"), 3], 4),
        st.sampled_from([None, "rise"]),
    ),
    st.builds(lambda c: refused_or(lambda: OneHot(c)), mostly([2, ["a", "b"]], [1, 3, ["a"]])),
)
plain_targets = mostly([1, 1, "other", "1", {1}, np.int64(1)], [0, True, 7, None, [], [0, 1], np.nan, (), 0.5])
targets = st.one_of(
    plain_targets,
    st.builds(
        lambda label, p: refused_or(lambda: Target.probability(label, p)),
        mostly([1], [0, "x"]),
        mostly([0.6], [1, 0, -1, 2.0, np.nan, None, "a"]),
    ),
    st.builds(lambda low: refused_or(lambda: Target.interval(low, None)), mostly([0.2], [1e300, np.nan, "a", np.inf])),
    st.builds(lambda low, high: refused_or(lambda: Target.interval(low, high)), numbers, numbers),
)


def score(X):
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.tanh(np.asarray(X, float).reshape(len(X), -1).sum(1)))


MODELS = {
    "labels": lambda X: (score(X) > 0.3).astype(int),
    "text": lambda X: np.where(score(X) > 0.3, "1", "0"),
    "two columns": lambda X: np.column_stack([0.5 - score(X) / 2, 0.5 + score(X) / 2]).clip(0, 1),
    "one column": lambda X: (0.5 + score(X) / 2).reshape(-1, 1).clip(0, 1),
    "values": score,
    "NaN": lambda X: np.where(score(X) > 0.9, np.nan, score(X)),
    "never": lambda X: np.zeros(len(X), int),
    "raises": lambda X: {}["missing"],
    "scalar": lambda X: 1,
    "ragged": lambda X: [[1]] * (len(X) - 1) + [[1, 2]],
    "strange": lambda X: [object()] * len(X),
}
BROKEN = {"NaN", "raises", "scalar", "ragged", "strange", "one column"}
USUAL = ["labels", "labels", "text", "two columns", "values"]


def places(error):
    """Where an exception came through: files and source lines, the innermost last."""
    return [(Path(frame.filename).as_posix(), frame.line or "") for frame in traceback.extract_tb(error.__traceback__)]


def model_failed(error, broken, *others):
    """That it did; if what raised was neither a broken model nor another function of the user, the error itself."""
    while error.__cause__ is not None and error.__cause__.__traceback__ is not None:  # joblib's causes have none
        error = error.__cause__
    if (
        not broken
        and not isinstance(error, (InvalidInputError, PredictorError, *others))
        and "/tests/" not in places(error)[-1][0]
    ):
        raise error
    return "model failed"


@st.composite
def calls(draw):
    """A constructor's arguments, and those of explain or explain_batch."""
    odd = draw(st.integers(0, 9)) == 0
    many = draw(st.integers(0, 3)) == 0
    x = draw(arrays((draw(st.integers(0, 3)),) if many else ()))
    options = {
        "settings": draw(st.sampled_from([
            SearchSettings(max_rows=60, batch_rows=15),
            SearchSettings(max_rows=40, batch_rows=13, shape="to_end", n_counterfactuals=3),
            SearchSettings(max_rows=60, batch_rows=15, on_violation="discard", reach=None, margin=0.0),
            replace(PAPER, max_episodes=2, max_interventions=4, hidden=(4,), max_rows=30),
        ])),
        "output": draw(mostly(["auto"], ["labels", "probabilities", "probability", "values", "logits"], 5)),
        "classes": draw(mostly([None], [[0, 1], ["a", "b"], [1], [0, 1, 2], []], 5)),
        "seed": draw(st.sampled_from([0, 1, 2**31, 2**63, -1, 0.5] if odd else [0, 1, 7])),
    }  # fmt: skip
    if draw(st.booleans()):
        width = x.shape[-1] if x.ndim and x.shape[-1] and not odd else draw(st.integers(1, 4))
        described = draw(st.lists(feature, min_size=width, max_size=width))
        steps = draw(mostly([None, slice(0, None)], [slice(1, None), [0], [9], [], [True, False, True], "all"]))
        options["features"] = (described, steps)
    if draw(st.integers(0, 5)) == 0:
        rule = Causal(draw(mostly([1, -1], [0, "x", 9])), 0, draw(mostly([lambda a: 2 * a], [lambda a: 1 / 0])))
        options["constraints"] = draw(mostly([[rule]], [rule, 3]))
    if draw(st.integers(0, 5)) == 0:
        odd_tests = [lambda X: True, lambda X: 1 / 0, 3]
        options["plausible"] = draw(mostly([lambda X: np.ones(len(X)), lambda X: score(X) < 0.8], odd_tests, 3))
    limits = {}
    if odd:
        limits["max_rows"] = draw(numbers)
        limits["max_seconds"] = draw(st.sampled_from([None, 1e-9, 0.01, -1, "soon", np.nan]))
        limits["n_counterfactuals"] = draw(st.sampled_from([None, 1, 2, 0, 1.5, "two"]))
    return draw(mostly(USUAL, sorted(MODELS), 2)), options, many, x, draw(targets), limits


def check(call, states=()):
    """Make the call where the caller has set those states; returns what became of it."""
    name, options, many, x, target, limits = call
    model = MODELS[name]
    try:
        if isinstance(target, InvalidInputError):
            raise target
        if "features" in options:
            described, steps = options["features"]
            for feature in described:
                if isinstance(feature, InvalidInputError):
                    raise feature
            options = {**options, "features": Features(described, steps)}
        with in_states(states), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            explainer = NTDCFE(model, **options)
            cfs = (explainer.explain_batch if many else explainer.explain)(x, target, **limits)
    except InvalidInputError:
        return "refused"
    except PredictorError as error:
        return model_failed(error, name in BROKEN)
    for cf, original in zip(cfs if many else [cfs], x if many else [x], strict=True):
        assert cf.original.shape == original.shape
        assert str(cf)
        assert cf.to_dict()
        limit = limits.get("max_rows") or explainer.settings.max_rows
        assert limit is None or cf.rows <= limit
        if cf.found and cf.confirmed and cf.status != "model_failed":
            for candidate in cf.candidates:
                assert candidate.shape == original.shape
                assert np.isfinite(candidate).all()
                assert explainer.features is None or explainer.features.encode(np.atleast_2d(candidate)) is not None
            if name == "labels" and target in (1, True):
                assert model(cf.x[None])[0] == 1
    return (cfs[0].status if cfs else "empty") if many else cfs.status


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(call=calls(), states=states_of_callers)
def test_only_documented_exceptions_or_a_valid_result(call, states):
    check(call, states)
