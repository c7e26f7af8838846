"""The agent: a torch network that turns a state into distributions over (time, feature, strength)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ntdcfe.problem.space import Space
from ntdcfe.problem.transition import Intervention

# The paper leaves the floor of sigma open; much lower, and a collapsed Gaussian has a gradient without bounds
# (rule of thumb).
LEAST_STD = 0.01
# The most units that a network sees a feature moved by (rule of thumb: far beyond what any search reaches).
FARTHEST = 1e6
# Weights that are drawn between two looks at the clock: some tens of milliseconds.
WEIGHTS_AT_ONCE = 4_000_000

#: Raises where time is up, see :meth:`ntdcfe.search.base.Allowance.look_at_clock`.
Clock: TypeAlias = Callable[[], None]


def no_clock() -> None:
    """For work without a limit."""


@contextmanager
def own_state() -> Iterator[None]:
    """Our network learns on the CPU in float32, whatever the caller has set; what was set holds again afterwards.

    Everything that is set here belongs to the thread. The default type belongs to the process, and is not touched:
    every tensor of ours names its own.
    """
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autocast("cpu", enabled=False))
        if torch.empty(0).device.type != "cpu":
            stack.enter_context(torch.device("cpu"))
        yield


class Action(NamedTuple):
    """Sampled actions of n states, as the network knows them: tensors ``(n,)``.

    `feature` counts the features that may be acted on; `strength` is a number to add for a
    continuous one and the position of a value for a discrete one.
    """

    step: Tensor
    feature: Tensor
    strength: Tensor


class ActionDistribution(NamedTuple):
    """pi(. | x) for n states: the paper's four distributions.

    Shapes: `step` (n, K) and `feature` (n, A) log-probabilities; `mean`, `std` (n, A), used
    where the feature is continuous; `value` (n, A, V) log-probabilities, used where it is
    discrete (`discrete` (A,)).
    """

    step: Tensor
    feature: Tensor
    mean: Tensor
    std: Tensor
    value: Tensor
    discrete: Tensor

    def sample(self, generator: torch.Generator) -> Action:
        """One action a state."""
        step = torch.multinomial(self.step.exp(), 1, generator=generator)[:, 0]
        feature = torch.multinomial(self.feature.exp(), 1, generator=generator)[:, 0]
        rows = torch.arange(len(step))
        noise = torch.randn(len(step), generator=generator, dtype=torch.float32)
        strength = self.mean[rows, feature] + self.std[rows, feature] * noise
        if self.discrete.any():
            value = torch.multinomial(self.value[rows, feature].exp(), 1, generator=generator)[:, 0]
            strength = torch.where(self.discrete[feature], value.to(strength.dtype), strength)
        return Action(step, feature, strength.detach())

    def entropy(self) -> Tensor:
        """How undecided the choice of step and feature is, averaged over the states."""
        return -sum((log_p.exp() * log_p.clamp_min(-1e9)).sum(1).mean() for log_p in (self.step, self.feature))  # type: ignore[return-value]

    def log_prob(self, action: Action) -> Tensor:
        """ln pi(a | x) ``(n,)``: of the step, the feature, and the strength given the feature."""
        rows = torch.arange(len(action.step))
        mean, std = self.mean[rows, action.feature], self.std[rows, action.feature]
        continuous = -((action.strength - mean) ** 2) / (2 * std**2) - std.log() - 0.5 * np.log(2 * np.pi)
        strength = continuous
        if self.discrete.any():
            discrete = self.discrete[action.feature]
            position = torch.where(discrete, action.strength, torch.zeros_like(action.strength)).long()
            strength = torch.where(discrete, self.value[rows, action.feature, position], continuous)
        return self.step[rows, action.step] + self.feature[rows, action.feature] + strength


class Policy(nn.Module):
    """A network whose outputs are the paper's distributions over what may be acted on.

    Features that may not be acted on have no output; steps that may not be changed are masked.

    Parameters
    ----------
    space : Space
        Whose states it sees and acts on.
    """

    step_mask: Tensor
    value_mask: Tensor
    discrete: Tensor

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.space = space
        self.features = np.flatnonzero(space.movable.any(0))  # (A,)
        choices = [space.choices[i] for i in self.features]
        n_steps, n_actions = len(space.original), len(choices)
        n_values = max((len(c) for c in choices if c is not None), default=1)
        self._choices = np.zeros((n_actions, n_values))
        allowed = torch.zeros(n_actions, n_values, dtype=torch.bool)
        for i, c in enumerate(choices):
            if c is not None:
                self._choices[i, : len(c)] = c
            allowed[i, : 1 if c is None else len(c)] = True
        steps = torch.from_numpy(space.movable.any(1))
        self.register_buffer("step_mask", torch.zeros(n_steps, dtype=torch.float32).masked_fill(~steps, -torch.inf))
        masked = torch.zeros(n_actions, n_values, dtype=torch.float32).masked_fill(~allowed, -torch.inf)
        self.register_buffer("value_mask", masked)
        self.register_buffer("discrete", torch.tensor([c is not None for c in choices]))
        self._has_values = any(c is not None for c in choices)
        self._sizes = [n_steps, n_actions, n_actions, n_actions, n_actions * n_values]

    @property
    def n_outputs(self) -> int:
        """How many numbers describe the distributions of one state."""
        return sum(self._sizes)

    def distribution(self, outputs: Tensor) -> ActionDistribution:
        """The distributions that outputs ``(n, n_outputs)`` describe."""
        step, feature, mean, std, value = outputs.split(self._sizes, dim=1)  # type: ignore[no-untyped-call]
        value = value.reshape(len(outputs), *self.value_mask.shape)
        return ActionDistribution(
            (step + self.step_mask).log_softmax(1),
            feature.log_softmax(1),
            mean,
            functional.softplus(std) + LEAST_STD,
            (value + self.value_mask).log_softmax(2) if self._has_values else value,
            self.discrete,
        )

    def intervention(self, action: Action, scale: float | NDArray[np.float64] = 1.0) -> Intervention:
        """Actions of the network in the terms of the space; `scale` (or one a feature) multiplies strengths."""
        feature = action.feature.numpy()
        strength = action.strength.numpy().astype(float)
        discrete = self.discrete.numpy()[feature]
        position = np.where(discrete, strength, 0).astype(int)
        scales = np.broadcast_to(scale, len(self.space.features))[self.features[feature]]
        return Intervention(
            action.step.numpy(),
            self.features[feature],
            np.where(discrete, self._choices[feature, position], strength * scales),
        )


class PaperPolicy(Policy):
    """The paper's network: it sees every cell, through linear layers with ReLU.

    Parameters
    ----------
    space : Space
    hidden : sequence of int
        Sizes of the hidden layers.
    generator : torch.Generator
        Draws the initial weights.
    look_at_clock : callable
        Called now and then: a series of 100,000 cells means 100,000,000 weights.
    """

    def __init__(
        self, space: Space, hidden: Sequence[int], generator: torch.Generator, look_at_clock: Clock = no_clock
    ) -> None:
        super().__init__(space)
        n_inputs = len(space.original) * sum(1 if c is None else len(c) for c in space.choices)
        sizes = [n_inputs, *hidden]
        self.body = _layers(sizes, nn.ReLU, generator, look_at_clock)
        self.heads = _linear(sizes[-1], self.n_outputs, generator, look_at_clock)

    def inputs(self, states: NDArray[Any]) -> Tensor:
        """What the network sees of states ``(n, K, F)``: categories one-hot, flattened ``(n, I)``."""
        choices = self.space.choices
        if self.space.discrete.any():
            parts = [states[..., i, None] if c is None else states[..., i, None] == c for i, c in enumerate(choices)]
            states = np.concatenate(parts, axis=-1).astype(states.dtype)
        return torch.from_numpy(squashed(states.reshape(len(states), -1)).astype(np.float32))

    def forward(self, inputs: Tensor) -> ActionDistribution:
        """The distributions for inputs ``(n, I)``."""
        return self.distribution(self.heads(self.body(inputs)))


class CompactPolicy(Policy):
    """A policy that learns from few episodes: free logits, moved a little by a small network.

    The network sees how far each feature has been moved on average, in units, so its size does
    not depend on the number of steps.

    Parameters
    ----------
    space : Space
    hidden : sequence of int
        Sizes of the hidden layers.
    generator : torch.Generator
        Draws the initial weights.
    """

    def __init__(self, space: Space, hidden: Sequence[int], generator: torch.Generator) -> None:
        super().__init__(space)
        sizes = [len(space.features), *hidden]
        self.body = _layers(sizes, nn.Tanh, generator)
        self.base = nn.Parameter(torch.zeros(self.n_outputs, dtype=torch.float32))
        # At first the state says nothing: every episode starts from the same policy.
        self.shift = nn.Parameter(torch.zeros(sizes[-1], self.n_outputs, dtype=torch.float32))

    def inputs(self, states: NDArray[Any]) -> Tensor:
        """What the network sees of states ``(n, K, F)``: the mean change of each feature ``(n, F)``."""
        change = (states.mean(1) - self.space.original.mean(0)) / self.space.units
        # Of units near the least number there is, a change may be infinite, which the network would make NaN of.
        change = np.nan_to_num(change, posinf=FARTHEST, neginf=-FARTHEST).clip(-FARTHEST, FARTHEST)
        return torch.from_numpy(change.astype(np.float32))

    def forward(self, inputs: Tensor) -> ActionDistribution:
        """The distributions for inputs ``(n, F)``."""
        return self.distribution(self.base + self.body(inputs) @ self.shift)


def squashed(x: NDArray[Any], linear: float = 10.0) -> NDArray[Any]:
    """As it is up to ten standard deviations, logarithmic beyond.

    The paper does not say how its states stay finite. An unbounded network that adds to its own
    input makes them grow exponentially over an episode; squashed inputs keep the growth linear.
    """
    size = np.abs(x)
    beyond = linear * (1 + np.log(np.maximum(size, linear) / linear))
    return np.where(size <= linear, x, np.sign(x) * beyond)


def _layers(
    sizes: Sequence[int], activation: type[nn.Module], generator: torch.Generator, look_at_clock: Clock = no_clock
) -> nn.Sequential:
    """Linear layers between those sizes, each followed by the activation."""
    pairs = [(_linear(n_in, n_out, generator, look_at_clock), activation()) for n_in, n_out in pairwise(sizes)]
    return nn.Sequential(*(layer for pair in pairs for layer in pair))


class _Undrawn(nn.Linear):
    """A layer whose weights are yet to be drawn; ``nn.utils.skip_init`` loads for longer than a search takes."""

    def reset_parameters(self) -> None:
        """Not from the global generator."""


def _linear(n_in: int, n_out: int, generator: torch.Generator, look_at_clock: Clock = no_clock) -> nn.Linear:
    """torch's own default initialisation, drawn from our generator instead of the global one."""
    layer = _Undrawn(n_in, n_out, dtype=torch.float32)
    bound = n_in**-0.5
    at_once = max(1, WEIGHTS_AT_ONCE // n_in)
    with torch.no_grad():
        for start in range(0, n_out, at_once):  # numbers are drawn one after the other: parts make no difference
            look_at_clock()
            layer.weight[start : start + at_once].uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer
