"""Tests that need an extra which is not installed are skipped with the reason; `quick` runs have few examples."""

import importlib.util
import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import is_hypothesis_test, settings

# What the tests need beside the engine, by the name it is imported under.
EXTRAS = {
    "alibi": "extra alibi, Python 3.10 to 3.12",  # alibi needs numpy 1, which has no build for 3.13
    "dice_ml": "extra dice",
    "sktime": "extra sktime",
    "matplotlib": "extra plot",
    "bokeh": "extra app",
    "sklearn": "extra test",
    "pandas": "extra test",
}
MISSING = {name: extra for name, extra in EXTRAS.items() if importlib.util.find_spec(name) is None}
PROFILE = pytest.StashKey[str]()
QUICK = 10  # examples

# The same examples every time, so that a run fails for what was changed only; benchmarks/load/fuzz.py tries fresh ones.
settings.register_profile("repeatable", derandomize=True, database=None)
settings.register_profile("quick", max_examples=QUICK, deadline=None, derandomize=True, database=None)


def without_the_extra(error: "BaseException | None") -> str:
    """The package this error is about if it is one of `MISSING`, else an empty string."""
    while error is not None:
        name = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ImportError) and name in MISSING:
            return name
        error = error.__cause__ or error.__context__
    return ""


def skip_or_raise(place: str, error: BaseException) -> None:
    """Skip if the error is a missing extra; everything else stays an error."""
    name = without_the_extra(error)
    if not name:
        raise error
    pytest.skip(f"{place} needs {name} ({MISSING[name]}), which is not installed", allow_module_level=True)


class Module(pytest.Module):
    """A test file that may need an extra."""

    def collect(self) -> "list[pytest.Item | pytest.Collector]":
        try:
            return list(super().collect())
        except self.CollectError as error:
            skip_or_raise(self.nodeid, error)
            raise


def pytest_pycollect_makemodule(module_path: "os.PathLike[str]", parent: pytest.Collector) -> Module:
    return Module.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except ImportError as error:
        skip_or_raise(item.nodeid, error)
        raise


pytest_runtest_call = pytest_runtest_setup  # the test itself as well as its fixtures


def profile_of(option: "str | None", environment: "str | None", markers: str) -> str:
    """What was asked for, else `quick` where the slow tests are left out, else `repeatable`."""
    return option or environment or ("quick" if "not slow" in markers else "repeatable")


def pytest_configure(config: pytest.Config) -> None:
    option = config.getoption("--hypothesis-profile", None)
    config.stash[PROFILE] = profile_of(option, os.environ.get("HYPOTHESIS_PROFILE"), config.getoption("markexpr"))
    settings.load_profile(config.stash[PROFILE])


def pytest_report_header(config: pytest.Config) -> "list[str]":
    told = [f"{name} ({extra})" for name, extra in MISSING.items()]
    return [f"not installed, their tests are skipped: {', '.join(told)}"] if told else []


def pytest_collection_modifyitems(config: pytest.Config, items: "list[pytest.Item]") -> None:
    if config.stash[PROFILE] == "quick":
        for item in items:
            lower_examples(getattr(item, "obj", None))


def lower_examples(test: object) -> None:
    """`quick` for a test that has its own number of examples, which would go before the profile's."""
    if is_hypothesis_test(test):
        inner = getattr(test, "__func__", test)
        own = inner._hypothesis_internal_use_settings
        inner._hypothesis_internal_use_settings = settings(
            own, max_examples=min(own.max_examples, QUICK), deadline=None, derandomize=True, database=None
        )


@pytest.fixture(autouse=True)
def closed_figures():
    """Figures that a test leaves open are closed: from the twenty-first on each is a warning, wherever it is drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
