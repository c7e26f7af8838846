"""Errors that all adapters raise in the same words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def extra(name: str, package: str | None = None) -> Iterator[None]:
    """Imports that need an extra: a missing package becomes an ImportError that names the extra.

    Parameters
    ----------
    name : str
        Of the extra.
    package : str, optional
        That the extra installs; of the same name as the extra if not given.
    """
    try:
        yield
    except ImportError as missing:
        needed = package or name
        raise ImportError(f"{needed} is needed and not installed: pip install 'ntdcfe-plugins[{name}]'") from missing
