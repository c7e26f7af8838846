"""The default search, its phases in order.

As in Algorithm 1 an episode is a chain of interventions from the original that ends at a valid
state; here many episodes share every call to the model, and what they find is made simpler or nearer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.transition import hold_to_end
from ntdcfe.search.base import Asks, Found, Search
from ntdcfe.search.edits.walk import Walk
from ntdcfe.search.episodes import Episodes
from ntdcfe.search.exhaustive import exact_answers, exhaustive, is_small, tested_exact
from ntdcfe.search.into_distribution import into_distribution
from ntdcfe.search.nearer_inside import nearer_inside
from ntdcfe.search.options import first_holds, retested
from ntdcfe.search.references import from_references
from ntdcfe.search.refine.race import refine
from ntdcfe.search.starts import probe
from ntdcfe.search.tables import grow
from ntdcfe.search.variety import several


@dataclass(frozen=True, repr=False)
class PhaseTuning:
    """How the budget is shared out among the phases; rules of thumb.

    Parameters
    ----------
    nearest : float
        The share of what is left of the budget, once something is found, for the nearest answer, where others are
        wanted, too.
    tests : float
        The share that is left for the last tests under noise, of each kind of answer.
    """

    nearest: float = 0.33
    tests: float = 0.04

    __repr__ = typed_back


def default(search: Search) -> Asks:
    """Find, then refine cell by cell to the nearest, then walk over edits to the simplest.

    With a transition of the user's own only the episodes run, without probes, refinement and edits: only its
    interventions are known to be possible.
    """
    built_in = search.problem.transition is hold_to_end
    if built_in and is_small(search):
        agreed = yield from exhaustive(search)
        search.found = exact_answers(search, agreed)
        search.converged = True
        yield from tested_exact(search)
        return
    from ntdcfe.search.agent import Agent  # torch is loaded when a policy is built

    agent = Agent(search)
    if built_in and search.references is not None:
        yield from from_references(search)
    if built_in and search.space.n_steps == 1:
        yield from grow(search)
    if built_in and not len(search.pool):
        yield from probe(search, agent)
    yield from Episodes(search, agent, built_in).rounds()
    if built_in and search.settings.refine and len(search.pool):
        yield from into_distribution(search)
        yield from nearer_inside(search)
        yield from _answers(search)


def _answers(search: Search) -> Asks:
    """The kinds of answers that are wanted, one after the other: what is nearest tells which cells matter."""
    wanted, n, tuning = search.settings.options, search.settings.n_counterfactuals, search.settings.tuning.phases
    rng = np.random.default_rng([search.seed, 2])
    spare = tuning.tests if search.settings.survival is not None else 0.0
    wants_edits = "simplest" in wanted or "sturdiest" in wanted
    if "nearest" in wanted:
        used = search.budget.used
        end = used + tuning.nearest * (1.0 - used) if wants_edits else 1.0
        # In a row of a table, most of it for several ways, if several are wanted.
        several_ways = n > 1 and search.space.n_steps == 1
        share = 1.0 - search.settings.tuning.variety.share if several_ways else 1.0
        search.ceiling = used + share * (end - spare - used)
        yield from refine(search)
        search.ceiling = end - spare
        states = search.pool.states[:1] if n == 1 else search.pool.diverse(n)
        if several_ways:
            states = yield from several(search)
        search.ceiling = end
        nearest = [Found(state) for state in states]
        search.found["nearest"] = (yield from retested(search, nearest[:1], 1, rng)) + nearest[1:]
    if wants_edits:
        walk = Walk(search)
        search.ceiling = 1.0 - spare * (1 + ("sturdiest" in wanted))
        with search.until_converged(search.settings.patience):
            yield from walk.steps()
        search.ceiling = 1.0
        simplest = yield from retested(search, walk.simplest(), n, rng)
        if "simplest" in wanted:
            search.found["simplest"] = simplest  # rows may end before the next question is answered
        # Also where the simplest fails its test: a sturdier answer then takes its place.
        if "sturdiest" in wanted or not first_holds(search, simplest):
            sturdiest = yield from retested(search, (yield from walk.sturdiest()), 1, rng)
            if "sturdiest" in wanted:
                search.found["sturdiest"] = sturdiest
            if first_holds(search, sturdiest) and not first_holds(search, simplest):
                simplest = [*sturdiest, *simplest]
        if "simplest" in wanted:
            search.found["simplest"] = simplest
