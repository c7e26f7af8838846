"""Scores of a counterfactual: its distance, its measures, its plausibility, and whether it keeps to the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ntdcfe import Constraint, Continuous, Feature, Features, InvalidInputError, OneHot, PredictorError, Target
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.prediction import Prediction
from ntdcfe_plugins._shared.asked import reached
from ntdcfe_plugins._shared.changes import SAME, cells, differs, n_segments
from ntdcfe_plugins._shared.numpy_errors import silent
from ntdcfe_plugins.compare import measures
from ntdcfe_plugins.compare.calls import Answers
from ntdcfe_plugins.compare.comparison import NAN, Result
from ntdcfe_plugins.compare.counted import CountedModel

Array = NDArray[Any]
# Of so many returned rows it is told what the model says.
MOST_SAID = 5


@dataclass(frozen=True)
class Judge:
    """Scores the answers of explainers; its own questions to the model are not counted.

    Parameters
    ----------
    model : CountedModel
    features : Features, optional
    constraints : sequence of Constraint
        Bound to the features.
    detectors : dict of column to callable
        Tests of plausibility: from rows ``(n, K, D)`` or ``(n, D)`` to which of them are in distribution ``(n,)``.
    draws : int
        Disturbed copies by which survival is measured.
    """

    model: CountedModel
    features: Features | None = None
    constraints: Sequence[Constraint] = ()
    detectors: Mapping[str, measures.Detector] = field(default_factory=dict)
    draws: int = measures.DRAWS

    @silent()
    def scored(self, row: dict[str, Any], x: Array, answers: Answers, target: Target) -> Result:
        """The row of the table with its scores, and the nearest valid counterfactual.

        Parameters
        ----------
        row : dict
            Of the table, without scores.
        x : array (K, D), or (D,)
        answers : Answers
            With rows like x.
        target : Target
        """
        try:
            rows = [np.asarray(a, dtype=float).reshape(-1, *x.shape) for a in answers.rows]
        except (TypeError, ValueError) as error:
            return Result(row | {"status": "failed", "note": f"returned no counterfactual: {message(error)}"}, None)
        returned = np.concatenate([np.empty((0, *x.shape)), *rows])
        returned = returned[np.isfinite(returned).all(axis=tuple(range(1, returned.ndim)))]
        if not len(returned):
            if row.get("status") in ("failed", "time limit"):  # it has its reason already
                return Result(row, None)
            none = "returned no finite row" if len(answers.rows) else "returned nothing"
            return Result(row | {"note": _joined(none, row["note"])}, None)
        try:
            prediction = self.model.understood(returned)
        except PredictorError as error:
            note = f"the model fails on what was returned: {message(error)}"
            return Result(row | {"validity": 0.0, "note": note}, None)
        wanted = reached(target, prediction)
        valid = returned[wanted]
        row = row | {"validity": len(valid) / len(returned)}
        if not len(valid):
            return Result(row | {"note": _joined(missed(prediction), row["note"])}, None)
        before = np.atleast_2d(x)
        changes = [cells(before, np.atleast_2d(v), self.features) for v in valid]
        best = int(np.argmin([size.sum() for size, _ in changes]))
        size, changed = changes[best]
        nearest, place = valid[best], int(np.flatnonzero(wanted)[best])
        edits = answers.edits if np.array_equal(nearest, rows[0][0]) else ()
        scores = {
            "status": "found",
            "success": True,
            "l1": float(size.sum()),
            "l2": float(np.sqrt((size**2).sum())),
            "sparsity": int(changed.sum()),
            "features": int(changed.any(0).sum()),
            "segments": n_segments(changed),
            "confidence": measures.confidence(prediction[place : place + 1], target),
            **self._measures(before, nearest, changed, edits, target),
            **{name: bool(test(nearest[None])[0]) for name, test in self.detectors.items()},
            "allowed": NAN
            if self.features is None
            else allowed(before, np.atleast_2d(nearest), self.features, self.constraints),
            "diversity": diversity(valid),
        }
        return Result(row | scores, nearest)

    def _measures(
        self, before: Array, x: Array, changed: Array, edits: Sequence[Edit], target: Target
    ) -> dict[str, float]:
        """The measures of an answer `x`, which changed those cells ``(K, F)`` of `before` ``(K, D)``."""
        features = Features.continuous(before.shape[1]) if self.features is None else self.features
        after, units = np.atleast_2d(x), measures.noise_of(before, features)
        rng = np.random.default_rng(0)
        noisy = {
            name: measures.survival(self._reached(target), x, units, share, rng, self.draws)
            for name, share in measures.NOISE.items()
        }
        return {
            "edits": measures.n_edits(edits, changed, features.names),
            "contiguity": measures.contiguity(changed),
            "roughness": measures.roughness(before, after, differs(before, after).any(0) & (units > 0)),
            "dtw": measures.dtw(before, after),
            **noisy,
        }

    def _reached(self, target: Target) -> Callable[[Array], Array]:
        return lambda rows: reached(target, self.model.understood(rows))


def _joined(why: str, more: str) -> str:
    return f"{why}; {more}" if more else why


def missed(prediction: Prediction) -> str:
    """Why returned rows are no counterfactuals: what the model says of them."""
    outcomes, n = np.asarray(prediction.outcomes)[:MOST_SAID].tolist(), len(prediction.outcomes)
    said = ", ".join(dict.fromkeys(f"{o:.4g}" if isinstance(o, float) else str(o) for o in outcomes))
    return f"the model says {said} of {'what' if n == 1 else f'the {n} rows that'} it returned"


def allowed(before: Array, after: Array, features: Features, constraints: Sequence[Constraint] = ()) -> bool:
    """Whether a change keeps to the features' roles, bounds, values, directions and steps, and to the constraints.

    A non-actionable feature may change, since a causal rule may have changed it.

    Parameters
    ----------
    before, after : array (K, D)
    features : Features
    constraints : sequence of Constraint
        Bound to the features.
    """
    _, moved = cells(before, after, features)
    if moved[~features.step_mask(len(before))].any():
        return False
    for i, (feature, group) in enumerate(zip(features, features.groups(), strict=True)):
        changed = moved[:, i]
        if changed.any() and not _keeps_to(feature, before[changed, group], after[changed, group]):
            return False
    if not constraints:
        return True
    try:
        # Without rounding, which is no change.
        original, state = features.encode(np.stack([before, np.where(differs(before, after), after, before)]))
    except InvalidInputError:  # a value that its feature does not list
        return False
    return not any(constraint.broken(state[None].copy(), original.copy())[0] for constraint in constraints)


def _keeps_to(feature: Feature, old: Array, new: Array) -> bool:
    """Whether changed cells of a feature ``(n, columns)`` keep to its description."""
    if feature.role == "immutable":
        return False
    if isinstance(feature, OneHot):
        if not (np.isin(new, (0, 1)).all() and (new.sum(1) == 1).all()):
            return False
        old, new = (part.argmax(1)[:, None].astype(float) for part in (old, new))
    values, difference = new[:, 0], (new - old)[:, 0]
    allowed = feature.allowed
    moved = zip(old[:, 0].tolist(), values.tolist(), strict=True)
    if allowed is not None and any(after not in allowed.get(before, ()) for before, after in moved):
        return False
    direction = getattr(feature, "direction", None)
    if (direction == "rise" and (difference < 0).any()) or (direction == "fall" and (difference > 0).any()):
        return False
    if isinstance(feature, Continuous):
        low, high = feature.limits
        slack = SAME * np.maximum(1.0, np.abs(values))
        return bool((values >= low - slack).all() and (values <= high + slack).all())
    return feature.choices is None or bool(np.isin(values, feature.choices).all())


def diversity(found: Sequence[Array]) -> float:
    """Mean L1 distance between pairs; NaN of fewer than two."""
    pairs = [np.abs(a - b).sum() for i, a in enumerate(found) for b in found[:i]]
    return float(np.mean(pairs)) if pairs else NAN


def message(error: Exception) -> str:
    """The text of an error on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
