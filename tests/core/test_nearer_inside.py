"""Originals that the in-distribution test itself refuses: how near the answers come."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, Features
from ntdcfe.problem.problem import Problem
from ntdcfe.search.edits import tested
from ntdcfe.search.edits.draws import Drawer
from ntdcfe.search.edits.prices import Prices
from ntdcfe.search.edits.proposals import Proposals
from ntdcfe.search.edits.tuning import ProposalTuning
from ntdcfe.testing import search_of

ORIGINAL = np.zeros((30, 4))
CENTRE = np.array([2.0, 1.5, 1.0, 0.0])
# The least distance from the original to what is plausible; no more than 0.4 is needed for the rule.
LEAST = 83.25


class Ball:
    """Plausible are series that are near the centre over all steps, which the original is not."""

    def __call__(self, X):
        return self.score_samples(X) >= 0

    def score_samples(self, X):
        return 1.0 - np.sqrt(((X - CENTRE) ** 2).sum(2).mean(1))


def rule(X):
    """1 where the last feature is above 0.2 over the last two steps."""
    return (X[:, -2:, 3].min(1) > 0.2).astype(int)


@pytest.mark.parametrize("seed", range(2))
def test_the_nearest_answer_is_hardly_further_than_the_border_of_the_distribution(seed):
    cf = NTDCFE(rule, plausible=Ball(), seed=seed).explain(ORIGINAL, 1)
    nearest = cf.options["nearest"].x
    assert cf.found
    assert cf.edits
    for x in (cf.x, nearest):
        assert Ball()(x[None])[0]
        assert rule(x[None])[0] == 1
    assert np.abs(nearest).sum() < LEAST + 1.5


def problem(plausible):
    return Problem.of(ORIGINAL, Features.continuous(4), reach=3.0, price_of_edit=1.0, plausible=plausible)


def test_an_original_is_outside_where_a_test_with_a_score_refuses_it():
    assert problem(Ball()).from_outside
    assert not problem(Ball().__call__).from_outside  # no score
    assert not problem(None).from_outside
    assert not Problem.of(ORIGINAL + CENTRE, Features.continuous(4), plausible=Ball()).from_outside


def test_of_a_list_that_is_plausible_none_is_made_that_is_not():
    search = search_of(ORIGINAL, plausible=Ball())
    editor = Drawer(search.space, search.problem.kinds)
    prices = Prices(search, editor)
    inside = editor.from_states(np.tile(1.1 * CENTRE, (1, 30, 1)))
    base = [tested.Tested(float(p.cost[0]), p.lists, p.states[0]) for p in [prices.of(inside)]]
    for plausible in (None, search.problem.plausible):
        proposals = Proposals(editor, prices.of, ProposalTuning(), np.random.default_rng(0), plausible)
        made = proposals.cheaper(base, 100, 1.0).priced.states
        assert len(made) > 10
        assert Ball()(made).all() == (plausible is not None)
