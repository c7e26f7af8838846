"""The search for counterfactuals of a panel: in groups that share calls to the model, here or on workers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sktime.utils.parallel import parallelize

from ntdcfe import NTDCFE, Counterfactual, Features, InvalidInputError, SearchSettings, Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.arguments import with_second_model
from ntdcfe_plugins._shared.asked import from_first_look
from ntdcfe_plugins._shared.budget import for_the_search, with_costs
from ntdcfe_plugins._shared.numpy_errors import as_caller
from ntdcfe_plugins.sktime.panels import Panel
from ntdcfe_plugins.sktime.values import as_numpy3D

if TYPE_CHECKING:
    from ntdcfe_plugins.sktime.explainer import CounterfactualExplainer

# Two ways of asking give the same prediction if they differ by no more (rounding of double precision, and some room).
SAME = 1e-6


@dataclass(frozen=True)
class Format:
    """A way to ask the model: with rows as "numpy3D", or in the "own" container of an instance; by which method."""

    rows: str
    method: str


@dataclass(frozen=True)
class Query:
    """The model as the engine asks it; it can be sent to another process.

    Parameters
    ----------
    ask : callable
        A method of the estimator.
    held : callable
        From rows ``(n, K, D)`` to rows that the types of the container can hold.
    shape : callable
        From such rows to a container.
    """

    ask: Callable[[Any], Any]
    held: Callable[[NDArray[Any]], NDArray[Any]]
    shape: Callable[[NDArray[Any]], Any]

    def __call__(self, rows: NDArray[Any]) -> Any:
        """The estimator's answer to rows ``(n, K, D)``."""
        container = self.shape(self.held(rows))
        with as_caller():
            return self.ask(container)


@dataclass(frozen=True)
class OfNumpy3D:
    """A function of the user's that takes numpy3D, an in-distribution test or a second model, for rows."""

    function: Callable[[NDArray[Any]], Any]

    def __call__(self, rows: NDArray[Any]) -> Any:
        """What it says of rows ``(n, K, D)``."""
        return self.function(as_numpy3D(rows))


@dataclass(frozen=True)
class Run:
    """One call of explain: it decides which instances are explained together, and how the model is asked about them.

    Parameters
    ----------
    explainer : CounterfactualExplainer
    panel : Panel
    targets : list of Target
        One for each instance.
    settings : SearchSettings
        Of the call, whose seconds are counted from now.
    features : Features
    seed : int
    progress : bool
        Whether to show a bar.
    """

    explainer: CounterfactualExplainer
    panel: Panel
    targets: list[Target]
    settings: SearchSettings
    features: Features
    seed: int
    progress: bool
    began: float = field(default_factory=time.time)  # other machines of a cluster have this clock, too

    def cheapest_formats(self, present: Prediction) -> dict[int, Format]:
        """For every instance the cheapest way to ask that gives the prediction of the user's own container."""
        model, panel = self.explainer.model, self.panel
        formats = dict.fromkeys(range(len(panel)), Format("own", model.method))
        if panel.alike:
            return formats
        expected = present.outcomes if present.probabilities is None else present.probabilities
        for group in self._by_length(range(len(panel))):
            rows = np.stack([panel.series[i] for i in group])
            try:
                container = as_numpy3D(panel.held(rows))
                with as_caller():
                    answer = getattr(model.estimator, model.method)(container)
            except Exception:  # of any kind, since the model may not take such a container
                continue
            if _same(np.asarray(answer), expected[group]):
                formats.update(dict.fromkeys(group, Format("numpy3D", model.method)))
        return formats

    @property
    def n_before(self) -> int:
        """Rows of each instance that are asked before the search: the first look, and whether a cheaper way agrees."""
        return self.explainer.model.n_asked + (not self.panel.alike)

    @property
    def n_around(self) -> int:
        """Rows of each instance that are asked before and after a search."""
        return self.n_before + self.explainer.model.n_asked

    @property
    def may_search(self) -> bool:
        """Whether any row is left for a search."""
        return self.settings.max_rows is None or self.settings.max_rows > self.n_around

    def search(self, present: Prediction) -> list[Counterfactual]:
        """The counterfactuals of all instances, with the costs of what is asked around the search."""
        formats = self.cheapest_formats(present)
        limits = for_the_search(self.settings, self.n_around)
        found = replace(self, settings=limits).explain(range(len(self.panel)), formats)
        return [with_costs(cf, self.n_around, self.n_around) for cf in found]

    def search_again(self, which: Sequence[int], details: Sequence[Counterfactual]) -> dict[int, Counterfactual]:
        """New counterfactuals of those instances, by predict on their own container; none without rows left for it."""
        if not which:
            return {}
        limits = for_the_search(self.settings, max(details[i].rows for i in which))
        if self.settings.max_rows is not None and self.settings.max_rows <= max(details[i].rows for i in which):
            return {}
        again = replace(self, settings=limits).explain(which, dict.fromkeys(which, Format("own", "predict")))
        return {
            i: with_costs(cf, details[i].rows, details[i].calls, details[i].failures, details[i].seconds)
            for i, cf in zip(which, again, strict=True)
        }

    def from_first_look(self, present: Prediction) -> list[Counterfactual]:
        """The counterfactuals of all instances where no row is left for a search."""
        found: dict[int, Counterfactual] = {}
        for group in self._by_length(range(len(self.panel))):
            engine = self._engine(group[0], Format("own", "predict"))
            series = np.stack([self.panel.series[i] for i in group])
            targets = [self.targets[i] for i in group]
            outcomes = Prediction(present.outcomes[group])
            found |= zip(group, from_first_look(engine, series, targets, outcomes), strict=True)
        return [with_costs(found[i], 1, 1) for i in range(len(self.panel))]

    def explain(self, which: Sequence[int], formats: Mapping[int, Format]) -> list[Counterfactual]:
        """The counterfactuals of those instances, in order."""
        explainer = self.explainer
        shared = [i for i in which if self.panel.alike or formats[i].rows != "own"]
        groups = [*self._by_length(shared), *([i] for i in which if i not in set(shared))]
        if explainer.backend is not None:
            n_jobs = effective_n_jobs(dict(explainer.backend_params or {}).get("n_jobs", -1))
            groups = [part.tolist() for g in groups for part in np.array_split(g, min(n_jobs, len(g)))]
        tasks = [(self._engine(g[0], formats[g[0]]), [self.panel.series[i] for i in g], g) for g in groups]
        meta = {"targets": self.targets, "began": self.began, "progress": self.progress}
        params = None if explainer.backend_params is None else dict(explainer.backend_params)
        done = parallelize(_explain_group, tasks, meta, backend=explainer.backend, backend_params=params)
        found = {i: cf for group, cfs in zip(groups, done, strict=True) for i, cf in zip(group, cfs, strict=True)}
        return [found[i] for i in which]

    def _by_length(self, which: Sequence[int]) -> list[list[int]]:
        """Those instances in groups of one length."""
        groups: dict[int, list[int]] = {}
        for i in which:
            groups.setdefault(len(self.panel.series[i]), []).append(i)
        return list(groups.values())

    def _engine(self, i: int, way: Format) -> NTDCFE:
        """The engine for instance `i` and those that are asked about in the same way."""
        explainer, model, panel = self.explainer, self.explainer.model, self.panel
        shape = functools.partial(panel.variations, i) if way.rows == "own" else as_numpy3D
        labels_only = way.method == "predict"
        return NTDCFE(
            Query(getattr(model.estimator, way.method), panel.held, shape),
            self.features,
            explainer.constraints,
            None if explainer.plausible is None else OfNumpy3D(explainer.plausible),
            with_second_model(self.settings, OfNumpy3D),
            self.seed,
            output="values" if model.regression else "labels" if labels_only else "probabilities",
            classes=model.classes,
            missing="fixed",
        )


def _explain_group(task: tuple[NTDCFE, list[NDArray[Any]], list[int]], meta: dict[str, Any]) -> list[Counterfactual]:
    """The counterfactuals of series of one length."""
    engine, series, which = task
    targets = [meta["targets"][i] for i in which]
    left = for_the_search(engine.settings, seconds=time.time() - meta["began"])
    return engine.explain_batch(np.stack(series), targets, max_seconds=left.max_seconds, progress=meta["progress"])


def _same(answer: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether two answers of a model agree, but for rounding."""
    if expected.dtype.kind == "f":
        return answer.shape == expected.shape and np.allclose(answer, expected, rtol=SAME, atol=SAME)
    return np.array_equal(answer, expected)


def seed_of(random_state: Any) -> int:
    """The seed of a ``random_state`` of scikit-learn."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"random_state must be a whole number, RandomState or None: {error}") from None
