from dataclasses import replace

import numpy as np
import torch

from ntdcfe import PAPER, Features
from ntdcfe.problem.space import Space
from ntdcfe.search.algorithm_1 import Transition, algorithm_1, returns, update
from ntdcfe.search.policy import LEAST_STD, Action, PaperPolicy
from ntdcfe.search.pool import Pool
from ntdcfe.settings import SearchSettings
from ntdcfe.testing import drive, search_of

SMALL = replace(PAPER, algorithm="algorithm_1", max_episodes=3, max_interventions=4, hidden=(8,))


def search(settings=SMALL, **options):
    return search_of(np.zeros((3, 2)), settings=settings, **options)


def test_paper_settings_are_the_papers():
    assert (PAPER.max_episodes, PAPER.max_interventions) == (100, 100)
    assert (PAPER.discount, PAPER.learning_rate, PAPER.weight_decay) == (0.99, 1e-4, 0.0)
    assert (PAPER.proximity_weight, PAPER.hidden) == (1e-3, (1000, 100))
    assert PAPER.algorithm == "algorithm_1"
    assert PAPER.max_rows is None


def test_returns_by_hand():
    # r_1, r_2, r_3 = 0, 0, 1 with gamma 0.5: G_0 = 0.25, G_1 = 0.5, G_2 = 1
    np.testing.assert_allclose(returns(np.array([0.0, 0.0, 1.0]), 0.5), [0.25, 0.5, 1.0])
    # r = 1, 2, 3: G_0 = 1 + 0.5 * 2 + 0.25 * 3
    np.testing.assert_allclose(returns(np.array([1.0, 2.0, 3.0]), 0.5), [2.75, 3.5, 3.0])


def test_update_follows_gamma_t_G_grad_ln_pi():
    """A policy of zeros but for its output biases: the gradient of ln pi is known by hand."""
    space = Space(np.zeros((2, 1)), Features.continuous(1))
    policy = PaperPolicy(space, (), torch.Generator())
    for parameter in policy.parameters():
        torch.nn.init.zeros_(parameter)
    steps = []

    class Record(torch.optim.SGD):
        def step(self, closure=None):
            steps.append(policy.heads.bias.grad.clone())

    discount = 0.5
    # a_0 = (step 1, feature 0, strength 1.0), then a_1 = (step 0, feature 0, strength -2.0)
    state = space.original[None]
    episode = [
        Transition(state, Action(torch.tensor([1]), torch.tensor([0]), torch.tensor([1.0])), 0.0),
        Transition(state, Action(torch.tensor([0]), torch.tensor([0]), torch.tensor([-2.0])), 0.8),
    ]
    update(policy, Record(policy.parameters(), lr=1.0), episode, discount)

    std = np.log(2) + LEAST_STD  # softplus(0)
    for t, (action, strength, G) in enumerate([(1, 1.0, 0.5 * 0.8), (0, -2.0, 0.8)]):
        d_step = np.array([-0.5, -0.5])
        d_step[action] += 1  # d ln softmax
        d_feature = [0.0]  # one feature: certain
        d_mean = [strength / std**2]
        d_std = [(strength**2 / std**3 - 1 / std) * 0.5]  # through softplus' (0) = 1/2
        d_value = [0.0]
        expected = -(discount**t) * G * np.concatenate([d_step, d_feature, d_mean, d_std, d_value])
        np.testing.assert_allclose(steps[t].numpy(), expected, rtol=1e-5)


def test_one_row_an_intervention_and_at_most_episodes_x_interventions():
    s = search()
    asked = drive(algorithm_1(s), lambda states: np.zeros(len(states), bool))
    assert [len(states) for states in asked] == [1] * 12
    assert len(s.history) == 3
    assert len(s.pool) == 0


def test_an_episode_ends_at_a_new_valid_counterfactual_and_starts_at_the_original():
    s = search()
    asked = drive(algorithm_1(s), lambda states: np.ones(len(states), bool))
    assert len(asked) == 3  # one intervention in each of three episodes
    assert len(s.pool) == 3
    for states in asked:
        changed = states[0] != s.space.original
        assert changed.any(0).sum() == 1  # one feature, from one step to the end
        column = changed[:, changed.any(0)][:, 0]
        assert (np.diff(column.astype(int)) >= 0).all()


def test_a_valid_counterfactual_that_is_known_does_not_end_the_episode():
    class Once(Pool):
        def add(self, x):
            return super().add(np.zeros((3, 2)))

    s = search()
    s.pool = Once(s.problem)
    asked = drive(algorithm_1(s), lambda states: np.ones(len(states), bool))
    assert len(asked) == 1 + 4 + 4


def test_implausible_ones_end_the_episode_but_do_not_enter_the_set():
    s = search(plausible=lambda rows: np.zeros(len(rows), bool))
    assert len(drive(algorithm_1(s), lambda states: np.ones(len(states), bool))) == 3
    assert len(s.pool) == 0


def test_learning_makes_success_likelier():
    """The policy is drawn towards what was rewarded: feature 1, not feature 0."""
    settings = SearchSettings(
        algorithm="algorithm_1", max_episodes=150, max_interventions=1, learning_rate=1e-2, hidden=(16,)
    )
    s = search(settings)
    drive(algorithm_1(s), lambda states: (states[:, :, 1] > 0).any(1))
    shares = [update.success_share for update in s.history]
    assert np.mean(shares[-50:]) > np.mean(shares[:50]) + 0.2
