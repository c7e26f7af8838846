"""Changes in words that a person can act on: what is said is what holds.

Every number in a sentence is the one that was used, so that the original with the sentences applied is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ntdcfe.problem.alike import alike
from ntdcfe.problem.edit_lists import EditLists
from ntdcfe.problem.edits import Edit, Editor
from ntdcfe.problem.feature import Feature, OneHot
from ntdcfe.problem.features import Features
from ntdcfe.problem.kind import Kind
from ntdcfe.problem.said import RANGE, THE_SAME
from ntdcfe.problem.units import hardly_vary

if TYPE_CHECKING:
    from ntdcfe.counterfactual import Counterfactual

# Features that a sentence about several of them names.
MOST_NAMED = 3


class Change(NamedTuple):
    """One feature changed over consecutive steps, `first_step` to `last_step` included.

    `before` and `after` have one value a step (the position of the category for a one-hot group).
    """

    feature: str
    first_step: int
    last_step: int
    before: NDArray[Any]
    after: NDArray[Any]
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Change) and alike(tuple(self), tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.feature, self.first_step, self.last_step, self.text))

    def __str__(self) -> str:
        return self.text


def spoken_of(edits: Sequence[Edit], names: Sequence[str]) -> set[str]:
    """The features that edits speak of, of all those names."""
    place = {name: i for i, name in enumerate(names)}  # looked up for every edit: names.index would go through all
    return {name for edit in edits for name in names[place[edit.feature] : place[edit.last_feature] + 1]}


def sentences(runs: Sequence[Change], edits: Sequence[Edit], names: Sequence[str]) -> list[str]:
    """One sentence an edit; for each feature that no edit speaks of, one sentence of its runs."""
    told = [edit.text for edit in edits]
    by_feature: dict[str, list[str]] = {}
    of_edits = spoken_of(edits, names)
    for change in runs:
        if change.feature not in of_edits:
            by_feature.setdefault(change.feature, []).append(change.text)
    return told + ["; ".join(texts) for texts in by_feature.values()]


def reservations(cf: Counterfactual) -> list[str]:
    """What has to be said beside the changes: that the model failed, or was not asked again, or how far it went."""
    told = []
    if cf.status == "model_failed":
        asked = "" if cf.confirmed else " before this could be asked again"
        told.append(f"the model failed{asked}: {cf.cause}")
    elif cf.found and cf.holds_alone is False:
        told.append("asked in a call of its own, the model says otherwise: it answers by what else is in the batch")
    elif cf.found and not cf.confirmed:
        told.append("not asked again often enough to be sure: the time or the rows gave out before")
    elif cf.status == "found" and not cf.complete:
        told.append("the time gave out before the search had ended: a simpler or nearer answer may be found with more")
    if cf.unscored:
        told.append(f"the model gave no answer for {cf.unscored} of {cf.rows} rows")
    if cf.found and cf.widened > 1:
        told.append(f"nothing nearer was found: values were let go {cf.widened:.3g} times as far as usual")
    if cf.found and cf.status != "already_target":
        told += guessed_units(cf)
    if cf.found and cf.status != "already_target" and len(cf.candidates) < cf.wanted:
        told.append(
            f"{len(cf.candidates)} of {cf.wanted} counterfactuals found that differ in what they change: for more, "
            "raise max_rows or max_seconds, let more features change, or loosen constraints"
        )
    return told


def guessed_units(cf: Counterfactual) -> list[str]:
    """Of which changed features nothing tells what counts as a small change: one sentence, or none."""
    guessed = hardly_vary(cf.features.encode(np.atleast_2d(cf.original)), cf.features)
    changed = {change.feature for change in cf.changes}
    named = zip(cf.features.names, guessed, strict=True)
    names = [f"{name!r}" for name, is_guess in named if is_guess and name in changed]
    if not names:
        return []
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [
        f"what counts as a small change of {', '.join(names[:MOST_NAMED])}{more} is a guess, since this series hardly "
        "varies there: a scale or bounds of the feature would say it"
    ]


def reason(cf: Counterfactual) -> str:
    """Why there is no counterfactual, and what to do."""
    if cf.contradicted and cf.status in ("not_found", "budget_exhausted"):
        return (
            "the model gives different answers to the same question, and none could be relied on; where they depend on "
            "what else is in a call, SearchSettings(max_batch_size=1) asks row by row; else raise max_rows"
        )
    if cf.implausible:
        return "valid series were found, but none that is plausible; raise max_rows, or loosen plausible"
    if cf.status == "not_found":
        return f"the search ended without one{_tried(cf)}; loosen constraints or allow more features to change"
    if cf.status == "budget_exhausted":
        spent = f"{cf.rows} rows were asked" if cf.complete else f"its time was over after {cf.rows} rows"
        more = "max_rows" if cf.complete else "max_seconds"
        # A constant model has none, whatever is raised.
        first = "see whether it ever says anything else; if so, " if cf.said.endswith(THE_SAME) else ""
        return f"the budget ran out: {spent}{_tried(cf)}; {first}raise {more}, {_further(cf)}"
    return "the search was interrupted" if cf.status == "interrupted" else f"the model failed: {cf.cause}"


def _tried(cf: Counterfactual) -> str:
    """What the model said while nothing was found, and how far features were let go."""
    said = f", and the model said {cf.said}" if cf.said else ""
    return said + (f", though features went up to {cf.widened:.3g} times as far as usual" if cf.widened > 1 else "")


def _further(cf: Counterfactual) -> str:
    """What else may help where the budget ran out."""
    # Of a series that is all but still, the own deviation does not tell how far a feature may go: bounds or a scale do
    # (tried on networks of sktime; a larger reach alone did not help).
    wider = "give the features bounds or a scale, so that they go further at once, " if cf.widened > 1 else ""
    less = cf.said.startswith(RANGE)
    return wider + ("loosen constraints, or ask for less" if less else "or loosen constraints")


def outcome_in_words(outcome: Any) -> str:
    """A label, or a value with as many digits as a person reads."""
    return _was(outcome) if isinstance(outcome, float) else str(outcome)


def number_in_words(value: float) -> str:
    """A number with all of its digits, and no more."""
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e15:  # the same digits in a fifth of the time: there may be half a million
        return repr(float(value)).removesuffix(".0")
    return np.format_float_positional(value, trim="-") if 1e-6 <= abs(value) < 1e15 else repr(float(value))


def changes(original: NDArray[Any], x: NDArray[Any], features: Features) -> tuple[Change, ...]:
    """Runs of changed steps between two states ``(K, F)``, feature by feature."""
    differs = (x != original) & ~np.isnan(original)  # a missing cell stays missing
    changed = np.pad(differs, ((1, 1), (0, 0))).astype(np.int8)
    edges = np.diff(changed, axis=0)  # 1 where a run starts, -1 behind its end
    found = []
    for i in np.flatnonzero(edges.any(0)):
        for first, stop in zip(np.flatnonzero(edges[:, i] == 1), np.flatnonzero(edges[:, i] == -1), strict=True):
            before, after = original[first:stop, i].copy(), x[first:stop, i].copy()
            text = _run_in_words(features, int(i), when(features, int(first), int(stop - 1), len(x)), before, after)
            found.append(Change(features.names[i], int(first), int(stop - 1), before, after, text))
    return tuple(found)


def edits_in_words(editor: Editor, lists: EditLists, state: NDArray[Any]) -> tuple[Edit, ...]:
    """The edits of one list ``(1, m)`` whose state is `state` ``(K, F)``, as far as they say all of it.

    A feature that limits or constraints moved elsewhere than its edits say is left out: its runs tell of it.
    """
    space, features = editor.space, editor.space.features
    values, told = space.original.T.copy(), dict[int, Edit]()
    exact, frozen = np.ones(len(values), bool), ~features.step_mask(space.n_steps)
    for places in _that_do_not_meet(lists):
        edits = lists.take((0, places))
        ends = edits.width.cumsum()
        each = edits.take(np.repeat(np.arange(len(places)), edits.width))  # one for each feature
        each.feature[:] += np.arange(ends[-1]) - np.repeat(ends - edits.width, edits.width)
        before = values[each.feature]
        after, unlimited = editor.apply(each, before)
        after[:, frozen], unlimited[:, frozen] = before[:, frozen], before[:, frozen]
        values[each.feature], differs = after, after != before
        columns = map(np.ndarray.tolist, (places, ends, edits.number, *edits.codes))
        for place, end, number, which, feature, width, first, last in zip(*columns, strict=True):
            changed = differs[end - width : end].any(0)
            if not changed.any():
                continue
            kind, row = editor.kinds.all[which], end - 1
            first, last = _trimmed(kind, first, last, changed)
            text = _edit_in_words(features, feature, width, kind, first, last, number, space.original[:, feature])
            if width == 1:
                caps = _caps(unlimited[row, first : last + 1], after[row, first : last + 1])
                text += caps or ""
                exact[feature] &= caps is not None
            text += _but_not(features, frozen, first, last)
            names = features.names[feature], features.names[feature + width - 1]
            told[place] = Edit(names[0], first, last, kind.name, number, text, names[1])
    exact &= (values == state.T).all(1)
    return tuple(edit for place, edit in told.items() if exact[_of(lists, place)].all())


def _that_do_not_meet(lists: EditLists) -> list[NDArray[np.int64]]:
    """Places of one list ``(1, m)`` in order: together if each edit is of one feature of its own, else one by one."""
    places = np.flatnonzero(lists.kind[0] >= 0)
    feature, width = lists.feature[0, places], lists.width[0, places]
    apart = bool((width == 1).all()) and len(np.unique(feature)) == len(feature) > 0
    return [places] if apart else list(places[:, None])


def _of(lists: EditLists, place: int) -> slice:
    """The features of one edit."""
    return slice(int(lists.feature[0, place]), int(lists.feature[0, place] + lists.width[0, place]))


def limited(edit: Edit, factor: float | None) -> Edit:
    """The edit with what it says of going further: to so many times its effect it holds; None if further, too."""
    if factor is None:
        return edit
    further = "not further" if factor == 1.0 else f"no more than {factor - 1:.0%} further"
    return edit._replace(text=f"{edit.text} ({further})")


def _trimmed(kind: Kind, first: int, last: int, changed: NDArray[np.bool_]) -> tuple[int, int]:
    """The window without steps at its ends that the edit leaves as they are, where that makes no difference."""
    steps = np.flatnonzero(changed)
    if kind.depends_on_window or not len(steps):
        return first, last
    return int(steps[0]), int(steps[-1])


def _caps(unlimited: NDArray[Any], after: NDArray[Any]) -> str | None:
    """The limits that stopped an edit in its window ``(k,)``, in words; None where no one number says them."""
    told, said = "", unlimited.copy()
    for stopped, word, cap in (
        (unlimited > after, "above", np.minimum),
        (unlimited < after, "below", np.maximum),
    ):
        if stopped.any():
            limit = after[stopped][0]
            said = cap(said, limit)
            told += f", not {word} {number_in_words(float(limit))}"
    return told if (said == after).all() else None


def _but_not(features: Features, frozen: NDArray[np.bool_], first: int, last: int) -> str:
    """The frozen steps ``(K,)`` within a window, in words."""
    if not frozen[first : last + 1].any():
        return ""
    inside = np.pad(frozen[first : last + 1], 1).astype(np.int8)
    starts, stops = (np.flatnonzero(np.diff(inside) == edge) + first for edge in (1, -1))
    spans = [when(features, a, b - 1, len(frozen)) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    return f", but not{' and'.join(spans)}" if spans else ""


def when(features: Features, first: int, last: int, n_steps: int) -> str:
    """The window in words, with a blank before it; nothing for a row of a table."""
    if n_steps == 1:
        return ""
    name = features.step_name
    if first == last:
        return f" at {name(first)}"
    if first == 0 and last == n_steps - 1:
        return " throughout"
    return f" from {name(first)} to {'the end' if last == n_steps - 1 else name(last, bare=True)}"


def _edit_in_words(
    features: Features, i: int, width: int, kind: Kind, first: int, last: int, number: float, original: NDArray[Any]
) -> str:
    name, window = repr(features.names[i]), when(features, first, last, len(original))
    if width > 1:
        name = f"each of {name} to {features.names[i + width - 1]!r}"
    if features[i].choices is not None:
        before = original[first : last + 1]
        verb = _verb(features[i], before, np.full(len(before), number))
        old = f" from {features[i].describe(original[first])}" if first == last else ""
        return f"{verb} {name}{old} to {features[i].describe(number)}{window}"
    if len(original) == 1:
        verb = "raise" if number > original[0] else "lower"
        return f"{verb} {name} from {_was(original[0])} to {number_in_words(number)}"
    return kind.say(name, number_in_words(kind.shown(number)), number > 0, window)


def _run_in_words(features: Features, i: int, window: str, before: NDArray[Any], after: NDArray[Any]) -> str:
    feature, name = features[i], repr(features.names[i])
    if feature.choices is not None:
        verb = _verb(feature, before, after)
        values = [feature.describe(value) for value in after.tolist()]
        old = f" from {feature.describe(before[0])}" if len(before) == 1 else ""
        return f"{verb} {name}{old} to {_listed(values)}{window}"
    verb = "raise" if (after > before).all() else "lower" if (after < before).all() else "move"
    values = [number_in_words(value) for value in after.tolist()]
    old = f" from {_was(before[0])}" if len(before) == 1 else ""
    return f"{verb} {name}{old} to {_listed(values)}{window}"


def _was(value: float) -> str:
    """A value that is left, to four digits: it only has to be recognised. No power of ten for a sum of money."""
    text = f"{value:.4g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text


def _verb(feature: Feature, before: NDArray[Any], after: NDArray[Any]) -> str:
    """What is done to a feature with listed values, from its values ``(k,)`` before and after."""
    if feature.ordered and (after > before).all():
        return "raise"
    if feature.ordered and (after < before).all():
        return "lower"
    return "switch" if isinstance(feature, OneHot) else "set"


def _listed(values: list[str]) -> str:
    """One value for all steps, or one for each."""
    return values[0] if len(set(values)) == 1 else ", ".join(values)
