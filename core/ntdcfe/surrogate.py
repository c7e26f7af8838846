"""A local picture of the model near the boundary: which cells are worth changing.

A ridge regression of the latest answers on the changes that were asked about, smoothed over time
because neighbouring steps act alike. Its effects are drawn several times with noisy answers, so
that one batch tries different readings of the same evidence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment

# Answers looked back on, and how many make a regression worth its while.
MEMORY, ENOUGH = 256, 64
# Half-width of the moving average over time, and its weight beside the cell itself.
HALF_WINDOW, SMOOTHNESS = 4, 4.0
# Noise on answers (a score tells more than a label), ridge as a share of the mean diagonal, and draws.
NOISE_OF_LABELS, NOISE_OF_SCORES, RIDGE, DRAWS = 0.7, 0.2, 0.1, 6
# On larger series a regression from so few answers costs more than it tells.
MOST_CELLS = 20_000
# Cells that a rebuilt change may have beside what it keeps.
MOST_ADDED = 400
# Units that stand for a limit where the settings take it away.
UNLIMITED = 10.0


class Surrogate:
    """Remembers answers about states of one environment."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._per_unit = (1 / environment.units).astype(np.float32)
        self._states: list[NDArray[Any]] = []  # of the latest batches
        self._answers = np.empty(0)
        self._noise = NOISE_OF_LABELS
        self._smoother = _smoother(len(environment.original))
        # Its square root: the products of changes smoothed by it are half the work.
        self._half_smoother = np.linalg.cholesky(self._smoother).T

    @property
    def ready(self) -> bool:
        """Whether there is enough to regress on, from both sides of the boundary."""
        return len(self._answers) >= ENOUGH and bool(np.ptp(self._answers) > 0)

    def add(self, states: NDArray[Any], valid: NDArray[np.bool_], score: NDArray[np.float64] | None) -> None:
        """Remember the answers about states ``(n, K, F)``; the oldest are forgotten."""
        if self.environment.original.size > MOST_CELLS:
            return
        answers = np.where(valid, 1.0, -1.0) if score is None else np.clip(4 * (score - 0.5), -1, 1)
        self._noise = NOISE_OF_LABELS if score is None else NOISE_OF_SCORES
        self._answers = np.concatenate([self._answers, answers])[-MEMORY:]
        self._states.append(states)
        while sum(map(len, self._states[1:])) >= MEMORY:
            del self._states[0]

    def _changes(self) -> NDArray[np.float32]:
        """How the states remembered differ from the original, in units ``(n, K, F)``."""
        states = np.concatenate(self._states)[-MEMORY:]
        changes = np.subtract(states, self.environment.original, dtype=np.float32, casting="same_kind")
        changes *= self._per_unit
        return changes

    def effects(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """How much a unit of change in each cell moves the answer ``(DRAWS, K * F)``."""
        cells = self._changes()
        # Of a feature that no answer is about nothing can be told: most, where there are many.
        features = np.flatnonzero(cells.any(0).any(0))
        changes = cells[:, :, features]
        half = _smoothed(changes, self._half_smoother)
        gram = half @ half.T
        gram = gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean()
        answers = self._answers + rng.normal(0, self._noise, (DRAWS, len(self._answers)))
        answers -= answers.mean(1, keepdims=True)
        gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) / len(gram) + 1e-6
        weights = np.linalg.solve(gram, answers.T.astype(np.float32)).T
        weights -= weights.mean(1, keepdims=True)
        summed = (weights @ changes.reshape(len(changes), -1)).reshape(DRAWS, *changes.shape[1:])
        effects = np.zeros((DRAWS, *cells.shape[1:]), np.float32)
        effects[:, :, features] = _smoothed(summed, self._smoother).reshape(summed.shape)
        return effects.reshape(DRAWS, -1)


def _smoothed(cells: NDArray[np.float32], over_time: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cells ``(n, K, F)``, every feature's steps mixed as `over_time` ``(K, K)`` says, flat ``(n, K * F)``."""
    return (over_time @ cells).reshape(len(cells), -1)


def _smoother(n_steps: int) -> NDArray[np.float32]:
    """What adds to every step its moving average over time, taken twice ``(K, K)``."""
    distance = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    average = (distance <= HALF_WINDOW).astype(np.float32)
    average /= average.sum(1, keepdims=True)
    return np.eye(n_steps, dtype=np.float32) + SMOOTHNESS * average @ average.T


class Promises(NamedTuple):
    """What the cells could do, for every draw of their effects.

    `effects` ``(DRAWS, K * F)``; then the most promising cells of each draw ``(DRAWS, m)``, those with most
    gain for their cost first: `order` says which, `move` is their change to the limit that helps, `gain` what
    it would add.
    """

    effects: NDArray[np.float32]
    order: NDArray[np.int64]
    move: NDArray[np.float32]
    gain: NDArray[np.float32]


def promises(environment: Environment, effects: NDArray[np.float32]) -> Promises:
    """What continuous cells that may be moved promise; others nothing."""
    units, weights = environment.per_cell(environment.units), environment.per_cell(environment.weights)
    original = environment.original.ravel()
    free = (environment.movable & ~environment.discrete).ravel()
    up = np.where(free, np.minimum((environment.high.ravel() - original) / units, UNLIMITED), 0).astype(np.float32)
    down = np.where(free, np.minimum((original - environment.low.ravel()) / units, UNLIMITED), 0).astype(np.float32)
    move: NDArray[np.float32] = np.where(effects > 0, up, -down)  # in units
    gain = effects * move
    worth = gain / (weights * np.abs(move) + environment.sparsity_weight + 1e-12).astype(np.float32)
    if worth.shape[1] > MOST_ADDED:
        best = np.argpartition(-worth, MOST_ADDED, axis=1)[:, :MOST_ADDED]
        order = np.take_along_axis(best, np.argsort(-np.take_along_axis(worth, best, 1), axis=1), 1)
    else:
        order = np.argsort(-worth, axis=1)
    move = np.take_along_axis(move, order, 1) * units[order].astype(np.float32)
    return Promises(effects, order, move, np.take_along_axis(gain, order, 1))


def rebuilt(
    environment: Environment,
    base: NDArray[Any],
    known: Promises,
    amplitude: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Other changes that should do what that of `base` ``(K, F)`` does, for less ``(n, K, F)``.

    The most efficient part of the present change is kept; cells that promise most for their cost
    are added, at the share `amplitude` ``(n,)`` of their reach, until the regression says that the boundary is passed.
    Discrete cells are kept as they are.
    """
    change = (base - environment.original).ravel()
    cells = np.flatnonzero(change)
    change = change[cells]
    units, weights = (environment.per_cell(values)[cells] for values in (environment.units, environment.weights))

    # What each changed cell gives for its cost now, and its place among them.
    held = known.effects[:, cells] * (change / units)
    efficiency = held / (weights * np.abs(change) / units + environment.sparsity_weight)
    rank = np.argsort(np.argsort(-efficiency, axis=1), axis=1)

    n = len(amplitude)
    amplitude = amplitude[:, None]
    draw = rng.integers(0, len(held), n)
    kept = rank[draw] < (rng.choice([0.0, 0.3, 0.6, 0.8, 0.9], n) * len(cells))[:, None]
    kept |= environment.per_cell(environment.discrete)[cells]
    goal = np.maximum(held.sum(1), 1e-9)[draw] * rng.choice([0.9, 1.0, 1.1, 1.3, 1.6, 2.2], n)
    missing = goal - (held[draw] * kept).sum(1)

    order, at = known.order[draw], np.arange(n)[:, None]
    # Which of the promising cells are kept as they are: those that are not changed now never are.
    place = np.zeros(environment.original.size, int)
    place[cells] = np.arange(len(cells))
    changed = np.zeros(environment.original.size, bool)
    changed[cells] = True
    stays = kept[at, place[order]] & changed[order]
    gain = known.gain[draw] * amplitude * ~stays
    added = (np.cumsum(gain, 1) - gain < missing[:, None]) & (gain > 0)
    rows = np.repeat(environment.original.reshape(1, -1), n, axis=0)
    rows[at, order] += np.where(added, known.move[draw] * amplitude, 0.0).astype(rows.dtype)
    rows[:, cells] += np.where(kept, change, 0.0)
    return rows.reshape(n, *environment.original.shape)
