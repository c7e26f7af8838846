"""The paper's five models, fitted to a dataset."""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from protocol.arrays import Floats, Ints, flatten
from protocol.data import Dataset
from protocol.rules import Rule
from protocol.specs import MODELS


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
        return np.asarray(self.classifier.predict(flatten(X)), dtype=np.int64)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Give the probabilities of classes 0 and 1: ``(n, K, D)`` -> ``(n, 2)``."""
        return np.asarray(self.classifier.predict_proba(flatten(X)), dtype=np.float64)


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
        return FlatModel(neighbours.fit(flatten(dataset.X), dataset.y))
    if model == "random_forest":
        forest = RandomForestClassifier(n_estimators=100, random_state=0, n_jobs=None)
        return FlatModel(forest.fit(flatten(dataset.X), dataset.y))
    if model == "lstm":
        folder = default_cache_dir() if cache_dir is None else Path(cache_dir)
        return _load_or_train_lstm(dataset, folder)
    raise ValueError(f"model: got {model!r}, takes one of {', '.join(MODELS)}")


def default_cache_dir() -> Path:
    """Give the folder where trained LSTMs are kept unless another is named."""
    return Path(tempfile.gettempdir()) / "ntdcfe-models"


def _load_or_train_lstm(dataset: Dataset, cache_dir: Path) -> LSTMModel:
    """Read the LSTM of this very data from the cache, or train it and write it there."""
    digest = hashlib.sha256(dataset.X.tobytes() + dataset.y.tobytes()).hexdigest()[:12]
    # Without the layout: four of the datasets are the same in both.
    file = cache_dir / f"{dataset.name}-{digest}.pt"
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
