"""One instance to be explained: the states that it may take, what they cost, and which may be answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.features import Features
from ntdcfe.problem.kind import Kind
from ntdcfe.problem.kinds import KINDS
from ntdcfe.problem.kinds_used import Kinds
from ntdcfe.problem.objective import Objective, Proximity, Term, weighted_l1
from ntdcfe.problem.plausibility import Plausible
from ntdcfe.problem.space import OnViolation, Space, stand_ins
from ntdcfe.problem.transition import Intervention, Transition, hold_to_end
from ntdcfe.problem.units import units_of
from ntdcfe.problem.users import called, numbers, verdicts


@dataclass(frozen=True)
class Problem:
    """What is given of one instance.

    `plausible` takes states ``(n, K, F)`` and tells which may be answers ``(n,)``; None if all may. `usual` takes
    states and tells how usual they are, more is better ``(n,)``; None where the test has no score. `kinds` are those of
    edits.
    """

    space: Space
    objective: Objective
    transition: Transition = hold_to_end
    plausible: Callable[[NDArray[Any]], NDArray[np.bool_]] | None = None
    usual: Callable[[NDArray[Any]], NDArray[np.float64]] | None = None
    kinds: Kinds = field(default_factory=Kinds)

    @property
    def features(self) -> Features:
        """What the columns are."""
        return self.space.features

    @cached_property
    def from_outside(self) -> bool:
        """Whether the in-distribution test has a score and refuses the original itself."""
        if self.plausible is None or self.usual is None:
            return False
        return not bool(self.plausible(self.space.original[None])[0])

    @classmethod
    @np.errstate(all="ignore")  # bounds beyond the largest number there is are none
    def of(
        cls,
        state: NDArray[Any],
        features: Features,
        constraints: Iterable[Any] = (),
        *,
        in_units: bool = True,
        reach: float | None = None,
        on_violation: OnViolation = "cap",
        price_of_cell: float = 0.0,
        price_of_edit: float = 0.0,
        price_of_roughness: float = 0.0,
        terms: Sequence[Term] = (),
        transition: Transition = hold_to_end,
        proximity: Proximity = weighted_l1,
        plausible: Plausible | None = None,
        static: bool = False,
        kinds: Sequence[str | type[Kind]] = KINDS,
        integers: np.dtype[Any] | None = None,
    ) -> Problem:
        """The problem of a state ``(K, F)``, NaN where cells are missing.

        Parameters
        ----------
        in_units : bool
            Whether each feature is measured in its own unit of change, or all are as they come.
        plausible : callable, optional
            Takes rows as the model does.
        static : bool
            Whether the model takes ``(n, D)``, not ``(n, K, D)``.
        kinds : sequence of str or of Kind classes
            The kinds of edits that take part.
        integers : dtype, optional
            The type of integers that the model sees, where all numbers are whole.
        """
        missing = np.isnan(state)
        original = stand_ins(state, missing) if missing.any() else state
        units = units_of(original, features, missing) if in_units else None
        space = Space(original, features, constraints, on_violation, units, reach, missing, integers)
        objective = Objective(
            original, features, units, price_of_cell, proximity, terms, price_of_edit, price_of_roughness
        )
        if plausible is None:
            return cls(space, objective, _copying(transition), kinds=Kinds(kinds))
        score = getattr(plausible, "score_samples", None)
        return cls(
            space,
            objective,
            _copying(transition),
            _verdicts(plausible, space, static),
            None if score is None else _scores(score, space, static),
            Kinds(kinds),
        )


def _copying(transition: Transition) -> Transition:
    """The user's own transition, with copies in and out; what it makes no number of stays as it was."""
    if transition is hold_to_end:
        return transition

    def moved(states: NDArray[Any], action: Intervention, discrete: NDArray[np.bool_]) -> NDArray[Any]:
        action = Intervention(action.step.copy(), action.feature.copy(), action.strength.copy())
        told = called("transition", transition, states.copy(), action, discrete.copy())
        proposals = numbers("transition", "states", states.shape, told)
        return np.where(np.isfinite(proposals), proposals, states)

    return moved


def _verdicts(plausible: Plausible, space: Space, static: bool) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    """The user's in-distribution test for states ``(n, K, F)``; what it does not know is not plausible."""

    def test(states: NDArray[Any]) -> NDArray[np.bool_]:
        rows = space.rows(states).copy()  # what the user's function writes into must not be a state
        told = called("plausible", plausible, rows[:, 0] if static else rows)
        return verdicts("plausible", len(states), told, unknown=False)

    return test


def _scores(score: Plausible, space: Space, static: bool) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
    """The score of the user's in-distribution test for states ``(n, K, F)``; 0 where it has none."""

    def test(states: NDArray[Any]) -> NDArray[np.float64]:
        rows, name = space.rows(states).copy(), "plausible.score_samples"
        told = called(name, score, rows[:, 0] if static else rows)
        return np.nan_to_num(numbers(name, "one number a row", (len(states),), told).astype(float))

    return test
