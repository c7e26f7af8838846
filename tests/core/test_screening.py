import numpy as np
import pytest

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings


def plateau(X):
    """Flat until three of the first six features are up, as among the nearest neighbours of a far class."""
    p = np.clip((X[:, :6].mean(1) - 0.35) / 0.2, 0, 1)
    return np.column_stack([1 - p, p])


def explained(model, features, n, **settings):
    settings = SearchSettings(max_rows=300, batch_rows=40, sparsity_weight=1.0, options=["nearest"], **settings)
    return NTDCFE(model, features, settings=settings).explain(np.zeros(len(features)), 1, n_counterfactuals=n)


@pytest.mark.parametrize("kind", ["numbers", "categories"])
def test_features_that_do_nothing_alone_are_found_by_what_they_do_in_company(kind):
    one = Continuous(bounds=(0, 1)) if kind == "numbers" else Discrete(values=[0, 1])
    cf = explained(plateau, Features([one] * 14), 4)
    assert cf.found
    assert cf.rows <= 300
    changed = [set(np.flatnonzero(x)) for x in cf.candidates[:4]]
    assert all(len(some) == 3 and some < set(range(6)) for some in changed)
    assert len({frozenset(some) for some in changed}) >= 3


def test_a_score_that_never_moves_ends_the_screening_after_one_batch():
    cf = explained(lambda X: np.tile([1.0, 0.0], (len(X), 1)), Features([Continuous(bounds=(0, 1))] * 5), 3)
    assert cf.status in ("not_found", "budget_exhausted")
    assert cf.rows <= 300


def test_a_row_of_many_features_is_not_screened():
    """A batch tells next to nothing of thousands of features."""
    seen = []

    def model(X):
        seen.append((X != 0).sum(1).max())
        return np.tile([1.0, 0.0], (len(X), 1))

    explained(model, Features([Continuous(bounds=(0, 1))] * 1000), 3, max_interventions=3, episodes=10)
    assert max(seen[:8]) < 500
