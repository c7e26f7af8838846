"""Queries in any of DiCE's forms as rows of a table, and the checks of a call's arguments."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from raiutils.exceptions import UserConfigValidationException


def rows_of(queries: Any, data: Any) -> pd.DataFrame:
    """Queries as rows with the features of the data, in the order of the data.

    Parameters
    ----------
    queries : DataFrame, dict, list of dicts, of values or of one-row DataFrames
    data : dice_ml.Data

    Raises
    ------
    ValueError
        There is no query, or it does not have the data's features.
    """
    several = list(queries) if isinstance(queries, (list, tuple)) else [queries]
    if not several:
        raise ValueError("query_instances must have at least one row.")
    typed = all(isinstance(query, pd.DataFrame) for query in several)
    if typed:
        queries = pd.concat(several)
    elif all(isinstance(query, (list, tuple)) for query in several):
        if any(len(query) != len(data.feature_names) for query in several):
            raise ValueError(f"a query as a list must have one value for each of {data.feature_names}.")
        queries = pd.DataFrame(several, columns=data.feature_names)
    frame = data.query_instance_to_df(queries).reset_index(drop=True)
    if frame.empty:
        raise ValueError("query_instances must have at least one row.")
    if data.outcome_name in frame:
        raise ValueError(f"Target {data.outcome_name} present in query instance.")
    if twice := frame.columns[frame.columns.duplicated()].tolist():
        raise ValueError(f"the query has features {sorted(set(twice))} more than once.")
    if unknown := set(frame) - set(data.feature_names):
        raise ValueError(f"Features {sorted(unknown)} of the query are not present in training data.")
    if absent := set(data.feature_names) - set(frame):
        raise ValueError(f"the query lacks features {sorted(absent)}.")
    frame = frame[list(data.feature_names)]  # a model may know its columns by their places
    if typed:
        return frame
    # A 0 among plain values does not say that the feature is whole; the data may say that it is not.
    decimals = data.get_decimal_precisions(output_type="dict")
    return frame.astype({name: float for name in frame if frame[name].dtype.kind in "iu" and decimals.get(name, 0)})


def check_arguments(total_CFs: Any, permitted_range: Any, features_to_vary: Any) -> str | list[str]:
    """Raise on arguments of types that DiCE's own checks do not expect; returns the features to vary."""
    if not isinstance(total_CFs, Integral):
        raise UserConfigValidationException(
            "The number of counterfactuals generated per query instance (total_CFs) should be a positive integer, "
            f"got {total_CFs!r}."
        )
    vary = features_to_vary
    if isinstance(vary, Iterable) and not isinstance(vary, str):
        vary = list(vary)
    if not isinstance(vary, (str, list)) or not all(isinstance(name, Hashable) for name in vary):
        raise UserConfigValidationException(
            f"features_to_vary must be 'all' or a list of features, got {features_to_vary!r}."
        )
    if permitted_range is not None and not (
        isinstance(permitted_range, Mapping)
        and all(isinstance(given, (list, tuple, np.ndarray)) for given in permitted_range.values())
    ):
        raise UserConfigValidationException(
            f"permitted_range must be a dict from feature to a list, got {permitted_range!r}."
        )
    return vary
