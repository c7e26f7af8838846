"""Whether an answer still holds when the values are a little off, and of another model."""

from __future__ import annotations

from collections.abc import Callable
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
    """What an answer has to withstand: its values disturbed by noise, and the judgement of a second model.

    Parameters
    ----------
    noise : float
        Standard deviation of what is added to every value that may change, in units of its feature.
    at_least : float
        The share of disturbed copies that has to reach the target.
    late : int
        By how many steps an answer may come too late: each copy is moved by 0 to so many steps.
    second_model : callable, optional
        Another model that has to reach the target on the answer, too: a retrained one, or one of another kind. It takes
        rows as ``predict`` does and answers as it does, or with labels where that gives probabilities. It is asked
        about answers that are candidates, once each and undisturbed: about no more rows than the model itself may be
        asked (``max_rows``), which are counted apart from those (``Survived.second_rows``).

    Examples
    --------
    >>> Survival(noise=0.02, at_least=0.9)
    Survival(noise=0.02, at_least=0.9)
    """

    noise: float = 0.01
    at_least: float = 0.95
    late: int = 0
    second_model: Callable[[NDArray[Any]], Any] | None = None

    __repr__ = typed_back

    def __post_init__(self) -> None:
        if not (isinstance(self.noise, Real) and self.noise >= 0):
            raise InvalidInputError(f"noise must be a number that is not negative, got {self.noise!r}.")
        if not (isinstance(self.at_least, Real) and 0 < self.at_least <= 1):
            raise InvalidInputError(f"at_least must be a share above 0 and up to 1, got {self.at_least!r}.")
        if isinstance(self.late, bool) or not isinstance(self.late, int) or self.late < 0:
            raise InvalidInputError(f"late must be a whole number of steps, got {self.late!r}.")
        if self.second_model is not None and not callable(self.second_model):
            raise InvalidInputError(f"second_model must be a function of rows, got {self.second_model!r}.")

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
    # Between these, products of a few numbers can be told in single precision.
    SINGLE = (1e-30, 1e30)

    @np.errstate(all="ignore")  # a caller may have numpy raise on an underflow
    def __init__(self, survival: Survival, space: Space, rng: np.random.Generator, reused: int = 6) -> None:
        self.survival = survival
        # How far the search may reach is no limit of what may happen to a value.
        self.space = space.without_reach
        self._unlimited = self.space.unlimited
        self.rng = rng
        scale = np.where(space.movable & ~space.discrete, survival.noise * space.units, 0.0)
        # In single precision, which takes half the time, unless it would be 0 or infinite there.
        single = ((scale == 0) | ((scale > self.SINGLE[0]) & (scale < self.SINGLE[1]))).all()
        self._dtype: Any = np.float32 if single else np.float64
        self._scale: NDArray[Any] = scale.astype(self._dtype)
        self._reused = reused
        self._kept: NDArray[Any] = np.empty((0, *space.original.shape), self._dtype)
        self._left = 0

    @np.errstate(all="ignore")
    def added(self, states: NDArray[Any], factor: Any = 1.0) -> NDArray[Any]:
        """Copies of states ``(n, K, F)`` with `factor` times the noise, one number or one each ``(n,)``.

        They obey the user's limits and constraints like every state.
        """
        if self.survival.late:
            states = self._delayed(states)
        if self.survival.noise == 0:
            # What comes late may be a value that a feature does not list, or a move that is forbidden.
            return self.space.project(states) if self.survival.late else states.copy()
        noise = self._draws(len(states), np.reshape(np.asarray(factor, self._dtype), (-1, 1, 1)))
        # In place, and in the type of the sum: a tenth less time than `states + noise`.
        noisy = noise.astype(np.result_type(states, noise), copy=False)
        noisy += states
        noisy = noisy.astype(self.space.dtype, copy=False)
        if self._dtype is np.float64:
            noisy = np.where(np.isfinite(noisy), noisy, states)  # next to the largest number there is
        return noisy if self._unlimited else self.space.project(noisy, states)

    def _draws(self, n: int, factor: NDArray[Any]) -> NDArray[Any]:
        """n draws ``(n, K, F)``, times `factor`."""
        if self._reused == 1:
            noise = self.rng.standard_normal((n, *self._scale.shape), dtype=self._dtype)
            noise *= self._scale
            return np.multiply(noise, factor, out=noise)
        if self._left < n:
            rows = int(np.clip(self.MOST_NUMBERS // self._scale.size, 16, self.KEPT))
            self._kept = self.rng.standard_normal((rows, *self._scale.shape), dtype=self._dtype)
            self._kept *= self._scale
            self._left = rows * self._reused
        self._left -= n
        sign = np.array([-1, 1], self._dtype)[self.rng.integers(0, 2, (n, 1, 1))]
        noise = self._kept.take(self.rng.integers(len(self._kept), size=n), axis=0)
        return np.multiply(noise, sign * factor, out=noise)

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
    """How an answer did: of `draws` disturbed copies, the share that held, and its lower bound at 95%.

    `second_model` tells whether a second model reaches the target on the answer, too, None if there is none or it was
    not asked; `second_rows` is how many rows it was asked about in the whole search.
    """

    share: float
    lower_bound: float
    draws: int
    noise: float
    second_model: bool | None = None
    second_rows: int = 0

    def __str__(self) -> str:
        off = f"if every value is off by {100 * self.noise:g}%"
        if not self.draws:
            told = f"Whether it holds {off} was not tried."
        elif self.share >= 0.5:
            told = f"Still holds in {100 * self.share:.0f}% of cases {off}."
        else:
            told = f"Holds in no more than {100 * self.share:.0f}% of cases {off}: do not rely on it."
        return told if self.second_model is None else f"{told} {SECOND[self.second_model]}"

    @staticmethod
    def of(held: int, draws: int, noise: float) -> Survived:
        """From counts; the bound is Wilson's."""
        if draws == 0:
            return Survived(float("nan"), 0.0, 0, noise)
        z, share = 1.645, held / draws
        centre, spread = share + z**2 / (2 * draws), z * np.sqrt(share * (1 - share) / draws + z**2 / (4 * draws**2))
        return Survived(share, float((centre - spread) / (1 + z**2 / draws)), draws, noise)


# What is said of a second model.
SECOND = {True: "The second model says so, too.", False: "The second model says otherwise: do not rely on it."}
