"""The documents do what they say: examples in docstrings, and every block of code of the README and the site."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import ntdcfe

ROOT = Path(__file__).parents[2]
MODULES = [entry.name for entry in pkgutil.walk_packages(ntdcfe.__path__, "ntdcfe.")]
WITH_EXAMPLES = {"explainer", "settings", "session", "features", "constraints", "objective", "target"}
DOCUMENTS = [path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if path.exists()]
DOCUMENTS += sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
# Packages without which some of the documents cannot be run.
OPTIONAL = {"alibi", "dice_ml", "sktime", "sklearn", "pandas", "matplotlib", "bokeh"}
OPTIONAL |= {"xgboost", "lightgbm", "onnxruntime", "skl2onnx"}  # models of docs/guide/models.md


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0
    assert results.attempted > 0 or name.rpartition(".")[2] not in WITH_EXAMPLES


def blocks_of(path: Path) -> "list[tuple[int, str]]":
    """The blocks of Python code of a document, each with the line that it begins at."""
    text = path.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in BLOCK.finditer(text)]


def missing_package(error: "BaseException | None") -> str:
    """The package whose absence is the cause; empty if that is not it."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            return (error.name or "").partition(".")[0]
        error = error.__cause__ or error.__context__
    return ""


WITH_CODE = [path for path in DOCUMENTS if blocks_of(path)]


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_code_of_a_document_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    """With the same names, as for a reader who pastes one block after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for line, block in blocks_of(path):
        code = compile("\n" * line + block, str(path), "exec")
        try:
            exec(code, names)
        except ImportError as error:
            missing = missing_package(error)
            if missing not in OPTIONAL:
                raise
            pytest.skip(f"from line {line} on it needs {missing}")


def test_every_document_with_code_is_found():
    assert {"README.md", "extend.md", "core.md"} <= {path.name for path in WITH_CODE}


def test_no_block_of_python_is_hidden_from_the_tests():
    """A fence that is indented, or names the language otherwise, would not be run."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        fences = re.findall(r"^ *```+ *(?:py|python|python3|pycon)\b.*$", text, flags=re.MULTILINE)
        assert len(fences) == len(blocks_of(path)), path


def public_names() -> "list[str]":
    found = []
    for module in ("ntdcfe", *(f"ntdcfe_plugins.{name}" for name in ("alibi", "dice", "sktime", "compare"))):
        path = ROOT / ("core" if module == "ntdcfe" else "") / module.replace(".", "/") / "__init__.py"
        listed = re.search(r"^__all__ = \[(.*?)\]", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        found += [f"{module}.{name}" for name in re.findall(r'"(\w+)"', listed[1]) if name != "__version__"]
    return found


@pytest.mark.skipif(not (ROOT / "ntdcfe_plugins").is_dir(), reason="only in a checkout")
def test_everything_public_has_its_place_in_the_api():
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    described = set(re.findall(r"^::: ([\w.]+)$", pages, flags=re.MULTILINE))
    assert [name for name in public_names() if name not in described] == []


def anchors_of(path: Path) -> "set[str]":
    """What a link into a document may name: its headings as GitHub and the site spell them."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", path.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_somewhere(path):
    """In the repository; the build of the site checks those of its pages."""
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = path.parent / target if target else path
        assert file.exists(), f"{link} leads nowhere"
        if anchor and "." not in anchor:  # one with a dot is a name of the API
            assert anchor in anchors_of(file), f"{link}: there is no such heading"
