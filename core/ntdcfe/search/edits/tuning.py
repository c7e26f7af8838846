"""The numbers of the search over edits; chosen on ERing, NATOPS, Japanese Vowels and Basic Motions.

The other four of the paper's datasets of series had been looked at when `stages`, `factor`, `settled_factor`, `elites`,
`slack` and `features_open` were last changed, the last also for the stories of `benchmarks/life_expectancy.py`: with
fewer elites the forest of Heartbeat got eight edits in place of one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ntdcfe.problem.reprs import typed_back

# Values of all states that are priced, or that wait for a test, at once: bounds the memory of very large series.
MOST_VALUES = 8_000_000


@dataclass(frozen=True, repr=False)
class TestTuning:
    """Numbers of the tests under noise.

    Parameters
    ----------
    factor : float
        Tests disturb by so many times the noise that an answer has to withstand: the best of thousands is a lucky
        draw, and few draws of stronger noise tell more than many of the asked one.
    settled_factor : float
        The same once it is settled which features change: many lists of one set are tried then, so that more of them
        pass by luck. Before, stronger noise would decide between features of which one costs little less.
    stages : tuple of int
        Draws after which a list goes on to the next stage of its test, or has passed the last.
    kept : int
        Lists that wait for a test.
    elites, of_a_set : int
        Lists that have passed and are built upon, and those among them that change the same features.
    proven : int
        Draws after which a list is kept for its set of features, whatever passes after it and costs less.
    hold : float
        What an elite that is drawn again must keep, beside what the test asks.
    trusting : float
        Far from the boundary nearly every test succeeds, and `Tests.boldness` falls to this and below: lists that
        reached the target once are then built upon without a test.
    """

    factor: float = 3.0
    settled_factor: float = 3.6
    stages: tuple[int, ...] = (4, 12)
    kept: int = 200
    elites: int = 6
    of_a_set: int = 2
    proven: int = 27
    hold: float = 0.02
    trusting: float = 0.15

    __repr__ = typed_back


@dataclass(frozen=True, repr=False)
class ProposalTuning:
    """Numbers of the moves.

    Parameters
    ----------
    spare : float
        How many times as many lists are made as asked about: some cost more than those that they come from.
    spare_inside : float
        The same where the in-distribution test refuses the original, for it refuses most of the lists, too.
    slack : float
        By what share a list may cost more than the one that it comes from, if it changes other features.
    memory, gain_before, least_chance : float
        How much of the moves' record is kept from batch to batch, the gain that they are taken to have made before
        anything is known, and the least chance of each.
    """

    spare: float = 2.0
    spare_inside: float = 8.0
    slack: float = 0.2
    memory: float = 0.9
    gain_before: float = 0.3
    least_chance: float = 0.02

    __repr__ = typed_back


@dataclass(frozen=True, repr=False)
class WalkTuning:
    """Numbers of the walk.

    Parameters
    ----------
    share_of_tests : float
        The most of a batch that goes into tests.
    draws_of_best : int
        The best list is drawn again so often in every batch.
    preference, slow_preference : float
        How much less often each next of the lists that passed is built upon, and before the tests begin.
    starts : int
        Valid states that are turned into edits.
    least_descent, descending : float, int
        Before the tests begin, lists that reached the target once are built upon: until a batch makes the best less
        than so much cheaper, from so many of the cheapest.
    features_open : float
        The share of the budget after which it is settled which features change: what is left goes into how smoothly.
    most_random, strength : int, float
        Random lists that the walk starts from as well: the most edits of one, and how many units they move by at most.
    most_bold, bold_batches : int
        Few edits of the known ones, much stronger: at most so many in a list, and how many batches of such lists.
    most_bands, band_batches : int
        Where all known lists have more edits than that: edits of neighbouring features side by side, at most so many
        in a list, and how many batches of such lists.
    strengths : tuple of float
        By what the edits of the starts are multiplied: stronger ones are surer to hold.
    instead : tuple of float
        By what the edits are stronger that take the place of those that held in a test and not in later draws.
    sturdier : tuple of float
        By what the edits of the sturdiest answer may be stronger than those of the simplest.
    sturdy_factor, sturdy_draws : float, int
        How many times the noise the sturdiest answer has to withstand, and the draws of its test.
    """

    share_of_tests: float = 0.6
    draws_of_best: int = 4
    preference: float = 0.6
    slow_preference: float = 0.85
    starts: int = 24
    least_descent: float = 0.03
    descending: int = 12
    features_open: float = 0.8
    most_random: int = 4
    strength: float = 3.0
    most_bold: int = 10
    bold_batches: int = 2
    most_bands: int = 4
    band_batches: int = 2
    strengths: tuple[float, ...] = (0.1, 0.2, 0.35, 0.6, 1.0, 1.6)
    instead: tuple[float, ...] = (1.02, 1.05, 1.1)
    sturdier: tuple[float, ...] = (1.0, 1.1, 1.25, 1.5, 2.0)
    sturdy_factor: float = 5.0
    sturdy_draws: int = 20

    __repr__ = typed_back
