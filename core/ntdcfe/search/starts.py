"""First finds: shifts of a feature from a step to the end; where they do nothing, many features at once."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.space import Space
from ntdcfe.search.base import Answer, Asks, Search

if TYPE_CHECKING:
    from ntdcfe.search.agent import Agent


@dataclass(frozen=True, repr=False)
class StartTuning:
    """Numbers of the first finds; rules of thumb where nothing else is said.

    Parameters
    ----------
    probe_strength : float
        Units that the probe shifts features by.
    features_a_group : int
        Of many features, one in so many is shifted at once.
    stretched, stretches : float, tuple of float
        Of many features at once, the share that is stretched about its mean, and by what.
    swinging : float
        The share that is made to swing.
    swings_from : float
        Waves are far from a series that is still, so shifts come first: the multiple of `probe_strength` beyond
        which waves are tried.
    built_upon : float
        The share that builds upon the best so far, where a score tells which that is.
    """

    probe_strength: float = 2.0
    features_a_group: int = 24
    stretched: float = 0.375
    stretches: tuple[float, ...] = (0.0, 0.1, 0.3, 0.6, 2.0)
    swinging: float = 0.125
    swings_from: float = 1.5
    built_upon: float = 0.5

    __repr__ = typed_back


def probe(search: Search, agent: Agent) -> Asks:
    """One batch of shifts of a feature (a few, where there are many) from a step to the end.

    A warm start: the policy learns from it as from episodes of one intervention.
    """
    space, rng, n, tuning = search.space, search.rng, search.budget.batch_size, search.settings.tuning.starts
    movable = agent.features
    width = max(1, round(len(movable) / tuning.features_a_group))
    group = rng.random((n, len(movable))).argsort(1)[:, :width]
    moved = np.zeros((n, len(space.features)), bool)
    np.put_along_axis(moved, movable[group], True, 1)
    start = _starts(space, n, rng)
    strength = rng.choice([-1.0, 1.0], n) * rng.choice([0.5, 1.0], n) * tuning.probe_strength
    outcome = yield from search.ask(_shifted(space, start, moved, strength[:, None], rng))
    if search.settings.learn:
        gain = outcome.valid / (1 + outcome.cost / outcome.cost.max(initial=1e-12))
        if outcome.score is not None:
            gain = gain + outcome.score
        continuous = ~space.discrete[movable[group[:, 0]]]  # the value of a discrete feature is not recorded
        originals = np.broadcast_to(space.original, outcome.states[continuous].shape)
        first = group[:, 0][continuous]
        agent.learn(
            [agent.experience(originals, start[continuous], first, strength[continuous])], gain[continuous]
        )


def _starts(space: Space, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Steps to act from ``(n,)``, early ones more often: a change that holds longer finds more."""
    steps = np.flatnonzero(space.movable.any(1))
    return steps[(rng.random(n) ** 2 * len(steps)).astype(int)]


def _shifted(
    space: Space,
    start: NDArray[np.int64],
    moved: NDArray[np.bool_],
    strength: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """The original with features `moved` ``(n, F)`` shifted by `strength` units from `start`; discrete ones set."""
    cells = (np.arange(space.n_steps) >= start[:, None])[:, :, None] & moved[:, None, :]
    shifted = space.original + (strength * space.units)[:, None, :]
    for i, choices in enumerate(space.choices):
        if choices is not None:
            shifted[..., i] = rng.choice(choices, len(start))[:, None]
    return np.where(cells, shifted, space.original)


class Best(NamedTuple):
    """The state ``(K, F)`` that came nearest so far, and its score."""

    state: NDArray[Any]
    score: float


def many_at_once(search: Search, strength: float, best: Best) -> Generator[NDArray[Any], Answer, Best]:
    """Many features together, for when single interventions reach nothing: shifted, stretched or made to swing.

    Half of them start from the best of such states so far, where a score tells which that is.
    """
    space, rng, n, tuning = search.space, search.rng, search.budget.batch_size, search.settings.tuning.starts
    shape = (n, len(space.features))
    moved = rng.random(shape) < rng.choice([0.25, 0.5, 1.0], n)[:, None]
    sign = np.where(rng.random(shape) < rng.choice([0.0, 0.5, 1.0], n)[:, None], -1.0, 1.0)
    size = strength * rng.choice([0.5, 1.0], n)[:, None]
    built_upon = np.isfinite(best.score) & (rng.random(n) < tuning.built_upon)
    # The best state is near the target already, so smaller steps are tried from it.
    size[built_upon] = tuning.probe_strength * rng.choice([0.1, 0.3, 1.0], (built_upon.sum(), 1))
    start = _starts(space, n, rng)
    proposals = _shifted(space, start, moved, sign * size, rng)
    base = np.where(built_upon[:, None, None], best.state, space.original)
    changed = proposals != space.original
    free = changed & ~space.discrete
    proposals = np.where(free, proposals - space.original + base, np.where(changed, proposals, base))
    if space.n_steps > 1:
        # No shift makes a feature vary less, or more.
        kind = rng.random(n)[:, None, None]
        centre = base.mean(1, keepdims=True)
        ratio = rng.choice((*tuning.stretches, strength), n)[:, None, None]
        stretched = free & (kind < tuning.stretched) & (base != centre)  # a constant feature cannot be stretched
        proposals = np.where(stretched, centre + ratio * (base - centre), proposals)
        search.budget.look_at_clock()
        # Only a wave makes a constant feature vary.
        swinging = tuning.swinging if strength > tuning.probe_strength * tuning.swings_from else 0.0
        rows = np.flatnonzero(kind > 1 - swinging)
        swings = (size[rows] * space.units)[:, None] * _waves(n, space.n_steps, shape[1], rng, rows)
        proposals[rows] = np.where(free[rows], base[rows] + swings, proposals[rows])
    outcome = yield from search.ask(proposals)
    # A score that is the same everywhere, as of labels in one-hot columns, tells nothing.
    if outcome.score is None or outcome.score.max() <= max(best.score, outcome.score.min()):
        return best
    first = int(outcome.score.argmax())
    return Best(outcome.states[first].copy(), float(outcome.score[first]))


def _waves(
    n: int, n_steps: int, n_features: int, rng: np.random.Generator, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Sines ``(m, K, F)`` for m `rows` of n: each has a period, from two steps to all of them, and its phases."""
    period, phase = 2 * (n_steps / 2) ** rng.random((n, 1, 1)), rng.random((n, 1, n_features))
    turns = np.arange(n_steps)[:, None] / period[rows] + phase[rows]
    return np.sin(2 * np.pi * turns)
