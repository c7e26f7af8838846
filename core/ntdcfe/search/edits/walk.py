"""The walk over edits: from what was found to few edits that hold.

Every row that it asks about is disturbed by noise. A list that reaches the target once waits for a sequential test
with fresh draws; those that pass are built upon by the moves.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edits import NONE, EditLists, Editor
from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.survival import Survival
from ntdcfe.search.base import Answer, Asks, Found, Search
from ntdcfe.search.edits.moves import EDIT_MOVES
from ntdcfe.search.edits.tested import Tested, Tests, cheapest


@dataclass(frozen=True, repr=False)
class WalkTuning:
    """Numbers of the walk; chosen on ERing, NATOPS, Japanese Vowels and Basic Motions.

    Parameters
    ----------
    share_of_tests : float
        The most of a batch that goes into tests.
    draws_of_best : int
        The best list is drawn again so often in every batch.
    spare : int
        How many times as many lists are made as asked about: most cost more than those that they come from.
    preference, slow_preference : float
        How much less often each next of the lists that passed is built upon, and before the tests begin.
    starts : int
        Valid states that are turned into edits.
    least_descent, descending : float, int
        Before the tests begin, lists that reached the target once are built upon: until a batch makes the best less
        than so much cheaper, from so many of the cheapest.
    most_bold, bold_batches : int
        Few edits of the known ones, much stronger: at most so many in a list, and how many batches of such lists.
    most_random, strength : int, float
        Random lists that the walk starts from as well: the most edits of one, and how many units they move by at most.
    strengths : tuple of float
        By what the edits of the starts are multiplied: stronger ones are surer to hold.
    memory, gain_before, least_chance : float
        How much of the moves' record is kept from batch to batch, the gain that they are taken to have made before
        anything is known, and the least chance of each.
    sturdier : tuple of float
        By what the edits of the sturdiest answer may be stronger than those of the simplest.
    sturdy_factor, sturdy_draws : float, int
        How many times the noise the sturdiest answer has to withstand, and the draws of its test.
    """

    share_of_tests: float = 0.6
    draws_of_best: int = 4
    spare: int = 4
    preference: float = 0.6
    slow_preference: float = 0.85
    starts: int = 24
    least_descent: float = 0.1
    descending: int = 12
    most_random: int = 4
    most_bold: int = 10
    bold_batches: int = 2
    strength: float = 3.0
    strengths: tuple[float, ...] = (0.1, 0.2, 0.35, 0.6, 1.0, 1.6)
    memory: float = 0.9
    gain_before: float = 0.3
    least_chance: float = 0.02
    sturdier: tuple[float, ...] = (1.0, 1.1, 1.25, 1.5, 2.0)
    sturdy_factor: float = 5.0
    sturdy_draws: int = 20

    __repr__ = typed_back


class Walk:
    """The walk of one search.

    Parameters
    ----------
    search : Search
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self.tuning = search.settings.tuning.walk
        # A generator of its own, so that the search for the nearest asks the same with and without a walk.
        self.rng = np.random.default_rng([search.seed, 1])
        self.editor = Editor(search.space)
        self.survival = search.settings.survival or Survival(noise=0.0, at_least=1.0)
        noisy = self.survival.noise > 0 or self.survival.late > 0
        self.tests = Tests(search.settings.tuning.tests, self.survival.at_least if noisy else 1.0)
        self.factor = search.settings.tuning.tests.factor
        self._moves = [move(self.editor) for move in EDIT_MOVES]
        self._prior = np.array([move.chance for move in self._moves])
        self._gain, self._tried = self.tuning.gain_before * self._prior, np.full(len(self._moves), 1.0)
        self._gain /= self._prior.sum()

    def steps(self) -> Asks:
        """Walk until the budget of this phase is used up."""
        yield from self._start()
        yield from self._come_down()
        while self.search.left() and (self.tests.passed or self.tests.waiting or self._found):
            yield from self._step()

    def simplest(self) -> list[Found]:
        """The lists that passed, the cheapest first; else those that held most often."""
        rest = sorted(self.tests.waiting, key=lambda t: (-t.held / t.draws, t.cost))
        return [Found(t.state, t.edits) for t in [*self.tests.passed, *rest[: 1 if self.tests.passed else 3]]]

    def sturdiest(self) -> Generator[NDArray[Any], Answer, list[Found]]:
        """Lists that withstand much more noise, the cheapest first: those that passed, and stronger ones."""
        passed = self.tests.passed or self._found[:2]
        if not passed:
            return []
        base = EditLists.concatenate([t.edits for t in passed])
        lists, states, cost = self._lists(
            EditLists.concatenate([self._strengthened(base, ratio) for ratio in self.tuning.sturdier])
        )
        order = np.argsort(cost, kind="stable")[: self.search.budget.batch_size // self.tuning.sturdy_draws * 2]
        held = np.zeros(len(order), int)
        n = max(1, self.search.budget.batch_size // self.tuning.sturdy_draws)
        for start in range(0, len(order), n):
            rows = order[start : start + n]
            if not self.search.left() and start:
                break
            copies = np.repeat(states[rows], self.tuning.sturdy_draws, axis=0)
            noisy = self.survival.disturbed(self.search.space, copies, self.rng, self.tuning.sturdy_factor)
            reached = yield from self._ask(noisy)
            held[start : start + n] = reached.reshape(len(rows), -1).sum(1)
        enough = held >= self.survival.at_least * self.tuning.sturdy_draws
        best = sorted(range(len(order)), key=lambda i: (not enough[i], cost[order[i]] if enough[i] else -held[i]))
        return [Found(states[order[i]], lists.take(slice(order[i], order[i] + 1)).packed()) for i in best[:3]]

    def _disturbed(self, states: NDArray[Any], copies: int = 1) -> NDArray[Any]:
        repeated = np.repeat(states, copies, axis=0) if copies > 1 else states
        return self.survival.disturbed(self.search.space, repeated, self.rng, self.factor)

    def _ask(self, states: NDArray[Any]) -> Generator[NDArray[Any], Answer, NDArray[np.bool_]]:
        """Which of the states ``(n, K, F)`` reach the target ``(n,)``, as they are."""
        self.search.budget.proposed += len(states)
        answer = yield states
        return answer.reached

    def _lists(self, lists: EditLists) -> tuple[EditLists, NDArray[Any], NDArray[np.float64]]:
        """Lists with numbers that a person would write, their states ``(n, K, F)`` and their costs ``(n,)``."""
        lists = self.editor.rounded(lists)
        states = self.editor.states(lists)
        cost = self.search.objective.cost_of_edits(states, lists.n_edits)
        cost[self.editor.capped(lists)] = np.inf
        return lists, states, cost

    def _wait(self, lists: EditLists, states: NDArray[Any], cost: NDArray[np.float64], reached: NDArray[Any]) -> None:
        """Lists that reached the target once wait for a test."""
        rows = np.flatnonzero(reached)
        cost = cost.copy()
        cost[rows] *= self.search.strangeness(states[rows])
        for i in rows:
            row = lists.take(slice(i, i + 1)).packed()
            self.tests.waiting.append(Tested(float(cost[i]), row, states[i].copy(), 1, 1))

    def _start(self) -> Asks:
        """Edits like the changes of states that are valid, and single random edits."""
        pool, n = self.search.pool, self.search.budget.batch_size
        entries = [entry.state for entry in pool.niches()] + pool.states
        known = list({state.tobytes(): state for state in entries}.values())[: self.tuning.starts]
        parts = [self._random(n, 1), self._random(n, self.tuning.most_random)]
        if known:
            like = self.editor.from_states(np.array(known))
            parts = [self._strengthened(like, ratio) for ratio in self.tuning.strengths] + parts
            parts.append(self._bold(like, self.tuning.bold_batches * n))
        lists, states, cost = self._lists(EditLists.concatenate(parts))
        said = np.flatnonzero(np.isfinite(cost))
        lists, states, cost = lists.take(said), states[said], cost[said]
        for start in range(0, len(cost), n):
            rows = slice(start, start + n)
            reached = yield from self._ask(self._disturbed(states[rows]))
            self._wait(lists.take(rows), states[rows], cost[rows], reached)
        self._found = sorted(self.tests.waiting, key=lambda tested: tested.cost)

    def _come_down(self) -> Asks:
        """Take what reached the target once for granted, as long as that makes the best much cheaper.

        Far from the boundary a test would only cost time; the tests begin where it gets close.
        """
        tests, gain = self.tests, 1.0
        while self.search.left() and tests.waiting and gain > self.tuning.least_descent:
            tests.waiting = sorted(tests.waiting, key=lambda tested: tested.cost)[: tests.tuning.kept]
            best = tests.waiting[0].cost
            bases = cheapest(tests.waiting, self.tuning.descending, tests.tuning.of_a_set)
            lists, states, cost, moves, gains = self._mutants(bases, self._size, self.tuning.slow_preference)
            reached = yield from self._ask(self._disturbed(states))
            self._wait(lists, states, cost, reached)
            self._credit(moves, gains * reached)
            gain = 1 - min(t.cost for t in tests.waiting) / best
        self._found = sorted(tests.waiting, key=lambda tested: tested.cost)

    @property
    def _size(self) -> int:
        return self.search.budget.batch_size

    def _random(self, n: int, most: int) -> EditLists:
        """n lists of one to `most` random edits."""
        lists = EditLists.empty(n, most)
        count = self.rng.integers(1, most + 1, n)
        for place in range(most):
            lists.put(count > place, np.full(n, place), self.editor.draw(n, self.tuning.strength, self.rng))
        return lists

    def _bold(self, lists: EditLists, n: int) -> EditLists:
        """n lists of a few of the edits of known ones, in long windows and much stronger: directions are known."""
        rng, steps, most = self.rng, self.editor.steps, self.tuning.most_bold
        lists = lists.take(rng.integers(0, len(lists.kind), n)).copy()
        rank = np.where(lists.kind >= 0, rng.random(lists.kind.shape), 2.0).argsort(1).argsort(1)
        kept = (lists.kind >= 0) & (rank < rng.integers(1, most + 1, n)[:, None])
        lists = lists._replace(kind=np.where(kept, lists.kind, NONE).astype(np.int8))
        strength = rng.uniform(0.2, self.tuning.strength, n)
        for place in range(lists.kind.shape[1]):
            at = np.full(n, place)
            edit = lists.at(at)
            whole = rng.random(n) < 0.7
            edit = edit._replace(
                first=np.where(whole, steps[0], edit.first), last=np.where(whole, steps[-1], edit.last)
            )
            change = np.sign(self.editor.changed_by(edit)) * strength * self.editor.units[edit.feature]
            bold = self.editor.of_kind(edit, edit.kind, change)
            lists.put((edit.kind >= 0) & ~self.editor.space.discrete[edit.feature], at, bold)
        return lists.packed()

    def _strengthened(self, lists: EditLists, ratio: Any) -> EditLists:
        """All edits of each list with their effects multiplied by `ratio`, one number or one a list ``(n,)``."""
        lists, n = lists.copy(), len(lists.kind)
        for place in range(lists.kind.shape[1]):
            at = np.full(n, place)
            stronger = self.editor.weakened(lists.at(at), np.broadcast_to(ratio, n))
            lists.put(lists.kind[:, place] >= 0, at, stronger)
        return lists

    def _step(self) -> Asks:
        """One batch: tests, draws of the best, and proposals."""
        tests, n = self.tests, self.search.budget.batch_size
        tested = tests.next(int(self.tuning.share_of_tests * n))
        best = tests.passed[:1] if self.factor and len(tests.stages) > 1 else []
        counts = [tests.missing(t) for t in tested] + [self.tuning.draws_of_best] * len(best)
        rows = [self._draws(t, count) for t, count in zip([*tested, *best], counts, strict=True)]
        lists, states, cost, moves, gain = self._proposals(max(8, n - sum(counts)))
        reached = yield from self._ask(np.concatenate([*rows, self._disturbed(states)]))
        ends = np.cumsum([0, *counts])
        for t, start, end in zip([*tested, *best], ends, ends[1:], strict=False):
            t.count(reached[start:end])
        for t in tested:
            tests.judge(t)
        self._wait(lists, states, cost, reached[ends[-1] :])
        self._credit(moves, gain * reached[ends[-1] :])
        tests.sort()

    def _draws(self, tested: Tested, count: int) -> NDArray[Any]:
        """Disturbed copies of a list's state, in its first test the state itself among them."""
        states = self._disturbed(tested.state[None], count)
        if tested.draws <= 1:
            states[0] = tested.state
        return states

    def _proposals(
        self, n: int
    ) -> tuple[EditLists, NDArray[Any], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
        """Up to n lists that cost less than those that they come from; stronger ones while none has passed.

        Beside lists, states and costs: the moves that made them, and by what share they are cheaper.
        """
        bases = self.tests.bases
        if bases:
            return self._mutants(bases, n, self.tuning.preference)
        base = EditLists.concatenate([t.edits for t in self._found[:60]])
        picked = base.take(self.rng.integers(0, len(base.kind), n))
        lists, states, cost = self._lists(self._grown(picked))
        return lists, states, cost, np.empty(0, int), np.zeros(n)

    def _mutants(
        self, passed: list[Tested], n: int, preference: float
    ) -> tuple[EditLists, NDArray[Any], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
        """Up to n lists that cost less than those of `passed` that they come from; the cheapest are taken most."""
        rng = self.rng
        base = EditLists.concatenate([t.edits for t in passed])
        chance = preference ** np.arange(len(passed))
        # Of very large series fewer are made: their states have to fit into memory, and take seconds.
        room = 2 * self.search.settings.tuning.budget.values_in_a_batch // (n * self.search.space.original.size)
        pick = rng.choice(len(passed), n * min(self.tuning.spare, max(1, room)), p=chance / chance.sum())
        rate = self._gain / self._tried
        rate = np.maximum(rate / rate.sum(), self.tuning.least_chance)
        move = rng.choice(len(self._moves), len(pick), p=rate / rate.sum())
        parts, order = [], []
        for which in np.unique(move):
            rows = np.flatnonzero(move == which)
            lists = base.take(pick[rows]).copy()
            place = (rng.random(len(rows)) * np.maximum(lists.n_edits, 1)).astype(int)
            others = base.take(rng.integers(0, len(base.kind), len(rows)))
            parts.append(self._moves[which].propose(lists, place, others, rng))
            order.append(rows)
        at = np.concatenate(order)
        lists, states, cost = self._lists(EditLists.concatenate(parts).packed())
        before = np.array([t.cost for t in passed])[pick[at]]
        changed = (states != self.search.space.original).any((1, 2))
        better = np.flatnonzero((cost < before - 1e-9) & changed)  # what cannot be said costs infinitely much
        chosen = rng.permutation(better)[:n]
        return lists.take(chosen), states[chosen], cost[chosen], move[at][chosen], 1 - cost[chosen] / before[chosen]

    def _credit(self, moves: NDArray[np.int64], gain: NDArray[np.float64]) -> None:
        """Adaptive operator selection: moves are made as often as they gain, by what reached the target once."""
        if len(moves):
            self._gain *= self.tuning.memory
            self._tried *= self.tuning.memory
            np.add.at(self._gain, moves, gain)
            np.add.at(self._tried, moves, 1.0)

    def _grown(self, lists: EditLists) -> EditLists:
        """Stronger edits in longer windows."""
        rng, steps, n = self.rng, self.editor.steps, len(lists.kind)
        lists = self._strengthened(lists, rng.uniform(1.0, 2.5, n))
        more = np.where(rng.random(n) < 0.6, rng.uniform(0, 0.7, n), 0.0)[:, None]
        by = np.ceil((lists.last - lists.first + 1) * more).astype(int)
        first, last = np.maximum(lists.first - by, steps[0]), np.minimum(lists.last + by, steps[-1])
        return lists._replace(first=first, last=last)
