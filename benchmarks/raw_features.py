"""Raw features: each multiplied by a random factor from 0.001 to 1,000 and shifted, the model undoing it.

    python benchmarks/raw_features.py [--data DIR] [--n 10] [--datasets ERing NATOPS JapaneseVowels Libras]

No scale is given in either run: the unit of a feature is its own variation in the series. Success
has to stay, and proximity in units has to be that of the standardised run. The series are those of
the `true` layout, because a series that is constant in time has no variation to go by. Written to
``results/raw-features.md``.
"""

from __future__ import annotations

import numpy as np
import protocol
import report
from tqdm import tqdm

from ntdcfe import NTDCFE, SearchSettings


def main() -> None:
    """Run both ways and write them side by side."""
    parser = report.parser(__doc__)
    protocol.add_arguments(parser)
    parser.add_argument("--datasets", nargs="*", default=["ERing", "NATOPS", "JapaneseVowels", "Libras"])
    parser.add_argument("--n", type=int, default=10)
    args = parser.parse_args()
    header = report.made(SearchSettings(), args)

    rows = []
    rng = np.random.default_rng(0)
    for name, model_name in tqdm([(d, m) for d in args.datasets for m in ("knn", "random_forest")]):
        dataset = protocol.load(name, args.data, args.layout)
        model = protocol.fit_model(dataset, model_name)
        samples = protocol.evenly_spaced(protocol.invalid_samples(dataset, model), args.n)
        factor = 10 ** rng.uniform(-3, 3, dataset.X.shape[2])
        shift = factor * rng.normal(0, 10, dataset.X.shape[2])

        def raw(X: np.ndarray, model=model, factor=factor, shift=shift) -> np.ndarray:  # type: ignore[no-untyped-def]
            return model.predict((X - shift) / factor)

        plain = NTDCFE(model.predict).explain_batch(dataset.X[samples], 1)
        scaled = NTDCFE(raw).explain_batch(dataset.X[samples] * factor + shift, 1)
        success = [100 * np.mean([cf.found for cf in cfs]) for cfs in (plain, scaled)]
        units = [np.nanmean([cf.proximity_in_units for cf in cfs]) for cfs in (plain, scaled)]
        digits = [*(report.number(share, 0) for share in success), *(report.number(size, 2) for size in units)]
        rows.append([name, model_name, *digits, report.number(units[1] / units[0], 3)])
    report.write_markdown(
        args.out / "raw-features.md",
        header,
        f"{args.n} samples a case, labels only, default settings, seed 0. {protocol.LAYOUT_NOTES[args.layout]}",
        report.table(
            [
                "dataset", "model", "success %, standardised", "success %, raw", "proximity in units, standardised",
                "raw", "ratio",
            ],
            rows,
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
