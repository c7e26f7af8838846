"""Fault injection: 1,008 explanations of a model that fails or errs in 1% to 20% of its calls (flips: of its rows).

    python benchmarks/load/faults.py

Default budgets; the flips once more with 600 rows and 12 calls, where votes run out. Written to
``results/load-faults.md``. "Rejected" are counterfactuals handed out (further candidates included) that
the clean model rejects. "Lost" are explanations without a result although the model had said "valid" of a row that
is valid. "Unnamed" are failures without a cause that says what happened.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter

import numpy as np
from common import engine, model, report, series
from tqdm import tqdm

from ntdcfe import NTDCFE, PredictorError, SearchSettings

RATES = (0.01, 0.05, 0.1, 0.2)
EACH = 18
FEW = (600, 12)  # rows and calls with which votes run out
# What the cause of each kind of fault has to say.
KINDS = {
    "raises": "lost connection",
    "times out": "no answer within",
    "NaN": "NaN",
    "short": "wrong shape",
    "shuffled shape": "wrong shape",
    "another number of classes": "another number of classes",
    "flips rows": None,
}


class Faulty:
    """The model behind a bad line; remembers whether it ever told of a valid row."""

    def __init__(self, kind: str, rate: float, seed: int) -> None:
        self.kind, self.rate = kind, rate
        self.rng = np.random.default_rng(seed)
        self.told = False
        self.first = True

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Probabilities (n, 2)."""
        label = model(X)
        answer = np.column_stack([1 - label, label]).astype(float)
        if self.kind == "flips rows":
            flipped = self.rng.random(len(X)) < self.rate
            answer = np.where(flipped[:, None], answer[:, ::-1], answer)
            self.told |= bool((label[~flipped] == 1).any())
            return answer
        # The number of classes is what the first answer says.
        if self.rng.random() >= self.rate or (self.kind == "another number of classes" and self.first):
            self.first = False
            self.told |= bool(label.any())
            return answer
        if self.kind == "raises":
            raise ConnectionError("lost connection")
        if self.kind == "times out":
            time.sleep(0.15)
            return answer
        if self.kind == "NaN":
            answer[self.rng.integers(len(X))] = np.nan
            return answer
        if self.kind == "short":
            return answer[:-1]
        if self.kind == "shuffled shape":
            return answer.T[None] if len(X) == 2 else answer.T
        return np.column_stack([answer, np.zeros(len(X))])


def explain(kind: str, rate: float, retries: int, seed: int, limits: tuple[int, int] | None = None) -> Counter[str]:
    """One explanation against one faulty model, as counts."""
    faulty = Faulty(kind, rate, seed)
    settings = SearchSettings(retries=retries, retry_wait=0.0, call_seconds=0.1 if kind == "times out" else None)
    if limits:
        settings = engine.limited(settings, *limits)
    x = series(1, seed=seed)[0]
    counts = Counter(explanations=1)
    cause = None
    try:
        cf = NTDCFE(faulty, settings=settings, seed=seed).explain(x, 1)
    except PredictorError as error:
        counts["raised"] += 1
        counts["lost"] += faulty.told
        cause = error
    else:
        counts[cf.status] += 1
        counts["found in all"] += cf.found
        counts["unconfirmed"] += cf.found and not cf.confirmed
        counts["lost"] += faulty.told and not cf.found
        counts["rejected"] += sum(model(c[None])[0] != 1 for c in cf.candidates)
        cause = cf.cause
        counts["unnamed"] += cf.status == "model_failed" and cause is None
    named = KINDS[kind]
    if cause is not None:
        counts["unnamed"] += named is None or named not in str(cause)
    return counts


def main() -> None:
    """Every kind of fault at every rate, with and without retries."""
    args = report.parser(__doc__).parse_args()
    header = report.made(SearchSettings(), f"{EACH} explanations a line, rates {RATES}, retries 0 and 3")
    rows = []
    total: Counter[str] = Counter()
    with warnings.catch_warnings(), tqdm(total=len(KINDS) * len(RATES) * 2 * EACH) as bar:
        for kind in KINDS:
            for rate in RATES:
                for retries in (0, 3):
                    counts: Counter[str] = Counter()
                    for i in range(EACH):
                        counts += explain(kind, rate, retries, 1000 * i + int(1000 * rate) + retries)
                        bar.update()
                    total += counts
                    rows.append(_row(kind, f"{100 * rate:g}", str(retries), counts))
    rows.append(_row("all", "", "", total))
    for rate in RATES:
        few: Counter[str] = Counter()
        for i in range(2 * EACH):
            few += explain("flips rows", rate, 0, 1000 * i + int(1000 * rate), FEW)
        rows.append(_row(f"flips rows, {FEW[0]} rows", f"{100 * rate:g}", "0", few))
    report.write_markdown(
        args.out / "load-faults.md",
        header,
        f"{len(KINDS) * len(RATES) * EACH * 2} explanations, default budgets, of a model with faults at random; "
        "`benchmarks/load/faults.py` says what the columns mean.",
        report.table(
            [
                "fault", "rate %", "retries", "found", "of them model_failed", "unconfirmed", "raised, nothing found",
                "not found", "rejected", "lost", "unnamed",
            ],
            rows,
        ),
    )  # fmt: skip


def _row(kind: str, rate: str, retries: str, c: Counter[str]) -> list[object]:
    found = f"{c['found in all']} of {c['explanations']}"
    not_found = c["budget_exhausted"] + c["not_found"]
    counts = [c["model_failed"], c["unconfirmed"], c["raised"], not_found, c["rejected"], c["lost"], c["unnamed"]]
    return [kind, rate, retries, found, *counts]


if __name__ == "__main__":
    main()
