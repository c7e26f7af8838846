"""The answer, in arrays, words and JSON. It is what a user keeps, so it needs neither torch nor a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.metadata import entry_points
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from ntdcfe.problem.alike import Comparable
from ntdcfe.problem.contribution import Contribution
from ntdcfe.problem.edits import Edit
from ntdcfe.problem.features import Features
from ntdcfe.problem.option import Option
from ntdcfe.problem.saved import as_plain, from_plain
from ntdcfe.problem.survival import Survived
from ntdcfe.problem.words import Change, outcome_in_words, reason, reservations, sentences

Status = Literal["found", "not_found", "already_target", "budget_exhausted", "interrupted", "model_failed"]


class Update(NamedTuple):
    """One entry of a search's history: rows so far, share of episodes that succeeded, proximity of the best."""

    rows: int
    success_share: float
    best_proximity: float


@dataclass(frozen=True, repr=False, eq=False)
class Counterfactual(Comparable):
    """What would have to change for the model to decide differently.

    Arrays have the shape of the series that was explained: ``(K, D)``, or ``(D,)`` if static.

    Attributes
    ----------
    status : str
        "found", "not_found", "already_target", "budget_exhausted" (and nothing found), or why the search ended
        early: "interrupted", "model_failed"; see `found` for whether it had found something by then.
    original : array
        The series that was explained.
    x : array or None
        The counterfactual, asked again before it is handed out (see `confirmed`); None if there is none.
    present : label or value
        The model's outcome for the original; None if the search was interrupted before it was known.
    prediction : label or value
        The model's outcome for `x`, None if there is none.
    target : str
        The target in words.
    proximity : float
        Weighted distance from the original to `x`, NaN if there is none.
    proximity_in_units : float
        The same with every feature in its own unit of change.
    sparsity : int or None
        How many cells differ; a one-hot group counts once a step.
    largest_change : float
        The largest change of a continuous cell, in units, NaN if there is no counterfactual.
    widened : float
        How many times their usual reach the search let features without bounds go; 1 if it did not.
    edits : tuple of Edit
        The changes as few named edits, one after the other; empty for an answer that was searched for cell by cell.
    contributions : tuple of Contribution
        For each edit, what the model says without it and with it alone, and its Shapley share; empty if not asked.
    survival : Survived or None
        How `x` did under noise: the share of disturbed copies that held, and its lower bound; None if not drawn.
    options : dict of str to Option
        The answers by their kinds: "simplest", "nearest", "sturdiest"; `x` is one of them.
    changes : tuple of Change
        Runs of changed steps, feature by feature.
    candidates : tuple of arrays
        Distinct valid counterfactuals, `x` first; further ones only if the model never contradicted itself.
    near_miss : array or None
        Where nothing was found: what came nearest to the target; None if the model gives labels only.
    near_miss_prediction : label or value
        The model's outcome for `near_miss`, None if there is none.
    rows : int
        Rows that the model saw, those of failed calls and of retries included.
    calls : int
        Calls to the model that this instance took part in, failed ones included.
    failures : int
        Calls among them that failed.
    unscored : int
        Rows among them for which it gave NaN, infinity or nothing: they count as not reached.
    first_found : int or None
        Rows it took to the first counterfactual of the default search.
    seconds : float
        How long it took: its own work, and of calls shared with other instances the share of its rows.
    confirmed : bool
        Whether `x` held when it was asked again; False where the model, the time or the rows gave out before that.
    holds_alone : bool or None
        Whether `x` held in a call of its own, since some models answer by a row's company; None if not asked so.
    implausible : bool
        Whether valid series were found, but none that is plausible.
    contradicted : bool
        Whether the model gave different answers to the same question.
    cause : Exception or None
        What failed, if something did.
    complete : bool
        Whether the search came to its own end, not to that of the time, of the model or by an interrupt.
    history : tuple of Update
        The search after each update of its policy.
    features : Features
        What the columns are.
    wanted : int
        How many counterfactuals were asked for; `candidates` may have fewer, or more where one was asked for.
    said : str
        Where nothing was found: what the model said meanwhile, in words; its labels, or its range of values.
    converged : bool
        Whether the search for the nearest answer ended because more rows would have gained little, see
        ``SearchSettings.patience``, or because every possible series was asked about.
    """

    status: Status
    original: NDArray[Any]
    x: NDArray[Any] | None
    present: Any
    prediction: Any
    target: str
    proximity: float
    sparsity: int | None
    proximity_in_units: float
    largest_change: float
    widened: float
    edits: tuple[Edit, ...]
    contributions: tuple[Contribution, ...]
    survival: Survived | None
    options: dict[str, Option]
    changes: tuple[Change, ...]
    candidates: tuple[NDArray[Any], ...]
    near_miss: NDArray[Any] | None
    near_miss_prediction: Any
    rows: int
    calls: int
    failures: int
    unscored: int
    first_found: int | None
    seconds: float
    confirmed: bool
    holds_alone: bool | None
    implausible: bool
    contradicted: bool
    cause: Exception | None
    complete: bool
    history: tuple[Update, ...]
    features: Features
    wanted: int = 1
    said: str = ""
    converged: bool = False

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return self.x is not None

    @property
    def reason(self) -> str:
        """Why there is no counterfactual, and what to do; empty if there is one."""
        return "" if self.found else reason(self)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.original.shape))
        what = f"proximity={self.proximity:.4g}, sparsity={self.sparsity}, " if self.found else ""
        return f"<Counterfactual {self.status}: {shape}, {what}rows={self.rows}, calls={self.calls}>"

    def __str__(self) -> str:
        if self.status == "already_target":
            return f"Nothing has to change: the model already says {self.prediction}."
        cost = f"{self.rows} rows in {self.calls} calls to the model, {self.seconds:.1f} s"
        if self.x is None:
            return f"No counterfactual found for {self.target}: {self.reason} ({cost})."
        wanted = self.target if self.prediction is None else outcome_in_words(self.prediction)
        head = f"The model says {outcome_in_words(self.present)}. For {wanted} instead:"
        lines = [f"  - {sentence}" for sentence in self.sentences()]
        lines += [f"  {self.survival}"] * (self.survival is not None)
        lines += [f"  ({reservation})" for reservation in self.reservations()]
        cost += "; more rows would gain little" * self.converged
        what = ("feature" if self.original.ndim == 1 else "cell") + "s" * (self.sparsity != 1)
        return "\n".join([head, *lines, f"({self.sparsity} {what} changed, proximity {self.proximity:.4g}; {cost})"])

    def sentences(self) -> list[str]:
        """The changes in words: one sentence an edit; for features without an edit, one of their runs."""
        return sentences(self.changes, self.edits, self.features.names)

    def reservations(self) -> list[str]:
        """What has to be said beside the changes: that the model failed, or was not asked again, or how far it went."""
        return reservations(self)

    def to_dict(self, with_series: bool = True) -> dict[str, Any]:
        """This in plain JSON, exact to the last bit; :meth:`from_dict` is the way back.

        Labels that JSON does not know become their text. Without the series, `original` and `features` are left out.
        """
        return as_plain(self, _PLAIN, with_series)

    @classmethod
    def from_dict(
        cls, entry: Mapping[str, Any], original: NDArray[Any] | None = None, features: Features | None = None
    ) -> Counterfactual:
        """What `to_dict` was called on; `original` and `features` are needed if they were left out.

        A `cause` comes back as a PredictorError with the same message.
        """
        values = from_plain(entry, _PLAIN, original, features)
        values["history"] = tuple(Update(*update) for update in values["history"])
        return cls(**values)

    def plot(self, **options: Any) -> Any:
        """A picture of it, see :func:`ntdcfe_plugins.plot.plot_counterfactual`; needs the extra ``plot``."""
        return _view("plot")(self, **options)

    def report(self, path: Any, **options: Any) -> Any:
        """Write it as a page to hand on, with JSON beside it, see :func:`ntdcfe_plugins.letter.write_letter`."""
        return _view("report")(self, path, **options)

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        try:
            return _view("html")(self)
        except ImportError:  # no pictures: the notebook falls back on the text
            return None


# The fields that are written as they are; the others are arrays, or follow from arrays.
_PLAIN = [
    entry.name
    for entry in fields(Counterfactual)
    if entry.name not in ("original", "features", "x", "candidates", "options", "changes", "near_miss", "cause")
]


def _view(name: str) -> Any:
    """What the installed package offers to show a result: pictures are not the engine's business."""
    for entry in entry_points(group="ntdcfe.views", name=name):
        return entry.load()
    raise ImportError("pictures of a counterfactual need the adapters: pip install 'ntdcfe-plugins[plot]'")
