"""A soak: 10,000 explanations in one process; does its memory stay flat?

    python benchmarks/load/soak.py [--n 10000]

Written to ``results/load-soak.md``. Memory is the resident set of the process.
"""

from __future__ import annotations

import argparse
import gc
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import SMALL, model, series, write
from tqdm import tqdm

from ntdcfe import NTDCFE

SHAPES = ((12, 3), (30, 2), (8, 6))


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """Explain, and look at the memory ten times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000)
    args = parser.parse_args()
    settings = replace(SMALL, max_queries=300, max_calls=5)
    found, memory = 0, []
    for i in tqdm(range(args.n)):
        x = series(1, *SHAPES[i % len(SHAPES)], seed=i)[0]
        found += NTDCFE(model, settings=settings, seed=i).explain(x, 1).found
        if (i + 1) % (args.n // 10) == 0:
            gc.collect()
            memory.append(resident())
    # The first tenth fills caches and pools.
    spread = (max(memory[1:]) - min(memory[1:])) / np.mean(memory[1:])
    growth = memory[-1] / memory[0] - 1
    write(
        "load-soak.md",
        f"{args.n} explanations in one process ({found} found), shapes {', '.join(f'{k} x {d}' for k, d in SHAPES)} by turns; "
        "made by `benchmarks/load/soak.py`.",
        "",
        f"Resident memory after each tenth, MB: {', '.join(f'{m:.1f}' for m in memory)}. "
        f"From the first tenth to the last {100 * growth:+.2f}%; spread from the second on {100 * spread:.2f}%.",
    )


if __name__ == "__main__":
    main()
