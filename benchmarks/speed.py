"""Wall-clock of the default search against Algorithm 1 (`PAPER`), side by side on the random forests.

    python benchmarks/speed.py --data DIR [--n 1] [--max-seconds 300]

The same sample by both, one after the other, in one process. Algorithm 1 is stopped after
`--max-seconds`; a ratio got that way is a lower bound and marked ">=". Written to ``results/speed.md``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import protocol
from paper import RESULTS, TimedModel, features_of
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER, SearchSettings


def main() -> None:
    """Time both on every dataset."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--datasets", nargs="*", default=list(protocol.DATASETS))
    parser.add_argument("--n", type=int, default=1)
    parser.add_argument("--max-seconds", type=float, default=300)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()

    lines = [
        f"Made by `benchmarks/speed.py`: random forest, {args.n} sample(s) a dataset, labels only. The share is our own "
        "time over the model's, in the default search.",
        "",
        "| dataset | default: seconds | calls | share | proximity | PAPER: seconds | calls | proximity | times faster |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    in_all = [0.0, 0.0]
    for name in tqdm(args.datasets):
        dataset = protocol.load(name, args.data)
        model = protocol.fit_model(dataset, "random_forest")
        samples = protocol.evenly_spaced(protocol.invalid_samples(dataset, model), args.n)
        NTDCFE(model.predict, features_of(dataset)).explain(dataset.X[samples[0]], 1, max_queries=300)  # warm up
        seconds, inside, calls, proximity, cut = [0.0, 0.0], 0.0, [0, 0], [0.0, 0.0], False
        for sample in samples:
            for i, settings in enumerate((SearchSettings(), PAPER)):
                timed = TimedModel(model, probabilities=False)
                explainer = NTDCFE(timed, features_of(dataset), settings=settings)
                started = time.perf_counter()
                cf = explainer.explain(dataset.X[sample], 1, max_seconds=args.max_seconds)
                took = time.perf_counter() - started
                seconds[i] += took
                calls[i] += cf.n_calls
                proximity[i] += cf.proximity
                if i == 0:
                    inside += timed.seconds
                else:
                    cut |= not cf.complete  # it keeps time for its last check, so ends a little earlier
        n = len(samples)
        lines.append(
            f"| {name} | {seconds[0] / n:.2f} | {calls[0] / n:.0f} | {(seconds[0] - inside) / inside:.2f} "
            f"| {proximity[0] / n:.2f} | {seconds[1] / n:.1f} | {calls[1] / n:.0f} | {proximity[1] / n:.2f} "
            f"| {'>= ' if cut else ''}{seconds[1] / seconds[0]:.0f} |"
        )
        print(lines[-1], flush=True)
        in_all = [total + part / n for total, part in zip(in_all, seconds, strict=True)]
    lines.append(f"| all | {in_all[0]:.2f} | | | | {in_all[1]:.1f} | | | {in_all[1] / in_all[0]:.0f} |")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "speed.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
