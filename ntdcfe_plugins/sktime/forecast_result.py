"""What would have to be different for a forecast to be as wanted: as a container, in words and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ntdcfe import Counterfactual
from ntdcfe_plugins._shared.found_by import FoundBy
from ntdcfe_plugins.sktime.forecasting import Aim, amount_in_words

# What is said of the way in which the forecaster was asked.
WAYS = {
    "predict": "predict was asked with other plans; nothing was fitted again",
    "update": "each past was told by update(update_params=False); the parameters of the forecaster stay",
    "refit": "a clone of the forecaster was fitted to each past",
}


@dataclass(frozen=True, repr=False, eq=False)
class ForecastResult:
    """The counterfactual of a forecast.

    Attributes
    ----------
    counterfactual
        A copy of X, or of y, with what would have to be different in it: same type, index, columns and dtypes.
        Unchanged if none was found.
    present, forecast : Series or DataFrame
        The forecaster's forecast as things are, and with the counterfactual.
    table : pandas.DataFrame
        One row, with the columns of :attr:`ntdcfe_plugins.sktime.CounterfactualResult.table`; ``present`` and
        ``prediction`` are the number of the forecast that `target` is said of, of every step the one farthest off.
    details : list of one ntdcfe.Counterfactual
        The engine's answer, with the series as an array (time, column).
    change : {"X", "y"}
        What changes: the plan or the past.
    way : {"predict", "update", "refit"}
        How the forecaster was asked: with other plans, which fits nothing; by
        ``update(y, update_params=False)`` of a copy; or by a fit of a clone for each row.
    aim : Aim
        Which number of the forecast is wanted where.
    history : Series, DataFrame or None
        What the forecaster remembers of y, for the picture.
    note : str
        That a slow forecaster was asked fewer rows; empty if it was not.
    found_by : FoundBy or None
        The seed, the settings and the rules, for `report`; left out when a result is pickled.
    """

    counterfactual: Any
    present: Any
    forecast: Any
    table: pd.DataFrame
    details: list[Counterfactual]
    change: Literal["X", "y"]
    way: Literal["predict", "update", "refit"]
    aim: Aim
    history: Any = None
    note: str = ""
    found_by: FoundBy | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "found_by": None}

    @property
    def valid(self) -> bool:
        """Whether the forecaster's own forecast with the counterfactual is as wanted."""
        return bool(self.table["valid"].iloc[0])

    def __repr__(self) -> str:
        what = self.aim.name.partition(" (")[0]
        return f"ForecastResult({what}: {'valid' if self.valid else self.details[0].status})"

    def __str__(self) -> str:
        cf = self.details[0]
        now, then = (amount_in_words(float(self.table[name].iloc[0])) for name in ("present", "prediction"))
        off = " (the step farthest off)" if self.aim.of == "all" else ""
        head = f"Wanted: {self.aim}. Now{off}: {now}."
        if cf.status == "already_target":
            return f"{head} Nothing has to change."
        cost = f"{cf.rows} forecasts, {cf.seconds:.1f} s; {WAYS[self.way]}" + (f"; {self.note}" if self.note else "")
        if not cf.found:
            return f"{head}\nNothing was found: {cf.reason} ({cost})."
        lines = [head, f"With these changes of {self.change} it is {then}:"]
        lines += [f"  - {sentence}" for sentence in cf.sentences()]
        lines += [f"  {cf.survival}"] * (cf.survival is not None)
        lines += [f"  ({reservation})" for reservation in cf.reservations()]
        return "\n".join([*lines, f"({cost})"])

    def sentences(self) -> list[str]:
        """The changes in words, with the times of the container."""
        return self.details[0].sentences()

    def plot(self, title: str | None = None, history: int = 36) -> Any:
        """A picture: the forecast now and then with what is wanted, and below it what changes.

        Parameters
        ----------
        title : str, optional
        history : int
            How many steps of the past are shown before the forecast.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from ntdcfe_plugins.sktime.forecast_picture import forecast_picture

        return forecast_picture(self, title, history)

    def report(self, path: Any, **options: Any) -> Path:
        """Write it as a page to hand on, with JSON beside it; see :func:`ntdcfe_plugins.letter.write_letter`."""
        from ntdcfe_plugins.letter import write_letter

        own = {"title": f"Wanted: {self.aim}", "explainer": self.found_by}
        return write_letter(self.details[0], path, **{**own, **options})
