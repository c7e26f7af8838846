"""Missing values: allowed when asked for, never changed, seen by the model as NaN, counted nowhere."""

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
from ntdcfe.problem.space import Space, stand_ins
from ntdcfe.problem.units import units_of

QUICK = SearchSettings(max_rows=1500)


def with_gaps(seed=0, shape=(20, 3), share=0.3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    x[rng.random(shape) < share] = np.nan
    return x


def rises(X):
    return np.nanmean(X[:, -8:, 0], axis=1) > 1


class TestRefused:
    @pytest.mark.parametrize("missing", ["error", "fixed"])
    def test_infinity_always(self, missing):
        x = np.zeros((4, 2))
        x[1, 1] = np.inf
        with pytest.raises(InvalidInputError, match=r"infinity, first at .* \[\(0, 1, 1\)\]"):
            NTDCFE(rises, missing=missing).explain(x, True)

    def test_nan_unless_asked_for(self):
        with pytest.raises(InvalidInputError, match=r"NaN or infinity.*missing='fixed'"):
            NTDCFE(rises).explain(with_gaps(), True)

    def test_another_word(self):
        with pytest.raises(InvalidInputError, match="'error' or 'fixed', got 'drop'"):
            NTDCFE(rises, missing="drop")

    def test_nothing_but_gaps(self):
        with pytest.raises(InvalidInputError, match="no feature is left to change"):
            NTDCFE(lambda X: np.zeros(len(X)), missing="fixed").explain(np.full((4, 2), np.nan), 1)


@pytest.mark.parametrize("settings", [QUICK, PAPER.given(max_rows=600, max_interventions=10)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_gap_is_a_gap_in_every_row_and_in_the_answer(settings, dtype):
    x = with_gaps().astype(dtype)
    asked = []

    def predict(X):
        asked.append(X)
        return rises(X)

    cf = NTDCFE(predict, settings=settings, missing="fixed").explain(x, True)
    assert all((np.isnan(X) == np.isnan(x)).all() for X in asked)
    assert cf.found
    assert cf.x.dtype == dtype
    known = ~np.isnan(x)
    for candidate in cf.candidates:
        np.testing.assert_array_equal(np.isnan(candidate), ~known)
    assert cf.sparsity == np.count_nonzero(cf.x[known] != x[known])
    assert cf.proximity == pytest.approx(np.abs(cf.x - x)[known].sum(), rel=1e-5)
    changed = {
        (step, change.feature) for change in cf.changes for step in range(change.first_step, change.last_step + 1)
    }
    assert changed == {(step, f"feature {i}") for step, i in np.argwhere(known & (cf.x != x))}


def test_unit_and_reach_come_from_what_is_known():
    x = np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan], [5.0, np.nan]])
    missing, features = np.isnan(x), Features.continuous(2)
    state = stand_ins(x, missing)
    units = units_of(state, features, missing)
    assert units[0] == pytest.approx(np.std([1, 3, 5]))
    space = Space(state, features, units=units, reach=2.0, missing=missing)
    assert space.low[0, 0] == pytest.approx(1 - 2 * units[0])
    assert space.high[0, 0] == pytest.approx(5 + 2 * units[0])
    np.testing.assert_array_equal(space.movable, ~missing)


def test_discrete_and_one_hot_features_may_have_gaps():
    features = Features([Discrete(values=[1, 2, 3]), OneHot(categories=["a", "b"]), Continuous()])
    x = np.array([[1, 1, 0, 0.5], [np.nan, np.nan, np.nan, np.nan], [2, 0, 1, 0.1], [1, np.nan, np.nan, 0.2]])

    def predict(X):
        return (np.nansum(X[..., 2], axis=1) >= 2) & (np.nanmin(X[..., 0], axis=1) >= 2)

    cf = NTDCFE(predict, features, missing="fixed", settings=QUICK).explain(x, True)
    assert cf.found
    np.testing.assert_array_equal(np.isnan(cf.x), np.isnan(x))
    x[0, 1] = np.nan
    with pytest.raises(InvalidInputError, match="single 1"):
        NTDCFE(predict, features, missing="fixed").explain(x, True)


def test_a_rule_is_silent_where_there_is_nothing_to_follow():
    features = Features.from_dict({"cause": {}, "effect": {"role": "non_actionable"}})
    x = np.array([[1.0, 2.0], [np.nan, 2.0], [1.0, np.nan], [1.0, 2.0]])
    rule = Causal("effect", "cause", lambda cause: 2 * cause)

    def predict(X):
        return np.nanmax(X[:, :, 1], axis=1) > 5

    cf = NTDCFE(predict, features, [rule], missing="fixed", settings=QUICK).explain(x, True)
    assert cf.found
    np.testing.assert_array_equal(np.isnan(cf.x), np.isnan(x))
    assert cf.x[1, 1] == 2.0
    changed = cf.x[[0, 3], 0] != 1
    np.testing.assert_allclose(cf.x[[0, 3], 1][changed], 2 * cf.x[[0, 3], 0][changed])


def test_the_in_distribution_test_sees_the_gaps():
    x, seen = with_gaps(), []

    def plausible(X):
        seen.append((np.isnan(X) == np.isnan(x)).all())
        return np.ones(len(X), bool)

    NTDCFE(rises, plausible=plausible, missing="fixed", settings=QUICK).explain(x, True)
    assert seen
    assert all(seen)


def test_to_json_and_back():
    cf = NTDCFE(rises, missing="fixed", settings=QUICK).explain(with_gaps(), True)
    back = Counterfactual.from_dict(json.loads(json.dumps(cf.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(back.x, cf.x)
    assert list(map(str, back.changes)) == list(map(str, cf.changes))
