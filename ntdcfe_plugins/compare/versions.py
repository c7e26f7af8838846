"""Which packages an explainer is made with."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

from ntdcfe_plugins.compare.calls import Flat
from ntdcfe_plugins.compare.of_cfts import Asking


def version_of(explainer: Any) -> str:
    """The package that an explainer comes from with its version; nothing for code that is in no package.

    Parameters
    ----------
    explainer : object
        An explainer or a function; of a :class:`Flat` the explainer within.
    """
    while isinstance(explainer, (Flat, Asking)):
        explainer = explainer.explainer if isinstance(explainer, Flat) else explainer.of.function
    origin = explainer if inspect.isroutine(explainer) or inspect.isclass(explainer) else type(explainer)
    module = (getattr(origin, "__module__", None) or "").partition(".")[0]
    if module in ("", "__main__", "builtins") or module in sys.stdlib_module_names:
        return ""
    for distribution in _distributions().get(module, ()):
        try:
            return f"{distribution} {version(distribution)}"
        except PackageNotFoundError:  # uninstalled since
            continue
    own = getattr(sys.modules.get(module), "__version__", None)
    return f"{module} {own}" if own else ""


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()
