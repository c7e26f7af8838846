"""One thread for our own sums: the last bits of a sum depend on how many threads add it up.

A search follows such bits a long way, so that its result would depend on the number of cores, jobs and workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch, and the library that numpy leaves products to, on one thread; small ones are faster on it, too."""
    before = torch.get_num_threads()
    if before != 1:
        torch.set_num_threads(1)
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        if before != 1:
            torch.set_num_threads(before)


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all libraries that are loaded, so only once
