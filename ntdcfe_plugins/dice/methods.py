"""The method "ntdcfe" among those of ``dice_ml.Dice``."""

from __future__ import annotations

from typing import Any

import dice_ml
import dice_ml.dice

from ntdcfe_plugins.dice.explainer import METHOD, NTDCFE


class Dice(dice_ml.Dice):  # type: ignore[misc]
    """``dice_ml.Dice`` with the further method "ntdcfe"; all other methods are DiCE's own."""

    def __new__(cls, data_interface: Any, model_interface: Any, method: str = METHOD, **options: Any) -> Any:
        """The explainer of that method."""
        if method == METHOD:
            return NTDCFE(data_interface, model_interface, **options)
        return dice_ml.Dice(data_interface, model_interface, method=method, **options)


def register() -> None:
    """Make ``dice_ml.Dice(data, model, method="ntdcfe")`` work; to call this a second time has no effect."""
    dices = dice_ml.dice.decide
    if getattr(dices, "knows_ntdcfe", False):
        return

    def decide(model_interface: Any, method: Any) -> Any:
        return NTDCFE if method == METHOD else dices(model_interface, method)

    decide.knows_ntdcfe = True  # type: ignore[attr-defined]
    dice_ml.dice.decide = decide
