"""Recorded outcomes of small cases: a change of behaviour is a diff in ``tests/recorded.csv``.

``python tests/recorded.py`` rewrites the file; ``tests/test_recorded.py`` compares with it. The last bits of sums
depend on the type of processor and on the versions of numpy and torch, and a search follows such bits, so the
first line of the file names them: elsewhere only what does not depend on bits is compared.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_info

from ntdcfe import (
    NTDCFE,
    PAPER,
    AtMost,
    Causal,
    Continuous,
    Counterfactual,
    Discrete,
    Features,
    OneHot,
    SearchSettings,
    Target,
)
from ntdcfe.testing import Failing, Flipping, ends_high, logistic, quarters, series, stumps, total

# The search for the nearest answer alone.
NEAREST = SearchSettings(options=["nearest"], survival=None)
PATH = Path(__file__).with_name("recorded.csv")
COLUMNS = ("case", "status", "proximity", "sparsity", "rows", "calls", "hash")
CASES: dict[str, Callable[[], Counterfactual | list[Counterfactual]]] = {}


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    """Record what this function returns under its name."""
    CASES[function.__name__] = function
    return function


def explain(predict: Any, x: np.ndarray, target: Any, features: Any = None, max_rows: int = 900, **options: Any) -> Any:
    """One explanation with a small budget."""
    settings = options.pop("settings", NEAREST)
    how_many = options.pop("n_counterfactuals", None)
    return NTDCFE(predict, features, settings=settings, **options).explain(
        x, target, max_rows=max_rows, n_counterfactuals=how_many
    )


@case
def series_labels() -> Any:
    return explain(ends_high, series(20, 2, mean=-1.5), 1)


@case
def series_labels_full_budget() -> Any:
    return explain(stumps, series(40, 6), 1, max_rows=10_000)


@case
def series_labels_seed_7() -> Any:
    return explain(stumps, series(40, 6), 1, seed=7)


@case
def series_probabilities() -> Any:
    return explain(logistic, series(30, 3), 1)


@case
def series_one_probability_column() -> Any:
    return explain(lambda X: logistic(X)[:, 1], series(12, 2), 1, output="probability")


@case
def series_another_class() -> Any:
    return explain(quarters, series(25, 3), "other")


@case
def series_several_labels() -> Any:
    return explain(quarters, series(25, 3), ["c", "d"])


@case
def series_least_probability() -> Any:
    return explain(logistic, series(15, 2), Target.probability(1, 0.8))


@case
def series_regression() -> Any:
    return explain(total, series(18, 2), Target.interval(4, 8))


@case
def series_float32() -> Any:
    return explain(stumps, series(20, 3).astype(np.float32), 1)


@case
def series_wide() -> Any:
    return explain(logistic, series(5, 60), 1)


@case
def series_in_raw_units() -> Any:
    return explain(lambda X: stumps(X / [1e3, 1e-3, 1.0]), series(20, 3) * [1e3, 1e-3, 1.0], 1)


@case
def series_far_target() -> Any:
    return explain(lambda X: (X[..., 0].min(1) > 25).astype(int), series(10, 2), 1, max_rows=3000)


@case
def series_without_reach() -> Any:
    return explain(stumps, series(20, 3), 1, settings=replace(NEAREST, reach=None))


@case
def series_to_the_end() -> Any:
    return explain(stumps, series(20, 3), 1, settings=NEAREST.given(shape="to_end"))


@case
def series_several_counterfactuals() -> Any:
    return explain(quarters, series(20, 3), "other", n_counterfactuals=3, max_rows=1500)


@case
def series_in_small_calls() -> Any:
    return explain(stumps, series(20, 3), 1, settings=NEAREST.given(max_batch_size=37))


@case
def series_few_rows() -> Any:
    return explain(stumps, series(20, 3), 1, max_rows=60)


@case
def series_plausible() -> Any:
    return explain(ends_high, series(20, 2, mean=-1.5), 1, plausible=lambda X: X[:, -3:, 0].max(1) < 1.5)


@case
def series_without_learning() -> Any:
    return explain(stumps, series(20, 3), 1, settings=NEAREST.given(learn=False))


@case
def series_without_refinement() -> Any:
    return explain(stumps, series(20, 3), 1, settings=NEAREST.given(refine=False))


@case
def series_of_a_batch() -> Any:
    X = np.stack([series(20, 3, seed) for seed in range(3)])
    return NTDCFE(stumps, settings=NEAREST).explain_batch(X, 1, max_rows=700)


@case
def series_own_proximity() -> Any:
    def squared(original: Any, x: Any, weights: Any, discrete: Any) -> Any:
        return (((x - original) ** 2) * weights).sum((1, 2))

    return explain(ends_high, series(20, 2, mean=-1.5), 1, proximity=squared)


@case
def series_own_transition() -> Any:
    def at_one_step(states: Any, action: Any, discrete: Any) -> Any:
        proposals = states.copy()
        proposals[np.arange(len(states)), action.step, action.feature] += action.strength
        return proposals

    return explain(lambda X: (X[:, 4, 0] > 0.2).astype(int), series(6, 2), 1, transition=at_one_step)


@case
def missing_cells() -> Any:
    x = series(20, 3)
    x[3:6, 0] = x[17, 1] = np.nan
    return explain(lambda X: stumps(np.nan_to_num(X)), x, 1, missing="fixed")


@case
def missing_in_a_row() -> Any:
    x = np.array([-0.5, np.nan, -0.2, -0.7, -0.1])
    return explain(lambda X: logistic(np.nan_to_num(X) * 3), x, 1, missing="fixed")


@case
def causal_rule() -> Any:
    features = Features([Continuous(), Continuous(role="non_actionable"), Continuous()])
    rule = Causal(1, 0, lambda a: 0.5 * a + 0.1)
    return explain(lambda X: (X[..., 1].mean(1) > 0.2).astype(int), series(15, 3), 1, features, constraints=[rule])


@case
def causal_rule_with_a_lag() -> Any:
    features = Features([Continuous(weight=2.0), Continuous(role="non_actionable")])
    rule = Causal(1, 0, lambda a: np.cumsum(a, axis=1) / 5)
    return explain(lambda X: (X[:, -1, 1] > 0.5).astype(int), series(15, 2), 1, features, constraints=[rule])


@case
def order_of_two_features() -> Any:
    features = Features.continuous(3)
    return explain(stumps, series(15, 3), 1, features, constraints=[AtMost(0, 1)])


@case
def order_and_causal_rule() -> Any:
    rules = [AtMost(2, 0), Causal(1, 0, lambda a: a - 0.4), AtMost(1, 0)]
    features = Features([Continuous(), Continuous(role="non_actionable"), Continuous(precision=1)])
    return explain(lambda X: logistic(X[..., :1] + X[..., 2:]), series(10, 3), 1, features, constraints=rules)


@case
def discarded_moves() -> Any:
    features = Features.continuous(3, bounds=(-3, 1.5))
    return explain(stumps, series(15, 3), 1, features, settings=NEAREST.given(on_violation="discard"))


@case
def directions_and_weights() -> Any:
    features = Features(
        [Continuous(direction="rise", weight=0.5), Continuous(direction="fall"), Continuous(weight=3.0)]
    )
    return explain(logistic, series(15, 3), 1, features)


@case
def decimals() -> Any:
    features = Features([Continuous(precision=1), Continuous(precision=0, bounds=(-4, 4)), Continuous()])
    return explain(stumps, series(15, 3), 1, features)


@case
def frozen_steps() -> Any:
    return explain(ends_high, series(20, 2, mean=-1.5), 1, Features.continuous(2, actionable_steps=slice(10, None)))


@case
def immutable_features() -> Any:
    features = Features([Continuous(role="immutable"), Continuous(), Continuous(role="non_actionable")])
    return explain(lambda X: (X[..., 1].mean(1) > 0.1).astype(int), series(15, 3), 1, features)


@case
def series_of_categories() -> Any:
    x = np.column_stack([series(12, 1)[:, 0], np.tile([1.0, 0.0, 0.0], (12, 1))])
    features = Features([Continuous(), OneHot(["low", "middle", "high"])])
    return explain(lambda X: (X[:, :, 3].sum(1) + X[..., 0].mean(1) > 5).astype(int), x, 1, features)


@case
def row_labels() -> Any:
    x = np.array([0.2, 0.9, 0.1, 0.5, 0.3, 0.7])
    return explain(stumps, x - 1, 1, Features.continuous(6, bounds=(-2, 2)))


@case
def row_probabilities() -> Any:
    return explain(logistic, series(1, 12)[0], 1)


@case
def row_regression() -> Any:
    return explain(total, series(1, 8)[0], Target.interval(1, None))


@case
def row_with_categories() -> Any:
    features = Features(
        [Continuous(bounds=(0, 100), precision=0), Discrete(values=[1, 2, 3]), OneHot(["rent", "own"], weight=2.0)]
    )
    x = np.array([30.0, 1.0, 1.0, 0.0])
    score = np.array([0.03, 0.4, 0.0, 1.0])
    return explain(lambda X: (X @ score > 3).astype(int), x, 1, features)


@case
def row_several_counterfactuals_labels() -> Any:
    x = series(1, 6)[0]
    return explain(stumps, x, 1, Features.continuous(6, bounds=(-3, 3)), n_counterfactuals=4)


@case
def row_several_counterfactuals_probabilities() -> Any:
    return explain(logistic, series(1, 8)[0], 1, Features.continuous(8, bounds=(-4, 4)), n_counterfactuals=4)


@case
def paper_labels() -> Any:
    settings = PAPER.given(max_episodes=12, max_interventions=20, hidden=(20, 10), learning_rate=1e-3)
    return explain(ends_high, series(10, 2), 1, settings=settings, max_rows=None)


@case
def paper_with_discrete_features() -> Any:
    settings = PAPER.given(max_episodes=12, max_interventions=20, hidden=(20, 10), learning_rate=1e-3)
    x = np.column_stack([series(8, 1)[:, 0], np.full(8, 2.0)])
    features = Features([Continuous(bounds=(-2, 2)), Discrete(values=[1, 2, 3])])
    return explain(lambda X: (X.sum((1, 2)) > 22).astype(int), x, 1, features, settings=settings, max_rows=None)


@case
def model_that_contradicts_itself() -> Any:
    return explain(Flipping(0.05), series(12, 2), 1, max_rows=2500)


@case
def model_that_often_contradicts_itself() -> Any:
    return explain(Flipping(0.2), series(8, 2), 1, max_rows=6000)


@case
def model_that_fails_late() -> Any:
    return explain(Failing(9), series(20, 2, mean=-1.5), 1)


@case
def nothing_to_find() -> Any:
    return explain(lambda X: np.zeros(len(X), int), series(8, 2), 1)


@case
def nothing_to_change() -> Any:
    return explain(ends_high, series(8, 2, mean=5.0), 1)


def platform() -> str:
    """What the last bits depend on: versions, and which of the processor's instructions torch and numpy's BLAS take."""
    capability = torch.backends.cpu.get_cpu_capability()
    np.ones((2, 2)) @ np.ones((2, 2))
    blas = sorted({
        f"{library['internal_api']} {library.get('architecture', '')}".strip()
        for library in threadpool_info()
        if library["user_api"] == "blas" and "numpy" in library["filepath"]
    })  # fmt: skip
    return f"numpy {np.__version__}, torch {torch.__version__}, {capability}, {', '.join(blas)}"


def outcome(results: Counterfactual | list[Counterfactual]) -> dict[str, str]:
    """What is recorded of one case, as text."""
    cfs = results if isinstance(results, list) else [results]
    digest = hashlib.sha256()
    for cf in cfs:
        for x in cf.candidates:
            digest.update(np.ascontiguousarray(x).tobytes())
    return {
        "status": " ".join(cf.status for cf in cfs),
        "proximity": " ".join(f"{cf.proximity:.10g}" for cf in cfs),
        "sparsity": " ".join(str(cf.sparsity) for cf in cfs),
        "rows": " ".join(str(cf.rows) for cf in cfs),
        "calls": " ".join(str(cf.calls) for cf in cfs),
        "hash": digest.hexdigest()[:16],
    }


@case
def simplest_of_a_series() -> Any:
    return explain(stumps, series(40, 6), 1, max_rows=3000, settings=SearchSettings())


@case
def simplest_of_a_series_full_budget() -> Any:
    return explain(ends_high, series(30, 3, mean=-1.5), 1, max_rows=10_000, settings=SearchSettings())


@case
def simplest_of_a_series_with_categories() -> Any:
    x = np.column_stack([series(12, 1)[:, 0], np.tile([1.0, 0.0, 0.0], (12, 1))])
    features = Features([Continuous(), OneHot(["low", "middle", "high"])])
    model = lambda X: (X[:, :, 3].sum(1) + X[..., 0].mean(1) > 5).astype(int)  # noqa: E731
    return explain(model, x, 1, features, max_rows=3000, settings=SearchSettings())


@case
def simplest_of_a_row() -> Any:
    return explain(logistic, series(1, 12)[0], 1, max_rows=3000, settings=SearchSettings())


@case
def sturdiest_of_a_series() -> Any:
    settings = SearchSettings(prefer="sturdiest")
    return explain(logistic, series(30, 3), 1, max_rows=3000, settings=settings)


def read() -> tuple[str, dict[str, dict[str, str]]]:
    """The platform of the record, and its rows by case."""
    first, *lines = PATH.read_text().splitlines()
    return first.removeprefix("# "), {row.pop("case"): row for row in csv.DictReader(lines)}


def write() -> None:
    """Run every case and rewrite the record."""
    with PATH.open("w", newline="") as file:
        file.write(f"# {platform()}\n")
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for name, run in CASES.items():
            table.writerow({"case": name, **outcome(run())})


if __name__ == "__main__":
    write()
