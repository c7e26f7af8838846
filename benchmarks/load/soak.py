"""A soak: 10,000 explanations in one process; does its memory stay flat?

    python benchmarks/load/soak.py [--n 10000]

Written to ``results/load-soak.md``. Memory is the resident set of the process.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
from common import SMALL, engine, model, report, series
from tqdm import tqdm

from ntdcfe import NTDCFE

SHAPES = ((12, 3), (30, 2), (8, 6))


def resident() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    """Explain, and look at the memory ten times."""
    parser = report.parser(__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    args = parser.parse_args()
    settings = engine.limited(SMALL, 300, 5)
    header = report.made(settings, args)
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
    number = report.number
    report.write_markdown(
        args.out / "load-soak.md",
        header,
        f"{args.n} explanations in one process ({found} found), shapes {', '.join(f'{k} x {d}' for k, d in SHAPES)} by turns.",
        f"Resident memory after each tenth, MB: {', '.join(map(number, memory))}. From the first tenth to the last "
        f"{number(100 * growth, 2, '+')}%; spread from the second on {number(100 * spread, 2)}%.",
    )


if __name__ == "__main__":
    main()
