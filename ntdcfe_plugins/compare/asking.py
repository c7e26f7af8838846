"""One explainer on one instance: the question, its costs, and its failures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Target
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.asked import reached
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.compare.calls import Answers, Call, Question
from ntdcfe_plugins.compare.comparison import COLUMNS, NAN, Result
from ntdcfe_plugins.compare.counted import CountedModel, TimeLimitError
from ntdcfe_plugins.compare.scores import Judge, message

Array = NDArray[Any]


@dataclass
class Asker:
    """Asks an explainer about each instance, and notes its costs and failures.

    Parameters
    ----------
    X : array (N, K, D) or (N, D)
    model : CountedModel
    target : Target
    n : int
        How many counterfactuals are wanted.
    max_seconds : float, optional
        For one explainer and one instance.
    """

    X: Array
    model: CountedModel
    target: Target
    n: int
    max_seconds: float | None

    @silent()
    def __post_init__(self) -> None:
        self.present = self.model.understood(self.X)
        self.goals = [self.target.given(self.present[i : i + 1]) for i in range(len(self.X))]
        if not self.target.regression and not self.model.knows_classes:
            wanted = np.asarray(getattr(self.target, "wanted", ()))
            self.model.classes_ = np.unique(np.concatenate([np.asarray(self.present.outcomes), wanted]))

    @property
    def columns(self) -> Array | None:
        """Labels of the probability columns, None if there are no probabilities."""
        return None if self.present.probabilities is None else self.model.classes_

    @silent()
    def question(self, i: int) -> Question:
        """The question about instance `i`."""
        goal, index, label, likely = self.goals[i], None, None, None
        if not goal.regression:
            classes = self.model.classes_
            wanted = goal.reached(Prediction(classes, np.eye(len(classes)), classes))
            likely = self.model.probabilities(self.present[i : i + 1])[0]
            if wanted.any():
                index = int(np.where(wanted, likely, -1.0).argmax())
                label = classes[index]
        return Question(self.X[i].copy(), goal, label, index, self.n, self.max_seconds, likely)

    def result(self, name: str, i: int, call: Call | None, counts: bool, why: str, judge: Judge) -> Result:
        """The result of one explainer on instance `i`.

        Parameters
        ----------
        name : str
        i : int
        call : callable, optional
            Asks the explainer; None if it could not be built.
        counts : bool
            Whether the explainer is known to ask through the counted model.
        why : str
            Why it could not be built.
        judge : Judge
        """
        row: dict[str, Any] = dict.fromkeys(COLUMNS, NAN) | {
            "method": name, "instance": i, "status": "failed", "success": False, "note": why,
        }  # fmt: skip
        if reached(self.goals[i], self.present[i : i + 1])[0]:
            return Result(row | {"status": "already target", "success": True, "note": ""}, None)
        if call is None:
            return Result(row, None)
        model = self.model
        rows, calls, wall, cpu = model.n_rows, model.n_calls, time.perf_counter(), time.process_time()
        # The engine ends by itself, a little before this.
        model.deadline = float("inf") if self.max_seconds is None else wall + 1.05 * self.max_seconds + 0.5
        answers = Answers()
        try:
            answers = call(self.question(i))
        except TimeLimitError:
            row |= {"status": "time limit", "note": f"stopped after {time.perf_counter() - wall:.1f} s"}
        except Exception as error:
            row["note"] = message(error)
        else:
            row["status"] = "not found"
        finally:
            model.deadline = float("inf")
        row |= {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
        if counts or model.n_rows > rows:
            row |= {"rows": model.n_rows - rows, "calls": model.n_calls - calls}
        elif row["status"] == "not found":
            row["note"] = "does not ask through the counted model"
        return judge.scored(row, self.X[i], answers, self.goals[i])
