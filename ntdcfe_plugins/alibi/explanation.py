"""alibi's ``Explanation`` and its parts, from the engine's counterfactuals."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from alibi.api import interfaces
from alibi.exceptions import PredictorCallError
from numpy.typing import NDArray

from ntdcfe import Counterfactual, InvalidInputError, SearchSettings, Target
from ntdcfe.model.result import described
from ntdcfe.problem.objective import Objective
from ntdcfe.problem.prediction import Prediction
from ntdcfe.problem.problem import Problem
from ntdcfe_plugins._shared.asked import AskedModel, parted
from ntdcfe_plugins._shared.found_by import FoundBy
from ntdcfe_plugins.alibi.model import Model, errors_of_alibi
from ntdcfe_plugins.alibi.targets import Goal

Entries = list[list[dict[str, Any]]]


class Explanation(interfaces.Explanation):  # type: ignore[misc]
    """alibi's ``Explanation``, with pictures and letters; see :meth:`NTDCFE.explain` for its data.

    `counterfactuals` has for each instance the engine's answer about each entry of ``all``, or the one that says that
    nothing was found. They are no part of the data: an explanation that was read from JSON has none.
    """

    counterfactuals: Sequence[Sequence[Counterfactual]] = ()
    _found_by: FoundBy | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The state that is pickled: without functions of the user's."""
        return {**self.__dict__, "_found_by": None}

    def plot(self, i: int = 0, sample: int = 0, **options: Any) -> Any:
        """A picture of ``all[i][sample]``, see :func:`ntdcfe_plugins.plot.plot_counterfactual`."""
        return self._about(i, sample).plot(**options)

    def report(self, path: str | os.PathLike[str], i: int = 0, sample: int = 0, **options: Any) -> Path:
        """Write ``all[i][sample]`` as a letter, with JSON beside it, and return its path.

        Parameters
        ----------
        path : path
            Ends with ``.html``.
        i, sample : int
        **options
            See :func:`ntdcfe_plugins.letter.write_letter`.
        """
        return self._about(i, sample).report(path, **{"explainer": self._found_by, **options})

    def _about(self, i: int, sample: int) -> Counterfactual:
        if not self.counterfactuals:
            raise InvalidInputError("an explanation that was read from JSON has no picture: call explain again.")
        return _one_of(_one_of(self.counterfactuals, i, "i", "instances"), sample, "sample", "counterfactuals")


def _one_of(several: Sequence[Any], which: int, argument: str, things: str) -> Any:
    if not -len(several) <= which < len(several):
        raise InvalidInputError(f"{argument} must be one of {len(several)} {things}, got {which!r}.")
    return several[which]


def answers_of(
    cf: Counterfactual, entries: Sequence[dict[str, Any]], problem_of: Callable[[NDArray[Any]], Problem]
) -> list[Counterfactual]:
    """The engine's answer about each counterfactual of an instance; tells the entries the edits that they lack.

    `problem_of` gives the problem of an original state ``(K, F)``.
    """
    if not cf.found or len(entries) < 2:
        return [cf]
    original, *states = cf.features.encode(
        np.stack([np.atleast_2d(x) for x in (cf.original, *(entry["X"][0] for entry in entries[1:]))])
    )
    problem, answers = problem_of(original), [cf]
    for entry, state in zip(entries[1:], states, strict=True):
        told = described(problem, [state], cf.original, failures=[])  # a distance of the user's own may raise
        for name in entry["option"][:1]:
            told |= {"edits": cf.options[name].edits, "survival": cf.options[name].survival}
        entry["edits"] = [plain(edit._asdict()) for edit in told["edits"]]
        answers.append(replace(cf, prediction=entry["class"], contributions=(), options={}, wanted=1, **told))
    return answers


def entries_of(
    found: Sequence[Counterfactual], num_samples: int, asked: AskedModel, model: Model, first: Prediction
) -> Entries:
    """For each instance its counterfactuals, or else its near miss, with the model's predictions of them.

    Where the model fails now, the counterfactuals are kept without probabilities. What was said of instances that
    are as wanted already is known from the `first` look.
    """
    kept = [_kept(cf, num_samples) for cf in found]
    known = [cf.status == "already_target" for cf in found]
    sizes = [0 if told else len(some) for some, told in zip(kept, known, strict=True)]
    said: list[Prediction | None] = [first[i : i + 1] if told else None for i, told in enumerate(known)]
    if any(sizes):
        rows = np.stack([x for some, told in zip(kept, known, strict=True) if not told for x in some])
        try:
            with errors_of_alibi():
                parts = parted(asked.ask(model, rows, sizes), sizes)
            said = [one if told else part for one, told, part in zip(said, known, parts, strict=True)]
        except PredictorCallError as error:
            warnings.warn(f"the probabilities of the counterfactuals are missing: {error}", stacklevel=3)
    return [_entries(*each) for each in zip(found, kept, said, strict=True)]


def _kept(cf: Counterfactual, num_samples: int) -> list[NDArray[Any]]:
    """The counterfactuals that are handed out, and further options; or else the near miss, if there is one."""
    if not cf.found:
        return [] if cf.near_miss is None else [cf.near_miss]
    kept = list(cf.candidates[:num_samples])
    for option in cf.options.values():
        if not any(np.array_equal(option.x, x) for x in kept):
            kept.append(option.x)
    return kept


def _names(cf: Counterfactual, x: NDArray[Any]) -> list[str]:
    """The kinds of answers that a row is."""
    return [name for name, option in cf.options.items() if np.array_equal(option.x, x)]


def _told(cf: Counterfactual, x: NDArray[Any]) -> dict[str, Any]:
    """The kind, the edits and the survival of a row, as far as the search tells of them."""
    names = _names(cf, x)
    if cf.x is not None and np.array_equal(x, cf.x):
        edits, survival = cf.edits, cf.survival
    else:
        edits, survival = (cf.options[names[0]].edits, cf.options[names[0]].survival) if names else ((), None)
    return {
        "option": names,
        "edits": [plain(edit._asdict()) for edit in edits],
        "survival": None if survival is None else plain(survival._asdict()),
    }


def _entries(cf: Counterfactual, some: list[NDArray[Any]], prediction: Prediction | None) -> list[dict[str, Any]]:
    """Dicts of counterfactuals ``(K, D)`` or ``(D,)`` of one instance; without predictions, the first has its class."""
    if not some:
        return []
    original, *states = cf.features.encode(np.stack([np.atleast_2d(x) for x in (cf.original, *some)]))
    distances = plain(Objective(original, cf.features).proximity(np.array(states)))
    if prediction is None:
        first = cf.prediction if cf.found else cf.near_miss_prediction
        outcomes, probabilities = [first, *[None] * (len(some) - 1)], None
    else:
        outcomes, probabilities = plain(prediction.outcomes), prediction.probabilities
    return [
        {
            "X": _finite(x[None]),
            "class": outcomes[i],
            "proba": None if probabilities is None else probabilities[i : i + 1],
            "distance": distances[i],
            **_told(cf, x),
        }
        for i, x in enumerate(some)
    ]


def data_of(
    X: NDArray[Any],
    first: Prediction,
    goals: Sequence[Goal],
    found: Sequence[Counterfactual],
    entries: Entries,
    prefer: str,
) -> dict[str, Any]:
    """The data of an explanation, with alibi's keys and further ones, and one entry an instance."""
    best = [some[0] if cf.found else None for some, cf in zip(entries, found, strict=True)]
    wanted = [cf.target if goal.label is None else goal.label for goal, cf in zip(goals, found, strict=True)]
    uniform = len(set(map(type, wanted))) == 1
    present, proba = first.outcomes.reshape(-1, 1), first.probabilities
    return {
        "orig": {"X": X, "class": present},
        "cf": {
            "X": _stacked(best, "X", np.full(X.shape, np.nan, X.dtype)),
            "class": _stacked(best, "class", present),
            "proba": None if proba is None else _stacked(best, "proba", np.full_like(proba, np.nan)),
            "distance": _stacked(best, "distance", np.full(len(X), np.nan)),
        },
        "target": np.array(wanted, dtype=None if uniform else object).reshape(-1, 1),
        "condition": None,
        "all": [some if cf.found else [] for some, cf in zip(entries, found, strict=True)],
        "orig_class": first.outcomes,
        "orig_proba": proba,
        "success": [cf.found for cf in found],
        "status": [cf.status for cf in found],
        "reason": [cf.reason for cf in found],
        "near_miss": [None if cf.found or not some else some[0] for some, cf in zip(entries, found, strict=True)],
        "proximity": [None if entry is None else entry["distance"] for entry in best],
        "sparsity": [cf.sparsity for cf in found],
        "option": [_kind(cf, prefer) for cf in found],
        "options": [_places(some) if cf.found else {} for some, cf in zip(entries, found, strict=True)],
        "edits": [[plain(edit._asdict()) for edit in cf.edits] for cf in found],
        "contributions": [[plain(each._asdict()) for each in cf.contributions] for cf in found],
        "survival": [None if cf.survival is None else plain(cf.survival._asdict()) for cf in found],
        "changes": [[plain(change._asdict()) for change in cf.changes] for cf in found],
        "text": [str(cf) for cf in found],
        "rows": [cf.rows for cf in found],
        "calls": [cf.calls for cf in found],
        "seconds": [cf.seconds for cf in found],
    }


def _kind(cf: Counterfactual, prefer: str) -> str | None:
    """The kind of answer that a counterfactual is, the preferred one where it is of several."""
    names = [] if cf.x is None else _names(cf, cf.x)
    return prefer if prefer in names else next(iter(names), None)


def _places(entries: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """From the name of each kind of answer to the place of its row."""
    return {name: i for i, entry in enumerate(entries) for name in entry["option"]}


def _finite(values: NDArray[Any]) -> NDArray[Any]:
    """The values, masked where a near miss went too far to be a number: null in JSON, which has no infinity."""
    return values if np.isfinite(values).all() else np.ma.masked_invalid(values)  # type: ignore[no-untyped-call]


def _stacked(best: Sequence[dict[str, Any] | None], key: str, blank: NDArray[Any]) -> NDArray[Any]:
    """That part of the best counterfactuals in one array like `blank`, masked where there is none.

    A masked row cannot pass for a counterfactual, and unlike NaN it is null in JSON.
    """
    values = [None if entry is None else entry[key] for entry in best]
    missing = np.array([value is None for value in values])
    rows = [b if v is None else np.reshape(v, b.shape) for v, b in zip(values, blank, strict=True)]
    if not missing.any():
        return np.stack(rows)
    mask = np.broadcast_to(missing.reshape(-1, *[1] * (blank.ndim - 1)), blank.shape)
    return np.ma.masked_array(np.stack(rows), mask.copy())  # type: ignore[no-untyped-call]


def params_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an explainer as an explanation prints them: two hundred numbers of tuning only if chosen."""
    params: dict[str, Any] = plain(arguments)
    if arguments["settings"].tuning == SearchSettings().tuning:
        del params["settings"]["tuning"]
    return params


def plain(value: Any) -> Any:
    """A value as JSON can hold it and a person can read it: functions by their name, infinity as None."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(item) for item in value]
    if isinstance(value, slice) or (isinstance(value, Target) and type(value).__repr__ is not object.__repr__):
        return repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return getattr(value, "__name__", type(value).__name__)
