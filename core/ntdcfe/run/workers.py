"""Workers that may die of what they are given: processes of this machine, and those of a Dask cluster."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from joblib.externals.loky import get_reusable_executor

from ntdcfe.errors import InvalidInputError, PredictorError

try:
    import cloudpickle  # type: ignore[import-untyped]
except ImportError:  # before joblib 1.6 it is a part of joblib
    from joblib.externals import cloudpickle

# How often Dask's scheduler is asked whether workers have died.
SECONDS_BETWEEN_LOOKS = 0.25
# A cluster that had workers and has been without any for so long gets no others: Dask itself would wait for ever. Rule
# of thumb: a cluster that adapts to its load may take minutes to start a machine.
SECONDS_WITHOUT_WORKERS = 300.0
# Dask takes no infinity here.
LONGER_THAN_ANY_RUN = "1000 days"
NO_WORKERS = "the Dask cluster lost its workers and got no others; see why they ended, start some and ask again."
# How long a result may at first take to come from its worker before one looks whether it still has it.
SECONDS_TO_FETCH = 5.0
# In place of a result of which workers died, and of one that is still to come.
_LOST, _NOT_YET = object(), object()

Work: TypeAlias = Callable[..., Any]
Arguments: TypeAlias = Callable[[Sequence[int]], tuple[Any, ...]]


class LostWorkers(Exception):
    """Workers died.

    Parameters
    ----------
    suspects : list of int
        What they may have been at work on; empty if nobody knows.
    """

    def __init__(self, suspects: list[int]) -> None:
        super().__init__(f"workers died, perhaps of instances {suspects}")
        self.suspects = suspects


def in_processes(
    work: Work, groups: Sequence[Sequence[int]], arguments: Arguments, n_workers: int, backend: str
) -> Iterator[tuple[Sequence[int], Any]]:
    """Each group with its result, by processes of this machine; raises LostWorkers when one of them dies.

    A task leaves a file with its number while it is at work, so that one knows what a dead process was at work on.
    """
    packed = cloudpickle.dumps(work)
    with tempfile.TemporaryDirectory(prefix="ntdcfe-", ignore_cleanup_errors=True) as folder:
        executor, ended = _executor(backend, n_workers), False
        try:
            futures = {
                executor.submit(_noted, folder, place, packed, arguments(group)): group
                for place, group in enumerate(groups)
            }
            for future in as_completed(futures):
                yield futures[future], cloudpickle.loads(future.result())
            ended = True
        except BrokenExecutor:
            begun = sorted(int(entry.name) for entry in Path(folder).iterdir())
            suspects = [i for place in begun for i in groups[place]]
            raise LostWorkers(suspects) from None
        finally:
            _close(executor, backend, ended)


def _noted(folder: str, place: int, packed: bytes, arguments: tuple[Any, ...]) -> bytes:
    """What the work comes to, in a worker."""
    note = Path(folder) / str(place)
    note.touch()
    try:
        return bytes(cloudpickle.dumps(cloudpickle.loads(packed)(*arguments)))
    finally:
        note.unlink(missing_ok=True)


def one_by_one(
    work: Work, todo: Sequence[int], arguments: Arguments, backend: str
) -> Iterator[tuple[Sequence[int], Any]]:
    """Each instance with its result, one after the other in a process; None for those of which it dies."""
    left = dict.fromkeys(todo)
    while left:
        try:
            for group, result in in_processes(work, [[i] for i in left], arguments, 1, backend):
                del left[group[0]]
                yield group, result
        except LostWorkers as lost:
            deadly = next(iter(lost.suspects or left))
            del left[deadly]
            yield [deadly], None


def _executor(backend: str, n_workers: int) -> Executor:
    if backend == "loky":
        return get_reusable_executor(max_workers=n_workers, timeout=300)  # type: ignore[no-any-return]
    return ProcessPoolExecutor(n_workers)


def _close(executor: Executor, backend: str, ended: bool) -> None:
    """Let go of the processes; where the run ended early they are at work on what nobody waits for, and are ended."""
    if backend == "loky":
        if not ended:
            executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]
        return
    processes = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=ended, cancel_futures=True)
    if not ended:
        for process in processes:
            process.kill()


def on_dask(work: Work, groups: Sequence[Sequence[int]], arguments: Arguments) -> Iterator[tuple[Sequence[int], Any]]:
    """Each group with its result, by the workers of the Dask client there is.

    Dask tries what a dead worker was at work on elsewhere, and gives up on a task after four deaths, each of which
    costs the start of a process. Here one is enough for suspicion: each instance of what was on a worker that died is
    tried alone. One death alone would not do: the worker may have died of what it was at work on before, which cannot
    be stopped. The result of an instance of which two workers die is None. Where no workers are left, that of all
    others is a PredictorError.
    """
    import distributed

    try:
        client = distributed.get_client()
    except ValueError as missing:
        raise InvalidInputError("backend 'dask' needs a distributed.Client.") from missing
    with _nannies_kept(client):
        suspects: list[int] = []
        for group, result in _each_once(client, work, groups, arguments, deaths=1, lost_some=False):
            if result is _LOST:
                suspects += group
            else:
                yield group, result
        gone: PredictorError | None = None
        for i in suspects:
            if gone is not None:
                yield [i], gone
                continue
            for group, result in _each_once(client, work, [[i]], arguments, deaths=2, lost_some=True):
                gone = result if isinstance(result, PredictorError) else None
                yield group, None if result is _LOST else result


@contextmanager
def _nannies_kept(client: Any) -> Iterator[None]:
    """Let the nannies of a cluster on this machine start a worker for each that dies, however many do.

    Some seconds after a death such a cluster looks whether the nanny has a worker again. If that one has just died,
    too, and the next is not up yet, the cluster takes the nanny for lost and closes it for good: after some deaths it
    has no workers. The nannies are in this process, so none of them can be lost. Clusters of other kinds look so for
    jobs and machines that have gone, and start others: they are left as they are.
    """
    import dask
    import distributed

    if not isinstance(getattr(client, "cluster", None), distributed.LocalCluster):
        yield
        return
    with dask.config.set({"distributed.deploy.lost-worker-timeout": LONGER_THAN_ANY_RUN}):
        yield


def _each_once(
    client: Any, work: Work, groups: Sequence[Sequence[int]], arguments: Arguments, deaths: int, lost_some: bool
) -> Iterator[tuple[Sequence[int], Any]]:
    """Each group with its result as soon as it is there; `_LOST` where so many workers died that had it.

    A PredictorError where the cluster has lost all its workers.
    """
    import distributed

    # A cluster that has none yet may get some; one that lost some had some.
    with_workers = time.monotonic() if lost_some else float("inf")
    left = {client.submit(work, *arguments(group), pure=False): group for group in groups}
    try:
        while left:
            try:
                done = distributed.wait(list(left), SECONDS_BETWEEN_LOOKS, "FIRST_COMPLETED").done  # type: ignore[no-untyped-call]
            except asyncio.TimeoutError:
                done = set()
            for future in done:
                if (result := _fetched(future)) is not _NOT_YET:
                    yield left.pop(future), result
            for future in _on_dead_workers(client, list(left), deaths):
                future.cancel()
                yield left.pop(future), _LOST
            if done or client.nthreads():
                with_workers = time.monotonic()
            elif time.monotonic() - with_workers > SECONDS_WITHOUT_WORKERS:
                yield from ((group, PredictorError(NO_WORKERS)) for group in left.values())
                return
    finally:
        client.cancel(list(left))


def _fetched(future: Any) -> Any:
    """The result of a task that is done; `_NOT_YET` if a worker has died with it, so that Dask does it again.

    To wait here until that is done would be to see neither deaths nor that no workers are left.
    """
    import distributed

    seconds = SECONDS_TO_FETCH
    try:
        while future.status == "finished":
            with suppress(asyncio.TimeoutError):
                return future.result(timeout=seconds)
            seconds *= 2  # it may be a large one
        return _NOT_YET if future.status in ("pending", "lost") else future.result()
    except distributed.KilledWorker:
        return _LOST


def _on_dead_workers(client: Any, futures: list[Any], deaths: int) -> list[Any]:
    """Those of the futures that were on so many workers that died, as the scheduler counts it."""
    keys = [future.key for future in futures]

    def suspicious(dask_scheduler: Any) -> list[int]:  # sent by value, so that the scheduler needs no ntdcfe
        tasks = dask_scheduler.tasks
        return [i for i, key in enumerate(keys) if key in tasks and tasks[key].suspicious >= deaths]

    try:
        places = client.run_on_scheduler(suspicious)
    except ValueError:  # it does not run what it is sent: KilledWorker will tell, after some more deaths
        return []
    return [futures[i] for i in places]
