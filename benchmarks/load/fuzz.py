"""Fuzzed calls: 10,000 through the core, or 10,000 through the adapters.

    python benchmarks/load/fuzz.py [--n 10000] [--seed 1]
    python benchmarks/load/fuzz.py --adapters [--n 10000] [--seed 1]

With the strategies of ``tests/core/test_fuzz.py`` (odd input), ``tests/core/test_hostile.py`` (functions of the user's
that do anything) and ``tests/plugins/test_fuzz_adapters.py``, each call under up to three of the states of
``tests/callers.py`` (of torch, numpy, warnings, threads), which have to be as they were afterwards. The tests try the same
few calls every time; here they are drawn anew with each seed, which the header names. Written to ``results/load-fuzz.md``
and ``results/load-fuzz-adapters.md``; anything but a documented exception or a valid result ends it with an error.
"""

from __future__ import annotations

import math
import secrets
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import report
from hypothesis import HealthCheck, Phase, given, seed, settings
from tqdm import tqdm

for folder in ("", "core", "plugins"):
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / folder))
from callers import STATES, states_of_callers  # noqa: E402

# Calls with functions that do anything take longer than those that are refused: so many of those of the core.
HOSTILE = 0.4


# Drawn with a seed of their own: hypothesis keeps all that it has drawn in memory.
CHUNK = 500


def outcomes_of(
    calls: Callable[[], Any], check: Callable[[Any, Any], str], n: int, name: str, first_seed: int, minutes: float
) -> Counter[str]:
    """What becomes of `n` calls, or of as many as there are minutes for."""
    until, outcomes = time.monotonic() + 60 * minutes, Counter[str]()
    with tqdm(total=n, desc=name) as bar:
        for begun in range(0, n, CHUNK):
            if time.monotonic() < until:
                outcomes += _outcomes(calls, check, min(CHUNK, n - begun), first_seed * 1_000_003 + begun, until, bar)
    return outcomes


def _outcomes(
    calls: Callable[[], Any], check: Callable[[Any, Any], str], n: int, drawn_with: int, until: float, bar: tqdm[Any]
) -> Counter[str]:
    outcomes: Counter[str] = Counter()

    @seed(drawn_with)
    @settings(
        max_examples=n, deadline=None, database=None, derandomize=False, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate], print_blob=False,
    )  # fmt: skip
    @given(call=calls(), states=states_of_callers)
    def run(call: Any, states: Any) -> None:
        if time.monotonic() >= until:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes[check(call, states)] += 1
        bar.update()

    run()
    return outcomes


def core(n: int, first_seed: int, minutes: float) -> list[str | list[str]]:
    """The core's results."""
    import test_fuzz
    import test_hostile

    hostile = round(HOSTILE * n)
    counts = {
        "odd input": outcomes_of(test_fuzz.calls, test_fuzz.check, n - hostile, "odd input", first_seed, minutes / 2),
        "hostile functions": outcomes_of(
            test_hostile.calls, test_hostile.check, hostile, "hostile functions", first_seed, minutes / 2
        ),
    }
    total = sum(counts.values(), Counter[str]())
    return [
        f"{sum(total.values())} fuzzed calls of `explain`, `explain_batch` and `session`, each under up to three of "
        f"{len(STATES)} states of torch, numpy, warnings and threads, which were as before afterwards. Each ended in a "
        "documented exception (refused: InvalidInputError; model failed: PredictorError) or a valid result, told by "
        "functions of the tests that look at the series alone and ask the model about one at a time. Warning raised: ours, "
        "where the caller makes errors of warnings. Ended by the user's function: it raised SystemExit or GeneratorExit. Of "
        "several series in a call, the status of the first counts.",
        report.table(
            ["outcome", *counts, "calls"],
            [[name, *(c[name] for c in counts.values()), calls] for name, calls in total.most_common()],
        ),
    ]


def adapters(n: int, first_seed: int, minutes: float) -> list[str | list[str]]:
    """The adapters' results."""
    from test_fuzz_adapters import ADAPTERS

    each = -(-n // len(ADAPTERS))
    counts = {
        name: outcomes_of(calls, check, each, name, first_seed, minutes / len(ADAPTERS))
        for name, (calls, check) in ADAPTERS.items()
    }
    total = sum(counts.values(), Counter[str]())
    return [
        f"{sum(total.values())} fuzzed calls through the adapters, each under up to three of {len(STATES) - 1} states of torch, "
        "numpy and threads, which were as before afterwards. Each ended in an exception that is documented (refused: "
        "InvalidInputError, or DiCE's, sktime's and scikit-learn's own checks of input; model failed: PredictorError, or "
        "alibi's PredictorCallError and PredictorReturnTypeError) or in a valid result; `not found` is DiCE's "
        "NoCounterfactualsFound. Of several series in a call, the status of the first counts.",
        report.table(
            ["outcome", *counts], [[name, *(c[name] for c in counts.values())] for name, _ in total.most_common()]
        ),
    ]


def main() -> None:
    """Count what becomes of the calls."""
    parser = report.parser(__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="calls")
    parser.add_argument("--adapters", action="store_true", help="the adapters in place of the core")
    parser.add_argument("--seed", type=int, help="of the calls; one that was not tried before if not given")
    parser.add_argument("--minutes", type=float, default=math.inf, help="that it may take; fewer calls then")
    args = parser.parse_args()
    args.seed = secrets.randbelow(10**6) if args.seed is None else args.seed
    header = report.made(args, packages=("hypothesis", *(("alibi", "dice-ml", "sktime") if args.adapters else ())))
    parts = (adapters if args.adapters else core)(args.n, args.seed, args.minutes)
    report.write_markdown(args.out / f"load-fuzz{'-adapters' if args.adapters else ''}.md", header, *parts)


if __name__ == "__main__":
    main()
