"""Algorithm 1 of the paper, to be read beside its pseudocode.

A search never calls the model: it is a generator that yields states and is sent an
:class:`~ntdcfe.search.base.Answer` about them.

Notes
-----
Where this differs from the paper, or fills in what the paper leaves open:

- the policy's inputs are as they are up to ten standard deviations and logarithmic beyond, since the paper does not
  say how states that grow over an episode stay finite (`policy.squashed`);
- sigma of the Gaussian has a floor (`policy.LEAST_STD`);
- an episode ends at the first *new* valid state, as in line 19; implausible ones end it, too, and are not kept;
- the seed is the caller's, drawn from a generator of our own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ntdcfe.search.adam import Adam
from ntdcfe.search.base import Asks, Search
from ntdcfe.search.policy import Action, PaperPolicy, own_state

# What one update takes for each weight of the network, on one core (measured: ten seconds of 250,000,000 weights).
SECONDS_OF_A_WEIGHT = 4e-8


class Transition(NamedTuple):
    """One entry of the paper's record tau: x_t ``(1, K, F)``, a_t, r_{t+1}."""

    state: NDArray[Any]
    action: Action
    reward: float


def algorithm_1(search: Search) -> Asks:
    """REINFORCE over episodes of single interventions; lines as in the paper."""
    settings, space, pool = search.settings, search.space, search.pool
    with own_state():
        policy = PaperPolicy(space, settings.hidden, search.generator, search.budget.look_at_clock)
        optimizer = Adam(((p, settings.learning_rate) for p in policy.parameters()), settings.weight_decay)

    for _ in range(settings.max_episodes):  # while E < M_E
        episode: list[Transition] = []
        state = space.original[None]  # x_0 := x*
        success = False
        for _ in range(settings.max_interventions):  # while t < M_T
            search.budget.look_at_clock()
            with own_state(), torch.no_grad():
                action = policy(policy.inputs(state)).sample(search.generator)  # a_t ~ pi(. | x_t)
            # x_{t+1} := F_p(x_t, a_t), then range, causal and immutable constraints
            proposal = search.problem.transition(state, policy.intervention(action), space.discrete)
            next_state = space.project(proposal, state)
            answer = yield next_state
            r = reward(answer.reached, search.objective.proximity(next_state), settings.proximity_weight)
            episode.append(Transition(state, action, float(r[0])))
            state = next_state
            success |= bool(answer.reached[0])
            if answer.reached[0] and pool.add(next_state[0]):  # a new valid counterfactual
                break
        update(policy, optimizer, episode, settings.discount, search.budget.look_at_clock)
        search.report(float(success))


def reward(reached: NDArray[np.bool_], proximity: NDArray[np.float64], proximity_weight: float) -> NDArray[np.float64]:
    """The paper's reward: ``1 - lambda_pxmt * D_pxmt`` where the target is reached, else 0 ``(n,)``."""
    return np.where(reached, 1 - proximity_weight * proximity, 0.0)


def returns(rewards: NDArray[np.float64], discount: float) -> NDArray[np.float64]:
    """G of every t: ``sum over t' > t of discount^(t'-t-1) r_t'``, for rewards r_1 ... r_T ``(T,)``."""
    out = np.zeros(len(rewards))
    following = 0.0
    for t in range(len(rewards) - 1, -1, -1):
        out[t] = following = rewards[t] + discount * following
    return out


@own_state()
def update(
    policy: PaperPolicy,
    optimizer: Adam | torch.optim.Optimizer,
    episode: list[Transition],
    discount: float,
    look_at_clock: Callable[[float], None] = lambda _: None,
) -> None:
    """theta := theta + alpha gamma^t G grad ln pi(a_t | x_t), for t = 0 ... T-1, the step by Adam."""
    G = returns(np.array([entry.reward for entry in episode]), discount)
    seconds = SECONDS_OF_A_WEIGHT * sum(parameter.numel() for parameter in policy.parameters())
    for t, (state, action, _) in enumerate(episode):
        look_at_clock(seconds)
        if G[t] == 0:
            # The gradient is zero whatever the network says; Adam's momentum still moves.
            for parameter in policy.parameters():
                parameter.grad = torch.zeros_like(parameter)
        else:
            optimizer.zero_grad()
            log_prob = policy(policy.inputs(state)).log_prob(action)
            (-(discount**t) * G[t] * log_prob).sum().backward()
        optimizer.step()
