"""Answers of all kinds whose sentences are typed back: series and tables, discrete features, gaps, constraints.

Everything here is asked of small models made on the spot, with labels only unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sentences import Sentences

from ntdcfe import (
    NTDCFE,
    PAPER,
    AtMost,
    Category,
    Causal,
    Continuous,
    Counterfactual,
    Discrete,
    Features,
    OneHot,
    SearchSettings,
    Target,
)
from ntdcfe.model.predictor import Predictor

Array = np.ndarray
Predict = Callable[[Array], Array]


@dataclass
class Question:
    """One series, or a row of a table, and what is wanted of a model.

    Parameters
    ----------
    name : str
    predict : callable
    x : array (K, D), or (D,)
    target : label or Target
    features : Features
    options : dict
        Further arguments of the explainer.
    settings : SearchSettings, optional
    """

    name: str
    predict: Predict
    x: Array
    target: Any
    features: Features
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: SearchSettings | None = None

    def answer(self, max_rows: int | None = None) -> Counterfactual:
        """What the engine finds."""
        explainer = NTDCFE(self.predict, self.features, settings=self.settings, **self.options)
        return explainer.explain(self.x, self.target, max_rows=max_rows)

    def typed(self, text: str) -> Array:
        """The original with what a text says typed in."""
        features, x = self.features, self.x
        original = features.encode(np.atleast_2d(x).astype(x.dtype if x.dtype.kind == "f" else float))
        return features.decode(reader(features).printed(original, text)).reshape(x.shape)

    def reached(self, text: str) -> bool:
        """Whether the model says what is wanted of the original with what a text says typed in."""
        understood = Predictor(self.predict, self.options.get("output", "auto"))(self.typed(text)[None])
        return bool(Target.of(self.target).reached(understood)[0])

    def is_all(self, text: str, answer: Array) -> bool:
        """Whether the original with what a text says typed in is the answer itself, but for rounding."""
        slack = 1e-6 if self.x.dtype == np.float32 else 1e-12
        return bool(np.allclose(self.typed(text), answer, rtol=slack, atol=slack, equal_nan=True))


def texts_of(cf: Counterfactual) -> dict[str, str]:
    """What a user reads: the printed answer, and the sentences of its other options."""
    return {"printed": str(cf), **{kind: listed(option.text) for kind, option in cf.options.items()}}


def answers_of(cf: Counterfactual) -> dict[str, Array]:
    """The answers themselves, by the same keys as their texts."""
    assert cf.x is not None
    return {"printed": cf.x, **{kind: option.x for kind, option in cf.options.items()}}


def listed(sentences: str) -> str:
    """Sentences, one a line, as a printed answer has them."""
    return "\n".join(f"  - {line}" for line in sentences.splitlines())


def reader(features: Features) -> Sentences:
    """A parser that knows what features, values and steps are called."""
    choices = {
        name: {feature.describe(value): value for value in feature.choices}
        for name, feature in zip(features.names, features, strict=True)
        if feature.choices is not None
    }
    return Sentences(features.names, choices, features.step_names)


# -- models and series -----------------------------------------------------------------------


def waves(seed: int, n_steps: int = 24, n_features: int = 3, level: float = -0.6) -> Array:
    """A smooth series with a little noise ``(K, D)``."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 2 * np.pi, n_steps)[:, None]
    x = np.sin(time * rng.uniform(0.5, 2, n_features) + rng.uniform(0, 6, n_features))
    return x * rng.uniform(0.3, 1, n_features) + level + rng.normal(0, 0.15, x.shape)


def steep(rows: Array) -> Array:
    """Labels: whether the first feature is high in the last third and does not swing too much in the second."""
    last = rows[:, -rows.shape[1] // 3 :, 0]
    return (np.nanmean(last, 1) > 0.3) & (np.nanstd(rows[:, :, 1], 1) < 1.2)


def windowed(rows: Array) -> Array:
    """Labels: all of the first feature above zero over the last five steps, as the paper's rules."""
    return np.nanmin(rows[:, -5:, 0], 1) > 0


def two_of_three(rows: Array) -> Array:
    """Labels: at least two of the features have a mean above zero."""
    return (np.nanmean(rows[:, :, :3], 1) > 0).sum(1) >= 2


def calm(rows: Array) -> Array:
    """Labels: no jump larger than half a unit in the first feature."""
    return np.abs(np.diff(rows[:, :, 0], axis=1)).max(1) < 0.5


def forest(X: Array, y: Array) -> Predict:
    """A random forest of flattened rows; it gives labels."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(30, random_state=0).fit(X.reshape(len(X), -1), y)
    return lambda rows: model.predict(rows.reshape(len(rows), -1))


def neighbours(X: Array, y: Array) -> Predict:
    """Five nearest neighbours of flattened rows; labels."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(5).fit(X.reshape(len(X), -1), y)
    return lambda rows: model.predict(rows.reshape(len(rows), -1))


def fitted(fit: Callable[[Array, Array], Predict], rule: Predict, seed: int = 0) -> Predict:
    """A model of series that learned a rule from examples."""
    rng = np.random.default_rng(seed)
    X = np.stack([waves(int(s), level=float(rng.uniform(-1, 1))) for s in rng.integers(0, 10_000, 80)])
    return fit(X, rule(X))


# -- questions ---------------------------------------------------------------------------------


def series(seeds: Sequence[int]) -> Iterator[Question]:
    """Series of continuous features."""
    rules = {"steep": steep, "windowed": windowed, "two of three": two_of_three}
    learned = {f"forest of {name}": fitted(forest, rule) for name, rule in rules.items()}
    learned |= {f"neighbours of {name}": fitted(neighbours, rule) for name, rule in rules.items()}
    for name, predict in {**rules, "calm": calm, **learned}.items():
        for seed in seeds:
            x = waves(seed)
            if name == "calm":
                x[::3, 0] += 1.0
            if not predict(x[None])[0]:
                yield Question(f"{name}, series {seed}", predict, x, True, Features.continuous(3, ["a", "b", "c"]))


def described_series(seeds: Sequence[int]) -> Iterator[Question]:
    """Series with bounds, directions, precisions, frozen steps, names of steps, raw scales, single precision."""
    names = ["load", "wind's 'gust'", "a to b; c"]
    kinds: dict[str, tuple[Features, Array]] = {
        "bounds": (Features.continuous(3, names, bounds=(-2.0, 0.9)), np.ones(3)),
        "tight bounds": (
            Features([Continuous(name=names[0], bounds=(-3, 0.35)), *(Continuous(name=n) for n in names[1:])]),
            np.ones(3),
        ),
        "rise": (Features.continuous(3, names, direction="rise"), np.ones(3)),
        "fall": (
            Features([Continuous(name=n, direction=d) for n, d in zip(names, ("rise", "fall", "fall"), strict=True)]),
            np.ones(3),
        ),
        "whole numbers": (Features.continuous(3, names, precision=0), np.array([10.0, 10, 10])),
        "one decimal": (Features.continuous(3, names, precision=1), np.ones(3)),
        "last steps": (Features.continuous(3, names, actionable_steps=slice(10, None)), np.ones(3)),
        "some steps": (Features.continuous(3, names, actionable_steps=[*range(5), *range(9, 24)]), np.ones(3)),
        "every other step": (Features.continuous(3, names, actionable_steps=range(0, 24, 2)), np.ones(3)),
        "years": (
            Features([Continuous(name=n) for n in names], step_names=[f"{year}" for year in range(2000, 2024)]),
            np.ones(3),
        ),
        "dates": (
            Features([Continuous(name=n) for n in names], step_names=[f"3 May at {hour}" for hour in range(24)]),
            np.ones(3),
        ),
        "large": (Features.continuous(3, names), np.array([1e6, 1e-5, 1.0])),
        "tiny": (Features.continuous(3, names), np.array([3e-8, 1e9, 1.0])),
        "weights": (
            Features([Continuous(name=n, weight=w) for n, w in zip(names, (5.0, 1.0, 0.1), strict=True)]),
            np.ones(3),
        ),
        "immutable": (
            Features([Continuous(name=names[0]), *(Continuous(name=n, role="immutable") for n in names[1:])]),
            np.ones(3),
        ),
        "single precision": (Features.continuous(3, names), np.ones(3)),
    }
    # What these rules ask for cannot be done.
    hopeless = {("immutable", two_of_three), ("fall", two_of_three), ("every other step", windowed)}
    for name, (features, factor) in kinds.items():
        for rule in (steep, windowed, two_of_three):
            if (name, rule) in hopeless:
                continue

            def predict(rows: Array, rule: Predict = rule, factor: Array = factor) -> Array:
                return rule(rows / factor)

            for seed in seeds:
                x = waves(seed) * factor
                x = x.round() if name == "whole numbers" else x
                x = x.astype(np.float32) if name == "single precision" else x
                if not predict(x[None])[0]:
                    yield Question(f"{name}, {rule.__name__}, series {seed}", predict, x, True, features)


def bands(seeds: Sequence[int]) -> Iterator[Question]:
    """Series of many neighbouring features of one scale, several of which have to change together."""
    names = [f"band {i}" for i in range(16)]
    kinds = {
        "free": Features.continuous(16, names),
        "bounds": Features.continuous(16, names, bounds=(-3.0, 0.5)),
        "rise": Features.continuous(16, names, direction="rise"),
        "whole numbers": Features.continuous(16, names, precision=0),
        "middle steps": Features.continuous(16, names, actionable_steps=[3, 4, 5, 8, 9, 10, 11]),
    }

    def predict(rows: Array) -> Array:
        """Labels: a dozen neighbours are high in the middle, on average and most of them."""
        middle = rows[:, 3:9, 2:14].mean(1)
        return (middle.mean(1) > 0.1) & ((middle > -0.2).sum(1) >= 9)

    for name, features in kinds.items():
        for seed in seeds:
            x = waves(seed, 12, 16)
            x = (x * 4).round() if name == "whole numbers" else x
            if not predict(x[None])[0]:
                yield Question(f"bands, {name}, series {seed}", predict, x, True, features)


def other_searches(seeds: Sequence[int]) -> Iterator[Question]:
    """Probabilities, values, intervals, several answers, the paper's algorithm."""

    def probable(rows: Array) -> Array:
        p = 1 / (1 + np.exp(-3 * rows[:, -8:, 0].mean(1) - rows[:, :8, 1].mean(1)))
        return np.column_stack([1 - p, p])

    def value(rows: Array) -> Array:
        return np.asarray(10 + 3 * rows[:, -8:, 0].mean(1) + np.abs(rows[:, :, 1]).mean(1))

    features = Features.continuous(3, ["a", "b", "c"])
    bounded = Features.continuous(3, bounds=(-4, 4))
    short = replace(PAPER, max_episodes=20, max_interventions=20)
    several, to_end = SearchSettings(n_counterfactuals=3), SearchSettings(shape="to_end")
    discard = SearchSettings(on_violation="discard")
    for seed in seeds:
        x = waves(seed)
        yield Question(f"probabilities, series {seed}", probable, x, 1, features)
        yield Question(f"probability of 0.9, series {seed}", probable, x, Target.probability(1, 0.9), features)
        yield Question(
            f"interval, series {seed}", value, x, Target.interval(11.5, 12.5), features, {"output": "values"}
        )
        yield Question(f"three answers, series {seed}", steep, x, True, features, settings=several)
        yield Question(f"Algorithm 1, series {seed}", probable, x, 1, features, settings=short)
        yield Question(f"to the end, series {seed}", windowed, x, True, features, settings=to_end)
        yield Question(f"discarded moves, series {seed}", two_of_three, x, True, bounded, settings=discard)


def directions(seeds: Sequence[int]) -> Iterator[Question]:
    """Series whose features may only rise or only fall, within bounds or rounded, and a linear model of some cells."""
    for number in (20 * seed + i for seed in seeds for i in range(20)):
        rng = np.random.default_rng(number)
        n_steps, n_features = int(rng.integers(5, 30)), int(rng.integers(1, 5))
        features = Features(
            [
                Continuous(
                    name=f"x{i}",
                    direction=("rise", "fall", None)[rng.integers(3)],
                    bounds=(None, (-1.5, 0.8))[rng.integers(2)],
                    precision=(None, None, 1)[rng.integers(3)],
                )
                for i in range(n_features)
            ]
        )
        weights = rng.normal(size=(n_steps, n_features)) * (rng.random((n_steps, n_features)) < 0.6)
        x = np.clip(waves(number, n_steps, n_features, level=0.0), -1.5, 0.8)
        least = float((weights * x).sum() + 0.15 * np.abs(weights).sum())

        def predict(rows: Array, weights: Array = weights, least: float = least) -> Array:
            return np.asarray((rows * weights).sum((1, 2)) > least)

        yield Question(f"directions, series {number}", predict, x, True, features)


def mixed_series(seeds: Sequence[int]) -> Iterator[Question]:
    """Series with discrete features, categories and one-hot groups beside a continuous one."""
    features = Features(
        [
            Continuous(name="load"),
            Discrete([0, 1, 2.5], name="level"),
            Category(["eco", "eco, cold", "from a to b"], name="plan"),
            OneHot(["north", "south", "far east"], name="region"),
        ]
    )

    def predict(rows: Array) -> Array:
        """Needs a load, a level and a plan over the last steps, or the right region throughout."""
        enough = (rows[:, -6:, 0].mean(1) > 0.2) & (rows[:, -6:, 1].min(1) >= 1)
        return (enough & (rows[:, -3:, 2] == 2).all(1)) | (rows[:, :, 5] == 1).all(1) & (rows[:, :, 0].mean(1) > 0)

    for seed in seeds:
        rng = np.random.default_rng(seed)
        state = np.column_stack(
            [waves(seed, 16, 1), rng.choice([0, 1, 2.5], 16), rng.integers(0, 2, 16), rng.integers(0, 2, 16)]
        )
        x = features.decode(state)
        if not predict(x[None])[0]:
            yield Question(f"mixed, series {seed}", predict, x, True, features)


def gaps(seeds: Sequence[int]) -> Iterator[Question]:
    """Series with missing cells, which stay missing."""
    for rule in (steep, windowed, two_of_three):
        for seed in seeds:
            x = waves(seed)
            x[np.random.default_rng(seed).random(x.shape) < 0.12] = np.nan
            x[-2:] = np.where(np.isnan(x[-2:]), -0.5, x[-2:])
            if not rule(x[None])[0]:
                features = Features.continuous(3, ["a", "b", "c"])
                yield Question(f"gaps, {rule.__name__}, series {seed}", rule, x, True, features, {"missing": "fixed"})


def constrained(seeds: Sequence[int]) -> Iterator[Question]:
    """Series and tables whose features owe something to each other."""
    follows = Features([Continuous(name="a"), Continuous(name="b", role="non_actionable"), Continuous(name="c")])
    ways: dict[str, tuple[Features, list[Any]]] = {
        "b follows a": (follows, [Causal("b", "a", lambda a: 0.5 * a)]),
        "a at most c": (Features.continuous(3, ["a", "b", "c"]), [AtMost("a", "c")]),
    }
    for name, (features, constraints) in ways.items():
        for rule in (steep, two_of_three):
            for seed in seeds:
                x = waves(seed)
                if "at most" in name:
                    x[:, 0] = np.minimum(x[:, 0], x[:, 2])
                if not rule(x[None])[0]:
                    yield Question(
                        f"{name}, {rule.__name__}, series {seed}", rule, x, True, features, {"constraints": constraints}
                    )


def tables(seeds: Sequence[int]) -> Iterator[Question]:
    """Rows of a table with all kinds of columns."""
    features = Features.from_dict(
        {
            "income": {"bounds": (0, None), "precision": 1},
            "debt": {"bounds": (0, 100)},
            "age": {"role": "immutable"},
            "years": {"precision": 0, "direction": "rise", "bounds": (0, 40)},
            "rating": {"values": [1, 2, 3, 4, 5]},
            "plan": {"labels": ["basic", "plus", "gold, old"]},
            "home": {"categories": ["rent", "own", "with parents"]},
        }
    )
    rng = np.random.default_rng(0)
    n = 400
    state = np.column_stack(
        [
            rng.gamma(4, 12, n).round(1), rng.uniform(0, 60, n), rng.integers(18, 80, n), rng.integers(0, 30, n),
            rng.integers(1, 6, n), rng.integers(0, 3, n), rng.integers(0, 3, n),
        ]
    )  # fmt: skip
    X = features.decode(state)
    score = X[:, 0] / 20 - X[:, 1] / 15 + X[:, 3] / 12 + 0.5 * X[:, 4] + (X[:, 5] == 1) + 1.2 * (X[:, 7] == 1)
    y = score > np.median(score) + 0.5
    models: dict[str, Predict] = {"forest": forest(X, y), "neighbours": neighbours(X / X.std(0), y)}
    spread = X.std(0)
    near = models["neighbours"]
    models["neighbours"] = lambda rows: near(rows / spread)
    models["sum"] = lambda rows: (
        rows[:, 0] / 20 - rows[:, 1] / 15 + rows[:, 3] / 12 + 0.5 * rows[:, 4] + (rows[:, 5] == 1)
    ) > float(np.median(score) + 0.5)
    for name, predict in models.items():
        refused = np.flatnonzero(~predict(X))
        for seed in seeds:
            row = refused[seed * 7 % len(refused)]
            yield Question(f"table, {name}, row {row}", predict, X[row], True, features)


KINDS: dict[str, Callable[[Sequence[int]], Iterator[Question]]] = {
    "series": series,
    "described series": described_series,
    "bands": bands,
    "directions": directions,
    "other searches": other_searches,
    "mixed series": mixed_series,
    "gaps": gaps,
    "constraints": constrained,
    "tables": tables,
}
