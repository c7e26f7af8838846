from dataclasses import replace

import numpy as np
import pytest
import torch

from ntdcfe import PAPER, Features
from ntdcfe.candidates import Candidates
from ntdcfe.environment import Environment
from ntdcfe.learner import Transition, algorithm_1, returns, update
from ntdcfe.policy import LEAST_STD, Action, PaperPolicy
from ntdcfe.search import Answer, Search
from ntdcfe.settings import SearchSettings

SMALL = replace(PAPER, algorithm="reinforce", max_episodes=3, max_interventions=4, hidden=(8,))


def search(settings=SMALL, original=None):
    environment = Environment(np.zeros((3, 2)) if original is None else original, Features.continuous(2))
    return Search(environment, settings, Candidates(environment), seed=0)


def drive(asks, judge):
    """Run a search with made-up answers; returns every state it asked for."""
    asked, answer = [], None
    while True:
        try:
            states = asks.send(answer)
        except StopIteration:
            return asked
        asked.append(states)
        answer = Answer(judge(states), None)


def test_paper_settings_are_the_papers():
    assert (PAPER.max_episodes, PAPER.max_interventions) == (100, 100)
    assert (PAPER.discount, PAPER.learning_rate, PAPER.weight_decay) == (0.99, 1e-4, 0.0)
    assert (PAPER.proximity_weight, PAPER.hidden) == (1e-3, (1000, 100))
    assert PAPER.algorithm == "reinforce"
    assert PAPER.max_queries is None


def test_returns_by_hand():
    # r_1, r_2, r_3 = 0, 0, 1 with gamma 0.5: G_0 = 0.25, G_1 = 0.5, G_2 = 1
    np.testing.assert_allclose(returns(np.array([0.0, 0.0, 1.0]), 0.5), [0.25, 0.5, 1.0])
    # r = 1, 2, 3: G_0 = 1 + 0.5 * 2 + 0.25 * 3
    np.testing.assert_allclose(returns(np.array([1.0, 2.0, 3.0]), 0.5), [2.75, 3.5, 3.0])


def test_update_follows_gamma_t_G_grad_ln_pi():
    """A policy of zeros but for its output biases: the gradient of ln pi is known by hand."""
    environment = Environment(np.zeros((2, 1)), Features.continuous(1))
    policy = PaperPolicy(environment, (), torch.Generator())
    for parameter in policy.parameters():
        torch.nn.init.zeros_(parameter)
    steps = []

    class Record(torch.optim.SGD):
        def step(self, closure=None):
            steps.append(policy.heads.bias.grad.clone())

    discount = 0.5
    # a_0 = (step 1, feature 0, strength 1.0), then a_1 = (step 0, feature 0, strength -2.0)
    state = environment.original[None]
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
    assert len(s.candidates) == 0


def test_an_episode_ends_at_a_new_valid_counterfactual_and_starts_at_the_original():
    s = search()
    asked = drive(algorithm_1(s), lambda states: np.ones(len(states), bool))
    assert len(asked) == 3  # one intervention in each of three episodes
    assert len(s.candidates) == 3
    for states in asked:
        changed = states[0] != s.environment.original
        assert changed.any(0).sum() == 1  # one feature, from one step to the end
        column = changed[:, changed.any(0)][:, 0]
        assert (np.diff(column.astype(int)) >= 0).all()


def test_a_valid_counterfactual_that_is_known_does_not_end_the_episode():
    class Once(Candidates):
        def add(self, x):
            return super().add(np.zeros((3, 2)))

    s = search()
    s.candidates = Once(s.environment)
    asked = drive(algorithm_1(s), lambda states: np.ones(len(states), bool))
    assert len(asked) == 1 + 4 + 4


def test_implausible_ones_end_the_episode_but_do_not_enter_the_set():
    s = search()
    s.candidates = Candidates(s.environment, plausible=lambda states: np.zeros(len(states), bool))
    assert len(drive(algorithm_1(s), lambda states: np.ones(len(states), bool))) == 3
    assert len(s.candidates) == 0
    assert s.candidates.n_implausible == 3


def test_candidates_are_distinct_and_nearest_first_with_ties_by_sparsity():
    environment = Environment(np.zeros((2, 2)), Features.continuous(2))
    candidates = Candidates(environment)
    spread, single, far = np.full((2, 2), 0.5), np.array([[2.0, 0], [0, 0]]), np.full((2, 2), 3.0)
    assert [candidates.add(x) for x in (far, spread, single, spread)] == [True, True, True, False]
    np.testing.assert_array_equal(candidates.states, [single, spread, far])


def test_learning_makes_success_likelier():
    """The policy is drawn towards what was rewarded: feature 1, not feature 0."""
    settings = SearchSettings(
        algorithm="reinforce", max_episodes=150, max_interventions=1, learning_rate=1e-2, hidden=(16,)
    )
    s = search(settings)
    drive(algorithm_1(s), lambda states: (states[:, :, 1] > 0).any(1))
    shares = [update.success_share for update in s.history]
    assert np.mean(shares[-50:]) > np.mean(shares[:50]) + 0.2


@pytest.mark.parametrize(
    "wrong", [{"max_episodes": 0}, {"discount": 1.5}, {"learning_rate": 0}, {"max_queries": 0}, {"on_violation": "x"},
              {"proximity_weight": -1}]
)  # fmt: skip
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SearchSettings(**wrong)
