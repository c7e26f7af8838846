"""The optima that searches are held up to are optima: nothing that the model accepts costs less."""
# ruff: noqa: E402 (the modules of benchmarks are found only after the path is set, and only in a checkout)

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("a source distribution has no benchmarks", allow_module_level=True)
pytest.importorskip("sktime")
ensemble = pytest.importorskip("sklearn.ensemble")
linear_model = pytest.importorskip("sklearn.linear_model")
neighbors = pytest.importorskip("sklearn.neighbors")
sys.path.insert(0, str(ROOT / "benchmarks"))

import limits_tables
import optimum
from protocol.rules import Condition, Rule

from ntdcfe import Continuous, Discrete, Features, SearchSettings

FEATURES = Features([Continuous(scale=1.0), Discrete([0.0, 1.0, 2.0])])


def made_up(seed, n=40):
    """Series of two steps, of a number and a category, and labels."""
    rng = np.random.default_rng(seed)
    X = np.stack([rng.normal(size=(n, 2)), rng.integers(0, 3, (n, 2))], axis=2)
    noise = 0.1 * rng.normal(size=n)
    return X, (X[:, 0, 0] * (X[:, 1, 1] + 0.5) + X[:, 1, 0] + noise > 0).astype(int)


def asked(model):
    return lambda x: bool(model.predict(x.reshape(1, -1))[0] == 1)


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_of_a_forest_is_that_of_all_combinations_of_thresholds(seed, plain):
    X, y = made_up(seed)
    model = ensemble.RandomForestClassifier(5, max_depth=2 + seed % 3, random_state=seed).fit(X.reshape(len(X), -1), y)
    x = X[np.flatnonzero(model.predict(X.reshape(len(X), -1)) == 0)[0]]
    task = optimum.Task.of(x, FEATURES, SearchSettings(), plain)

    def values(cell):
        if cell % 2:
            return [0.0, 1.0, 2.0]
        found = {x.ravel()[cell]}
        for tree in model.estimators_:
            for threshold in tree.tree_.threshold[tree.tree_.feature == cell]:
                near = np.float32(threshold)
                found |= {float(near), *(float(np.nextafter(near, np.float32(end))) for end in (-np.inf, np.inf))}
        return [value for value in found if task.low[cell] <= value <= task.high[cell]]

    states = np.array(list(product(*map(values, range(4)))))
    least = task.costs(states[model.predict(states) == 1]).min()
    best = optimum.of_forest(model, task, asked(model), gap=0.0)
    assert best.cost == pytest.approx(least, abs=1e-6)
    assert best.bound == pytest.approx(least, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 2])
def test_no_state_drawn_at_the_thresholds_costs_less_than_the_proven_bound_of_a_forest(seed):
    """Trees compare single precision: a threshold that rounds up must not swallow the first value above it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4, 2))
    y = (X[:, :2].sum((1, 2)) + 0.3 * rng.normal(size=60) > 0).astype(int)
    model = ensemble.RandomForestClassifier(25, random_state=seed).fit(X.reshape(60, -1), y)
    features = Features([Continuous(scale=1.0), Continuous(scale=1.0)])
    x = X[np.flatnonzero(model.predict(X.reshape(60, -1)) == 0)[0]]
    task = optimum.Task.of(x, features, SearchSettings(), plain=False)
    best = optimum.of_forest(model, task, asked(model))
    # A local search over the values on either side of each threshold, from the optimum itself and from series.
    values = []
    for cell in range(8):
        trees = [tree.tree_ for tree in model.estimators_]
        near = np.concatenate([tree.threshold[tree.feature == cell] for tree in trees]).astype(np.float32)
        sides = [near, *(np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf))]
        values.append(np.append(np.concatenate(sides).astype(float), task.original[cell]))
    starts = [best.x.ravel(), *X[model.predict(X.reshape(60, -1)) == 1].reshape(-1, 8)[:3]]
    for state in starts:
        for _ in range(15):
            states = np.repeat(state[None], 400, axis=0)
            for row in states:
                for cell in rng.choice(8, rng.integers(1, 4), replace=False):
                    row[cell] = rng.choice(values[cell])
            states = states[((states >= task.low) & (states <= task.high)).all(1)]
            states = np.concatenate([state[None], states[model.predict(states) == 1]])
            state = states[task.costs(states).argmin()]
        if asked(model)(state):
            assert task.cost(state) >= best.bound - 1e-6


@pytest.mark.parametrize("plain", [True, False])
def test_the_optimum_of_a_linear_model_is_no_further_than_any_state_drawn(plain):
    X, y = made_up(0)
    model = linear_model.LogisticRegression().fit(X.reshape(len(X), -1), y)
    x = X[np.flatnonzero(model.predict(X.reshape(len(X), -1)) == 0)[0]]
    task = optimum.Task.of(x, FEATURES, SearchSettings(), plain)
    best = optimum.of_linear(model.coef_[0], float(model.intercept_[0]), task, asked(model))
    rng = np.random.default_rng(0)
    states = np.repeat(task.original[None], 20_000, axis=0)
    states[:, ::2] += rng.normal(size=(20_000, 2)) * (rng.random((20_000, 2)) < 0.5)
    states[:, 1::2] = np.where(rng.random((20_000, 2)) < 0.5, states[:, 1::2], rng.integers(0, 3, (20_000, 2)))
    states = np.where((states >= task.low) & (states <= task.high) | task.discrete, states, task.original)
    assert best.cost <= task.costs(states[model.predict(states) == 1]).min() + 1e-6


def test_of_alternatives_the_rule_takes_the_cheapest_that_the_limits_allow():
    x = np.array([[-1.0, 1.0], [-1.0, 1.0]])
    rule = Rule(2, every=(Condition(0, ">"),), either=(Condition(0, ">"), Condition(1, "==")))
    task = optimum.Task.of(x, FEATURES, SearchSettings(), plain=False)
    best = optimum.of_rule(rule, task, lambda s: bool(rule.predict(s[None])[0]))
    assert best.cost == pytest.approx(2 * (1 + SearchSettings().sparsity_weight), abs=1e-6)
    near = optimum.Task.of(x, FEATURES, SearchSettings(reach=0.5), plain=False)
    assert optimum.of_rule(rule, near, lambda s: bool(rule.predict(s[None])[0])) is None


def test_the_reference_for_neighbours_is_valid_and_no_further_than_its_start():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3, 2))
    y = (X.sum((1, 2)) > 0).astype(int)
    model = neighbors.KNeighborsClassifier(5).fit(X.reshape(40, -1), y)
    features = Features([Continuous(scale=1.0), Continuous(scale=1.0)])
    sample = np.flatnonzero(model.predict(X.reshape(40, -1)) == 0)[0]
    start = X[np.flatnonzero(model.predict(X.reshape(40, -1)) == 1)[0]]
    task = optimum.Task.of(X[sample], features, SearchSettings(), plain=False)
    best = optimum.of_neighbours(model, y, task, asked(model), [start])
    assert asked(model)(best.x)
    assert best.cost < task.cost(start)


def test_ratios_are_to_the_best_that_is_known_of_a_sample_in_the_same_limits():
    def row(**figures):
        about = {"dataset": "ERing", "model": "knn", "sample": "3", "answers": "labels", "limit": "10000", "seed": "0"}
        known = dict.fromkeys(limits_tables.FIGURES, "1") | {"cost": "6", "optimum_cost": "4", "bound_cost": "0"}
        return about | known | {name: str(value) for name, value in figures.items()}

    runs = limits_tables.Runs([row(), row(seed=1, optimum_cost=3), row(seed=2, widened=2, cost=2, optimum_cost=1)])
    assert [run["ratio_cost"] for run in runs.rows] == [2, 2, 2]
    assert limits_tables.spread(runs.rows[:2]) == 1
