"""Adam (Kingma and Ba, 2015) with an L2 penalty, in the steps of ``torch.optim.Adam``, bit for bit.

The first optimizer of torch's own that a process makes loads torch's compiler, which takes longer than a whole search.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

# As the paper on Adam, and torch, have them.
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Moves parameters down their gradients.

    Parameters
    ----------
    parameters : iterable of (Parameter, float)
        Each with its learning rate.
    weight_decay : float
    """

    def __init__(self, parameters: Iterable[tuple[nn.Parameter, float]], weight_decay: float) -> None:
        self._moments = [_Moments(parameter, rate) for parameter, rate in parameters]
        self._weight_decay = weight_decay

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for moments in self._moments:
            moments.parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for moments in self._moments:
            gradient = moments.parameter.grad
            if gradient is None:
                continue
            if self._weight_decay:
                gradient = gradient.add(moments.parameter, alpha=self._weight_decay)
            moments.move(gradient)


class _Moments:
    """A parameter, its learning rate, and the moving averages of its gradient and of the square of that."""

    def __init__(self, parameter: nn.Parameter, rate: float) -> None:
        self.parameter, self.rate, self.n_steps = parameter, rate, 0
        self.first, self.second = torch.zeros_like(parameter.detach()), torch.zeros_like(parameter.detach())

    def move(self, gradient: Tensor) -> None:
        self.n_steps += 1
        self.first.lerp_(gradient, 1 - BETA_1)
        self.second.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        # Both begin at zero, which their few first values have to make up for.
        size = self.rate / (1 - BETA_1**self.n_steps)
        spread = (self.second.sqrt() / (1 - BETA_2**self.n_steps) ** 0.5).add_(EPSILON)
        self.parameter.addcdiv_(self.first, spread, value=-size)
