"""Very many changed cells of which few matter: random groups of them are given up."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, SearchSettings
from ntdcfe.search.refine.additive.base import Base
from ntdcfe.search.refine.thin import thinned
from ntdcfe.testing import drive, search_of

NEAREST = SearchSettings(options=["nearest"], survival=None)
X = np.zeros((50, 200))


def few_matter(n):
    """A model in which n cells have to be above 0.3, and those cells."""
    cells = np.random.default_rng(n).choice(X.size, n, replace=False)
    return (lambda states: (states.reshape(len(states), -1)[:, cells] > 0.3).all(1)), cells


def thin(judge, state=None, settings=NEAREST):
    """What is left of a change of all cells, and how many rows were asked for it."""
    search = search_of(X, settings=settings)
    state = np.ones_like(X) if state is None else state
    returned = []

    def noting():
        base = Base.of(search, state, float(search.objective.cost(state[None])[0]))
        returned.append((yield from thinned(search, base)))

    asked = np.concatenate(drive(noting(), judge))
    return returned[0], asked


@pytest.mark.parametrize("n", [1, 5, 30])
def test_of_ten_thousand_cells_the_few_that_matter_are_left(n):
    judge, cells = few_matter(n)
    left, asked = thin(judge)
    changed = np.flatnonzero(left.flat)
    assert np.isin(cells, changed).all()
    assert judge(left.flat.reshape(1, *X.shape))[0]
    assert len(changed) < 3 * n + 10
    assert len(asked) < 2_500
    assert left.flat.max() < 0.4, "and they are moved by no more than all of them needed"


def test_where_every_cell_matters_it_ends_soon():
    def judge(states):
        return (states > 0.3).all((1, 2))

    left, asked = thin(judge)
    assert (left.flat > 0.3).all()
    assert len(asked) < 400


@pytest.mark.slow
def test_the_nearest_answer_of_a_large_series_changes_few_cells():
    judge, _ = few_matter(6)
    cf = NTDCFE(lambda states: judge(states).astype(int), settings=NEAREST, seed=0).explain(X, target=1)
    assert cf.found
    assert cf.sparsity < 12
