"""Whether an answer still holds when the values are a little off."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import InvalidInputError
from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.space import Space


@dataclass(frozen=True, repr=False)
class Survival:
    """What an answer has to withstand: its values disturbed by noise.

    Parameters
    ----------
    noise : float
        Standard deviation of what is added to every value that may change, in units of its feature.
    at_least : float
        The share of disturbed copies that has to reach the target.
    late : int
        By how many steps an answer may come too late: each copy is moved by 0 to so many steps.
    """

    noise: float = 0.01
    at_least: float = 0.95
    late: int = 0

    __repr__ = typed_back

    def __post_init__(self) -> None:
        if not (isinstance(self.noise, Real) and self.noise >= 0):
            raise InvalidInputError(f"noise must be a number that is not negative, got {self.noise!r}.")
        if not (isinstance(self.at_least, Real) and 0 < self.at_least <= 1):
            raise InvalidInputError(f"at_least must be a share above 0 and up to 1, got {self.at_least!r}.")
        if isinstance(self.late, bool) or not isinstance(self.late, int) or self.late < 0:
            raise InvalidInputError(f"late must be a whole number of steps, got {self.late!r}.")

    def disturbed(
        self, space: Space, states: NDArray[Any], rng: np.random.Generator, factor: float = 1.0
    ) -> NDArray[Any]:
        """Copies of states ``(n, K, F)`` with noise, `factor` times as much; they obey like every state."""
        if self.late:
            moved = states.copy()
            by = rng.integers(0, self.late + 1, len(states))
            for delay in np.unique(by[by > 0]):
                rows, change = by == delay, states[by == delay] - space.original
                change[:, delay:], change[:, :delay] = change[:, :-delay].copy(), 0
                moved[rows] = space.original + change
            states = moved
        scale = np.where(space.movable & ~space.discrete, factor * self.noise * space.units, 0.0)
        noisy = states + scale * rng.standard_normal(states.shape)
        return space.project(noisy.astype(space.dtype, copy=False), states)


class Survived(NamedTuple):
    """How an answer did under noise: of `draws` disturbed copies, the share that held, and its lower bound at 95%."""

    share: float
    lower_bound: float
    draws: int
    noise: float

    def __str__(self) -> str:
        off = f"if every value is off by {100 * self.noise:g}%"
        if self.share >= 0.5:
            return f"Still holds in {100 * self.share:.0f}% of cases {off}."
        return f"Holds in no more than {100 * self.share:.0f}% of cases {off}: do not rely on it."

    @staticmethod
    def of(held: int, draws: int, noise: float) -> Survived:
        """From counts; the bound is Wilson's."""
        if draws == 0:
            return Survived(float("nan"), 0.0, 0, noise)
        z, share = 1.645, held / draws
        centre, spread = share + z**2 / (2 * draws), z * np.sqrt(share * (1 - share) / draws + z**2 / (4 * draws**2))
        return Survived(share, float((centre - spread) / (1 + z**2 / draws)), draws, noise)
