"""One thread for our own sums: the last bits of a sum depend on how many threads add it up.

A search follows such bits a long way, so that its result would depend on the number of cores, jobs and workers.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch, and the library that numpy leaves products to, on one thread; small ones are faster on it, too."""
    torch = sys.modules.get("torch")  # a torch that is not loaded has no threads to limit
    before = 1 if torch is None else torch.get_num_threads()  # every thread has its own
    if torch is not None and before != 1:
        torch.set_num_threads(1)
    try:
        with _BLAS:
            yield
    finally:
        if torch is not None and before != 1:
            torch.set_num_threads(before)


class _Blas:
    """The number of threads of numpy's library, which all threads share: 1 while any is inside, then as before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._libraries: list[Any] | None = None
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._libraries is None:
                # Looks through all libraries that are loaded, so only once.
                self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            if self._n_inside == 0:
                # Not by its `limit`, which takes a hundred times as long, in every step of a search.
                self._before = [library.get_num_threads() for library in self._libraries]
                self._set([1] * len(self._before))
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._set(self._before)

    def _set(self, n_threads: list[int]) -> None:
        for library, n, before in zip(self._libraries or [], n_threads, self._before, strict=True):
            if before != 1:
                library.set_num_threads(n)


_BLAS = _Blas()
