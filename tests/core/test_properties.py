"""What holds by construction, over random features, constraints, models and seeds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ntdcfe import NTDCFE, PAPER, AtMost, Causal, Continuous, Discrete, Features, OneHot, SearchSettings
from ntdcfe.problem.objective import weighted_l1

SEARCHES = {
    "paper": replace(PAPER, max_episodes=6, max_interventions=8, hidden=(8,), learning_rate=1e-2),
    "default": SearchSettings(max_rows=1200, batch_rows=80),
    "to the end": SearchSettings(max_rows=1200, batch_rows=80, shape="to_end"),
}

roles = st.sampled_from(["actionable", "actionable", "non_actionable", "immutable"])
weights = st.sampled_from([0.1, 1.0, 10.0])
directions = st.sampled_from([None, None, "rise", "fall"])
bounds = st.sampled_from([None, (-1.0, 1.0), (None, 0.7), (-0.3, None), (2.0, 3.0)])
precisions = st.sampled_from([None, None, 0, 1])
continuous = st.builds(
    Continuous, role=roles, weight=weights, bounds=bounds, direction=directions, precision=precisions
)
discrete = st.builds(
    Discrete, st.sampled_from([(0, 1), (0, 1, 5), (1, 0.5, 0)]), direction=directions, role=roles, weight=weights
)
one_hot = st.builds(OneHot, st.integers(2, 4), role=roles, weight=weights)


@st.composite
def problems(draw):
    # The first feature can always be changed, so that there is something to search.
    features = [Continuous(weight=draw(weights)), *draw(st.lists(continuous | discrete | one_hot, max_size=4))]
    n_steps = draw(st.integers(1, 6))
    steps = draw(st.none() | st.integers(0, n_steps - 1).map(lambda k: slice(k, None)))
    spec = Features(features, actionable_steps=steps)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    states = np.column_stack(
        [rng.normal(size=n_steps) if f.choices is None else rng.choice(f.choices, n_steps) for f in features]
    )
    # A causal rule on a continuous feature, where one may follow.
    followers = [i for i, f in enumerate(features) if i and f.choices is None and f.role != "immutable"]
    constraints = []
    if followers and draw(st.booleans()):
        slope = draw(st.sampled_from([-1.0, 0.5, 2.0]))
        constraints.append(Causal(draw(st.sampled_from(followers)), 0, lambda cause: slope * cause))
    # Orders, also in chains, also where the series does not obey them.
    ordered = [i for i, f in enumerate(features) if not isinstance(f, OneHot)]
    pairs = st.tuples(st.sampled_from(ordered), st.sampled_from(ordered)).filter(lambda pair: pair[0] != pair[1])
    if len(ordered) > 1:
        constraints += [AtMost(*pair) for pair in draw(st.lists(pairs, max_size=2))]
    direction = rng.normal(size=spec.n_columns)
    threshold = draw(st.sampled_from([0.3, 1.0, 3.0]))
    x = spec.decode(states)
    start = (x @ direction).mean()

    def predict(X):
        return ((X @ direction).mean(-1) > start + threshold).astype(int)

    return spec, constraints, x, predict, draw(st.integers(0, 1000)), draw(st.sampled_from(["cap", "discard"]))


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(problem=problems())
def test_every_answer_obeys(search, problem):
    features, constraints, x, predict, seed, on_violation = problem
    explainer = NTDCFE(
        predict, features, constraints, settings=replace(SEARCHES[search], on_violation=on_violation), seed=seed
    )
    cf = explainer.explain(x, target=1)
    again = explainer.explain(x, target=1)
    assert cf.found == again.found
    assert cf.rows == again.rows
    if not cf.found:
        return
    np.testing.assert_array_equal(cf.x, again.x)
    assert predict(cf.x[None])[0] == 1
    original = features.encode(x)
    for candidate in cf.candidates:
        assert predict(candidate[None])[0] == 1
        check_constraints(
            features, constraints, original, features.encode(candidate)
        )  # one-hot and listed: encode checks
    state = features.encode(cf.x)
    assert cf.proximity == pytest.approx(weighted_l1(original, state[None], features.weights, features.discrete)[0])
    assert cf.sparsity == (state != original).sum()
    assert cf.sparsity == sum(change.last_step - change.first_step + 1 for change in cf.changes)


def check_constraints(features, constraints, original, state):
    changed = state != original
    rules = [constraint for constraint in constraints if isinstance(constraint, Causal)]
    effects = {features.index(rule.effect) for rule in rules}
    assert not changed[~features.step_mask(len(original))].any()
    for i, feature in enumerate(features):
        column, before = state[changed[:, i], i], original[changed[:, i], i]
        if feature.role == "immutable" or (feature.role == "non_actionable" and i not in effects):
            assert not changed[:, i].any()
        if isinstance(feature, Continuous):
            low, high = feature.limits
            assert ((column >= low) & (column <= high)).all()
            if feature.precision is not None:
                np.testing.assert_array_equal(column, column.round(feature.precision))
        direction = getattr(feature, "direction", None)
        assert direction != "rise" or (column > before).all()
        assert direction != "fall" or (column < before).all()
    for order in constraints:
        if isinstance(order, AtMost):
            either = changed[:, [order.feature, order.limit]].any(1)
            assert (state[either, order.feature] <= state[either, order.limit]).all()
    for rule in rules:
        effect, causes = features.index(rule.effect), [features.index(c) for c in rule.causes]
        fired = changed[:, causes].any(1)
        outcome = rule.function(*(state[None, :, c] for c in causes))[0]
        if features.precisions[effect] is not None:
            outcome = np.where(outcome == original[:, effect], outcome, outcome.round(features.precisions[effect]))
        np.testing.assert_array_equal(state[fired, effect], outcome[fired])
        if features[effect].role == "non_actionable":
            assert not changed[~fired, effect].any()
