import numpy as np

from ntdcfe import NTDCFE, Continuous, Discrete, Features
from ntdcfe.environment import Environment
from ntdcfe.exchange import Exchanges

FEATURES = Features([Continuous(), Continuous(), Continuous(role="immutable"), Discrete([0.0, 1.0])])


def environment(price=0.1):
    return Environment(np.zeros((5, 4)), FEATURES, sparsity_weight=price, reach=3.0)


def base(env):
    x = env.original.copy()
    x[1, 0], x[3, 1] = 2.0, -1.5
    return x


def test_a_cell_is_given_up_for_a_few_that_cost_less_together():
    env = environment()
    states = Exchanges(env).propose(base(env), 200, np.random.default_rng(0)).states
    kept = states[:, [1, 3], [0, 1]] == [2.0, -1.5]
    assert (env.cost(states) < env.cost(base(env)[None])).all()
    assert (kept.sum(1) >= 1).mean() > 0.8  # the other stays, unless it is what is taken
    assert (env.sparsity(states) <= 1 + 3).all()


def test_only_continuous_cells_that_may_be_moved_are_taken():
    env = environment()
    states = Exchanges(env).propose(base(env), 200, np.random.default_rng(0)).states
    assert (states[..., 2:] == 0).all()
    assert (states[..., :2] != 0).any((0, 1)).all()


def test_what_held_is_tried_more_often():
    env, rng = environment(), np.random.default_rng(0)
    exchanges = Exchanges(env)

    def share(trial):  # of moves of feature 1 at step 4, upwards
        return (trial.moves[trial.used] == 4 * 4 + 1).mean()

    before = share(exchanges.propose(base(env), 400, rng))
    for _ in range(5):
        trial = exchanges.propose(base(env), 100, rng)
        exchanges.learn(trial, (trial.used & (trial.moves == 4 * 4 + 1)).any(1))
    assert share(exchanges.propose(base(env), 400, rng)) > 3 * before


def test_votes_of_many_cells_are_won_where_they_are_cheap():
    """Each cell gives its vote above its own threshold; the cheapest ten are the optimum."""
    threshold = np.random.default_rng(0).uniform(0.05, 1.5, (12, 5))
    least = np.sort(threshold.ravel())[:10].sum()
    cf = NTDCFE(lambda X: (threshold < X).sum((1, 2)) >= 10, Features.continuous(5, scale=1.0)).explain(
        np.zeros((12, 5)), True
    )
    assert cf.status == "found"
    assert least < cf.proximity < 1.5 * least


def test_a_search_that_gains_nothing_goes_on():
    """No shrink and no exchange holds: the whole of the change is needed."""
    cf = NTDCFE(lambda X: (X > 1.0).all((1, 2)), Features.continuous(2, scale=1.0)).explain(np.zeros((6, 2)), True)
    assert cf.status == "found"
    assert cf.sparsity == 12


def test_without_numbers_nothing_is_exchanged():
    features = Features([Discrete([0.0, 1.0, 2.0])] * 3)
    cf = NTDCFE(lambda X: X.sum((1, 2)) > 7, features).explain(np.zeros((12, 3)), True)
    assert cf.status == "found"
    assert cf.sparsity == 4
