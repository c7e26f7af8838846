"""The experimental protocol of the NTD-CFE paper: data, models, counts and yardsticks.

The paper explains those samples of each train split that a model puts in the undesired
class. How many there are is published, so a set-up can be checked before any figure is
set beside the paper's: :func:`assert_counts` does that, and where it raises the
comparison is void.

Everywhere, series are time-major arrays ``(n, K, D)`` and labels are 1 for the target
class and 0 for the undesired one.

Examples
--------
>>> dataset = load("ERing", data_dir)  # doctest: +SKIP
>>> model = fit_model(dataset, "knn")  # doctest: +SKIP
>>> indices = invalid_samples(dataset, model)  # doctest: +SKIP
>>> assert_counts("ERing", "knn", indices)  # doctest: +SKIP
>>> chosen = evenly_spaced(indices, 5)  # doctest: +SKIP
"""

from __future__ import annotations

import csv
import hashlib
import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Layout = Literal["published", "true"]

MODELS = ("rule_1", "rule_2", "knn", "random_forest", "lstm")


class CountMismatchError(ValueError):
    """The number of invalid samples is not the published one."""


# --------------------------------------------------------------------------------------
# Rules
# --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """What one feature has to satisfy at a step.

    Attributes
    ----------
    column
        The feature's column.
    relation
        How the value has to stand to zero. ``"=="`` is for discrete features.
    """

    column: int
    relation: Literal[">", "<", "=="]

    def holds(self, X: Floats) -> Bools:
        """Tell where the condition holds: ``(n, K, D)`` -> ``(n, K)``."""
        value = X[:, :, self.column]
        if self.relation == ">":
            return value > 0
        if self.relation == "<":
            return value < 0
        return np.asarray(value == 0)

    def cost(self, X: Floats) -> Floats:
        """Give the least change that makes it hold: ``(n, K, D)`` -> ``(n, K)``.

        L1 for a continuous feature, L0 for a discrete one. For the strict relations it
        is an infimum: a hair more is needed.
        """
        value = X[:, :, self.column]
        if self.relation == ">":
            return np.maximum(0.0, -value)
        if self.relation == "<":
            return np.maximum(0.0, value)
        return np.asarray(value != 0, dtype=np.float64)


@dataclass(frozen=True)
class Rule:
    """A rule model: conditions on the last steps of a series.

    Attributes
    ----------
    window
        How many of the last steps the rule looks at.
    every
        Conditions that have to hold at every step of the window.
    either
        Conditions of which one has to hold; none if empty.
    either_per_step
        Whether another of `either` may hold at each step, or one of them throughout.
    """

    window: int
    every: tuple[Condition, ...] = ()
    either: tuple[Condition, ...] = ()
    either_per_step: bool = False

    def predict(self, X: ArrayLike) -> Ints:
        """Label series: ``(n, K, D)`` -> ``(n,)``."""
        last = np.asarray(X, dtype=np.float64)[:, -self.window :]
        reached = np.ones(len(last), dtype=bool)
        for condition in self.every:
            reached &= condition.holds(last).all(axis=1)
        if self.either:
            holds = np.stack([condition.holds(last) for condition in self.either])
            if self.either_per_step:
                reached &= holds.any(axis=0).all(axis=1)
            else:
                reached &= holds.all(axis=2).any(axis=0)
        return reached.astype(np.int64)

    def optimum(self, X: ArrayLike) -> Floats:
        """Give the least cost of the target label: ``(n, K, D)`` -> ``(n,)``."""
        last = np.asarray(X, dtype=np.float64)[:, -self.window :]
        total = np.zeros(len(last))
        for condition in self.every:
            total += condition.cost(last).sum(axis=1)
        if self.either:
            costs = np.stack([condition.cost(last) for condition in self.either])
            if self.either_per_step:
                total += costs.min(axis=0).sum(axis=1)
            else:
                total += costs.sum(axis=2).min(axis=0)
        return total


def _threshold_rules(columns: Sequence[int], window: int) -> dict[str, Rule]:
    """Build rule 1, all features above zero, and rule 2, one of them throughout.

    The paper's formula for rule 2 reads as an "or" at each step; only one feature above
    zero throughout the window gives the published counts.
    """
    positive = tuple(Condition(column, ">") for column in columns)
    return {"rule_1": Rule(window, every=positive), "rule_2": Rule(window, either=positive)}


def _life_expectancy_rules() -> dict[str, Rule]:
    """Build the two rules that the paper states for Life Expectancy alone.

    Both readings of the "or" in rule 2 put the same 55 samples in the undesired class,
    so the counts do not decide; this is the formula as printed, at each step.
    """
    column = LIFE_EXPECTANCY_FEATURES.index
    gdp = Condition(column("GDP per capita"), ">")
    health = Condition(column("Health expenditure"), ">")
    common = (
        Condition(column("Least Developed"), "=="),
        Condition(column("People using at least basic drinking water services"), ">"),
        Condition(column("People practicing open defecation"), "<"),
    )
    return {
        "rule_1": Rule(5, every=(*common, gdp, health)),
        "rule_2": Rule(5, every=common, either=(gdp, health), either_per_step=True),
    }


# --------------------------------------------------------------------------------------
# Dataset specifications
# --------------------------------------------------------------------------------------

LIFE_EXPECTANCY_CONTINUOUS = (
    "Population",
    "CO2 emissions",
    "Health expenditure",
    "Electric power consumption",
    "Forest area",
    "GDP per capita",
    "Individuals using the Internet",
    "Military expenditure",
    "People practicing open defecation",
    "People using at least basic drinking water services",
    "Obesity among adults",
    "Beer consumption per capita",
)
LIFE_EXPECTANCY_FEATURES = (*LIFE_EXPECTANCY_CONTINUOUS, "Continent", "Least Developed")


@dataclass(frozen=True)
class DatasetSpec:
    """What the published counts say about how the paper used a dataset.

    Attributes
    ----------
    name
        The name used here.
    paper_name
        The name used in the paper's tables.
    folder
        The folder, and the prefix of the files in it.
    rules
        ``rule_1`` and ``rule_2``.
    n_invalid
        The published number of invalid samples of each model.
    target_classes
        The labels that make up the target class, lower case, without a trailing ``.0``.
    last_steps
        How many of the last steps are used; all of them if None.
    time_constant
        Whether the published counts come out only when every series repeats its first
        used step.
    """

    name: str
    paper_name: str
    folder: str
    rules: Mapping[str, Rule]
    n_invalid: Mapping[str, int]
    target_classes: tuple[str, ...] = ()
    last_steps: int | None = None
    time_constant: bool = False


def _counts(rule_1: int, rule_2: int, knn: int, random_forest: int, lstm: int) -> dict[str, int]:
    return dict(zip(MODELS, (rule_1, rule_2, knn, random_forest, lstm), strict=True))


_SPECS = (
    DatasetSpec(
        name="ERing",
        paper_name="eRing",
        folder="ERing",
        rules=_threshold_rules((1, 2), window=10),
        n_invalid=_counts(29, 25, 16, 15, 14),
        target_classes=("4", "5", "6"),
    ),
    DatasetSpec(
        name="NATOPS",
        paper_name="NATOPS",
        folder="NATOPS",
        rules=_threshold_rules((0, 3), window=10),
        n_invalid=_counts(178, 126, 93, 90, 90),
        target_classes=("4", "5", "6"),
    ),
    DatasetSpec(
        name="JapaneseVowels",
        paper_name="Japanese Vowels",
        # The equal-length edition of 25 steps: the text says 29, the counts need this.
        folder="JapaneseVowels_eq",
        rules=_threshold_rules((0, 5, 11), window=20),
        n_invalid=_counts(269, 149, 124, 120, 121),
        target_classes=("5", "6", "7", "8", "9"),
    ),
    DatasetSpec(
        name="LifeExpectancy",
        paper_name="Life Expectancy",
        folder="LifeExpectancy",
        rules=_life_expectancy_rules(),
        n_invalid=_counts(87, 55, 68, 62, 63),
    ),
    DatasetSpec(
        name="RacketSports",
        paper_name="Racket Sports",
        folder="RacketSports",
        rules=_threshold_rules((0, 4), window=5),
        n_invalid=_counts(111, 16, 112, 82, 78),
        target_classes=("squash_forehandboast", "squash_backhandboast"),
        time_constant=True,
    ),
    DatasetSpec(
        name="BasicMotions",
        paper_name="Basic Motions",
        folder="BasicMotions",
        rules=_threshold_rules((0, 2, 5), window=10),
        n_invalid=_counts(35, 8, 19, 20, 14),
        # The text says standing alone, the counts need both.
        target_classes=("standing", "walking"),
        time_constant=True,
    ),
    DatasetSpec(
        name="Libras",
        paper_name="Libras",
        folder="Libras",
        rules=_threshold_rules((0, 1), window=20),
        n_invalid=_counts(116, 53, 89, 84, 89),
        target_classes=("8", "9", "10", "11", "12", "13", "14", "15"),
        time_constant=True,
    ),
    DatasetSpec(
        name="Heartbeat",
        paper_name="Heartbeat",
        folder="Heartbeat",
        rules=_threshold_rules((0, 1, 2), window=5),
        n_invalid=_counts(171, 120, 192, 147, 136),
        target_classes=("normal",),
        # The text says all 405 steps, the counts need the last 10.
        last_steps=10,
        time_constant=True,
    ),
    DatasetSpec(
        name="PEMS-SF",
        paper_name="PEMS-SF",
        folder="PEMS-SF",
        rules=_threshold_rules((0, 99, 299), window=51),
        n_invalid=_counts(139, 24, 96, 81, 64),
        target_classes=("4", "5", "6", "7"),
    ),
)
SPECS: Mapping[str, DatasetSpec] = {spec.name: spec for spec in _SPECS}

# PEMS-SF can be loaded by who has it, but its counts were never checked: no data.
DATASETS = tuple(name for name in SPECS if name != "PEMS-SF")


def _spec(name: str) -> DatasetSpec:
    if name not in SPECS:
        raise ValueError(f"name: got {name!r}, takes one of {', '.join(SPECS)}")
    return SPECS[name]


# --------------------------------------------------------------------------------------
# Data
# --------------------------------------------------------------------------------------


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


def load(name: str, data_dir: str | os.PathLike[str] | None = None, layout: Layout = "published") -> Dataset:
    """Load the train split of a dataset.

    Parameters
    ----------
    name
        One of ``DATASETS``, or ``"PEMS-SF"``.
    data_dir
        The folder that holds one folder per dataset. A set of the UEA archive that is
        not in it is downloaded to it by sktime; if None, to sktime's own folder.
    layout
        ``"published"`` gives what the published counts were taken on: for four of the
        datasets, series that repeat their first used step. ``"true"`` gives the real
        series, of the same shape.

    Returns
    -------
    Dataset
        Standardised series, labels, and what the features are.

    Raises
    ------
    FileNotFoundError
        Where the data is neither in `data_dir` nor something sktime could download.
    """
    spec = _spec(name)
    if layout not in ("published", "true"):
        raise ValueError(f"layout: got {layout!r}, takes 'published' or 'true'")
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


# --------------------------------------------------------------------------------------
# Models
# --------------------------------------------------------------------------------------


class Model(Protocol):
    """A black box: what the benchmarks explain."""

    def predict(self, X: ArrayLike) -> Ints:
        """Label series: ``(n, K, D)`` -> ``(n,)``."""
        ...

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give the probabilities of classes 0 and 1: ``(n, K, D)`` -> ``(n, 2)``."""
        ...


@dataclass(frozen=True)
class RuleModel:
    """A rule as a model: its probabilities are 0 and 1."""

    rule: Rule

    def predict(self, X: ArrayLike) -> Ints:
        """Label series: ``(n, K, D)`` -> ``(n,)``."""
        return self.rule.predict(X)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give the labels one-hot: ``(n, K, D)`` -> ``(n, 2)``."""
        return np.eye(2)[self.predict(X)]


@dataclass(frozen=True)
class FlatModel:
    """A scikit-learn classifier of flattened series."""

    classifier: Any

    def predict(self, X: ArrayLike) -> Ints:
        """Label series: ``(n, K, D)`` -> ``(n,)``."""
        return np.asarray(self.classifier.predict(_flatten(X)), dtype=np.int64)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give the probabilities of classes 0 and 1: ``(n, K, D)`` -> ``(n, 2)``."""
        return np.asarray(self.classifier.predict_proba(_flatten(X)), dtype=np.float64)


@dataclass(frozen=True)
class LSTMModel:
    """A trained LSTM network, and the training loss it ended with."""

    network: LSTMNetwork = field(repr=False)
    loss: float

    def predict(self, X: ArrayLike) -> Ints:
        """Label series: ``(n, K, D)`` -> ``(n,)``."""
        return np.asarray(np.argmax(self.predict_proba(X), axis=1), dtype=np.int64)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give the probabilities of classes 0 and 1: ``(n, K, D)`` -> ``(n, 2)``."""
        with torch.no_grad():
            logits = self.network(torch.tensor(np.asarray(X), dtype=torch.float32))
            target = torch.sigmoid(logits).numpy().astype(np.float64)
        return np.stack([1.0 - target, target], axis=1)


class LSTMNetwork(torch.nn.Module):
    """The paper's network: an LSTM of 30 states, then linear layers of 60 and 1.

    Parameters
    ----------
    n_features
        Features per step, D.
    """

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(n_features, 30, batch_first=True)
        self.head = torch.nn.Sequential(torch.nn.Linear(30, 60), torch.nn.ReLU(), torch.nn.Linear(60, 1))

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """Give the log-odds of the target class: ``(n, K, D)`` -> ``(n,)``."""
        states, _ = self.lstm(X)
        logits: torch.Tensor = self.head(states[:, -1]).squeeze(1)
        return logits


def fit_model(dataset: Dataset, model: str, cache_dir: str | os.PathLike[str] | None = None) -> Model:
    """Fit one of the paper's five models to a dataset.

    Parameters
    ----------
    dataset
        What to fit to.
    model
        One of ``MODELS``.
    cache_dir
        Where trained LSTMs are kept from one run to the next; a folder
        ``ntdcfe-models`` among the system's temporary files if None.

    Returns
    -------
    Model
        With ``predict`` and ``predict_proba``.
    """
    if model in ("rule_1", "rule_2"):
        return RuleModel(dataset.spec.rules[model])
    if model == "knn":
        neighbours = KNeighborsClassifier(n_neighbors=math.isqrt(len(dataset.X)))
        return FlatModel(neighbours.fit(_flatten(dataset.X), dataset.y))
    if model == "random_forest":
        forest = RandomForestClassifier(n_estimators=100, random_state=0, n_jobs=None)
        return FlatModel(forest.fit(_flatten(dataset.X), dataset.y))
    if model == "lstm":
        folder = default_cache_dir() if cache_dir is None else Path(cache_dir)
        return _load_or_train_lstm(dataset, folder)
    raise ValueError(f"model: got {model!r}, takes one of {', '.join(MODELS)}")


def default_cache_dir() -> Path:
    """Give the folder where trained LSTMs are kept unless another is named."""
    return Path(tempfile.gettempdir()) / "ntdcfe-models"


def _flatten(X: ArrayLike) -> Floats:
    """``(n, K, D)`` -> ``(n, K * D)``."""
    X = np.asarray(X, dtype=np.float64)
    return X.reshape(len(X), -1)


def _load_or_train_lstm(dataset: Dataset, cache_dir: Path) -> LSTMModel:
    """Read the LSTM of this very data from the cache, or train it and write it there."""
    digest = hashlib.sha256(dataset.X.tobytes() + dataset.y.tobytes()).hexdigest()[:12]
    file = cache_dir / f"{dataset.name}-{dataset.layout}-{digest}.pt"
    if file.is_file():
        stored = torch.load(file, weights_only=True)
        network = LSTMNetwork(dataset.X.shape[2])
        network.load_state_dict(stored["state"])
        return LSTMModel(network.eval(), stored["loss"])

    trained = _train_lstm(dataset)
    cache_dir.mkdir(parents=True, exist_ok=True)
    # Renamed into place, so that another process never reads half a file.
    partial = file.with_suffix(f".{os.getpid()}.partial")
    torch.save({"state": trained.network.state_dict(), "loss": trained.loss}, partial)
    partial.replace(file)
    return trained


def _train_lstm(dataset: Dataset, n_epochs: int = 5000) -> LSTMModel:
    """Train as the appendix says; the full batch and Adam are our reading of it."""
    X = torch.tensor(dataset.X, dtype=torch.float32)
    y = torch.tensor(dataset.y, dtype=torch.float32)
    with _one_torch_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = LSTMNetwork(X.shape[2])
        optimiser = torch.optim.Adam(network.parameters(), lr=0.001, weight_decay=0.001)
        for _ in range(n_epochs):
            optimiser.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(network(X), y)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return LSTMModel(network.eval(), loss.item())


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """Let torch use one thread for a while, so that training does not depend on cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


# --------------------------------------------------------------------------------------
# What is explained
# --------------------------------------------------------------------------------------


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
    published = _spec(dataset_name).n_invalid[model]
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


# --------------------------------------------------------------------------------------
# Yardsticks
# --------------------------------------------------------------------------------------


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
    detector = LocalOutlierFactor(n_neighbors, novelty=True).fit(_flatten(dataset.X))

    def plausible(X: ArrayLike) -> Bools:
        return np.asarray(detector.predict(_flatten(X)) == 1)

    return plausible


def paper_figures(results_csv: str | os.PathLike[str]) -> dict[tuple[str, str], dict[str, float]]:
    """Read what the paper reports for NTD-CFE.

    Parameters
    ----------
    results_csv
        The paper's tables: one line per dataset, model and method.

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
            if row["method"] == "NTD-CFE"
        }
