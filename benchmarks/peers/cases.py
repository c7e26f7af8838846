"""Save the cases that all peers are run on, so that every environment explains the same rows of the same model.

    python benchmarks/peers/cases.py [--data DIR] [--layout true|published] [--n 5] [--out benchmarks/peers/cases/true]
    python benchmarks/peers/cases.py --named [--n 5] [--out DIR]

Needs scikit-learn and, for the archive's files, sktime. A case is one ``.npz``: the train split, the model, the
samples to explain, and the model's answers on rows near the data, which :func:`load` checks again wherever it runs.
``--named`` saves one case for readers: BasicMotions with its channels and its four classes by name.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The scripts of this folder take the modules of benchmarks from here, since only this line finds them.
sys.path.insert(0, str(Path(__file__).parents[1]))
import protocol
import report

from ntdcfe import Features

MODELS = ("knn", "random_forest")
STATIC = "BreastCancer"
# The case with names: what is wanted, and the channels as the data's authors describe them.
NAMED, WANTED = "BasicMotions", "standing"
CHANNELS = ("accel x", "accel y", "accel z", "gyro x", "gyro y", "gyro z")
# What the layouts mean for these cases, one of which is no series.
LAYOUT_NOTES = {name: f"{note} {STATIC} is static: it has no layout." for name, note in protocol.LAYOUT_NOTES.items()}

__all__ = [
    "LAYOUT_NOTES", "MODELS", "NAMED", "STATIC", "WANTED", "Case", "case_file", "folder_of", "load", "protocol", "report",
]  # fmt: skip


def folder_of(layout: str) -> Path:
    """Where the cases of a layout are saved unless another folder is named."""
    return Path(__file__).parent / "cases" / layout


def case_file(folder: Path, dataset: str, model: str) -> Path:
    """Where a case is saved."""
    return folder / f"{dataset}-{model}.npz"


@dataclass(frozen=True)
class Forest:
    """A fitted random forest as plain arrays: the same answers in every environment, quick for single rows.

    Parameters
    ----------
    column, threshold, left, right : arrays (n_nodes,)
        The splits of all trees; a leaf points to itself.
    value : array (n_nodes,), or (n_nodes, C) of more than two classes
        Share of class 1, or of each class.
    roots : array (n_trees,)
    depth : int
    """

    column: NDArray[np.int64]
    threshold: NDArray[np.float64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    roots: NDArray[np.int64]
    depth: int

    @classmethod
    def of(cls, classifier: Any) -> Forest:
        """Of a scikit-learn forest."""
        parts: dict[str, list[Any]] = {name: [] for name in ("column", "threshold", "left", "right", "value")}
        roots, start = [], 0
        for estimator in classifier.estimators_:
            tree = estimator.tree_
            here = start + np.arange(tree.node_count)
            leaf = tree.children_left < 0
            parts["left"].append(np.where(leaf, here, start + tree.children_left))
            parts["right"].append(np.where(leaf, here, start + tree.children_right))
            parts["column"].append(np.where(leaf, 0, tree.feature))
            parts["threshold"].append(tree.threshold)
            shares = tree.value[:, 0] / tree.value[:, 0].sum(1, keepdims=True)
            parts["value"].append(shares[:, 1] if shares.shape[1] == 2 else shares)
            roots.append(start)
            start += tree.node_count
        joined = {name: np.concatenate(values) for name, values in parts.items()}
        return cls(**joined, roots=np.array(roots), depth=max(e.tree_.max_depth for e in classifier.estimators_))

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Probabilities of the classes: ``(n, ...)`` -> ``(n, C)``."""
        flat = np.asarray(X).reshape(len(X), -1).astype(np.float32)  # as scikit-learn does
        rows = np.arange(len(flat))[:, None]
        nodes = np.broadcast_to(self.roots, (len(flat), len(self.roots)))
        for _ in range(self.depth):
            goes_left = flat[rows, self.column[nodes]] <= self.threshold[nodes]
            nodes = np.where(goes_left, self.left[nodes], self.right[nodes])
        share = self.value[nodes].mean(1)
        return share if share.ndim == 2 else np.column_stack([1 - share, share])


@dataclass(frozen=True)
class Neighbours:
    """K nearest neighbours of flat rows."""

    classifier: Any

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Probabilities of the classes: ``(n, ...)`` -> ``(n, C)``."""
        return np.asarray(self.classifier.predict_proba(np.asarray(X).reshape(len(X), -1)))


@dataclass(frozen=True)
class Case:
    """One dataset and model, with the samples that all methods explain.

    Parameters
    ----------
    X : array (n, K, D), or (n, D) for static data
        The train split.
    y : array (n,)
        Classes; 1 is the target if they have no names.
    samples : array (m,)
        Rows of `X` to explain.
    discrete : dict of column to values
    classes : tuple of str
        Names of the classes, of which ``WANTED`` is the target; none if they have no names.
    """

    dataset: str
    model_name: str
    layout: str
    X: NDArray[np.float64] = field(repr=False)
    y: NDArray[np.int64] = field(repr=False)
    samples: NDArray[np.int64]
    names: tuple[str, ...] = field(repr=False)
    discrete: dict[int, list[float]]
    model: Any = field(repr=False)
    classes: tuple[str, ...] = ()

    @property
    def target(self) -> int:
        """The class that is wanted, among the columns of the model's probabilities."""
        return self.classes.index(WANTED) if self.classes else 1

    @property
    def labels(self) -> NDArray[Any]:
        """The classes ``(n,)`` as every explainer of the model sees them: by name if they have one."""
        return np.array(self.classes)[self.y] if self.classes else self.y

    @property
    def static(self) -> bool:
        """Whether its rows are no series."""
        return self.X.ndim == 2

    @property
    def features(self) -> Features:
        """The columns as the engine wants them described."""
        return protocol.described(self.names, self.discrete)


def probes(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows near the data on which a model has to answer the same everywhere."""
    rng = np.random.default_rng(0)
    return X[:40] + rng.normal(0, 0.5, size=X[:40].shape)


def save(case: protocol.Dataset, model_name: str, n: int, folder: Path, classes: tuple[str, ...] = ()) -> None:
    """Write one case; `classes` are the names of the classes if they have some."""
    fitted: Any = protocol.fit_model(case, model_name)
    invalid = protocol.invalid_samples(case, fitted)
    if classes:
        invalid = np.flatnonzero(fitted.predict(case.X) != classes.index(WANTED))
    elif case.name != STATIC and case.layout == "published":
        protocol.assert_counts(case.name, model_name, invalid)
    arrays = {"X": case.X, "y": case.y, "samples": protocol.evenly_spaced(invalid, n)}
    if model_name == "random_forest":
        forest = Forest.of(fitted.classifier)
        arrays |= {f"forest_{name}": np.asarray(value) for name, value in vars(forest).items()}
        near = np.concatenate([case.X, probes(case.X)])
        np.testing.assert_allclose(forest.predict_proba(near), fitted.predict_proba(near), atol=1e-12)
    arrays["answers"] = fitted.predict_proba(probes(case.X))
    about = {
        "dataset": case.name,
        "model_name": model_name,
        "layout": case.layout,
        "names": list(case.feature_names),
        "discrete": {str(k): v for k, v in case.discrete.items()},
        "classes": classes,
    }
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(case_file(folder, case.name, model_name), about=np.array(json.dumps(about)), **arrays)


def load(path: Path) -> Case:
    """Read a case, and check that its model answers as it did where it was saved."""
    stored = np.load(path)
    about = json.loads(str(stored["about"]))
    X, y = stored["X"], stored["y"]
    if about["model_name"] == "random_forest":
        parts = {name.removeprefix("forest_"): stored[name] for name in stored.files if name.startswith("forest_")}
        model: Any = Forest(**{**parts, "depth": int(parts["depth"])})
    else:
        from sklearn.neighbors import KNeighborsClassifier

        k = int(np.sqrt(len(X)))
        model = Neighbours(KNeighborsClassifier(n_neighbors=k).fit(X.reshape(len(X), -1), y))
    np.testing.assert_allclose(model.predict_proba(probes(X)), stored["answers"], atol=1e-12)
    return Case(
        about["dataset"], about["model_name"], about["layout"], X, y, stored["samples"], tuple(about["names"]),
        {int(k): v for k, v in about["discrete"].items()}, model, tuple(about.get("classes", ())),
    )  # fmt: skip


def breast_cancer() -> protocol.Dataset:
    """The static dataset: 569 rows of 30 measurements, standardised; the target is "benign"."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    X = (data.data - data.data.mean(0)) / data.data.std(0)
    return protocol.Dataset(STATIC, "true", X, data.target.astype(np.int64), tuple(map(str, data.feature_names)), {})


def basic_motions() -> tuple[protocol.Dataset, tuple[str, ...]]:
    """BasicMotions as sktime brings it along, standardised, and the names of its classes."""
    from sktime.datasets import load_basic_motions

    X, y = load_basic_motions(split="train", return_type="numpy3D")
    X = X.transpose(0, 2, 1)
    classes, labels = np.unique(y, return_inverse=True)
    X = (X - X.mean((0, 1))) / X.std((0, 1))
    dataset = protocol.Dataset(NAMED, "true", X, labels.astype(np.int64), CHANNELS, {})
    return dataset, tuple(map(str, classes))


def main() -> None:
    """Save every case."""
    parser = report.parser(__doc__)
    protocol.add_arguments(parser)
    parser.set_defaults(out=None)
    parser.add_argument("--datasets", nargs="*", default=[*protocol.DATASETS, STATIC])
    parser.add_argument("--models", nargs="*", choices=MODELS, default=MODELS)
    parser.add_argument("--n", type=int, default=5, help="samples a case, evenly spaced over the invalid ones")
    parser.add_argument("--named", action="store_true", help="the case with names of channels and classes, alone")
    args = parser.parse_args()
    if args.named:
        named, classes = basic_motions()
        save(named, "random_forest", args.n, args.out or folder_of("named"), classes)
        return
    for name in args.datasets:
        dataset = breast_cancer() if name == STATIC else protocol.load(name, args.data, args.layout)
        for model in args.models:
            save(dataset, model, args.n, args.out or folder_of(args.layout))
            print(f"saved {name} {model}")


if __name__ == "__main__":
    main()
