"""Counterfactuals of a fitted model, in the user's own containers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sktime.utils.parallel import backend_dict

from ntdcfe import Constraint, Counterfactual, Features, InvalidInputError, SearchSettings, Target
from ntdcfe.problem.said import THE_SAME
from ntdcfe.run.batch import Shown
from ntdcfe.search.options import OptionName
from ntdcfe_plugins._shared.arguments import constraints_of, plausible_of, settings_of
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.sktime.asking import apart, apart_in_words
from ntdcfe_plugins.sktime.company import COMPANY_IN_WORDS, Company
from ntdcfe_plugins.sktime.features import features_of
from ntdcfe_plugins.sktime.model import Model, remedies
from ntdcfe_plugins.sktime.pace import in_words, seconds_a_series
from ntdcfe_plugins.sktime.panels import Panel, panel_of
from ntdcfe_plugins.sktime.result import CounterfactualResult, table_of
from ntdcfe_plugins.sktime.run import FirstLook, Run, found_by, seed_of
from ntdcfe_plugins.sktime.steps import in_steps
from ntdcfe_plugins.sktime.targets import targets_for


class CounterfactualExplainer:
    """Counterfactuals of a fitted model, from its predictions alone.

    Parameters
    ----------
    estimator : fitted sktime classifier, regressor or pipeline, or a scikit-learn one on flat series
        Asked as a whole: it is the raw input of a pipeline that changes.
    features : Features, or dict from column name to description, optional
        The kinds of the channels and how they may change, see :class:`ntdcfe.Features`; a dict may leave
        channels out. Names and whole-number types come from the container.
    constraints : sequence of Constraint
        Rules between channels: Causal, AtMost, or a Constraint of your own.
    plausible : callable, optional
        In-distribution test: takes numpy3D ``(n, channel, time)``, returns which may be answers ``(n,)``.
    settings : SearchSettings, optional
    random_state : int, RandomState or None
        An int makes results the same on every run.
    backend : str, optional
        Where many instances are explained: one of sktime's backends ("loky", "multiprocessing",
        "threading", "joblib", "dask", "ray"). In this process if not given, which is often the fastest:
        instances then share calls to the model. All backends give the same counterfactuals.
    backend_params : dict, optional
        As in sktime, for instance ``{"n_jobs": 2}``.

    Examples
    --------
    >>> from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
    >>> from sktime.datasets import load_unit_test
    >>> from sktime.dists_kernels import FlatDist, ScipyDist
    >>> from ntdcfe_plugins.sktime import CounterfactualExplainer
    >>> X, y = load_unit_test(split="train", return_type="numpy3D")
    >>> clf = KNeighborsTimeSeriesClassifier(distance=FlatDist(ScipyDist())).fit(X, y)
    >>> result = CounterfactualExplainer(clf, random_state=0).explain(X[:2], target="other", max_rows=500)
    >>> result
    CounterfactualResult(2 instances, 2 valid)
    >>> bool((clf.predict(result.counterfactuals) != clf.predict(X[:2])).all())
    True
    """

    def __init__(
        self,
        estimator: Any,
        features: Features | Mapping[str, Any] | None = None,
        constraints: Sequence[Constraint] = (),
        plausible: Callable[[NDArray[Any]], Any] | None = None,
        settings: SearchSettings | None = None,
        random_state: Any = None,
        backend: str | None = None,
        backend_params: Mapping[str, Any] | None = None,
    ) -> None:
        if backend is not None and (backend not in backend_dict or backend == "dask_lazy"):
            known = sorted(set(backend_dict) - {"None", "dask_lazy"})
            raise InvalidInputError(f"backend must be None or one of {known}, got {backend!r}.")
        if backend_params is not None and not isinstance(backend_params, Mapping):
            raise InvalidInputError(f"backend_params must be a dict or None, got {backend_params!r}.")
        self.model = Model(estimator)
        self.estimator = estimator
        self.features = features
        self.constraints = constraints_of(constraints)
        self.plausible = plausible_of(plausible)
        self.settings = settings_of(settings)
        self.random_state = random_state
        self.backend = backend
        self.backend_params = backend_params

    def __repr__(self) -> str:
        return f"CounterfactualExplainer({self.estimator!r})"

    @silent()
    def explain(
        self,
        X: Any,
        target: Any = "other",
        *,
        prefer: OptionName | None = None,
        n_counterfactuals: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        seconds_per_series: float | None = None,
        actionable_steps: Any = None,
        progress: Shown = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> CounterfactualResult:
        """The counterfactuals of one series or of a panel.

        Parameters
        ----------
        X : panel of mtype numpy3D, numpyflat, pd-multiindex, nested_univ or df-list, or one series
            One series is a DataFrame (time by channels), a Series or a one-dimensional array. Lengths may
            differ, and NaN stays NaN, if the estimator's tags say that it takes them.
        target : label, list of labels, "other", Target, or one of these for each instance
            The wanted prediction: of a classifier a label, any of several, or any but the present
            one; of a regressor an interval ``(lower, upper)``, None for an open end. For each instance: a
            Series or an array of labels, or a list of Targets or of intervals.
        prefer : {"simplest", "nearest", "sturdiest"}, optional
            Which kind of answer is wanted, in place of the settings' value; ``details`` has the others.
        n_counterfactuals, max_rows, max_seconds : optional
            How many are wanted (``details`` has all), and the budget, in place of the settings' values: rows for
            each instance, seconds for all. A row is a series that the estimator is asked about by one of its methods.
        seconds_per_series : float, optional
            About how long a series may take: a slow estimator is asked fewer rows, and the result says so. 60 where
            neither this nor `max_rows` is said; infinite for no limit. Where all rows are answered in time, this
            changes nothing, and the seed alone decides the result.
        actionable_steps : slice or list, of times or of positions, or a mask, optional
            The steps that may change, beside what `features` says: ``slice("2024-05", None)`` by each instance's own
            time index, ``slice(-8, None)`` by positions.
        progress : bool or callable
            Whether to show a bar of rows, which moves while a series is worked on (on workers, when one is finished);
            or a function that is told of a :class:`ntdcfe.Progress`.
        checkpoint : path, optional
            A file that each finished instance is written to; a later call with the same series, target and settings
            goes on from there, see :meth:`ntdcfe.NTDCFE.explain_batch`. Instances that cannot share calls (of
            different lengths, for instance) get a file for each group, with the position of its first instance in
            its name.

        Raises
        ------
        InvalidInputError
            An argument is wrong; raised before the model is asked about any other series than those of X.
        TypeError, ValueError
            The estimator's own, where it does not take X.
        PredictorError
            The model fails in another way, and no counterfactual is found.
        """
        model = self.model
        panel, as_given = panel_of(X, tabular=not model.is_sktime)
        targets = targets_for(model, target, len(panel))
        settings = (self.settings or SearchSettings()).given(
            prefer=prefer, n_counterfactuals=n_counterfactuals, max_rows=max_rows, max_seconds=max_seconds
        )
        features, seed = features_of(self.features, panel), seed_of(self.random_state)
        seconds = seconds_a_series(settings, max_rows, seconds_per_series, len(panel))
        run = Run(self, panel, targets, settings, features, seed, progress, actionable_steps, checkpoint, seconds)
        run.check_steps()

        with remedies():
            began = time.monotonic()
            present = model.first_look(panel, run.may_search, each=settings.max_batch_size == 1)
            first = FirstLook(present, (time.monotonic() - began) / model.n_asked)
            company = run.company(first)
            if company.matters:
                run = replace(run, settings=replace(settings, max_batch_size=1))
                present = model.first_look(panel, run.may_search, each=True)
                first = first._replace(said=present)
            targets = [t.given(present[i : i + 1]) for i, t in enumerate(targets)]
            details, predicted, valid, note = self._searched(run, first, targets, company)
        details = [in_steps(cf, panel.step_names(i)) for i, cf in enumerate(details)]
        if all(not cf.found and cf.said.endswith(THE_SAME) and not cf.contradicted for cf in details):
            hint = (
                "the model said the same of everything: see whether it tells series apart at all, by its predict of "
                "those that it was fitted to; a constant model has no counterfactuals, and has to be trained better"
            )
            note = "; ".join(filter(None, [note, hint]))
        table = table_of(panel, details, targets, present, predicted, valid, settings.prefer)
        answers, by = as_given(panel.filled(_answers(panel, details))), found_by(self, settings)
        return CounterfactualResult(answers, table, details, note, by)

    def _searched(
        self, run: Run, first: FirstLook, targets: list[Target], company: Company
    ) -> tuple[list[Counterfactual], list[Any], NDArray[np.bool_], str]:
        """The counterfactuals, what the model predicts of them in the container, which reach their targets, a note."""
        present = first.said
        if not run.may_search:
            details = run.from_first_look(present)
            return details, list(present.outcomes), np.array([cf.found for cf in details]), ""
        details, limits = run.search(first, company)
        slow = in_words(run.limits, limits, run.seconds)
        if limits.max_batch_size == 1:
            prediction = self.model.ask_each(run.panel, _answers(run.panel, details))
        else:
            prediction = self.model.ask(run.panel.filled(_answers(run.panel, details)), len(details))
        reached = [t.reached(prediction[i : i + 1])[0] for i, t in enumerate(targets)]
        valid, predicted = np.array(reached) & [cf.found for cf in details], list(prediction.outcomes)
        # Where predict disagrees with the probabilities, or the container matters, predict on the container decides:
        # it is asked by another search, unless the time is spent.
        wrong = [] if slow else [i for i, cf in enumerate(details) if cf.found and not valid[i]]
        for i, cf in run.search_again(wrong, details).items():
            details[i], valid[i] = cf, cf.found
            predicted[i] = present.outcomes[i] if cf.prediction is None else cf.prediction
        notes = [slow, COMPANY_IN_WORDS if company.matters else "", apart_in_words(len(apart(present, targets)))]
        return details, predicted, valid, "; ".join(filter(None, notes))


def _answers(panel: Panel, details: list[Counterfactual]) -> list[NDArray[Any]]:
    """The counterfactuals, and the series that have none as they are."""
    return [one if cf.x is None else cf.x for one, cf in zip(panel.series, details, strict=True)]
