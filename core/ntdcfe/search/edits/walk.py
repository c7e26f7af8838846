"""The walk over edits: from what was found to few edits that hold.

Every row that it asks about is disturbed by noise. A list that reaches the target once waits for a sequential test
with fresh draws; those that pass are built upon by the moves.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.problem.survival import Noise, Survival
from ntdcfe.search.base import Answer, Asks, Found, Search
from ntdcfe.search.edits.draws import FEWEST_BROAD, Drawer
from ntdcfe.search.edits.prices import Priced, Prices
from ntdcfe.search.edits.proposals import Proposals, Proposed
from ntdcfe.search.edits.starts import at_strengths, band_lists, bold_lists, grown, random_lists
from ntdcfe.search.edits.tested import Tested, Tests, cheapest
from ntdcfe.search.edits.tidy import tidied
from ntdcfe.search.edits.tuning import MOST_VALUES


class Walk:
    """The walk of one search.

    Parameters
    ----------
    search : Search
    """

    def __init__(self, search: Search) -> None:
        settings = search.settings
        self.search, self.tuning = search, settings.tuning.walk
        # A generator of its own, so that the search for the nearest asks the same with and without a walk.
        self.rng = np.random.default_rng([search.seed, 1])
        kinds = ("shift", "set") if settings.shape == "to_end" else None
        self.editor = Drawer(search.space, search.problem.kinds, kinds)
        self.prices = Prices(search, self.editor)
        self.survival = settings.survival or Survival(noise=0.0, at_least=1.0)
        self.noise = Noise(self.survival, search.space, self.rng)
        tests, n = settings.tuning.tests, settings.n_counterfactuals
        tests = replace(tests, kept=min(tests.kept, max(20, MOST_VALUES // search.space.original.size)))
        if n > 1:  # several answers are to differ in what they change
            tests = replace(tests, elites=max(tests.elites, 4 * n))
        self.tests = Tests(tests, self.survival.at_least if self.survival.disturbs else 1.0, minimal=n > 1)
        self.factor = tests.factor
        self.proposals = Proposals(self.editor, self.prices.of, settings.tuning.proposals, self.rng, self.prices.inside)
        self._untested: list[Tested] = []

    def steps(self) -> Asks:
        """Walk until the budget of this phase is used up."""
        yield from self._start()
        yield from self._descend_untested()
        yield from self._test_and_build(self.tuning.features_open)
        self._settle_features()
        yield from self._test_and_build()

    def simplest(self) -> list[Found]:
        """The lists that passed, the cheapest first; else those that held most often."""
        passed, rest = self.tests.passed, sorted(self.tests.waiting, key=lambda t: (-t.held / t.draws, t.cost))
        if self.search.settings.n_counterfactuals > 1:
            first = cheapest(passed, len(passed), 1)
            passed = [*first, *(t for t in passed if t not in first)]
        return [tidied(self.editor, t.state, t.edits) for t in (passed or rest[:3])]

    def sturdiest(self) -> Generator[NDArray[Any], Answer, list[Found]]:
        """Lists that withstand much more noise, the cheapest first: those that passed, and stronger ones."""
        passed, tuning, size = self.tests.passed or self._untested[:2], self.tuning, self.search.budget.batch_size
        if not passed:
            return []
        base = EditLists.concatenate([t.edits for t in passed])
        priced = self.prices.of(at_strengths(self.editor, base, tuning.sturdier))
        n = max(1, size // tuning.sturdy_draws)
        priced = priced.take(np.argsort(priced.cost, kind="stable")[: 2 * n])
        held = np.zeros(len(priced.cost), int)
        for start in range(0, len(held), n):
            if start and not self.search.left():
                break
            copies = np.repeat(priced.states[start : start + n], tuning.sturdy_draws, axis=0)
            reached = yield from self._ask(self.noise.added(copies, tuning.sturdy_factor))
            held[start : start + n] = reached.reshape(-1, tuning.sturdy_draws).sum(1)
        enough = held >= self.survival.at_least * tuning.sturdy_draws
        best = sorted(range(len(held)), key=lambda i: (not enough[i], priced.cost[i] if enough[i] else -held[i]))
        return [tidied(self.editor, priced.states[i], priced.lists.take(slice(i, i + 1)).packed()) for i in best[:3]]

    def _ask(self, states: NDArray[Any]) -> Generator[NDArray[Any], Answer, NDArray[np.bool_]]:
        """Which of the states ``(n, K, F)`` reach the target ``(n,)``, as they are; of none, nothing is asked."""
        if not len(states):
            return np.zeros(0, bool)
        self.search.budget.proposed += len(states)
        answer = yield states
        return answer.reached

    def _queue(self, priced: Priced, reached: NDArray[Any]) -> None:
        """Lists that reached the target once wait for a test."""
        rows = np.flatnonzero(reached)
        states = priced.states[rows]
        self.tests.wait(self.prices.judged(states, priced.cost[rows]), priced.lists.take(rows), states)

    def _start(self) -> Asks:
        """Edits like the changes of states that are valid; in a series stronger ones, and random edits, too."""
        pool, tuning, n, editor = self.search.pool, self.tuning, self.search.budget.batch_size, self.editor
        entries = [entry.state for entry in pool.niches()] + pool.states
        known = list({state.tobytes(): state for state in entries}.values())[: tuning.starts]
        parts = []
        if known:
            like = editor.from_states(np.array(known))
            parts = [at_strengths(editor, like, tuning.strengths)]
        if self.search.space.n_steps > 1:
            parts += [random_lists(editor, n, most, tuning.strength, self.rng) for most in (1, tuning.most_random)]
            if known:
                bold = bold_lists(editor, like, tuning.bold_batches * n, tuning.most_bold, tuning.strength, self.rng)
                parts.append(bold)
        yield from self._try(EditLists.concatenate(parts))
        if self.search.settings.n_counterfactuals > 1:
            yield from self._try_others()
        yield from self._try_bands()
        self._untested = sorted(self.tests.waiting, key=lambda tested: tested.cost)

    def _try(self, lists: EditLists) -> Asks:
        """Ask about lists once each, the cheapest first; those that reach the target wait for a test."""
        n = self.search.budget.batch_size
        at_once = max(n, MOST_VALUES // self.search.space.original.size)  # bounds the memory of very large series
        for part in range(0, len(lists), at_once):
            priced = self.prices.of(lists.take(slice(part, part + at_once)))
            order = np.argsort(priced.cost, kind="stable")
            order = order[np.isfinite(priced.cost[order])]
            for start in range(0, len(order), n):
                if (part or start) and not self.search.left():
                    return
                some = priced.take(order[start : start + n])
                reached = yield from self._ask(self.noise.added(some.states, self.factor))
                self._queue(some, reached)

    def _try_others(self) -> Asks:
        """Random edits of features that do not reach the target alone: other answers are among them."""
        alone = {next(iter(t.features)) for t in self.tests.waiting if len(t.features) == 1}
        others = np.setdiff1d(self.editor.features, list(alone))
        if len(others):
            n, tuning = 2 * self.search.budget.batch_size, self.tuning
            yield from self._try(random_lists(self.editor, n, tuning.most_random, tuning.strength, self.rng, others))

    def _try_bands(self) -> Asks:
        """Where all that is known takes many edits, edits of many neighbouring features: group testing."""
        editor, tuning = self.editor, self.tuning
        best = min(self.tests.waiting, key=lambda tested: tested.cost, default=None)
        if (editor.runs[1][editor.features] >= FEWEST_BROAD).any() and (
            best is None or best.edits.n_edits[0] > tuning.most_bold
        ):
            n = tuning.band_batches * self.search.budget.batch_size
            yield from self._try(band_lists(editor, n, tuning.most_bands, tuning.strength, self.rng))

    def _descend_untested(self) -> Asks:
        """Build on lists that reached the target once, untested, while the best still gets much cheaper.

        Far from the boundary a test would only cost rows; the tests begin where it gets close.
        """
        tests, gain = self.tests, 1.0
        while self.search.left() and tests.waiting and gain > self.tuning.least_descent:
            tests.waiting = sorted(tests.waiting, key=lambda tested: tested.cost)[: tests.tuning.kept]
            best = tests.waiting[0].cost
            bases = cheapest(tests.waiting, self.tuning.descending, tests.tuning.of_a_set)
            made = self.proposals.cheaper(bases, self.search.budget.batch_size, self.tuning.slow_preference)
            reached = yield from self._ask(self.noise.added(made.priced.states, self.factor))
            self._queue(made.priced, reached)
            self.proposals.learn(made.moves, made.gain * reached)
            gain = 1 - min(t.cost for t in tests.waiting) / best if best > 0 else 0.0
        self._untested = sorted(tests.waiting, key=lambda tested: tested.cost)

    def _settle_features(self) -> None:
        """Where one answer is wanted: it changes no other features than the best now does, and has to be smooth."""
        tests, search = self.tests, self.search
        if tests.passed and search.settings.n_counterfactuals == 1 and search.objective.price_of_roughness:
            self.prices.settle(tests.passed[0].state)
            self.factor = tests.tuning.settled_factor
            tests.reprice(self.prices.again)

    def _test_and_build(self, share: float = 1.0) -> Asks:
        """Test and build upon what passes until that share of the budget is used up."""
        while self.search.left(share) and (self.tests.passed or self.tests.waiting or self._untested):
            yield from self._step()
            self.search.note(self.tests.best_cost if share == 1.0 else np.inf)

    def _step(self) -> Asks:
        """One batch: tests, draws of the best, and proposals."""
        tests, n = self.tests, self.search.budget.batch_size
        tested = tests.next(int(self.tuning.share_of_tests * n))
        best = tests.passed[:1] if len(tests.stages) > 1 else []
        drawn = [*tested, *best]
        counts = [tests.missing(t) for t in tested] + [self.tuning.draws_of_best] * len(best)
        made = self._proposals(max(8, n - sum(counts)))
        ends = np.cumsum([0, *counts])
        copies = np.repeat(np.array([t.state for t in drawn]).reshape(-1, *self.search.space.original.shape), counts, 0)
        states = np.concatenate([copies, made.priced.states])
        # Every third draw has the noise as it is set: what withstands stronger noise need not withstand that.
        factor = np.full(len(states), self.factor)
        factor[: ends[-1] : 3] = 1.0
        asked = self.noise.added(states, factor)
        # In its first test a list is asked about as it is, too.
        fresh = [i for i, t in enumerate(tested) if t.draws <= 1]
        asked[ends[fresh]] = copies[ends[fresh]]
        reached = yield from self._ask(asked)
        for t, start, end in zip(drawn, ends, ends[1:], strict=False):
            t.count(reached[start:end])
        for t in tested:
            tests.judge(t)
        self._queue(made.priced, reached[ends[-1] :])
        self.proposals.learn(made.moves, made.gain * reached[ends[-1] :] if len(made.moves) else made.gain)
        if failed := tests.sort():
            # In place of a list that no longer passes, stronger ones wait for a test.
            base = EditLists.concatenate([t.edits for t in failed])
            stronger = self.prices.of(at_strengths(self.editor, base, self.tuning.instead))
            self._queue(stronger, np.isfinite(stronger.cost))

    def _proposals(self, n: int) -> Proposed:
        """Up to n lists that cost less than those that they come from; stronger ones where there is none."""
        bases = self.tests.bases
        if bases and len((made := self.proposals.cheaper(bases, n, self.tuning.preference)).moves):
            return made
        base = EditLists.concatenate([t.edits for t in bases or self._untested[:60]])
        picked = base.take(self.rng.integers(0, len(base), n))
        return Proposed(self.prices.of(grown(self.editor, picked, self.rng)), np.empty(0, int), np.zeros(0))
