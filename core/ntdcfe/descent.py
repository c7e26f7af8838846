"""One counterfactual on its way down: what to ask about next, and what to make of the answers.

In one batch a descent shrinks pieces of its change and single cells, rebuilds the change from the cells that a
regression of recent answers finds most efficient, exchanges single cells for others, and tries together what held
one by one the last time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.environment import Environment
from ntdcfe.exchange import NOBODY, Exchanges, Trial
from ntdcfe.search import Outcome, Search
from ntdcfe.surrogate import Promises, rebuilt

# Kinds of proposals; a union is of what held one by one the last time, and what it wins is counted as shrinking.
KINDS = SHRUNK, REBUILT, EXCHANGED = 0, 1, 2
UNION = -1
# The share of each kind goes with its credit, within these limits: with what it won lately, and a little for nothing.
LEAST_SHARE, MOST_SHARE = np.array([0.2, 0.2, 0.5]), np.array([1.0, 0.6, 0.6])
FORGETTING, CREDIT_FOR_GAIN, CREDIT_FOR_NOTHING = 0.8, 20.0, 0.02
# More credit than this is not for nothing.
WON_LATELY = 1.5 * CREDIT_FOR_NOTHING / (1 - FORGETTING)
# A gain below this share of the cost is none.
GAIN = 0.003
# How many of what held one by one are tried together.
UNIONS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
# The share of shrinks that take single cells back, each by bisection.
SHARE_ALONE = 0.3
# How many times as many other shrinks are made as asked about: some have been asked about before.
SPARE = 1.5
# Shares of their reach that added cells are moved by: models of thresholds want little, linear ones all.
# All of it more often, until something else has won; of a row's few cells, little is never enough.
AMPLITUDES, AMPLITUDES_OF_ROWS = np.array([0.1, 0.25, 0.5, 0.75, 1.0, 1.0, 1.0]), np.array([0.5, 0.75, 1.0, 1.0])


def scaled(environment: Environment, base: NDArray[Any], ratio: NDArray[np.float64]) -> NDArray[Any]:
    """The change from the original to `base` times `ratio`; a discrete cell goes back below a half."""
    return _between(environment.original, base, ratio, environment.discrete)


def _between(
    original: NDArray[Any], base: NDArray[Any], ratio: NDArray[np.float64], discrete: NDArray[np.bool_]
) -> NDArray[Any]:
    number = ratio * (base - original)
    number += original
    if not discrete.any():
        return number
    return np.where(discrete, np.where(ratio < 0.5, original, base), number)


class Descent:
    """One counterfactual on its way down.

    Parameters
    ----------
    search : Search
    base : array (K, F)
        A valid state.
    cost : float
    exchanges : Exchanges, optional
        What other cells have done so far; without, cells are never exchanged.
    """

    def __init__(self, search: Search, base: NDArray[Any], cost: float, exchanges: Exchanges | None) -> None:
        self.search = search
        self.base, self.cost = base, cost
        self.stale = 0
        self._exchanges = exchanges
        self._unions = base[None][:0]
        self._credit = np.ones(len(KINDS))  # what each kind of proposal won lately
        self._step = np.ones(base.size)  # the share of its change that each cell is next asked to give up alone
        self._alone = np.empty(0, int)
        self._asked_of: NDArray[Any] | None = None
        self._amplitudes = AMPLITUDES if len(base) > 1 else AMPLITUDES_OF_ROWS
        self._amplitude_credit = np.ones(len(self._amplitudes))
        self._amplitude = np.empty(0, int)
        self._trial: Trial | None = None
        self._crowds = NOBODY  # exchanges under way
        self.kind = np.empty(0, int)  # of each state proposed last

    def propose(self, n: int, known: Promises | None) -> list[NDArray[Any]]:
        """About n states to ask about next, in blocks ``(m, K, F)``, rebuilt ones among them if promises are known."""
        rng = self.search.rng
        room = max(4, n - len(self._unions))
        possible = np.array([True, known is not None, self._exchanges is not None])
        share = np.clip(self._credit / self._credit.sum(), LEAST_SHARE, MOST_SHARE) * possible
        n_shrunk, n_rebuilt, n_exchanged = (room * share / share.sum()).astype(int)
        self._cells = np.flatnonzero(self.base != self.search.environment.original)
        blocks = [self._unions, self._times(self._shrinks(max(2, n_shrunk)))]
        self._amplitude, self._trial = self._amplitude[:0], None
        if known is not None:
            credit = self._amplitude_credit
            self._amplitude = rng.choice(len(credit), n_rebuilt, p=credit / credit.sum())
            amplitude = self._amplitudes[self._amplitude]
            blocks.append(rebuilt(self.search.environment, self.base, known, amplitude, rng))
        if self._exchanges is not None and n_exchanged:
            self._trial = self._exchanges.propose(self.base, n_exchanged, self._crowds, rng)
            blocks.append(self._trial.states)
        sizes = [len(blocks[0]), len(blocks[1]), len(self._amplitude), len(self._trial.states) if self._trial else 0]
        self.kind = np.repeat([UNION, SHRUNK, REBUILT, EXCHANGED], sizes)
        return blocks

    @property
    def rebuilds(self) -> bool:
        """Whether rebuilt changes have won lately, and their share."""
        of_all = LEAST_SHARE[REBUILT] * self._credit.sum()
        return bool(self._credit[REBUILT] > max(WON_LATELY, of_all))

    def learn(self, outcome: Outcome) -> None:
        """Move to the best of what was proposed; what held one by one is tried together next."""
        better = outcome.valid & (outcome.cost < self.cost - 1e-9)
        shrunk, rebuilt_ = (better[self.kind == kind] for kind in (SHRUNK, REBUILT))
        self._step[self._alone[~shrunk[: len(self._alone)]]] /= 2
        np.add.at(self._amplitude_credit, self._amplitude[rebuilt_], 1)
        if self._exchanges is not None and self._trial is not None:
            at = self.kind == EXCHANGED
            self._crowds = self._exchanges.learn(self._trial, outcome.valid[at], better[at])
        self._unions = self._joined(outcome, better & ((self.kind == SHRUNK) | (self.kind == EXCHANGED)))
        self._credit = FORGETTING * self._credit + CREDIT_FOR_NOTHING
        self.stale += 1
        if better.any():
            i = np.where(better, outcome.cost, np.inf).argmin()
            gain, kind = 1 - float(outcome.cost[i]) / self.cost, self.kind[i]
            self._credit[max(kind, SHRUNK)] += CREDIT_FOR_GAIN * gain
            if kind in (REBUILT, EXCHANGED):
                self._step[:] = 1.0
            if gain > GAIN:
                self.stale = 0
            self.base, self.cost = outcome.states[i], float(outcome.cost[i])

    def _shrinks(self, n: int) -> NDArray[np.float64]:
        """What to multiply the change by ``(n, cells)``, single cells first."""
        rng, shape = self.search.rng, self.base.shape
        if self.search.settings.shape == "to_end":
            return _suffix_shrinks(self._cells, shape, n, rng)
        single = self._singles(int(n * SHARE_ALONE))
        ratio = _shrinks(self._cells, shape, int((n - len(single)) * SPARE), rng)
        return np.concatenate([single, self._unasked(ratio, n - len(single))])

    def _unasked(self, ratio: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """The first n rows of `ratio` ``(m, cells)`` that have not been asked about since the last move."""
        if self._asked_of is not self.base:
            self._asked_of, self._asked = self.base, np.empty(0)
            self._mark = self.search.rng.random(len(self._cells))
        marks = ratio @ self._mark
        _, first = np.unique(marks, return_index=True)
        new = np.sort(first[~np.isin(marks[first], self._asked)])[:n]
        self._asked = np.concatenate([self._asked, marks[new]])
        return ratio[new]

    def _times(self, ratio: NDArray[np.float64]) -> NDArray[Any]:
        """The change with its cells multiplied by `ratio` ``(n, cells)``: states ``(n, K, F)``."""
        environment, cells = self.search.environment, self._cells
        states = np.repeat(environment.original.reshape(1, -1), len(ratio), axis=0)
        discrete = environment.discrete[cells % len(environment.discrete)]
        states[:, cells] = _between(environment.original.ravel()[cells], self.base.ravel()[cells], ratio, discrete)
        return states.reshape(-1, *self.base.shape)

    def _singles(self, n: int) -> NDArray[np.float64]:
        """What to multiply the change by ``(m, cells)``: one cell in each, those with most to give first.

        A cell is asked to give up all of its change; after a refusal, half as much as last time.
        """
        environment = self.search.environment
        change = np.abs(self.base - environment.original) / environment.units * environment.weights
        worth = self._step * np.where(environment.discrete, 0.0, change).ravel()
        self._alone = np.argsort(-worth, kind="stable")[: min(n, np.count_nonzero(worth))]
        ratio = np.ones((len(self._alone), len(self._cells)))
        ratio[np.arange(len(ratio)), np.searchsorted(self._cells, self._alone)] -= self._step[self._alone]
        return ratio

    def _joined(self, outcome: Outcome, held: NDArray[np.bool_]) -> NDArray[Any]:
        """The best 2, 3, 4, ... of what held, together, as far as they change different cells ``(m, K, F)``."""
        order = np.flatnonzero(held)
        order = order[np.argsort(outcome.cost[order], kind="stable")][: UNIONS[-1]]
        base = self.base.ravel()
        states = outcome.states[order].reshape(len(order), base.size)
        taken, together, unions = np.zeros(base.size, bool), base.copy(), []
        for state, cells in zip(states, states != base, strict=True):
            if not (taken & cells).any():
                taken |= cells
                together[cells] = state[cells]
                unions.append(together.copy())
        picked = sorted({min(size, len(unions)) - 1 for size in UNIONS}) if len(unions) > 1 else []
        return np.array([unions[i] for i in picked], base.dtype).reshape(len(picked), *self.base.shape)


def _shrinks(cells: NDArray[np.int64], shape: tuple[int, ...], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What to multiply the changes of `cells` by: nothing, or part, of a window, of features, or of random cells.

    `cells` are positions in a series of that shape ``(K, F)``; the result is ``(n, cells)``.
    """
    n_steps, n_features = shape
    steps, features = np.divmod(cells, n_features)
    step, feature = np.divmod(rng.choice(cells, n), n_features)
    # A window around a changed cell, of any order of magnitude, on one side or both, of one feature or all.
    width: NDArray[np.int64] = (n_steps ** rng.random(n)).astype(int) - (rng.random(n) < 0.5)
    first = step - np.where(rng.random(n) < 0.33, 0, width)
    last = step + np.where(rng.random(n) < 0.33, 0, width)
    in_time = (steps >= first[:, None]) & (steps <= last[:, None])
    in_features = (features == feature[:, None]) | (rng.random(n) < 0.15)[:, None]
    factor = np.where(rng.random(n) < 0.5, 0.0, 1 - 0.5 ** rng.uniform(0.3, 5, n))
    chosen = in_time & in_features
    # Or any subset: of the features, the more of them there are the likelier, or of the changed cells.
    kind = rng.random(n)
    of_features = kind < 0.3 * (1 - 1 / np.sqrt(len(np.unique(features))))
    of_cells = ~of_features & (kind > 0.75)
    subset = rng.random((of_features.sum(), n_features)) < rng.random(of_features.sum())[:, None]
    chosen[of_features] = subset[:, features]
    chosen[of_cells] = rng.random((of_cells.sum(), len(cells))) < (rng.random(of_cells.sum()) ** 2)[:, None]
    return np.where(chosen, factor[:, None], 1.0)


def _suffix_shrinks(
    cells: NDArray[np.int64], shape: tuple[int, ...], n: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Like `_shrinks`, but what is left of a feature's change still holds to the end: start later, or be weaker."""
    n_steps, n_features = shape
    steps, features = np.divmod(cells, n_features)
    changed, first = np.unique(features, return_index=True)  # cells are in order of time
    picked = rng.integers(0, len(changed), n)
    start = steps[first[picked]]
    later = start + (n_steps - start) ** rng.random(n)
    factor = np.where(rng.random(n) < 0.3, 0.0, 1 - 0.5 ** rng.uniform(0.3, 7, n))[:, None]
    change = np.where((rng.random(n) < 0.5)[:, None], np.where(steps < later[:, None], 0.0, 1.0), factor)
    in_features = (features == changed[picked, None]) | (rng.random(n) < 0.15)[:, None]
    return np.where(in_features, change, 1.0)
