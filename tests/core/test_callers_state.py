"""What the caller has set, of torch, numpy and Python, changes no result and is as it was afterwards."""

import random
import warnings
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
import torch

from ntdcfe import NTDCFE, PAPER, SearchSettings
from ntdcfe.problem.target import Target
from ntdcfe.testing import ends_high, logistic, series, total

SMALL = SearchSettings(max_rows=600)
SHORT_PAPER = PAPER.given(max_episodes=6, max_interventions=10, hidden=(20, 10), learning_rate=1e-3)


@contextmanager
def set_and_reset(setter, value, before):
    setter(value)
    try:
        yield
    finally:
        setter(before)


def double_precision():
    return set_and_reset(torch.set_default_dtype, torch.float64, torch.float32)


def half_precision():
    return set_and_reset(torch.set_default_dtype, torch.float16, torch.float32)


def another_device():
    return set_and_reset(torch.set_default_device, "meta", None)


def gradients_off():
    return set_and_reset(torch.set_grad_enabled, False, True)


def deterministic():
    return set_and_reset(torch.use_deterministic_algorithms, True, False)


STATES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "set_grad_enabled(False)": gradients_off,
    "default dtype float64": double_precision,
    "default dtype float16": half_precision,
    "default device meta": another_device,
    "with torch.device": lambda: torch.device("meta"),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "deterministic": deterministic,
    "numpy raises": lambda: np.errstate(all="raise"),
    "warnings are errors": warnings.catch_warnings,
}


def torch_state():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.empty(0).device.type,
        torch.is_autocast_cpu_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_num_threads(),
        torch.get_rng_state().tolist(),
    )


def other_state():
    return np.random.get_state()[1].tolist(), random.getstate(), np.geterr(), warnings.filters[:]  # noqa: NPY002


CASES = {
    "labels": lambda: NTDCFE(ends_high, settings=SMALL).explain(series(20, 2, mean=-1.5), 1),
    "probabilities": lambda: NTDCFE(logistic, settings=SMALL).explain(series(20, 2), 1),
    "a row": lambda: NTDCFE(total, settings=SMALL).explain(series(1, 8)[0], Target.interval(1, None)),
    "huge numbers": lambda: NTDCFE(lambda X: ends_high(X / 1e306), settings=SMALL).explain(series(12, 2) * 1e306, 1),
    "tiny numbers": lambda: NTDCFE(lambda X: ends_high(X * 1e305), settings=SMALL).explain(series(12, 2) * 1e-305, 1),
    "Algorithm 1": lambda: NTDCFE(ends_high, settings=SHORT_PAPER).explain(series(10, 2), 1),
}
PLAIN: dict = {}


@pytest.mark.filterwarnings("ignore:.*is_autocast_cpu_enabled")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("state", STATES)
def test_what_the_caller_has_set_changes_no_result_and_stays_set(case, state):
    if case not in PLAIN:
        PLAIN[case] = CASES[case]()
    with ExitStack() as stack:
        stack.enter_context(STATES[state]())
        if state == "warnings are errors":
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*is_autocast_cpu_enabled")
        before = torch_state(), other_state()
        cf = CASES[case]()
        assert (torch_state(), other_state()) == before
    assert cf.status == PLAIN[case].status == "found"
    assert cf.cause is None
    np.testing.assert_array_equal(cf.x, PLAIN[case].x)
    assert (cf.rows, cf.calls) == (PLAIN[case].rows, PLAIN[case].calls)
