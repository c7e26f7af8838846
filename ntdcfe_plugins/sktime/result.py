"""The counterfactuals of a panel, in the user's container and in a table."""

from __future__ import annotations

from collections.abc import Sequence
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
        ``proximity`` (L1), ``sparsity`` (changed cells), the ``changes`` in words, which ``option`` it is ("simplest",
        "nearest", "sturdiest"; None if of none of these kinds), its named ``edits`` in words, the share of disturbed
        copies that held (``survival``) and its ``lower_bound``, whether a second model, if one was given,
        reaches the target, too (``second_model``), and the costs of the search: ``rows`` and ``calls``
        to the model, ``seconds``. Steps are named as in the container.
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
    predicted: Sequence[Any],
    valid: NDArray[np.bool_],
    prefer: str,
) -> pd.DataFrame:
    """The table of a result.

    Parameters
    ----------
    panel : Panel
    details : list of Counterfactual
    targets : list of Target
    present : Prediction
        Of the series.
    predicted : sequence of N
        What the model predicts of the series of the filled container.
    valid : array (N,)
        Which series of the filled container reach their targets.
    prefer : str
        The kind of answer that was asked for.
    """
    held = [cf.survival for cf in details]
    second = [None if one is None else one.second_model for one in held]
    rows = {
        "present": present.outcomes,
        "target": [str(t) for t in targets],
        "prediction": predicted,
        "valid": valid,
        "status": [cf.status for cf in details],
        "proximity": [cf.proximity for cf in details],
        "sparsity": pd.array([cf.sparsity for cf in details], dtype="Int64"),
        "changes": ["; ".join(cf.sentences()) for cf in details],
        "option": [_kind(cf, prefer) for cf in details],
        "edits": ["; ".join(map(str, cf.edits)) for cf in details],
        "survival": [np.nan if one is None else one.share for one in held],
        "lower_bound": [np.nan if one is None else one.lower_bound for one in held],
        **({} if all(said is None for said in second) else {"second_model": second}),
        "rows": [cf.rows for cf in details],
        "calls": [cf.calls for cf in details],
        "seconds": [cf.seconds for cf in details],
    }
    return pd.DataFrame(rows, index=panel.index)


def _kind(cf: Counterfactual, prefer: str) -> str | None:
    """The kind of answer that a counterfactual is, the preferred one where it is of several."""
    names = [name for name, option in cf.options.items() if cf.x is not None and np.array_equal(option.x, cf.x)]
    return prefer if prefer in names else next(iter(names), None)
