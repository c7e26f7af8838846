"""A local picture of the model near the boundary: which cells are worth changing.

A ridge regression of the latest answers on the changes that were asked about, smoothed over time
because neighbouring steps act alike. Its effects are drawn several times with noisy answers, so
that one batch tries different readings of the same evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.problem import Problem
from ntdcfe.problem.reprs import typed_back


@dataclass(frozen=True, repr=False)
class SurrogateTuning:
    """Numbers of the regression; rules of thumb, chosen on the paper's cases (benchmarks/results/paper-published.md).

    Parameters
    ----------
    memory, enough : int
        Answers looked back on, and how many make a regression worth its while.
    half_window, smoothness : int, float
        Half-width of the moving average over time, and its weight beside the cell itself.
    noise_of_labels, noise_of_scores : float
        Noise on answers: a score tells more than a label.
    ridge : float
        As a share of the mean diagonal.
    draws : int
        How often the effects are drawn.
    most_steps : int
        Up to so many steps the smoothing is one product with a matrix; of longer series, sums of neighbours.
    most_cells : int
        On larger series a regression from so few answers costs more than it tells.
    most_added : int
        Cells that a rebuilt change may have beside what it keeps.
    unlimited : float
        Units that stand for a limit where the settings take it away.
    """

    memory: int = 256
    enough: int = 64
    half_window: int = 4
    smoothness: float = 4.0
    noise_of_labels: float = 0.7
    noise_of_scores: float = 0.2
    ridge: float = 0.1
    draws: int = 6
    most_steps: int = 1_000
    most_cells: int = 20_000
    most_added: int = 400
    unlimited: float = 10.0

    __repr__ = typed_back


class Promises(NamedTuple):
    """What the cells could do, for every draw of their effects.

    `effects` ``(draws, K * F)``; then the most promising cells of each draw ``(draws, m)``, those with most
    gain for their cost first: `order` says which, `move` is their change to the limit that helps, `gain` what
    it would add.
    """

    effects: NDArray[np.float32]
    order: NDArray[np.int64]
    move: NDArray[np.float32]
    gain: NDArray[np.float32]


class Surrogate:
    """Remembers answers about states of one problem."""

    def __init__(self, problem: Problem, tuning: SurrogateTuning) -> None:
        self.problem = problem
        self.space = problem.space
        self.tuning = tuning
        self._per_unit = (1 / self.space.units).astype(np.float32)
        self._states: list[NDArray[Any]] = []  # of the latest batches
        self._answers = np.empty(0)
        self._noise = tuning.noise_of_labels
        self._smoothing = (Smoother if self.space.n_steps <= tuning.most_steps else LongSmoother)(
            self.space.n_steps, tuning
        )

    @property
    def ready(self) -> bool:
        """Whether there is enough to regress on, from both sides of the boundary."""
        return len(self._answers) >= self.tuning.enough and bool(np.ptp(self._answers) > 0)

    def add(self, states: NDArray[Any], valid: NDArray[np.bool_], score: NDArray[np.float64] | None) -> None:
        """Remember the answers about states ``(n, K, F)``; the oldest are forgotten."""
        if self.space.original.size > self.tuning.most_cells:
            return
        answers = np.where(valid, 1.0, -1.0) if score is None else np.clip(4 * (score - 0.5), -1, 1)
        self._noise = self.tuning.noise_of_labels if score is None else self.tuning.noise_of_scores
        self._answers = np.concatenate([self._answers, answers])[-self.tuning.memory :]
        self._states.append(states)
        while sum(map(len, self._states[1:])) >= self.tuning.memory:
            del self._states[0]

    def _changes(self) -> NDArray[np.float32]:
        """How the states remembered differ from the original, in units ``(n, K, F)``."""
        ends = np.cumsum([len(states) for states in self._states])
        changes = np.empty((ends[-1], *self.space.original.shape), np.float32)
        for states, part in zip(self._states, np.split(changes, ends[:-1]), strict=True):
            np.subtract(states, self.space.original, out=part, dtype=np.float32, casting="same_kind")
        changes = changes[-self.tuning.memory :]
        changes *= self._per_unit
        return changes

    def effects(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """How much a unit of change in each cell moves the answer ``(draws, K * F)``."""
        draws, cells = self.tuning.draws, self._changes()
        # Features that no remembered state changes have no effect to estimate: most, where there are many.
        features = np.flatnonzero(cells.any(0).any(0))
        changes = cells[:, :, features]
        gram = self._smoothing.products(changes)
        gram = gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
        answers = self._answers + rng.normal(0, self._noise, (draws, len(self._answers)))
        answers -= answers.mean(1, keepdims=True)
        gram[np.diag_indices_from(gram)] += self.tuning.ridge * np.trace(gram) / len(gram) + 1e-6
        weights = np.linalg.solve(gram, answers.T.astype(np.float32)).T
        weights -= weights.mean(1, keepdims=True)
        summed = (weights @ changes.reshape(len(changes), -1)).reshape(draws, *changes.shape[1:])
        effects = np.zeros((draws, *cells.shape[1:]), np.float32)
        effects[:, :, features] = self._smoothing.smoothed(summed)
        return effects.reshape(draws, -1)

    def promises(self, rng: np.random.Generator) -> Promises:
        """What continuous cells that may be moved promise, others nothing."""
        space, objective, effects = self.space, self.problem.objective, self.effects(rng)
        units, original = np.tile(space.units, space.n_steps), space.original.ravel()
        free, most = (space.movable & ~space.discrete).ravel(), self.tuning.unlimited
        up = np.where(free, np.minimum((space.high.ravel() - original) / units, most), 0).astype(np.float32)
        down = np.where(free, np.minimum((original - space.low.ravel()) / units, most), 0).astype(np.float32)
        move: NDArray[np.float32] = np.where(effects > 0, up, -down)  # in units
        gain = effects * move
        worth = gain / (objective.of_units(move) + objective.price_of_cell + 1e-12).astype(np.float32)
        if worth.shape[1] > self.tuning.most_added:
            best = np.argpartition(-worth, self.tuning.most_added, axis=1)[:, : self.tuning.most_added]
            order = np.take_along_axis(best, np.argsort(-np.take_along_axis(worth, best, 1), axis=1), 1)
        else:
            order = np.argsort(-worth, axis=1)
        move = np.take_along_axis(move, order, 1) * units[order].astype(np.float32)
        return Promises(effects, order, move, np.take_along_axis(gain, order, 1))


class Smoother:
    """Adds to every step of a feature its moving average over time, taken twice: a product with a matrix ``(K, K)``."""

    def __init__(self, n_steps: int, tuning: SurrogateTuning) -> None:
        self.n_steps, self.tuning = n_steps, tuning

    @cached_property
    def _matrix(self) -> NDArray[np.float32]:
        distance = np.abs(np.subtract.outer(np.arange(self.n_steps), np.arange(self.n_steps)))
        average = (distance <= self.tuning.half_window).astype(np.float32)
        average /= average.sum(1, keepdims=True)
        return np.eye(self.n_steps, dtype=np.float32) + self.tuning.smoothness * average @ average.T

    @cached_property
    def _half(self) -> NDArray[np.float32]:
        """Its square root: the products of changes smoothed by it are half the work."""
        return np.linalg.cholesky(self._matrix).T

    def smoothed(self, cells: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cells ``(n, K, F)`` with every feature's steps mixed."""
        return self._matrix @ cells

    def products(self, cells: NDArray[np.float32]) -> NDArray[np.float32]:
        """Products ``(n, n)`` of cells ``(n, K, F)``, one of each pair smoothed."""
        half = (self._half @ cells).reshape(len(cells), -1)
        return half @ half.T


class LongSmoother(Smoother):
    """The same by sums of neighbouring steps, in memory and time that grow with K and not with its square."""

    @cached_property
    def _width(self) -> NDArray[np.float32]:
        """Steps that each step's moving average is of ``(K, 1)``."""
        return self._sums(np.ones((1, self.n_steps, 1), np.float32))[0]

    def smoothed(self, cells: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cells ``(n, K, F)`` with every feature's steps mixed."""
        average = self._sums(self._sums(cells / self._width)) / self._width
        average *= np.float32(self.tuning.smoothness)
        average += cells
        return average

    def products(self, cells: NDArray[np.float32]) -> NDArray[np.float32]:
        """Products ``(n, n)`` of cells ``(n, K, F)``, one of each pair smoothed."""
        products = self.smoothed(cells).reshape(len(cells), -1) @ cells.reshape(len(cells), -1).T
        return (products + products.T) / 2

    def _sums(self, cells: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum of each step ``(n, K, F)`` and its neighbours within half a window."""
        sums = cells.copy()
        for away in range(1, self.tuning.half_window + 1):
            sums[:, away:] += cells[:, :-away]
            sums[:, :-away] += cells[:, away:]
        return sums
