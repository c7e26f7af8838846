"""The search for counterfactuals of a panel: in groups that share calls to the model, here or on workers."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sktime.utils.parallel import parallelize

from ntdcfe import NTDCFE, Counterfactual, Features, InvalidInputError, SearchSettings, Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe.run.batch import Shown
from ntdcfe.run.checkpoint import begun_with
from ntdcfe_plugins._shared.arguments import with_second_model
from ntdcfe_plugins._shared.asked import from_first_look
from ntdcfe_plugins._shared.budget import for_the_search, with_costs
from ntdcfe_plugins._shared.found_by import FoundBy
from ntdcfe_plugins._shared.numpy_errors import as_caller
from ntdcfe_plugins.sktime.asking import Format, OfNumpy3D, Query, apart, same
from ntdcfe_plugins.sktime.bar import RowBar
from ntdcfe_plugins.sktime.company import MOST_ROWS, Company
from ntdcfe_plugins.sktime.pace import TRIAL_ROWS, TRIAL_SHARE, Pace, as_begun
from ntdcfe_plugins.sktime.panels import Panel
from ntdcfe_plugins.sktime.steps import step_mask
from ntdcfe_plugins.sktime.values import as_numpy3D

if TYPE_CHECKING:
    from ntdcfe_plugins.sktime.explainer import CounterfactualExplainer


class FirstLook(NamedTuple):
    """What the model says of the series, and the seconds that it took for this, for each of its methods."""

    said: Prediction
    seconds: float


@dataclass(frozen=True)
class Call:
    """One call of explain: what is asked for, which instances share calls, and the engine that explains them.

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
    progress : bool or callable
        Whether to show a bar of rows, or a function of a :class:`ntdcfe.Progress`.
    actionable_steps : slice, list or mask, optional
        The steps that may change, by times of the container or by positions.
    checkpoint : path, optional
        A file that finished instances are written to; where they cannot be searched together, a file for each group,
        with the position of its first instance at the end of its name.
    seconds : float or None
        That a series may take: a slow model is asked fewer rows; None where the rows of the settings are asked.
    """

    explainer: CounterfactualExplainer
    panel: Panel
    targets: list[Target]
    settings: SearchSettings
    features: Features
    seed: int
    progress: Shown = False
    actionable_steps: Any = None
    checkpoint: str | os.PathLike[str] | None = None
    seconds: float | None = None
    began: float = field(default_factory=time.time)  # other machines of a cluster have this clock, too

    @property
    def n_before(self) -> int:
        """Rows of each instance that are asked before the search: the first look, and whether a cheaper way agrees."""
        return self.explainer.model.n_asked + (not self.panel.alike)

    @property
    def n_around(self) -> int:
        """Rows of each instance that are asked before and after a search, a trial of the pace not counted."""
        return self.n_before + self.explainer.model.n_asked

    @property
    def n_trial(self) -> int:
        """Rows that are set aside for trials (of the pace, of company), made or not.

        So the time does not decide the result.
        """
        few = self.settings.max_rows is not None and self.settings.max_rows <= 2 * TRIAL_ROWS
        return 0 if self.seconds is None or few else TRIAL_ROWS

    @property
    def may_search(self) -> bool:
        """Whether any row is left for a search."""
        return self.settings.max_rows is None or self.settings.max_rows > self.n_around

    @property
    def limits(self) -> SearchSettings:
        """Of the search, where the model is fast."""
        return for_the_search(self.settings, self.n_around + self.n_trial)

    @property
    def _seconds_left(self) -> float | None:
        return for_the_search(self.settings, seconds=time.time() - self.began).max_seconds

    def _file(self, group: Sequence[int], n_groups: int) -> str | os.PathLike[str] | None:
        """The checkpoint of a group."""
        if self.checkpoint is None or n_groups == 1:
            return self.checkpoint
        path = Path(self.checkpoint)
        return path.with_name(f"{path.stem}-{group[0]}{path.suffix}")

    def _groups(self, which: Sequence[int], formats: Mapping[int, Format]) -> list[list[int]]:
        """Those instances in groups that share calls."""
        shared = [i for i in which if self.panel.alike or formats[i].rows != "own"]
        ways = [[i for i in shared if formats[i] == way] for way in dict.fromkeys(formats[i] for i in shared)]
        together = [group for some in ways for group in self._by_length(some)]
        return [*together, *([i] for i in which if i not in set(shared))]

    def check_steps(self) -> None:
        """Refuse steps that an instance does not have, before the model is asked anything."""
        for i in range(len(self.panel)):
            self._steps(i)

    def _steps(self, i: int) -> NDArray[np.bool_] | None:
        """Which steps of instance `i` may change ``(K,)``; None if the features alone say so."""
        if self.actionable_steps is None:
            return None
        times = self.panel.times(i)
        mask = step_mask(self.actionable_steps, times) & self.features.step_mask(len(times))
        if not mask.any():
            raise InvalidInputError(
                f"actionable_steps leaves no step of instance {self.panel.index[i]!r} to change: it has {times[0]} to "
                f"{times[-1]}, got {self.actionable_steps!r}."
            )
        return mask

    def _by_length(self, which: Sequence[int]) -> list[list[int]]:
        """Those instances in groups of one length, the same steps of which may change."""
        groups: dict[tuple[int, bytes], list[int]] = {}
        for i in which:
            steps = self._steps(i)
            groups.setdefault((len(self.panel.series[i]), b"" if steps is None else steps.tobytes()), []).append(i)
        return list(groups.values())

    def _engine(self, group: Sequence[int], way: Format) -> NTDCFE:
        """The engine for instances that are asked about in the same way."""
        explainer, model, panel = self.explainer, self.explainer.model, self.panel
        steps = self._steps(group[0])
        features = self.features if steps is None else replace(self.features, actionable_steps=steps)
        shape = functools.partial(panel.variations, group[0]) if way.rows == "own" else as_numpy3D
        labels_only = way.method == "predict"
        return NTDCFE(
            Query(getattr(model.estimator, way.method), panel.held, shape),
            features,
            explainer.constraints,
            None if explainer.plausible is None else OfNumpy3D(explainer.plausible),
            with_second_model(self.settings, OfNumpy3D),
            self.seed,
            output="values" if model.regression else "labels" if labels_only else "probabilities",
            classes=model.classes,
            missing="fixed",
        )


@dataclass(frozen=True)
class Run(Call):
    """The searches of one call of explain, here or on workers; see :class:`Call` for its parameters."""

    def cheapest_formats(self, present: Prediction) -> dict[int, Format]:
        """For every instance the cheapest way to ask that gives the prediction of the user's own container.

        Where predict does not say the likeliest class, as that of a support vector machine may not, probabilities lead
        elsewhere: it is asked itself, from the start.
        """
        model, panel = self.explainer.model, self.panel
        formats = dict.fromkeys(range(len(panel)), Format("own", model.method))
        formats |= dict.fromkeys(apart(present, self.targets), Format("own", "predict"))
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
            if same(np.asarray(answer), expected[group]):
                formats.update({i: Format("numpy3D", formats[i].method) for i in group})
        return formats

    def company(self, first: FirstLook) -> Company:
        """Whether the model answers by company, as far as rows are set aside and there is time to ask."""
        slow = self.seconds is not None and 2 * first.seconds / len(self.panel) > TRIAL_SHARE * self.seconds
        if not self.n_trial or slow or self.settings.max_batch_size == 1:
            return Company()
        known = first.said.outcomes if first.said.probabilities is None else first.said.probabilities
        ask = self._engine([0], Format("own", self.explainer.model.method)).predict
        return Company.of(ask, self.panel.series[0], known[0])

    def search(self, first: FirstLook, company: Company) -> tuple[list[Counterfactual], SearchSettings]:
        """The counterfactuals of all instances, with the costs of what is asked around the search; and its limits.

        Returns
        -------
        found : list of Counterfactual
        limits : SearchSettings
            Of the search itself: without the rows that are asked around it, and with fewer where the model is slow.
        """
        everyone, formats = range(len(self.panel)), self.cheapest_formats(first.said)
        limits, trial = self.limits, 0
        if self.seconds is not None:
            pace, trial = (Pace(0.0, company.seconds), 0) if company.matters else self._pace(first.seconds, formats[0])
            limits = pace.fitted(limits, self.seconds, len(self.panel))
            if self.checkpoint is not None:
                groups = self._groups(everyone, formats)
                limits = as_begun(limits, begun_with(self._file(groups[0], len(groups)) or ""))
        found = replace(self, settings=limits).explain(everyone, formats)
        each = self.n_around + (self.explainer.model.n_asked if company.matters else 0)  # the first look once more
        of_first = (each + trial + company.rows, each + (trial > 0) + company.calls)
        costs = [of_first] + [(each, each)] * (len(found) - 1)
        return [with_costs(cf, *cost) for cf, cost in zip(found, costs, strict=True)], limits

    def _pace(self, look: float, way: Format) -> tuple[Pace, int]:
        """What the model takes for an answer, and the rows of the first instance that were asked to know it."""
        assert self.seconds is not None
        at_most = look / len(self.panel)
        slow = Pace(0.0, at_most).seconds(self.limits) > self.seconds
        rows = min(self.n_trial - MOST_ROWS, int(TRIAL_SHARE * self.seconds / max(at_most, 1e-9)))
        if not slow or rows < 2:
            return Pace(0.0, at_most), 0
        ask = self._engine([0], way).predict
        began = time.monotonic()
        ask(np.repeat(self.panel.series[0][None], rows, axis=0))
        return Pace.measured([(len(self.panel), look), (rows, time.monotonic() - began)]), rows

    def search_again(self, which: Sequence[int], details: Sequence[Counterfactual]) -> dict[int, Counterfactual]:
        """New counterfactuals of those instances, by predict on their own container; none without rows left for it."""
        if not which:
            return {}
        limits = for_the_search(self.settings, max(details[i].rows for i in which))
        if self.settings.max_rows is not None and self.settings.max_rows <= max(details[i].rows for i in which):
            return {}
        run, formats = replace(self, settings=limits, checkpoint=None), dict.fromkeys(which, Format("own", "predict"))
        again = run.explain(which, formats)
        return {
            i: with_costs(cf, details[i].rows, details[i].calls, details[i].failures, details[i].seconds)
            for i, cf in zip(which, again, strict=True)
        }

    def from_first_look(self, present: Prediction) -> list[Counterfactual]:
        """The counterfactuals of all instances where no row is left for a search."""
        found: dict[int, Counterfactual] = {}
        for group in self._by_length(range(len(self.panel))):
            engine = self._engine(group, Format("own", "predict"))
            series = np.stack([self.panel.series[i] for i in group])
            targets = [self.targets[i] for i in group]
            outcomes = Prediction(present.outcomes[group])
            found |= zip(group, from_first_look(engine, series, targets, outcomes), strict=True)
        return [with_costs(found[i], 1, 1) for i in range(len(self.panel))]

    def explain(self, which: Sequence[int], formats: Mapping[int, Format]) -> list[Counterfactual]:
        """The counterfactuals of those instances, in order."""
        groups = self._groups(which, formats)
        with RowBar(self.progress, self.settings.max_rows, len(which)) as bar:
            alone = [group for group in groups if len(group) == 1] if self.explainer.backend is not None else []
            found = self._each_on_a_worker(alone, formats, len(groups))
            bar.of_group(len(alone))
            for group in groups:
                if group in alone:
                    continue
                cfs = self._engine(group, formats[group[0]]).explain_batch(
                    np.stack([self.panel.series[i] for i in group]),
                    [self.targets[i] for i in group],
                    max_seconds=self._seconds_left,
                    progress=bar.of_group(len(group)),
                    backend=self.explainer.backend,
                    backend_params=self.explainer.backend_params,
                    checkpoint=self._file(group, len(groups)),
                )
                found |= zip(group, cfs, strict=True)
        return [found[i] for i in which]

    def _each_on_a_worker(
        self, groups: Sequence[Sequence[int]], formats: Mapping[int, Format], n_groups: int
    ) -> dict[int, Counterfactual]:
        """The counterfactuals of instances that can share no call, all of them at once by sktime's backends."""
        explainer = self.explainer
        tasks = [
            (self._engine(g, formats[g[0]]), self.panel.series[g[0]], self.targets[g[0]], self._file(g, n_groups))
            for g in groups
        ]
        params = None if explainer.backend_params is None else dict(explainer.backend_params)
        meta = {"began": self.began}
        done = parallelize(_explain_one, tasks, meta, backend=explainer.backend, backend_params=params)
        return {group[0]: cf for group, cf in zip(groups, done, strict=True)}


def _explain_one(
    task: tuple[NTDCFE, NDArray[Any], Target, str | os.PathLike[str] | None], meta: dict[str, Any]
) -> Counterfactual:
    """The counterfactual of one series, on a worker."""
    engine, series, target, checkpoint = task
    left = for_the_search(engine.settings, seconds=time.time() - meta["began"])
    (cf,) = engine.explain_batch(series[None], [target], max_seconds=left.max_seconds, checkpoint=checkpoint)
    return cf


def found_by(explainer: Any, settings: SearchSettings) -> FoundBy:
    """What a letter tells of a search of an explainer of sktime's models."""
    given = explainer.random_state
    seed = int(given) if isinstance(given, (int, np.integer)) else None
    return FoundBy(seed, settings, explainer.constraints, explainer.plausible)


def seed_of(random_state: Any) -> int:
    """The seed of a ``random_state`` of scikit-learn."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"random_state must be a whole number, RandomState or None: {error}") from None
