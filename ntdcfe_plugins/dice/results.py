"""DiCE's result objects, with the engine's answer, the reason and the near miss of each query."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from dice_ml.counterfactual_explanations import CounterfactualExplanations
from dice_ml.diverse_counterfactuals import CounterfactualExamples
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import Counterfactual, InvalidInputError
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.survival import Survived
from ntdcfe_plugins._shared.found_by import FoundBy
from ntdcfe_plugins.dice.details import Details
from ntdcfe_plugins.dice.table import Table
from ntdcfe_plugins.dice.targets import Goal


class NoCounterfactualsFound(UserConfigValidationException):  # type: ignore[misc]
    """No counterfactual was found for any query; `explanations` has the near misses and the reasons."""

    def __init__(self, message: str, explanations: Explanations) -> None:
        super().__init__(message)
        self.explanations = explanations

    def __reduce__(self) -> tuple[Any, ...]:
        """The parts from which the exception is made again in another process."""
        return type(self), (*self.args, self.explanations)


class Explanations(CounterfactualExplanations):  # type: ignore[misc]
    """DiCE's collection of results, with pictures and letters."""

    def plot(self, i: int = 0, row: int = 0, **options: Any) -> Any:
        """A picture of one row of query `i`, see :meth:`Examples.plot`."""
        return self.cf_examples_list[i].plot(row, **options)

    def report(self, path: str | os.PathLike[str], i: int = 0, row: int = 0, **options: Any) -> Path:
        """Write one row of query `i` as a letter, with JSON beside it, see :meth:`Examples.report`."""
        return self.cf_examples_list[i].report(path, row, **options)

    def visualize_as_dataframe(
        self, display_sparse_df: bool = True, show_only_changes: bool = False, show_edits: bool = False
    ) -> None:
        """As in DiCE; with `show_edits` edits and survival are further columns."""
        for examples in self.cf_examples_list:
            examples.visualize_as_dataframe(display_sparse_df, show_only_changes, show_edits)

    def visualize_as_list(
        self, display_sparse_df: bool = True, show_only_changes: bool = False, show_edits: bool = False
    ) -> None:
        """As in DiCE; with `show_edits` each list ends with edits and survival."""
        for examples in self.cf_examples_list:
            examples.visualize_as_list(display_sparse_df, show_only_changes, show_edits)


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
        found_by: FoundBy | None = None,
        **dice: Any,
    ) -> None:
        super().__init__(**dice)
        self.counterfactual = counterfactual
        self.near_miss_df = near_miss_df
        self.options_df = options_df
        self._rows = [] if details is None else details.rows
        self._found_by = found_by

    def __getstate__(self) -> dict[str, Any]:
        """The state that is pickled: without functions of the user's."""
        return {**self.__dict__, "_found_by": None}

    @property
    def counterfactuals(self) -> list[Counterfactual]:
        """The engine's answer about each row of `final_cfs_df`; the first has the options of the search, too."""
        cf = self.counterfactual
        if cf is None or self.final_cfs_df is None:
            return []
        said = self.final_cfs_df[self.data_interface.outcome_name].tolist()
        about = [
            replace(cf, status="found", prediction=outcome, contributions=(), options={}, wanted=1, **row.fields)
            for row, outcome in zip(self._rows, said, strict=True)
        ]
        return about if cf.status == "already_target" else [cf, *about[1:]]

    def plot(self, row: int = 0, **options: Any) -> Any:
        """A picture of one row of `final_cfs_df`, see :func:`ntdcfe_plugins.plot.plot_counterfactual`."""
        return self._about(row).plot(**options)

    def report(self, path: str | os.PathLike[str], row: int = 0, **options: Any) -> Path:
        """Write one row of `final_cfs_df` as a letter, with JSON beside it, and return its path.

        Parameters
        ----------
        path : path
            Ends with ``.html``.
        row : int
        **options
            See :func:`ntdcfe_plugins.letter.write_letter`.
        """
        return self._about(row).report(path, **{"explainer": self._found_by, **options})

    def _about(self, row: int) -> Counterfactual:
        """The answer about a row; where nothing was found, the one that says so."""
        rows = self.counterfactuals or ([] if self.counterfactual is None else [self.counterfactual])
        if not -len(rows) <= row < len(rows):
            there_are = 0 if self.final_cfs_df is None else len(self.final_cfs_df)
            raise InvalidInputError(f"row must be that of one of {there_are} counterfactuals, got {row!r}.")
        return rows[row]

    def visualize_as_dataframe(
        self, display_sparse_df: bool = True, show_only_changes: bool = False, show_edits: bool = False
    ) -> None:
        """As in DiCE; with `show_edits` there are the columns of `details_df`, too."""
        super(Examples, self._shown(show_edits)).visualize_as_dataframe(display_sparse_df, show_only_changes)

    def visualize_as_list(
        self, display_sparse_df: bool = True, show_only_changes: bool = False, show_edits: bool = False
    ) -> None:
        """As in DiCE; with `show_edits` each list ends with what `details_df` says."""
        super(Examples, self._shown(show_edits)).visualize_as_list(display_sparse_df, show_only_changes)

    def print_list(self, li: list[list[Any]], show_only_changes: bool) -> None:
        """As in DiCE, which would raise where the changes of a category are to be shown."""
        now = self.test_instance_df.iloc[0].tolist()
        for row in li:
            same = [show_only_changes and value == old for value, old in zip(row, now, strict=False)]
            print(["-" if as_now else value for as_now, value in zip(same, row, strict=False)] + row[len(now) :])

    def _shown(self, edits: bool) -> Examples:
        """Itself, or a copy whose rows have the columns of `details_df`."""
        if not edits or self.final_cfs_df is None:
            return self
        shown = copy.copy(self)
        shown.final_cfs_df = shown.final_cfs_df_sparse = self.details_df
        return shown

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
        tried = [None if one is None or not one.draws else one for one in self.survival]
        held = [(np.nan, np.nan) if one is None else (one.share, one.lower_bound) for one in tried]
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
    found_by: FoundBy,
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
    found_by : FoundBy
        The seed, the settings and the rules of the search.
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
                found_by,
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


def explanations_of(examples: Sequence[Examples]) -> Explanations:
    """DiCE's collection of results; raises NoCounterfactualsFound where there is no counterfactual at all."""
    explanations = Explanations(cf_examples_list=list(examples))
    if all(example.final_cfs_df is None for example in examples):
        reasons = "; ".join(dict.fromkeys(example.reason for example in examples))
        raise NoCounterfactualsFound(
            "No counterfactuals found for any of the query points! Kindly check your configuration. "
            f"Reason: {reasons}. The exception's `explanations` has the near misses.",
            explanations,
        )
    return explanations
