"""The rooms of the engine: which module may know which, and how large one may get."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ntdcfe

ROOT = Path(ntdcfe.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
# From the inside out: a module imports what stands in its own room or further inside.
ROOMS = (
    *("errors", "version", "problem", "counterfactual", "search", "model", "settings", "run", "explainer"),
    *("__init__", "testing"),
)


def room_of(module):
    """The room of a dotted name below ``ntdcfe``."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(path):
    """Names of the modules that a file imports when it runs, not those it needs for its types only."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_inwards(path):
    own = path.relative_to(ROOT).with_suffix("").parts[0]
    for module in imports(path):
        assert not module.startswith("ntdcfe_plugins"), "the engine knows nothing of its adapters"
        if module.split(".")[0] == "ntdcfe":
            assert ROOMS.index(room_of(module)) <= ROOMS.index(own), f"{own} must not know {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_one_idea_and_fits_on_a_few_screens(path):
    text = path.read_text()
    assert text.count("\n") <= 350
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            assert node.end_lineno - node.lineno < 200, f"{node.name} is too long"
    if path.name == "job.py":
        assert text.count("\n") <= 200


def run(code):
    subprocess.run([sys.executable, "-c", code], check=True)


def test_reading_a_saved_result_needs_no_torch():
    run(
        "import json, sys\n"
        "import numpy as np, ntdcfe\n"
        "from ntdcfe import Features\n"
        "from ntdcfe.counterfactual import Counterfactual\n"
        "cf = Counterfactual(status='not_found', original=np.zeros((2, 1)), x=None, present=0, prediction=None, "
        "target='1', proximity=float('nan'), sparsity=None, proximity_in_units=float('nan'), "
        "largest_change=float('nan'), widened=1.0, edits=(), contributions=(), survival=None, options={}, "
        "changes=(), candidates=(), near_miss=None, implausible=False, holds_alone=None, unscored=0, "
        "near_miss_prediction=None, rows=1, calls=1, failures=0, first_found=None, seconds=0.1, confirmed=False, "
        "contradicted=False, cause=None, complete=True, history=(), features=Features.continuous(1))\n"
        "again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict())))\n"
        "assert str(again) == str(cf)\n"
        "assert 'torch' not in sys.modules\n"
    )


def test_the_core_alone_says_what_pictures_need():
    run(
        "import importlib.metadata, ntdcfe.counterfactual as module\n"
        "module.entry_points = lambda **_: []\n"
        "from ntdcfe import NTDCFE\n"
        "import numpy as np\n"
        "cf = NTDCFE(lambda X: X[:, 0, 0] > 1).explain(np.zeros((2, 1)), True, max_rows=100)\n"
        "assert cf._repr_html_() is None\n"
        "for show in (cf.plot, lambda: cf.report('decision.html')):\n"
        "    try:\n"
        "        show()\n"
        "    except ImportError as error:\n"
        "        assert 'ntdcfe-plugins[plot]' in str(error)\n"
        "    else:\n"
        "        raise AssertionError\n"
    )
