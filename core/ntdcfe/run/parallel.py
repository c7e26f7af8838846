"""Many instances on the engines that joblib knows: processes, threads, Dask and Ray clusters."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import joblib

from ntdcfe.errors import InvalidInputError, NTDCFEError
from ntdcfe.run.workers import LostWorkers, in_processes, on_dask, one_by_one

#: sktime's names
BACKENDS = (None, "loky", "multiprocessing", "threading", "joblib", "dask", "ray")
# Instances in one task at most: they share calls, and are lost together when a worker is.
AT_ONCE = 8
# Tasks for each worker, at least, so that none is idle for long at the end.
TASKS_A_WORKER = 4


class Halt:
    """Tells workers that share this process to stop, and waits for them; a copy in another process is never set."""

    def __init__(self) -> None:
        self.requested = False
        self._running = 0
        self._changed = threading.Condition()

    def __reduce__(self) -> tuple[type[Halt], tuple[()]]:
        return Halt, ()

    def __enter__(self) -> None:
        with self._changed:
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def request(self) -> None:
        """Ask for an end, and return when no worker is at work any more."""
        self.requested = True
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)


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

    Where a worker dies, those that it may have been at work on are done again, each in a process of its own. The
    result of one that ends that process, too, is None; all others get theirs.
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
        except LostWorkers as lost:
            # Those that are done but not handed out yet may be among them: they are done again.
            suspects = [i for i in lost.suspects or left if i in left]
            for group, result in one_by_one(work, suspects, arguments, options["backend"]):
                del left[group[0]]
                yield group, result
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
    own = {name: options[name] for name in ("timeout", "pre_dispatch", "batch_size") if name in options}
    try:
        # By the context: the Dask backend would take the options that Parallel adds to an argument for its own.
        with joblib.parallel_config(**{name: value for name, value in options.items() if name not in own}):
            workers = max(1, joblib.effective_n_jobs(options["n_jobs"]))
            rounds = joblib.Parallel(**{"batch_size": 1, **own})
            try:
                parallel = joblib.Parallel(**{"batch_size": 1, **own}, return_as="generator_unordered")
            except ValueError:
                parallel = None  # the backend does not hand out results one by one
    except ValueError as cause:
        raise InvalidInputError(f"backend {options['backend']!r}: {cause}") from cause
    size = max(1, min(AT_ONCE, len(todo) // (TASKS_A_WORKER * workers)))
    groups = [todo[i : i + size] for i in range(0, len(todo), size)]
    if options["backend"] in ("loky", "multiprocessing") and workers > 1:
        # Processes of this machine: joblib tells that one of them died, if at all, but not which task it had.
        yield from in_processes(work, groups, arguments, workers, options["backend"])
        return
    if options["backend"] == "dask":
        yield from on_dask(work, groups, arguments)
        return
    tasks = [joblib.delayed(_labelled)(work, group, arguments(group)) for group in groups]
    if parallel is not None:
        yield from parallel(tasks)
        return
    size = 2 * TASKS_A_WORKER * workers
    for i in range(0, len(tasks), size):
        yield from rounds(tasks[i : i + size])


def _labelled(work: Callable[..., Any], group: Sequence[int], arguments: tuple[Any, ...]) -> tuple[Sequence[int], Any]:
    return group, work(*arguments)

