"""Time series as the columns of a DiCE table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ntdcfe import InvalidInputError


@dataclass(frozen=True)
class SeriesColumns:
    """A series ``(K, D)`` as columns of a DiCE table, step by step, and back.

    Calling it turns columns into series ``(n, K, D)``, as DiCE expects it of a model's ``func``. Given to
    :class:`NTDCFE` as `series`, it makes the search change segments of channels in place of single columns.

    Parameters
    ----------
    n_steps : int
        K.
    names : sequence of str
        Of the D channels.

    Examples
    --------
    >>> layout = SeriesColumns(3, ["load", "wind"])
    >>> layout.columns
    ['load_0', 'wind_0', 'load_1', 'wind_1', 'load_2', 'wind_2']
    >>> layout.to_series(layout.to_frame([[1, 4], [2, 5], [3, 6]])).shape
    (1, 3, 2)
    """

    n_steps: int
    names: Sequence[str]

    @property
    def columns(self) -> list[str]:
        """The names of the K * D columns."""
        return [f"{name}_{step}" for step in range(self.n_steps) for name in self.names]

    def to_frame(self, X: ArrayLike) -> pd.DataFrame:
        """Series ``(K, D)`` or ``(n, K, D)`` as rows of a table."""
        X = np.asarray(X)
        if X.shape[-2:] != (self.n_steps, len(self.names)):
            raise InvalidInputError(
                f"the series must be {(self.n_steps, len(self.names))}, or a batch of such, got {X.shape}."
            )
        return pd.DataFrame(X.reshape(-1, X.shape[-1] * X.shape[-2]), columns=self.columns)

    def to_series(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Rows of a table as series ``(n, K, D)``; other columns are left out."""
        return frame[self.columns].to_numpy().reshape(len(frame), self.n_steps, len(self.names))

    def ranges(self, bounds: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
        """``features=`` for ``dice_ml.Data``, from one range a channel."""
        return {f"{name}_{step}": list(bounds[name]) for step in range(self.n_steps) for name in self.names}

    def precisions(self, decimals: int) -> dict[str, list[Any]]:
        """``type_and_precision=`` for ``dice_ml.Data``."""
        return {column: ["float", decimals] for column in self.columns}

    def __call__(self, frame: pd.DataFrame, **_: Any) -> NDArray[Any]:
        """The series of a table, as a model's ``func``: DiCE passes its data interface along."""
        return self.to_series(frame)
