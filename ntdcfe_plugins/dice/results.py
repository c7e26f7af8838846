"""DiCE's result objects, with the engine's answer, the reason and the near miss of each query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from dice_ml.counterfactual_explanations import CounterfactualExplanations
from dice_ml.diverse_counterfactuals import CounterfactualExamples
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import Counterfactual
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.survival import Survived
from ntdcfe_plugins.dice.details import Details
from ntdcfe_plugins.dice.table import Table
from ntdcfe_plugins.dice.targets import Goal


class NoCounterfactualsFound(UserConfigValidationException):  # type: ignore[misc]
    """No counterfactual was found for any query; `explanations` has the near misses and the reasons."""

    def __init__(self, message: str, explanations: CounterfactualExplanations) -> None:
        super().__init__(message)
        self.explanations = explanations

    def __reduce__(self) -> tuple[Any, ...]:
        """The parts from which the exception is made again in another process."""
        return type(self), (*self.args, self.explanations)


class Examples(CounterfactualExamples):  # type: ignore[misc]
    """DiCE's result for one query, with further results of the search.

    `counterfactual` is the engine's own answer (costs, changes in words), `reason` says in words why
    there is no counterfactual ("" if there is one), and `near_miss_df` is then the row that came
    nearest to the target, with its outcome (None if there is none). `edits` and `survival` have an entry for each row
    of `final_cfs_df`: its edits, and how it did under noise (None where no rows were left to ask). `options_df` has
    the engine's kinds of answers, if several were asked for: a row for each, by its name.
    """

    def __init__(
        self,
        counterfactual: Counterfactual | None,
        near_miss_df: Any,
        details: Details | None = None,
        options_df: pd.DataFrame | None = None,
        **dice: Any,
    ) -> None:
        super().__init__(**dice)
        self.counterfactual = counterfactual
        self.near_miss_df = near_miss_df
        self.options_df = options_df
        self._rows = [] if details is None else details.rows

    @property
    def edits(self) -> list[tuple[Edit, ...]]:
        """The edits of each row; empty for a series that was searched for cell by cell."""
        return [row.edits for row in self._rows]

    @property
    def survival(self) -> list[Survived | None]:
        """How each row did under noise; None where that was not asked."""
        return [row.survival for row in self._rows]

    @property
    def details_df(self) -> pd.DataFrame | None:
        """The rows of `final_cfs_df` with further columns: ``edits`` in words, ``survival``, its ``lower_bound``.

        Where a second model was given, ``second_model`` tells whether it reaches the target, too.
        """
        if self.final_cfs_df is None:
            return None
        held = [(np.nan, np.nan) if one is None else (one.share, one.lower_bound) for one in self.survival]
        second = [None if one is None else one.second_model for one in self.survival]
        return self.final_cfs_df.assign(
            edits=[row.text for row in self._rows],
            survival=[share for share, _ in held],
            lower_bound=[bound for _, bound in held],
            **({} if all(said is None for said in second) else {"second_model": second}),
        )

    @property
    def reason(self) -> str:
        """Why there is no counterfactual, and what to do; empty if there is one."""
        if self.final_cfs_df is not None or self.counterfactual is None:
            return ""
        return self.counterfactual.reason or "the model did not confirm what the search had found"


def examples_of(
    frame: pd.DataFrame,
    present: Prediction,
    goals: Sequence[Goal],
    answers: Sequence[Counterfactual | None],
    found: Sequence[pd.DataFrame],
    details: Sequence[Details | None],
    table: Table,
    data: Any,
    **dice: Any,
) -> list[Examples]:
    """The results of all queries.

    Parameters
    ----------
    frame : DataFrame
        The queries.
    present : Prediction
        The model's predictions of the queries.
    goals : sequence of Goal
    answers : sequence of Counterfactual or None
        The engine's; None where no counterfactual was asked for.
    found : sequence of DataFrames
        The counterfactuals of each query with their outcomes, possibly none.
    details : sequence of Details or None
        What is said of them.
    table : Table
    data : dice_ml.Data
    **dice
        Further arguments of DiCE's result object.
    """
    examples = []
    for i, (goal, cf, rows, told) in enumerate(zip(goals, answers, found, details, strict=True)):
        final = rows if len(rows) else None
        miss = None
        if final is None and cf is not None and cf.near_miss is not None:
            miss = table.decode(cf.near_miss[None]).assign(**{data.outcome_name: [cf.near_miss_prediction]})
        query = frame.iloc[[i]].reset_index(drop=True).assign(**{data.outcome_name: present.outcomes[[i]]})
        examples.append(
            Examples(
                cf,
                miss,
                told,
                _options(told, table),
                data_interface=data,
                final_cfs_df=final,
                test_instance_df=query,
                final_cfs_df_sparse=None if final is None else final.copy(),
                desired_class=goal.name,
                **dice,
            )
        )
    return examples


def _options(details: Details | None, table: Table) -> pd.DataFrame | None:
    """A row for each kind of answer, by its name; None where there are fewer than two kinds."""
    if details is None or len(details.options) < 2:
        return None
    return table.decode(np.array(list(details.options.values()))).set_axis(list(details.options))


def explanations_of(examples: Sequence[Examples]) -> CounterfactualExplanations:
    """DiCE's collection of results; raises NoCounterfactualsFound where there is no counterfactual at all."""
    explanations = CounterfactualExplanations(cf_examples_list=list(examples))
    if all(example.final_cfs_df is None for example in examples):
        reasons = "; ".join(dict.fromkeys(example.reason for example in examples))
        raise NoCounterfactualsFound(
            "No counterfactuals found for any of the query points! Kindly check your configuration. "
            f"Reason: {reasons}. The exception's `explanations` has the near misses.",
            explanations,
        )
    return explanations
