"""The examples run as a user would run them; the code of the documents does in tests/core/test_docs.py."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(example: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, ROOT / "examples" / example]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_quickstart(tmp_path):
    pytest.importorskip("sktime")
    pytest.importorskip("matplotlib")
    done = run("quickstart.py", tmp_path)
    assert "The model says walking. For standing instead:" in done.stdout
    assert 1 <= len(re.findall(r"^  - ", done.stdout, flags=re.MULTILINE)) <= 3
    assert "Still holds in" in done.stdout
    assert "with these changes, the model says: standing" in done.stdout
    assert "searching" in done.stderr  # the bar
    for written in ("quickstart.png", "quickstart.html", "quickstart.json"):
        assert (tmp_path / written).exists()


def test_a_person_can_be_the_model(tmp_path):
    """Somebody at the keyboard who grants a loan if income is above twice the debt."""
    command = [sys.executable, "-u", ROOT / "examples" / "ask_a_person.py"]
    person = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    question, asked, told = "", 0, ""
    while letter := person.stdout.read(1):
        told, question = told + letter, question + letter
        if match := re.search(r"income (\d+), debt (\d+), guarantors \d+: $", question):
            income, debt = map(int, match.groups())
            person.stdin.write("yes\n" if income > 2 * debt else "no\n")
            person.stdin.flush()
            question, asked = "", asked + 1
    assert person.wait() == 0
    assert 0 < asked <= 24
    assert "The model says no. For yes instead:" in told
    assert "income" in told.rpartition("instead:")[2] or "debt" in told.rpartition("instead:")[2]


@pytest.mark.slow
def test_alibi_timeseries(tmp_path):
    for needed in ("alibi", "sktime", "matplotlib"):
        pytest.importorskip(needed)
    told = run("alibi_timeseries.py", tmp_path).stdout
    assert "success: [True, True, True, True]" in told
    assert "the model says of them: ['standing', 'standing', 'standing', 'standing']" in told
    for claim in ("gyroscope untouched", "first 20 steps untouched", "the same after loading"):
        assert f"{claim}: True" in told
    for written in ("alibi_timeseries.png", "alibi_timeseries.html", "alibi_timeseries.json"):
        assert (tmp_path / written).exists()


@pytest.mark.slow
def test_alibi_tabular(tmp_path):
    pytest.importorskip("alibi")
    told = run("alibi_tabular.py", tmp_path).stdout
    assert "success: [True, True, True, True, True]" in told
    for claim in ("marital status and sex untouched", "nobody gets younger", "codes are codes"):
        assert f"{claim}: True" in told


@pytest.mark.slow
def test_remote_model(tmp_path):
    first = run("remote_model.py", tmp_path).stdout
    assert "The model says alarm. For normal instead:" in first
    assert "found 6 of 6" in first
    requests, failures = map(int, re.search(r"service: (\d+), failed and made again: (\d+)", first).groups())
    assert 0 < failures < requests
    assert (tmp_path / "remote_model.jsonl").read_text().count("\n") == 7
    assert "requests to the service: 0" in run("remote_model.py", tmp_path).stdout  # all of it is in the file


@pytest.mark.slow
def test_dice_private_data(tmp_path):
    pytest.importorskip("dice_ml")
    pytest.importorskip("matplotlib")
    said = run("dice_private_data.py", tmp_path).stdout
    assert "'income'" in (tmp_path / "dice_private_data.html").read_text(encoding="utf-8").replace("&#x27;", "'")
    assert "The model says refuse. For grant instead:" in said
    assert len(re.findall(r" car +grant", said)) == 4
    assert "'purpose': 0.0" in said
    assert '"cfs_list"' in said
    assert re.search(r"By age alone\? .*\n.*\n +3[123] .*refuse", said)


@pytest.mark.slow
def test_dice_timeseries(tmp_path):
    pytest.importorskip("dice_ml")
    pytest.importorskip("matplotlib")
    said = run("dice_timeseries.py", tmp_path).stdout
    assert "3 counterfactuals of shape (48, 2), alarms: [0 0 0]" in said
    assert "'temperature'" not in said
    assert (tmp_path / "dice_timeseries.png").exists()


@pytest.mark.parametrize("name", ["tabular", "time_series"])
@pytest.mark.slow
def test_notebooks_run_and_are_stored_with_their_results(name, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for needed in ("ipykernel", "sktime", "dice_ml", "matplotlib"):
        pytest.importorskip(needed)
    notebook = nbformat.read(ROOT / "examples" / f"{name}.ipynb", as_version=4)
    stored = [len(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(stored) >= 5
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    tables = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert len(pictures) >= 2
    assert "The model says" in tables[0]
    ours, *_ = re.findall(r"<tr>(?:(?!</tr>).)*NTD-CFE.*?</tr>", tables[-1], flags=re.DOTALL)
    assert re.search(r"<td data-label='success, %'[^>]*>(?:▲ )?100\b", ours)  # in the comparison


@pytest.mark.slow
def test_sktime_pipeline(tmp_path):
    pytest.importorskip("sktime")
    pytest.importorskip("matplotlib")
    said = run("sktime_pipeline.py", tmp_path).stdout
    assert "The model says 1. For 2 instead:" in said
    assert "CounterfactualResult(4 instances, 4 valid)" in said
    assert re.search(r"\n2[0-3]( +\d+){3} +0 +0 +0\n", said)  # the gyroscope is untouched
    assert "CounterfactualResult(3 instances, 3 valid)" in said
    assert (tmp_path / "sktime_pipeline.png").exists()


@pytest.mark.slow
def test_sktime_forecast(tmp_path):
    pytest.importorskip("sktime")
    pytest.importorskip("matplotlib")
    said = run("sktime_forecast.py", tmp_path).stdout
    assert re.search(r"every step of the forecast \(2026-01-05 to 2026-02-23\) at most 300\. Now .*: 31\d", said)
    assert "'price'" in said
    assert "'ads'" not in said
    then = [float(value) for value in re.search(r"forecast then: \[(.*)\]", said)[1].split(", ")]
    assert max(then) <= 300
    assert "the parameters of the forecaster stay" in said
    assert not re.search(r"\d\.\d{3}", said)  # whole numbers in sentences
    assert (tmp_path / "sktime_forecast.png").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("example", "package", "says"), [("aeon_model", "aeon", "standing"), ("mlflow_model", "mlflow", "grant")]
)
def test_recipes_for_models_whose_packages_are_too_many_for_these_tests(example, package, says, tmp_path):
    """docs/guide/models.md says why they are not installed."""
    pytest.importorskip(package)
    pytest.importorskip("matplotlib")
    assert f"says of it: {says}" in run(f"{example}.py", tmp_path).stdout
