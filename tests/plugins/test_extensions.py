"""A term, a constraint, a move, a target and a kind of edit of one's own: one class each, in the engine and in every
adapter.
"""

import dataclasses
import json
from dataclasses import dataclass

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    Constraint,
    Counterfactual,
    Features,
    Kind,
    Move,
    SearchSettings,
    Survival,
    Target,
    Term,
)

NAMES = ["a", "b", "c", "d"]
WEIGHTS = np.array([2.0, 1.8, 0.5, 0.0])
ORIGINAL = np.full((3, 4), -0.5)  # (K, D)
BOUNDS = (-3.0, 3.0)


@dataclass(frozen=True)
class PriceOfFeature(Term):
    """Any change of one feature costs a fixed price."""

    feature: str
    price: float

    def cost(self, x, original, features):
        i = features.index(self.feature)
        return self.price * (x[..., i] != original[:, i]).any(1)


@dataclass(frozen=True)
class AtMostChange(Constraint):
    """At most `n` of these features change."""

    features: tuple
    n: int

    def bind(self, features):
        return AtMostChange(tuple(features.index(name) for name in self.features), self.n)

    def broken(self, x, original):
        positions = list(self.features)
        return (x[..., positions] != original[:, positions]).any(1).sum(1) > self.n


class Halve(Move):
    """Half of the change of some features."""

    proposed = 0

    def propose(self, base, n):
        Halve.proposed += n
        original = self.search.space.original
        halved = self.search.rng.random((n, 1, base.shape[1])) < 0.5
        return np.where(halved, (base + original) / 2, base)


@dataclass(frozen=True)
class Between(Target):
    """A probability of a class between two bounds."""

    wanted: object
    low: float
    high: float

    def _probability(self, prediction):
        return prediction.probabilities[:, prediction.classes.tolist().index(self.wanted)]

    def reached(self, prediction):
        p = self._probability(prediction)
        return (p >= self.low) & (p <= self.high)

    def score(self, prediction):
        p = self._probability(prediction)
        return 0.5 + np.minimum(p - self.low, self.high - p) / 2

    def __str__(self):
        return f"{self.wanted} with a probability from {self.low:g} to {self.high:g}"


class Tilt(Kind):
    """Adds a value that grows from its negative at the start of the window to itself at the end."""

    name = "tilt"
    counted = 0

    def apply(self, values, window, number):
        Tilt.counted += len(values)
        return values + number * self.share(window)

    @staticmethod
    def share(window):
        n = window.sum(1, keepdims=True)
        return 2 * (window.cumsum(1) - 1) / np.maximum(n - 1, 1) - (n > 1)

    def neutral(self, window):
        return np.zeros(len(window))

    def number_for(self, change, window):
        return change

    def say(self, name, number, rises, when):
        return f"tilt {name} by {number}{when}"


class Model:
    """Probabilities of two classes, from the weighted means of the features; remembers every row."""

    classes_ = np.array([0, 1])

    def __init__(self):
        self.seen = []

    def predict_proba(self, X):  # (n, K, D)
        self.seen.append(np.array(X, float))
        return self.silently(X)

    @staticmethod
    def silently(X):
        p = 1 / (1 + np.exp(-1.5 * (np.asarray(X, float).mean(1) @ WEIGHTS - 1)))
        return np.column_stack([1 - p, p])

    @property
    def rows(self):
        return np.concatenate(self.seen)


def by_the_engine(model, target, constraints, settings):
    features = Features.continuous(4, NAMES, bounds=BOUNDS)
    return NTDCFE(model.predict_proba, features, constraints, settings=settings).explain(ORIGINAL, target).x


def by_alibi(model, target, constraints, settings):
    pytest.importorskip("alibi")
    from ntdcfe_plugins.alibi import NTDCFE as Explainer

    explainer = Explainer(
        model.predict_proba, target, NAMES, feature_range=BOUNDS, constraints=constraints, settings=settings
    )
    explanation = explainer.explain(ORIGINAL[None])
    assert explanation.success == [True]
    return explanation.cf["X"][0]


def by_dice(model, target, constraints, settings):
    dice_ml = pytest.importorskip("dice_ml")
    from ntdcfe_plugins.dice import NTDCFE as Explainer
    from ntdcfe_plugins.dice import SeriesColumns

    layout = SeriesColumns(len(ORIGINAL), NAMES)
    data = dice_ml.Data(
        features=layout.ranges(dict.fromkeys(NAMES, BOUNDS)),
        outcome_name="y",
        type_and_precision=layout.precisions(4),
    )
    wrapped = dice_ml.Model(model=model, backend="sklearn", func=layout)
    explainer = Explainer(data, wrapped, constraints=constraints, settings=settings, series=layout)
    explanations = explainer.generate_counterfactuals(layout.to_frame(ORIGINAL), 1, desired_class=target)
    return layout.to_series(explanations.cf_examples_list[0].final_cfs_df)[0]


def by_sktime(model, target, constraints, settings):
    result = sktime_result(model, settings, target, constraints)
    assert result.table["valid"].all()
    return result.counterfactuals[0].T


def sktime_result(model, settings, target=1, constraints=()):
    pytest.importorskip("sktime")
    from sktime.classification.base import BaseClassifier

    from ntdcfe_plugins.sktime import CounterfactualExplainer

    class Classifier(BaseClassifier):
        _tags = {"capability:multivariate": True, "capability:predict_proba": True}  # noqa: RUF012

        def _fit(self, X, y):
            return self

        def _predict_proba(self, X):  # (n, D, K)
            return model.predict_proba(X.transpose(0, 2, 1))

    X = np.stack([ORIGINAL.T, ORIGINAL.T])
    features = Features.continuous(4, NAMES, bounds=BOUNDS)
    fitted = Classifier().fit(X, model.classes_)
    explainer = CounterfactualExplainer(fitted, features, constraints, settings=settings, random_state=0)
    return explainer.explain(X[:1], target)


EVERYWHERE = pytest.mark.parametrize("explain", [by_the_engine, by_alibi, by_dice, by_sktime])


def explained(explain, target=1, constraints=(), **settings):
    """The counterfactual (K, D), and every row that the model saw (n, K, D)."""
    model = Model()
    x = explain(model, target, constraints, SearchSettings(max_rows=2000, batch_rows=40, **settings))
    return np.asarray(x, float), model.rows


def changed(x):
    """The names of the features that differ from the original."""
    return {name for i, name in enumerate(NAMES) if (x[..., i] != ORIGINAL[:, i]).any()}


@EVERYWHERE
def test_a_term_decides_between_valid_answers(explain):
    plain, _ = explained(explain, options=["nearest"])
    assert "a" in changed(plain)
    x, _ = explained(explain, options=["nearest"], terms=[PriceOfFeature("a", 50.0)])
    assert "a" not in changed(x)
    assert Model.silently(x[None])[0, 1] > 0.5


@EVERYWHERE
def test_a_constraint_holds_in_every_row_that_the_model_sees(explain):
    rule = AtMostChange(("a", "b", "c"), 2)

    def broken(rows):
        return rule.bind(Features.continuous(4, NAMES)).broken(rows, ORIGINAL)

    _, seen = explained(explain)
    assert broken(seen).any()
    x, seen = explained(explain, constraints=[rule])
    assert not broken(seen).any()
    assert Model.silently(x[None])[0, 1] > 0.5


@EVERYWHERE
def test_a_move_takes_part_in_the_refinement(explain):
    Halve.proposed = 0
    explained(explain)
    assert Halve.proposed == 0
    explained(explain, moves=[Halve])
    assert Halve.proposed > 0


@EVERYWHERE
def test_a_target_is_reached_by_the_model_s_own_answer(explain):
    x, _ = explained(explain, target=Between(1, 0.6, 0.7))
    assert 0.6 <= Model.silently(x[None])[0, 1] <= 0.7


class Slope(Model):
    """Probabilities of two classes from how much the first feature rises from the first step to the last."""

    @staticmethod
    def silently(X):
        X = np.asarray(X, float)
        p = 1 / (1 + np.exp(-3 * (X[:, -1, 0] - X[:, 0, 0] - 1.5)))
        return np.column_stack([1 - p, p])


@EVERYWHERE
def test_a_kind_of_edit_takes_part_in_the_search(explain):
    settings = SearchSettings(max_rows=2000, batch_rows=40, kinds=[Tilt], options=["simplest"])
    Tilt.counted = 0
    x = np.asarray(explain(Slope(), 1, (), settings), float)
    assert Tilt.counted > 0
    change = x - ORIGINAL
    # A tilt, and nothing else.
    np.testing.assert_allclose(change[:, 0], change[-1, 0] * np.array([-1, 0, 1]), atol=1e-9)
    assert not change[:, 1:].any()
    assert Slope.silently(x[None])[0, 1] > 0.5


def test_a_kind_of_edit_is_said_saved_and_drawn(tmp_path):
    from ntdcfe_plugins.letter import letter_of

    features = Features.continuous(4, NAMES, bounds=BOUNDS)
    settings = SearchSettings(max_rows=2000, kinds=["at_most", Tilt])
    found = NTDCFE(Slope().predict_proba, features, settings=settings).explain(ORIGINAL, 1)
    (edit,) = found.edits
    assert edit.text.startswith(f"tilt 'a' by {edit.value:g} ")
    again = Counterfactual.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert again.sentences() == [edit.text]
    again = dataclasses.replace(again, edits=tuple(e._replace(kind="of another program") for e in again.edits))
    for one in (found, again):  # a kind that is not known is drawn and told by its sentence
        assert edit.text in [text.get_text().replace("\n", " ") for text in titles(one.plot())]
        assert letter_of(one)["decision"]["sentences"] == [edit.text]
        two = dataclasses.replace(one, edits=(*one.edits, *one.edits))
        assert len(two.plot().axes) == 1


def titles(figure):
    return [text for axis in figure.axes for text in (axis._left_title, axis.title)]


@EVERYWHERE
def test_all_of_them_together(explain):
    Halve.proposed = 0
    rule, target = AtMostChange(("b", "c"), 1), Between(1, 0.6, 0.9) & Target.label(1)
    x, seen = explained(explain, target, [rule], terms=[PriceOfFeature("a", 50.0)], moves=[Halve])
    assert "a" not in changed(x)
    assert not rule.bind(Features.continuous(4, NAMES)).broken(seen, ORIGINAL).any()
    assert Halve.proposed > 0
    assert 0.6 <= Model.silently(x[None])[0, 1] <= 0.9


def stricter(X):
    """A second model, of panels (n, K, D): class 1 where the mean of the first feature is above 1.2."""
    return (np.asarray(X, float)[:, :, 0].mean(1) > 1.2).astype(int)


def test_a_second_model_in_the_results_of_every_adapter():
    """It takes what the model of the adapter takes, and each result says whether it agrees."""
    dice_ml, _, _ = (pytest.importorskip(name) for name in ("dice_ml", "alibi", "sktime"))
    from ntdcfe_plugins.alibi import NTDCFE as Alibi
    from ntdcfe_plugins.dice import NTDCFE as Dice
    from ntdcfe_plugins.dice import SeriesColumns

    def settings(second):
        return SearchSettings(max_rows=2000, batch_rows=40, survival=Survival(second_model=second))

    explainer = Alibi(Model().predict_proba, 1, NAMES, feature_range=BOUNDS, settings=settings(stricter))
    explanation = explainer.explain(ORIGINAL[None])
    assert explanation.survival[0]["second_model"] is True
    assert stricter(explanation.cf["X"]) == [1]

    layout = SeriesColumns(len(ORIGINAL), NAMES)
    data = dice_ml.Data(
        features=layout.ranges(dict.fromkeys(NAMES, BOUNDS)), outcome_name="y", type_and_precision=layout.precisions(4)
    )
    wrapped = dice_ml.Model(model=Model(), backend="sklearn", func=layout)
    explainer = Dice(data, wrapped, settings=settings(lambda frame: stricter(layout.to_series(frame))), series=layout)
    (example,) = explainer.generate_counterfactuals(layout.to_frame(ORIGINAL), 2, desired_class=1).cf_examples_list
    said = stricter(layout.to_series(example.final_cfs_df)) == 1
    assert example.details_df["second_model"].tolist() == said.tolist()
    assert [one.second_model for one in example.survival] == said.tolist()
    assert said[0]

    result = sktime_result(Model(), settings(lambda panel: stricter(panel.transpose(0, 2, 1))))
    assert result.table["second_model"].tolist() == [True]
    assert stricter(result.counterfactuals.transpose(0, 2, 1)) == [1]


def test_a_second_model_in_the_letter_and_in_the_notebook():
    from ntdcfe_plugins.letter import letter_html, letter_of
    from ntdcfe_plugins.report import counterfactual_html

    settings = SearchSettings(max_rows=2000, survival=Survival(second_model=stricter))
    cf = NTDCFE(Model().predict_proba, Features.continuous(4, NAMES, bounds=BOUNDS), settings=settings)
    cf = cf.explain(ORIGINAL, 1)
    letter = {"title": "t", "date": "", "model": None, "command": None, **letter_of(cf)}
    assert letter["decision"]["survival"]["second_model"] is True
    for page in (letter_html(letter, "", "facts.json"), counterfactual_html(cf)):
        assert "The second model says so, too." in page
        assert "; of the second model, too" in page  # in the table of the options


def test_the_comparison_asks_any_constraint():
    from ntdcfe_plugins.compare import compare

    def raised(n):
        return lambda x: x + 3.0 * (np.arange(4) < n)

    table = compare(
        {"two": raised(2), "three": raised(3)}, ORIGINAL[None], Model.silently, 1,
        features=Features.continuous(4, NAMES), constraints=[AtMostChange(("a", "b", "c"), 2)], progress=False,
    ).table  # fmt: skip
    assert [row["success"] for row in table] == [True, True]
    assert [row["allowed"] for row in table] == [True, False]
