"""Which samples are explained, and what their counterfactuals are measured by."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sklearn.neighbors import LocalOutlierFactor

from protocol.arrays import Bools, Ints, flatten
from protocol.data import Dataset
from protocol.models import Model
from protocol.specs import SPECS, spec_of


class CountMismatchError(ValueError):
    """The number of invalid samples is not the published one."""


def invalid_samples(dataset: Dataset, model: Model) -> Ints:
    """Find the samples to explain: those that `model` puts in the undesired class.

    Returns
    -------
    array
        Their indices ``(m,)`` into ``dataset.X``, ascending.
    """
    return np.flatnonzero(model.predict(dataset.X) == 0)


def assert_counts(dataset_name: str, model: str, indices: ArrayLike) -> None:
    """Check the number of invalid samples in the published layout.

    Parameters
    ----------
    dataset_name
        One of the keys of ``SPECS``.
    model
        One of ``MODELS``. For ``"lstm"`` nothing is checked: its count depends on the
        training; report it beside the published one.
    indices
        What :func:`invalid_samples` gave, ``(m,)``.

    Raises
    ------
    CountMismatchError
        Where the count is not the published one: figures must not be compared then.
    """
    if model == "lstm":
        return
    published = spec_of(dataset_name).n_invalid[model]
    found = len(np.asarray(indices))
    if found != published:
        raise CountMismatchError(
            f"indices: got {found} invalid samples of {dataset_name} for {model}, the paper has {published}"
        )


def evenly_spaced(indices: ArrayLike, n: int) -> Ints:
    """Choose at most `n` of the indices, evenly spaced: ``(m,)`` -> ``(min(n, m),)``."""
    indices = np.asarray(indices, dtype=np.int64)
    positions = np.linspace(0, len(indices) - 1, min(n, len(indices))).astype(int)
    return np.take(indices, positions)


def optimum(dataset: Dataset, model_name: str, x: ArrayLike) -> float:
    """Give the least proximity that any counterfactual of a rule model can have.

    Parameters
    ----------
    dataset
        The dataset that `x` is of.
    model_name
        ``"rule_1"`` or ``"rule_2"``.
    x
        A series ``(K, D)``.

    Returns
    -------
    float
        L1 over continuous features plus L0 over discrete ones. It is an infimum, since
        the rules' inequalities are strict.
    """
    if model_name not in dataset.spec.rules:
        raise ValueError(f"model_name: got {model_name!r}, takes 'rule_1' or 'rule_2'")
    return float(dataset.spec.rules[model_name].optimum(np.asarray(x)[None])[0])


def plausibility(dataset: Dataset, n_neighbors: int = 20) -> Callable[[ArrayLike], Bools]:
    """Fit the paper's judge of plausibility, the local outlier factor.

    It is for evaluation only: no method may consult it while it searches.

    Parameters
    ----------
    dataset : Dataset
        Its train split says what is usual.
    n_neighbors : int
        The protocol leaves it at scikit-learn's 20; the paper does not say. All of CoMTE's series are
        plausible there, which are train series, and only 1 calls all of those plausible.

    Returns
    -------
    callable
        Tells which series are inliers of the train split: ``(n, K, D)`` -> ``(n,)``.
    """
    detector = LocalOutlierFactor(n_neighbors, novelty=True).fit(flatten(dataset.X))

    def plausible(X: ArrayLike) -> Bools:
        return np.asarray(detector.predict(flatten(X)) == 1)

    return plausible


def paper_figures(
    results_csv: str | os.PathLike[str], method: str = "NTD-CFE"
) -> dict[tuple[str, str], dict[str, float]]:
    """Read what the paper reports for NTD-CFE.

    Parameters
    ----------
    results_csv
        The paper's tables: one line per dataset, model and method.
    method
        ``"NTD-CFE"``, or ``"NTD-CFE_in_dist"``, which asks for plausible answers.

    Returns
    -------
    dict
        By dataset and model, as named here: ``success`` and ``plausibility`` in percent,
        ``proximity`` and ``sparsity``; nan where the paper has no figure.
    """
    columns = {
        "success": "success_pct",
        "plausibility": "plausibility_pct",
        "proximity": "proximity",
        "sparsity": "sparsity",
    }
    names = {spec.paper_name: spec.name for spec in SPECS.values()}
    with Path(results_csv).open(newline="", encoding="utf-8") as stream:
        return {
            (names[row["dataset"]], row["model"]): {
                figure: float(row[column] or "nan") for figure, column in columns.items()
            }
            for row in csv.DictReader(stream)
            if row["method"] == method
        }
