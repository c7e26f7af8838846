"""Every setting of the search, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ntdcfe.environment import OnViolation
from ntdcfe.errors import InvalidInputError


@dataclass(frozen=True)
class SearchSettings:
    """How the search is done; ``PAPER`` holds the paper's values."""

    algorithm: Literal["reinforce"] = "reinforce"
    """"reinforce" is the paper's Algorithm 1, one intervention and one row a call."""
    max_episodes: int = 100
    """M_E: episodes of the agent."""
    max_interventions: int = 100
    """M_T: interventions in an episode."""
    discount: float = 0.99
    """gamma: what the reward of the next intervention is worth now."""
    learning_rate: float = 1e-4
    """alpha: step size of Adam."""
    weight_decay: float = 0.0
    """lambda_WD: L2 penalty on the network's weights."""
    proximity_weight: float = 1e-3
    """lambda_pxmt: what a unit of proximity costs in reward."""
    hidden: tuple[int, ...] = (1000, 100)
    """Sizes of the policy network's hidden layers."""
    on_violation: OnViolation = "cap"
    """A move out of bounds ends at the bound ("cap") or is not made ("discard")."""
    max_queries: int | None = None
    """Most rows sent to the model for one instance; None for no limit."""
    max_seconds: float | None = None
    """Most seconds spent on one call of explain or explain_batch; None for no limit."""
    max_batch_size: int | None = None
    """Most rows in one call to the model; None for no limit."""

    def __post_init__(self) -> None:
        for name in ("max_episodes", "max_interventions"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {getattr(self, name)!r}.")
        for name in ("max_queries", "max_seconds", "max_batch_size"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidInputError(f"{name} must be positive or None, got {value!r}.")
        if not 0 <= self.discount <= 1:
            raise InvalidInputError(f"discount must be from 0 to 1, got {self.discount!r}.")
        if not self.learning_rate > 0:
            raise InvalidInputError(f"learning_rate must be positive, got {self.learning_rate!r}.")
        for name in ("weight_decay", "proximity_weight"):
            if not getattr(self, name) >= 0:
                raise InvalidInputError(f"{name} must not be negative, got {getattr(self, name)!r}.")
        if self.on_violation not in ("cap", "discard"):
            raise InvalidInputError(f"on_violation must be 'cap' or 'discard', got {self.on_violation!r}.")

    def limited(self, max_queries: int | None, max_seconds: float | None) -> SearchSettings:
        """These settings with other limits, where given."""
        given = {"max_queries": max_queries, "max_seconds": max_seconds}
        return replace(self, **{name: limit for name, limit in given.items() if limit is not None})  # type: ignore[arg-type]


PAPER = SearchSettings()
"""The paper's values (appendix "Hyperparameters") and nothing beyond Algorithm 1."""
