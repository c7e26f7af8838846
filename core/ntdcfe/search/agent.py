"""The agent of the default search: a compact policy and how it learns, in arrays. The network itself is torch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ntdcfe.problem.transition import Intervention
from ntdcfe.search.adam import Adam
from ntdcfe.search.base import Search
from ntdcfe.search.policy import Action, CompactPolicy, own_state

# A nearly certain Gaussian can make an action e^100 times as likely: infinite in float32.
LARGEST_LOG_RATIO = 20


class Experience(NamedTuple):
    """What the network saw of n states, and what it did ``(n, ...)``."""

    inputs: torch.Tensor
    action: Action


class Agent:
    """Acts on states of one search and learns from what came of it.

    Parameters
    ----------
    search : Search
    """

    @own_state()
    def __init__(self, search: Search) -> None:
        self.search = search
        self.policy = CompactPolicy(search.space, search.settings.hidden, search.generator)
        rate = search.settings.learning_rate
        # The logits have to learn within a few rounds; the network corrects them with care.
        network = [self.policy.shift, *self.policy.body.parameters()]
        rates = [(self.policy.base, rate), *((parameter, rate / 10) for parameter in network)]
        self.optimizer = Adam(rates, search.settings.weight_decay)

    @property
    def features(self) -> NDArray[np.int64]:
        """Positions of the features that may be acted on ``(A,)``."""
        return self.policy.features

    @own_state()
    def act(self, states: NDArray[Any], scale: NDArray[np.float64]) -> tuple[Intervention, Experience]:
        """One intervention for each of the states ``(n, K, F)``; `scale` ``(F,)`` multiplies strengths."""
        inputs = self.policy.inputs(states)
        with torch.no_grad():
            action = self.policy(inputs).sample(self.search.generator)
        return self.policy.intervention(action, scale), Experience(inputs, action)

    @own_state()
    def experience(
        self,
        states: NDArray[Any],
        step: NDArray[np.int64],
        feature: NDArray[np.int64],
        strength: NDArray[np.float64],
    ) -> Experience:
        """Interventions of another origin: steps, places among :attr:`features`, strengths, all ``(n,)``."""
        columns = (step, feature, strength.astype(np.float32))
        return Experience(self.policy.inputs(states), Action(*map(torch.from_numpy, columns)))

    @own_state()
    def learn(self, experiences: Sequence[Experience], gain: NDArray[np.float64]) -> None:
        """Clipped policy gradient (as in PPO) on the normalised advantage of each action; `gain` is of all in order."""
        if len(gain) < 2 or gain.std() < 1e-6:
            return
        settings = self.search.settings
        inputs = torch.cat([entry.inputs for entry in experiences])
        action = Action(*(torch.cat(column) for column in zip(*(entry.action for entry in experiences), strict=True)))
        advantage = torch.from_numpy(((gain - gain.mean()) / gain.std()).astype(np.float32))
        with torch.no_grad():
            before = self.policy(inputs).log_prob(action)
        for _ in range(settings.epochs):
            self.search.budget.look_at_clock()
            pi = self.policy(inputs)
            ratio = (pi.log_prob(action) - before).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            loss = -torch.min(ratio * advantage, clipped * advantage).mean() - settings.entropy * pi.entropy()
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            # An action all but impossible, or a score without bounds, has no finite gradient: nothing is learnt of it.
            gradients = [p.grad for p in self.policy.parameters() if p.grad is not None]
            if not all(bool(torch.isfinite(gradient).all()) for gradient in gradients):
                return
            self.optimizer.step()
