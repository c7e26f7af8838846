"""The same results on every backend."""

import asyncio
import os
import time

import numpy as np
import pytest

from ntdcfe import NTDCFE, Features, InvalidInputError, PredictorError, SearchSettings, Target
from ntdcfe.run import batch, workers

SMALL = SearchSettings(max_rows=300, batch_rows=37)
X = np.random.default_rng(0).normal(-0.5, 0.3, (12, 6, 3))


def rule(rows):
    """1 where feature 0 is positive over the last two steps."""
    return (rows[:, -2:, 0].min(1) > 0).astype(int)


def same(one, other):
    ignored = {"seconds": 0, "calls": 0}  # who shares a call depends on the backend
    return all(a.to_dict() | ignored == b.to_dict() | ignored for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def expected():
    return NTDCFE(rule, settings=SMALL).explain_batch(X, 1)


def local(rows):
    return rule(rows)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing", "joblib"])
def test_backends_agree(backend, expected, tmp_path, capsys):
    # A function of this module cannot be found by name in other processes: loky sends it by value.
    explainer = NTDCFE(lambda rows: (rows[:, -2:, 0].min(1) > 0).astype(int), settings=SMALL)
    if backend == "multiprocessing":
        explainer = NTDCFE(local, settings=SMALL)
    params = {"backend": "threading"} if backend == "joblib" else None
    path = tmp_path / "run.jsonl"
    cfs = explainer.explain_batch(
        X, 1, backend=backend, backend_params=params, n_jobs=2, checkpoint=path, progress=True
    )
    assert same(cfs, expected)
    assert "12/12" in capsys.readouterr().err
    assert same(NTDCFE(rule, settings=SMALL).explain_batch(X, 1, checkpoint=path), expected)


def test_the_order_does_not_matter(expected):
    explainer = NTDCFE(rule, settings=SMALL)
    assert same(explainer.explain_batch(X[::-1], 1, backend="threading", n_jobs=2)[::-1], expected)


def test_one_target_an_instance_on_workers():
    targets = [Target.label(1), Target.label(0)] * 6
    Y = X * np.where(np.arange(12) % 2, -3, 1)[:, None, None]
    explainer = NTDCFE(rule, settings=SMALL)
    assert same(explainer.explain_batch(Y, targets, backend="threading", n_jobs=2), explainer.explain_batch(Y, targets))


def test_workers_share_the_time_limit():
    def slow(rows):
        time.sleep(0.05)
        return np.zeros(len(rows), int)

    cfs = NTDCFE(slow).explain_batch(X, 1, backend="threading", n_jobs=2, max_seconds=0.3)
    assert {cf.status for cf in cfs} == {"budget_exhausted"}
    assert cfs[-1].present is None


def test_a_failing_instance_on_a_worker(expected):
    def picky(rows):
        if (rows[:, 0, 1] == X[4, 0, 1]).any():
            raise ValueError("cannot read this one")
        return rule(rows)

    with pytest.warns(UserWarning, match="failed on 1 of 12"):
        cfs = NTDCFE(picky, settings=SMALL).explain_batch(X, 1, backend="threading", n_jobs=2)
    assert "cannot read this one" in str(cfs[4].cause)
    assert same(cfs[:4] + cfs[5:], expected[:4] + expected[5:])


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(expected, tmp_path):
    killed = str(tmp_path / "killed")

    def deadly(rows):
        if rows[0, 0, 1] == X[6, 0, 1] and not os.path.exists(killed):
            open(killed, "w").close()
            os._exit(1)
        return (rows[:, -2:, 0].min(1) > 0).astype(int)

    cfs = NTDCFE(deadly, settings=SMALL).explain_batch(X, 1, backend="loky", n_jobs=2)
    assert os.path.exists(killed)
    assert same(cfs, expected)


def deadly_for(places, log=None):
    """A model that ends its process when it is asked about those instances of X, and adds a line to the log of it."""
    marks = X[places, 0, 1]

    def deadly(rows):
        if np.isin(rows[:, 0, 1], marks).any():
            if log is not None:
                with log.open("a") as stream:
                    stream.write("died\n")
            os._exit(1)
        return (rows[:, -2:, 0].min(1) > 0).astype(int)

    return deadly


FROZEN = Features.continuous(3, actionable_steps=slice(1, None))  # the mark stays


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
@pytest.mark.parametrize("places", [[0], [3, 4], [2, 7, 11]])
def test_series_that_kill_their_workers_take_no_others_along(backend, places, tmp_path):
    expected = NTDCFE(rule, FROZEN, settings=SMALL).explain_batch(X, 1)
    explainer, path = NTDCFE(deadly_for(places), FROZEN, settings=SMALL), tmp_path / "run.jsonl"
    with pytest.warns(UserWarning, match=f"failed on {len(places)} of 12"):
        cfs = explainer.explain_batch(X, 1, backend=backend, n_jobs=2, checkpoint=path)
    assert [i for i, cf in enumerate(cfs) if cf.status == "model_failed"] == places
    assert all("died" in str(cfs[i].cause) for i in places)
    healthy = [i for i in range(12) if i not in places]
    assert same([cfs[i] for i in healthy], [expected[i] for i in healthy])
    assert len(path.read_text().splitlines()) == 1 + len(healthy)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_where_every_series_kills_its_worker_the_error_is_raised(backend):
    with pytest.raises(PredictorError, match="died"):
        NTDCFE(deadly_for([0, 1, 2]), FROZEN, settings=SMALL).explain_batch(X[:3], 1, backend=backend, n_jobs=2)


@pytest.mark.filterwarnings("ignore::UserWarning:distributed")
@pytest.mark.cluster
def test_a_series_that_kills_its_dask_worker_takes_no_others_along(tmp_path):
    distributed = pytest.importorskip("distributed")
    expected = NTDCFE(rule, FROZEN, settings=SMALL).explain_batch(X, 1)
    deadly = deadly_for([5], tmp_path / "log")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        pytest.warns(UserWarning, match="failed on 1 of 12"),
    ):
        cfs = NTDCFE(deadly, FROZEN, settings=SMALL).explain_batch(X, 1, backend="dask")
    assert [i for i, cf in enumerate(cfs) if cf.status == "model_failed"] == [5]
    # Each death costs the start of a process. By Dask's own count there would be four in company and four alone.
    assert len((tmp_path / "log").read_text().splitlines()) <= 7
    assert same(cfs[:5] + cfs[6:], expected[:5] + expected[6:])


@pytest.mark.filterwarnings("ignore::UserWarning:distributed")
@pytest.mark.cluster
@pytest.mark.parametrize("options", [{"backend": "dask"}, {"backend": "joblib", "backend_params": {"backend": "dask"}}])
def test_a_local_dask_cluster_gets_another_worker_for_each_that_dies(options, monkeypatch):
    distributed, config = pytest.importorskip("distributed"), pytest.importorskip("dask").config
    expected = NTDCFE(rule, FROZEN, settings=SMALL).explain_batch(X, 1)
    places = [0, 5, 6]
    # So soon after a death no other worker is up: the cluster would close the nanny of each that dies, for good. By
    # default it looks after 15 seconds, when it is by chance that another one has just died.
    name, soon = "distributed.deploy.lost-worker-timeout", "100ms"
    monkeypatch.setattr(workers, "SECONDS_WITHOUT_WORKERS", 60)  # to fail, not to wait
    with (
        config.set({name: soon}),
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        with pytest.warns(UserWarning, match="failed on 3 of 12"):
            cfs = NTDCFE(deadly_for(places), FROZEN, settings=SMALL).explain_batch(X, 1, **options)
        assert len(cluster.workers) == 2
        assert config.get(name) == soon
    assert [i for i, cf in enumerate(cfs) if cf.status == "model_failed"] == places
    assert all("died" in str(cfs[i].cause) for i in places)
    healthy = [i for i in range(12) if i not in places]
    assert same([cfs[i] for i in healthy], [expected[i] for i in healthy])


@pytest.mark.filterwarnings("ignore::UserWarning:distributed", "ignore::UserWarning:joblib")
@pytest.mark.cluster
def test_a_dask_cluster(expected):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        explainer = NTDCFE(lambda rows: (rows[:, -2:, 0].min(1) > 0).astype(int), settings=SMALL)
        assert same(explainer.explain_batch(X, 1, backend="dask"), expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "spark"}, "backend must be one of"),
        ({"backend": "loky", "n_jobs": 0}, "n_jobs must be"),
        ({"backend": "loky", "n_jobs": "two"}, "n_jobs must be"),
        ({"backend": "loky", "backend_params": 3}, "backend_params must be"),
        ({"backend": "joblib"}, "name of a joblib backend"),
        ({"backend": "joblib", "backend_params": {"backend": "nonesuch"}}, "nonesuch"),
    ],
)
def test_bad_backends_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        NTDCFE(rule, settings=SMALL).explain_batch(X, 1, **options)


class ClusterThatLosesItsWorkers:
    """A Dask client whose scheduler has a worker at the first look, none later, and finishes nothing."""

    def __init__(self, deaths=()):
        self.looks, self.cancelled, self.deaths = 0, [], list(deaths)

    def submit(self, work, *arguments, pure):
        return type("Task", (), {"key": len(arguments), "cancel": lambda task: None})()

    def nthreads(self):
        self.looks += 1
        return {"worker": 1} if self.looks == 1 else {}

    def run_on_scheduler(self, function):
        return [self.deaths.pop()] if self.deaths else []

    def cancel(self, tasks):
        self.cancelled += tasks


class TaskWhoseResultIsTakenAlong:
    """A task of Dask that is done, but whose worker dies while the result is fetched: it is done again, or is not."""

    key = "task"

    def __init__(self, deadly):
        self.status, self.deadly = "finished", deadly

    def result(self, timeout=None):
        import distributed

        if timeout is None or self.status != "finished":
            raise AssertionError("waits for what may never come")
        if not self.deadly:
            return "answer"
        self.status, self.deadly = "lost", self.deadly - 1
        if self.deadly:
            raise distributed.KilledWorker("task", "worker", 3)
        raise asyncio.TimeoutError

    def cancel(self):
        pass


@pytest.mark.parametrize(("deadly", "answer"), [(0, "answer"), (1, "answer"), (2, None)])
def test_a_result_that_a_dask_worker_took_along_is_fetched_when_it_is_there_again(deadly, answer, monkeypatch):
    distributed = pytest.importorskip("distributed")
    client = ClusterThatLosesItsWorkers()
    looks = []

    def wait(tasks, timeout, how):
        looks.append(tasks[0].status)
        if looks[-3:] == ["lost"] * 3:  # done once more
            tasks[0].status = "finished"
        return type("Done", (), {"done": set(tasks)})

    monkeypatch.setattr(distributed, "wait", wait)
    monkeypatch.setattr(distributed, "get_client", lambda: client)
    client.submit = lambda *_, pure: TaskWhoseResultIsTakenAlong(deadly)
    assert list(workers.on_dask(rule, [[0]], lambda group: ())) == [([0], answer)]
    assert len(looks) == (4 if deadly == 1 else 1 if deadly == 0 else 2)


def test_what_a_dask_cluster_without_workers_cannot_do_is_told_in_place_of_waiting_for_ever(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def wait(tasks, timeout, how):
        raise asyncio.TimeoutError

    monkeypatch.setattr(distributed, "wait", wait)
    monkeypatch.setattr(workers, "SECONDS_WITHOUT_WORKERS", 0.01)
    # The only two tasks end their workers, so that none is left when the instances are tried alone.
    client = ClusterThatLosesItsWorkers(deaths=[0, 0])
    monkeypatch.setattr(distributed, "get_client", lambda: client)
    results = list(workers.on_dask(rule, [[0, 1], [2]], lambda group: (X[group],)))
    assert sorted(group for group, _ in results) == [[0], [1], [2]]
    assert all(isinstance(result, PredictorError) for _, result in results)
    client = ClusterThatLosesItsWorkers()
    results = list(workers.on_dask(rule, [[0, 1], [2]], lambda group: (X[group],)))
    assert [group for group, _ in results] == [[0, 1], [2]]
    assert all(isinstance(result, PredictorError) for _, result in results)
    assert len(client.cancelled) == 2
    # A series that was to be done there says so; those that were done before are kept.
    explainer = NTDCFE(rule, settings=SMALL)
    done = ([0, 1], explainer.explain_batch(X[:2], 1))
    monkeypatch.setattr(batch, "in_parallel", lambda *_: iter([done, results[1]]))
    with pytest.warns(UserWarning, match="lost its workers"):
        cfs = explainer.explain_batch(X[:3], 1, backend="loky", n_jobs=2)
    assert [cf.status for cf in cfs] == ["found", "found", "model_failed"]
    assert "lost its workers" in str(cfs[2].cause)
