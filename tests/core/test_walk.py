"""The walk over edits: few edits, also where many features have to move at once."""

import numpy as np
import pytest

from ntdcfe import NTDCFE
from ntdcfe.testing import series

N_STEPS, N_FEATURES = 30, 300


@pytest.mark.parametrize("seed", [1, 2])
def test_many_neighbouring_features_that_must_move_at_once_are_one_edit(seed):
    rng, features = np.random.default_rng(0), np.arange(N_FEATURES)
    x = rng.normal(0, 0.3, (N_STEPS, N_FEATURES))
    steps, way = rng.integers(0, N_STEPS, N_FEATURES), rng.choice([-1, 1], N_FEATURES, p=[0.35, 0.65])

    def votes(X):
        """1 where more than 55% of the features have moved their way at a step of their own."""
        moved = (X[:, steps, features] - x[steps, features]) * way > 0.5
        return (moved.mean(1) > 0.55).astype(int)

    cf = NTDCFE(votes, seed=seed).explain(x, 1)
    assert cf.found
    assert len(cf.edits) <= 10  # one for each of 249 features or more, when only single ones were tried
    assert cf.survival.share >= 0.95
    assert cf.rows <= 10_000


def test_the_seed_decides_on_edits():
    answers = [
        NTDCFE(lambda X: (X[:, -5:].mean((1, 2)) > 0).astype(int), seed=3).explain(series(20, 9, mean=-1.0), 1)
        for _ in range(2)
    ]
    assert answers[0].edits == answers[1].edits
