"""Examples in docstrings do what they say."""

import doctest
import importlib
import pkgutil

import pytest

import ntdcfe

MODULES = [entry.name for entry in pkgutil.walk_packages(ntdcfe.__path__, "ntdcfe.")]
WITH_EXAMPLES = {"explainer", "settings", "session", "features", "constraints", "objective", "target"}


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0
    assert results.attempted > 0 or name.rpartition(".")[2] not in WITH_EXAMPLES
