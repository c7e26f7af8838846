"""The comparison itself: every explainer on every instance."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm.auto import tqdm

from ntdcfe import Constraint, Features, InvalidInputError, Target
from ntdcfe.model.predictor import Output
from ntdcfe_plugins._shared.arguments import constraints_of
from ntdcfe_plugins.compare.asking import Asker
from ntdcfe_plugins.compare.calls import Call, calling, is_factory
from ntdcfe_plugins.compare.comparison import NAN, Comparison, Cost, Result
from ntdcfe_plugins.compare.counted import CountedModel
from ntdcfe_plugins.compare.measures import DRAWS, detectors
from ntdcfe_plugins.compare.scores import Judge, message
from ntdcfe_plugins.compare.versions import version_of

Array = NDArray[Any]


def compare(
    explainers: Mapping[str, Any],
    X: ArrayLike,
    predict: Callable[[Array], Any],
    target: Any,
    reference: ArrayLike | None = None,
    *,
    features: Features | None = None,
    constraints: Sequence[Constraint] = (),
    n_counterfactuals: int = 1,
    max_seconds: float | None = 60.0,
    output: Output = "auto",
    classes: Sequence[Any] | Array | None = None,
    draws: int = DRAWS,
    progress: bool = True,
) -> Comparison:
    """Ask every explainer about the same instances of the same model, and score all alike.

    Parameters
    ----------
    explainers : dict of name to explainer or factory
        An explainer is an :class:`ntdcfe.NTDCFE`, one of alibi (``explain(X)`` and ``meta``), DiCE
        (``generate_counterfactuals``), tscf-eval (``explain(x (D, K))``) or TSInterpret (``explain(x (1, ...))`` and
        ``mode``), or a function of ``x`` that returns a
        counterfactual, several in a list, or None. A factory makes one from ``predict``, see :mod:`.compare`.
        :class:`Flat` around an explainer gives it flat rows.
    X : array (N, K, D), or (N, D) for static data
    predict : callable or CountedModel
        The model: labels, probabilities or values, as for the engine.
    target : label, collection of labels, "other", or Target
        Explainers that take a single class get the likeliest of the classes that reach the target.
    reference : array like X, optional
        Usual data. Only for scoring: no explainer sees it.
    features : Features, optional
        The kinds of the columns: names in pictures, discrete features and one-hot groups in scores, and the rules
        that ``allowed`` checks.
    constraints : sequence of Constraint
        Further rules that ``allowed`` checks, of any kind; an explainer gets them from its own factory.
    n_counterfactuals : int
        How many counterfactuals are asked of explainers that can give several.
    max_seconds : float, optional
        For one method on one instance. The engine ends by itself and keeps what it has found; other explainers are
        stopped at their next call to the model, and have no result.
    output, classes : optional
        The form of the model's answers, as for the engine.
    draws : int
        How many disturbed copies of each counterfactual the model is asked about to score its survival, for each of two
        sizes of noise; 0 for none. They are not among the rows of a method.
    progress : bool
        Whether to show bars.

    Returns
    -------
    Comparison
        The rows of an explainer that failed have the status "failed".

    Examples
    --------
    >>> import numpy as np
    >>> from ntdcfe import NTDCFE
    >>> from ntdcfe_plugins.compare import compare
    >>> def predict(X):
    ...     return (X[:, 0] > 0).astype(int)
    >>> shift = lambda x: x + np.array([2.0, 0.0])
    >>> comparison = compare({"ours": NTDCFE, "shift": shift}, np.full((2, 2), -1.0), predict, 1, progress=False)
    >>> [(row["method"], row["success"]) for row in comparison.table]
    [('ours', True), ('ours', True), ('shift', True), ('shift', True)]
    """
    fits: dict[str, Cost] = {}
    found = list(
        results(
            explainers, X, predict, target, reference, features=features, constraints=constraints,
            n_counterfactuals=n_counterfactuals, max_seconds=max_seconds, output=output, classes=classes,
            draws=draws, progress=progress, fits=fits,
        )
    )  # fmt: skip
    return Comparison(
        [result.row for result in found],
        np.asarray(X),
        {(result.row["method"], result.row["instance"]): result.x for result in found},
        fits,
        str(Target.of(target)),
        features,
        [result.said for result in found[: len(np.asarray(X))]],
        {result.row["method"]: result.made_with for result in found if result.made_with},
    )


def results(
    explainers: Mapping[str, Any],
    X: ArrayLike,
    predict: Callable[[Array], Any],
    target: Any,
    reference: ArrayLike | None = None,
    *,
    features: Features | None = None,
    constraints: Sequence[Constraint] = (),
    n_counterfactuals: int = 1,
    max_seconds: float | None = 60.0,
    output: Output = "auto",
    classes: Sequence[Any] | Array | None = None,
    draws: int = DRAWS,
    progress: bool = True,
    fits: dict[str, Cost] | None = None,
) -> Iterator[Result]:
    """The results of :func:`compare` one by one, for long runs that write each result when it is there.

    Parameters
    ----------
    fits : dict, optional
        Filled with the costs of building each explainer.
    """
    X = np.asarray(X)
    if X.ndim not in (2, 3) or X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be numbers (N, K, D) or (N, D), got shape {X.shape} of {X.dtype}.")
    if not explainers:
        raise InvalidInputError("explainers must name at least one explainer, got none.")
    if features is not None and features.n_columns != X.shape[-1]:
        raise InvalidInputError(f"the features describe {features.n_columns} columns, X has {X.shape[-1]}.")
    if isinstance(n_counterfactuals, bool) or not n_counterfactuals >= 1:
        raise InvalidInputError(f"n_counterfactuals must be at least 1, got {n_counterfactuals!r}.")
    if isinstance(draws, bool) or not draws >= 0:
        raise InvalidInputError(f"draws must be a whole number from 0, got {draws!r}.")
    X = X.astype(float)
    goal = Target.of(target)
    if goal.regression and output == "auto":
        output = "values"
    if isinstance(predict, CountedModel):
        if predict.shape != X.shape[1:]:
            raise InvalidInputError(f"predict is counted for shape {predict.shape}, X has {X.shape[1:]}.")
        model = predict
    else:
        model = CountedModel(predict, X.shape[1:], output, classes)
    rules = constraints_of(constraints)
    if rules and features is None:
        features = Features.continuous(X.shape[-1])
    bound = [rule.bind(features) for rule in rules if features is not None]
    tests = {} if reference is None else detectors(np.asarray(reference, dtype=float))
    asker = Asker(X, model, goal, n_counterfactuals, max_seconds)
    judge = Judge(model, features, bound, tests, draws)
    fits = {} if fits is None else fits
    with tqdm(total=len(explainers) * len(X), unit="explanation", disable=not progress) as bar:
        for name, explainer in explainers.items():
            bar.set_description(name)
            call, counts, why, made_with = _built(explainer, model, asker.columns, fits, name)
            for i in range(len(X)):
                result = asker.result(name, i, call, counts, why, judge)
                yield result._replace(said=str(asker.present.outcomes[i]), made_with=made_with)
                bar.update()


def _built(
    explainer: Any, model: CountedModel, classes: Array | None, fits: dict[str, Cost], name: str
) -> tuple[Call | None, bool, str, str]:
    """How to call an explainer, whether its questions are counted, why it could not be built, and its package."""
    factory = is_factory(explainer)
    rows, calls, started = model.n_rows, model.n_calls, time.perf_counter()
    try:
        made = explainer(model) if factory else explainer
        call = calling(made, None if factory else model.around, classes)
    except Exception as error:
        return None, False, f"could not be built: {message(error)}", ""
    fits[name] = (
        Cost(model.n_rows - rows, model.n_calls - calls, time.perf_counter() - started)
        if factory
        else Cost(NAN, NAN, NAN)
    )
    return call, factory, "", version_of(made)
