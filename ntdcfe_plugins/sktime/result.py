"""The counterfactuals of a panel, in the user's container and in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntdcfe import Counterfactual, InvalidInputError, Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.found_by import FoundBy
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
        whether its search came to its own end (``complete``; False where the time, the model or an interrupt ended it),
        ``proximity`` (L1), ``sparsity`` (changed cells), the ``changes`` in words, which ``option`` it is ("simplest",
        "nearest", "sturdiest"; None if of none of these kinds), its named ``edits`` in words, the share of disturbed
        copies that held (``survival``) and its ``lower_bound``, whether a second model, if one was given,
        reaches the target, too (``second_model``), and the costs of the search: ``rows`` and ``calls``
        to the model, ``seconds``. Steps are named as in the container.
    details : list of ntdcfe.Counterfactual
        The engine's answers, with series as arrays (time, channel).
    note : str
        What has to be said of the whole search: that a slow estimator was asked fewer rows, that its answers depend on
        what else is in a call, that its predict and its probabilities disagree, or that it may be constant; empty if
        nothing.
    found_by : FoundBy or None
        The seed, the settings and the rules, for `report`; left out when a result is pickled.
    """

    counterfactuals: Any
    table: pd.DataFrame
    details: list[Counterfactual]
    note: str = ""
    found_by: FoundBy | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "found_by": None}

    def __repr__(self) -> str:
        n = len(self.table)
        return f"CounterfactualResult({n} instance{'s' * (n > 1)}, {int(self.table['valid'].sum())} valid)"

    def __str__(self) -> str:
        note = f"\n({self.note})" if self.note else ""
        if len(self.details) == 1:
            return f"{self.details[0]}{note}"
        shown = self.table[["present", "target", "prediction", "valid", "proximity", "sparsity", "rows", "calls"]]
        late = int((~self.table["complete"]).sum())
        ended = f"\n(the search of {late} of them was ended early, see status and complete)" if late else ""
        return f"{self!r}\n{shown.to_string(float_format='{:.4g}'.format)}{ended}{note}"

    def plot(self, i: int = 0, **options: Any) -> Any:
        """A picture of the counterfactual of the instance at position `i`.

        Parameters
        ----------
        i : int
        **options
            Of :func:`ntdcfe_plugins.plot.plot_counterfactual`.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from ntdcfe_plugins.plot import plot_counterfactual

        return plot_counterfactual(self._detail(i), **options)

    def report(self, path: Any, i: int = 0, **options: Any) -> Path:
        """Write the counterfactual of the instance at position `i` as a page to hand on, with JSON beside it.

        Parameters
        ----------
        path : path
        i : int
        **options
            Of :func:`ntdcfe_plugins.letter.write_letter`.
        """
        from ntdcfe_plugins.letter import write_letter

        return write_letter(self._detail(i), path, **{"explainer": self.found_by, **options})

    def _detail(self, i: int) -> Counterfactual:
        n = len(self.details)
        if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not -n <= i < n:
            raise InvalidInputError(f"i must be the position of one of the {n} instances, got {i!r}.")
        return self.details[int(i)]


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
        "complete": [cf.complete for cf in details],
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
