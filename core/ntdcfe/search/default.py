"""The default search, its phases in order.

As in Algorithm 1 an episode is a chain of interventions from the original that ends at a valid
state; here many episodes share every call to the model, and what they find is made cheaper.
"""

from __future__ import annotations

from ntdcfe.problem.transition import hold_to_end
from ntdcfe.search.base import Asks, Search
from ntdcfe.search.episodes import Episodes
from ntdcfe.search.refine.race import refine
from ntdcfe.search.starts import probe
from ntdcfe.search.tables import grow


def default(search: Search) -> Asks:
    """Probe, learn, refine; where the user's own transition says what can be done, its interventions alone."""
    from ntdcfe.search.agent import Agent  # torch is loaded when a policy is built

    agent = Agent(search)
    free = search.problem.transition is hold_to_end
    if free and search.space.n_steps == 1:
        yield from grow(search)
    if free and not len(search.pool):
        yield from probe(search, agent)
    yield from Episodes(search, agent, free).rounds()
    if free and search.settings.refine and len(search.pool):
        yield from refine(search)
