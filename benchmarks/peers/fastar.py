"""FastAR as a baseline, after its paper: fixed discrete actions, PPO, a policy trained on the training data.

Verma, Hines and Dickerson, "Amortized Generation of Sequential Algorithmic Recourses for Black-Box Models", AAAI
2022. Their code has no licence and does not install any more, so this is our own reading, kept small: a state is a
flat row, an action moves one cell by a fixed step up or down, the reward is paid for reaching the target and charged
for each step and for leaving the data (mean distance to the nearest training rows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributions import Categorical

Array = NDArray[Any]

STEP = 0.5  # of a standard deviation: the data is standardised
MOST_STEPS = 60
EPISODES = 32
UPDATES = 30
EPOCHS = 4
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 3e-4
REACHED, STEP_COST, DISTANCE_COST = 10.0, 0.1, 0.1


class Net(torch.nn.Module):
    """Policy and value of a flat row."""

    def __init__(self, n_cells: int) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(n_cells, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh()
        )
        self.policy = torch.nn.Linear(64, 2 * n_cells)
        self.value = torch.nn.Linear(64, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-odds of the actions ``(n, 2 * cells)`` and values ``(n,)``."""
        h = self.body(x)
        return self.policy(h), self.value(h).squeeze(-1)


class FastAR:
    """Trained once on the training rows, then asked for any row.

    Parameters
    ----------
    predict_proba : callable
        Flat rows ``(n, cells)`` to probabilities ``(n, 2)``; class 1 is the target.
    train : array (n, cells)
    seed : int
    """

    def __init__(self, predict_proba: Callable[[Array], Array], train: Array, seed: int = 0) -> None:
        self.predict_proba, self.train = predict_proba, train
        self.rng = np.random.default_rng(seed)
        self.low, self.high = train.min(0), train.max(0)
        torch.manual_seed(seed)
        self.net = Net(train.shape[1])
        self.undesired = train[predict_proba(train)[:, 1] <= 0.5]
        optimiser = torch.optim.Adam(self.net.parameters(), lr=RATE)
        for _ in range(UPDATES):
            self._update(optimiser, *self._episodes())

    def __call__(self, x: Array) -> Array | None:
        """The first row on a path from `x` that reaches the target: the greedy path, then sampled ones."""
        rows = np.repeat(x.reshape(1, -1), 8, axis=0)
        greedy = np.arange(8) == 0
        for _ in range(MOST_STEPS):
            with torch.no_grad():
                logits, _ = self.net(torch.tensor(rows, dtype=torch.float32))
            actions = np.where(greedy, logits.argmax(1).numpy(), Categorical(logits=logits).sample().numpy())
            rows = self._moved(rows, actions)
            reached = self.predict_proba(rows)[:, 1] > 0.5
            if reached.any():
                return rows[reached.argmax()]
        return None

    def _moved(self, rows: Array, actions: Array) -> Array:
        rows, cells = rows.copy(), actions // 2
        at = (np.arange(len(rows)), cells)
        rows[at] = np.clip(rows[at] + np.where(actions % 2, STEP, -STEP), self.low[cells], self.high[cells])
        return rows

    def _distance(self, rows: Array, k: int = 5) -> Array:
        squares = (rows**2).sum(1)[:, None] + (self.train**2).sum(1) - 2 * rows @ self.train.T
        return np.sqrt(np.maximum(np.partition(squares, min(k, len(self.train) - 1), axis=1)[:, :k], 0)).mean(1)

    def _episodes(self) -> tuple[torch.Tensor, ...]:
        """States, actions, log-probabilities, advantages and returns of a round of episodes."""
        rows = self.undesired[self.rng.integers(len(self.undesired), size=EPISODES)]
        alive = np.ones(EPISODES, dtype=bool)
        steps = []
        for _ in range(MOST_STEPS):
            with torch.no_grad():
                logits, values = self.net(torch.tensor(rows, dtype=torch.float32))
                policy = Categorical(logits=logits)
                actions = policy.sample()
            after = self._moved(rows, actions.numpy())
            reached = self.predict_proba(after)[:, 1] > 0.5
            reward = REACHED * reached - STEP_COST - DISTANCE_COST * self._distance(after) / np.sqrt(rows.shape[1])
            steps.append(
                (rows, actions.numpy(), policy.log_prob(actions).numpy(), values.numpy(), reward, reached, alive)
            )
            alive = alive & ~reached
            rows = after
            if not alive.any():
                break
        advantage, following, taken = np.zeros(EPISODES), np.zeros(EPISODES), []
        for state, action, log_prob, value, reward, reached, was_alive in reversed(steps):
            more = 1.0 - reached
            delta = reward + GAMMA * following * more - value
            advantage = delta + GAMMA * LAMBDA * more * advantage
            following = value
            taken.append(
                (
                    state[was_alive],
                    action[was_alive],
                    log_prob[was_alive],
                    advantage[was_alive],
                    (advantage + value)[was_alive],
                )
            )
        return tuple(torch.tensor(np.concatenate(part)) for part in zip(*taken, strict=True))

    def _update(
        self, optimiser: torch.optim.Optimizer, states: Any, actions: Any, old: Any, advantages: Any, returns: Any
    ) -> None:
        """PPO's clipped step, a few times over."""
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for _ in range(EPOCHS):
            logits, values = self.net(states.float())
            policy = Categorical(logits=logits)
            ratio = (policy.log_prob(actions) - old).exp()
            gain = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).mean()
            loss = -gain + 0.5 * (returns - values).pow(2).mean() - ENTROPY * policy.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
