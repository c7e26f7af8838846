"""Functions of the user's that do anything, under any state of the caller's: documented errors, or valid results.

What is valid is told by functions of this file, which look at the series alone.
"""

import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from callers import in_states, states_of_callers
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_fuzz import mostly

from ntdcfe import (
    NTDCFE,
    PAPER,
    Causal,
    Constraint,
    Continuous,
    Counterfactual,
    Discrete,
    Features,
    InvalidInputError,
    PredictorError,
    SearchSettings,
    Target,
)
from ntdcfe.problem.objective import Term

STATUSES = ("found", "already_target", "budget_exhausted", "not_found", "interrupted", "model_failed")


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


# What a function may do beside its work. Those of HARMLESS leave what it says as it is.
def writes(answer, given, n):
    for array in given:
        for part in array if isinstance(array, tuple) else [array]:
            if isinstance(part, np.ndarray) and part.flags.writeable:
                part[...] = 3
    return answer


def slow(answer, given, n):
    time.sleep(0.001)
    return answer


def read_only(answer, given, n):
    answer.flags.writeable = False
    return answer


def strided(answer, given, n):
    return np.repeat(answer, 2, axis=0)[::2]


def raises(kind):
    def rarely(answer, given, n):
        if n % 5 == 3:
            raise kind("on purpose")
        return answer

    return rarely


def rarely(odd):
    return lambda answer, given, n: odd(answer) if n % 4 == 2 else answer


def has_no_number(answer):
    answer = np.array(answer, dtype=answer.dtype if answer.dtype.kind == "f" else object)
    answer[..., :1] = np.nan if answer.dtype.kind == "f" else None
    return answer


def needs_gradients(answer):
    """The answer as a tensor, which numpy reads only where the caller has switched gradients off."""
    numbers = np.asarray(answer, float) if answer.dtype.kind in "fiub" else np.ones(answer.shape)
    with torch.inference_mode(False):  # within it, nothing needs gradients
        return torch.tensor(numbers, device="cpu", dtype=torch.float64, requires_grad=True)


HARMLESS = {
    "honest": lambda answer, given, n: answer, "writes": writes, "slow": slow, "strided": strided,
    "read-only": read_only, "list": lambda answer, given, n: answer.tolist(),
    "masked": lambda answer, given, n: np.ma.array(answer),
}  # fmt: skip
HARMFUL = {
    "raises": raises(ValueError), "cannot be printed": raises(UnprintableError), "StopIteration": raises(StopIteration),
    "MemoryError": raises(MemoryError), "RecursionError": raises(RecursionError), "exits": raises(SystemExit),
    "GeneratorExit": raises(GeneratorExit), "AssertionError": raises(AssertionError), "warns": raises(UserWarning),
    "refuses": raises(InvalidInputError), "failed": raises(PredictorError), "deep": raises(OSError),
    "short": rarely(lambda answer: answer[:-1]), "long": rarely(lambda answer: np.concatenate([answer, answer])),
    "scalar": rarely(lambda answer: 1.0), "None": rarely(lambda answer: None), "text": rarely(lambda answer: "text"),
    "objects": rarely(lambda answer: [object()] * len(answer)), "nested": rarely(lambda answer: [[answer]]),
    "complex": rarely(lambda answer: np.full(answer.shape, 1j)), "no number": rarely(has_no_number),
    "ragged": rarely(lambda answer: [[1], [1, 2], *answer.tolist()]),
    "set": rarely(lambda answer: set(answer.ravel().tolist())),
    "generator": rarely(lambda answer: (value for value in answer)),
    "needs gradients": rarely(needs_gradients),
    "infinite": rarely(lambda answer: np.full(answer.shape, np.inf)),
}  # fmt: skip
BEHAVIOURS = {**HARMLESS, **HARMFUL}
behaviours = mostly(["honest"] * 4 + sorted(HARMLESS), sorted(HARMFUL), 1)


class Does:
    """A function of the user's that does its work, and something else beside it."""

    def __init__(self, function, behaviour):
        self.function, self.behaviour, self.n = function, BEHAVIOURS[behaviour], 0

    def __call__(self, *given):
        self.n += 1
        return self.behaviour(np.array(self.function(*given)), given, self.n)


class Buffered(Does):
    """The same with an answer that is written over by the next one."""

    def __init__(self, function, behaviour):
        super().__init__(function, behaviour)
        self.buffer = np.zeros(0)

    def __call__(self, *given):
        answer = super().__call__(*given)
        if isinstance(answer, np.ndarray) and answer.flags.writeable:
            if self.buffer.dtype == answer.dtype and self.buffer.flags.writeable:
                self.buffer[...] = 1
            self.buffer = answer
        return answer


# Models


def score(X):
    with np.errstate(all="ignore"):
        flat = np.nan_to_num(np.asarray(X, float)).reshape(len(X), -1, X.shape[-1])
        return np.tanh(flat[..., 0].mean(1) + 0.5 * flat[..., 1].mean(1))


OUTPUTS = {
    "labels": (lambda X: (score(X) > 0.3).astype(int), 1),
    "text": (lambda X: np.where(score(X) > 0.3, "high", "low"), "high"),
    "other": (lambda X: (score(X) > 0.3).astype(int), "other"),
    "probabilities": (lambda X: np.column_stack([0.5 - score(X) / 2, 0.5 + score(X) / 2]), 1),
    "confident": (lambda X: np.column_stack([0.5 - score(X) / 2, 0.5 + score(X) / 2]), Target.probability(1, 0.7)),
    "values": (score, Target.interval(0.4, None)),
    "between": (score, Target.interval(0.2, 0.45)),
}


def reached(output, said, present):
    """Whether answers of a model are as wanted where it says `present` of the original, told without the package."""
    said = np.asarray(said)
    match output:
        case "labels":
            return said == 1
        case "other":
            return said != present
        case "text":
            return said == "high"
        case "probabilities":
            return said[:, 1] > said[:, 0]
        case "confident":
            return said[:, 1] >= 0.7
        case "values":
            return said >= 0.4
    return (said >= 0.2) & (said <= 0.45)


class Model:
    """A model of which one may expect anything; `clean` is what it would say if it were asked kindly."""

    def __init__(self, output, kind, behaviour):
        self.clean = OUTPUTS[output][0]
        self.kind, self.n = kind, 0
        self.does = Buffered(self.clean, behaviour)
        self.rng = np.random.default_rng(0)

    def __call__(self, X):
        self.n += 1
        match self.kind:
            case "seeds":
                np.random.seed(3)  # noqa: NPY002
                torch.manual_seed(3)
            case "sets":
                torch.set_grad_enabled(False)
                np.seterr(all="raise")
            case "by company":
                return self.clean(np.broadcast_to(X.max(0), X.shape))
            case "flips":
                answer = self.clean(X)
                wrong = self.rng.random(len(X)) < 0.15
                return np.where(wrong[:, None] if answer.ndim == 2 else wrong, answer[::-1], answer)
            case "asks for another" if self.n == 2:
                NTDCFE(OUTPUTS["labels"][0]).explain(np.full((3, 3), -1.0), 1, max_rows=20)
            case "tensor":
                answer = self.clean(X)
                return torch.from_numpy(answer) if answer.dtype.kind in "fi" else answer
            case "gone" if self.n > 3:
                raise ConnectionError("gone")
            case "interrupted" if self.n == 4:
                raise KeyboardInterrupt
            case "by hand" if X.ndim == 3:
                X[:, ::2] = 0
                return self.clean(X)
        return self.does(X)


# Those of SOUND say of a row what `clean` says of it.
SOUND = ["plain"] * 9 + ["seeds", "sets", "asks for another", "tensor", "gone", "interrupted"]
KINDS = [*SOUND, "by company", "flips"]
FAILS = {"gone"}


# Rules


class NoMiddle(Constraint):
    """No change at the middle step."""

    def __init__(self, behaviour):
        self._project, self._broken = Buffered(self._held, behaviour), Buffered(self._changed, behaviour)

    def _held(self, x, original):
        return np.where(np.arange(x.shape[1])[:, None] == x.shape[1] // 2, original, x)

    def _changed(self, x, original):
        middle = x.shape[1] // 2
        return ((x[:, middle] != original[middle]) & ~np.isnan(original[middle])).any(1)

    def project(self, x, original):
        return self._project(x, original)

    def broken(self, x, original):
        return self._broken(x, original)


class Price(Term):
    def __init__(self, behaviour):
        self._cost = Buffered(lambda x, original: np.nan_to_num(np.abs(x - original))[..., 0].sum(1), behaviour)

    def cost(self, x, original, features):
        return self._cost(x, original)


class Own(Target):
    def __init__(self, behaviour):
        self._reached = Buffered(lambda outcomes: np.asarray(outcomes == 1), behaviour)

    def reached(self, prediction):
        return self._reached(prediction.outcomes)


class Scored(Own):
    """The same with a score of its own, which does anything; what it calls reached is reached."""

    def __init__(self, behaviour):
        super().__init__("honest")
        self._score = Buffered(lambda outcomes: np.where(outcomes == 1, 1.0, 0.2), behaviour)

    def score(self, prediction):
        return self._score(prediction.outcomes)


def usual(rows):
    return score(rows) < 0.97


def squared(original, x, weights, discrete):
    with np.errstate(all="ignore"):
        return np.nan_to_num((x - original) ** 2 * weights).sum((1, 2))


def half(cause):
    return 0.5 * cause


SETTINGS = [
    SearchSettings(max_rows=120, batch_rows=20),
    SearchSettings(max_rows=90, batch_rows=18, n_counterfactuals=2, max_batch_size=7),
    SearchSettings(max_rows=120, batch_rows=30, options=["nearest"], survival=None, retries=1, retry_wait=0.0),
    SearchSettings(max_rows=100, batch_rows=25, shape="to_end", on_violation="discard", reach=None),
    PAPER.given(max_episodes=2, max_interventions=5, hidden=(4,), max_rows=60, learning_rate=1e-2),
]
FEATURES = {
    "free": Continuous(), "immutable": Continuous(role="immutable"), "bounded": Continuous(bounds=(-2, 3)),
    "rises": Continuous(direction="rise"), "cents": Continuous(precision=2), "listed": Discrete((-1, 0, 1, 2, 3)),
    "follows": Continuous(role="non_actionable"),
}  # fmt: skip
USERS = ("rule", "constraint", "plausible", "proximity", "term", "target", "score", "progress")


@st.composite
def calls(draw):
    """Everything that decides a call; names, so that one that fails can be read."""
    user = draw(st.sampled_from([None, *USERS]))
    named = tuple(draw(mostly(["free"], sorted(FEATURES), 1)) for _ in range(3))
    if user == "rule":
        named = (draw(st.sampled_from(["free", "bounded", "rises"])), "follows", named[2])
    output = draw(st.sampled_from(sorted(OUTPUTS)))
    return {
        "shape": draw(st.sampled_from([(4, 3), (6, 3), (3,), (2, 5, 3), (3, 3, 3), (2, 3)])),
        "batch": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**16)),
        "dtype": draw(mostly(["f8", "f8", "f4"], ["i8"], 4)),
        "missing": draw(st.integers(0, 5)) == 0,
        "features": named,
        "steps": draw(mostly([None, slice(0, None)], [slice(1, None)], 6)),
        "output": "labels" if user in ("target", "score") else output,
        "model": (draw(st.sampled_from(KINDS)), draw(behaviours)),
        "user": user,
        "does": draw(behaviours),
        "settings": draw(st.integers(0, len(SETTINGS) - 1)),
        "max_seconds": draw(mostly([None], [0.005, 0.05], 4)),
        "way": draw(mostly(["plain"], ["checkpoint", "threading", "session"], 3)),
    }


def series_of(call):
    shape = call["shape"]
    many = len(shape) == 3 or (call["batch"] and len(shape) == 2)
    x = np.random.default_rng(call["seed"]).normal(-0.3, 0.4, shape)
    listed = [i for i, name in enumerate(call["features"]) if name == "listed"]
    x[..., listed] = np.round(x[..., listed]).clip(-1, 3)
    x = (np.round(x * 2) if call["dtype"] == "i8" else x).astype(call["dtype"])
    x[..., listed] = x[..., listed].clip(-1, 3)
    if call["missing"] and x.dtype.kind == "f" and x.ndim - many == 2 and x.shape[-2] > 2:
        x[..., 0, 2] = np.nan
    return x, many


def check(call, states=()):
    """Make the call where the caller has set those states; returns what became of it."""
    call = {**call, "states": states}
    x, many = series_of(call)
    given_x = x.copy()
    output, (kind, behaviour), user, does = call["output"], call["model"], call["user"], call["does"]
    model = Model(output, kind, behaviour)
    settings_ = SETTINGS[call["settings"]]
    options = {"features": Features([FEATURES[name] for name in call["features"]], call["steps"]), "missing": "fixed"}
    target, limits = OUTPUTS[output][1], {"max_seconds": call["max_seconds"]}
    match user:
        case "rule":
            options["constraints"] = [Causal(1, 0, Buffered(half, does))]
        case "constraint":
            options["constraints"] = [NoMiddle(does)]
        case "plausible":
            options["plausible"] = Buffered(usual, does)
        case "proximity":
            options["proximity"] = Buffered(squared, does)
        case "term":
            settings_ = settings_.given(terms=[Price(does)])
        case "target":
            target = Own(does)
        case "score":
            target = Scored(does)
        case "progress":
            limits["progress"] = Does(lambda progress: 0, does)
    explainer = NTDCFE(model, settings=settings_, seed=call["seed"] % 5, **options)
    # A model that sets something has set it; what the call is to leave alone is what others have set.
    own_state = kind in ("seeds", "sets")
    held = warnings.catch_warnings() if own_state else in_states(call["states"])
    errors = np.geterr()
    try:
        with held, tempfile.TemporaryDirectory() as folder:
            cfs = explained(explainer, x, many, target, limits, call["way"], folder)
    except InvalidInputError as error:
        assert harmful(call) or "actionable" in str(error) or "no feature is left" in str(error), error  # noqa: PT017
        return "refused"
    except PredictorError:
        assert harmful(call), "the search failed, and no function of the user's did"
        return "model failed"
    except UserWarning as warning:
        assert "warnings are errors" in call["states"], warning  # noqa: PT017
        return "warning raised"
    except (GeneratorExit, SystemExit):
        assert "exits" in (behaviour, does) or "GeneratorExit" in (behaviour, does)
        return "ended by the user's function"
    finally:
        if own_state:
            np.seterr(**errors)
            torch.set_grad_enabled(True)
    np.testing.assert_array_equal(x, given_x)
    for cf, original in zip(cfs, given_x if many else [given_x], strict=True):
        check_result(call, cf, original, settings_, model)
    return cfs[0].status if cfs else "empty"


def explained(explainer, x, many, target, limits, way, folder):
    if way == "session" and not many:
        session = explainer.session(x, target)
        try:
            while (rows := session.ask()) is not None:
                session.tell(explainer.predict(rows))
        except KeyboardInterrupt:
            pass
        except Exception as error:  # the model is asked by the caller: its errors are the caller's
            if not isinstance(error, (InvalidInputError, PredictorError)) and from_here(error):
                raise PredictorError("the caller's own model") from error
            raise
        return [session.result()]
    if not many:
        return [explainer.explain(x, target, **limits)]
    further = {"checkpoint": Path(folder) / "run.jsonl"} if way == "checkpoint" else {}
    if way == "threading":
        further = {"backend": "threading", "n_jobs": 2}
    return explainer.explain_batch(x, target, **limits, **further)


def from_here(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return Path(trace.tb_frame.f_code.co_filename).name in (Path(__file__).name, "test_fuzz.py")


def harmful(call):
    """Whether some function of the user's may be said to have failed."""
    kind, behaviour = call["model"]
    users = call["user"] is not None and call["does"] in HARMFUL
    # What warns is an error where the caller has said so; a tensor of another device cannot be read.
    odd_state = {"warnings are errors", "default device meta", "with torch.device", "little recursion"}
    return kind in FAILS or behaviour in HARMFUL or users or (kind == "tensor" and odd_state & set(call["states"]))


def check_result(call, cf, original, settings_, model):
    kind, behaviour = call["model"]
    assert cf.status in STATUSES
    assert str(cf)
    assert repr(cf)
    again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict(), allow_nan=False)), cf.original, cf.features)
    assert str(again) == str(cf)
    assert cf.rows <= settings_.max_rows
    np.testing.assert_array_equal(cf.original, original.astype(cf.original.dtype))
    if cf.status == "model_failed":
        assert harmful(call), cf.cause
        assert cf.cause is not None
    if not cf.found:
        assert cf.status not in ("found", "already_target")
        return
    present = model.clean(original[None])
    for candidate in cf.candidates:
        candidate = np.asarray(candidate)
        assert candidate.shape == original.shape
        changed = (candidate != original) & ~(np.isnan(candidate) & np.isnan(original))
        if cf.status != "already_target":
            assert changed.any()
        keeps_the_rules(call, candidate, original, changed)
        # An object is another class than the present one.
        lies = ["no number", "infinite", "short", "long", "nested", "scalar"]
        if kind in SOUND and behaviour not in lies and (behaviour, call["output"]) != ("objects", "other"):
            assert reached(call["output"], model.clean(candidate[None]), present)[0], "an answer that the model denies"
    if kind == "by company" and cf.confirmed:
        assert reached(call["output"], model.clean(np.asarray(cf.x)[None]), present)[0]
    assert cf.sparsity == ((cf.x != original) & ~np.isnan(original)).sum()


def keeps_the_rules(call, candidate, original, changed):
    cells, before, moved = (np.atleast_2d(array) for array in (candidate, original, changed))
    assert (np.isnan(cells) == np.isnan(before)).all()
    assert np.isfinite(cells[~np.isnan(before)]).all()
    if call["steps"] is not None:
        assert not moved[: call["steps"].start].any()
    for j, name in enumerate(call["features"]):
        column, was, at = cells[:, j], before[:, j], moved[:, j]
        match name:
            case "immutable":
                assert not at.any()
            case "follows":
                assert call["user"] == "rule" or not at.any()
            case "bounded":
                assert ((column[at] >= -2) & (column[at] <= 3)).all()
            case "rises":
                assert (column[at] > was[at]).all()
            case "cents":
                np.testing.assert_allclose(column[at], np.round(column[at].astype(float), 2), atol=1e-6)
            case "listed":
                assert np.isin(column[at], (-1, 0, 1, 2, 3)).all()
    kept = call["does"] in HARMLESS
    if call["user"] == "rule" and kept:
        follows = half(cells[moved[:, 0], 0])
        follows = np.round(follows) if cells.dtype.kind == "i" else follows  # whole numbers stay whole
        np.testing.assert_allclose(cells[moved[:, 0], 1], follows, rtol=1e-4, atol=1e-6)
    if call["user"] == "constraint" and kept:
        assert not moved[len(moved) // 2].any()
    if call["user"] == "plausible" and kept and changed.any():
        assert usual(candidate[None])[0]


PLAIN = {
    "shape": (4, 3), "batch": False, "seed": 0, "dtype": "f8", "missing": False, "features": ("free", "free", "free"),
    "steps": None, "output": "labels", "model": ("plain", "honest"), "user": None, "does": "honest", "settings": 0,
    "max_seconds": None, "way": "plain",
}  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@example(call={**PLAIN, "user": "target", "does": "infinite"}, states=())  # infinity was taken for "reached"
@example(call={**PLAIN, "user": "score", "does": "infinite", "seed": 1}, states=())
@example(call={**PLAIN, "model": ("plain", "needs gradients"), "way": "session"}, states=())  # a raw RuntimeError
@example(
    call={**PLAIN, "model": ("plain", "needs gradients"), "user": "target", "does": "needs gradients"},
    states=("inference_mode",),
)
@example(
    call={**PLAIN, "missing": True, "model": ("plain", "needs gradients"), "user": "target", "does": "infinite"},
    states=("BLAS on two threads", "inference_mode"),
)
@example(  # the original was said to be confirmed, and had not been asked alone for want of rows
    call={
        **{**PLAIN, "shape": (2, 3), "batch": True, "seed": 521, "dtype": "f4", "steps": slice(0, None)},
        **{"features": ("rises", "follows", "rises"), "output": "values", "model": ("by company", "honest")},
        **{"user": "rule", "does": "masked", "settings": 2},
    },
    states=(),
)
@given(call=calls(), states=states_of_callers)
def test_only_documented_errors_or_valid_results_and_the_callers_state_as_it_was(call, states):
    check(call, states)
