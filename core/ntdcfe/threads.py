"""One thread for our own sums: the last bits of a sum depend on how many add it up.

A search follows such bits a long way, so that its result would depend on the number of cores, jobs and workers.
numpy leaves products to a library whose threads it cannot set; torch can be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread, on which small networks are faster, too."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The matrix product ``a @ b`` of floating numbers, in the type that numpy would give it."""
    dtype = np.result_type(a, b)
    with one_thread():
        return (_tensor(a, dtype) @ _tensor(b, dtype)).numpy()


def solve(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The solution of ``a @ x = b``."""
    with one_thread():
        return torch.linalg.solve(_tensor(a), _tensor(b)).numpy()


def cholesky(a: NDArray[Any]) -> NDArray[Any]:
    """The lower triangular root of a positive definite matrix."""
    with one_thread():
        return torch.linalg.cholesky(_tensor(a)).numpy()


def _tensor(values: NDArray[Any], dtype: np.dtype[Any] | None = None) -> torch.Tensor:
    """An array for torch, which shares its memory where it can."""
    values = np.asarray(values, dtype)
    return torch.from_numpy(values if values.flags.writeable and min(values.strides, default=0) >= 0 else values.copy())
