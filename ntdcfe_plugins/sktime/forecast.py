"""Counterfactuals of forecasts: other plans, or another past, for which the forecast is as wanted."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sktime.datatypes import convert_to

from ntdcfe import NTDCFE, Constraint, Features, InvalidInputError, PredictorError, SearchSettings
from ntdcfe.problem.prediction import Prediction
from ntdcfe.run.batch import Shown
from ntdcfe.run.checkpoint import begun_with
from ntdcfe.search.options import OptionName
from ntdcfe_plugins._shared.arguments import constraints_of, plausible_of, settings_of
from ntdcfe_plugins._shared.asked import from_first_look
from ntdcfe_plugins._shared.budget import for_the_search, with_costs
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.sktime.asking import OfNumpy3D
from ntdcfe_plugins.sktime.bar import RowBar
from ntdcfe_plugins.sktime.features import features_of
from ntdcfe_plugins.sktime.forecast_result import ForecastResult
from ntdcfe_plugins.sktime.forecasting import Asked, aim_of, settled
from ntdcfe_plugins.sktime.pace import Pace, as_begun, in_few_batches, in_words, seconds_a_series
from ntdcfe_plugins.sktime.panels import FrameList
from ntdcfe_plugins.sktime.result import table_of
from ntdcfe_plugins.sktime.run import found_by, seed_of
from ntdcfe_plugins.sktime.steps import in_steps, names_of, step_mask

Past = Literal["auto", "update", "refit"]


class CounterfactualForecastExplainer:
    """Counterfactuals of a forecast, from the forecaster's own `predict` alone.

    What would have to be different in the planned prices, or in the last weeks, for the forecast to stay under 300?

    Parameters
    ----------
    forecaster : fitted sktime forecaster
        Of one series; any, pipelines and reductions included. It is not changed.
    features : Features, or dict from column name to description, optional
        The kinds of the columns of X, or of y, and how they may change; a dict may leave columns out.
    constraints : sequence of Constraint
        Rules between columns: Causal, AtMost, or a Constraint of your own.
    plausible : callable, optional
        In-distribution test: takes numpy3D ``(n, column, time)``, returns which may be answers ``(n,)``.
    settings : SearchSettings, optional
    random_state : int, RandomState or None
        An int makes results the same on every run with the same `max_rows`.

    Notes
    -----
    With other plans (``change="X"``) nothing is fitted again: a row costs one call of ``predict``. (The reductions and
    `YfromX` of sktime, fitted to one series, were tried and do not take a panel of plans: rows do not share a call.)
    With another past (``change="y"``) a row costs either a copy of the forecaster that is told by
    ``update(y, update_params=False)``, which keeps its parameters, or a fit of a clone.
    ``past="auto"`` takes the update where the forecast then depends on the past at all, and the fit elsewhere; the
    result says which (``result.way``).

    Examples
    --------
    >>> import pandas as pd
    >>> from sktime.forecasting.compose import YfromX
    >>> from sklearn.linear_model import LinearRegression
    >>> from ntdcfe_plugins.sktime import CounterfactualForecastExplainer
    >>> weeks = pd.period_range("2024-01-01", periods=30, freq="W")
    >>> price = pd.DataFrame({"price": [4.0, 5.0, 6.0] * 10}, index=weeks)
    >>> sales = 500 - 40 * price["price"]
    >>> forecaster = YfromX(LinearRegression()).fit(sales[:26], X=price[:26])
    >>> explainer = CounterfactualForecastExplainer(forecaster, random_state=0)
    >>> result = explainer.explain([1, 2, 3, 4], target=(None, 300), X=price[26:], max_rows=300)
    >>> result
    ForecastResult(every step of the forecast: valid)
    >>> bool((forecaster.predict([1, 2, 3, 4], X=result.counterfactual) <= 300).all())
    True
    """

    def __init__(
        self,
        forecaster: Any,
        features: Features | Mapping[str, Any] | None = None,
        constraints: Sequence[Constraint] = (),
        plausible: Callable[[NDArray[Any]], Any] | None = None,
        settings: SearchSettings | None = None,
        random_state: Any = None,
    ) -> None:
        kinds = forecaster.get_tag("object_type", raise_error=False) if hasattr(forecaster, "get_tag") else None
        if "forecaster" not in np.atleast_1d(np.asarray(kinds, dtype=object)):
            raise InvalidInputError(
                f"forecaster must be a forecaster of sktime, got {type(forecaster).__name__}; CounterfactualExplainer "
                "explains classifiers and regressors."
            )
        forecaster.check_is_fitted()
        self.forecaster = forecaster
        self.features = features
        self.constraints = constraints_of(constraints)
        self.plausible = plausible_of(plausible)
        self.settings = settings_of(settings)
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"CounterfactualForecastExplainer({self.forecaster!r})"

    @silent()
    def explain(
        self,
        fh: Any = None,
        target: Any = None,
        *,
        of: Any = "all",
        X: Any = None,
        y: Any = None,
        change: Literal["X", "y"] | None = None,
        past: Past = "auto",
        actionable_steps: Any = None,
        variable: Any = None,
        prefer: OptionName | None = None,
        n_counterfactuals: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        seconds_per_series: float | None = None,
        progress: Shown = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> ForecastResult:
        """What would have to be different for the forecast to be as wanted.

        Parameters
        ----------
        fh : forecasting horizon, optional
            As in sktime's ``predict``; may be left out where ``fit`` was given it.
        target : (lower, upper) or Target
            Where the forecast should be, None for an open end.
        of : {"all", "mean", "sum"}, a time of the forecast, or how many steps ahead it is
            Which number of the forecast that is said of.
        X : DataFrame or Series, optional
            The plan: exogenous data over the horizon, as ``predict`` takes it. Rows up to the end of y are the past,
            and stay as they are.
        y : Series or DataFrame, optional
            The past, for ``change="y"``; what the forecaster remembers if not given. It may go on after what the
            forecaster was fitted to.
        change : {"X", "y"}, optional
            What may change: the plan or the past; the plan if there is one and `y` is not given.
        past : {"auto", "update", "refit"}
            How the forecaster is told of another past, see the notes of the class.
        actionable_steps : slice or list, of times or of positions, or a mask, optional
            The steps that may change: ``slice("2024-05", None)``, ``slice(-8, None)``; all if not given.
        variable : column, optional
            Of the forecast, where it has several.
        prefer : {"simplest", "nearest", "sturdiest"}, optional
            Which kind of answer is wanted, in place of the settings' value; ``details`` has the others.
        n_counterfactuals, max_rows, max_seconds : optional
            How many are wanted, and the budget, in place of the settings' values. A row is one forecast.
        seconds_per_series : float, optional
            About how long it may take: a slow forecaster is asked fewer rows, and the result says so. 60 where neither
            this nor `max_rows` is said; infinite for no limit.
        progress : bool or callable
            Whether to show a bar of rows; or a function of a :class:`ntdcfe.Progress`.
        checkpoint : path, optional
            A file that the finished search is written to; see :meth:`ntdcfe.NTDCFE.explain_batch`.

        Raises
        ------
        InvalidInputError
            An argument is wrong.
        PredictorError
            The forecaster answers for none of the rows.
        """
        settings = (self.settings or SearchSettings()).given(
            prefer=prefer, n_counterfactuals=n_counterfactuals, max_rows=max_rows, max_seconds=max_seconds
        )
        started = time.monotonic()
        asked, steps = _asked(self.forecaster, fh, X, y, change, past, actionable_steps, variable)
        now, n_asked, one_forecast = settled(asked, steps)
        expected = asked.numbers(now)
        cutoff = self.forecaster.cutoff if asked.way == "predict" else asked.panel.container[0].index[-1:]
        asked.aim = aim = aim_of(target, of, now.index, cutoff)
        n_asked += 1  # the forecast of the answer
        seconds = seconds_a_series(settings, max_rows, seconds_per_series)

        features = features_of(self.features, asked.panel)
        features = replace(features, actionable_steps=steps & features.step_mask(len(steps)))
        wanted = limits = for_the_search(settings, n_asked, time.monotonic() - started)
        if seconds is not None:
            limits = Pace(0.0, one_forecast).fitted(limits, seconds)
            limits = limits if checkpoint is None else as_begun(limits, begun_with(checkpoint))
        limits = in_few_batches(limits)
        engine = NTDCFE(
            asked,
            features,
            self.constraints,
            None if self.plausible is None else OfNumpy3D(self.plausible),
            limits,
            seed_of(self.random_state),
            output="values",
            missing="fixed",
        )
        original = asked.panel.series[0][None]
        present = Prediction(aim.values(expected[None]))
        if settings.max_rows is not None and settings.max_rows <= n_asked:
            (cf,) = from_first_look(engine, original, [aim.target], present)
        else:
            with RowBar(progress, limits.max_rows) as bar:
                (cf,) = engine.explain_batch(original, aim.target, progress=bar.of_group(1), checkpoint=checkpoint)
        if asked.cause is not None and not cf.found and cf.unscored >= cf.rows - n_asked - 1:
            raise PredictorError(f"the forecaster fails: {asked.cause}") from asked.cause
        cf = with_costs(cf, n_asked, n_asked)
        cf = in_steps(replace(cf, calls=cf.rows), names_of(asked.panel.container[0].index))
        frame = asked.panel.filled([asked.panel.series[0] if cf.x is None else cf.x])[0]
        then = asked.forecast(frame) if cf.found else now
        value = aim.values(asked.numbers(then)[None])
        valid = aim.target.reached(Prediction(value)) & cf.found
        table = table_of(asked.panel, [cf], [aim.target], present, list(value), valid, settings.prefer)
        way = asked.way
        assert way != "auto"
        changed: Literal["X", "y"] = "X" if way == "predict" else "y"
        history, note = _history(self.forecaster), in_words(wanted, limits, seconds)
        by = found_by(self, settings)
        return ForecastResult(asked.as_given([frame]), now, then, table, [cf], changed, way, aim, history, note, by)


def _asked(
    forecaster: Any, fh: Any, X: Any, y: Any, change: str | None, past: Past, actionable_steps: Any, variable: Any
) -> tuple[Asked, NDArray[np.bool_]]:
    """The forecaster as it will be asked, and which steps of the plan, or of the past, may change ``(K,)``."""
    if change not in (None, "X", "y"):
        raise InvalidInputError(f"change must be 'X' or 'y', got {change!r}.")
    if past not in ("auto", "update", "refit"):
        raise InvalidInputError(f"past must be 'auto', 'update' or 'refit', got {past!r}.")
    change = change or ("X" if X is not None and y is None else "y")
    forecaster = copy.deepcopy(forecaster)
    if change == "X":
        if X is None:
            raise InvalidInputError("change='X' needs X: the exogenous data over the horizon.")
        if y is not None:
            raise InvalidInputError("change='X' takes no y: update the forecaster first, or say change='y'.")
        panel, as_given = _one_frame("X", X)
        asked = Asked(forecaster, fh, panel, "predict", as_given, variable=variable)
        ahead = np.asarray(panel.container[0].index > forecaster.cutoff[0])
    else:
        y = _remembered(forecaster) if y is None else y
        panel, as_given = _one_frame("y", y)
        end = panel.container[0].index[-1]
        X_past = getattr(forecaster, "_X", None)
        if X is not None and (X.index <= end).any():
            X_past = X[X.index <= end]
        asked = Asked(forecaster, fh, panel, past, as_given, X, X_past, variable)
        ahead = np.ones(len(panel.container[0]), bool)
    chosen = ahead if actionable_steps is None else step_mask(actionable_steps, panel.container[0].index) & ahead
    if not chosen.any():
        raise InvalidInputError(
            f"there is no step of {change} that may change: {len(chosen)} steps, none of them "
            "among actionable_steps" + (" and after the past." if change == "X" else ".")
        )
    return asked, chosen


def _remembered(forecaster: Any) -> Any:
    """The past that the forecaster was fitted to."""
    y = getattr(forecaster, "_y", None)
    if y is None:
        raise InvalidInputError("the forecaster does not remember its past: give it as y.")
    if not isinstance(y, (pd.Series, pd.DataFrame)):
        y = convert_to(y, "pd.DataFrame")
    # A forecaster keeps the past as it computes with it; a user gave it as sktime has noted.
    one = isinstance(y, pd.DataFrame) and y.index.nlevels == 1 and y.shape[1] == 1
    return y.iloc[:, 0] if one and getattr(forecaster, "_y_mtype_last_seen", "") == "pd.Series" else y


def _history(forecaster: Any) -> Any:
    """The past for a picture, None if it is not known."""
    y = getattr(forecaster, "_y", None)
    return y if isinstance(y, (pd.Series, pd.DataFrame)) and y.index.nlevels == 1 else None


def _one_frame(name: str, given: Any) -> tuple[FrameList, Callable[[list[pd.DataFrame]], Any]]:
    """One series as a panel, and the way from a DataFrame back to the container that the user gave."""
    if not isinstance(given, (pd.Series, pd.DataFrame)) or given.index.nlevels > 1 or not given.size:
        raise InvalidInputError(f"{name} must be a Series or a DataFrame with one row a time, got {_kind(given)}.")
    if isinstance(given, pd.DataFrame):
        return FrameList([given]), lambda frames: frames[0]
    frame = given.to_frame(name if given.name is None else given.name)
    return FrameList([frame]), lambda frames: frames[0].iloc[:, 0].rename(given.name)


def _kind(given: Any) -> str:
    levels = getattr(getattr(given, "index", None), "nlevels", 1)
    return f"a {type(given).__name__}" + (" of several series" if levels > 1 else "")
