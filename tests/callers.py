"""What a caller may have set, of torch, numpy, Python and threads, before a call; and whether it is so after it."""

import gc
import logging
import os
import random
import sys
import warnings
from contextlib import ExitStack, contextmanager, nullcontext

import numpy as np
import torch
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController

from ntdcfe import NTDCFE, PAPER, SearchSettings
from ntdcfe.testing import ends_high, series

# What is imported with the first policy, and with the optimizer of Algorithm 1, sets filters of warnings and variables
# of the environment, once.
for first in (SearchSettings(), PAPER.given(hidden=(8,))):
    NTDCFE(ends_high, settings=first).explain(series(8, 2), 1, max_rows=60)
_LIBRARIES = ThreadpoolController()


@contextmanager
def set_and_reset(setter, value, before):
    setter(value)
    try:
        yield
    finally:
        setter(before)


@contextmanager
def warnings_as_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Not of what is tried here, but of how these tests look at the state.
        warnings.filterwarnings("ignore", ".*is_autocast_cpu_enabled")
        yield


@contextmanager
def odd_prints():
    with np.printoptions(precision=1, suppress=True, threshold=3, edgeitems=1, legacy="1.13"):
        yield


STATES = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "set_grad_enabled(False)": lambda: set_and_reset(torch.set_grad_enabled, False, True),
    "default dtype float64": lambda: set_and_reset(torch.set_default_dtype, torch.float64, torch.float32),
    "default dtype float16": lambda: set_and_reset(torch.set_default_dtype, torch.float16, torch.float32),
    "default device meta": lambda: set_and_reset(torch.set_default_device, "meta", None),
    "with torch.device": lambda: torch.device("meta"),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "deterministic": lambda: set_and_reset(torch.use_deterministic_algorithms, True, False),
    "flush denormals": lambda: set_and_reset(torch.set_flush_denormal, True, False),
    "numpy raises": lambda: np.errstate(all="raise"),
    "numpy prints little": odd_prints,
    "warnings are errors": warnings_as_errors,
    "torch on two threads": lambda: set_and_reset(torch.set_num_threads, 2, torch.get_num_threads()),
    "BLAS on two threads": lambda: _LIBRARIES.limit(limits=2, user_api="blas"),
    "all is logged": lambda: set_and_reset(logging.getLogger("ntdcfe").setLevel, logging.DEBUG, logging.NOTSET),
    "no garbage collection": lambda: set_and_reset(lambda on: gc.enable() if on else gc.disable(), False, True),
    "little recursion": lambda: set_and_reset(sys.setrecursionlimit, 900, sys.getrecursionlimit()),
}  # fmt: skip


states_of_callers = st.lists(st.sampled_from(sorted(STATES)), max_size=3, unique=True).map(tuple)


@contextmanager
def in_states(names, but=()):
    """All of these states at once; what is set must be as it was when it ends, `but` for these parts of it."""
    with ExitStack() as stack:
        logger = logging.getLogger("ntdcfe")
        stack.enter_context(set_and_reset(setattr_of(logger, "propagate"), False, logger.propagate))
        logger.addHandler(handler := logging.NullHandler())
        stack.callback(logger.removeHandler, handler)
        for name in names:
            stack.enter_context(STATES[name]() or nullcontext())
        before = snapshot()
        try:
            yield
        finally:
            after = snapshot()
            changed = [name for name in before if before[name] != after[name] and name not in but]
            assert not changed, f"the call left the caller's state changed: {changed}"


def setattr_of(thing, name):
    return lambda value: setattr(thing, name, value)


def snapshot():
    """All that a call must leave as it is."""
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "dtype": torch.get_default_dtype(),
        "device": torch.empty(0).device.type,
        "autocast": torch.is_autocast_enabled("cpu"),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch threads": torch.get_num_threads(),
        "torch random": torch.default_generator.get_state().numpy().tobytes(),
        "numpy random": repr(np.random.get_state()[1:]) + np.random.get_state()[1].tobytes().hex(),  # noqa: NPY002
        "random": random.getstate(),
        "numpy errors": np.geterr(),
        "numpy prints": np.get_printoptions(),
        "warnings": warnings.filters[:],
        "BLAS threads": [library["num_threads"] for library in _LIBRARIES.info()],
        "logging": logging.getLogger("ntdcfe").level,
        "collection": gc.isenabled(),
        "recursion": sys.getrecursionlimit(),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }
