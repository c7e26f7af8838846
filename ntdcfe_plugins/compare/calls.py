"""How each kind of explainer is called. The kind follows from its methods: no package of theirs is imported."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe import NTDCFE, Counterfactual, InvalidInputError, Target
from ntdcfe.problem.edits import Edit

Array = NDArray[Any]

# Stands for an open end of an interval, where an explainer takes finite numbers only.
LARGEST = 1e300


@dataclass(frozen=True)
class Question:
    """The question about one instance, for any explainer.

    Parameters
    ----------
    x : array (K, D), or (D,)
    target : Target
    label : object
        One class that reaches the target, None if there is none (regression).
    class_index : int, optional
        Its column among the probabilities.
    n : int
        How many counterfactuals are wanted.
    max_seconds : float, optional
    likely : array (C,), optional
        The model's probabilities for `x`; 1 for its label where it gives labels only. None of a regressor.
    """

    x: Array
    target: Target
    label: Any
    class_index: int | None
    n: int
    max_seconds: float | None
    likely: Array | None = None

    def need_class(self) -> int:
        """The column of the wanted class; raises if the target is no class."""
        if self.class_index is None:
            raise InvalidInputError(f"this explainer takes a class as its target, not {self.target}.")
        return self.class_index

    def need_interval(self) -> list[float]:
        """The ends of the wanted interval, as finite numbers; raises if the target is no interval."""
        ends = [getattr(self.target, name, None) for name in ("lower", "upper")]
        if None in ends:
            raise InvalidInputError(f"this explainer takes an interval as its target, not {self.target}.")
        return np.clip(np.array(ends, float), -LARGEST, LARGEST).tolist()


class Answers(NamedTuple):
    """The counterfactuals of an explainer, valid or not, possibly none; and the edits that the first is made of."""

    rows: Sequence[Array] = ()
    edits: Sequence[Edit] = ()


Call = Callable[[Question], Answers]
Counting = Callable[[Callable[[Array], Any]], Callable[[Array], Any]]


@dataclass(frozen=True)
class Flat:
    """An explainer of flat rows: it gets a series ``(K, D)`` as ``(K * D,)``, step by step.

    Parameters
    ----------
    explainer : object
        An explainer or a factory, see :func:`ntdcfe_plugins.compare.compare`.
    """

    explainer: Any


def is_factory(explainer: Any) -> bool:
    """Whether it makes an explainer from a predictor: a class, or a function whose first parameter is ``predict``."""
    if inspect.isclass(explainer):
        return True
    if not callable(explainer) or hasattr(explainer, "explain") or hasattr(explainer, "generate_counterfactuals"):
        return False
    try:
        parameters = list(inspect.signature(explainer).parameters)
    except (TypeError, ValueError):
        return False
    return bool(parameters) and parameters[0] == "predict"


def calling(explainer: Any, counting: Counting | None, classes: Array | None) -> Call:
    """A function for any explainer: from a question to its answers.

    Parameters
    ----------
    explainer : object
    counting : callable, optional
        Puts the counter around the model of an :class:`ntdcfe.NTDCFE` that was not built with the counted model.
    classes : array (C,), optional
        Labels of the model's probability columns, for an :class:`ntdcfe.NTDCFE` without them.
    """
    if isinstance(explainer, Flat):
        inner = calling(explainer.explainer, counting, classes)
        return lambda q: inner(replace(q, x=q.x.ravel()))
    if isinstance(explainer, NTDCFE):
        return _engine(explainer, counting, classes)
    if hasattr(explainer, "generate_counterfactuals"):
        return _dice(explainer)
    if hasattr(explainer, "explain"):
        if hasattr(explainer, "meta"):
            return _alibi(explainer)
        return _tsinterpret(explainer) if getattr(explainer, "mode", None) in ("feat", "time") else _tscf(explainer)
    if callable(explainer):
        return lambda q: _answers(explainer(q.x), q.n)
    raise InvalidInputError(
        f"an explainer must be an NTDCFE, one of alibi, DiCE, tscf-eval or TSInterpret, or a function of x, "
        f"got {type(explainer).__name__}."
    )


def _engine(explainer: NTDCFE, counting: Counting | None, classes: Array | None) -> Call:
    engine = copy.copy(explainer)
    if counting is not None:
        engine.predict = counting(explainer.predict)
    if engine.classes is None:
        engine.classes = classes
    return lambda q: _answers(engine.explain(q.x, q.target, n_counterfactuals=q.n, max_seconds=q.max_seconds), q.n)


def _alibi(explainer: Any) -> Call:
    """alibi: ``explain(X (1, ...))``, with the wanted class as `Y_t` or `target_class`."""
    takes = inspect.signature(explainer.explain).parameters

    def call(q: Question) -> Answers:
        options: dict[str, Any] = {}
        if "Y_t" in takes:
            options["Y_t"] = np.array([q.need_class()])
        elif "target_class" in takes:
            options["target_class"] = [q.need_class()]
        if "num_samples" in takes and q.n > 1:
            options["num_samples"] = q.n
        explanation = explainer.explain(q.x[None], **options)
        several = getattr(explanation, "all", None)
        if "num_samples" in options and isinstance(several, list):
            return Answers([np.asarray(entry["X"]) for entry in several[0]])
        return _answers(explanation.cf, q.n)

    return call


def _dice(explainer: Any) -> Call:
    """DiCE: a one-row frame with its own column names, in the order of the flat row."""
    import pandas as pd

    data = explainer.data_interface
    categorical = set(getattr(data, "categorical_feature_names", ()))

    def call(q: Question) -> Answers:
        values = dict(zip(data.feature_names, q.x.ravel().tolist(), strict=True))
        row = {name: f"{value:g}" if name in categorical else value for name, value in values.items()}
        goal: dict[str, Any] = {}
        if q.target.regression:
            goal["desired_range"] = q.need_interval()
        else:
            goal["desired_class"] = q.need_class()
        try:
            result = explainer.generate_counterfactuals(pd.DataFrame([row]), total_CFs=q.n, verbose=False, **goal)
        except Exception as error:
            # DiCE's exception for a search without a result, whose class is in a package that is not imported here.
            if type(error).__name__ == "UserConfigValidationException" and "No counterfactuals" in str(error):
                return Answers()
            raise
        frame = result.cf_examples_list[0].final_cfs_df
        return Answers([] if frame is None else list(frame[list(data.feature_names)].to_numpy(dtype=float)))

    return call


def _tscf(explainer: Any) -> Call:
    """tscf-eval: ``explain(x (D, K))`` gives the counterfactual, its label and notes."""
    takes = inspect.signature(explainer.explain).parameters

    def call(q: Question) -> Answers:
        options = {"class_of_interest": q.label} if "class_of_interest" in takes else {}
        found = explainer.explain(np.ascontiguousarray(q.x.T), **options)[0]
        return Answers() if found is None else Answers([np.asarray(found).reshape(q.x.T.shape).T])

    return call


def _tsinterpret(explainer: Any) -> Call:
    """TSInterpret: ``explain(x (1, D, K))``, ``(1, K, D)`` in its mode "time", gives the counterfactual and its label.

    Its methods spell the rest differently: the wanted class is `target` or `target_y`; the answer of the model to x is
    `y`, a label, or `original_y`, probabilities ``(1, C)``.
    """
    takes = inspect.signature(explainer.explain).parameters

    def call(q: Question) -> Answers:
        wanted, likely = q.need_class(), np.atleast_2d(np.asarray(q.likely, dtype=float))
        known = {
            "target": wanted, "target_y": wanted, "orig_class": int(likely.argmax()), "y": int(likely.argmax()),
            "original_y": likely,
        }  # fmt: skip
        x = q.x if explainer.mode == "time" else np.ascontiguousarray(q.x.T)
        found = explainer.explain(x[None], **{name: value for name, value in known.items() if name in takes})[0]
        if found is None:
            return Answers()
        answer = np.asarray(found, dtype=float).reshape(x.shape)
        return Answers([answer if explainer.mode == "time" else answer.T])

    return call


def _answers(answer: Any, n: int) -> Answers:
    """Counterfactuals from the result of an explainer or a function."""
    if answer is None:
        return Answers()
    if isinstance(answer, Counterfactual):
        return Answers(answer.candidates[:n], answer.edits)
    if isinstance(answer, tuple):  # the counterfactual comes first, notes follow
        return _answers(answer[0], n)
    if isinstance(answer, dict):
        return _answers(answer.get("X"), n)
    if isinstance(answer, np.ma.MaskedArray):
        answer = np.where(np.ma.getmaskarray(answer), math.nan, answer.data)  # type: ignore[no-untyped-call]
    if isinstance(answer, list):
        return Answers([np.asarray(entry) for entry in answer])
    return Answers([np.asarray(answer)])
