"""What the load benchmarks share: a small model, small budgets, comparable results."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

# The scripts of this folder take the modules of benchmarks from here, since only this line finds them.
sys.path.insert(0, str(Path(__file__).parents[1]))
import engine
import report

from ntdcfe import NTDCFE, Counterfactual, SearchSettings

__all__ = ["SMALL", "busy", "engine", "explainer", "model", "outcome", "report", "series"]

SMALL = engine.limited(SearchSettings(), 400, 12)


def model(X: np.ndarray) -> np.ndarray:
    """1 where feature 0 is positive on average over the last three steps: labels (n,)."""
    return (X[:, -3:, 0].mean(1) > 0).astype(int)


def series(n: int, n_steps: int = 12, n_features: int = 3, seed: int = 0) -> np.ndarray:
    """Series (n, K, D) that the model calls 0, most of them."""
    return np.random.default_rng(seed).normal(-0.5, 0.3, (n, n_steps, n_features))


def busy() -> str:
    """How busy the machine is, for results that depend on it."""
    return f"Processes that wanted one of the {os.cpu_count()} processors: {os.getloadavg()[2]:.1f} on average over 15 minutes."


def explainer(**options: Any) -> NTDCFE:
    """The model with small budgets."""
    return NTDCFE(model, settings=SMALL, **options)


def outcome(cf: Counterfactual) -> dict[str, Any]:
    """All that must not depend on where and when it was computed."""
    # How many calls depends on who shares them, not what is asked in them.
    return {name: value for name, value in cf.to_dict().items() if name not in engine.NOT_REPEATABLE}
