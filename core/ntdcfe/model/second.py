"""The second model that an answer may have to convince: asked about candidates, once each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe.errors import PredictorError
from ntdcfe.model.budget import NO_LIMIT
from ntdcfe.model.predictor import Predictor
from ntdcfe.model.trust import Trust
from ntdcfe.problem.space import Space


class SecondModel:
    """Whether a second model reaches the target, too, on states of one instance.

    Parameters
    ----------
    predictor : Predictor
        Of the second model.
    space : Space
    static : bool
        Whether the model takes ``(n, D)``, not ``(n, K, D)``.
    trust : Trust
        Knows the target, which may depend on what the first model says of the original.
    most : int or None
        Rows that it may be asked about; None for no limit.

    Attributes
    ----------
    rows : int
        Rows that it was asked about.
    """

    def __init__(self, predictor: Predictor, space: Space, static: bool, trust: Trust, most: int | None) -> None:
        self.predictor = predictor
        self.space = space
        self.static = static
        self.trust = trust
        self.most = NO_LIMIT if most is None else most
        self.rows = 0

    def __call__(self, states: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether it reaches the target on states ``(n, K, F)``; those beyond its rows count as not reached ``(n,)``.

        Raises
        ------
        PredictorError
            If it fails.
        """
        reached, asked = np.zeros(len(states), bool), states[: self.most - self.rows]
        if len(asked):
            self.rows += len(asked)
            rows = self.space.rows(asked)
            try:
                prediction = self.predictor(rows[:, 0] if self.static else rows)
            except PredictorError as cause:
                raise PredictorError(f"second_model: {cause}") from cause
            self.trust.target.check(prediction)
            reached[: len(asked)] = self.trust.reached(prediction)
        return reached
