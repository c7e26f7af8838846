"""Draws without numpy's checks are numpy's draws."""

import numpy as np
import pytest

from ntdcfe.search.draws import signs, weighted


@pytest.mark.parametrize("seed", range(20))
def test_draws_are_those_of_choice_bit_for_bit(seed):
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    chance = np.random.default_rng([seed, 1]).random(1 + seed) ** 4
    assert (weighted(chance, 100, one) == other.choice(len(chance), 100, p=chance / chance.sum())).all()
    assert (signs(30, one) == other.choice([-1.0, 1.0], 30)).all()
    assert one.random() == other.random()
