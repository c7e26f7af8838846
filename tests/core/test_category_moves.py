"""Categories move only where their order and their moves allow it: in every row that the model sees, and in words."""

import numpy as np
import pytest
from moves import forbidden, random_feature

from ntdcfe import (
    NTDCFE,
    PAPER,
    Category,
    Continuous,
    Counterfactual,
    Features,
    InvalidInputError,
    OneHot,
    Ordered,
    SearchSettings,
    Survival,
)

SCHOOLING = ["school", "bachelor", "master"]
SEARCHES = [
    SearchSettings(max_rows=160),
    SearchSettings(max_rows=160, options=["nearest"], prefer="nearest"),
    SearchSettings(max_rows=160, survival=Survival(noise=0.0, late=1)),
    SearchSettings(max_rows=200, options=["simplest", "sturdiest"], batch_rows=40),
    PAPER.given(max_rows=60, max_interventions=5),
]


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 300), marks=pytest.mark.slow)], ids=len)
def test_no_forbidden_move_is_ever_shown_to_the_model_nor_answered(seeds):
    found = moved = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        features = Features([random_feature(rng, name) for name in "abcd"[: rng.integers(2, 5)]])
        n_steps = 1 if rng.random() < 0.6 else 3
        state = np.column_stack(
            [rng.normal(size=n_steps) if f.choices is None else rng.choice(f.choices, n_steps) for f in features]
        )
        weights, asked = rng.normal(size=features.n_columns), []

        def predict(X, weights=weights, asked=asked):
            asked.append(X)
            return (X.reshape(len(X), -1, len(weights)).mean(1) @ weights > 0.3).astype(int)

        x = features.decode(state)
        start = int(predict(x[None])[0])
        settings = SEARCHES[seed % len(SEARCHES)]
        try:
            explainer = NTDCFE(predict, features, settings=settings, seed=seed)
            cf = explainer.explain(x[0] if n_steps == 1 else x, 1 - start, n_counterfactuals=1 + seed % 3)
        except InvalidInputError as refused:
            if "no feature is left to change" in str(refused):
                continue
            raise
        rows = np.concatenate([part.reshape(-1, *x.shape) for part in asked])
        answers = [*cf.candidates, *(option.x for option in cf.options.values())]
        shown = features.encode(np.concatenate([rows, *(a.reshape(1, *x.shape) for a in answers)]))
        assert forbidden(features, state, shown) == set(), (seed, features)
        found += cf.found
        moved += bool((shown != state).any())
    assert moved > 0.6 * len(seeds)
    assert found > 0.2 * len(seeds)


def schooled(X):
    """Granted with a bachelor and an income of 2, or with a master."""
    return (X[:, 0] + 0.5 * X[:, 1] >= 2).astype(int)


def test_an_ordered_category_rises_in_words():
    features = Features([Ordered(SCHOOLING, direction="rise", name="education"), Continuous(name="income", scale=1)])
    cf = NTDCFE(schooled, features).explain([0.0, 0.0], 1, prefer="nearest")
    assert cf.sentences() == ["raise 'education' from school to master"]
    assert Counterfactual.from_dict(cf.to_dict()) == cf


def test_an_ordered_category_without_a_direction_falls_too_and_says_so():
    features = Features([Ordered(SCHOOLING, name="education")])
    cf = NTDCFE(lambda X: (X[:, 0] < 1).astype(int), features).explain([2.0], 1)
    assert cf.sentences() == ["lower 'education' from master to school"]


def test_one_hot_groups_have_an_order_and_moves_as_well():
    status = OneHot(["single", "married", "divorced"], name="status", moves={"single": ["married"]})
    education = OneHot(SCHOOLING, name="education", direction="rise")
    model = lambda X: (X[:, 2] + X[:, 5] + X[:, 1] * X[:, 4] > 0).astype(int)  # noqa: E731
    cf = NTDCFE(model, Features([status, education])).explain(np.array([1.0, 0, 0, 0, 1, 0]), 1)
    assert cf.found
    assert cf.x[2] == 0  # a single person cannot become divorced at once
    assert cf.sentences() in (["switch 'status' from single to married"], ["raise 'education' from bachelor to master"])


def test_a_category_without_a_move_stays():
    held = Category(["a", "b"], name="held", moves={"b": ["a"]})
    cf = NTDCFE(lambda X: (X.sum(1) > 0.5).astype(int), Features([held, Continuous(bounds=(0, 1))])).explain([0, 0], 1)
    assert cf.found
    assert cf.x[0] == 0
    with pytest.raises(InvalidInputError, match=r"no feature is left to change.*moves"):
        NTDCFE(lambda X: X[:, 0], Features([held])).explain([0.0], 1)


def test_moves_type_back_and_come_back_from_a_dict():
    status = OneHot(["single", "married"], moves={"single": ["married"]})
    assert eval(repr(status)) == status
    assert hash(status) == hash(OneHot(["single", "married"], moves=[("single", ("married",))]))
    described = Features.from_dict({"status": {"labels": ["single", "married"], "moves": {"single": ["married"]}}})
    assert described[0].allowed == {0.0: (1.0,), 1.0: ()}
    assert Features.from_dict({"education": Ordered(SCHOOLING)})[0].name == "education"


@pytest.mark.parametrize("moves", [3, {"single": "married"}, {"single": ["widowed"]}, {"widowed": []}, ["single"]])
@pytest.mark.parametrize("kind", [Category, Ordered, OneHot])
def test_moves_that_are_none(kind, moves):
    with pytest.raises(InvalidInputError, match="moves"):
        kind(["single", "married"], moves=moves)
