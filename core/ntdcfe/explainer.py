"""The engine's face: ``NTDCFE(predict).explain(x, target)``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntdcfe.counterfactual import Counterfactual
from ntdcfe.errors import InvalidInputError
from ntdcfe.model.predictor import Output, Predict, Predictor, no_model
from ntdcfe.model.session import Session
from ntdcfe.problem.constraints import Constraint
from ntdcfe.problem.features import Features
from ntdcfe.problem.objective import Proximity, weighted_l1
from ntdcfe.problem.plausibility import Plausible
from ntdcfe.problem.problem import Problem
from ntdcfe.problem.target import Target
from ntdcfe.problem.transition import Transition, hold_to_end
from ntdcfe.run.batch import Shown, batch_of
from ntdcfe.run.checkpoint import Checkpoint
from ntdcfe.run.instance import problem_of
from ntdcfe.run.parallel import check_backend
from ntdcfe.search.options import OptionName
from ntdcfe.settings import SearchSettings


class NTDCFE:
    """Counterfactuals of any model, from its predictions alone.

    After Sun, Aoki and Wilson, "No D_train: Model-Agnostic Counterfactual Explanations Using
    Reinforcement Learning", TMLR 2025.

    Parameters
    ----------
    predict : callable
        The model: takes ``(n, K, D)`` for series or ``(n, D)`` for static data; returns labels
        ``(n,)``, probabilities ``(n, C)``, one probability or a value a row (see `output`). None if the caller
        will ask the model, see :meth:`session`.
    features : Features, optional
        What the columns are; continuous ones that anyone may change if not given.
    constraints : sequence of Constraint
        What features owe to each other: Causal, AtMost, or one of your own.
    plausible : callable, optional
        In-distribution test: takes rows as `predict` does, returns which may be answers ``(n,)``.
    settings : SearchSettings
    seed : int
        Decides the result, together with the series and the model; to the last bit on one kind of processor, by which
        torch and numpy's BLAS choose their instructions, and with the same versions of them.
    output : {"auto", "labels", "probabilities", "probability", "values"}
        What `predict` returns. A single probability (of class 1) has to be announced.
    classes : sequence, optional
        Labels of the probability columns, or the labels that the model knows.
    missing : {"error", "fixed"}
        What becomes of NaN in a series: an error, or a cell that stays NaN, in what the model is
        asked and in every counterfactual, and counts nowhere.
    transition : callable, optional
        Another F_p than the paper's, see :data:`ntdcfe.problem.transition.Transition`.
    proximity : callable, optional
        Another D_pxmt than the paper's, see :data:`ntdcfe.problem.objective.Proximity`.

    Examples
    --------
    >>> import numpy as np
    >>> from ntdcfe import NTDCFE
    >>> def predict(X):  # (n, K, D) -> labels (n,)
    ...     return (X[:, -3:, 0].min(axis=1) > 0).astype(int)
    >>> cf = NTDCFE(predict, seed=1).explain(np.full((8, 2), -0.5), target=1)
    >>> cf.found, predict(cf.x[None])
    (True, array([1]))
    """

    def __init__(
        self,
        predict: Predict | None,
        features: Features | None = None,
        constraints: Sequence[Constraint] = (),
        plausible: Plausible | None = None,
        settings: SearchSettings | None = None,
        seed: int = 0,
        *,
        output: Output = "auto",
        classes: Sequence[Any] | NDArray[Any] | None = None,
        missing: Literal["error", "fixed"] = "error",
        transition: Transition = hold_to_end,
        proximity: Proximity = weighted_l1,
    ) -> None:
        _check_arguments(features, constraints, plausible, seed, missing)
        self.predict = no_model if predict is None else predict
        Predictor(self.predict, output, classes)  # checked at the door
        self.features = features
        self.constraints = tuple(constraints)
        self.plausible = plausible
        self.settings = SearchSettings() if settings is None else settings
        self.seed = int(seed)
        self.output = output
        self.classes = classes
        self.missing = missing
        self.transition = transition
        self.proximity = proximity

    def explain(
        self,
        x: ArrayLike,
        target: Any,
        *,
        prefer: OptionName | None = None,
        n_counterfactuals: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        progress: Shown = False,
    ) -> Counterfactual:
        """The counterfactual of one series.

        Parameters
        ----------
        x : array (K, D), or (D,) for static data
        target : label, collection of labels, "other", or Target
            What the model should say.
        prefer : {"simplest", "nearest", "sturdiest"}, optional
            Which kind of answer is wanted, in place of the settings' value; the others are in `options`.
        n_counterfactuals, max_rows, max_seconds : optional
            How many are wanted and how much may be spent, in place of the settings' values.
        progress : bool or callable
            Whether to show a bar of rows with the best so far; or a function that is told of a
            :class:`ntdcfe.Progress` after each call. Python's logger "ntdcfe" is told, too.

        Raises
        ------
        InvalidInputError
            Before the model is asked anything.
        PredictorError
            If the model fails and nothing is found; what was found is returned with status "model_failed".
        """
        x = _one(x)
        settings = self.settings.given(
            prefer=prefer, max_rows=max_rows, max_seconds=max_seconds, n_counterfactuals=n_counterfactuals
        )
        batch = batch_of(self, x[None], [Target.of(target, self.classes)], settings)
        cf = batch.alone(progress)
        if cf.cause is not None and not cf.found:
            raise cf.cause
        return cf

    def explain_batch(
        self,
        X: ArrayLike,
        target: Any,
        *,
        prefer: OptionName | None = None,
        n_counterfactuals: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        progress: Shown = False,
        backend: str | None = None,
        backend_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        batch_as_reference: bool = False,
    ) -> list[Counterfactual]:
        """The counterfactuals of many series, in order; each is what `explain` gives for it alone, unless calls fail.

        An interrupt (Ctrl-C) ends it with what is found so far, a second one at once. Where the model fails on
        some instances, their `status` is "model_failed", with the `cause`; the error is raised if it fails on all.

        Parameters
        ----------
        X : array (N, K, D), or (N, D) for static data
        target : label, collection of labels, "other", Target, or a list of N Targets
        prefer : {"simplest", "nearest", "sturdiest"}, optional
            Which kind of answer is wanted, in place of the settings' value; the others are in `options`.
        n_counterfactuals, max_rows, max_seconds : optional
            In place of the settings' values: rows for each instance, seconds for all.
        progress : bool or callable
            Whether to show a bar over the instances, with the time left; or a function, as of `explain`.
        backend : {None, "loky", "multiprocessing", "threading", "joblib", "dask", "ray"}
            What runs the instances, by sktime's names. None: this process, instances sharing calls to the model.
            "dask" needs a ``distributed.Client``; "joblib" takes a joblib backend's name from `backend_params`.
        backend_params, n_jobs : optional
            Further arguments of ``joblib.Parallel``, and how many workers, all there are if not given.
        checkpoint : path, optional
            A file that each finished instance is written to. A later call with the same series, target and
            settings goes on from there; one with others is refused. The model itself is not compared.
        batch_as_reference : bool
            Whether the other series may serve as starts: for targets that are hard to reach, at a few rows more.
        """
        X = np.asarray(X)
        if X.ndim not in (2, 3):
            raise InvalidInputError(f"X must be (N, K, D), or (N, D) for static data, got shape {X.shape}.")
        targets = _targets(target, len(X), self.classes)
        settings = self.settings.given(
            prefer=prefer, max_rows=max_rows, max_seconds=max_seconds, n_counterfactuals=n_counterfactuals
        )
        options = check_backend(backend, backend_params, n_jobs)
        batch = batch_of(self, X, targets, settings, batch_as_reference)
        store = None if checkpoint is None else Checkpoint(checkpoint, batch.identity(), batch.X, batch.features)
        try:
            results = batch.collect(options, store, progress)
        finally:
            if store is not None:
                store.close()
        _report_failures(results)
        return results

    def session(self, x: ArrayLike, target: Any, *, max_rows: int | None = None) -> Session:
        """An explanation of one series whose questions the caller answers: ``ask``, ``tell``, ``result``.

        Arguments are as in :meth:`explain`. The explainer's own `predict` is not asked, and may be None.
        """
        x = _one(x)
        batch = batch_of(self, x[None], [Target.of(target, self.classes)], self.settings.given(max_rows=max_rows))
        return Session(batch.job(0), batch.driver.predictor, batch.X[0])

    def problem(self, state: NDArray[Any], features: Features, settings: SearchSettings | None = None) -> Problem:
        """The states that a series may take, what they cost, and which may be answers.

        Parameters
        ----------
        state : array (K, F)
            One value a feature, NaN where a cell is missing; see :meth:`ntdcfe.Features.encode`.
        features : Features
        settings : SearchSettings, optional
            In place of the explainer's own.
        """
        return problem_of(self, state, features, settings or self.settings)


def _check_arguments(features: Any, constraints: Any, plausible: Any, seed: Any, missing: Any) -> None:
    if features is not None and not isinstance(features, Features):
        raise InvalidInputError(f"features must be a Features, got {type(features).__name__}.")
    if not isinstance(constraints, Iterable):
        raise InvalidInputError(f"constraints must be a list of Constraints, got {constraints!r}.")
    if plausible is not None and not callable(plausible):
        raise InvalidInputError(f"plausible must be a function of rows, got {plausible!r}.")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise InvalidInputError(f"seed must be a non-negative integer below 2**64, got {seed!r}.")
    if missing not in ("error", "fixed"):
        raise InvalidInputError(f"missing must be 'error' or 'fixed', got {missing!r}.")


def _one(x: ArrayLike) -> NDArray[Any]:
    x = np.asarray(x)
    if x.ndim not in (1, 2):
        raise InvalidInputError(
            f"x must be one series (K, D) or one static row (D,), got shape {x.shape}; explain_batch takes many."
        )
    return x


def _targets(target: Any, n: int, classes: Any) -> list[Target]:
    if not (isinstance(target, (list, tuple)) and target and all(isinstance(t, Target) for t in target)):
        return [Target.of(target, classes)] * n
    if len(target) != n:
        raise InvalidInputError(f"one Target an instance: {n} instances, {len(target)} targets.")
    return list(target)


def _report_failures(results: Sequence[Counterfactual]) -> None:
    """Warn of the instances on which the model failed; raise if it failed on all of them and nothing was found."""
    failed = [cf for cf in results if cf.cause is not None]
    if not failed:
        return
    if all(cf.cause is not None and not cf.found for cf in results):
        raise failed[0].cause or AssertionError
    warnings.warn(
        f"the model failed on {len(failed)} of {len(results)} instances, first: {failed[0].cause} "
        "What was found is kept; see status and cause.",
        stacklevel=3,
    )
