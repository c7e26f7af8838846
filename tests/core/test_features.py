import numpy as np
import pytest

from ntdcfe import Continuous, Discrete, Features, InvalidInputError, OneHot


def mixed() -> Features:
    return Features.from_dict(
        {
            "income": {"bounds": (0, None), "direction": "rise"},
            "rating": {"values": [1, 2, 3], "weight": 2.0},
            "region": {"categories": ["north", "south", "west"], "role": "immutable"},
        }
    )


def test_one_line_for_the_plain_case():
    features = Features.continuous(3)
    assert features.names == ("feature 0", "feature 1", "feature 2")
    assert features.n_columns == 3
    assert not features.discrete.any()
    assert (features.weights == 1).all()


def test_from_dict_tells_kinds_apart():
    features = mixed()
    assert [type(f) for f in features] == [Continuous, Discrete, OneHot]
    assert features.names == ("income", "rating", "region")
    assert features.n_columns == 5
    assert features.has_role("immutable").tolist() == [False, False, True]
    assert features.weights.tolist() == [1, 2, 1]


def test_encode_and_decode_are_inverse():
    columns = np.array([[10.0, 2, 0, 0, 1], [11.0, 3, 1, 0, 0]])
    values = mixed().encode(columns)
    np.testing.assert_array_equal(values, [[10, 2, 2], [11, 3, 0]])
    np.testing.assert_array_equal(mixed().decode(values), columns)


@pytest.mark.parametrize(
    ("columns", "message"),
    [([[10.0, 4, 1, 0, 0]], "rating.*4"), ([[10.0, 1, 1, 1, 0]], "region.*single 1"), ([[1.0, 1, 0, 0, 0]], "region")],
)
def test_series_outside_its_description(columns, message):
    with pytest.raises(InvalidInputError, match=message):
        mixed().encode(np.array(columns))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Continuous(weight=0), "weight must be a positive"),
        (lambda: Continuous(weight=-1), "weight must be a positive"),
        (lambda: Continuous(weight=float("nan")), "weight must be a positive"),
        (lambda: Continuous(name="a", bounds=(2, 1)), "'a'.*lower <= upper"),
        (lambda: Continuous(bounds=3), "pair"),
        (lambda: Continuous(role="fixed"), "role"),
        (lambda: Continuous(direction="up"), "direction"),
        (lambda: Continuous(scale=0), "scale"),
        (lambda: Continuous(precision=0.5), "precision"),
        (lambda: Continuous(precision=400), "precision"),
        (lambda: Continuous(scale="a"), "scale"),
        (lambda: Discrete([]), "at least one"),
        (lambda: Discrete([1, 1]), "distinct"),
        (lambda: Discrete(["a"]), "numbers"),
        (lambda: OneHot(1), "two categories"),
        (lambda: Features([]), "non-empty"),
        (lambda: Features.continuous(2, names=["a"]), "one entry"),
        (lambda: Features.continuous(2, names=["a", "a"]), "distinct"),
        (lambda: Features.from_dict({"a": {"bound": (0, 1)}}), "does not take"),
        (lambda: Features.from_dict({"a": 3}), "a dict or a Feature"),
    ],
)
def test_bad_descriptions_are_refused(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize("steps", [slice(2, None), [2, 3, 4], np.array([False, False, True, True, True]), range(2, 5)])
def test_actionable_steps_in_several_spellings(steps):
    assert Features.continuous(1, actionable_steps=steps).step_mask(5).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("steps", [[7], [], slice(5, 5)])
def test_actionable_steps_that_pick_nothing(steps):
    with pytest.raises(InvalidInputError, match="actionable_steps"):
        Features.continuous(1, actionable_steps=steps).step_mask(5)


def test_features_by_name_or_position():
    assert mixed().index("rating") == mixed().index(1) == 1
    with pytest.raises(InvalidInputError, match="no feature 'age'"):
        mixed().index("age")
