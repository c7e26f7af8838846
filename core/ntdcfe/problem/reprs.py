"""Texts of settings and features that can be typed back, and that show only what is not as usual."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any


def typed_back(instance: Any) -> str:
    """The call that makes this dataclass instance, with the arguments that differ from their defaults."""
    given = []
    for entry in fields(instance):
        value = getattr(instance, entry.name)
        default = entry.default if entry.default_factory is MISSING else entry.default_factory()
        if entry.init and not _same(value, default):
            given.append(f"{entry.name}={value!r}")
    return f"{type(instance).__name__}({', '.join(given)})"


def _same(value: Any, default: Any) -> bool:
    try:
        return value is default or bool(value == default)
    except ValueError:  # arrays have no single verdict
        return False
