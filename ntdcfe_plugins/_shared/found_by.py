"""What a letter tells of a search beside its answer, kept without the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ntdcfe import Constraint, SearchSettings


class FoundBy(NamedTuple):
    """The seed, the settings and the rules of a search; see the argument `explainer` of a letter.

    The seed is as the user gave it, None where it was none that could be given again. It holds functions of the
    user's, which may not be pickled: a result leaves it out when it is pickled.
    """

    seed: int | None
    settings: SearchSettings
    constraints: Sequence[Constraint]
    plausible: Callable[..., Any] | None
