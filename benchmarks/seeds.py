"""Two other methods on their own ground, tables: FastAR and alibi's CFRL, with the training that they need.

    python benchmarks/seeds.py [--german FILE] [--public WHAT=FILE ...] [--n 40]

The table is made here after the schema of German Credit, FastAR's smallest dataset; ``--german`` adds its own edition
(``datasets/german_redone.csv`` of its public repository). The model is FastAR's: a small network of rows scaled to [-1, 1].
``--public`` takes what FastAR's own evaluation wrote (``all_metrics_fastCFgerman.csv``), from its authors or from a run of its
code, which is no part of this project; it is kept in ``results/seeds-public.csv``. The rest goes to ``results/seeds.md``.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import report
import torch
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler

from ntdcfe import NTDCFE, Continuous, Discrete, Features, SearchSettings
from ntdcfe_plugins.compare import Comparison, compare

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from fastar import FastAR

Array = NDArray[Any]
SEED = 0
PUBLIC = "seeds-public.csv"
# Columns of German Credit in FastAR's order: the range of a number, or how many categories there are.
SCHEMA: dict[str, tuple[int, int] | int] = {
    "Checking-account": 4, "Months": (4, 72), "Credit-history": 5, "Purpose": 10, "Credit-amount": (250, 18424),
    "Savings-account": 5, "Present-employment-since": 5, "Instalment-rate": (1, 4), "Personal-status": 2,
    "Other-debtors": 3, "Present-residence-since": (1, 4), "Property": 4, "age": (19, 75),
    "Other-installment-plans": 3, "Housing": 3, "Number-of-existing-credits": (1, 4), "Job": 4,
    "Number-of-people-being-liable": (1, 2), "Telephone": 2, "Foreign-worker": 2,
}  # fmt: skip
NAMES = tuple(SCHEMA)
CATEGORIES = {i: size for i, size in enumerate(SCHEMA.values()) if isinstance(size, int)}
IMMUTABLE = tuple(
    NAMES.index(n) for n in ("Personal-status", "Number-of-people-being-liable", "Foreign-worker", "Purpose")
)
RISING = (NAMES.index("age"), NAMES.index("Job"))
FASTAR_STEPS = (300_000,)
# Its example on a table of this kind, Adult Census, takes 10,000, and advises more.
CFRL_STEPS = (3_000,)


class Table:
    """A table and FastAR's model of it.

    Parameters
    ----------
    name
        For the result.
    X
        Rows ``(n, 20)``, categories as whole numbers.
    y
        Labels ``(n,)``: 1 is wanted.
    """

    def __init__(self, name: str, X: Array, y: Array) -> None:
        self.name, self.X = name, X
        self.levels = {i: np.unique(X[:, i]) for i in CATEGORIES}
        self.train, _, labels, _ = train_test_split(X, y, test_size=0.2, random_state=26)
        self.scaler = MinMaxScaler(feature_range=(-1, 1)).fit(self.train)
        network = MLPClassifier(solver="lbfgs", alpha=1e-5, hidden_layer_sizes=(5, 3), max_iter=10000, random_state=26)
        self.model = network.fit(self.scaler.transform(self.train), labels)

    def undesired(self, n: int) -> Array:
        """At most `n` scaled rows that the model refuses, evenly spaced."""
        rows = self.scaler.transform(self.X)
        rows = rows[self.model.predict(rows) == 0]
        return rows[np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(int)]

    def coded(self, rows: Array) -> Array:
        """Rows ``(n, 20)`` with every category by its place among its values, as alibi wants them."""
        rows = rows.copy()
        for i, levels in self.levels.items():
            rows[:, i] = np.abs(rows[:, [i]] - levels).argmin(1)
        return rows

    def valued(self, rows: Array) -> Array:
        """What :meth:`coded` undoes."""
        rows = np.array(rows, dtype=float)
        for i, levels in self.levels.items():
            rows[:, i] = levels[rows[:, i].astype(int)]
        return rows

    @property
    def features(self) -> Features:
        """The scaled columns: numbers within their range, categories at their places; two that may only rise."""
        described: list[Any] = []
        for i, name in enumerate(NAMES):
            role = "immutable" if i in IMMUTABLE else "actionable"
            if i in CATEGORIES:
                levels = (self.levels[i] * self.scaler.scale_[i] + self.scaler.min_[i]).tolist()
                described.append(Discrete(levels, name=name, role=role))
            else:
                direction = "rise" if i in RISING else None
                described.append(Continuous(name=name, bounds=(-1, 1), role=role, direction=direction))
        return Features(described)


def made(n: int = 1000) -> Table:
    """A table of the same schema: three in ten are refused, mostly by a few columns, with noise."""
    rng = np.random.default_rng(SEED)
    columns = [
        rng.integers(0, size, n).astype(float)
        if isinstance(size, int)
        else np.round(size[0] + (size[1] - size[0]) * rng.beta(1.3, 3.0, n))
        for size in SCHEMA.values()
    ]
    X = np.column_stack(columns)
    unit = (X - X.mean(0)) / X.std(0)
    weights = np.zeros(len(NAMES))
    for name, weight in {"Checking-account": 0.9, "Months": -0.7, "Credit-history": 0.5, "Credit-amount": -0.4,
                         "Savings-account": 0.4, "Present-employment-since": 0.3, "age": 0.2}.items():  # fmt: skip
        weights[NAMES.index(name)] = weight
    score = unit @ weights + rng.logistic(0, 0.7, n)
    return Table("made after its schema", X, (score > np.quantile(score, 0.3)).astype(int))


def german(path: Path) -> Table:
    """FastAR's own edition of German Credit."""
    with path.open(newline="", encoding="utf-8") as stream:
        rows = np.array(list(csv.reader(stream))[1:], dtype=float)
    return Table("German Credit", rows[:, :-1], rows[:, -1].astype(int))


def cfrl(table: Table, steps: int) -> Any:
    """alibi's CFRL for tables with its heterogeneous autoencoder, as a factory of a function of a scaled row."""
    from alibi.explainers import CounterfactualRLTabular
    from alibi.explainers.backends.cfrl_tabular import get_he_preprocessor
    from alibi.models.pytorch import ADULTDecoder, ADULTEncoder, HeAE

    def build(predict: Any) -> Any:
        torch.manual_seed(SEED)
        categories = {i: [str(k) for k in range(size)] for i, size in CATEGORIES.items()}
        train = table.coded(table.train)
        before, after = get_he_preprocessor(train, list(NAMES), categories, {})
        sizes = [len(NAMES) - len(categories), *(len(names) for names in categories.values())]
        autoencoder = HeAE(ADULTEncoder(hidden_dim=128, latent_dim=15), ADULTDecoder(hidden_dim=128, output_dims=sizes))
        learn(autoencoder, torch.tensor(np.asarray(before(train)), dtype=torch.float32), sizes)
        explainer = CounterfactualRLTabular(
            lambda rows: predict.predict_proba(table.scaler.transform(table.valued(rows))), autoencoder.encoder, autoencoder.decoder,
            before, after, coeff_sparsity=0.5, coeff_consistency=0.5, feature_names=list(NAMES), category_map=categories,
            immutable_features=[NAMES[i] for i in IMMUTABLE], ranges={"age": [0.0, 1.0]}, latent_dim=15, batch_size=100,
            train_steps=steps, backend="pytorch", num_workers=0, seed=SEED,
        )  # fmt: skip
        explainer.fit(train.astype(np.float32))

        def explain(x: Array) -> Array:
            raw = table.coded(table.scaler.inverse_transform(x[None]))
            found = explainer.explain(raw.astype(np.float32), Y_t=np.array([1]), C=[]).cf["X"]
            return np.asarray(table.scaler.transform(table.valued(found))[0])

        return explain

    return build


def learn(autoencoder: Any, rows: torch.Tensor, sizes: list[int], epochs: int = 400) -> None:
    """Fit the autoencoder: squared error of the numbers, cross entropy of the categories."""
    optimiser = torch.optim.Adam(autoencoder.parameters(), lr=1e-3)
    parts = torch.split(rows, sizes, dim=1)
    for _ in range(epochs):
        for batch in torch.randperm(len(rows)).split(128):
            numbers, *categories = autoencoder(rows[batch])
            loss = (numbers - parts[0][batch]).pow(2).mean()
            for said, true in zip(categories, parts[1:], strict=True):
                loss = loss + torch.nn.functional.cross_entropy(said, true[batch].argmax(1)) / len(categories)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def run(table: Table, n: int) -> list[list[str]]:
    """A line a method."""
    scaled = table.scaler.transform(table.train)

    def fastar(steps: int) -> Any:
        return lambda predict: FastAR(predict.predict_proba, scaled, SEED, 1, steps, IMMUTABLE, RISING)

    methods = {
        **{f"FastAR, our reading, {steps:,} steps": fastar(steps) for steps in FASTAR_STEPS},
        **{f"CFRL, alibi's, {steps:,} steps": cfrl(table, steps) for steps in CFRL_STEPS},
        "ours, labels only": lambda predict: NTDCFE(predict.predict, table.features, seed=SEED),
    }
    compared = compare(
        methods, table.undesired(n), table.model.predict_proba, 1, scaled, features=table.features, max_seconds=None
    )
    for row in compared.table:
        if row["status"] == "failed":
            print(row["method"], row["note"])
    return [line(table, row, compared) for row in compared.summary()]


def line(table: Table, row: dict[str, Any], compared: Comparison) -> list[str]:
    """A line of the result."""
    number, fit = report.number, compared.fits[row["method"]]
    return [
        table.name, row["method"], str(row["n"]), number(row["success %"], 1), number(row["features"]), number(row["l1"], 2),
        number(row["allowed %"], 0), number(row["plausible %"], 0), number(row["rows"], 0), number(fit.rows, 0, ","),
        number(fit.seconds, 0),
    ]  # fmt: skip


def keep_public(header: report.Header, said: list[str], path: Path) -> None:
    """Keep what FastAR's own evaluation wrote, the last line of each file."""
    rows = []
    for text in said:
        what, _, file = text.partition("=")
        with Path(file).open(newline="", encoding="utf-8") as stream:
            last = list(csv.DictReader(stream))[-1]
        rows.append({"what": what, "validity": last["validity"], "sparsity": last["sparsity"]})
    report.write_csv(path, header, rows)


def main() -> None:
    """Measure, and write."""
    parser = report.parser(__doc__)
    parser.add_argument("--german", type=Path, help="FastAR's own edition of German Credit")
    parser.add_argument("--public", nargs="*", default=[], metavar="WHAT=FILE", help="what FastAR's evaluation wrote")
    parser.add_argument("--n", type=int, default=40, help="rows a table")
    args = parser.parse_args()
    torch.set_num_threads(1)
    header = report.made(SearchSettings(), args, packages=("alibi", "scikit-learn"))
    if args.public:
        keep_public(header, args.public, args.out / PUBLIC)
    lines = [row for table in [*([german(args.german)] if args.german else []), made()] for row in run(table, args.n)]
    public = report.read_csv(args.out / PUBLIC)[1] if (args.out / PUBLIC).exists() else []
    head = [
        "table", "method", "rows explained", "success %", "changed features", "L1", "keeps the rules, %", "plausible %",
        "rows asked", "rows to fit", "seconds to fit",
    ]  # fmt: skip
    report.write_markdown(
        args.out / "seeds.md",
        header,
        "FastAR and CFRL are made for tables and for many rows at once: trained first, then nearly free for each row. Below "
        "they are where they belong, with the training that they need; on the series of the other tables they are not. The model is "
        "FastAR's own: a network of layers of 5 and 3 on 20 columns scaled to [-1, 1], 13 of them categories. L1 is in scaled "
        "units, 2 for a whole range, categories 1. Rules: four columns may not change, two may not fall, and a category is one "
        "of its values, which FastAR does not know: it moves all columns by 0.05.",
        report.table(head, lines),
        "## FastAR's own code",
        "By its own evaluation, on German Credit, all rows that its model refuses; sparsity is changed features.",
        report.table(
            ["what", "validity %", "sparsity"], [[row["what"], row["validity"], row["sparsity"]] for row in public]
        ),
    )


if __name__ == "__main__":
    main()
