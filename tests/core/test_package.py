"""What is installed and handed out: imports, pins, markers, the source archive, the Makefile's targets."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from conftest import profile_of

import ntdcfe

ROOT = Path(__file__).parents[2]
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]


def test_importing_the_engine_pulls_in_no_ecosystem():
    code = (
        "import sys, ntdcfe\n"
        "heavy = {'pandas', 'sklearn', 'alibi', 'dice_ml', 'sktime', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_adapters_package_imports_no_ecosystem():
    code = (
        "import sys, ntdcfe_plugins\n"
        "heavy = {'pandas', 'sklearn', 'alibi', 'dice_ml', 'sktime', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_random_examples_are_the_same_in_every_run_that_asks_for_nothing_else():
    settings = pytest.importorskip("hypothesis").settings
    assert all(settings.get_profile(profile_of(None, None, markers)).derandomize for markers in ("", "not slow"))
    assert profile_of("mine", None, "not slow") == profile_of(None, "mine", "") == "mine"


class TestPins:
    @pytest.mark.parametrize("python", PYTHONS)
    def test_every_requirement_has_one_pin_within_its_range(self, python):
        Requirement = pytest.importorskip("packaging.requirements").Requirement
        here = {"python_version": python, "python_full_version": f"{python}.0"}
        pins = {}
        for line in (ROOT / "constraints.txt").read_text().splitlines():
            pin = line.partition("#")[0].strip()
            if pin and (not Requirement(pin).marker or Requirement(pin).marker.evaluate(here)):
                name, _, version = pin.partition(";")[0].strip().partition("==")
                assert name not in pins
                pins[name] = version
        for needed in map(Requirement, requires("ntdcfe-plugins")):
            extras = ("", "alibi", "dice", "sktime", "plot", "app", "all", "test")
            if needed.marker is None or any(needed.marker.evaluate({**here, "extra": extra}) for extra in extras):
                assert needed.specifier.contains(pins[needed.name]), needed

    def test_all_is_every_extra_and_leaves_alibi_out_where_it_has_no_numpy(self):
        Requirement = pytest.importorskip("packaging.requirements").Requirement
        needed = [Requirement(line) for line in requires("ntdcfe-plugins")]

        def of(extra, python):
            here = {"python_version": python, "python_full_version": f"{python}.0", "extra": extra}
            return {(n.name, str(n.specifier)) for n in needed if n.marker and n.marker.evaluate(here)}

        parts = [of(extra, "3.12") for extra in ("alibi", "dice", "sktime", "plot", "app")]
        assert of("all", "3.12") == set().union(*parts)
        assert {name for name, _ in of("all", "3.12") - of("all", "3.13")} == {"alibi"}


FILES = {
    "test_at_the_top.py": "import alibi.explainers\ndef test(): pass",
    "test_through_an_adapter.py": (
        "try:\n    import alibi\n"
        "except ImportError as missing:\n    raise ImportError('needs alibi') from missing\n"
        "def test(): pass"
    ),
    "test_inside.py": "def test():\n    import alibi",
    "test_fixture.py": "import pytest\n@pytest.fixture\ndef it():\n    import alibi\ndef test(it): pass",
    "test_other_module.py": "import no_such_module",
    "test_other_error.py": "def test():\n    import no_such_module",
    "test_examples.py": (
        "from hypothesis import given, settings, strategies as st\n"
        "counts = {}\n"
        "class Test:\n"
        "    @settings(max_examples=70, deadline=None)\n"
        "    @given(st.floats())\n"
        "    def test_own(self, x):\n        counts['own'] = counts.get('own', 0) + 1\n"
        "@settings(max_examples=4)\n@given(st.floats())\n"
        "def test_fewer(x):\n    counts['fewer'] = counts.get('fewer', 0) + 1\n"
        "@given(st.floats())\n"
        "def test_profile(x):\n    counts['profile'] = counts.get('profile', 0) + 1\n"
        "def test_counts():\n    print(counts)\n"
    ),
}


def pytest_in(folder: Path, *options: str, **variables: str) -> str:
    """The output of pytest where alibi is not installed, with this project's conftest."""
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    for name, code in FILES.items():
        (folder / name).write_text(code)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow: slow\n    cluster: cluster\n")
    code = "import sys, pytest; sys.modules['alibi'] = None; pytest.main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "-ra", "-p", "no:cacheprovider", *options]
    ours = ("HYPOTHESIS_", "PYTEST_", "CI")  # what would change the run from outside
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | variables
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment).stdout


class TestConftest:
    def test_what_needs_a_missing_extra_is_skipped_and_nothing_else(self, tmp_path):
        told = pytest_in(tmp_path, "--deselect", "test_examples.py", "--continue-on-collection-errors")
        assert re.search(r"not installed, their tests are skipped: alibi \(.*3\.10 to 3\.12\)", told)
        for file in (
            "test_at_the_top.py",
            "test_through_an_adapter.py",
            "test_inside.py::test",
            "test_fixture.py::test",
        ):
            assert f"{file} needs alibi (" in told
        assert "4 skipped" in told
        assert "ERROR test_other_module.py" in told
        assert "FAILED test_other_error.py::test" in told

    @pytest.mark.parametrize(
        ("options", "variables", "counts"),
        [
            ([], {}, "{'own': 70, 'fewer': 4, 'profile': 100}"),
            (["-m", "not slow and not cluster"], {}, "{'own': 10, 'fewer': 4, 'profile': 10}"),
            ([], {"HYPOTHESIS_PROFILE": "quick"}, "{'own': 10, 'fewer': 4, 'profile': 10}"),
            (["-m", "not slow"], {"HYPOTHESIS_PROFILE": "default"}, "{'own': 70, 'fewer': 4, 'profile': 100}"),
        ],
    )
    def test_the_quick_profile_lowers_the_number_of_examples(self, tmp_path, options, variables, counts):
        assert counts in pytest_in(tmp_path, "-s", "test_examples.py", *options, **variables)

    def test_markers(self, pytestconfig):
        assert {"slow", "cluster"} <= {line.partition(":")[0] for line in pytestconfig.getini("markers")}


def tracked() -> "set[str]":
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.splitlines() if (ROOT / name).exists()}


def test_the_source_archive_has_every_file(tmp_path):
    sdist = pytest.importorskip("hatchling.builders.sdist")
    files = tracked()
    (archive,) = sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path))
    with tarfile.open(archive) as opened:
        packed = {name.partition("/")[2] for name in opened.getnames()}
    assert files - packed == set()


def test_make_lists_every_target():
    if not shutil.which("make"):
        pytest.skip("no make")
    told = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert re.findall(r"^make ([a-z-]+) ", told, flags=re.MULTILINE) == phony.split()


def test_the_citation():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    paper = citation["preferred-citation"]
    assert citation["version"] == ntdcfe.__version__
    assert [author["family-names"] for author in paper["authors"]] == ["Sun", "Aoki", "Wilson"]
    assert paper["url"] in (ROOT / "README.md").read_text()
