import numpy as np
import pytest
import torch

from ntdcfe import NTDCFE, Features, SearchSettings, Survival
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.survival import Noise
from ntdcfe.search.agent import Agent, Experience
from ntdcfe.search.base import Answer
from ntdcfe.search.policy import Action
from ntdcfe.search.starts import Best, many_at_once
from ntdcfe.testing import search_of


def agent_of(settings=None):
    return Agent(search_of(np.zeros((4, 2)), settings=settings or SearchSettings(hidden=(8,))))


def probability_of_feature(policy, feature):
    with torch.no_grad():
        return float(policy(torch.zeros(1, 2)).feature.exp()[0, feature])


def test_an_update_makes_what_paid_likelier():
    agent = agent_of()
    action = Action(torch.zeros(40, dtype=torch.long), torch.arange(40) % 2, torch.ones(40))
    before = probability_of_feature(agent.policy, 1)
    agent.learn([Experience(torch.zeros(40, 2), action)], (np.arange(40) % 2).astype(float))
    assert probability_of_feature(agent.policy, 1) > before + 0.05


def test_equal_gains_teach_nothing():
    agent = agent_of()
    before = [p.clone() for p in agent.policy.parameters()]
    action = Action(torch.zeros(10, dtype=torch.long), torch.arange(10) % 2, torch.ones(10))
    agent.learn([Experience(torch.zeros(10, 2), action)], np.ones(10))
    assert all(torch.equal(a, b) for a, b in zip(before, agent.policy.parameters(), strict=True))


def test_a_policy_that_is_nearly_certain_stays_finite():
    """Far out on a narrow Gaussian a small step makes an action e^1000 times as likely."""
    agent = agent_of()
    with torch.no_grad():
        agent.policy.base[4 + 2 + 2 : 4 + 2 + 2 + 2] = -20.0  # the spreads: as narrow as they get
    action = Action(torch.zeros(8, dtype=torch.long), torch.zeros(8, dtype=torch.long), torch.linspace(-50, 50, 8))
    agent.learn([Experience(torch.zeros(8, 2), action)], np.arange(8.0))
    assert all(torch.isfinite(p).all() for p in agent.policy.parameters())


@pytest.mark.parametrize(("strength", "gain"), [(np.inf, 1.0), (1.0, np.nan), (1.0, np.inf), (1e30, 1.0)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_has_no_finite_gradient_teaches_nothing(strength, gain):
    agent = agent_of()
    strengths = torch.tensor([strength, *[0.5] * 7], dtype=torch.float32)
    action = Action(torch.zeros(8, dtype=torch.long), torch.zeros(8, dtype=torch.long), strengths)
    agent.learn([Experience(torch.zeros(8, 2), action)], np.array([gain, *np.linspace(0, 0.5, 7)]))
    assert all(torch.isfinite(p).all() for p in agent.policy.parameters())


def test_without_refinement_the_whole_budget_goes_into_episodes():
    settings = SearchSettings(refine=False, updates=1000, max_rows=2000)
    cf = NTDCFE(lambda X: X[:, -1, 0] > 0, settings=settings).explain(np.full((4, 2), -0.5), True)
    assert 2000 - 2 * settings.confirmations <= cf.rows <= 2000  # what the last check leaves over
    assert len(cf.history) > 5


def test_cells_that_do_not_depend_on_each_other_all_go_to_their_limits():
    x = np.random.default_rng(0).normal(-1, 1, size=(25, 12))
    window = np.ix_(range(5, 25), [0, 5, 11])
    features, settings = Features.continuous(12, scale=1.0), SearchSettings(options=["nearest"])
    cf = NTDCFE(lambda X: (X[:, 5:, [0, 5, 11]] > 0).all((1, 2)), features, settings=settings).explain(x, True)
    least = np.maximum(0, -x[window]).sum()
    assert least <= cf.proximity <= 1.01 * least


def test_an_oscillation_is_found():
    """Of a series that is still, no shift and no stretch makes one that swings."""

    def predict(X):
        power = np.abs(np.fft.rfft(X[:, :, 0] - X[:, :, 0].mean(1, keepdims=True))) ** 2
        return ((power[:, 6:12].sum(1) > 0.8 * power.sum(1)) & (X[:, :, 0].std(1) > 0.5)).astype(int)

    assert NTDCFE(predict).explain(np.full((40, 2), 3.0), 1).found


def test_a_model_that_is_all_but_certain_is_explained():
    """Three channels have to become livelier, three calmer; until most are, its probabilities are 0 and 1."""

    def predict(X):
        livelier = np.log(X.std(1) + 1e-9) * [1, 1, 1, -1, -1, -1]
        p = 1 / (1 + np.exp(-60 * (np.clip(livelier, -1, 1).mean(1) - 0.6)))
        return np.column_stack([1 - p, p])

    assert NTDCFE(predict).explain(np.random.default_rng(0).normal(size=(40, 6)), 1).found


def test_the_best_is_built_upon_if_there_is_one():
    """Of equal scores, as in one-hot columns, none is the best."""
    search = agent_of().search
    nothing = Best(search.space.original, -np.inf)

    def told(score):
        asks = many_at_once(search, 1.0, nothing)
        states = next(asks)
        with pytest.raises(StopIteration) as end:
            asks.send(Answer(np.zeros(len(states), bool), score(len(states))))
        return states, end.value.value

    assert told(np.zeros)[1] is nothing
    assert told(lambda n: None)[1] is nothing
    states, best = told(lambda n: np.arange(n) / (2 * n))
    np.testing.assert_array_equal(best.state, states[-1])


@pytest.mark.parametrize("max_rows", [None, 3000])
def test_batches_are_as_set(max_rows):
    settings = SearchSettings(batch_rows=100, max_seconds=0.5, max_rows=max_rows)
    sizes = []

    def model(X):
        sizes.append(len(X))
        return (X > 1.0).sum((1, 2)) > 4

    NTDCFE(model, settings=settings).explain(np.zeros((8, 2)), True)
    assert sizes[1] == 100


def test_rows_that_were_not_needed_early_make_later_batches_larger():
    settings = SearchSettings(max_rows=4000, episodes=20)
    sizes = []

    def model(X):
        sizes.append(len(X))
        return (X > 1.0).sum((1, 2)) > 4

    cf = NTDCFE(model, settings=settings).explain(np.zeros((8, 2)), True)
    assert sizes[1] == 4000 // 79  # one call was the first look
    assert max(sizes) > 55
    assert cf.rows <= 4000
    assert cf.calls <= 80


@pytest.mark.parametrize("size", [1e-200, 1e-40, 1e40, 1e200, 1e306])
@pytest.mark.parametrize("shape", [(8, 2), (4,)], ids=str)
def test_numbers_of_any_size_are_disturbed_by_finite_noise(size, shape):
    """In single precision the noise of such numbers is 0, or infinite, and reached the model so."""

    def model(X):
        assert np.isfinite(X).all()
        return ((X / size).reshape(len(X), -1)[:, -2:].mean(1) > 0.2).astype(int)

    features = Features.continuous(shape[-1], scale=0.3 * size)
    x = size * np.random.default_rng(0).normal(-0.5, 0.3, shape)
    cf = NTDCFE(model, features, settings=SearchSettings(max_rows=1000)).explain(x, 1)
    assert (cf.status, cf.cause) == ("found", None)
    assert cf.survival.draws > 0
    noise = Noise(Survival(), Problem.of(np.atleast_2d(x), features).space, np.random.default_rng(0))
    disturbed = noise.added(np.repeat(np.atleast_2d(cf.x)[None], 50, axis=0)) / size
    assert np.isfinite(disturbed).all()
    assert 0.002 < disturbed.std(0).mean() < 0.004
