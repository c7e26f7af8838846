"""What is said is what holds: originals with the printed sentences typed in, asked of the model again.

    python benchmarks/typed_back.py [--data DIR] [--seeds 0 1] [--kinds tables alibi ...]

A parser of its own (``tests/typed_back.py``) gets the text that a user reads, the original, and what features, their
values and the steps are called; never the arrays of an answer. The answers are of all kinds: the paper's datasets and
models, series and tables of ``tests/answers_to_type.py``, and what the adapters of alibi, DiCE and sktime hand out; of
each, the printed answer and the sentences of its options. Default settings, labels only unless an adapter needs more.
Written to ``results/typed-back.md``.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import protocol
import report
import torch
from tqdm import tqdm

from ntdcfe import Counterfactual, Features, SearchSettings

sys.path.insert(0, str(report.ROOT / "tests"))
from answers_to_type import KINDS, Question, listed, reader, texts_of

Array = np.ndarray


class Typed(NamedTuple):
    """A text that was typed in: whose it is, which one, and what is wrong with it ("" if nothing)."""

    name: str
    text: str
    wrong: str


def judged(name: str, text: str, said: Callable[[], Any], reached: Callable[[Any], bool]) -> Typed:
    """Ask the model about what was typed in."""
    try:
        answer = said()
    except AssertionError as error:
        return Typed(name, text, f"not understood: {error}")
    return Typed(name, text, "" if reached(answer) else f"the model says {answer}")


def of_question(question: Question) -> Iterator[Typed]:
    """All texts of the engine's answer to one question."""
    cf = question.answer()
    for key, text in (texts_of(cf) if cf.found else {}).items():
        yield judged(
            f"{question.name}, {key}", text,
            lambda text=text: question.typed({"": text})[""], lambda said: bool(said == question.target),
        )  # fmt: skip


def paper_cases(seeds: list[int], data: Path | None) -> Iterator[Typed]:
    """The paper's datasets and models, one sample a seed."""
    for name in protocol.DATASETS:
        dataset = protocol.load(name, data, "true")
        for model_name in protocol.MODELS:
            model = protocol.fit_model(dataset, model_name)
            invalid = protocol.invalid_samples(dataset, model)
            for sample in protocol.evenly_spaced(invalid, len(seeds)).tolist():
                about = f"{name} {model_name}, sample {sample}"
                yield from of_question(Question(about, model.predict, dataset.X[sample], 1, dataset.features))


def of_tests(kind: str) -> Callable[[list[int], Path | None], Iterator[Typed]]:
    """The questions of the tests."""
    return lambda seeds, data: (typed for question in KINDS[kind](seeds) for typed in of_question(question))


# -- adapters --------------------------------------------------------------------------------


def typed_columns(features: Features, x: Array, text: str) -> Array:
    """A series ``(K, D)`` or a row ``(D,)`` with a text typed in, in the columns of the model."""
    original = features.encode(np.atleast_2d(x))
    return features.decode(reader(features).printed(original, text)).reshape(x.shape)


def alibi(seeds: list[int], data: Path | None) -> Iterator[Typed]:
    """Alibi's explanations: ``text``, of rows with one-hot groups and codes, and of series."""
    from ntdcfe_plugins.alibi import NTDCFE

    questions = [*list(KINDS["tables"](seeds)), *list(KINDS["series"](seeds))]
    for question in questions:
        static = question.x.ndim == 1
        options: dict[str, Any] = (
            {
                "category_map": {5: ["basic", "plus", "gold, old"], 6: ["rent", "own", "with parents"]},
                "ohe": [6], "immutable_features": ["age"],
                "feature_range": {"income": (0, 200), "debt": (0, 100), "years": (0, 40), "rating": (1, 5)},
            }
            if static
            else {"feature_names": ["a", "b", "c"]}
        )  # fmt: skip
        names = {"feature_names": list(question.features.names)}
        explainer = NTDCFE(question.predict, target_class=True, classes=[False, True], **(options | names))
        texts = explainer.explain(question.x[None]).data["text"]
        known = _as_alibi_reads(question.features) if static else question.features
        for text in texts:
            yield judged(
                question.name, text,
                lambda text=text: question.predict(typed_columns(known, question.x, text)[None])[0], bool,  # noqa: B023
            )  # fmt: skip


def _as_alibi_reads(features: Features) -> Features:
    """Ratings are numbers there."""
    from ntdcfe import Continuous

    return Features([Continuous(name="rating") if f.name == "rating" else f for f in features])


def dice(seeds: list[int], data: Path | None) -> Iterator[Typed]:
    """DiCE's examples: the printed ``counterfactual`` of each query, of tables and of series as columns."""
    import dice_ml
    import pandas as pd
    from dice_side_by_side import breast_cancer_forest, diabetes, interfaces, wine, wine_forest

    from ntdcfe_plugins.dice import Dice

    for make in (diabetes, wine, wine_forest, breast_cancer_forest):
        X, y, categories, model = make()
        explainer = Dice(interfaces(X, y, categories)[1], dice_ml.Model(model=model, backend="sklearn"), method="ntdcfe")
        said = model.predict(X)
        for seed in seeds:
            for label in (0, 1):
                query = X[said == label].iloc[[seed * 11 + 3]].reset_index(drop=True)
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    found = explainer.generate_counterfactuals(query, 2, desired_class="opposite").cf_examples_list[0]
                cf: Counterfactual = found.counterfactual
                text = str(cf)

                def typed(cf: Counterfactual = cf, query: pd.DataFrame = query, text: str = text) -> Any:
                    read = reader(cf.features)
                    codes = {
                        name: {v: k for k, v in read.choices[name].items()} for name in cf.features.names if name in read.choices
                    }
                    state = [
                        [read.choices[n][str(v)] if n in codes else float(v) for n, v in query.iloc[0].items()]
                    ]
                    after = read.printed(np.array(state), text)[0]
                    row = {n: [codes[n][v] if n in codes else v] for n, v in zip(query.columns, after, strict=True)}
                    return model.predict(pd.DataFrame(row))[0]  # noqa: B023

                yield judged(f"{make.__name__}, query {seed} of {label}", text, typed, lambda s: bool(s != label))  # noqa: B023


def sktime(seeds: list[int], data: Path | None) -> Iterator[Typed]:
    """sktime's results: the column ``changes`` of the table, one line an instance."""
    from sktime.classification.distance_based import KNeighborsTimeSeriesClassifier
    from sktime.classification.interval_based import TimeSeriesForestClassifier
    from sktime.datasets import load_basic_motions, load_gunpoint, load_italy_power_demand
    from sktime.dists_kernels import FlatDist, ScipyDist

    from ntdcfe_plugins.sktime import CounterfactualExplainer

    flat = FlatDist(ScipyDist())
    cases = [
        ("BasicMotions, neighbours", load_basic_motions, KNeighborsTimeSeriesClassifier(distance=flat)),
        ("GunPoint, neighbours", load_gunpoint, KNeighborsTimeSeriesClassifier(distance=flat, n_neighbors=3)),
        ("ItalyPowerDemand, forest", load_italy_power_demand, TimeSeriesForestClassifier(n_estimators=20, random_state=0)),
    ]
    for name, load, model in cases:
        X_train, y_train = load(split="train", return_type="numpy3D")
        model.fit(X_train, y_train)
        X = load(split="test", return_type="numpy3D")[0][: 4 * len(seeds)]
        result = CounterfactualExplainer(model, random_state=0).explain(X, target="other")
        present = model.predict(X)
        for i, (cf, told) in enumerate(zip(result.details, result.table["changes"], strict=True)):
            if not result.table["valid"].iloc[i]:
                continue
            read = reader(cf.features)

            def typed(i: int = i, read: Any = read, told: str = told) -> Any:
                after = read.printed(X[i].T, listed(told))  # noqa: B023
                return model.predict(after.T[None])[0]  # noqa: B023

            yield judged(f"{name}, instance {i}", told, typed, lambda said: bool(said != present[i]))  # noqa: B023


SOURCES: dict[str, Callable[[list[int], Path | None], Iterator[Typed]]] = {
    "the paper's cases": paper_cases,
    **{kind: of_tests(kind) for kind in KINDS},
    "alibi": alibi,
    "DiCE": dice,
    "sktime": sktime,
}


def main() -> None:
    """Type everything back, and write what failed."""
    parser = report.parser(__doc__)
    parser.add_argument("--data", type=Path, default=protocol.data_folder(), help="datasets; else sktime's downloader")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1], help="of the series, rows and samples")
    parser.add_argument("--kinds", nargs="*", choices=tuple(SOURCES), default=list(SOURCES))
    args = parser.parse_args()
    header = report.made(SearchSettings(), args, packages=("alibi", "dice-ml", "sktime", "scikit-learn"))
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    lines, failed, total = [], [], 0
    for kind in tqdm(args.kinds):
        typed = list(SOURCES[kind](args.seeds, args.data))
        wrong = [one for one in typed if one.wrong]
        total += len(typed)
        lines.append([kind, len(typed), len(typed) - len(wrong)])
        failed += [(kind, one) for one in wrong]
    report.write_markdown(
        args.out / "typed-back.md",
        header,
        f"{total} texts were typed in by a parser that knows only them, the original and the names; {total - len(failed)} give "
        "the target. A text is a printed answer, or the sentences of one of its options.",
        report.table(["kind", "texts", "give the target"], lines),
        "Those that do not:" if failed else "None failed.",
        *(
            f"- {kind}: {one.name}: {one.wrong}\n\n```\n{one.text}\n```"
            for kind, one in failed
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
