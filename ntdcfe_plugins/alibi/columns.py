"""Features told column by column, as tabular libraries do, turned into the engine's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ntdcfe import AtMost, Category, Causal, Continuous, Feature, Features, InvalidInputError, OneHot
from ntdcfe.problem.constraints import Constraint

Column = str | int

# A limit as large as this (alibi's default) is none: a unit of change taken from it would be absurd.
NO_LIMIT = 1e10


@dataclass(frozen=True)
class Kind:
    """A number (no categories), a column of codes, or a one-hot group of columns."""

    categories: Sequence[str] | None
    one_hot: bool

    @property
    def width(self) -> int:
        """How many columns it takes."""
        return 1 if self.categories is None or not self.one_hot else len(self.categories)

    def feature(self, name: str, options: Mapping[str, Any]) -> Feature:
        """The engine's feature of this kind."""
        kind: type[Feature] = Continuous if self.categories is None else OneHot if self.one_hot else Category
        if unknown := set(options) - {field.name for field in fields(kind)}:
            raise InvalidInputError(f"{name!r} is categorical: it takes no {' or '.join(sorted(unknown))}.")
        if self.categories is None:
            return kind(name=name, **options)
        labels = tuple(map(str, self.categories))
        own: dict[str, Any] = {"categories" if self.one_hot else "labels": labels}
        return kind(name=name, **own, **options)


class Columns:
    """Which feature each column belongs to.

    Parameters
    ----------
    n_columns : int, optional
        How many there are; as many as the names make up if not given.
    names : sequence of str, optional
        One a feature; a one-hot group is one feature.
    category_map : dict of name or (first) column to category names
    ohe : collection
        Those keys of `category_map` that are one-hot groups; the rest are columns of codes.
    """

    def __init__(
        self,
        n_columns: int | None,
        names: Sequence[str] | None,
        category_map: Mapping[Column, Sequence[str]],
        ohe: Sequence[Column] = (),
    ) -> None:
        self.names: list[str] = []
        self.kinds: list[Kind] = []
        self.owner: list[int] = []
        left = dict(category_map)
        for group, categories in left.items():
            if not listed(f"category_map[{group!r}]", categories):
                raise InvalidInputError(f"category_map[{group!r}] must list categories, got {categories!r}.")
        while len(self.owner) < (n_columns or 0) if names is None else len(self.kinds) < len(names):
            position = len(self.kinds)
            name = f"feature {position}" if names is None else names[position]
            key: Column = name if name in left else len(self.owner)
            self.names.append(name)
            self.kinds.append(Kind(left.pop(key, None), one_hot=key in ohe))
            self.owner += [position] * self.kinds[-1].width
        if left or any(key not in category_map for key in ohe):
            raise InvalidInputError(
                f"category_map must name features or their first column, and ohe some of these: got "
                f"{list(category_map)} and {list(ohe)} for features {self.names}."
            )
        if n_columns not in (None, len(self.owner)):
            raise InvalidInputError(
                f"feature_names and category_map make up {len(self.owner)} columns, the instances have {n_columns}."
            )

    def position(self, key: Column) -> int:
        """Position of the feature with that name or column."""
        if isinstance(key, str) and key in self.names:
            return self.names.index(key)
        n = len(self.owner)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and -n <= int(key) < n:
            return self.owner[int(key)]
        raise InvalidInputError(f"there is no feature {key!r}: names {self.names}, columns 0 to {n - 1}.")

    def features(
        self,
        options: Iterable[tuple[str, Mapping[Column, Any]]],
        feature_range: Any = None,
        actionable_steps: slice | ArrayLike | None = None,
    ) -> Features:
        """The engine's features.

        Parameters
        ----------
        options : pairs of an option's name and a dict from feature to value
        feature_range : (low, high), or dict of feature to (low, high), optional
            Numbers or arrays whose last axis are the columns; these do not concern categories.
        actionable_steps : as in :class:`ntdcfe.Features`
        """
        chosen: list[dict[str, Any]] = [{} for _ in self.kinds]
        for key, bounds in self._bounds(feature_range).items():
            if isinstance(feature_range, Mapping) or self.kinds[self.position(key)].categories is None:
                chosen[self.position(key)]["bounds"] = bounds
        for option, given in options:
            for key, value in given.items():
                chosen[self.position(key)][option] = value.item() if isinstance(value, np.generic) else value
        described = zip(self.kinds, self.names, chosen, strict=True)
        return Features([kind.feature(name, own) for kind, name, own in described], actionable_steps)

    def rules(self, constraints: Sequence[Constraint]) -> list[Constraint]:
        """Constraints with positions of features for names and columns."""
        return [self._rule(rule) for rule in constraints]

    def _rule(self, rule: Constraint) -> Constraint:
        if isinstance(rule, AtMost):
            return AtMost(self.position(rule.feature), self.position(rule.limit))
        if isinstance(rule, Causal):
            causes = tuple(map(self.position, rule.causes))  # type: ignore[arg-type]
            return replace(rule, effect=self.position(rule.effect), causes=causes)
        raise InvalidInputError(f"constraints must be ntdcfe.Causal or ntdcfe.AtMost, got {rule!r}.")

    def _bounds(self, feature_range: Any) -> dict[Column, tuple[float | None, float | None]]:
        try:
            if feature_range is None:
                return {}
            if isinstance(feature_range, Mapping):
                pairs = feature_range
            else:
                low, high = map(self._each_column, feature_range)
                pairs = dict(enumerate(zip(low, high, strict=True)))
            return {key: (_limit(low), _limit(high)) for key, (low, high) in pairs.items()}
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"feature_range must be (low, high), numbers or arrays of {len(self.owner)} columns, or a dict of "
                f"feature to (low, high), got {feature_range!r} ({error})."
            ) from None

    def _each_column(self, side: Any) -> list[Any]:
        columns = np.asarray(side, dtype=float).reshape(-1, np.shape(side)[-1] if np.ndim(side) else 1)
        if (columns != columns[0]).any():
            raise ValueError("limits must be the same at all steps")
        return list(np.broadcast_to(columns[0], len(self.owner)).tolist())


def listed(argument: str, value: Any) -> list[Any]:
    """What was given as a collection; a text is none."""
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{argument} must be a list, got {value!r}.")
    return list(value)


def named(argument: str, value: Any) -> list[Column]:
    """What was given as a collection of names or columns."""
    if wrong := [key for key in listed(argument, value) if not isinstance(key, (str, int, np.integer))]:
        raise InvalidInputError(f"{argument} must be names or columns, got {wrong[0]!r}.")
    return list(listed(argument, value))


def mapped(argument: str, value: Any) -> dict[Any, Any]:
    """What was given as a dict."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{argument} must be a dict from feature to value, got {value!r}.")
    return dict(value)


def _limit(value: Any) -> float | None:
    return None if value is None or abs(value) >= NO_LIMIT else float(value)
