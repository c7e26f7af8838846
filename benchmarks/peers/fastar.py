"""FastAR as a baseline: our own small reading of its paper and of how its public code behaves.

Verma, Hines and Dickerson, "Amortized Generation of Sequential Algorithmic Recourses for Black-Box Models", AAAI 2022.
Their code has no licence and needs Python 3.6. As it does: every cell is scaled to [-1, 1] by the training data; an
action moves one cell by 0.05 up or down; a move that leaves the range, or that the feature does not allow, is not made and
costs 10; the reward is 100 for reaching the target, else its probability, less 0.1 of the L1 distance to the nearest
training row; the policy is learnt by PPO from training rows, and followed greedily for 50 steps. Unlike it: many episodes
side by side, begun at rows that the model does not put into the target and cut after 50 steps; fewer training steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributions import Categorical

Array = NDArray[Any]

STEP = 0.05
MOST_STEPS = 50
TRAINING_STEPS = 100_000
EPISODES, ROLLOUT = 32, 64
EPOCHS, PARTS = 4, 4
GAMMA, LAMBDA, CLIP, ENTROPY, RATE, STEEPEST = 0.99, 0.95, 0.2, 0.01, 1e-3, 0.5
REACHED, FORBIDDEN, DISTANCE_COST, LARGEST_REWARD = 100.0, -10.0, 0.1, 10.0


class Net(torch.nn.Module):
    """Policy and value of a scaled row, each with layers of its own."""

    def __init__(self, n_cells: int, hidden: int = 64) -> None:
        super().__init__()

        def layers(n_out: int) -> torch.nn.Sequential:
            return torch.nn.Sequential(
                torch.nn.Linear(n_cells, hidden), torch.nn.Tanh(), torch.nn.Linear(hidden, hidden), torch.nn.Tanh(),
                torch.nn.Linear(hidden, n_out),
            )  # fmt: skip

        self.policy, self.value = layers(2 * n_cells), layers(1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-odds of the actions ``(n, 2 * cells)`` and values ``(n,)``."""
        return self.policy(x), self.value(x).squeeze(-1)


class Step(NamedTuple):
    """One step of all episodes, each entry ``(episodes, ...)``."""

    rows: Array
    actions: Array
    log_probs: Array
    values: Array
    rewards: Array
    ended: Array


class FastAR:
    """Trained once on the training rows, then asked for any row.

    Parameters
    ----------
    predict_proba : callable
        Flat rows ``(n, cells)`` to probabilities ``(n, C)``.
    train : array (n, cells)
    seed : int
    target : int
        The wanted class.
    steps : int
        Training steps.
    immutable, rising : sequence of int
        Cells that may not be moved, and that may not be moved down.
    """

    def __init__(
        self,
        predict_proba: Callable[[Array], Array],
        train: Array,
        seed: int = 0,
        target: int = 1,
        steps: int = TRAINING_STEPS,
        immutable: Sequence[int] = (),
        rising: Sequence[int] = (),
    ) -> None:
        self.predict_proba, self.target = predict_proba, target
        self.rng = np.random.default_rng(seed)
        self.low, span = train.min(0), np.ptp(train, axis=0)
        self.span = np.where(span > 0, span, 1.0)
        self.forbidden = np.zeros(2 * train.shape[1], dtype=bool)
        for cell in immutable:
            self.forbidden[[2 * cell, 2 * cell + 1]] = True
        self.forbidden[[2 * cell for cell in rising]] = True
        scaled = self._scaled(train)
        self.train = torch.tensor(scaled, dtype=torch.float32)
        self.centre, self.spread = scaled.mean(0), scaled.std(0) + 1e-4
        torch.manual_seed(seed)
        self.net = Net(train.shape[1])
        self.starts = scaled[~self._reached(scaled)[1]]
        self._learn(steps)

    def __call__(self, x: Array) -> Array | None:
        """The row at which the greedy path from `x` reaches the target, None if it does not."""
        rows = self._scaled(x.reshape(1, -1))
        for _ in range(MOST_STEPS):
            with torch.no_grad():
                logits, _ = self.net(self._seen(rows))
            rows, moved = self._moved(rows, logits.argmax(1).numpy())
            if not moved[0]:  # the greedy policy would do the same for ever
                return None
            if self._reached(rows)[1][0]:
                return self._unscaled(rows)[0]
        return None

    def _scaled(self, rows: Array) -> Array:
        return 2 * (rows - self.low) / self.span - 1

    def _unscaled(self, rows: Array) -> Array:
        return self.low + (rows + 1) / 2 * self.span

    def _seen(self, rows: Array) -> torch.Tensor:
        return torch.tensor(np.clip((rows - self.centre) / self.spread, -10, 10), dtype=torch.float32)

    def _reached(self, rows: Array) -> tuple[Array, Array]:
        """Probability of the target, and whether the model says it."""
        probabilities = self.predict_proba(self._unscaled(rows))
        return probabilities[:, self.target], probabilities.argmax(1) == self.target

    def _moved(self, rows: Array, actions: Array) -> tuple[Array, Array]:
        """The rows after the actions, and which actions were made at all."""
        at = (np.arange(len(rows)), actions // 2)
        after = rows[at] + np.where(actions % 2, STEP, -STEP)
        made = ~self.forbidden[actions] & (np.abs(after) <= 1)
        rows = rows.copy()
        rows[at] = np.where(made, after, rows[at])
        return rows, made

    def _learn(self, steps: int) -> None:
        optimiser = torch.optim.Adam(self.net.parameters(), lr=RATE, eps=1e-5)
        n_updates = max(steps // (EPISODES * ROLLOUT), 1)
        rows, ages = self._begun(EPISODES), np.zeros(EPISODES, dtype=int)
        discounted, squares, count = np.zeros(EPISODES), 1.0, 1.0
        for update in range(n_updates):
            optimiser.param_groups[0]["lr"] = RATE * (1 - update / n_updates)
            taken: list[Step] = []
            for _ in range(ROLLOUT):
                with torch.no_grad():
                    logits, values = self.net(self._seen(rows))
                    policy = Categorical(logits=logits)
                    actions = policy.sample()
                    log_probs = policy.log_prob(actions).numpy()
                after, made = self._moved(rows, actions.numpy())
                probability, reached = self._reached(after)
                away = torch.cdist(torch.tensor(after, dtype=torch.float32), self.train, p=1).min(1).values.numpy()
                rewards = np.where(reached, REACHED, probability) - DISTANCE_COST * away
                rewards, ended = np.where(made, rewards, FORBIDDEN), made & reached
                # Rewards are in units of the spread of their discounted sums.
                discounted = GAMMA * discounted + rewards
                squares, count = squares + (discounted**2).mean(), count + 1
                rewards = np.clip(rewards / np.sqrt(squares / count), -LARGEST_REWARD, LARGEST_REWARD)
                taken.append(Step(rows, actions.numpy(), log_probs, values.numpy(), rewards, ended))
                ages = ages + 1
                fresh = ended | (ages >= MOST_STEPS)
                rows = np.where(fresh[:, None], self._begun(EPISODES), after)
                ages, discounted = np.where(fresh, 0, ages), np.where(ended, 0.0, discounted)
            with torch.no_grad():
                _, following = self.net(self._seen(rows))
            self._update(optimiser, taken, following.numpy())

    def _begun(self, n: int) -> Array:
        return self.starts[self.rng.integers(len(self.starts), size=n)]

    def _update(self, optimiser: torch.optim.Optimizer, taken: Sequence[Step], following: Array) -> None:
        """PPO's clipped step, a few times over."""
        advantage, advantages = np.zeros(EPISODES), []
        for step in reversed(taken):
            more = 1.0 - step.ended
            advantage = step.rewards + GAMMA * following * more - step.values + GAMMA * LAMBDA * more * advantage
            following = step.values
            advantages.append(advantage)
        gains = torch.tensor(np.concatenate(advantages[::-1]), dtype=torch.float32)
        states = self._seen(np.concatenate([step.rows for step in taken]))
        actions = torch.tensor(np.concatenate([step.actions for step in taken]))
        old = torch.tensor(np.concatenate([step.log_probs for step in taken]))
        returns = gains + torch.tensor(np.concatenate([step.values for step in taken]))
        gains = (gains - gains.mean()) / (gains.std() + 1e-5)
        for _ in range(EPOCHS):
            for part in torch.randperm(len(gains)).chunk(PARTS):
                logits, values = self.net(states[part])
                policy = Categorical(logits=logits)
                ratio = (policy.log_prob(actions[part]) - old[part]).exp()
                gain = torch.minimum(ratio * gains[part], ratio.clamp(1 - CLIP, 1 + CLIP) * gains[part]).mean()
                loss = -gain + 0.5 * (returns[part] - values).pow(2).mean() - ENTROPY * policy.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.net.parameters(), STEEPEST)
                optimiser.step()
