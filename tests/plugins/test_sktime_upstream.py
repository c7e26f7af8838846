"""The records that would stand in sktime's registry, run beside the installed sktime."""

import importlib.util
import inspect
import warnings
from pathlib import Path

import pytest

pytest.importorskip("sktime")
pytest.importorskip("sktime.utils.dependencies._placeholder", reason="this sktime has no placeholder records")

import ntdcfe_plugins.sktime as ours

RECORDS = Path(__file__).parents[2] / "docs" / "upstream" / "ntdcfe.py"
NAMES = ["CounterfactualClassifier", "CounterfactualRegressor", "CounterfactualTransformer"]


def records(tmp_path, package):
    """The module of the records, for a package of that name."""
    path = tmp_path / "records.py"
    path.write_text(RECORDS.read_text().replace('PACKAGE = "ntdcfe-plugins"', f'PACKAGE = "{package}"'))
    spec = importlib.util.spec_from_file_location("records", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def absent(tmp_path):
    return records(tmp_path, "a-package-that-is-not-there")


@pytest.mark.parametrize("name", NAMES)
def test_where_the_package_is_installed_the_name_is_our_class(tmp_path, name):
    installed = records(tmp_path, "numpy")  # installed in any case; ours may be on the path only
    assert installed.__all__ == NAMES
    assert getattr(installed, name) is getattr(ours, name)


@pytest.mark.parametrize("name", NAMES)
def test_where_it_is_not_the_record_says_what_to_install(absent, name):
    record = getattr(absent, name)
    assert record is not getattr(ours, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = record.create_test_instance()
    with pytest.raises(ModuleNotFoundError, match="a-package-that-is-not-there"):
        made.fit([[1.0]], [1])


@pytest.mark.parametrize("name", NAMES)
def test_signature_and_tags_are_those_of_the_class(absent, name):
    record, real = getattr(absent, name), getattr(ours, name)
    plain = [
        [(parameter.name, parameter.default) for parameter in inspect.signature(made.__init__).parameters.values()]
        for made in (record, real)
    ]
    assert plain[0] == plain[1]
    assert issubclass(real, record.__mro__[1])
    for tag in ("authors", "maintainers", "capability:random_state", "property:randomness", "requires_y"):
        assert record.get_class_tag(tag) == real.get_class_tag(tag)
