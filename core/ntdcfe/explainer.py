"""The engine's face: ``NTDCFE(predict).explain(x, target)``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ntdcfe.batch import Batch
from ntdcfe.batched import batched
from ntdcfe.candidates import Candidates, Plausible
from ntdcfe.checkpoint import Checkpoint
from ntdcfe.constraints import Constraint
from ntdcfe.counterfactual import Counterfactual
from ntdcfe.environment import Environment, Transition, hold_to_end, stand_ins
from ntdcfe.errors import InvalidInputError
from ntdcfe.features import Features
from ntdcfe.job import Job
from ntdcfe.learner import algorithm_1
from ntdcfe.parallel import check_backend
from ntdcfe.predictor import Output, Predict, Predictor
from ntdcfe.proximity import Proximity, weighted_l1
from ntdcfe.scale import units_of
from ntdcfe.search import Search
from ntdcfe.settings import SearchSettings
from ntdcfe.target import Target


class NTDCFE:
    """Counterfactuals of any model, from its predictions alone.

    After Sun, Aoki and Wilson, "No D_train: Model-Agnostic Counterfactual Explanations Using
    Reinforcement Learning", TMLR 2025.

    Parameters
    ----------
    predict : callable
        The model: takes ``(n, K, D)`` for series or ``(n, D)`` for static data; returns labels
        ``(n,)``, probabilities ``(n, C)``, one probability or a value a row (see `output`).
    features : Features, optional
        What the columns are; continuous ones that anyone may change if not given.
    constraints : sequence of Causal or AtMost
        Features that follow others, and features that others limit.
    plausible : callable, optional
        In-distribution test: takes rows as `predict` does, returns which may be answers ``(n,)``.
    settings : SearchSettings
    seed : int
        Decides the result, together with the series and the model.
    output : {"auto", "labels", "probabilities", "probability", "values"}
        What `predict` returns. A single probability (of class 1) has to be announced.
    classes : sequence, optional
        Labels of the probability columns, or the labels that the model knows.
    missing : {"error", "fixed"}
        What becomes of NaN in a series: an error, or a cell that stays NaN, in what the model is
        asked and in every counterfactual, and counts nowhere.
    transition : callable, optional
        Another F_p than the paper's, see :data:`ntdcfe.environment.Transition`.
    proximity : callable, optional
        Another D_pxmt than the paper's, see :data:`ntdcfe.proximity.Proximity`.

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
        predict: Predict,
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
        if features is not None and not isinstance(features, Features):
            raise InvalidInputError(f"features must be a Features, got {type(features).__name__}.")
        if not isinstance(constraints, Iterable):
            raise InvalidInputError(f"constraints must be a list of Causal or AtMost, got {constraints!r}.")
        if plausible is not None and not callable(plausible):
            raise InvalidInputError(f"plausible must be a function of rows, got {plausible!r}.")
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
            raise InvalidInputError(f"seed must be a non-negative integer below 2**64, got {seed!r}.")
        if missing not in ("error", "fixed"):
            raise InvalidInputError(f"missing must be 'error' or 'fixed', got {missing!r}.")
        Predictor(predict, output, classes)  # checked at the door
        self.predict = predict
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
        n_counterfactuals: int | None = None,
        max_queries: int | None = None,
        max_seconds: float | None = None,
        progress: bool = False,
    ) -> Counterfactual:
        """The counterfactual of one series.

        Parameters
        ----------
        x : array (K, D), or (D,) for static data
        target : label, collection of labels, "other", or Target
            What the model should say.
        n_counterfactuals, max_queries, max_seconds : optional
            How many are wanted and how much may be spent, in place of the settings' values.
        progress : bool
            Whether to show a bar.

        Raises
        ------
        InvalidInputError
            Before the model is asked anything.
        PredictorError
            If the model fails and nothing is found; what was found is returned with status "model_failed".
        """
        x = np.asarray(x)
        if x.ndim not in (1, 2):
            raise InvalidInputError(
                f"x must be one series (K, D) or one static row (D,), got shape {x.shape}; explain_batch takes many."
            )
        settings = self.settings.given(
            max_queries=max_queries, max_seconds=max_seconds, n_counterfactuals=n_counterfactuals
        )
        batch = self._batch(x[None], [Target.of(target)], settings)
        ((_, cf),) = batch.pools([0], progress=progress)
        if cf.cause is not None and not cf.found:
            raise cf.cause
        return cf

    def explain_batch(
        self,
        X: ArrayLike,
        target: Any,
        *,
        n_counterfactuals: int | None = None,
        max_queries: int | None = None,
        max_seconds: float | None = None,
        progress: bool = False,
        backend: str | None = None,
        backend_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> list[Counterfactual]:
        """The counterfactuals of many series, in order; each is what `explain` gives for it alone.

        An interrupt (Ctrl-C) ends it with what is found so far, a second one at once. Where the model fails on
        some instances, their `status` is "model_failed", with the `cause`; the error is raised if it fails on all.

        Parameters
        ----------
        X : array (N, K, D), or (N, D) for static data
        target : label, collection of labels, "other", Target, or a list of N Targets
        n_counterfactuals, max_queries, max_seconds : optional
            How many are wanted and how much may be spent, in place of the settings' values:
            rows for each instance, seconds for all.
        progress : bool
            Whether to show a bar over the instances.
        backend : {None, "loky", "multiprocessing", "threading", "joblib", "dask", "ray"}
            What runs the instances, by sktime's names. None: this process, instances sharing calls to the model.
            "dask" needs a ``distributed.Client``; "joblib" takes a joblib backend's name from `backend_params`.
        backend_params : dict, optional
            Further arguments of ``joblib.Parallel``.
        n_jobs : int, optional
            How many workers, all there are if not given.
        checkpoint : path, optional
            A file that each finished instance is written to. A later call with the same series, target and
            settings goes on from there; one with others is refused. The model cannot be compared.
        """
        X = np.asarray(X)
        if X.ndim not in (2, 3):
            raise InvalidInputError(f"X must be (N, K, D), or (N, D) for static data, got shape {X.shape}.")
        if isinstance(target, (list, tuple)) and target and all(isinstance(t, Target) for t in target):
            targets = list(target)
            if len(targets) != len(X):
                raise InvalidInputError(f"one Target an instance: {len(X)} instances, {len(targets)} targets.")
        else:
            targets = [Target.of(target)] * len(X)
        settings = self.settings.given(
            max_queries=max_queries, max_seconds=max_seconds, n_counterfactuals=n_counterfactuals
        )
        options = check_backend(backend, backend_params, n_jobs)
        batch = self._batch(X, targets, settings)
        store = None if checkpoint is None else Checkpoint(checkpoint, batch.identity(), batch.X, batch.features)
        try:
            results = batch.collect(options, store, progress)
        finally:
            if store is not None:
                store.close()
        failed = [cf for cf in results if cf.cause is not None]
        if failed and all(cf.cause is not None and not cf.found for cf in results):
            raise failed[0].cause or AssertionError
        if failed:
            warnings.warn(
                f"the model failed on {len(failed)} of {len(results)} instances, first: {failed[0].cause} "
                "What was found is kept; see status and cause.",
                stacklevel=2,
            )
        return results

    def _batch(self, X: NDArray[Any], targets: list[Target], settings: SearchSettings) -> Batch:
        X = _checked(X, self.missing)
        features = Features.continuous(X.shape[-1]) if self.features is None else self.features
        if features.n_columns != X.shape[-1]:
            raise InvalidInputError(
                f"the features describe {features.n_columns} columns, the series has {X.shape[-1]}."
            )
        for target in targets:
            if self.classes is not None:
                target.check_classes(np.asarray(self.classes))
        return Batch(self, X, targets, settings, features)

    @np.errstate(over="ignore", invalid="ignore")  # bounds beyond the largest number there is are none
    def _job(
        self, state: NDArray[Any], features: Features, target: Target, settings: SearchSettings, static: bool
    ) -> Job:
        paper = settings.algorithm == "reinforce"
        missing = np.isnan(state)
        state = stand_ins(state, missing) if missing.any() else state
        environment = Environment(
            state,
            features,
            self.constraints,
            settings.on_violation,
            self.transition,
            self.proximity,
            units=None if paper else units_of(state, features, missing),
            reach=settings.reach,
            sparsity_weight=settings.sparsity_weight,
            missing=missing,
        )
        candidates = Candidates(environment, self._plausible_states(environment, static), keep=100 if paper else 32)
        search = Search(environment, settings, candidates, self.seed)
        return Job(search, target, algorithm_1 if paper else batched)

    def _plausible_states(
        self, environment: Environment, static: bool
    ) -> Callable[[NDArray[Any]], NDArray[np.bool_]] | None:
        """The user's in-distribution test, for states ``(n, K, F)``."""
        if self.plausible is None:
            return None
        plausible = self.plausible

        def test(states: NDArray[Any]) -> NDArray[np.bool_]:
            rows = environment.rows(states)
            verdict = np.asarray(plausible(rows[:, 0] if static else rows))
            if verdict.shape != (len(states),):
                raise InvalidInputError(
                    f"plausible must return one verdict a row, {(len(states),)}, got shape {verdict.shape}."
                )
            return verdict.astype(bool)

        return test


def _checked(X: NDArray[Any], missing: Literal["error", "fixed"]) -> NDArray[Any]:
    """The series as finite floating numbers, missing ones if that is allowed."""
    if X.dtype.kind not in "fiub":
        raise InvalidInputError(f"the series must be numbers, got dtype {X.dtype}.")
    if 0 in X.shape[1:]:
        raise InvalidInputError(f"the series must have at least one step and one feature, got shape {X.shape}.")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(float)
    wrong = np.isinf(X) if missing == "fixed" else ~np.isfinite(X)
    if wrong.any():
        where = [tuple(int(i) for i in at) for at in np.argwhere(wrong)[:3]]
        what = "infinity" if missing == "fixed" else "NaN or infinity"
        hint = "" if np.isinf(X[wrong]).any() else "; missing='fixed' leaves missing cells as they are"
        raise InvalidInputError(f"the series has {what}, first at (instance, step, feature) {where}{hint}.")
    return X
