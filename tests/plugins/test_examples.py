"""The examples and the README's code run as a user would run them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_quickstart(tmp_path):
    pytest.importorskip("sktime")
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "quickstart.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "The model says walking. For standing instead:" in done.stdout
    assert re.search(r"success +True", done.stdout)
    assert re.search(r"the model says of it +standing", done.stdout)
    assert "searching" in done.stderr  # the bar
    assert (tmp_path / "quickstart.png").exists()


def run(example, folder):
    return subprocess.run(
        [sys.executable, ROOT / "examples" / example], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def test_dice_private_data(tmp_path):
    pytest.importorskip("dice_ml")
    said = run("dice_private_data.py", tmp_path)
    assert "The model says refuse. For grant instead:" in said
    assert len(re.findall(r" car +grant", said)) == 4
    assert "'purpose': 0.0" in said
    assert '"cfs_list"' in said
    assert re.search(r"By age alone\? .*\n.*\n +3[123] .*refuse", said)


def test_dice_timeseries(tmp_path):
    pytest.importorskip("dice_ml")
    pytest.importorskip("matplotlib")
    said = run("dice_timeseries.py", tmp_path)
    assert "3 counterfactuals of shape (48, 2), alarms: [0 0 0]" in said
    assert "'temperature'" not in said
    assert (tmp_path / "dice_timeseries.png").exists()


def test_code_in_the_readme():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
