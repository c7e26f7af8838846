"""numpy's handling of floating-point errors: silent in our own arithmetic, as the caller has set it in their models.

A caller may have numpy raise where numbers overflow or underflow (``np.seterr(all="raise")``). In our arithmetic
infinity and 0 are meant then; a model of the caller's may rely on the exception.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

# What the caller has set, while our own code is at work; None while theirs is.
_CALLERS: ContextVar[Mapping[str, Any] | None] = ContextVar("numpy errors of the caller", default=None)


@contextmanager
def silent() -> Iterator[None]:
    """For our own arithmetic; a block, or a decorator of a function."""
    callers = _CALLERS.get()
    token = _CALLERS.set(np.geterr() if callers is None else callers)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _CALLERS.reset(token)


@contextmanager
def as_caller() -> Iterator[None]:
    """For a model of the caller's that is asked within :func:`silent`."""
    callers = _CALLERS.get()
    if callers is None:
        yield
        return
    token = _CALLERS.set(None)
    try:
        with np.errstate(**callers):
            yield
    finally:
        _CALLERS.reset(token)
