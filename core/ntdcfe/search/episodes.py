"""Episodes of the policy: many at once, an update after each round, larger steps while nothing succeeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ntdcfe.problem.reprs import typed_back
from ntdcfe.search.base import Asks, Search
from ntdcfe.search.novelty import explore
from ntdcfe.search.starts import Best, many_at_once

if TYPE_CHECKING:
    from ntdcfe.search.agent import Agent


@dataclass(frozen=True, repr=False)
class EpisodeTuning:
    """Numbers of the episodes; rules of thumb where nothing else is said.

    Parameters
    ----------
    share : float
        Share of the budget for episodes once something is found; while nothing is, they get all of it.
    step_growth, largest_step : float
        After a step at which no episode succeeded a policy that learns takes steps so many times as large, up to
        the second number, beyond which all of them end at a limit.
    steps_without_success : int
        Of labels that never change there is no more to learn: a round ends after so many such steps.
    growth, rounds_before_widening, widening : float, int, float
        After a round without success many features are moved so much further at once; after every so many rounds
        the reach grows by `widening`, too.
    most_widening : float
        The most that it grows at once, where the values of a regressor tell how far there is to go.
    more_starts : int
        A find that was hard to come by and is the only one of its kind may lead nowhere: so many batches more look
        for another (measured on Heartbeat KNN).
    """

    share: float = 0.2
    step_growth: float = 1.5
    largest_step: float = 60.0
    steps_without_success: int = 3
    growth: float = 1.5
    rounds_before_widening: int = 2
    widening: float = 2.0
    most_widening: float = 32.0
    more_starts: int = 4

    __repr__ = typed_back


class Episodes:
    """Plays episodes with an agent and lets it learn.

    Parameters
    ----------
    search : Search
    agent : Agent
    free : bool
        Whether states need not come from the user's own transition.
    """

    def __init__(self, search: Search, agent: Agent, free: bool = True) -> None:
        self.search = search
        self.agent = agent
        self.free = free
        self.tuning = search.settings.tuning.episodes
        self.scale = 1.0
        """What the policy's strengths are multiplied by, in units."""

    def rounds(self) -> Asks:
        """Rounds of episodes; while nothing is found, many features at once, and a reach that grows."""
        search, settings, pool, tuning = self.search, self.search.settings, self.search.pool, self.tuning
        strength, successes, failures = settings.tuning.starts.probe_strength, 0, 0
        best = Best(search.space.original, -np.inf)
        while successes < settings.updates:
            if not search.left(tuning.share if len(pool) and settings.refine else 1.0):
                break
            yield from self.play()
            if len(pool):
                successes += 1
                for _ in range(tuning.more_starts if self.free and failures else 0):
                    if len(pool.niches()) == 1 and search.left():
                        yield from many_at_once(search, strength, best)
                continue
            failures += 1
            strength *= tuning.growth
            if self.free:
                best = yield from many_at_once(search, strength, best)
                yield from explore(search)
            if failures % tuning.rounds_before_widening == 0:
                factor = self._widening(best.score)
                search.space.limits.widen(factor)
                strength *= factor / tuning.widening

    def _widening(self, score: float) -> float:
        """How many times as far features may go after rounds without success, by the best score that these had.

        A regressor's tells how far there is to go: where features went as far as they may and its value came a tenth
        of the way, ten times as far is tried. A series that is all but still, whose own deviation is no measure of what
        matters to the model, would else take all rows to get there.
        """
        tuning = self.tuning
        if not self.search.of_values or not score > 0:
            return tuning.widening
        return float(np.clip(0.5 / score, tuning.widening, tuning.most_widening))

    def play(self) -> Asks:
        """One round: every episode acts until it is valid or out of interventions; then the agent learns."""
        search, settings, space, tuning = self.search, self.search.settings, self.search.space, self.tuning
        n = min(settings.episodes, search.budget.batch_size)
        states = np.repeat(space.original[None], n, axis=0)
        alive, last_score = np.arange(n), np.zeros(n)
        record = []
        for t in range(settings.max_interventions):
            intervention, experience = self.agent.act(states[alive], self.scale * space.units)
            proposals = search.problem.transition(states[alive], intervention, space.discrete)
            outcome = yield from search.ask(proposals, states[alive])
            states[alive] = outcome.states
            # A valid state is rewarded by its nearness to the best so far, a state on the way by a rising score.
            best = search.pool.best_cost if len(search.pool) else 1.0
            reward = outcome.valid * 2 / (1 + outcome.cost / best)
            if outcome.score is not None:
                reward = reward + outcome.score - (last_score[alive] if t else outcome.score.min())
                last_score[alive] = outcome.score
                if settings.learn and not len(search.pool):
                    # The score is reward enough: no need to wait for the end of the episode.
                    self.agent.learn([experience], reward)
            record.append((experience, reward, alive))
            if settings.learn and not len(search.pool):
                self.scale = min(tuning.largest_step, tuning.step_growth * self.scale)
                if outcome.score is None and t + 1 == tuning.steps_without_success:
                    break
            alive = alive[~outcome.valid]
            if not len(alive):
                break
        if settings.learn:
            gains, following = [], np.zeros(n)
            for _, reward, playing in reversed(record):
                following[playing] = reward + settings.discount * following[playing]  # G
                gains.append(following[playing].copy())
            self.agent.learn([entry[0] for entry in record], np.concatenate(gains[::-1]))
        search.report(1 - len(alive) / n)
