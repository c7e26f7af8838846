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

    @property
    def disturbs(self) -> bool:
        """Whether copies differ from what they are copies of."""
        return self.noise > 0 or self.late > 0


class Noise:
    """Noise for the states of one space.

    Parameters
    ----------
    survival : Survival
    space : Space
    rng : numpy Generator
    reused : int
        How often a draw is used, each time with a random sign: drawing takes longer than all else that is done to a
        state. 1 for draws that are all fresh.
    """

    # Draws that are kept to be used again, and the most numbers that they may have in all.
    KEPT, MOST_NUMBERS = 400, 4_000_000

    def __init__(self, survival: Survival, space: Space, rng: np.random.Generator, reused: int = 6) -> None:
        self.survival = survival
        # How far the search may reach is no limit of what may happen to a value.
        self.space = space.without_reach
        self.rng = rng
        self._scale = np.where(space.movable & ~space.discrete, survival.noise * space.units, 0.0).astype(np.float32)
        self._reused = reused
        self._kept = np.empty((0, *space.original.shape), np.float32)
        self._left = 0

    def added(self, states: NDArray[Any], factor: Any = 1.0) -> NDArray[Any]:
        """Copies of states ``(n, K, F)`` with `factor` times the noise, one number or one each ``(n,)``.

        They obey the user's limits and constraints like every state.
        """
        if self.survival.late:
            states = self._delayed(states)
        if self.survival.noise == 0:
            return states.copy()
        noise = self._draws(len(states))
        noise *= np.reshape(np.asarray(factor, np.float32), (-1, 1, 1))
        noisy = (states + noise).astype(self.space.dtype, copy=False)
        return noisy if self.space.unlimited else self.space.project(noisy, states)

    def _draws(self, n: int) -> NDArray[Any]:
        """n draws ``(n, K, F)``."""
        if self._reused == 1:
            return self._scale * self.rng.standard_normal((n, *self._scale.shape), dtype=np.float32)
        if self._left < n:
            rows = int(np.clip(self.MOST_NUMBERS // self._scale.size, 16, self.KEPT))
            self._kept = self._scale * self.rng.standard_normal((rows, *self._scale.shape), dtype=np.float32)
            self._left = rows * self._reused
        self._left -= n
        sign = self.rng.choice(np.array([-1, 1], np.float32), (n, 1, 1))
        return self._kept[self.rng.integers(len(self._kept), size=n)] * sign

    def _delayed(self, states: NDArray[Any]) -> NDArray[Any]:
        """Copies of states whose changes come up to so many steps too late, each by a random number of steps."""
        original, moved = self.space.original, states.copy()
        by = self.rng.integers(0, self.survival.late + 1, len(states))
        for delay in np.unique(by[by > 0]):
            rows, change = by == delay, states[by == delay] - original
            change[:, delay:], change[:, :delay] = change[:, :-delay].copy(), 0
            moved[rows] = original + change
        return moved


class Survived(NamedTuple):
    """How an answer did under noise: of `draws` disturbed copies, the share that held, and its lower bound at 95%."""

    share: float
    lower_bound: float
    draws: int
    noise: float

    def __str__(self) -> str:
        off = f"if every value is off by {100 * self.noise:g}%"
        if not self.draws:
            return f"Whether it holds {off} was not tried: too few rows were left."
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
