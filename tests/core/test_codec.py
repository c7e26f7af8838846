import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ntdcfe import InvalidInputError
from ntdcfe.problem.codec import plain, plain_array, plain_difference, undifference, unplain, unplain_array

ARRAYS = hnp.arrays(
    st.sampled_from([np.float32, np.float64]), hnp.array_shapes(max_dims=2, max_side=4), elements={"allow_nan": True}
)


def through_json(entry):
    return json.loads(json.dumps(entry, allow_nan=False))


@given(ARRAYS)
def test_arrays_come_back_to_the_last_bit(array):
    read = unplain_array(through_json(plain_array(array)))
    assert read.dtype == array.dtype
    np.testing.assert_array_equal(read, array)


@given(ARRAYS, st.integers(0, 3))
def test_differences_come_back_to_the_last_bit(array, changed):
    base = array.copy()
    base.ravel()[:changed] = 0.0
    read = undifference(through_json(plain_difference(array, base)), base)
    np.testing.assert_array_equal(read, array)
    known = ~np.isnan(array)
    np.testing.assert_array_equal(np.signbit(read[known]), np.signbit(array[known]))


@pytest.mark.parametrize("value", [None, True, 3, "a", 0.1, float("inf"), (1, (2.5, "b"))])
def test_plain_values_come_back(value):
    assert unplain(through_json(plain(value))) == value


def test_an_array_of_something_else_than_numbers_is_refused():
    with pytest.raises(InvalidInputError, match="an array of numbers"):
        unplain_array({"dtype": "O", "shape": [1], "values": [1]})
