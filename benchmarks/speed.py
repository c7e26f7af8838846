"""Wall-clock of the default search against Algorithm 1 (`PAPER`), side by side on the random forests.

    python benchmarks/speed.py [--data DIR] [--layout true|published] [--n 1] [--max-seconds 300]

The same sample by both, one after the other, in one process. Algorithm 1 is stopped after
`--max-seconds`; a ratio got that way is a lower bound and marked ">=". Written to ``results/speed.md``.
"""

from __future__ import annotations

import time

import engine
import protocol
import report
from paper import TimedModel
from tqdm import tqdm

from ntdcfe import NTDCFE, PAPER, SearchSettings


def main() -> None:
    """Time both on every dataset."""
    parser = report.parser(__doc__)
    protocol.add_arguments(parser)
    parser.add_argument("--datasets", nargs="*", default=list(protocol.DATASETS))
    parser.add_argument("--n", type=int, default=1)
    parser.add_argument("--max-seconds", type=float, default=300)
    args = parser.parse_args()
    header = report.made(f"default: {SearchSettings()!r}", f"PAPER: {PAPER!r}", args)

    number, rows = report.number, []
    in_all = [0.0, 0.0]
    for name in tqdm(args.datasets):
        dataset = protocol.load(name, args.data, args.layout)
        model = protocol.fit_model(dataset, "random_forest")
        samples = protocol.evenly_spaced(protocol.invalid_samples(dataset, model), args.n)
        # Once before the clock is looked at: what is imported and compiled at first use is not the search's time.
        NTDCFE(model.predict, dataset.features).explain(dataset.X[samples[0]], 1, **engine.row_limit(300))
        seconds, inside, calls, proximity, cut = [0.0, 0.0], 0.0, [0, 0], [0.0, 0.0], False
        for sample in samples:
            for i, settings in enumerate((SearchSettings(), PAPER)):
                timed = TimedModel(model, probabilities=False)
                explainer = NTDCFE(timed, dataset.features, settings=settings)
                started = time.perf_counter()
                cf = explainer.explain(dataset.X[sample], 1, max_seconds=args.max_seconds)
                took = time.perf_counter() - started
                seconds[i] += took
                calls[i] += engine.calls(cf)
                proximity[i] += cf.proximity
                if i == 0:
                    inside += timed.seconds
                else:
                    cut |= not cf.complete  # it keeps time for its last check, so ends a little earlier
        n = len(samples)
        rows.append(
            [
                name, number(seconds[0] / n, 2), number(calls[0] / n, 0), number((seconds[0] - inside) / inside, 2),
                number(proximity[0] / n, 2), number(seconds[1] / n), number(calls[1] / n, 0), number(proximity[1] / n, 2),
                f"{'>= ' if cut else ''}{number(seconds[1] / seconds[0], 0)}",
            ]
        )  # fmt: skip
        print(rows[-1], flush=True)
        in_all = [total + part / n for total, part in zip(in_all, seconds, strict=True)]
    ratio = number(in_all[1] / in_all[0], 0)
    rows.append(["all", number(in_all[0], 2), "", "", "", number(in_all[1]), "", "", ratio])
    report.write_markdown(
        args.out / "speed.md",
        header,
        f"Random forest, {args.n} sample(s) a dataset, labels only. The share is our own time over the model's, in the "
        f"default search. {protocol.LAYOUT_NOTES[args.layout]}",
        report.table(
            [
                "dataset", "default: seconds", "calls", "share", "proximity", "PAPER: seconds", "calls", "proximity",
                "times faster",
            ],
            rows,
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
