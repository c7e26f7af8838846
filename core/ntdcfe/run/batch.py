"""Many instances of one call: in pools that share calls to the model, or on workers; from a checkpoint, or anew."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ntdcfe.counterfactual import Counterfactual
from ntdcfe.errors import InvalidInputError, NTDCFEError, PredictorError, in_words
from ntdcfe.model.driver import Driver
from ntdcfe.model.job import Job
from ntdcfe.model.predictor import Output, Predictor
from ntdcfe.model.result import result
from ntdcfe.model.second import SecondModel
from ntdcfe.model.threads import one_thread
from ntdcfe.model.watch import Progress, Watch
from ntdcfe.problem.codec import plain, plain_features
from ntdcfe.problem.features import Features
from ntdcfe.problem.target import Target
from ntdcfe.problem.whole import are_whole, check_exact, kept_whole
from ntdcfe.run.checkpoint import Checkpoint
from ntdcfe.run.instance import job_of
from ntdcfe.run.parallel import AT_ONCE, Halt, in_parallel
from ntdcfe.settings import SearchSettings
from ntdcfe.version import __version__

if TYPE_CHECKING:
    from ntdcfe.explainer import NTDCFE

Shown: TypeAlias = bool | Callable[[Progress], object]
Results: TypeAlias = Generator[tuple[int, Counterfactual], None, None]

# Values of all series whose searches share calls: bounds the memory of a batch.
POOLED_VALUES = 20_000
# Values of all series whose jobs are kept from the first check on: bounds the memory of a large batch.
KEPT_VALUES = 1_000_000
# What is said of an instance that ends whatever process explains it.
DEADLY = "the process at work on this instance died, and so did another one that had nothing else to do."
# Settings that decide how long it takes and what it withstands, not what comes out.
OPERATIONAL = ("max_seconds", "max_batch_size", "retries", "retry_wait", "call_seconds")


class Batch:
    """The instances of one call of `explain` or `explain_batch`.

    Parameters
    ----------
    explainer : NTDCFE
    X : array (N, K, D) or (N, D)
        Finite floating numbers, or integers where the features are whole numbers.
    targets : list of N Targets
    settings : SearchSettings
        With what the call says in place of the explainer's.
    features : Features
    references : array (R, K, F), optional
        States that each search may start from.
    """

    def __init__(
        self,
        explainer: NTDCFE,
        X: NDArray[Any],
        targets: Sequence[Target],
        settings: SearchSettings,
        features: Features,
        references: NDArray[Any] | None = None,
    ) -> None:
        self.explainer = explainer
        self.X = X
        self.targets = targets
        self.settings = settings
        self.features = features
        self.references = references
        self.static = X.ndim == 2
        predictor, self.second = self._predictors()
        self.driver = Driver(predictor, self.static, settings.max_seconds)
        if self.second is not None:
            self.second.deadline = predictor.deadline
        self.states = features.encode(X[:, None] if self.static else X)  # (N, K, F)
        self._built: dict[int, Job] = {}

    def _predictors(self) -> tuple[Predictor, Predictor | None]:
        """The model, and the second one that answers may have to convince."""
        explainer, settings, survival = self.explainer, self.settings, self.settings.survival
        common = (
            explainer.classes,
            settings.max_batch_size,
            any(target.regression for target in self.targets),
            settings.retries,
            settings.retry_wait,
            settings.call_seconds,
        )
        first = Predictor(explainer.predict, explainer.output, *common)
        if survival is None or survival.second_model is None:
            return first, None
        # Probabilities and labels look different; one column of probabilities has to be announced.
        form: Output = "probability" if explainer.output == "probability" else "auto"
        return first, Predictor(survival.second_model, form, *common)

    def collect(self, options: Mapping[str, Any], store: Checkpoint | None, progress: Shown) -> list[Counterfactual]:
        """What became of every instance, in order; written to the store as it comes."""
        watch = self.driver.watch = _watch(len(self.X), progress)
        known = {} if store is None else dict(store.results)
        todo = list(range(len(self.X))) if store is None else store.todo()
        self._check(todo)
        watch.begin(len(self.X) - len(todo))
        results, cause = dict(known), None
        source = (
            self.pools(todo, AT_ONCE if store else None) if options["backend"] is None else self._workers(todo, options)
        )
        hidden, done = progress is not True, len(self.X) - len(todo)
        # Closed whatever ends this: workers leave the caller's threads as they were.
        with closing(source), tqdm(total=len(self.X), initial=done, unit="instance", disable=hidden) as bar:
            while True:
                try:
                    for i, cf in source:
                        if cf.found or i not in known:
                            results[i] = cf
                        if store is not None:
                            store.add(i, cf)
                        bar.update()
                        watch.finished(i, cf.status, cf.rows, cf.proximity)
                    break
                except KeyboardInterrupt:
                    if self.driver.interrupted:
                        raise
                    self.driver.interrupted = True
                    if options["backend"] is not None:
                        source.close()
                    # The loop goes on once more, so that instances which the pool has finished are not lost.
                except NTDCFEError:
                    raise
                except Exception as lost:
                    if not results:
                        raise
                    cause = PredictorError(f"the run ended early ({type(lost).__name__}: {in_words(lost)})")
                    cause.__cause__ = lost
                    break
        return [results[i] if i in results else self.untouched(i, cause) for i in range(len(self.X))]

    def alone(self, progress: Shown) -> Counterfactual:
        """What became of the only instance."""
        watch = self.driver.watch = _watch(1, progress)
        self.driver.progress = progress is True
        ((_, cf),) = self.pools([0])
        watch.finished(0, cf.status, cf.rows, cf.proximity)
        return cf

    def pools(self, todo: Sequence[int], most: int | None = None) -> Results:
        """Each instance with what became of it, in pools that share calls, of at most so many."""
        size = max(1, POOLED_VALUES // max(self.states[0].size, 1)) if len(self.X) else 1
        size = min(size, most or size)
        for start in range(0, len(todo), size):
            # Instances for which no time is left are not begun at all.
            if self.driver.interrupted or (start and self.driver.out_of_time):
                return
            pool = [(i, self.job(i)) for i in todo[start : start + size]]
            self.driver.run([job for _, job in pool])
            for i, job in pool:
                yield i, result(job, self.X[i])

    def _workers(self, todo: Sequence[int], options: Mapping[str, Any]) -> Results:
        limit = self.settings.max_seconds
        until = None if limit is None else time.time() + limit
        work = _Work(self.explainer, self.settings, self.features, self.references, until, halt := Halt())
        # Threads share the number of BLAS threads; every process sets its own.
        with one_thread():
            try:
                for group, results in in_parallel(
                    work, todo, lambda group: (self.X[group], [self.targets[i] for i in group]), options
                ):
                    if results is None or isinstance(results, PredictorError):
                        cause = results or PredictorError(DEADLY)
                        yield from ((i, self.untouched(i, cause)) for i in group)
                    else:
                        yield from zip(group, results, strict=True)
            finally:
                # Threads do not end by themselves, and a model at work when the interpreter ends can crash it.
                halt.request()

    def _check(self, todo: Sequence[int]) -> None:
        """Refuse what cannot be explained, before the model is asked anything; as many jobs as fit are kept."""
        kept = KEPT_VALUES // max(self.states[0].size, 1) if len(self.X) else 0
        for place, i in enumerate(todo):
            job = self.job(i)
            if place < kept:
                self._built[i] = job

    def job(self, i: int) -> Job:
        """Instance `i`, not begun."""
        built = self._built.pop(i, None)
        if built is None:
            integers = None if self.X.dtype.kind == "f" else self.X.dtype
            built = job_of(
                self.explainer, self.states[i], self.features, self.targets[i], self.settings, self.static, integers
            )
            search = built.search
            search.references = self.references
            if self.second is not None:
                most = self.settings.max_rows
                search.second = SecondModel(self.second, search.space, self.static, built.trust, most)
        return built

    def untouched(self, i: int, cause: Exception | None = None) -> Counterfactual:
        """An instance that was not begun."""
        job = self.job(i)
        if cause is not None:
            job.fail(cause)
        else:
            job.end_search("interrupted" if self.driver.interrupted else "budget_exhausted")
        return result(job, self.X[i])

    def identity(self) -> dict[str, Any]:
        """What decides the results, beside the series and the model, in plain JSON."""
        explainer = self.explainer
        settings = {f.name: plain(getattr(self.settings, f.name)) for f in fields(SearchSettings)}
        columns = plain_features(self.features)
        targets = [_without_address(repr(target)) for target in self.targets]
        return {
            "version": __version__,
            "target": targets[0] if len(set(targets)) == 1 else targets,
            **{name: value for name, value in settings.items() if name not in OPERATIONAL},
            **{name: [_named(each) for each in getattr(self.settings, name)] for name in ("terms", "moves", "kinds")},
            "survival": _named(self.settings.survival),
            **{name: plain(getattr(explainer, name)) for name in ("seed", "output", "classes", "missing")},
            **{
                f"feature {name!r}": entry for name, entry in zip(self.features.names, columns["features"], strict=True)
            },
            "actionable_steps": columns["actionable_steps"],
            **({} if self.references is None else {"batch_as_reference": True}),
            "constraints": [_named(rule) for rule in explainer.constraints],
            **{name: _named(getattr(explainer, name)) for name in ("plausible", "transition", "proximity")},
        }


def batch_of(
    explainer: NTDCFE,
    X: NDArray[Any],
    targets: Sequence[Target],
    settings: SearchSettings,
    as_reference: bool = False,
) -> Batch:
    """The instances of one call, checked; with each other as starts if that is wanted."""
    X = _checked(X, explainer.missing)
    features = Features.continuous(X.shape[-1]) if explainer.features is None else explainer.features
    if features.n_columns != X.shape[-1]:
        raise InvalidInputError(f"the features describe {features.n_columns} columns, the series has {X.shape[-1]}.")
    if X.dtype.kind != "f":
        # Whole numbers come back as they came in, unless a feature is said to have decimals.
        X, features = (X, kept_whole(features)) if are_whole(features) else (X.astype(float), features)
    for target in targets:
        if explainer.classes is not None:
            target.check_classes(np.asarray(explainer.classes))
    batch = Batch(explainer, X, targets, settings, features)
    batch.references = batch.states if as_reference else None
    return batch


def _checked(X: NDArray[Any], missing: str) -> NDArray[Any]:
    """The series as finite floating numbers, missing ones if that is allowed; or as the integers that they are."""
    if X.dtype.kind not in "fiub":
        raise InvalidInputError(f"the series must be numbers, got dtype {X.dtype}.")
    if 0 in X.shape[1:]:
        raise InvalidInputError(f"the series must have at least one step and one feature, got shape {X.shape}.")
    check_exact(X)
    # A copy: what the caller, or one of their functions, does to the series must not reach the search or its results.
    kept = X.dtype in (np.float32, np.float64) or X.dtype.kind != "f"
    X = np.array(X, X.dtype.newbyteorder("=") if kept else float, order="C")
    wrong = np.isinf(X) if missing == "fixed" else ~np.isfinite(X)
    if wrong.any():
        where = [tuple(int(i) for i in at) for at in np.argwhere(wrong)[:3]]
        what = "infinity" if missing == "fixed" else "NaN or infinity"
        hint = "" if np.isinf(X[wrong]).any() else "; missing='fixed' leaves missing cells as they are"
        raise InvalidInputError(f"the series has {what}, first at (instance, step, feature) {where}{hint}.")
    return X


def _watch(n: int, progress: Shown) -> Watch:
    if not (isinstance(progress, bool) or callable(progress)):
        raise InvalidInputError(f"progress must be True, False or a function of a Progress, got {progress!r}.")
    return Watch(n, None if isinstance(progress, bool) else progress)


@dataclass(frozen=True)
class _Work:
    """What a worker does with some of the instances."""

    explainer: NTDCFE
    settings: SearchSettings
    features: Features
    references: NDArray[Any] | None
    until: float | None
    halt: Halt

    def __call__(self, X: NDArray[Any], targets: Sequence[Target]) -> list[Counterfactual]:
        settings = self.settings
        if self.until is not None:
            settings = replace(settings, max_seconds=max(1e-9, self.until - time.time()))
        with one_thread(), self.halt:
            batch = Batch(self.explainer, X, targets, settings, self.features, self.references)
            batch.driver.stop_requested = lambda: self.halt.requested
            batch.driver.interrupted = self.halt.requested
            late = self.until is not None and time.time() >= self.until
            results = {} if late else dict(batch.pools(range(len(X))))
            return [results[i] if i in results else batch.untouched(i) for i in range(len(X))]


def _named(value: Any) -> str | None:
    """A function by its name, a rule by its text without addresses: code itself cannot be compared."""
    if value is None:
        return None
    if is_dataclass(value):
        parts = ", ".join(f"{f.name}={_named(getattr(value, f.name))}" for f in fields(value))
        return f"{type(value).__name__}({parts})"
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__name__))
    return _without_address(repr(value))


def _without_address(text: str) -> str:
    """The text of an object; where it is the default one, which has another address in every process, without that."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)
