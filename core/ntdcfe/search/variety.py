"""Several ways in a row of a table: different sets of features, each without a needless change.

What reaches the target alone is tried part of the way, too, together with what does not reach it: "own a home and
earn 41" beside "earn 61". Each change of a way is taken back by itself, and its numbers are drawn in.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Answer, Outcome, Search
from ntdcfe.search.different import different, directions, needless
from ntdcfe.search.refine.scaling import scaled


@dataclass(frozen=True, repr=False)
class VarietyTuning:
    """Numbers of the search for several ways; rules of thumb, chosen on made-up tables (benchmarks/results/dice.md).

    Parameters
    ----------
    share : float
        The share of what is left of the budget for the nearest answers, once something is found.
    partly : tuple of float
        How far a change that reaches the target alone is made when others join it.
    most_parts : int
        Most changes that are put together.
    most_together : int
        Most features that are changed together.
    of_a_set : int
        How many states of one set of features are kept.
    more_batches : int
        How many batches there may be when those of the budget are used up, as long as there are rows.
    drawn_in : tuple of float
        To which shares of themselves the numbers of a way are drawn in, all together or each by itself.
    """

    share: float = 0.6
    partly: tuple[float, ...] = (0.5, 0.8)
    most_parts: int = 60
    most_together: int = 4
    of_a_set: int = 8
    more_batches: int = 3
    drawn_in: tuple[float, ...] = (0.25, 0.5, 0.7, 0.85, 0.95)

    __repr__ = typed_back


class Parts(NamedTuple):
    """Changes that do not reach the target alone: states ``(m, 1, F)`` and what they add to the score ``(m,)``."""

    states: NDArray[Any]
    gain: NDArray[np.float64]


def several(search: Search) -> Generator[NDArray[Any], Answer, list[NDArray[Any]]]:
    """As many different ways as are wanted, and some to spare, the most different first."""
    ways = Ways(search)
    # Beyond the batches that are left, a few: they are small, so that rows are left when the batches are used up.
    more = search.settings.tuning.variety.more_batches
    while search.left() or (more > 0 and search.budget.left(search.ceiling, found=False)):
        more -= not search.left()
        states = ways.proposed(search.budget.batch_size)
        if not len(states):
            break
        ways.note((yield from search.ask(states)))
    return ways.chosen(2 * search.settings.n_counterfactuals)


class Ways:
    """What is known of the ways to the target.

    Parameters
    ----------
    search : Search
        With something found.
    """

    def __init__(self, search: Search) -> None:
        self.search, self.space, self.tuning = search, search.space, search.settings.tuning.variety
        self.rng = np.random.default_rng([search.seed, 4])
        self.asked: set[bytes] = {self.space.original.tobytes()}
        self.valid: dict[bytes, tuple[float, NDArray[Any]]] = {}
        self._keep(np.array(search.pool.diverse(search.pool.keep)))
        self.parts = self._parts()
        self.bases = self.parts  # what is added to next

    def chosen(self, n: int) -> list[NDArray[Any]]:
        """Up to n ways, the most different first, each the least costly of its kind.

        Those of which it was not asked whether they hold with a change taken back come last.
        """
        states = self._least_costly()
        sure = self._sure(states)
        first = [states[sure][i] for i in different(self.search.problem, states[sure], n)]
        rest = different(self.search.problem, states, len(states))
        return [*first, *(states[i] for i in rest if not sure[i])][:n]

    def _sure(self, states: NDArray[Any]) -> NDArray[np.bool_]:
        """Which states ``(m, 1, F)`` change one feature, or were asked about with each change taken back ``(m,)``."""
        sure = np.array([not self._new(self._undone(state[None])) for state in states], bool)
        sure[(states != self.space.original).any(1).sum(1) == 1] = True
        return sure

    def _least_costly(self) -> NDArray[Any]:
        """Valid states ``(m, 1, F)``, the least costly first, few of each set of features."""
        sets: dict[bytes, int] = {}
        states = []
        for _, state in sorted(self.valid.values(), key=lambda entry: entry[0]):
            key = (state != self.space.original).tobytes()
            sets[key] = sets.get(key, 0) + 1
            if sets[key] <= self.tuning.of_a_set:
                states.append(state)
        return np.array(states).reshape(-1, *self.space.original.shape)

    def proposed(self, n: int) -> NDArray[Any]:
        """Up to n states ``(m, 1, F)`` that were not asked about: of what is chosen so far, and of new sets."""
        wanted, known = self.search.settings.n_counterfactuals, self._least_costly()
        chosen = known[different(self.search.problem, known, wanted)]
        taken = {(state != self.space.original).tobytes() for state in known[~needless(self.search.problem, known)]}
        sure = {(state != self.space.original).tobytes() for state in chosen[self._sure(chosen)]}
        new = self._new(self._undone(chosen))
        # As long as some of the chosen may turn out to have a needless change, others are looked for.
        together = list(self._new(self._together(n, taken)).items()) if len(sure) < wanted else []
        half = max(0, n - len(new)) // 2
        new |= dict(together[:half]) | self._new(self._drawn_in(chosen)) | dict(together[half:])
        return np.array(list(new.values())[:n]).reshape(-1, *self.space.original.shape)

    def _new(self, states: NDArray[Any]) -> dict[bytes, NDArray[Any]]:
        """Those of the states ``(m, 1, F)``, as the space allows them, that were not asked about, by their bytes."""
        allowed = self.space.project(states) if len(states) else states
        return {key: state for state in allowed if (key := state.tobytes()) not in self.asked}

    def note(self, outcome: Outcome) -> None:
        """Take answers in; what did not reach the target may be added to."""
        answers = self.search.answers
        # States beyond the budget were not asked about.
        self.asked |= {state.tobytes() for state in outcome.states if state in answers or not answers.reliable}
        self._keep(outcome.states[outcome.valid])
        changed = (outcome.states != self.space.original).any(1).sum(1)
        rows = np.flatnonzero(~outcome.valid & (changed < self.tuning.most_together))
        score = self.rng.random(len(rows)) if outcome.score is None else outcome.score[rows] - self.start
        best = np.argsort(-score, kind="stable")[: self.tuning.most_parts]
        states, gain = [self.parts.states, outcome.states[rows[best]]], [self.parts.gain, score[best]]
        self.bases = Parts(np.concatenate(states), np.concatenate(gain))

    def _keep(self, states: NDArray[Any]) -> None:
        plausible = self.search.problem.plausible
        if plausible is not None and len(states):
            states = states[plausible(states)]
        for state, cost in zip(states, self.search.objective.cost(states) if len(states) else (), strict=True):
            self.valid[state.tobytes()] = (float(cost), state)

    def _parts(self) -> Parts:
        """Single changes that do not reach the target, and part of those that do; the most promising of them."""
        space, singles, tuning = self.space, self.search.singles, self.tuning
        whole = [state for _, state in self.valid.values() if (state != space.original).any(0).sum() == 1]
        partly = [scaled(space, np.array(whole).reshape(-1, *space.original.shape), np.full((1, 1, 1), ratio))
                  for ratio in tuning.partly]  # fmt: skip
        self.start = 0.0
        states, gain = np.empty((0, *space.original.shape), space.dtype), np.empty(0)
        if singles is not None:
            states = singles.changes.states(np.flatnonzero(~singles.valid), space.original)
            gain = self.rng.random(len(states))
            if singles.score is not None:
                self.start = float(np.median(singles.score))  # most features do nothing alone
                gain = singles.score[~singles.valid] - self.start
                states, gain = states[gain > 0], gain[gain > 0]
        ratio = np.repeat(tuning.partly, len(whole))
        states = np.concatenate([states, space.project(np.concatenate(partly))])
        gain = np.concatenate([gain, ratio * (0.5 - self.start)])
        useful = np.array([s.tobytes() not in self.valid and (s != space.original).any() for s in states], bool)
        best = np.flatnonzero(useful)[np.argsort(-gain[useful], kind="stable")[: tuning.most_parts]]
        return Parts(states[best], gain[best])

    def _together(self, n: int, taken: set[bytes]) -> NDArray[Any]:
        """Two changes of different features together, whose set is not taken: about n states ``(m, 1, F)``.

        Of each way to change a set, what promises most, and the least costly of what promises enough.
        """
        bases, parts, original = self.bases, self.parts, self.space.original
        apart = ~((bases.states != original)[:, None] & (parts.states != original)).any((2, 3))
        base, part = np.nonzero(apart)
        if not len(base):
            return bases.states[:0]
        states = self.space.project(bases.states[base] + (parts.states[part] - original))
        promise = bases.gain[base] + parts.gain[part]
        open_ = [s.tobytes() not in self.asked and (s != original).tobytes() not in taken for s in states]
        states, promise = states[open_], promise[open_]
        cost = self.search.objective.cost(states)
        keys = [key.tobytes() for key in directions(self.space, states)]
        picked: dict[bytes, list[int]] = {}
        for i in np.argsort(-promise, kind="stable"):
            if len(picked) < n or keys[i] in picked:
                best = picked.setdefault(keys[i], [int(i), int(i)])
                if promise[i] > 0.5 - self.start and cost[i] < cost[best[1]]:
                    best[1] = int(i)
        rows = list(dict.fromkeys(i for pair in picked.values() for i in pair))
        return states[rows[:n]]

    def _undone(self, chosen: NDArray[Any]) -> NDArray[Any]:
        """The ways with one of their changed features as it was."""
        base, feature = np.nonzero((chosen != self.space.original).any(1))
        states = chosen[base]
        states[np.arange(len(base)), :, feature] = self.space.original[:, feature].T
        return states

    def _drawn_in(self, chosen: NDArray[Any]) -> NDArray[Any]:
        """The ways with their numbers nearer to what they were: all together, or one of them."""
        original, free = self.space.original, ~self.space.discrete
        out = [chosen[:0]]
        for state in chosen:
            moved = np.flatnonzero((state != original).any(0) & free)
            for some in [moved, *(moved[i : i + 1] for i in range(len(moved)) if len(moved) > 1)]:
                nearer = np.repeat(state[None], len(self.tuning.drawn_in), axis=0)
                ratio = np.array(self.tuning.drawn_in)[:, None, None]
                nearer[:, :, some] = original[:, some] + ratio * (state - original)[:, some]
                out.append(nearer)
        return np.concatenate(out)
