"""Series of integers: whole numbers of the same type come back, and none reaches the model changed."""

import json

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    PAPER,
    Causal,
    Continuous,
    Counterfactual,
    Discrete,
    Features,
    InvalidInputError,
    OneHot,
    SearchSettings,
)
from ntdcfe.problem.space import Space

SMALL = SearchSettings(max_rows=600)
SHORT_PAPER = PAPER.given(max_episodes=10, max_interventions=20, hidden=(8,), max_rows=600)
COUNTS = np.random.default_rng(0).integers(20, 60, (12, 3))


class Ends:
    """1 where the last quarter of feature 0 is above a level on average; keeps the types of what it was asked."""

    def __init__(self, level=70):
        self.level, self.seen = level, set()

    def __call__(self, X):
        self.seen.add(X.dtype)
        return (X[:, -3:, ...].reshape(len(X), -1).mean(1) > self.level).astype(int)


@pytest.mark.parametrize("settings", [SMALL, SHORT_PAPER], ids=["default", "paper"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "u1", "u8", ">i4"])
@pytest.mark.parametrize("x", [COUNTS, COUNTS[0]], ids=["series", "row"])
def test_integers_come_back_as_integers_of_their_type(x, dtype, settings):
    given, model = x.astype(dtype), Ends(x[-3:].mean() + 2)
    cf = NTDCFE(model, settings=settings).explain(given, 1)
    native = np.dtype(dtype).newbyteorder("=")
    assert cf.found
    assert model.seen == {native}
    for array in (cf.x, cf.original, *cf.candidates, *(option.x for option in cf.options.values())):
        assert array.dtype == native
    np.testing.assert_array_equal(cf.original, x)
    assert cf.sparsity == (cf.x != x).sum()
    assert cf.proximity == pytest.approx(np.abs(cf.x.astype(float) - x).sum())
    again = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict())))
    np.testing.assert_array_equal(again.x, cf.x)
    assert (again.x.dtype, str(again)) == (native, str(cf))


@pytest.mark.parametrize(("dtype", "low", "high"), [("u1", 0, 255), ("i2", -(2**15), 2**15 - 1), ("u8", 0, 2**53)])
@pytest.mark.parametrize("reach", [None, 1e30])
def test_no_number_leaves_the_range_of_its_type(dtype, low, high, reach):
    """What is beyond it would wrap around to a number that nobody asked about."""
    features = Features([Continuous(precision=0), Continuous(precision=-2)])
    space = Space(np.full((3, 2), 250.0), features, reach=reach, integers=np.dtype(dtype))
    rows = space.rows(space.project(np.stack([np.full((3, 2), value) for value in (-1e25, 1e25)])))
    np.testing.assert_array_equal(rows[:, :, 0], [[low] * 3, [high] * 3])
    assert (rows.astype(float) <= high).all()
    assert (rows.astype(float) >= low).all()
    assert rows.dtype == dtype


def test_a_row_of_flags_stays_one_of_flags():
    cf = NTDCFE(lambda X: (X.sum(1) >= 3).astype(int), settings=SMALL).explain(np.zeros(6, bool), 1)
    assert cf.x.dtype == bool
    assert cf.x.sum() == 3


def test_features_with_decimals_make_floating_numbers_of_integers():
    for feature in (Continuous(precision=1), Discrete([0.5, *set(COUNTS[:, 0])])):
        model = Ends()
        cf = NTDCFE(model, Features([feature, Continuous(), Continuous()]), settings=SMALL).explain(COUNTS, 1)
        assert model.seen == {np.dtype(float)}
        assert cf.x.dtype == cf.original.dtype == float


def test_groups_tens_and_causal_rules_are_whole_too():
    features = Features([Continuous(precision=-1), Continuous(role="non_actionable"), OneHot(categories=tuple("abc"))])
    x = np.column_stack([COUNTS[:, :2], np.tile([0, 1, 0], (12, 1))])
    rule = Causal(1, 0, lambda cause: 0.37 * cause)
    cf = NTDCFE(lambda X: (X[:, -3:, 1].mean(1) > 60).astype(int), features, [rule], settings=SMALL).explain(x, 1)
    changed = cf.x != x
    assert cf.x.dtype == x.dtype
    assert (cf.x[changed[:, 0], 0] % 10 == 0).all()
    np.testing.assert_array_equal(cf.x[changed[:, 0], 1], np.round(0.37 * cf.x[changed[:, 0], 0]))
    assert (cf.x[:, 2:].sum(1) == 1).all()


def test_a_session_asks_in_the_type_it_was_given():
    session = NTDCFE(None, settings=SMALL).session(COUNTS, 1)
    assert session.ask().dtype == COUNTS.dtype


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**62])
@pytest.mark.parametrize("x", [COUNTS, COUNTS[0]], ids=["series", "row"])
def test_integers_that_floating_numbers_cannot_tell_apart_are_refused_with_the_remedy(x, value):
    large, model = x.copy(), Ends()
    large[..., 2] = value
    with pytest.raises(InvalidInputError, match=r"beyond 2\*\*53.*coarser unit"):
        NTDCFE(model, Features([Continuous(), Continuous(), Continuous(role="immutable")])).explain(large, 1)
    assert not model.seen
    NTDCFE(model, settings=SMALL).explain(large.astype(float), 1)  # the remedy of the message


def test_the_largest_that_are_not_refused_reach_the_model_unchanged():
    x, seen = COUNTS.copy(), set()
    x[:, 2] = 2**53 - np.arange(12)

    def model(X):
        seen.update(map(tuple, X[:, :, 2].tolist()))
        return Ends(70)(X[..., :1])

    features = Features([Continuous(), Continuous(), Continuous(role="immutable")])
    cf = NTDCFE(model, features, settings=SMALL).explain(x, 1)
    assert cf.found
    assert seen == {tuple(x[:, 2].tolist())}


def test_a_checkpoint_of_integers_is_resumed(tmp_path):
    X = np.stack([COUNTS, COUNTS + 1])
    runs = [
        NTDCFE(Ends(), settings=SMALL).explain_batch(X, 1, checkpoint=tmp_path / "run.jsonl", max_seconds=60)
        for _ in range(2)
    ]
    for first, second in zip(*runs, strict=True):
        np.testing.assert_array_equal(first.x, second.x)
        assert first.x.dtype == second.x.dtype == X.dtype


@pytest.mark.parametrize(("bounds", "precision"), [((0, 1e12), 2), ((-1e300, 1e300), 0), ((0, 1), 100), ((0, 1e9), 0)])
def test_a_fine_grid_within_wide_bounds_is_not_listed(bounds, precision):
    """Its values would fill the memory, or be more than an array can have."""
    features = Features([Continuous(bounds=bounds, precision=precision)])
    low, high = bounds
    cf = NTDCFE(lambda X: (X[:, 0] > 0.6 * high).astype(int), features, settings=SMALL).explain(np.array([0.0]), 1)
    assert (cf.status, cf.cause) == ("found", None)
    assert low <= cf.x[0] <= high
