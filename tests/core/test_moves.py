import numpy as np

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings
from ntdcfe.problem.problem import Problem
from ntdcfe.search.refine.moves.exchange import Exchanges, ExchangeTuning, Groups

TUNING = ExchangeTuning()
FEATURES = Features([Continuous(), Continuous(), Continuous(role="immutable"), Discrete([0.0, 1.0])])


def problem(original=None, features=FEATURES):
    original = np.zeros((5, 4)) if original is None else original
    return Problem.of(original, features, price_of_cell=0.1, reach=3.0)


def base(env):
    x = env.space.original.copy()
    x[1, 0], x[3, 1] = 2.0, -1.5
    return x


def propose(exchanges, env, n, rng=None, under_way=None):
    under_way = Groups.none(TUNING.most) if under_way is None else under_way
    return exchanges.propose(base(env), n, under_way, rng or np.random.default_rng(0))


def test_a_cell_is_given_up_for_others_that_cost_less_each():
    env = problem()
    trial = propose(Exchanges(env, TUNING), env, 200)
    kept = trial.states[:, [1, 3], [0, 1]] == [2.0, -1.5]
    assert ((~kept).sum(1) >= 1).all()
    few = trial.groups.used.sum(1) == 1
    assert few.sum() > 20
    assert (env.objective.cost(trial.states[few]) < env.objective.cost(base(env)[None])).all()
    assert (kept[few].sum(1) >= 1).mean() > 0.8  # the other stays, unless it is what is taken
    assert (env.objective.sparsity(trial.states[few]) <= 2).all()
    assert trial.groups.used.sum(1).max() == 5  # a quarter of the twenty moves


def test_only_continuous_cells_that_may_be_moved_are_taken():
    env = problem()
    states = propose(Exchanges(env, TUNING), env, 200).states
    assert (states[..., 2:] == 0).all()
    assert (states[..., :2] != 0).any((0, 1)).all()


def test_what_held_is_tried_more_often():
    env, rng = problem(), np.random.default_rng(0)
    exchanges = Exchanges(env, TUNING)

    def share(trial):  # of moves of feature 1 at step 4, upwards
        return (trial.groups.moves[trial.groups.used] == 4 * 4 + 1).mean()

    before = share(propose(exchanges, env, 400, rng))
    for _ in range(5):
        trial = propose(exchanges, env, 100, rng)
        held = (trial.groups.used & (trial.groups.moves == 4 * 4 + 1)).any(1)
        exchanges.learn(trial, held, held)
    assert share(propose(exchanges, env, 400, rng)) > 2 * before


def test_a_group_that_holds_is_halved_until_the_cell_that_decides_is_left():
    """One of 1,000 cells can take the place of the one that is changed; which one shows only when it is taken."""
    env = problem(np.zeros((250, 4)), Features.continuous(4))
    start = env.space.original.copy()
    start[50, 0] = 2.0
    rows = []
    for seed in range(10):
        exchanges, rng, under_way = Exchanges(env, TUNING), np.random.default_rng(seed), Groups.none(TUNING.most)
        rows.append(0)
        better = np.zeros(1, bool)
        while not better.any():
            trial = exchanges.propose(start, 40, under_way, rng)
            rows[-1] += len(trial.states)
            valid = (trial.states[:, 20, 2] > 0.2) | (trial.states[:, 50, 0] >= 2.0)
            better = valid & (env.objective.cost(trial.states) < env.objective.cost(start[None]))
            under_way = exchanges.learn(trial, valid, better)
            assert (under_way.given_up == 50 * 4).all()
        found = trial.states[better][0]
        assert found[20, 2] > 0.2
        assert found[50, 0] == 0
    assert np.mean(rows) < 450  # 640 if they were taken one to three at a time


def test_a_group_is_given_up_with_the_cell_that_it_stands_for():
    env = problem()
    exchanges, rng = Exchanges(env, TUNING), np.random.default_rng(0)
    trial = propose(exchanges, env, 100, rng)
    under_way = exchanges.learn(trial, np.ones(100, bool), np.zeros(100, bool))
    assert set(under_way.given_up) == {1 * 4 + 0, 3 * 4 + 1}
    moved = base(env)
    moved[1, 0] = 0.0
    assert set(exchanges.propose(moved, 100, under_way, rng).under_way.given_up) == {3 * 4 + 1}


def test_votes_of_many_cells_are_won_where_they_are_cheap():
    """Each cell gives its vote above its own threshold; the cheapest ten are the optimum."""
    threshold = np.random.default_rng(0).uniform(0.05, 1.5, (12, 5))
    least = np.sort(threshold.ravel())[:10].sum()
    features, settings = Features.continuous(5, scale=1.0), SearchSettings(options=["nearest"])
    cf = NTDCFE(lambda X: (threshold < X).sum((1, 2)) >= 10, features, settings=settings).explain(
        np.zeros((12, 5)), True
    )
    assert cf.status == "found"
    assert least < cf.proximity < 1.3 * least


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
