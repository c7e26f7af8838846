"""Answers survive: as plain JSON, in a file, through crashes."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    Causal,
    Continuous,
    Counterfactual,
    Discrete,
    Features,
    InvalidInputError,
    OneHot,
    PredictorError,
    SearchSettings,
    Target,
)
from ntdcfe.run.checkpoint import begun_with
from ntdcfe.search.refine.race import RefineTuning
from ntdcfe.settings import Tuning

SMALL = SearchSettings(max_rows=400, batch_rows=33)
X = np.random.default_rng(0).normal(-0.5, 0.3, (10, 6, 3))


def rule(rows):
    """1 where feature 0 is positive over the last two steps."""
    return (rows[:, -2:, 0].min(1) > 0).astype(int)


def same(one, other):
    """Equal in all but seconds and the calls that are shared with others."""
    return all(a | {"seconds": 0, "calls": 0} == b | {"seconds": 0, "calls": 0} for a, b in
               zip([cf.to_dict() for cf in one], [cf.to_dict() for cf in other], strict=True))  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed():
    return NTDCFE(rule, settings=SMALL).explain_batch(X, 1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


def mixed(dtype=float):
    """A problem with every kind of feature."""
    features = Features(
        [
            Continuous(name="a", bounds=(-9, None), direction="rise"),
            Discrete([0, 1, 2.5], name="b"),
            OneHot(["x", "y"], name="c"),
            Continuous(name="d", role="non_actionable"),
        ],
        actionable_steps=slice(1, None),
    )
    x = np.array([[0.1, 1, 1, 0, 0.3]] * 4, dtype)
    return NTDCFE(lambda rows: rows[:, -1, 4] > 1, features, [Causal("d", "a", lambda a: 2 * a)], settings=SMALL), x


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_json_and_back_is_exact(dtype):
    explainer, x = mixed(dtype)
    cf = explainer.explain(x, True)
    assert cf.found
    again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict(), allow_nan=False)))
    assert again.x.dtype == dtype
    for name in ("original", "x"):
        assert getattr(again, name).tobytes() == getattr(cf, name).tobytes()
    assert [c.tobytes() for c in again.candidates] == [c.tobytes() for c in cf.candidates]
    assert str(again) == str(cf)
    assert again.features == cf.features
    assert again.history == cf.history
    assert [change.after.tolist() for change in again.changes] == [change.after.tolist() for change in cf.changes]


def test_json_of_what_was_not_found():
    def never(rows):
        return np.full((len(rows), 2), [0.6, 0.4])

    cf = NTDCFE(never, settings=SMALL, classes=["no", "yes"]).explain(X[0], "yes")
    again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict(), allow_nan=False)))
    assert (again.x, again.present, again.near_miss_prediction) == (None, "no", "no")
    np.testing.assert_array_equal(again.near_miss, cf.near_miss)
    assert np.isnan(again.proximity)
    assert again.history[0].best_proximity == np.inf


def test_static_rows_and_actionable_steps_in_json():
    cf = NTDCFE(lambda rows: rows[:, 0] > 0, Features.continuous(2, actionable_steps=[0]), settings=SMALL).explain(
        np.array([-1.0, 2.0]), True
    )
    again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict())))
    assert again.x.shape == (2,)
    assert again.features.step_mask(1).all()
    assert str(again) == str(cf)


def test_a_rerun_skips_what_is_done(path, undisturbed):
    calls = []

    def counted(rows):
        calls.append(len(rows))
        return rule(rows)

    explainer = NTDCFE(counted, settings=SMALL)
    assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)
    n = len(calls)
    assert same(explainer.explain_batch(X, 1, checkpoint=str(path)), undisturbed)
    assert len(calls) == n


def test_a_file_says_what_it_was_begun_with(path, tmp_path):
    NTDCFE(rule, settings=SMALL).explain_batch(X[:1], 1, checkpoint=path)
    assert (begun_with(path)["max_rows"], begun_with(path)["batch_rows"]) == (400, 33)
    assert begun_with(tmp_path / "none") == {}
    (tmp_path / "torn").write_text('{"checkpoint": "ntdcfe", "ru')
    assert begun_with(tmp_path / "torn") == {}


def test_a_file_of_another_version_or_of_other_numbers_is_refused(path, monkeypatch):
    NTDCFE(rule, settings=SMALL).explain_batch(X, 1, checkpoint=path)
    other = replace(SMALL, tuning=Tuning(refine=RefineTuning(racers=8)))
    with pytest.raises(InvalidInputError, match="another run: tuning was"):
        NTDCFE(rule, settings=other).explain_batch(X, 1, checkpoint=path)
    monkeypatch.setattr("ntdcfe.run.batch.__version__", "0.0.9")
    with pytest.raises(InvalidInputError, match=r'version was "0\.1\.0" and is "0\.0\.9"'):
        NTDCFE(rule, settings=SMALL).explain_batch(X, 1, checkpoint=path)


def test_a_set_of_labels_is_the_same_target_in_every_process():
    assert repr(Target.of({"b", "a", "c"})) == "Target.labels(['a', 'b', 'c'])"


@pytest.mark.parametrize("keep", [0, 20, 300, 2500, 2501, 9000])
def test_a_file_torn_anywhere_is_continued(path, undisturbed, keep):
    explainer = NTDCFE(rule, settings=SMALL)
    explainer.explain_batch(X, 1, checkpoint=path)
    path.write_bytes(path.read_bytes()[:keep])
    assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + len(X)
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_a_last_line_that_is_garbage_is_dropped(path, undisturbed):
    explainer = NTDCFE(rule, settings=SMALL)
    explainer.explain_batch(X, 1, checkpoint=path)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-1]) + whole[-1][:40] + b"\0\0\0\n")
    assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)


def test_what_is_damaged_in_the_middle_is_named_and_done_again(path, undisturbed):
    explainer = NTDCFE(rule, settings=SMALL)
    explainer.explain_batch(X, 1, checkpoint=path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3][:50] + lines[4], *lines[5:]]) + "\n")
    with pytest.warns(UserWarning, match=r"line 4 of .*run\.jsonl cannot be read"):
        assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)


def test_a_damaged_head_is_refused(path):
    explainer = NTDCFE(rule, settings=SMALL)
    explainer.explain_batch(X, 1, checkpoint=path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0][:90], *lines[1:]]) + "\n")
    with pytest.raises(InvalidInputError, match=r"line 1 of .*run\.jsonl is damaged"):
        explainer.explain_batch(X, 1, checkpoint=path)


class FullDisk:
    """``os.write`` of a disk that has no room for the lines from number `first` to before `last`; half are torn."""

    def __init__(self, monkeypatch, first, last):
        self.n, self.first, self.last, self.write = 0, first, last, os.write
        monkeypatch.setattr("ntdcfe.run.checkpoint.os.write", self)

    def __call__(self, file, data):
        self.n += 1
        if not self.first <= self.n < self.last:
            return self.write(file, data)
        if (self.n - self.first) % 2 == 0 and len(data) > 10:
            return self.write(file, data[: len(data) // 2])  # a short write, then the error
        raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_for_a_while_loses_nothing(path, undisturbed, monkeypatch):
    explainer = NTDCFE(rule, settings=SMALL)
    FullDisk(monkeypatch, 4, 9)
    assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)
    monkeypatch.undo()
    assert len(path.read_text().splitlines()) == 1 + len(X)
    assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)


def test_a_disk_that_stays_full_is_not_blamed_on_the_model(path, undisturbed, monkeypatch):
    explainer = NTDCFE(rule, settings=SMALL)
    FullDisk(monkeypatch, 4, 999)
    with pytest.warns(UserWarning, match="could not be written to.*No space left on device.*results .* are complete"):
        results = explainer.explain_batch(X, 1, checkpoint=path)
    assert same(results, undisturbed)
    assert all(cf.cause is None for cf in results)
    monkeypatch.undo()
    assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)


OTHER_PROCESS = """
import sys
import numpy as np
from ntdcfe import NTDCFE, SearchSettings, Target
from ntdcfe.problem.objective import Term

class Own(Target):
    def __init__(self, label):
        self.label = label
    def reached(self, prediction):
        return prediction.outcomes == self.label

class Price(Term):
    def cost(self, x, original, features):
        return (x != original).any(1).sum(1)

def model(X):
    calls.append(len(X))
    return np.array(["low", "middle", "high", "higher"])[np.clip(X[:, -2:, 0].sum(1), -1, 2).astype(int) + 1]

calls = []
target = {"set": {"high", "higher", "middle"}, "frozen": frozenset({"high", "higher"}), "own": Own("high")}[sys.argv[2]]
settings = SearchSettings(max_rows=200, terms=[Price()])
NTDCFE(model, settings=settings).explain_batch(np.full((3, 5, 2), -1.0), target, checkpoint=sys.argv[1])
print(len(calls))
"""


@pytest.mark.parametrize("target", ["set", "frozen", "own"])
def test_another_process_goes_on_with_the_same_target(path, target):
    calls = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", OTHER_PROCESS, str(path), target],
            env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        calls.append(int(done.stdout))
    assert calls[0] > 0
    assert calls[1] == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": X + 1}, "data was"),
        ({"X": X[:5]}, "data was.*shape"),
        ({"X": X.astype(np.float32)}, "data was.*float64.*float32"),
        ({"target": 0}, r"target was .*label\(1\).* and is .*label\(0\)"),
        ({"target": Target.probability(1, 0.7)}, "target was"),
        ({"seed": 3}, "seed was 0 and is 3"),
        ({"settings": replace(SMALL, max_rows=200)}, "max_rows was 400 and is 200"),
        ({"settings": replace(SMALL, sparsity_weight=0.5)}, f"sparsity_weight was {SMALL.sparsity_weight} and is 0.5"),
        ({"features": Features.continuous(3, scale=2.0)}, "feature 'feature 0' was"),
        ({"constraints": [Causal(2, 0, abs)]}, "constraints was"),
    ],
)
def test_another_run_is_refused_with_the_difference(path, change, named):
    NTDCFE(rule, settings=SMALL).explain_batch(X, 1, checkpoint=path)
    before = path.read_bytes()
    options = {"settings": SMALL} | {k: v for k, v in change.items() if k not in ("X", "target")}
    with pytest.raises(InvalidInputError, match=named):
        NTDCFE(rule, **options).explain_batch(change.get("X", X), change.get("target", 1), checkpoint=path)
    assert path.read_bytes() == before


def test_how_long_and_how_patiently_may_change(path, undisturbed):
    NTDCFE(rule, settings=SMALL).explain_batch(X, 1, checkpoint=path)
    patient = replace(SMALL, retries=3, call_seconds=5.0, max_seconds=60.0, max_batch_size=10)
    assert same(NTDCFE(rule, settings=patient).explain_batch(X, 1, checkpoint=path), undisturbed)


def test_other_peoples_files_are_left_alone(path):
    path.write_text("precious,data\n1,2\n")
    with pytest.raises(InvalidInputError, match="is not one, and is left as it is"):
        NTDCFE(rule, settings=SMALL).explain_batch(X, 1, checkpoint=path)
    assert path.read_text() == "precious,data\n1,2\n"


def test_what_failed_is_done_again(path, undisturbed):
    bad = [True]

    def picky(rows):
        if bad[0] and (rows[:, 0, 1] == X[4, 0, 1]).any():
            raise ValueError("not now")
        return rule(rows)

    explainer = NTDCFE(picky, settings=SMALL)
    with pytest.warns(UserWarning, match="1 of 10"):
        cfs = explainer.explain_batch(X, 1, checkpoint=path)
    assert cfs[4].status == "model_failed"
    bad[0] = False
    assert [cf.complete for cf in cfs].count(False) == 1
    cfs = explainer.explain_batch(X, 1, checkpoint=path)
    assert [cf.status for cf in cfs] == [cf.status for cf in undisturbed]
    np.testing.assert_array_equal(cfs[4].x, undisturbed[4].x)


def test_what_was_found_before_a_failure_is_kept(path):
    calls = []

    def dies(rows):
        calls.append(len(rows))
        if len(calls) > 10:
            raise ConnectionError("gone")
        return rule(rows)

    explainer = NTDCFE(dies, settings=SMALL)
    with pytest.warns(UserWarning, match="gone"):
        first = explainer.explain_batch(X, 1, checkpoint=path)
    found = [cf.found for cf in first]
    assert any(found)
    with pytest.warns(UserWarning, match="gone"):
        second = explainer.explain_batch(X, 1, checkpoint=path)  # the model is dead from the start
    assert [cf.found for cf in second] == found
    assert all(isinstance(cf.cause, PredictorError) for cf in second)


def test_an_interrupted_run_goes_on(path, undisturbed):
    calls = []

    def predict(rows):
        calls.append(len(rows))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return rule(rows)

    explainer = NTDCFE(predict, settings=SMALL)
    cfs = explainer.explain_batch(X, 1, checkpoint=path)
    assert "interrupted" in {cf.status for cf in cfs}
    assert same(explainer.explain_batch(X, 1, checkpoint=path), undisturbed)


SCRIPT = """
import sys, time
import numpy as np
from ntdcfe import NTDCFE, SearchSettings

def rule(rows):
    time.sleep(0.01)
    return (rows[:, -2:, 0].min(1) > 0).astype(int)

X = np.tile(np.random.default_rng(0).normal(-0.5, 0.3, (10, 6, 3)), (4, 1, 1))
NTDCFE(rule, settings=SearchSettings(max_rows=400, batch_rows=33)).explain_batch(X, 1, checkpoint=sys.argv[1])
"""


def _environment():
    import ntdcfe

    return {**os.environ, "PYTHONPATH": str(Path(ntdcfe.__file__).parents[1])}


@pytest.mark.slow
def test_a_killed_run_goes_on(path):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], env=_environment())
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 10):
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    done = path.read_bytes().count(b"\n") - 1
    assert 9 <= done < 40
    many = np.tile(X, (4, 1, 1))
    explainer = NTDCFE(rule, settings=SMALL)
    resumed = explainer.explain_batch(many, 1, checkpoint=path)
    assert same(resumed, explainer.explain_batch(many, 1))


@pytest.mark.slow
def test_ctrl_c_returns_what_is_there(path):
    """A real SIGINT: the process ends in order, and says "interrupted"."""
    script = (
        SCRIPT.replace("NTDCFE(rule", "cfs = NTDCFE(rule").replace("0.01)", "0.1); print('asked', flush=True)")
        + "print([cf.status for cf in cfs].count('interrupted'))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        env=_environment(),
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    assert process.stdout
    for _ in range(4):  # in the middle of the search, however slow the machine
        assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert 0 < int(output.split()[-1]) <= 40


def test_missing_cells_come_back_missing(tmp_path):
    x = np.full((1, 8, 2), -0.5)
    x[0, 2, 1] = np.nan

    def predict(X):
        return (np.nanmean(X[:, :, 1], axis=1) > 0).astype(int)

    explainer = NTDCFE(predict, settings=SearchSettings(max_rows=400, batch_rows=40), missing="fixed")
    (first,) = explainer.explain_batch(x, 1, checkpoint=tmp_path / "run.jsonl")
    (again,) = explainer.explain_batch(x, 1, checkpoint=tmp_path / "run.jsonl")
    np.testing.assert_array_equal(first.x, again.x)
    assert np.isnan(again.x[2, 1])
    assert list(map(str, first.changes)) == list(map(str, again.changes))
