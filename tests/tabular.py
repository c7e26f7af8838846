"""Four small tables of people, made up, with a model of each, and every set of features that reaches the other class.

The columns are those of well-known datasets (adult, German credit, COMPAS, loans); the rows are drawn by formulas, so
that nothing has to be downloaded and nobody is described.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


class Case(NamedTuple):
    """Rows, their labels, what the columns may hold, and a fitted model of the rows."""

    X: pd.DataFrame
    y: np.ndarray
    ranges: dict[str, list[Any]]
    model: Any


def _case(X: pd.DataFrame, worth: np.ndarray, classifier: Any, rng: np.random.Generator) -> Case:
    y = (worth + rng.normal(0, 0.4, len(X)) > np.quantile(worth, 0.6)).astype(int)
    texts = [name for name in X if X[name].dtype == object]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=StandardScaler())
    ranges = {
        name: sorted(X[name].unique().tolist()) if name in texts else [X[name].min().item(), X[name].max().item()]
        for name in X
    }
    return Case(X, y, ranges, make_pipeline(encode, classifier).fit(X, y))


def adult(n: int = 800) -> Case:
    """Who earns more? Gradient boosting."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "education": rng.choice(["school", "college", "bachelor", "master"], n),
            "hours": rng.integers(10, 70, n),
            "workclass": rng.choice(["private", "public", "own"], n),
            "marital": rng.choice(["single", "married", "divorced"], n),
            "occupation": rng.choice(["clerk", "craft", "manager", "service"], n),
            "gain": (rng.exponential(3, n) * (rng.random(n) < 0.3)).round(1),
        }
    )
    steps = X["education"].map({"school": 0, "college": 1, "bachelor": 2, "master": 3})
    worth = (
        0.03 * (X["age"].clip(upper=55) - 40) + 0.6 * steps + 0.03 * (X["hours"] - 40)
        + 1.2 * (X["marital"] == "married") + 0.9 * (X["occupation"] == "manager") + 0.25 * X["gain"]
    )  # fmt: skip
    return _case(X, worth.to_numpy(), GradientBoostingClassifier(random_state=0), rng)


def german_credit(n: int = 800) -> Case:
    """Whose credit is good? A forest."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "checking": rng.choice(["none", "below 0", "to 200", "above 200"], n),
            "duration": rng.integers(4, 60, n),
            "history": rng.choice(["paid", "late", "critical"], n),
            "purpose": rng.choice(["car", "radio", "business", "school"], n),
            "amount": rng.integers(3, 150, n) * 100,
            "savings": rng.choice(["little", "moderate", "rich"], n),
            "age": rng.integers(19, 75, n),
            "housing": rng.choice(["rent", "own", "free"], n),
        }
    )
    worth = (
        -0.04 * X["duration"] - 0.0002 * X["amount"] + 0.02 * X["age"] + 1.1 * (X["checking"] == "none")
        + 0.6 * (X["checking"] == "above 200") + 0.8 * (X["savings"] == "rich") - 0.8 * (X["history"] == "critical")
        + 0.7 * (X["housing"] == "own")
    )  # fmt: skip
    return _case(X, worth.to_numpy(), RandomForestClassifier(60, random_state=0), rng)


def compas(n: int = 800) -> Case:
    """Whose risk is low? Logistic regression."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "priors": rng.poisson(3, n),
            "charge": rng.choice(["felony", "misdemeanour"], n),
            "juvenile": rng.poisson(0.5, n),
            "days": rng.integers(0, 300, n),
            "employed": rng.choice(["yes", "no"], n),
            "housing": rng.choice(["stable", "moving", "none"], n),
        }
    )
    worth = (
        0.04 * X["age"] - 0.35 * X["priors"] - 0.5 * X["juvenile"] - 0.6 * (X["charge"] == "felony") - 0.004 * X["days"]
        + 0.7 * (X["employed"] == "yes") + 0.5 * (X["housing"] == "stable")
    )  # fmt: skip
    return _case(X, worth.to_numpy(), LogisticRegression(max_iter=500), rng)


def loans(n: int = 800) -> Case:
    """Who gets a loan? A neural network."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "income": rng.normal(45, 15, n).clip(8).round(1),
            "debt": rng.exponential(10, n).round(1),
            "years": rng.integers(0, 30, n),
            "home": rng.choice(["rents", "owns", "parents"], n),
            "term": rng.choice(["36 months", "60 months"], n),
            "cards": rng.integers(0, 8, n),
        }
    )
    worth = (
        0.06 * X["income"] - 0.08 * X["debt"] + 0.05 * X["years"] + 1.2 * (X["home"] == "owns")
        - 0.7 * (X["term"] == "60 months") - 0.15 * X["cards"] + 0.003 * (X["income"] - 45) * X["years"]
    )  # fmt: skip
    return _case(X, worth.to_numpy(), MLPClassifier((16,), max_iter=400, random_state=0), rng)


CASES = {"adult": adult, "German credit": german_credit, "COMPAS": compas, "loans": loans}


def refused(case: Case, n: int, seed: int = 0) -> pd.DataFrame:
    """n rows that the model says 0 of."""
    rows = case.X[case.model.predict(case.X) == 0]
    return rows.sample(n, random_state=seed).reset_index(drop=True)


def changed(query: pd.DataFrame, rows: pd.DataFrame) -> list[frozenset[str]]:
    """The set of features in which each of the rows differs from the query."""
    differs = rows[query.columns].to_numpy() != query.to_numpy()
    return [frozenset(query.columns[one]) for one in differs]


def needless(case: Case, query: pd.DataFrame, rows: pd.DataFrame) -> list[bool]:
    """Whether a row is still of the other class with one of its changed features as it was."""
    found = []
    for (_, row), names in zip(rows[query.columns].iterrows(), changed(query, rows), strict=True):
        undone = pd.concat([row.to_frame().T.assign(**{name: query.iloc[0][name]}) for name in names])
        undone = undone.astype(query.dtypes.to_dict())
        found.append(len(names) > 1 and bool((case.model.predict(undone) == 1).any()))
    return found


def sets_there_are(case: Case, query: pd.DataFrame, most: int = 3, values: int = 7) -> set[frozenset[str]]:
    """Every set of up to `most` features that reaches the other class without a needless change, on a grid."""
    grids = {}
    for name, allowed in case.ranges.items():
        grid = allowed if case.X[name].dtype == object else np.linspace(*allowed, values)
        if case.X[name].dtype.kind == "i":
            grid = np.unique(np.round(grid).astype(int))
        grids[name] = [value for value in grid if value != query.iloc[0][name]]
    valid: dict[frozenset[str], set[tuple[Any, ...]]] = {}
    for size in range(1, most + 1):
        for names in itertools.combinations(case.ranges, size):
            combined = list(itertools.product(*(grids[name] for name in names)))
            rows = pd.concat([query] * len(combined), ignore_index=True)
            for i, name in enumerate(names):
                rows[name] = pd.Series([some[i] for some in combined]).astype(query[name].dtype)
            reached = case.model.predict(rows) == 1
            valid[frozenset(names)] = {
                some for some, yes in zip(combined, reached, strict=True) if yes and not _shorter(names, some, valid)
            }
            # Those with a needless change stay valid for the sets above.
            valid[frozenset(names)] |= {("all", *some) for some, yes in zip(combined, reached, strict=True) if yes}
    return {names for names, states in valid.items() if any(state[0] != "all" for state in states)}


def _shorter(names: tuple[str, ...], state: tuple[Any, ...], valid: dict[frozenset[str], set[tuple[Any, ...]]]) -> bool:
    """Whether the state is valid without one of its features."""
    for i in range(len(names)):
        rest, fewer = names[:i] + names[i + 1 :], state[:i] + state[i + 1 :]
        if rest and ("all", *fewer) in valid[frozenset(rest)]:
            return True
    return False
