"""The parts that the adapters share."""

import ast
import doctest
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ntdcfe_plugins
from ntdcfe import AtMost, Continuous, InvalidInputError, OneHot, PredictorError, SearchSettings
from ntdcfe_plugins._shared import keyed
from ntdcfe_plugins._shared.arguments import settings_of
from ntdcfe_plugins._shared.asked import AskedModel, parted
from ntdcfe_plugins._shared.budget import for_the_search
from ntdcfe_plugins._shared.keyed import KeyedFeatures, keys_of_columns
from ntdcfe_plugins._shared.probabilities import softmax, softmax_of_logits, two_columns


@pytest.fixture
def features():
    plain = KeyedFeatures([OneHot(name="home", categories=3), Continuous(name="part"), Continuous(name="whole")])
    return KeyedFeatures(plain.features, keys=keys_of_columns(plain))


def test_settings_are_search_settings():
    assert settings_of(None) is None
    assert settings_of(SearchSettings()) == SearchSettings()
    with pytest.raises(InvalidInputError, match=r"settings must be SearchSettings\(...\), got \{'max_rows': 5\}"):
        settings_of({"max_rows": 5})


def test_columns_stand_for_their_features(features):
    assert [features.index(column) for column in range(5)] == [0, 0, 0, 1, 2]
    assert [features.index(column) for column in (-1, -2, -5, np.int64(3))] == [2, 1, 0, 1]
    assert features.index("whole") == 2
    assert AtMost(3, "whole").bind(features) == AtMost(1, 2)
    for wrong in (5, -6, "roof", True, 0.0, None):
        with pytest.raises(InvalidInputError, match="no feature"):
            features.index(wrong)


def test_the_search_gets_what_an_adapter_leaves():
    whole = SearchSettings(max_rows=100, max_seconds=10.0)
    left = for_the_search(whole, rows=20, seconds=4.0, share=0.5)
    assert (left.max_rows, left.max_seconds) == (40, 3.0)
    none = for_the_search(whole, rows=200, seconds=40.0)
    assert none.max_rows == 1
    assert 0 < none.max_seconds < 1e-6
    free = SearchSettings(max_rows=None)
    assert for_the_search(free, rows=20, seconds=4.0) == free


def test_questions_are_counted_for_the_instances_that_they_are_about():
    asked = AskedModel(3, SearchSettings(max_batch_size=2, retries=1, retry_wait=0.0))
    calls = []

    def predict(rows):
        calls.append(len(rows))
        if len(calls) == 1:
            raise ConnectionError("try again")
        return rows[:, 0] > 2

    rows = np.arange(5.0)[:, None]
    parts = parted(asked.ask(predict, rows, [2, 0, 3]), [2, 0, 3])
    assert [part.outcomes.tolist() for part in parts] == [[False, False], [], [False, True, True]]
    assert calls == [2, 2, 2, 1]
    assert asked.rows.tolist() == [2, 0, 3]
    assert asked.calls.tolist() == [4, 0, 4]
    assert asked.failures.tolist() == [1, 0, 1]
    with pytest.raises(PredictorError, match="gone"):
        asked.ask(lambda rows: 1 / 0 if len(rows) < 2 else gone(), rows, [2, 0, 3])
    assert asked.rows.tolist() == [2, 0, 3]
    assert asked.failures.tolist() == [3, 0, 3]


def gone():
    raise ConnectionError("gone")


def test_probabilities_from_logits_and_single_columns():
    logits = np.array([[0.0, 1.0, -1000.0], [2000.0, 0.0, 0.0]])
    np.testing.assert_allclose(softmax(logits).sum(1), 1)
    mixed = np.array([[0.2, 0.8], [3.0, -3.0]])
    np.testing.assert_array_equal(softmax_of_logits(mixed)[0], mixed[0])
    np.testing.assert_allclose(softmax_of_logits(mixed)[1], softmax(mixed)[1])
    for single in (np.array([0.25, 1.0]), np.array([[0.25], [1.0]])):
        np.testing.assert_array_equal(two_columns(single), [[0.75, 0.25], [0.0, 1.0]])
    for odd in (np.array([[np.nan, 1.0]]), np.array([["a", "b"]]), np.array(3.0), np.zeros((0, 2))):
        assert softmax(odd) is odd
        assert softmax_of_logits(odd) is odd


def test_docstring_examples():
    results = doctest.testmod(keyed)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize(("adapter", "package"), [("alibi", "alibi"), ("dice", "dice_ml"), ("sktime", "sktime")])
def test_a_missing_ecosystem_is_an_import_error_that_names_the_extra(adapter, package):
    code = f"import sys; sys.modules[{package!r}] = None; import ntdcfe_plugins.{adapter}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().splitlines()[-1].startswith("ImportError: ")
    assert f"pip install 'ntdcfe-plugins[{adapter}]'" in done.stderr


ROOT = Path(ntdcfe_plugins.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ECOSYSTEMS = {"alibi": {"alibi"}, "dice": {"dice_ml", "raiutils", "pandas"}, "sktime": {"sktime", "sklearn", "pandas"}}


def imports(path):
    """Names of the modules that a file imports when it is imported itself."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if isinstance(node, ast.FunctionDef) or for_types:
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_adapter_imports_its_own_ecosystem_and_no_other_adapter(path):
    room = path.relative_to(ROOT).parts[0]
    for module in imports(path):
        package, _, rest = module.partition(".")
        assert package not in set().union(*ECOSYSTEMS.values()) - ECOSYSTEMS.get(room, set()), module
        if package == "ntdcfe_plugins":
            allowed = {room, "_shared"} | ({"report"} if room in ("app", "compare", "letter.py") else set())
            allowed |= {"letter"} if room == "app" else set()
            assert rest.partition(".")[0] in allowed, module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_one_idea_and_fits_on_a_few_screens(path):
    text = path.read_text()
    assert text.count("\n") <= 350
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            assert node.end_lineno - node.lineno < 200, f"{node.name} is too long"
