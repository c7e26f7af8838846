"""The columns of a DiCE table in the engine's terms: features, and states that become rows again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from raiutils.exceptions import UserConfigValidationException

from ntdcfe import NTDCFE as Engine
from ntdcfe import Category, Constraint, Continuous, Feature
from ntdcfe_plugins._shared.keyed import KeyedFeatures
from ntdcfe_plugins.dice.columns import Column, nearest_permitted
from ntdcfe_plugins.dice.series import SeriesColumns


@dataclass(frozen=True)
class Table:
    """The columns of the queries in the engine's terms: states ``(n, F)``, or ``(n, K, D)`` of a series.

    Parameters
    ----------
    columns : list of str
        In the order of the queries.
    coded : dict of name to Column
        In the order of the engine's columns.
    features : KeyedFeatures
        Those of a series are its channels; each of the channel's columns stands for it, too.
    permitted : array (F,)
        Which features the call gave a permitted range.
    shape : tuple
        Of one state.
    """

    columns: list[str]
    coded: dict[str, Column]
    features: KeyedFeatures
    permitted: NDArray[np.bool_]
    shape: tuple[int, ...]

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        data: Any,
        options: Mapping[str, Mapping[str, Any] | Category],
        constraints: Sequence[Constraint],
        series: SeriesColumns | None,
        permitted: Mapping[str, Sequence[Any]],
        vary: str | Sequence[str],
    ) -> Table:
        """The table of queries `frame`.

        Parameters
        ----------
        frame : DataFrame
        data : dice_ml.Data
        options : dict of feature to options of the engine's feature, or a Category
        constraints : sequence of Constraint
            Features that do not vary may still follow from others by these.
        series : SeriesColumns, optional
        permitted : dict of feature to range or categories
            The keys may be channels of a series.
        vary : "all", or sequence of features
            These may be channels of a series, too.
        """
        order = list(frame.columns) if series is None else series.columns
        names = order if series is None else list(series.names)
        members = {name: order[i :: len(names)] for i, name in enumerate(names)}

        def columns_of(given: Iterable[str]) -> list[str]:
            return [column for name in given for column in members.get(name, [name])]

        permitted = {column: allowed for name, allowed in permitted.items() for column in columns_of([name])}
        vary = [vary] if isinstance(vary, str) else vary
        free = order if list(vary) == ["all"] else columns_of(vary)
        data.check_features_to_vary(free)
        data.check_features_to_vary(list(permitted))
        coded = {
            column: Column.of(frame[column], data, permitted.get(column), options.get(name, {}))
            for column, name in zip(order, names * (len(order) // len(names)), strict=True)
        }
        varies, forced = (np.isin(order, some).reshape(-1, len(names)) for some in (free, list(permitted)))
        steps, channels = varies.any(1), varies.any(0)
        if (varies != np.outer(steps, channels)).any():
            raise UserConfigValidationException("features_to_vary must be the same channels at every step it names.")
        described = KeyedFeatures(
            [_channel(name, [coded[column].feature for column in members[name]]) for name in names],
            None if steps.all() else steps,
            keys={column: i for i, name in enumerate(names) for column in members[name]},
        )
        features = replace(described, features=_held(described, channels, constraints))
        shape = (len(names),) if series is None else varies.shape
        return cls(list(frame.columns), coded, features, forced.any(0), shape)

    def encode(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Rows as states."""
        return np.column_stack([c.encode(frame[name]) for name, c in self.coded.items()]).reshape(-1, *self.shape)

    def decode(self, states: NDArray[Any]) -> pd.DataFrame:
        """States as rows, with the columns and dtypes of the queries."""
        values = states.reshape(len(states), len(self.coded))
        columns = {name: c.decode(values[:, i]) for i, (name, c) in enumerate(self.coded.items())}
        return pd.DataFrame({name: columns[name] for name in self.columns}, index=range(len(states)))

    def starts(self, states: NDArray[np.float64], engine: Engine) -> NDArray[np.float64]:
        """The states from which to search: moved into the range that the call permits, effects of a cause included."""
        inside = self._inside(states)
        # A move into the range ends at the bound, whatever the search does there, and goes as far as it has to.
        settings = replace(engine.settings, on_violation="cap", reach=None)
        for i in np.flatnonzero((inside != states).reshape(len(states), -1).any(1)):
            space = engine.problem(np.atleast_2d(states[i]), self.features, settings).space
            inside[i] = space.project(np.atleast_2d(inside[i])[None])[0].reshape(self.shape)
        if outside := [self.features.names[i] for i in np.argwhere(self._inside(inside) != inside)[:, -1]]:
            raise ValueError(f"Feature: {outside[0]} is outside the permitted range and isn't allowed to vary.")
        return inside

    def _inside(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest numbers, or the first of the categories, that the call permits."""
        inside = states.copy()
        for i in np.flatnonzero(self.permitted):
            feature = self.features[i]
            if isinstance(feature, Continuous):
                inside[..., i] = np.clip(states[..., i], *feature.limits)
            elif feature.choices is not None:
                for now in np.setdiff1d(states[..., i], feature.choices).tolist():
                    inside[..., i][states[..., i] == now] = nearest_permitted(feature, now)
        return inside


def _held(features: KeyedFeatures, varies: NDArray[np.bool_], constraints: Sequence[Constraint]) -> list[Feature]:
    """The features; one that does not vary ``(F,)`` is non-actionable if a constraint computes it, else immutable."""
    effects = {i for constraint in constraints for i in constraint.bind(features).affects()}
    return [
        feature if varies[i] else replace(feature, role="non_actionable" if i in effects else "immutable")
        for i, feature in enumerate(features)
    ]


def _channel(name: str, features: list[Feature]) -> Feature:
    """The one feature of a channel's columns, with the finest of their precisions."""
    first, *others = (replace(feature, name=name) for feature in features)
    if isinstance(first, Continuous):
        precisions = [getattr(feature, "precision", None) for feature in features]
        finest = None if None in precisions else max(p for p in precisions if p is not None)
        first, *others = (replace(feature, precision=finest) for feature in (first, *others))  # type: ignore[call-arg]
    if any(other != first for other in others):
        raise UserConfigValidationException(f"the columns of channel {name!r} must have one range.")
    return first
