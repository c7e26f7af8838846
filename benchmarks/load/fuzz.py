"""10,000 fuzzed calls through the core, with the strategies of ``tests/core/test_fuzz.py``.

    python benchmarks/load/fuzz.py [--n 10000]

Written to ``results/load-fuzz.md``; anything but a documented exception or a valid result ends it with an error.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from common import write
from hypothesis import HealthCheck, Phase, given, settings

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "core"))
from test_fuzz import calls, check


def main() -> None:
    """Count what becomes of the calls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000)
    args = parser.parse_args()
    outcomes: Counter[str] = Counter()

    @settings(
        max_examples=args.n,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(call=calls())
    def run(call: tuple) -> None:
        outcomes[check(call)] += 1

    run()
    write(
        "load-fuzz.md",
        f"{sum(outcomes.values())} fuzzed calls of `explain` and `explain_batch`; made by `benchmarks/load/fuzz.py`. Each ended in a",
        "documented exception (refused: InvalidInputError; model failed: PredictorError) or a valid result.",
        "",
        "| outcome | calls |",
        "| --- | --- |",
        *(f"| {name} | {count} |" for name, count in outcomes.most_common()),
    )


if __name__ == "__main__":
    main()
