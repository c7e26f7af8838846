"""The numbers of sktime's containers: read, and written into copies in which all else is as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def copied(container: Any) -> Any:
    """The same container with values of its own, also those in the cells of a nested one: an estimator may write."""
    if isinstance(container, list):
        return [copied(one) for one in container]
    if not isinstance(container, pd.DataFrame):
        return container.copy()
    frame = container.copy()
    for place, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            cells = [cell.copy() if hasattr(cell, "copy") else cell for cell in container.iloc[:, place]]
            frame.isetitem(place, pd.Series(cells, index=frame.index, dtype=object))
    return frame


def as_numpy3D(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows ``(n, K, D)`` as sktime has them ``(n, D, K)``."""
    return np.ascontiguousarray(rows.transpose(0, 2, 1))


def as_numpyflat(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows ``(n, K, 1)`` as a table ``(n, K)``."""
    return rows[:, :, 0]


def numbers(frame: pd.DataFrame) -> NDArray[np.float64]:
    """The values of a DataFrame, NaN where they are missing."""
    return np.array(frame.to_numpy(dtype=float, na_value=np.nan))


def as_held(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Numbers as a column of that type can hold them."""
    if dtype.kind in "iu":
        limits = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
        return np.clip(np.rint(values), limits.min, limits.max)
    return values if dtype.kind == "b" else values.astype(getattr(dtype, "numpy_dtype", dtype))


def written(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """A copy of `old` with the numbers of `new` that differ."""
    out = old.copy()
    changed = (old != new) & ~np.isnan(new)
    out[changed] = as_held(new[changed], old.dtype)
    return out


def rewritten(frame: pd.DataFrame, values: NDArray[Any]) -> pd.DataFrame:
    """A copy of a DataFrame with the numbers of `values` that differ; types as before."""
    before, columns = numbers(frame), {}
    changed = (before != values) & ~np.isnan(values)
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j].array.copy()
        new = as_held(values[changed[:, j], j], column.dtype)
        column[changed[:, j]] = new.astype(getattr(column.dtype, "numpy_dtype", column.dtype))
        columns[j] = pd.Series(column, index=frame.index)
    return pd.DataFrame(columns, index=frame.index).set_axis(frame.columns, axis=1)
