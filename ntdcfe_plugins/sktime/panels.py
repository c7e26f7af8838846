"""sktime's containers of series: their values, and copies of them with other values.

The engine works on arrays ``(K, D)``. A user's ids, timestamps, column names and types stay in the container: values
are read once, and changed values are written into a copy of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntdcfe import InvalidInputError
from ntdcfe_plugins.sktime.steps import names_of
from ntdcfe_plugins.sktime.values import as_held, as_numpy3D, as_numpyflat, numbers, rewritten, written

Series = NDArray[Any]  # (K, D)


class Panel(ABC):
    """Several series in one container.

    Attributes
    ----------
    container
        As the user gave it.
    series : list of arrays (K, D)
        Float32 if every column is, else float64; K may differ from one to the next.
    names, dtypes : list
        Of the D columns.
    index : pandas.Index
        Of the instances.
    alike : bool
        Whether its instances differ in their values only, so that one call to the model can have several of them.
    """

    alike = False

    def __init__(self, container: Any, names: Sequence[Any], dtypes: Sequence[Any], index: Any) -> None:
        self.container = container
        self.names = [str(name) for name in names]
        self.dtypes = list(dtypes)
        self.index = pd.Index(index)
        for name, dtype in zip(self.names, self.dtypes, strict=True):
            if getattr(dtype, "kind", "O") not in "fiub":
                raise InvalidInputError(f"X must hold numbers, but column {name!r} has dtype {dtype}.")
        single = all(dtype == np.float32 for dtype in self.dtypes)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.series = [np.asarray(one, self.dtype) for one in self._read()]

    def __len__(self) -> int:
        return len(self.series)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Of the series ``(N,)``."""
        return np.array([len(one) for one in self.series])

    @property
    def has_missing(self) -> bool:
        """Whether any cell is NaN."""
        return any(bool(np.isnan(one).any()) for one in self.series)

    def held(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Rows ``(n, K, D)`` as the container's types can hold them."""
        if all(dtype == rows.dtype for dtype in self.dtypes):
            return rows
        rows = rows.copy()
        for j, dtype in enumerate(self.dtypes):
            rows[..., j] = as_held(rows[..., j], dtype)
        return rows

    def times(self, i: int) -> pd.Index:
        """The time index of instance `i`; of a container without one, positions."""
        return pd.RangeIndex(len(self.series[i]))

    def step_names(self, i: int) -> list[str] | None:
        """The names of the steps of instance `i`, None if they have none."""
        return names_of(self.times(i))

    @abstractmethod
    def _read(self) -> Sequence[Any]:
        """The series ``(K, D)``."""

    @abstractmethod
    def filled(self, series: Sequence[Series]) -> Any:
        """A copy of the container with these series; cells whose values are the same are not written."""

    @abstractmethod
    def variations(self, i: int, rows: NDArray[Any]) -> Any:
        """A container of n instances with values ``(n, K, D)``, in all other respects like instance `i`."""


class Numpy3D(Panel):
    """``numpy3D``: an array (instance, channel, time)."""

    alike = True

    def __init__(self, X: NDArray[Any]) -> None:
        super().__init__(X, [f"channel {j}" for j in range(X.shape[1])], [X.dtype] * X.shape[1], range(len(X)))

    def _read(self) -> Sequence[Any]:
        return list(self.container.transpose(0, 2, 1))

    def filled(self, series: Sequence[Series]) -> Any:
        """See :meth:`Panel.filled`."""
        columns = [written(old.T, new) for old, new in zip(self.container, series, strict=True)]
        return np.stack(columns).transpose(0, 2, 1).copy()

    def variations(self, i: int, rows: NDArray[Any]) -> Any:
        """See :meth:`Panel.variations`."""
        return as_numpy3D(rows)


class NumpyFlat(Panel):
    """``numpyflat``: an array (instance, time) of one channel."""

    alike = True

    def __init__(self, X: NDArray[Any]) -> None:
        super().__init__(X, ["value"], [X.dtype], range(len(X)))

    def _read(self) -> Sequence[Any]:
        return list(self.container[:, :, None])

    def filled(self, series: Sequence[Series]) -> Any:
        """See :meth:`Panel.filled`."""
        return np.stack([written(old[:, None], new)[:, 0] for old, new in zip(self.container, series, strict=True)])

    def variations(self, i: int, rows: NDArray[Any]) -> Any:
        """See :meth:`Panel.variations`."""
        return as_numpyflat(rows)


class Wide(Panel):
    """A table with an instance a row and a step a column, as scikit-learn takes it."""

    alike = True

    def __init__(self, X: pd.DataFrame) -> None:
        # A nullable column says which plain type it holds.
        dtypes = (getattr(dtype, "numpy_dtype", dtype) for dtype in X.dtypes)
        super().__init__(X, ["value"], [np.result_type(*dtypes)], X.index)

    def times(self, i: int) -> pd.Index:
        """See :meth:`Panel.times`."""
        return self.container.columns

    def _read(self) -> Sequence[Any]:
        return list(numbers(self.container)[:, :, None])

    def filled(self, series: Sequence[Series]) -> Any:
        """See :meth:`Panel.filled`."""
        return rewritten(self.container, np.stack([one[:, 0] for one in series]))

    def variations(self, i: int, rows: NDArray[Any]) -> Any:
        """See :meth:`Panel.variations`."""
        return pd.DataFrame(as_numpyflat(rows), columns=self.container.columns)


class MultiIndexed(Panel):
    """``pd-multiindex``: a DataFrame with rows (instance, time)."""

    def __init__(self, X: pd.DataFrame) -> None:
        # The rows of an instance need not be adjacent.
        codes, instances = pd.factorize(X.index.get_level_values(0))
        self._rows = [np.flatnonzero(codes == i) for i in range(len(instances))]
        super().__init__(X, X.columns, X.dtypes, instances)

    def times(self, i: int) -> pd.Index:
        """See :meth:`Panel.times`."""
        return self.container.index[self._rows[i]].get_level_values(1)

    def _read(self) -> Sequence[Any]:
        values = numbers(self.container)
        return [values[rows] for rows in self._rows]

    def filled(self, series: Sequence[Series]) -> Any:
        """See :meth:`Panel.filled`."""
        values = numbers(self.container)
        for rows, new in zip(self._rows, series, strict=True):
            values[rows] = new
        return rewritten(self.container, values)

    def variations(self, i: int, rows: NDArray[Any]) -> Any:
        """See :meth:`Panel.variations`."""
        one = self.container.iloc[self._rows[i]]
        many = one.iloc[np.tile(np.arange(len(one)), len(rows))]
        times = many.index.get_level_values(1)
        ids = np.repeat(np.arange(len(rows)), len(one))
        index = pd.MultiIndex.from_arrays([ids, times], names=self.container.index.names)
        return rewritten(many, rows.reshape(-1, rows.shape[2])).set_axis(index)


class Nested(Panel):
    """``nested_univ``: a DataFrame with a series in every cell."""

    def __init__(self, X: pd.DataFrame) -> None:
        first = [cell.dtype for cell in X.iloc[0]]
        super().__init__(X, X.columns, first, X.index)

    def times(self, i: int) -> pd.Index:
        """See :meth:`Panel.times`."""
        return self.container.iloc[i, 0].index

    def _read(self) -> Sequence[Any]:
        series = []
        for name, row in zip(self.index, self.container.itertuples(index=False), strict=True):
            if len({len(cell) for cell in row}) > 1:
                raise InvalidInputError(f"the channels of instance {name!r} must have one length.")
            series.append(np.column_stack([cell.to_numpy(float, na_value=np.nan) for cell in row]))
        return series

    def filled(self, series: Sequence[Series]) -> Any:
        """See :meth:`Panel.filled`."""
        return self._nest(self.container, series)

    def variations(self, i: int, rows: NDArray[Any]) -> Any:
        """See :meth:`Panel.variations`."""
        return self._nest(self.container.iloc[[i] * len(rows)].reset_index(drop=True), list(rows))

    def _nest(self, like: pd.DataFrame, series: Sequence[Any]) -> pd.DataFrame:
        columns = {}
        for j in range(like.shape[1]):
            cells = np.empty(len(like), dtype=object)
            for i, old in enumerate(like.iloc[:, j]):
                cells[i] = rewritten(old.to_frame(), series[i][:, [j]]).iloc[:, 0].rename(old.name)
            columns[j] = pd.Series(cells, index=like.index)
        return pd.DataFrame(columns).set_axis(like.columns, axis=1)


class FrameList(Panel):
    """``df-list``: a list of DataFrames, time by channels."""

    def __init__(self, X: list[pd.DataFrame]) -> None:
        first = X[0]
        if any(not one.columns.equals(first.columns) for one in X):
            raise InvalidInputError("the DataFrames in X must have the same columns.")
        super().__init__(X, first.columns, first.dtypes, range(len(X)))

    def times(self, i: int) -> pd.Index:
        """See :meth:`Panel.times`."""
        return self.container[i].index

    def _read(self) -> Sequence[Any]:
        return [numbers(one) for one in self.container]

    def filled(self, series: Sequence[Series]) -> Any:
        """See :meth:`Panel.filled`."""
        return [rewritten(old, new) for old, new in zip(self.container, series, strict=True)]

    def variations(self, i: int, rows: NDArray[Any]) -> Any:
        """See :meth:`Panel.variations`."""
        return [rewritten(self.container[i], row) for row in rows]


def panel_of(X: Any, tabular: bool) -> tuple[Panel, Callable[[Any], Any]]:
    """The panel of a container, and a function from a container of that kind back to the form that the user gave.

    Parameters
    ----------
    X : array, DataFrame, Series or list of DataFrames
        A panel in one of sktime's mtypes, or one series.
    tabular : bool
        Whether a plain DataFrame has an instance a row (scikit-learn), not a time point a row.
    """
    if (isinstance(X, list) and not X) or (isinstance(X, (np.ndarray, pd.DataFrame, pd.Series)) and not X.size):
        raise InvalidInputError("X is empty: it must hold at least one series.")
    if isinstance(X, np.ndarray) and X.ndim in (2, 3):
        return (Numpy3D if X.ndim == 3 else NumpyFlat)(X), _same
    if isinstance(X, np.ndarray) and X.ndim == 1:
        return NumpyFlat(X[None]), _only
    if isinstance(X, list) and all(isinstance(one, pd.DataFrame) for one in X):
        return FrameList(X), _same
    if isinstance(X, pd.DataFrame):
        if X.index.nlevels == 2:
            return MultiIndexed(X), _same
        if X.index.nlevels == 1 and isinstance(X.iloc[0, 0], pd.Series):
            return Nested(X), _same
        if X.index.nlevels == 1:
            return (Wide(X), _same) if tabular else (FrameList([X]), _only)
    if isinstance(X, pd.Series) and X.index.nlevels == 1:
        return FrameList([X.to_frame()]), lambda frames: frames[0].iloc[:, 0].rename(X.name)
    raise InvalidInputError(
        "X must be a panel of mtype numpy3D, numpyflat, pd-multiindex, nested_univ or df-list, "
        f"or one series as a DataFrame, Series or one-dimensional array, got {type(X).__name__}."
    )


def _same(container: Any) -> Any:
    return container


def _only(container: Any) -> Any:
    return container[0]
