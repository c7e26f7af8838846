"""The train splits, in the layout of the published figures and as they really are."""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Continuous, Discrete, Features
from protocol.arrays import Floats, Ints
from protocol.specs import LIFE_EXPECTANCY_CONTINUOUS, LIFE_EXPECTANCY_FEATURES, SPECS, DatasetSpec, spec_of

Layout = Literal["published", "true"]
LAYOUTS: tuple[Layout, ...] = ("true", "published")


@dataclass(frozen=True)
class Dataset:
    """The train split of a dataset, as a model gets it.

    Attributes
    ----------
    name
        One of the keys of ``SPECS``.
    layout
        ``"published"`` or ``"true"``, see :func:`load`.
    X
        Series ``(n, K, D)``; continuous features have mean 0 and variance 1 over all
        samples and steps.
    y
        Labels ``(n,)``: 1 for the target class, 0 for the undesired one.
    feature_names
        One name per column of `X`.
    discrete
        The values of each discrete feature, by column; the other columns are continuous.
    """

    name: str
    layout: Layout
    X: Floats = field(repr=False)
    y: Ints = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    discrete: Mapping[int, list[float]]

    @property
    def spec(self) -> DatasetSpec:
        """The specification of the dataset."""
        return SPECS[self.name]

    @property
    def features(self) -> Features:
        """The columns as the engine wants them described."""
        return described(self.feature_names, self.discrete)


def described(
    names: Sequence[str],
    discrete: Mapping[int, list[float]],
    preferences: Mapping[str, Mapping[str, Any]] | None = None,
) -> Features:
    """Describe columns to the engine: standardised, so their unit is 1, or discrete.

    Parameters
    ----------
    names
        One name per column.
    discrete
        The values of each discrete feature, by column.
    preferences
        What a user says of some features, such as ``{"GDP": {"weight": 10.0}}``.
    """
    said = preferences or {}
    return Features(
        [
            Discrete(discrete[i], name=name, **said.get(name, {}))
            if i in discrete
            else Continuous(name=name, scale=1.0, **said.get(name, {}))
            for i, name in enumerate(names)
        ]
    )


def data_folder() -> Path | None:
    """Give ``../shared/data`` beside the project's root if it is there, else None: sktime downloads then."""
    folder = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return folder if folder.is_dir() else None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which series a benchmark is run on."""
    parser.add_argument("--data", type=Path, default=data_folder(), help="datasets; else sktime's downloader")
    parser.add_argument("--layout", choices=LAYOUTS, default="true", help="the real series, or the paper's")


def load(name: str, data_dir: str | os.PathLike[str] | None = None, layout: Layout = "true") -> Dataset:
    """Load the train split of a dataset.

    Parameters
    ----------
    name
        One of ``DATASETS``, or ``"PEMS-SF"``.
    data_dir
        The folder that holds one folder per dataset. A set of the UEA archive that is
        not in it is downloaded to it by sktime; if None, to sktime's own folder.
    layout
        ``"true"`` gives the real series. ``"published"`` gives what the published counts were
        taken on: for four of the datasets, series of the same shape that repeat their first
        used step.

    Returns
    -------
    Dataset
        Standardised series, labels, and what the features are.

    Raises
    ------
    FileNotFoundError
        Where the data is neither in `data_dir` nor something sktime could download.
    """
    spec = spec_of(name)
    if layout not in LAYOUTS:
        raise ValueError(f"layout: got {layout!r}, takes 'true' or 'published'")
    folder = None if data_dir is None else Path(data_dir)
    if name == "LifeExpectancy":
        return _load_life_expectancy(folder, layout)

    X, labels = _read_archive(spec.folder, folder)
    if spec.last_steps is not None:
        X = X[:, -spec.last_steps :]
    if layout == "published" and spec.time_constant:
        X = np.repeat(X[:, :1], X.shape[1], axis=1)
    target = [str(label).lower().removesuffix(".0") in spec.target_classes for label in labels]
    return Dataset(
        name=name,
        layout=layout,
        # Last, after the steps were chosen and repeated: only so do the counts come out.
        X=_standardise(X),
        y=np.array(target, dtype=np.int64),
        feature_names=tuple(f"dim_{column}" for column in range(X.shape[2])),
        discrete={},
    )


def _read_archive(folder: str, data_dir: Path | None) -> tuple[Floats, NDArray[np.str_]]:
    """Read a train split of the UEA archive: series ``(n, K, D)`` and labels ``(n,)``."""
    from sktime.datasets import load_from_tsfile, load_UCR_UEA_dataset

    file = None if data_dir is None else data_dir / folder / f"{folder}_TRAIN.ts"
    if file is not None and file.is_file():
        X, labels = load_from_tsfile(str(file), return_data_type="numpy3d")
    elif folder == "JapaneseVowels_eq":
        raise FileNotFoundError(
            f"data_dir: got {data_dir}, which has no {folder}/{folder}_TRAIN.ts. This "
            "equal-length edition of JapaneseVowels is not among sktime's downloads; see "
            "aeon.datasets.load_classification with load_equal_length=True."
        )
    else:
        X, labels = load_UCR_UEA_dataset(
            folder,
            split="train",
            return_type="numpy3D",
            extract_path=None if data_dir is None else str(data_dir),
        )
    return np.ascontiguousarray(np.transpose(X, (0, 2, 1)), dtype=np.float64), labels


def _load_life_expectancy(data_dir: Path | None, layout: Layout) -> Dataset:
    """Read the Life Expectancy CSV: 119 countries by 16 years, in the file's order."""
    file = (data_dir or Path()) / "LifeExpectancy" / "Life_Expectancy_00_15.csv"
    if not file.is_file():
        raise FileNotFoundError(
            f"data_dir: got {data_dir}, which has no {file.parent.name}/{file.name}. It is "
            "at https://www.kaggle.com/datasets/vrec99/life-expectancy-2000-2015"
        )
    with file.open(newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(stream, delimiter=";"))
    n = len({row["Country"] for row in rows})

    def by_country(values: Sequence[Sequence[float]]) -> Floats:
        return np.array(values, dtype=np.float64).reshape(n, len(rows) // n, -1)

    # An integer code: one-hot, as the text has it, gives other counts for the KNN.
    continents = sorted({row["Continent"] for row in rows})
    continuous = by_country([[float(row[c]) for c in LIFE_EXPECTANCY_CONTINUOUS] for row in rows])
    discrete = by_country(
        [[continents.index(row["Continent"]), row["Least Developed"].upper() == "TRUE"] for row in rows]
    )
    life_expectancy = by_country([[float(row["Life Expectancy"])] for row in rows])
    return Dataset(
        name="LifeExpectancy",
        layout=layout,
        X=np.concatenate([_standardise(continuous), discrete], axis=2),
        y=(life_expectancy[:, -1, 0] >= 75).astype(np.int64),
        feature_names=LIFE_EXPECTANCY_FEATURES,
        discrete={
            LIFE_EXPECTANCY_FEATURES.index("Continent"): [float(code) for code in range(len(continents))],
            LIFE_EXPECTANCY_FEATURES.index("Least Developed"): [0.0, 1.0],
        },
    )


def _standardise(X: Floats) -> Floats:
    """Give each feature mean 0 and variance 1: ``(n, K, D)`` -> ``(n, K, D)``."""
    spread = X.std(axis=(0, 1))
    standardised: Floats = (X - X.mean(axis=(0, 1))) / np.where(spread > 0, spread, 1.0)
    return standardised
