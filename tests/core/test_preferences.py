"""The paper's qualitative examples on made-up data: what the user prefers decides which feature changes."""

import numpy as np
import pytest

from ntdcfe import NTDCFE, Continuous, Features

NAMES = ("gdp", "health", "co2", "power", "forest")
ALBANIA = np.column_stack(
    [np.linspace(-0.5, -0.3, 16), np.full(16, -0.4), *np.random.default_rng(0).normal(size=(3, 16))]
)


def rule_1(X):
    return ((X[:, -5:, 0] > 0) & (X[:, -5:, 1] > 0)).all(1).astype(int)


def rule_2(X):
    return ((X[:, -5:, 0] > 0) | (X[:, -5:, 1] > 0)).all(1).astype(int)


@pytest.mark.parametrize(
    ("rule", "weights", "non_actionable", "expected"),
    [
        (rule_1, {}, (), {"gdp", "health"}),
        (rule_2, {}, (), {"gdp"}),
        (rule_2, {"health": 0.1}, (), {"health"}),
        (rule_2, {"gdp": 10.0}, (), {"health"}),
        (rule_2, {"co2": 0.1, "power": 0.1, "forest": 0.1}, (), {"gdp"}),
        (rule_2, {}, ("gdp",), {"health"}),
    ],
    ids=["rule 1", "rule 2", "health easy", "gdp hard", "irrelevant easy", "gdp not actionable"],
)
def test_the_feature_that_the_user_prefers_is_changed(rule, weights, non_actionable, expected):
    features = Features(
        [
            Continuous(
                name=name,
                weight=weights.get(name, 1.0),
                role="non_actionable" if name in non_actionable else "actionable",
                scale=1.0,
            )
            for name in NAMES
        ]
    )
    cf = NTDCFE(rule, features).explain(ALBANIA, 1)
    assert rule(cf.x[None])[0] == 1
    assert {change.feature for change in cf.changes} == expected
    assert len(cf.edits) == len(expected)
    nearest = cf.options["nearest"].x
    assert not (nearest != ALBANIA)[:11].any()
