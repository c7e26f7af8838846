"""The user's functions get copies and give copies: what they write into, then or later, reaches no state of ours."""

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    PAPER,
    Causal,
    Constraint,
    Continuous,
    Features,
    InvalidInputError,
    PredictorError,
    SearchSettings,
    Target,
)
from ntdcfe.problem.objective import Term
from ntdcfe.search.refine.moves import Move
from ntdcfe.testing import ends_high, logistic, search_of, series

SMALL = SearchSettings(max_rows=600)
NEAREST = SearchSettings(max_rows=1500, options=("nearest",))
SHORT_PAPER = PAPER.given(max_episodes=20, max_interventions=30, hidden=(20, 10), learning_rate=1e-3)
X = series(16, 3, mean=-0.7)
PAST = slice(5, None)
FEATURES = Features([Continuous(), Continuous(role="non_actionable"), Continuous(role="immutable")], PAST)
FREE = Features.continuous(3, actionable_steps=PAST)


class Scribbler:
    """Does as `function` does, then writes into all that it was given, and into what it returned the last time."""

    def __init__(self, function):
        self.function, self.buffer = function, np.zeros(0)

    def __call__(self, *given):
        self.buffer[...] = 7
        self.buffer = np.array(self.function(*given))
        for array in given:
            for part in array if isinstance(array, tuple) else [array]:
                if isinstance(part, np.ndarray):
                    part[...] = 3
        return self.buffer


class Plain:
    """Does as `function` does, and gives it copies."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *given):
        return np.array(self.function(*given))


class NoStep(Constraint):
    """No change at the seventh step."""

    def __init__(self, hostile):
        wrap = Scribbler if hostile else Plain
        self._project = wrap(lambda x, original: np.where(np.arange(x.shape[1])[:, None] == 7, original, x))
        self._broken = wrap(lambda x, original: (x[:, 7] != original[7]).any(1))

    def project(self, x, original):
        return self._project(x, original)

    def broken(self, x, original):
        return self._broken(x, original)


class Price(Term):
    def __init__(self, hostile):
        self._cost = (Scribbler if hostile else Plain)(lambda x, original: np.abs(x - original)[..., 1].sum(1))

    def cost(self, x, original, features):
        return self._cost(x, original)


class OwnTarget(Target):
    def __init__(self, hostile):
        self.hostile, self.buffer = hostile, np.zeros(0, bool)

    def reached(self, prediction):
        reached = prediction.outcomes == 1
        if self.hostile:
            self.buffer[...] = True
            self.buffer = reached
            prediction.outcomes[...] = 1
        return reached


class OwnMove(Move):
    hostile = False

    def propose(self, base, n):
        states = np.repeat(base[None], n, axis=0)
        states[:, self.search.rng.integers(0, len(base), n)] = self.search.space.original[0]
        if self.hostile:
            base[...] = 3
        return states

    def learn(self, outcome, better):
        if self.hostile:
            for array in (outcome.states, outcome.valid, outcome.cost, better):
                array[...] = 1


class HostileMove(OwnMove):
    hostile = True


def one_step(states, action, discrete):
    proposals = states.copy()
    proposals[np.arange(len(states)), 8:, action.feature] += action.strength[:, None]
    return proposals


def squared(original, x, weights, discrete):
    return (((x - original) ** 2) * weights).sum((1, 2))


def usual(rows):
    return rows[:, -3:, 0].max(1) < 2


KINDS = {
    "causal rule": lambda wrap, hostile: dict(
        features=FEATURES, constraints=[Causal(1, 0, wrap(lambda a: 0.5 * np.maximum(a, 0)))]
    ),
    "constraint": lambda wrap, hostile: dict(features=FREE, constraints=[NoStep(hostile)]),
    "plausible": lambda wrap, hostile: dict(features=FREE, plausible=wrap(usual)),
    "proximity": lambda wrap, hostile: dict(features=FREE, proximity=wrap(squared)),
    "transition": lambda wrap, hostile: dict(features=FREE, transition=wrap(one_step)),
    "term": lambda wrap, hostile: dict(features=FREE, settings=SMALL.given(terms=[Price(hostile)])),
    "move": lambda wrap, hostile: dict(
        features=FREE, settings=NEAREST.given(moves=[HostileMove if hostile else OwnMove])
    ),
}


def explained(kind, hostile, settings):
    options = KINDS[kind](Scribbler if hostile else Plain, hostile)
    options = {"settings": settings, **options}
    return NTDCFE(ends_high, **options).explain(X.copy(), 1)


@pytest.mark.parametrize("settings", [SMALL, SHORT_PAPER], ids=["default", "paper"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_users_functions_write_into_changes_nothing(kind, settings):
    if kind == "move" and settings is SHORT_PAPER:
        return
    plain, hostile = explained(kind, False, settings), explained(kind, True, settings)
    assert plain.cause is hostile.cause is None
    assert plain.found
    np.testing.assert_array_equal(hostile.x, plain.x)
    np.testing.assert_array_equal(hostile.original, X)
    assert (hostile.rows, hostile.sparsity, hostile.proximity) == (plain.rows, plain.sparsity, plain.proximity)
    changed = hostile.x != X
    assert hostile.sparsity == changed.sum()
    assert not changed[:5].any()  # steps that are past
    if kind == "causal rule":
        assert not changed[:, 2].any()  # an immutable feature


def test_a_target_that_writes_into_the_prediction_changes_nothing():
    plain, hostile = (NTDCFE(ends_high, settings=SMALL).explain(X, OwnTarget(h)) for h in (False, True))
    np.testing.assert_array_equal(hostile.x, plain.x)
    assert (hostile.present, hostile.prediction, hostile.rows) == (0, 1, plain.rows)


@pytest.mark.parametrize("model", [ends_high, logistic])
@pytest.mark.parametrize("size", [None, 7, 100])
def test_a_model_that_answers_in_one_buffer_gives_the_same_result(model, size):
    buffers = {}

    def reusing(rows):
        answer = model(rows)
        buffer = buffers.setdefault(answer.dtype, np.empty((1000, *answer.shape[1:]), answer.dtype))
        buffer[: len(rows)] = answer
        return buffer[: len(rows)]

    settings = SearchSettings(max_rows=400, max_batch_size=size)
    plain, other = (NTDCFE(predict, settings=settings).explain(X, 1) for predict in (model, reusing))
    np.testing.assert_array_equal(other.x, plain.x)
    assert (other.rows, other.status, other.prediction) == (plain.rows, plain.status, plain.prediction)


def test_a_session_that_is_told_in_one_buffer_gives_the_same_result():
    def result(reuse):
        session, buffer = NTDCFE(None, settings=SMALL).session(X, 1), np.zeros(1000, int)
        while (rows := session.ask()) is not None:
            buffer[: len(rows)] = ends_high(rows)
            session.tell(buffer[: len(rows)] if reuse else buffer[: len(rows)].copy())
            buffer[...] = 1
        return session.result()

    np.testing.assert_array_equal(result(True).x, result(False).x)


def test_what_becomes_of_the_callers_array_later_is_not_what_was_explained():
    mine = X.copy()

    def meddling(rows):
        mine[...] = 5.0
        return ends_high(rows)

    cf = NTDCFE(meddling, settings=SMALL).explain(mine, 1)
    np.testing.assert_array_equal(cf.original, X)
    np.testing.assert_array_equal(cf.x, NTDCFE(ends_high, settings=SMALL).explain(X, 1).x)


def test_the_layout_of_the_callers_array_decides_nothing():
    plain, other = (NTDCFE(logistic, settings=SMALL).explain(x, 1) for x in (X, np.asfortranarray(X)))
    np.testing.assert_array_equal(other.x, plain.x)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["constraint", "transition", "move"])
def test_what_is_no_number_never_reaches_the_model(kind, value):
    class Odd(Constraint):
        def project(self, x, original):
            x[::2, 3] = value
            return x

        def broken(self, x, original):
            return np.zeros(len(x), bool)

    class OddMove(Move):
        def propose(self, base, n):
            return np.full((n, *base.shape), value)

    def odd(states, action, discrete):
        return np.where(np.arange(len(states))[:, None, None] % 2, value, one_step(states, action, discrete))

    def model(rows):
        assert np.isfinite(rows).all()
        return ends_high(rows)

    options = {
        "constraint": {"constraints": [Odd()]},
        "transition": {"transition": odd},
        "move": {"settings": NEAREST.given(moves=[OddMove], reach=None)},
    }[kind]
    cf = NTDCFE(model, **{"settings": SMALL.given(), **options}).explain(X, 1)
    assert cf.cause is None
    assert cf.found


@pytest.mark.parametrize(
    "options",
    [
        {"proximity": lambda original, x, weights, discrete: np.zeros((len(x), 2))},
        {"transition": lambda states, action, discrete: states[:1]},
        {"settings": NEAREST.given(moves=[type("Short", (Move,), {"propose": lambda self, base, n: base})])},
    ],
    ids=["proximity", "transition", "move"],
)
def test_an_answer_of_the_wrong_shape_is_named(options):
    def failed():
        cf = NTDCFE(ends_high, **{"settings": SMALL, **options}).explain(X, 1)
        raise cf.cause or AssertionError

    with pytest.raises((InvalidInputError, PredictorError), match="must return"):
        failed()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_verdict_that_is_no_number_is_no_yes(value):
    """Neither of a target nor of a test; and a score that is none is that of the furthest row."""

    class Odd(Target):
        def reached(self, prediction):
            return np.where(prediction.outcomes == 1, 1.0, value)

        def score(self, prediction):
            return np.where(prediction.outcomes == 1, 1.0, value)

    cf = NTDCFE(ends_high, settings=SMALL, plausible=lambda rows: np.where(usual(rows), 1.0, value)).explain(X, Odd())
    assert (cf.status, cf.cause) == ("found", None)
    assert ends_high(cf.x[None])[0] == 1
    assert usual(cf.x[None])[0]


def test_users_functions_are_not_asked_about_no_state_at_all():
    def never(*arguments):
        raise AssertionError("asked about nothing")

    class Never(Term):
        def cost(self, x, original, features):
            return never() if not len(x) else np.zeros(len(x))

    def rule(a):
        return a.tolist() if len(a) else never()

    def proximity(original, x, weights, discrete):
        return np.abs(x - original).sum((1, 2)) if len(x) else never()

    settings = SearchSettings(terms=[Never()])
    search = search_of(np.zeros((4, 2)), constraints=[Causal(1, 0, rule)], settings=settings, proximity=proximity)
    nothing = np.empty((0, 4, 2))
    assert search.space.project(nothing).shape == (0, 4, 2)
    assert search.space.broken(nothing).shape == (0,)
    assert search.objective.cost(nothing).shape == (0,)
    assert search.objective.proximity(nothing).shape == (0,)
