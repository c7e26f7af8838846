"""What is said is what holds: originals with the printed sentences typed in, asked of the model again.

    python benchmarks/typed_back.py [--data DIR] [--seeds 0 1 2] [--kinds tables alibi ...]

A parser of its own (``tests/sentences.py``) gets the text that a user reads, the original, and what features, their
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
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import protocol
import report
import torch
from tqdm import tqdm

from ntdcfe import Continuous, Features, SearchSettings, Target
from ntdcfe.problem.prediction import Prediction

sys.path.insert(0, str(report.ROOT / "tests"))
from answers_to_type import KINDS, Question, answers_of, listed, reader, texts_of
from sentences import Sentences

Array = np.ndarray


class Typed(NamedTuple):
    """A text that was typed in: whose it is, which one, and what is wrong with it ("" if nothing).

    `is_all` says whether it gave the answer itself, not only the target; None if that was not looked at.
    """

    name: str
    text: str
    wrong: str
    is_all: bool | None = None


def judged(name: str, text: str, reached: Callable[[str], bool]) -> Typed:
    """Type a text in, and ask the model."""
    try:
        return Typed(name, text, "" if reached(text) else "the model does not say what is wanted")
    except AssertionError as error:
        return Typed(name, text, f"not understood: {error}")


def of_question(question: Question) -> Iterator[Typed]:
    """All texts of the engine's answer to one question."""
    cf = question.answer()
    if not cf.found:
        return
    answers = answers_of(cf)
    for key, text in texts_of(cf).items():
        typed = judged(f"{question.name}, {key}", text, question.reached)
        yield typed if typed.wrong else typed._replace(is_all=question.is_all(text, answers[key]))


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


def alibi(seeds: list[int], data: Path | None) -> Iterator[Typed]:
    """Alibi's explanations: ``text``, of rows with one-hot groups and codes, and of series."""
    from ntdcfe_plugins.alibi import NTDCFE

    of_tables = {
        "category_map": {5: ["basic", "plus", "gold, old"], 6: ["rent", "own", "with parents"]},
        "ohe": [6], "immutable_features": ["age"],
        "feature_range": {"income": (0, 200), "debt": (0, 100), "years": (0, 40), "rating": (1, 5)},
    }  # fmt: skip
    for kind, options in (("tables", of_tables), ("series", {})):
        for question in KINDS[kind](seeds):
            names = list(question.features.names)
            explainer = NTDCFE(
                question.predict, target_class=True, classes=[False, True], feature_names=names, **options
            )
            # Ratings are numbers there.
            features = [Continuous(name="rating") if f.name == "rating" else f for f in question.features]
            known = replace(question, features=Features(features))
            for text in explainer.explain(question.x[None]).data["text"]:
                yield judged(question.name, text, known.reached)


def dice(seeds: list[int], data: Path | None) -> Iterator[Typed]:
    """DiCE's examples: the printed ``counterfactual`` of each query of a table."""
    import dice_ml
    from dice_side_by_side import breast_cancer_forest, diabetes, interfaces, wine, wine_forest

    from ntdcfe_plugins.dice import Dice

    for make in (diabetes, wine, wine_forest, breast_cancer_forest):
        X, y, categories, model = make()
        explainer = Dice(interfaces(X, y, categories)[1], dice_ml.Model(model=model, backend="sklearn"), method="ntdcfe")
        said = model.predict(X)
        for seed, label in [(seed, label) for seed in seeds for label in (0, 1)]:
            query = X[said == label].iloc[[seed * 11 + 3]].reset_index(drop=True)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                found = explainer.generate_counterfactuals(query, 2, desired_class="opposite").cf_examples_list[0]
            row = FrameRow(query, model, reader(found.counterfactual.features))
            yield judged(f"{make.__name__}, query {seed} of {label}", str(found.counterfactual), row.reached)


class FrameRow:
    """A row of a frame with numbers and named categories, to be typed into.

    Parameters
    ----------
    query
        The row.
    model
        With ``predict`` of frames; any other label than that of the query is wanted.
    read
        Knows what the columns and the categories are called.
    """

    def __init__(self, query: Any, model: Any, read: Sentences) -> None:
        self.query, self.model, self.read = query, model, read

    def reached(self, text: str) -> bool:
        """Whether the model says something else of the row with a text typed in."""
        codes = self.read.choices
        names = {column: {code: label for label, code in codes[column].items()} for column in codes}
        values = [codes[c][str(v)] if c in codes else float(v) for c, v in self.query.iloc[0].items()]
        after = dict(zip(self.query.columns, self.read.printed(np.array([values]), text)[0], strict=True))
        row = self.query.iloc[:0].reindex([0]).assign(**{c: names[c][v] if c in codes else v for c, v in after.items()})
        return bool(self.model.predict(row)[0] != self.model.predict(self.query)[0])


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
        for i, (cf, told) in enumerate(zip(result.details, result.table["changes"], strict=True)):
            question = Question(
                f"{name}, instance {i}", Channels(model), X[i].T, Target.other().given(said_now(model, X[i])), cf.features
            )
            yield judged(question.name, listed(told), question.reached)


class Channels:
    """A model of sktime, asked with series ``(n, time, channel)``."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, rows: Array) -> Array:
        """Labels ``(n,)``."""
        return np.asarray(self.model.predict(rows.transpose(0, 2, 1)))


def said_now(model: Any, x: Array) -> Prediction:
    """What a model of sktime says of one series ``(channel, time)``."""
    return Prediction(np.asarray(model.predict(x[None])))


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
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2], help="of the series, rows and samples")
    parser.add_argument("--kinds", nargs="*", choices=tuple(SOURCES), default=list(SOURCES))
    args = parser.parse_args()
    header = report.made(SearchSettings(), args, packages=("alibi", "dice-ml", "sktime", "scikit-learn"))
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    lines, failed, partly, total = [], [], [], 0
    for kind in tqdm(args.kinds):
        typed = list(SOURCES[kind](args.seeds, args.data))
        wrong = [one for one in typed if one.wrong]
        total += len(typed)
        looked_at = [one for one in typed if one.is_all is not None]
        told = sum(bool(one.is_all) for one in looked_at)
        lines.append([kind, len(typed), len(typed) - len(wrong), f"{told} of {len(looked_at)}" if looked_at else "-"])
        partly += [(kind, one) for one in looked_at if not one.is_all]
        failed += [(kind, one) for one in wrong]
    report.write_markdown(
        args.out / "typed-back.md",
        header,
        f"{total} texts were typed in by a parser that knows only them, the original and the names; {total - len(failed)} give "
        "the target. A text is a printed answer, or the sentences of one of its options.",
        report.table(["kind", "texts", "give the target", "are the answer itself"], lines),
        "Those that do not:" if failed else "None failed.",
        *(f"- {kind}: {one.name}: {one.wrong}\n\n```\n{one.text}\n```" for kind, one in failed),
        *(
            ["These give the target, but not the answer itself:"] * bool(partly)
            + ["\n".join(f"- {kind}: {one.name}" for kind, one in partly)] * bool(partly)
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()
