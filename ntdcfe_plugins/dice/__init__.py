"""NTD-CFE in DiCE: DiCE's data and model wrappers in, its result objects out. Needs the extra ``dice``.

Three ways in, by how much of DiCE's own code stays as it is::

    NTDCFE(data, model).generate_counterfactuals(...)          # the explainer itself
    Dice(data, model, method="ntdcfe")                         # all other methods are DiCE's own
    register(); dice_ml.Dice(data, model, method="ntdcfe")     # changes dice_ml, on request only
"""

from ntdcfe_plugins._shared.errors import extra

with extra("dice", "dice-ml"):
    import dice_ml  # noqa: F401

from ntdcfe_plugins.dice.explainer import NTDCFE
from ntdcfe_plugins.dice.methods import Dice, register
from ntdcfe_plugins.dice.results import Examples, Explanations, NoCounterfactualsFound
from ntdcfe_plugins.dice.series import SeriesColumns

__all__ = ["NTDCFE", "Dice", "Examples", "Explanations", "NoCounterfactualsFound", "SeriesColumns", "register"]
