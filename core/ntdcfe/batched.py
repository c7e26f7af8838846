"""The default search: probe the model, learn from many episodes at once, refine what they find.

As in Algorithm 1 an episode is a chain of interventions from the original that ends at a valid
state; here `episodes` of them share every call to the model, and the policy is updated by a
clipped policy gradient with normalised advantages.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ntdcfe.environment import Environment, hold_to_end
from ntdcfe.grow import grow
from ntdcfe.policy import Action, CompactPolicy
from ntdcfe.refine import refine
from ntdcfe.search import Answer, Asks, Search

# Share of the budget for episodes once something is found; while nothing is, they get all of it.
SHARE_FOR_EPISODES = 0.2
# A policy that learns takes larger steps after one that succeeds in no episode; of labels that never change there is
# no more to learn than that, so after a few of them the round is over. Beyond the last size all steps end at a limit.
STEP_GROWTH, LARGEST_STEP, STEPS_IN_VAIN = 1.5, 60.0, 3
# After a round without success many features are moved further at once; after every second the reach grows, too.
GROWTH, ROUNDS_BEFORE_WIDENING, WIDENING = 1.5, 2, 2.0
# What was hard to find and is the only one of its kind may lead nowhere: so many batches more look for another start.
MORE_STARTS = 4
# Units that the probe shifts features by.
PROBE_STRENGTH = 2.0
# Of many features at once, the shares that are stretched about their mean, and by what, or made to swing rather
# than shifted; and the share that builds upon the best so far.
STRETCHED, STRETCHES, SWINGING, BUILT_UPON = 0.375, (0.0, 0.1, 0.3, 0.6, 2.0), 0.125, 0.5


def batched(search: Search) -> Asks:
    """Probe, learn, refine; where the user's own transition says what can be done, its interventions alone."""
    policy = CompactPolicy(search.environment, search.settings.hidden, search.generator)
    learner = Learner(search, policy)
    free = search.environment.transition is hold_to_end
    if free and len(search.environment.original) == 1:
        yield from grow(search)
    if free and not len(search.candidates):
        yield from probe(search, learner)
    yield from episodes(search, learner, free)
    if free and search.settings.refine and len(search.candidates):
        yield from refine(search)


def probe(search: Search, learner: Learner) -> Asks:
    """One batch of shifts of a feature (a few, where there are many) from a step to the end.

    A warm start: the policy learns from it as from episodes of one intervention.
    """
    environment, rng, n = search.environment, search.rng, search.batch_rows
    movable = learner.policy.features
    width = max(1, round(len(movable) / 24))
    group = rng.random((n, len(movable))).argsort(1)[:, :width]
    moved = np.zeros((n, len(environment.features)), bool)
    np.put_along_axis(moved, movable[group], True, 1)
    start = _starts(environment, n, rng)
    strength = rng.choice([-1.0, 1.0], n) * rng.choice([0.5, 1.0], n) * PROBE_STRENGTH
    outcome = yield from search.ask(_shifted(environment, start, moved, strength[:, None], rng))
    if search.settings.learn:
        gain = outcome.valid / (1 + outcome.cost / outcome.cost.max(initial=1e-12))
        if outcome.score is not None:
            gain = gain + outcome.score
        continuous = ~environment.discrete[movable[group[:, 0]]]  # what a discrete feature was set to is not recorded
        action = Action(*(torch.from_numpy(a[continuous]) for a in (start, group[:, 0], strength.astype(np.float32))))
        originals = np.broadcast_to(environment.original, outcome.states[continuous].shape)
        learner.update(learner.policy.inputs(originals), action, gain[continuous])


def _starts(environment: Environment, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Steps to act from ``(n,)``, early ones more often: a change that holds longer finds more."""
    steps = np.flatnonzero(environment.movable.any(1))
    return steps[(rng.random(n) ** 2 * len(steps)).astype(int)]


def _shifted(
    environment: Environment,
    start: NDArray[np.int64],
    moved: NDArray[np.bool_],
    strength: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """The original with features `moved` ``(n, F)`` shifted by `strength` units from `start`; discrete ones set."""
    cells = (np.arange(len(environment.original)) >= start[:, None])[:, :, None] & moved[:, None, :]
    shifted = environment.original + (strength * environment.units)[:, None, :]
    for i, choices in enumerate(environment.choices):
        if choices is not None:
            shifted[..., i] = rng.choice(choices, len(start))[:, None]
    return np.where(cells, shifted, environment.original)


class Best(NamedTuple):
    """The state ``(K, F)`` that came nearest so far, and its score."""

    state: NDArray[Any]
    score: float


def many_at_once(search: Search, strength: float, best: Best) -> Generator[NDArray[Any], Answer, Best]:
    """Many features together, for when single interventions reach nothing: shifted, stretched or made to swing.

    Half of them start from the best of such states so far, where a score tells which that is.
    """
    environment, rng, n = search.environment, search.rng, search.batch_rows
    shape = (n, len(environment.features))
    moved = rng.random(shape) < rng.choice([0.25, 0.5, 1.0], n)[:, None]
    sign = np.where(rng.random(shape) < rng.choice([0.0, 0.5, 1.0], n)[:, None], -1.0, 1.0)
    size = strength * rng.choice([0.5, 1.0], n)[:, None]
    built_upon = np.isfinite(best.score) & (rng.random(n) < BUILT_UPON)
    # The nearer it is already, the smaller the steps that are left.
    size[built_upon] = PROBE_STRENGTH * rng.choice([0.1, 0.3, 1.0], (built_upon.sum(), 1))
    start = _starts(environment, n, rng)
    proposals = _shifted(environment, start, moved, sign * size, rng)
    base = np.where(built_upon[:, None, None], best.state, environment.original)
    changed = proposals != environment.original
    free = changed & ~environment.discrete
    proposals = np.where(free, proposals - environment.original + base, np.where(changed, proposals, base))
    if len(environment.original) > 1:
        # Calm where it was lively, or the reverse, is out of the reach of shifts.
        kind = rng.random(n)[:, None, None]
        centre = base.mean(1, keepdims=True)
        ratio = rng.choice((*STRETCHES, strength), n)[:, None, None]
        stretched = free & (kind < STRETCHED) & (base != centre)  # what is constant is only shifted
        proposals = np.where(stretched, centre + ratio * (base - centre), proposals)
        # And of what is constant, only a wave makes something lively; but waves are far, so shifts have the first word.
        swinging = SWINGING if strength > PROBE_STRENGTH * GROWTH else 0.0
        swings = (size * environment.units)[:, None] * _waves(n, len(environment.original), shape[1], rng)
        proposals = np.where(free & (kind > 1 - swinging), base + swings, proposals)
    outcome = yield from search.ask(proposals)
    # A score that is the same everywhere, as of labels in one-hot columns, tells nothing.
    if outcome.score is None or outcome.score.max() <= max(best.score, outcome.score.min()):
        return best
    first = int(outcome.score.argmax())
    return Best(outcome.states[first].copy(), float(outcome.score[first]))


def _waves(n: int, n_steps: int, n_features: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Sines ``(n, K, F)``: for each of n a period, from two steps to all of them, and phases of the features."""
    period = 2 * (n_steps / 2) ** rng.random((n, 1, 1))
    turns = np.arange(n_steps)[:, None] / period + rng.random((n, 1, n_features))
    return np.sin(2 * np.pi * turns)


def episodes(search: Search, learner: Learner, free: bool) -> Asks:
    """Rounds of episodes; while nothing is found, many features at once, and a reach that grows."""
    settings, candidates = search.settings, search.candidates
    strength, fruitful, fruitless = PROBE_STRENGTH, 0, 0
    best = Best(search.environment.original, -np.inf)
    while fruitful < settings.updates:
        if not search.left(SHARE_FOR_EPISODES if len(candidates) and settings.refine else 1.0):
            break
        yield from learner.play()
        if len(candidates):
            fruitful += 1
            for _ in range(MORE_STARTS if free and fruitless else 0):
                if len(candidates.niches()) == 1 and search.left():
                    yield from many_at_once(search, strength, best)
            continue
        fruitless += 1
        strength *= GROWTH
        if free:
            best = yield from many_at_once(search, strength, best)
        if fruitless % ROUNDS_BEFORE_WIDENING == 0:
            search.environment.widen(WIDENING)


class Learner:
    """Plays episodes with a policy and updates it.

    Parameters
    ----------
    search : Search
    policy : CompactPolicy
    """

    def __init__(self, search: Search, policy: CompactPolicy) -> None:
        self.search = search
        self.policy = policy
        self.scale = 1.0
        rate = search.settings.learning_rate
        # The logits have to learn within a few rounds; the network corrects them with care.
        network = [policy.shift, *policy.body.parameters()]
        groups: list[dict[str, Any]] = [{"params": [policy.base]}, {"params": network, "lr": rate / 10}]
        self.optimizer = torch.optim.Adam(groups, lr=rate, weight_decay=search.settings.weight_decay)

    def play(self) -> Asks:
        """One round: every episode acts until it is valid or out of interventions; then an update."""
        search, settings, environment = self.search, self.search.settings, self.search.environment
        n = min(settings.episodes, search.batch_rows)
        states = np.repeat(environment.original[None], n, axis=0)
        alive, last_score = np.arange(n), np.zeros(n)
        record = []
        for t in range(settings.max_interventions):
            inputs = self.policy.inputs(states[alive])
            with torch.no_grad():
                action = self.policy(inputs).sample(search.generator)
            intervention = self.policy.intervention(action, self.scale * environment.units)
            proposals = environment.transition(states[alive], intervention, environment.discrete)
            outcome = yield from search.ask(proposals, states[alive])
            states[alive] = outcome.states
            # Valid is worth more the nearer it is to the best so far; on the way, a rising score counts.
            best = search.candidates.best_cost if len(search.candidates) else 1.0
            reward = outcome.valid * 2 / (1 + outcome.cost / best)
            if outcome.score is not None:
                reward = reward + outcome.score - (last_score[alive] if t else outcome.score.min())
                last_score[alive] = outcome.score
                if settings.learn and not len(search.candidates):
                    self.update(inputs, action, reward)  # the score alone shows the way: no need to wait
            record.append((inputs, action, reward, alive))
            if settings.learn and not len(search.candidates):
                self.scale = min(LARGEST_STEP, STEP_GROWTH * self.scale)  # so much for steps of this size
                if outcome.score is None and t + 1 == STEPS_IN_VAIN:
                    break
            alive = alive[~outcome.valid]
            if not len(alive):
                break
        if settings.learn:
            gains, following = [], np.zeros(n)
            for _, _, reward, who in reversed(record):
                following[who] = reward + settings.discount * following[who]  # G
                gains.append(following[who].copy())
            actions = Action(*(torch.cat(column) for column in zip(*(entry[1] for entry in record), strict=True)))
            self.update(torch.cat([entry[0] for entry in record]), actions, np.concatenate(gains[::-1]))
        search.report(1 - len(alive) / n)

    def update(self, inputs: torch.Tensor, action: Action, gain: NDArray[np.float64]) -> None:
        """Clipped policy gradient on the normalised advantage of each action."""
        if len(gain) < 2 or gain.std() < 1e-6:
            return
        settings = self.search.settings
        advantage = torch.from_numpy(((gain - gain.mean()) / gain.std()).astype(np.float32))
        with torch.no_grad():
            before = self.policy(inputs).log_prob(action)
        for _ in range(settings.epochs):
            pi = self.policy(inputs)
            # A nearly certain Gaussian can make an action e^100 times as likely: infinite in float32.
            ratio = (pi.log_prob(action) - before).clamp(-20, 20).exp()
            clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
            loss = -torch.min(ratio * advantage, clipped * advantage).mean() - settings.entropy * pi.entropy()
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
