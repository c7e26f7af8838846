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


def test_code_in_the_readme():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
