"""Fuzzed calls: 10,000 through the core, or 1,000 through each adapter.

    python benchmarks/load/fuzz.py [--n 10000]
    python benchmarks/load/fuzz.py --adapters [--n 1000]

With the strategies of ``tests/core/test_fuzz.py`` and ``tests/plugins/test_fuzz_adapters.py``. Written to
``results/load-fuzz.md`` and ``results/load-fuzz-adapters.md``; anything but a documented exception or a valid result
ends it with an error.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import report
from hypothesis import HealthCheck, Phase, given, settings

for folder in ("core", "plugins"):
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / folder))


def outcomes_of(calls: Callable[[], Any], check: Callable[[Any], str], n: int) -> Counter[str]:
    """What becomes of `n` calls."""
    outcomes: Counter[str] = Counter()

    @settings(
        max_examples=n, deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(call=calls())
    def run(call: Any) -> None:
        outcomes[check(call)] += 1

    run()
    return outcomes


def core(n: int) -> list[str | list[str]]:
    """The core's results."""
    from test_fuzz import calls, check

    outcomes = outcomes_of(calls, check, n)
    return [
        f"{sum(outcomes.values())} fuzzed calls of `explain` and `explain_batch`. Each ended in a documented exception "
        "(refused: InvalidInputError; model failed: PredictorError) or a valid result.",
        report.table(["outcome", "calls"], outcomes.most_common()),
    ]


def adapters(n: int) -> list[str | list[str]]:
    """The adapters' results."""
    from test_fuzz_adapters import ADAPTERS

    counts = {name: outcomes_of(calls, check, n) for name, (calls, check) in ADAPTERS.items()}
    total = sum(counts.values(), Counter[str]())
    return [
        f"{sum(total.values())} fuzzed calls through the adapters. Each ended in an exception that is documented (refused: "
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
    parser.add_argument("--n", type=int, help="calls: 10,000, or 1,000 of each adapter, if not given")
    parser.add_argument("--adapters", action="store_true", help="the adapters in place of the core")
    args = parser.parse_args()
    header = report.made(args, packages=("hypothesis", *(("alibi", "dice-ml", "sktime") if args.adapters else ())))
    parts = adapters(args.n or 1_000) if args.adapters else core(args.n or 10_000)
    report.write_markdown(args.out / f"load-fuzz{'-adapters' if args.adapters else ''}.md", header, *parts)


if __name__ == "__main__":
    main()
