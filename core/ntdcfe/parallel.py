"""Many instances on the engines that joblib knows: processes, threads, Dask and Ray clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import joblib

from ntdcfe.errors import InvalidInputError, NTDCFEError

#: sktime's names
BACKENDS = (None, "loky", "multiprocessing", "threading", "joblib", "dask", "ray")
# Instances in one task at most: they share calls, and are lost together when a worker is.
AT_ONCE = 8
# Tasks for each worker, at least, so that none is idle for long at the end.
TASKS_A_WORKER = 4


def check_backend(backend: str | None, params: Mapping[str, Any] | None, n_jobs: int | None) -> dict[str, Any]:
    """The arguments of ``joblib.Parallel`` for one of sktime's backends."""
    if backend not in BACKENDS:
        raise InvalidInputError(f"backend must be one of {BACKENDS}, got {backend!r}.")
    if params is not None and not isinstance(params, Mapping):
        raise InvalidInputError(f"backend_params must be a dict, got {params!r}.")
    options: dict[str, Any] = {"n_jobs": -1, **(params or {})}
    if n_jobs is not None:
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
            raise InvalidInputError(f"n_jobs must be a whole number other than 0, got {n_jobs!r}.")
        options["n_jobs"] = n_jobs
    if backend == "joblib":
        if not isinstance(options.get("backend"), str):
            raise InvalidInputError("backend='joblib' needs backend_params={'backend': name of a joblib backend}.")
    else:
        options["backend"] = backend
    return options


def in_parallel(
    work: Callable[..., Any],
    todo: Sequence[int],
    arguments: Callable[[Sequence[int]], tuple[Any, ...]],
    options: Mapping[str, Any],
) -> Iterator[tuple[Sequence[int], Any]]:
    """Do `work` on the `arguments` of groups of `todo`; gives each group with its result as soon as it is there.

    When workers are lost, what is left is begun again as long as something gets done; then the error is raised.
    """
    left = dict.fromkeys(todo)
    while left:
        before = len(left)
        try:
            for group, result in _once(work, list(left), arguments, options):
                for i in group:
                    del left[i]
                yield group, result
        except NTDCFEError:
            raise
        except Exception:
            if len(left) == before:
                raise


def _once(
    work: Callable[..., Any],
    todo: list[int],
    arguments: Callable[[Sequence[int]], tuple[Any, ...]],
    options: Mapping[str, Any],
) -> Iterator[tuple[Sequence[int], Any]]:
    if options["backend"] == "ray":
        from ray.util.joblib import register_ray

        register_ray()
    try:
        with joblib.parallel_config(backend=options["backend"]):
            workers = max(1, joblib.effective_n_jobs(options["n_jobs"]))
        size = max(1, min(AT_ONCE, len(todo) // (TASKS_A_WORKER * workers)))
        groups = [todo[i : i + size] for i in range(0, len(todo), size)]
        tasks = [joblib.delayed(_labelled)(work, group, arguments(group)) for group in groups]
        parallel = joblib.Parallel(**{"return_as": "generator_unordered", "batch_size": 1, **options})
    except ValueError as cause:
        if "return_as" not in str(cause):
            raise InvalidInputError(f"backend {options['backend']!r}: {cause}") from cause
        # In rounds, where the backend does not hand out results one by one.
        size = 2 * TASKS_A_WORKER * workers
        parallel = joblib.Parallel(**{"batch_size": 1, **options})
        for i in range(0, len(tasks), size):
            yield from parallel(tasks[i : i + size])
        return
    yield from parallel(tasks)


def _labelled(work: Callable[..., Any], group: Sequence[int], arguments: tuple[Any, ...]) -> tuple[Sequence[int], Any]:
    return group, work(*arguments)
