import numpy as np
import pytest

from ntdcfe import NTDCFE, Causal, Continuous, Discrete, Features, SearchSettings


def likely(score):
    p = 1 / (1 + np.exp(-np.asarray(score, dtype=float)))
    return np.column_stack([1 - p, p])


def test_two_features_of_sixty_are_found_in_few_rows():
    """At random one pair in 1,770 would do."""
    engine = NTDCFE(
        lambda X: likely(8 * (X[:, 17] + X[:, 41]) - 12),
        Features([Continuous(bounds=(0, 1))] * 60),
        settings=SearchSettings(max_rows=500, batch_rows=35),
    )
    cf = engine.explain(np.zeros(60), 1)
    assert set(np.flatnonzero(cf.x)) == {17, 41}
    assert cf.proximity < 1.55
    assert cf.rows <= 500


def test_a_pair_that_alone_does_nothing_is_found_by_the_episodes():
    engine = NTDCFE(lambda X: likely(12 * np.minimum(X[:, 1], X[:, 3]) - 6), Features([Continuous(bounds=(0, 1))] * 5))
    assert set(np.flatnonzero(engine.explain(np.zeros(5), 1).x)) == {1, 3}


@pytest.mark.parametrize("labels_only", [False, True])
def test_what_is_valid_alone_does_not_stop_the_search_for_others(labels_only):
    def model(X):
        p = likely(20 * np.maximum(X[:, 0], (X[:, 1] + X[:, 2]) / 2) - 15)
        return p.argmax(1) if labels_only else p

    features = Features([Continuous(bounds=(0, 1))] * 4)
    cf = NTDCFE(model, features).explain(np.zeros(4), 1, n_counterfactuals=3)
    changed = [frozenset(np.flatnonzero(x)) for x in cf.candidates[:3]]
    assert {0} in changed
    assert any(chosen >= {1, 2} for chosen in changed)


@pytest.mark.parametrize("prefer", ["simplest", "nearest", "sturdiest"])
def test_whichever_kind_is_preferred_several_differ_in_what_they_change(prefer):
    def model(X):
        return likely(4 * (X[:, 0] + X[:, 1] + X[:, 2]) - 3)

    features = Features([Continuous(bounds=(0, 1))] * 4)
    cf = NTDCFE(model, features).explain(np.zeros(4), 1, n_counterfactuals=3, prefer=prefer)
    assert {frozenset(np.flatnonzero(x)) for x in cf.candidates[:3]} >= {frozenset([i]) for i in range(3)}


def test_categories_bounds_and_rules_hold():
    features = Features(
        [
            Discrete(name="kind", values=range(6)),
            Continuous(name="a", bounds=(-1, 1)),
            Continuous(name="double", role="non_actionable"),
        ]
    )
    asked = []

    def model(X):
        asked.append(X.copy())
        return likely(3 * (X[:, 0] == 4) + X[:, 2] - 4)

    rule = Causal("double", "a", lambda a: 2 * a)
    cf = NTDCFE(model, features, [rule]).explain(np.array([0.0, 0.0, 0.0]), 1)
    assert cf.found
    rows = np.concatenate(asked)
    assert np.isin(rows[:, 0], range(6)).all()
    assert (np.abs(rows[:, 1]) <= 1).all()
    np.testing.assert_allclose(rows[:, 2], 2 * rows[:, 1])
