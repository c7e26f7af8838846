"""One call of explain: from instances and alibi's arguments to alibi's ``Explanation``."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import ntdcfe
from ntdcfe import InvalidInputError, SearchSettings
from ntdcfe.problem.whole import check_exact
from ntdcfe.search.options import OptionName
from ntdcfe_plugins._shared.arguments import refuse_unknown, with_second_model
from ntdcfe_plugins._shared.asked import AskedModel, from_first_look
from ntdcfe_plugins._shared.found_by import FoundBy
from ntdcfe_plugins._shared.keyed import KeyedFeatures
from ntdcfe_plugins.alibi.columns import whole_numbers
from ntdcfe_plugins.alibi.explanation import Explanation, answers_of, data_of, entries_of
from ntdcfe_plugins.alibi.model import Model, errors_of_alibi

if TYPE_CHECKING:
    from ntdcfe_plugins.alibi.explainer import NTDCFE

# Names of the engine's arguments, and of alibi's other explainers, that have another name here or no meaning.
SPELLED = {
    "n_counterfactuals": "num_samples",
    "total_CFs": "num_samples",
    "target": "Y_t",
    "desired_class": "Y_t",
    "target_class": "Y_t",
    "progress": "verbose",
    "x": "X",
    "features_to_vary": "immutable_features of the explainer names those that may not change.",
    "C": "conditions are given to the explainer: immutable_features, feature_range, directions.",
    "diversity": "with num_samples above 1 the counterfactuals differ.",
    "batch_size": "SearchSettings(max_batch_size=...) of the explainer's settings limits the rows of one call.",
}
# Arguments of the engine's explain_batch that a call may pass on.
PASSED_ON = set(inspect.signature(ntdcfe.NTDCFE.explain_batch).parameters) - {
    "self", "X", "target", "n_counterfactuals", "progress", "prefer"
}  # fmt: skip


def explanation(
    explainer: NTDCFE,
    X: ArrayLike,
    Y_t: ArrayLike | None,
    num_samples: int,
    verbose: bool,
    prefer: OptionName | None,
    options: dict[str, Any],
) -> Explanation:
    """The explanation of instances; for the arguments see :meth:`ntdcfe_plugins.alibi.NTDCFE.explain`."""
    if options.get("C") is None or (isinstance(options["C"], list) and not options["C"]):
        options.pop("C", None)  # alibi's CounterfactualRL takes an empty list for no condition
    refuse_unknown("explain", options, {*PASSED_ON, "Y_t", "num_samples", "verbose", "prefer"}, SPELLED)
    given = np.asarray(X)
    X = _instances(given)
    if isinstance(num_samples, bool) or not isinstance(num_samples, (int, np.integer)) or num_samples < 1:
        raise InvalidInputError(f"num_samples must be a whole number from 1, got {num_samples!r}.")
    num_samples = int(num_samples)
    features = whole_numbers(given, explainer._features(X.shape[-1]), explainer.decimals)
    if explainer.step_names is not None and X.ndim == 3 and len(explainer.step_names) != X.shape[1]:
        raise InvalidInputError(
            f"step_names must name the {X.shape[1]} steps of the instances, got {len(explainer.step_names)} names."
        )
    features.encode(X)  # raises before the predictor is asked anything
    limits = explainer.settings.given(
        prefer=prefer, **{name: options.pop(name, None) for name in ("max_rows", "max_seconds")}
    )
    model = Model(explainer.predictor, explainer.output)
    asked = AskedModel(len(X), limits, model.form, explainer.classes)
    with errors_of_alibi():
        first = asked.ask(model, X)
        goals = explainer._targets.goals(Y_t, first, regression=explainer.output == "values")
        _say(explainer, model)
        # The first look takes a row of each instance, and the predictions of the answers one an answer.
        rows = 1 + num_samples + len(limits.options) - 1
        search = engine(explainer, model, features, asked.for_the_search(rows), first.classes)
        targets = [goal.target for goal in goals]
        if asked.rows_left(rows):
            found = search.explain_batch(X, targets, n_counterfactuals=num_samples, progress=verbose, **options)
        else:
            found = from_first_look(search, X, targets, first)
        entries = entries_of(found, num_samples, asked, model, first)
    found = [asked.counted(i, cf) for i, cf in enumerate(found)]
    meta = copy.deepcopy(explainer.meta)
    meta["params"].update(num_samples=num_samples, output=model.output, prefer=limits.prefer)
    answers = [
        answers_of(cf, some, lambda state: search.problem(state, features))
        for cf, some in zip(found, entries, strict=True)
    ]
    told = Explanation(meta=meta, data=data_of(X, first, goals, found, entries, limits.prefer))
    told.counterfactuals = answers
    told._found_by = FoundBy(explainer.seed, limits, explainer.constraints, explainer.plausible)
    return told


def engine(
    explainer: NTDCFE,
    model: Model,
    features: KeyedFeatures | None,
    settings: SearchSettings,
    classes: NDArray[Any] | None,
) -> ntdcfe.NTDCFE:
    """The engine that explains the predictor of an explainer."""
    settings = with_second_model(settings, lambda predictor: Model(predictor, explainer.output))
    return ntdcfe.NTDCFE(
        model, features, explainer.constraints, explainer.plausible, settings, explainer.seed, output=model.form,
        classes=explainer.classes if classes is None else classes,
    )  # fmt: skip


def _say(explainer: NTDCFE, model: Model) -> None:
    """Say once in which form the answers of the predictor are taken, where that is a guess."""
    if explainer.output == "auto" and model.guessed and not explainer._said:
        explainer._said = True
        warnings.warn(
            f"output='auto': the predictor's answers are taken as {model.guessed}. Say output={model.output!r} "
            "if that is right, else what they are.",
            stacklevel=4,
        )


def _instances(X: ArrayLike) -> NDArray[Any]:
    """Finite floating numbers ``(N, D)`` or ``(N, K, D)``; one static instance may come without its first axis."""
    X = np.asarray(X)
    X = X[None] if X.ndim == 1 else X
    if X.ndim not in (2, 3) or 0 in X.shape or X.dtype.kind not in "fiub":
        raise InvalidInputError(f"X must be numbers (N, D) or (N, K, D), got shape {X.shape} of {X.dtype}.")
    check_exact(X)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(float)
    if not np.isfinite(X).all():
        raise InvalidInputError("X has NaN or infinity.")
    return X
