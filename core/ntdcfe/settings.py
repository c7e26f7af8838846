"""Every setting of the search, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Literal

from ntdcfe.environment import OnViolation
from ntdcfe.errors import InvalidInputError


@dataclass(frozen=True)
class SearchSettings:
    """How the search is done. The defaults are ours; ``PAPER`` holds the paper's values."""

    algorithm: Literal["batched", "reinforce"] = "batched"
    """"batched" plays many episodes a call and refines what they find; "reinforce" is the paper's Algorithm 1."""
    max_queries: int | None = 10_000
    """Most rows sent to the model for one instance; None for no limit."""
    max_calls: int | None = 80
    """Most batches a batched search plans with (1.4 times that if large series make them small); None for no limit."""
    max_seconds: float | None = None
    """Most seconds spent on one call of explain or explain_batch; None for no limit."""
    max_batch_size: int | None = None
    """Most rows in one call to the model; None for as many as 72 MB hold."""
    retries: int = 0
    """How often a call to the model that failed is made again."""
    retry_wait: float = 0.5
    """Seconds before the first retry, twice as many before each further one."""
    call_seconds: float | None = None
    """A call to the model that takes longer has failed; None for no limit."""
    confirmations: int = 6
    """How often an answer is asked again before it is handed out; twice as often if the model contradicts itself."""
    n_counterfactuals: int = 1
    """How many counterfactuals, differing in what they change, are wanted."""
    sparsity_weight: float = 0.03
    """What a changed cell costs beside its proximity in units."""
    shape: Literal["segments", "to_end"] = "segments"
    """Whether changes may be any segments, or hold from a step to the end as in the paper."""
    reach: float | None = 2.75
    """Units beyond the span of its own values that a feature without bounds may go; None for no limit."""
    margin: float = 0.002
    """How much further than the boundary the answer goes, as a share of the change, where it can."""
    on_violation: OnViolation = "cap"
    """A move out of bounds ends at the bound ("cap") or is not made ("discard")."""
    learn: bool = True
    """Whether the policy learns; without, its actions stay random and their size as it is."""
    refine: bool = True
    """Whether what the episodes found is shrunk."""
    batch_rows: int = 160
    """Rows in a probe or a refinement call; fewer for large series."""
    episodes: int = 64
    """Episodes played at once."""
    updates: int = 1
    """Rounds of episodes once something is found."""
    max_episodes: int = 100
    """M_E: episodes of Algorithm 1."""
    max_interventions: int = 5
    """M_T: interventions in an episode."""
    discount: float = 0.99
    """gamma: what the reward of the next intervention is worth now."""
    learning_rate: float = 0.08
    """alpha: step size of Adam."""
    weight_decay: float = 0.0
    """lambda_WD: L2 penalty on the network's weights."""
    proximity_weight: float = 1e-3
    """lambda_pxmt: what a unit of proximity costs in the reward of Algorithm 1."""
    hidden: tuple[int, ...] = (32,)
    """Sizes of the policy network's hidden layers."""
    epochs: int = 6
    """Gradient steps on one round of episodes."""
    clip: float = 0.3
    """How far the probability of an action may move in one round."""
    entropy: float = 0.01
    """What the policy is paid for staying undecided."""

    def __post_init__(self) -> None:
        counts = (
            "n_counterfactuals",
            "confirmations",
            "batch_rows",
            "episodes",
            "updates",
            "max_episodes",
            "max_interventions",
            "epochs",
        )
        for name in counts:
            if not _whole(value := getattr(self, name)) or value < 1:
                raise InvalidInputError(f"{name} must be a whole number from 1, got {value!r}.")
        if not _whole(self.retries) or self.retries < 0:
            raise InvalidInputError(f"retries must be a whole number from 0, got {self.retries!r}.")
        for name in ("max_queries", "max_calls", "max_batch_size"):
            value = getattr(self, name)
            if value is not None and (not _whole(value) or value < 1):
                raise InvalidInputError(f"{name} must be a whole number from 1, or None, got {value!r}.")
        for name in ("max_seconds", "call_seconds", "reach"):
            value = getattr(self, name)
            if value is not None and not (_number(value) and value > 0):
                raise InvalidInputError(f"{name} must be positive or None, got {value!r}.")
        for name in ("learning_rate", "clip"):
            if not (_number(value := getattr(self, name)) and value > 0):
                raise InvalidInputError(f"{name} must be positive, got {value!r}.")
        for name in ("weight_decay", "proximity_weight", "sparsity_weight", "margin", "entropy", "retry_wait"):
            if not (_number(value := getattr(self, name)) and value >= 0):
                raise InvalidInputError(f"{name} must not be negative, got {value!r}.")
        if not (_number(self.discount) and 0 <= self.discount <= 1):
            raise InvalidInputError(f"discount must be from 0 to 1, got {self.discount!r}.")
        if not (isinstance(self.hidden, (tuple, list)) and all(_whole(size) and size >= 1 for size in self.hidden)):
            raise InvalidInputError(f"hidden must be a tuple of whole numbers from 1, got {self.hidden!r}.")
        choices = {
            "algorithm": ("batched", "reinforce"), "shape": ("segments", "to_end"), "on_violation": ("cap", "discard")
        }  # fmt: skip
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InvalidInputError(f"{name} must be one of {allowed}, got {getattr(self, name)!r}.")

    def given(self, **arguments: object) -> SearchSettings:
        """These settings with those arguments of a call that are not None."""
        return replace(self, **{name: value for name, value in arguments.items() if value is not None})  # type: ignore[arg-type]


def _whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


PAPER = SearchSettings(
    algorithm="reinforce",
    max_queries=None,
    max_calls=None,
    sparsity_weight=0.0,
    shape="to_end",
    reach=None,
    margin=0.0,
    refine=False,
    max_episodes=100,
    max_interventions=100,
    discount=0.99,
    learning_rate=1e-4,
    weight_decay=0.0,
    proximity_weight=1e-3,
    hidden=(1000, 100),
)
"""The paper's values (appendix "Hyperparameters") and nothing beyond Algorithm 1."""
