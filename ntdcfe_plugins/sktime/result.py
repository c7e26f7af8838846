"""The counterfactuals of a panel, in the user's container and in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntdcfe import Counterfactual, Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins.sktime.panels import Panel


@dataclass(frozen=True, repr=False, eq=False)
class CounterfactualResult:
    """The counterfactuals of a panel.

    Attributes
    ----------
    counterfactuals
        A copy of X with the counterfactuals in it: same mtype, index, columns and dtypes. Only cells
        that have to change differ; a series without a counterfactual is unchanged, and not ``valid``.
    table : pandas.DataFrame
        One row an instance: the model's prediction of the series (``present``), the ``target``, the prediction of
        the counterfactual (``prediction``), whether that reaches the target (``valid``), the engine's ``status``,
        ``proximity`` (L1), ``sparsity`` (changed cells), the ``changes`` in words, and the costs of the
        search: ``rows`` and ``calls`` to the model, ``seconds``.
    details : list of ntdcfe.Counterfactual
        The engine's answers, with series as arrays (time, channel).
    """

    counterfactuals: Any
    table: pd.DataFrame
    details: list[Counterfactual]

    def __repr__(self) -> str:
        n = len(self.table)
        return f"CounterfactualResult({n} instance{'s' * (n > 1)}, {int(self.table['valid'].sum())} valid)"

    def __str__(self) -> str:
        if len(self.details) == 1:
            return str(self.details[0])
        shown = self.table[["present", "target", "prediction", "valid", "proximity", "sparsity", "rows", "calls"]]
        return f"{self!r}\n{shown.to_string(float_format='{:.4g}'.format)}"


def table_of(
    panel: Panel,
    details: list[Counterfactual],
    targets: list[Target],
    present: Prediction,
    prediction: Prediction,
    valid: NDArray[np.bool_],
) -> pd.DataFrame:
    """The table of a result.

    Parameters
    ----------
    panel : Panel
    details : list of Counterfactual
    targets : list of Target
    present, prediction : Prediction
        The model's predictions of the series, and of the filled container.
    valid : array (N,)
        Which series of the filled container reach their targets.
    """
    rows = {
        "present": present.outcomes,
        "target": [str(t) for t in targets],
        "prediction": prediction.outcomes,
        "valid": valid,
        "status": [cf.status for cf in details],
        "proximity": [cf.proximity for cf in details],
        "sparsity": pd.array([cf.sparsity for cf in details], dtype="Int64"),
        "changes": ["; ".join(cf.sentences()) for cf in details],
        "rows": [cf.rows for cf in details],
        "calls": [cf.calls for cf in details],
        "seconds": [cf.seconds for cf in details],
    }
    return pd.DataFrame(rows, index=panel.index)
