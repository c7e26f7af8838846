"""Features that have further keys beside their names: the columns of an ecosystem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ntdcfe import Features, InvalidInputError

Key = str | int


@dataclass(frozen=True, repr=False)
class KeyedFeatures(Features):
    """The engine's features, which constraints and options may also name by an ecosystem's columns.

    A constraint looks its features up with :meth:`index` when it is bound, so that any constraint can name columns.

    Parameters
    ----------
    features, actionable_steps
        As in :class:`ntdcfe.Features`.
    keys : dict of column to position of its feature
        Numbers take the place of the engine's positions.

    Examples
    --------
    >>> from ntdcfe import Continuous, OneHot
    >>> home = OneHot(name="home", categories=["rent", "own"])
    >>> features = KeyedFeatures([home, Continuous(name="age")], keys={0: 0, 1: 0, 2: 1})
    >>> features.index(1), features.index(2), features.index("age")
    (0, 1, 1)
    """

    keys: Mapping[Key, int] = field(default_factory=dict, compare=False)

    def index(self, name: Key) -> int:
        """Position of the feature with that name, or of that column."""
        if isinstance(name, str):
            if name in self.names:
                return self.names.index(name)
        elif isinstance(name, bool) or not isinstance(name, (int, np.integer)):
            raise InvalidInputError(f"there is no feature {name!r}: a feature is named by its name or its column.")
        return self.keys[name] if name in self.keys else super().index(name)


def keys_of_columns(features: Features) -> dict[Key, int]:
    """The number of each column, from the front and from the back, with the position of its feature."""
    owners = [i for i, group in enumerate(features.groups()) for _ in range(group.start, group.stop)]
    return {key: owner for shift in (0, -len(owners)) for key, owner in enumerate(owners, shift)}
