"""Every setting of the search, in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Literal, get_args

from ntdcfe.errors import InvalidInputError
from ntdcfe.model.budget import BudgetTuning
from ntdcfe.model.trust import TrustTuning
from ntdcfe.problem.kind import Kind
from ntdcfe.problem.kinds import KINDS
from ntdcfe.problem.kinds_used import problem_with
from ntdcfe.problem.objective import Term
from ntdcfe.problem.reprs import typed_back
from ntdcfe.problem.space import OnViolation
from ntdcfe.problem.survival import Survival
from ntdcfe.search.options import OptionName
from ntdcfe.search.refine.moves import Move
from ntdcfe.search.tuning import SearchTuning

Algorithm = Literal["default", "algorithm_1"]
Shape = Literal["segments", "to_end"]


@dataclass(frozen=True, repr=False)
class Tuning(SearchTuning):
    """The numbers behind the settings, phase by phase: of the search, of the budget, and of the votes.

    Each phase has a frozen dataclass of its own, which says where its numbers come from:
    ``SearchSettings(tuning=Tuning(refine=RefineTuning(racers=8)))``.
    """

    budget: BudgetTuning = field(default_factory=BudgetTuning)
    trust: TrustTuning = field(default_factory=TrustTuning)


@dataclass(frozen=True, repr=False)
class SearchSettings:
    """How the search is done. The defaults are ours; ``PAPER`` holds the paper's values.

    A field that has no effect with the chosen algorithm is refused.

    Parameters
    ----------
    algorithm : {"default", "algorithm_1"}
        "default" plays many episodes a call and refines what they find; "algorithm_1" is the paper's.
    options : sequence of {"simplest", "nearest", "sturdiest"}
        Which kinds of answers are searched for, within one budget: few edits that hold; the least distance, cell by
        cell; and edits that withstand five times the noise.
    prefer : {"simplest", "nearest", "sturdiest"}
        Which of them is the answer; the first of the `options` if it is not among them.
    n_counterfactuals : int
        How many counterfactuals, differing in what they change, are wanted.
    sparsity_weight : float
        What a changed cell costs beside its proximity in units (measured: benchmarks/results/paper-published.md).
    edit_weight : float
        What a further edit of the simplest answer costs, as a share of the rest: by so much it has to make the answer
        nearer (measured: benchmarks/results/explanations.md).
    roughness_weight : float
        What it costs the simplest answer to make its features twice as rough, as a share of the rest.
    survival : Survival or None
        What the simplest and the sturdiest answer have to withstand; None for nothing.
    terms : sequence of Term
        Further parts of what is minimised.
    kinds : sequence of str or of Kind classes
        Which kinds of edits the simplest and the sturdiest answer are made of: names of built-in ones (all by default:
        ``ntdcfe.KINDS``), and classes of your own, see :class:`ntdcfe.Kind`. Values of categories are always set.
    shape : {"segments", "to_end"}
        Whether changes may be any segments, or hold from a step to the end as in the paper.
    reach : float or None
        Units beyond the span of its own values that a feature without bounds may go; None for no limit.
    margin : float
        How much further than the boundary the answer goes, as a share of the change, where it can.
    on_violation : {"cap", "discard"}
        A move out of bounds ends at the bound ("cap") or is not made ("discard").
    max_rows : int or None
        Most rows sent to the model for one instance; None for no limit. Calls follow: the rows are spread over 80
        of them, or more where a batch would have more than 160 rows.
    patience : int or None
        A search ends where so many rows made its answer less than 1% cheaper. None: where the nearest answer
        alone is wanted, 2,000, or 1,000 where few moves decide (``RefineTuning``); where edits are, it does not end so,
        since more rows test them, too.
    max_seconds : float or None
        Most seconds spent on one call of explain or explain_batch; None for no limit.
    batch_rows : int or None
        Rows in one batch of the search, for a model that takes long for a call or for a row; None for as many as
        `max_rows` gives.
    max_batch_size : int or None
        Most rows that the model takes in one call: larger batches are split; None for as many as 72 MB hold.
    confirmations : int
        How often an answer is asked again before it is handed out; twice as often if the model contradicts itself.
    retries : int
        How often a call to the model that failed is made again.
    retry_wait : float
        Seconds before the first retry, twice as many before each further one.
    call_seconds : float or None
        A call to the model that takes longer has failed; None for no limit.
    learn : bool
        Whether the policy learns; without, its actions stay random and their size as it is.
    refine : bool
        Whether what the episodes found is made cheaper.
    moves : sequence of Move classes
        Further moves of the refinement.
    episodes : int
        Episodes played at once.
    updates : int
        Rounds of episodes once something is found.
    epochs : int
        Gradient steps on one round of episodes.
    clip : float
        How far the probability of an action may move in one round.
    entropy : float
        What the policy is paid for staying undecided.
    max_episodes : int
        M_E: episodes of Algorithm 1.
    max_interventions : int
        M_T: interventions in an episode.
    discount : float
        gamma: what the reward of the next intervention is worth now.
    learning_rate : float
        alpha: step size of Adam.
    weight_decay : float
        lambda_WD: L2 penalty on the network's weights.
    proximity_weight : float
        lambda_pxmt: what a unit of proximity costs in the reward of Algorithm 1.
    hidden : tuple of int
        Sizes of the policy network's hidden layers.
    tuning : Tuning
        The numbers of the phases, each with its origin.

    Examples
    --------
    >>> SearchSettings(max_rows=2000, retries=3)
    SearchSettings(max_rows=2000, retries=3)
    """

    algorithm: Algorithm = "default"

    # What is wanted
    options: Sequence[OptionName] = ("simplest", "nearest", "sturdiest")
    prefer: OptionName = "simplest"
    n_counterfactuals: int = 1
    sparsity_weight: float = 0.03
    edit_weight: float = 0.08
    roughness_weight: float = 2.5
    survival: Survival | None = Survival()  # noqa: RUF009 (frozen)
    terms: Sequence[Term] = ()
    kinds: Sequence[str | type[Kind]] = KINDS
    shape: Shape = "segments"
    reach: float | None = 2.75
    margin: float = 0.002
    on_violation: OnViolation = "cap"

    # What it may cost
    max_rows: int | None = 10_000
    patience: int | None = None
    max_seconds: float | None = None
    batch_rows: int | None = None
    max_batch_size: int | None = None

    # Faults of the model
    confirmations: int = 6
    retries: int = 0
    retry_wait: float = 0.5
    call_seconds: float | None = None

    # The search
    learn: bool = True
    refine: bool = True
    moves: Sequence[type[Move]] = ()
    episodes: int = 64
    updates: int = 1
    epochs: int = 6
    clip: float = 0.3
    entropy: float = 0.01
    max_episodes: int = 100
    max_interventions: int = 5
    discount: float = 0.99
    learning_rate: float = 0.08
    weight_decay: float = 0.0
    proximity_weight: float = 1e-3
    hidden: tuple[int, ...] = (32,)
    tuning: Tuning = field(default_factory=Tuning)

    __repr__ = typed_back

    def __post_init__(self) -> None:
        for name, (allowed, words) in _RULES.items():
            value = getattr(self, name)
            if not allowed(value):
                raise InvalidInputError(f"{name} must be {words}, got {value!r}.")
        if self.prefer not in self.options:
            self._check_prefer(None if self.prefer == "simplest" else self.prefer)  # the default gives way
            object.__setattr__(self, "prefer", self.options[0])
        if wrong := problem_with(self.kinds):
            raise InvalidInputError(f"kinds: {wrong}, got {self.kinds!r}.")
        if self.shape == "to_end" and set(self.kinds) != set(KINDS):
            raise InvalidInputError("kinds: no effect with shape='to_end', in which all edits are shifts.")
        idle = [
            entry.name
            for entry in fields(self)
            if entry.name in _ONLY_OF
            and _ONLY_OF[entry.name] != self.algorithm
            and getattr(self, entry.name) != entry.default
        ]
        if idle:
            raise InvalidInputError(
                f"{', '.join(idle)}: no effect with algorithm={self.algorithm!r}. Leave them at their "
                f"defaults, or choose algorithm={_ONLY_OF[idle[0]]!r}."
            )

    def _check_prefer(self, prefer: object) -> None:
        if prefer is not None and prefer not in self.options:
            raise InvalidInputError(f"prefer must be one of the options {tuple(self.options)}, got {prefer!r}.")

    def given(self, **arguments: object) -> SearchSettings:
        """These settings with those arguments of a call that are not None."""
        self._check_prefer(arguments.get("prefer"))
        return replace(self, **{name: value for name, value in arguments.items() if value is not None})  # type: ignore[arg-type]


def _whole(value: object, least: int = 1) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _one_of(*allowed: str) -> tuple[Any, str]:
    return lambda value: isinstance(value, str) and value in allowed, f"one of {allowed}"


def _each(kind: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, (tuple, list)) and all(kind(entry) for entry in value)


_COUNT = (_whole, "a whole number from 1")
_COUNT_OR_NONE = (lambda value: value is None or _whole(value), "a whole number from 1, or None")
_POSITIVE = (lambda value: _number(value) and value > 0, "positive")
_POSITIVE_OR_NONE = (lambda value: value is None or (_number(value) and value > 0), "positive or None")
_NOT_NEGATIVE = (lambda value: _number(value) and value >= 0, "a number that is not negative")
_YES_OR_NO = (lambda value: isinstance(value, bool), "True or False")
# What each field takes, and how that is said.
_RULES: dict[str, tuple[Any, str]] = {
    "algorithm": _one_of(*get_args(Algorithm)),
    "prefer": _one_of(*get_args(OptionName)),
    "options": (lambda value: _each(_one_of(*get_args(OptionName))[0])(value) and len(value) > 0, "a list of options"),
    "shape": _one_of(*get_args(Shape)),
    "on_violation": _one_of(*get_args(OnViolation)),
    **dict.fromkeys(("n_counterfactuals", "confirmations", "episodes", "updates", "epochs"), _COUNT),
    **dict.fromkeys(("max_episodes", "max_interventions"), _COUNT),
    **dict.fromkeys(("max_rows", "patience", "batch_rows", "max_batch_size"), _COUNT_OR_NONE),
    **dict.fromkeys(("max_seconds", "call_seconds", "reach"), _POSITIVE_OR_NONE),
    **dict.fromkeys(("learning_rate", "clip"), _POSITIVE),
    **dict.fromkeys(("weight_decay", "proximity_weight", "sparsity_weight", "edit_weight"), _NOT_NEGATIVE),
    **dict.fromkeys(("entropy", "retry_wait", "margin", "roughness_weight"), _NOT_NEGATIVE),
    **dict.fromkeys(("learn", "refine"), _YES_OR_NO),
    "retries": (lambda value: _whole(value, 0), "a whole number from 0"),
    "discount": (lambda value: _number(value) and 0 <= value <= 1, "from 0 to 1"),
    "hidden": (_each(_whole), "a tuple of whole numbers from 1"),
    "terms": (_each(lambda term: isinstance(term, Term)), "a list of Terms"),
    "moves": (_each(lambda move: isinstance(move, type) and issubclass(move, Move)), "a list of Move classes"),
    "survival": (lambda value: value is None or isinstance(value, Survival), "a Survival or None"),
    "tuning": (lambda value: isinstance(value, Tuning), "a Tuning"),
}
# Fields that only one of the algorithms looks at.
_ONLY_OF: dict[str, Algorithm] = {
    **dict.fromkeys(("shape", "margin", "batch_rows", "learn", "refine", "moves", "edit_weight"), "default"),  # type: ignore[dict-item]
    **dict.fromkeys(("episodes", "updates", "epochs", "clip", "entropy", "roughness_weight"), "default"),
    **dict.fromkeys(("options", "prefer", "survival", "kinds", "patience"), "default"),
    **dict.fromkeys(("max_episodes", "proximity_weight"), "algorithm_1"),
}

PAPER = SearchSettings(
    algorithm="algorithm_1",
    max_rows=None,
    sparsity_weight=0.0,
    reach=None,
    max_episodes=100,
    max_interventions=100,
    discount=0.99,
    learning_rate=1e-4,
    weight_decay=0.0,
    proximity_weight=1e-3,
    hidden=(1000, 100),
)
"""The paper's values (appendix "Hyperparameters") and nothing beyond Algorithm 1."""
