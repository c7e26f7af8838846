"""A fitted forecaster, asked about other plans or another past, and which number of its forecast is meant."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ntdcfe import InvalidInputError, Target
from ntdcfe.problem.words import number_in_words
from ntdcfe_plugins._shared.numpy_errors import as_caller
from ntdcfe_plugins.sktime.panels import FrameList
from ntdcfe_plugins.sktime.steps import names_of

# Two ways of asking give the same forecast if they differ by no more (rounding of double precision, and some room).
SAME = 1e-6


@dataclass(frozen=True)
class Aim:
    """Which number of a forecast is wanted where.

    Parameters
    ----------
    of : {"all", "mean", "sum"} or int
        Every step, the mean or the sum of the steps, or the position of one of them.
    target : Target
        Of that number. Of every step, it is an interval.
    name : str
        Of the number, in words.
    """

    of: str | int
    target: Target
    name: str

    def __str__(self) -> str:
        lower, upper = (getattr(self.target, end, None) for end in ("lower", "upper"))
        if lower is None or upper is None:
            return f"{self.name}: {self.target}"
        low, high = number_in_words(lower), number_in_words(upper)
        if np.isinf(lower) or np.isinf(upper):
            return f"{self.name} at {f'most {high}' if np.isinf(lower) else f'least {low}'}"
        return f"{self.name} from {low} to {high}"

    def values(self, forecasts: NDArray[Any]) -> NDArray[Any]:
        """The number of each forecast ``(n, H)`` that decides ``(n,)``; of every step, the one farthest off."""
        if self.of == "mean":
            return np.asarray(forecasts.mean(1))
        if self.of == "sum":
            return np.asarray(forecasts.sum(1))
        if self.of != "all":
            return np.asarray(forecasts[:, int(self.of)])
        lower, upper = self.target.lower, self.target.upper  # type: ignore[attr-defined]
        depth = np.minimum(forecasts - lower, upper - forecasts)
        farthest = np.argmin(depth, axis=1)  # NaN counts as the least
        return np.asarray(np.take_along_axis(forecasts, farthest[:, None], axis=1)[:, 0])


def amount_in_words(value: float) -> str:
    """A number of a forecast to four digits, or whole: no power of ten for a sum of money."""
    text = f"{value:.4g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text


def aim_of(target: Any, of: Any, index: pd.Index, cutoff: Any) -> Aim:
    """What is wanted of a forecast with that index.

    Parameters
    ----------
    target : (lower, upper) or Target
    of : {"all", "mean", "sum"}, a time of the forecast, or how many steps ahead it is
    index : pandas.Index
        Of the forecast.
    cutoff : time
        The last one that the forecaster has seen.
    """
    if isinstance(target, (tuple, list, np.ndarray)) and len(target) == 2:
        target = Target.interval(*target)
    if not isinstance(target, Target) or not target.regression:
        raise InvalidInputError(f"target must be an interval (lower, upper), None for an open end, got {target!r}.")
    times = names_of(index) or [str(step) for step in index]
    span = f"{times[0]} to {times[-1]}"
    if isinstance(of, str) and of in ("all", "mean", "sum"):
        if of == "all" and not (hasattr(target, "lower") and hasattr(target, "upper")):
            raise InvalidInputError(f"target must be an interval (lower, upper) for of='all', got {target!r}.")
        names = {"all": "every step", "mean": "the mean", "sum": "the sum"}
        name = f"{names[of]} of the forecast ({span})" if len(index) > 1 else f"the forecast for {times[0]}"
        return Aim(of, target, name)
    if isinstance(of, (int, np.integer)) and not isinstance(of, bool):
        ahead = _steps_ahead(index, cutoff)
        places = np.flatnonzero(ahead == of)
    else:
        try:
            places = np.arange(len(index))[index.slice_indexer(of, of)]
        except (KeyError, TypeError, ValueError):
            places = np.empty(0, int)
    if len(places) != 1:
        raise InvalidInputError(
            f"of must be 'all', 'mean', 'sum', one time of the forecast ({span}), or how many steps ahead it is, "
            f"got {of!r}."
        )
    return Aim(int(places[0]), target, f"the forecast for {times[places[0]]}")


def _steps_ahead(index: pd.Index, cutoff: Any) -> NDArray[Any]:
    """How many steps each time of a forecast is after the cutoff ``(H,)``."""
    from sktime.forecasting.base import ForecastingHorizon

    return ForecastingHorizon(index, is_relative=False).to_relative(cutoff).to_numpy()


@dataclass
class Asked:
    """A forecaster as the engine asks it: a row ``(K, D)`` is a plan or a past, its answer one number of the forecast.

    Parameters
    ----------
    forecaster : fitted forecaster
        Not changed.
    fh : horizon or None
    panel : FrameList
        With one DataFrame: the plan or the past.
    way : {"predict", "update", "refit"}
        With other plans; with another past that the fitted forecaster is told of by
        ``update(update_params=False)``; or with another past that a clone is fitted to.
    X, X_past : DataFrame or None
        The plan and the past of the exogenous data, where the past of y is changed.
    as_given : callable
        From a DataFrame to the container of the user.
    variable : column or None
        Of the forecast, where it has several.
    """

    forecaster: Any
    fh: Any
    panel: FrameList
    way: Literal["auto", "predict", "update", "refit"]
    as_given: Any
    X: Any = None
    X_past: Any = None
    variable: Any = None
    aim: Aim | None = None
    cause: Exception | None = field(default=None, init=False)

    def forecast(self, frame: pd.DataFrame) -> Any:
        """The forecaster's own forecast for a plan or a past, as the user would ask for it."""
        given = self.as_given([frame])
        with quiet(), as_caller():
            if self.way == "predict":
                return self.forecaster.predict(fh=self.fh, X=given)
            if self.way == "update":
                told = copy.deepcopy(self.forecaster)
                told.update(given, X=self.X_past, update_params=False)
                return told.predict(fh=self.fh, X=self.X)
            fitted = self.forecaster.clone()
            fitted.fit(given, X=self.X_past, fh=self.forecaster.fh if self.fh is None else self.fh)
            return fitted.predict(X=self.X)

    def numbers(self, forecast: Any) -> NDArray[Any]:
        """The values of a forecast ``(H,)``."""
        if getattr(forecast.index, "nlevels", 1) > 1:
            raise InvalidInputError(
                "the forecaster was fitted to several series: fit it to one, or explain the forecaster of one "
                "(forecaster.forecasters_)."
            )
        if isinstance(forecast, pd.DataFrame) and forecast.shape[1] > 1:
            if self.variable not in forecast.columns:
                raise InvalidInputError(
                    f"variable must say which column of the forecast is meant: one of {list(forecast.columns)}, got "
                    f"{self.variable!r}."
                )
            forecast = forecast[self.variable]
        return np.asarray(forecast, float).reshape(-1)

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The number of the forecast for each of the rows ``(n, K, D)``, NaN where the forecaster fails ``(n,)``."""
        assert self.aim is not None
        frames = self.panel.variations(0, self.panel.held(rows))
        answers = np.full(len(frames), np.nan)
        for i, frame in enumerate(frames):
            try:
                answers[i] = self.aim.values(self.numbers(self.forecast(frame))[None])[0]
            except Exception as error:  # some pasts cannot be fitted: the engine counts rows without an answer
                self.cause = error
        return answers


def settled(asked: Asked, steps: NDArray[np.bool_]) -> tuple[Any, int, float]:
    """How the forecaster is asked: the forecast now, the rows that this took, and the seconds of one forecast.

    Parameters
    ----------
    asked : Asked
        Its way may be "auto", which becomes "update" where the forecast then depends on the steps, else "refit".
    steps : array (K,)
        Which steps may change.
    """
    wanted, rows = asked.way, 0
    ways: tuple[Literal["auto", "predict", "update", "refit"], ...] = (wanted,)
    for way in ("update", "refit") if wanted == "auto" else ways:
        asked.way, rows = way, rows + 1
        began = time.monotonic()
        try:
            now = asked.forecast(asked.panel.container[0])
        except (KeyError, ValueError) as error:
            if wanted == "auto" and way == "update":
                continue
            if getattr(asked.forecaster, "_X", None) is None:
                raise
            raise InvalidInputError(
                "the forecaster fails. It was fitted with X, so it needs X with all times of the forecast and the same "
                f"columns ({type(error).__name__}: {error})."
            ) from error
        except Exception:  # a forecaster that cannot be updated is fitted again
            if wanted == "auto" and way == "update":
                continue
            raise
        seconds = time.monotonic() - began
        if way != "update":
            break
        rows += 1
        if _reacts(asked, asked.numbers(now), steps):
            break
        if wanted == "update":
            raise InvalidInputError(
                "the forecast is the same whatever the past is that update(update_params=False) tells the forecaster "
                "of: say past='refit', which fits a clone for each row."
            )
    return now, rows, seconds


def _reacts(asked: Asked, expected: NDArray[Any], steps: NDArray[np.bool_]) -> bool:
    """Whether the forecast depends on those steps of the past ``(K,)``."""
    values = np.asarray(asked.panel.series[0], float)
    size = np.nanstd(values, axis=0) + 1e-3 * float(np.nanmax(np.abs(values))) + 1e-9
    noise = np.where(steps[:, None], size * np.random.default_rng(0).uniform(0.5, 1.0, values.shape), 0.0)
    try:
        forecast = asked.forecast(asked.panel.filled([values + noise])[0])
        return not np.allclose(asked.numbers(forecast), expected, rtol=SAME, atol=0)
    except Exception:  # it cannot be told of such a past
        return False


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of a forecaster, which would come once a row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
