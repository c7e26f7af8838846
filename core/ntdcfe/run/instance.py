"""From an explainer and one series to a problem, and to the job that solves it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.model.budget import Budget
from ntdcfe.model.job import Job
from ntdcfe.problem.features import Features
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.target import Target
from ntdcfe.search.base import Asks, Search
from ntdcfe.search.default import default
from ntdcfe.search.pool import Pool
from ntdcfe.settings import SearchSettings

if TYPE_CHECKING:
    from ntdcfe.explainer import NTDCFE

# Valid states that a search keeps (rule of thumb); Algorithm 1's own set is larger, since nothing refines it.
KEPT, KEPT_BY_ALGORITHM_1 = 32, 100


def problem_of(
    explainer: NTDCFE,
    state: NDArray[Any],
    features: Features,
    settings: SearchSettings,
    static: bool = False,
    integers: np.dtype[Any] | None = None,
) -> Problem:
    """The problem of a state ``(K, F)``.

    `static` tells that the model takes ``(n, D)``, not ``(n, K, D)``; `integers` is their type where it takes such.
    """
    return Problem.of(
        state,
        features,
        explainer.constraints,
        in_units=settings.algorithm == "default",
        reach=settings.reach,
        on_violation=settings.on_violation,
        price_of_cell=settings.sparsity_weight,
        price_of_edit=settings.edit_weight,
        price_of_roughness=settings.roughness_weight,
        terms=settings.terms,
        transition=explainer.transition,
        proximity=explainer.proximity,
        plausible=explainer.plausible,
        static=static,
        kinds=settings.kinds,
        integers=integers,
    )


def job_of(
    explainer: NTDCFE,
    state: NDArray[Any],
    features: Features,
    target: Target,
    settings: SearchSettings,
    static: bool = False,
    integers: np.dtype[Any] | None = None,
) -> Job:
    """The life of one instance, not begun."""
    problem = problem_of(explainer, state, features, settings, static, integers)
    budget = Budget(settings, problem.space.n_steps, state.size)
    keep = KEPT_BY_ALGORITHM_1 if settings.algorithm == "algorithm_1" else KEPT
    keep = max(keep, 2 * settings.n_counterfactuals)
    search = Search(problem, settings, Pool(problem, keep), budget, explainer.seed, target.regression)
    return Job(search, target, budget, _algorithm(settings))


def _algorithm(settings: SearchSettings) -> Callable[[Search], Asks]:
    if settings.algorithm == "default":
        return default
    from ntdcfe.search.algorithm_1 import algorithm_1  # torch is loaded when a policy is built

    return algorithm_1
