"""The number of threads of the machine's libraries decides nothing."""

import os
import subprocess
import sys

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from ntdcfe.model.threads import one_thread

SEARCH = """
import hashlib
import numpy as np
import pytest
from ntdcfe import NTDCFE

x, weight = np.random.default_rng(0).normal(size=(2, 65, 24))
asked = hashlib.sha256()

def model(X):
    asked.update(X.tobytes())
    return ((X * weight).sum(2).sum(1) > 100).astype(int)

print(NTDCFE(model).explain(x, 1).calls, asked.hexdigest())
"""


def questions(n_threads):
    """What a search asks, in a process whose libraries have so many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", SEARCH],
        env=os.environ | dict.fromkeys(names, str(n_threads)),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_a_search_asks_the_same_on_any_number_of_threads():
    alone = questions(1)
    assert int(alone.split()[0]) > 20
    assert questions(2) == alone


def test_one_thread_gives_back_the_others():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def blas_threads():
    """Of the library that has fewest: one that was loaded later than ours looked is none of its business."""
    threads = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
    return min(threads, default=1)


def test_whoever_leaves_first_does_not_decide_for_the_others():
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        one, other = one_thread(), one_thread()
        with one:
            other.__enter__()
            assert blas_threads() == 1
        assert blas_threads() == 1
        other.__exit__(None, None, None)
        assert blas_threads() == before
