"""Examples in docstrings do what they say."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["features", "constraints", "explainer"])
def test_docstring_examples(name):
    results = doctest.testmod(importlib.import_module(f"ntdcfe.{name}"), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.attempted > 0
    assert results.failed == 0
