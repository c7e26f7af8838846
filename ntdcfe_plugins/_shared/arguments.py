"""Checks of arguments, before there is an instance or a question to the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from ntdcfe import Constraint, InvalidInputError, SearchSettings, Target


def listed(argument: str, value: Any) -> list[Any]:
    """The entries of a collection, none for None; a text is no collection."""
    if value is None:
        return []
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{argument} must be a list, got {value!r}.")
    return list(value)


def mapped(argument: str, value: Any) -> dict[Any, Any]:
    """The entries of a dict, none for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{argument} must be a dict from feature to value, got {value!r}.")
    return dict(value)


def refuse_unknown(function: str, given: Iterable[str], known: Collection[str], spelled: Mapping[str, str]) -> None:
    """Raise TypeError for arguments that a function does not take, with the name that was probably meant.

    Parameters
    ----------
    function : str
        Its name.
    given, known : names
        The arguments of the call, and those that the function takes.
    spelled : dict
        From names of the engine's, or of another library's, to those of this function, or to a sentence.
    """
    for name in given:
        if name in known:
            continue
        similar = spelled.get(name) or next(iter(get_close_matches(name, known, 1)), "")
        hint = f": {similar}" if " " in similar else f": did you mean {similar}?" if similar else ""
        raise TypeError(f"{function} got an unexpected argument {name!r}{hint}")


def constraints_of(value: Any) -> tuple[Constraint, ...]:
    """Constraints of any kind."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        raise InvalidInputError(f"constraints must be a list of Constraints, got {value!r}.")
    constraints = tuple(value)
    if wrong := [entry for entry in constraints if not isinstance(entry, Constraint)]:
        raise InvalidInputError(f"constraints must be Causal, AtMost or another Constraint, got {wrong[0]!r}.")
    return constraints


def plausible_of(value: Any) -> Callable[[Any], Any] | None:
    """An in-distribution test, or None."""
    if value is not None and not callable(value):
        raise InvalidInputError(f"plausible must be a function of rows, got {value!r}.")
    return value


def settings_of(value: Any) -> SearchSettings | None:
    """Settings of a search, or None for the usual ones."""
    if value is not None and not isinstance(value, SearchSettings):
        raise InvalidInputError(f"settings must be SearchSettings(...), got {value!r}.")
    return value


def targets_of(argument: str, value: Any, n: int) -> list[Target] | None:
    """One Target for each of n instances, from one Target or a list of n; None if `value` is neither."""
    if isinstance(value, Target):
        return [value] * n
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(entry, Target) for entry in value):
        return None
    if len(value) != n:
        raise InvalidInputError(f"{argument} must have one Target an instance: {n} instances, {len(value)} targets.")
    return list(value)


def with_second_model(settings: SearchSettings, wrap: Callable[[Any], Any]) -> SearchSettings:
    """The settings, with the user's second model as the engine asks it, if there is one.

    Parameters
    ----------
    settings : SearchSettings
    wrap : callable
        From a function of what the user's models take to one of the engine's rows.
    """
    survival = settings.survival
    if survival is None or survival.second_model is None:
        return settings
    return replace(settings, survival=replace(survival, second_model=wrap(survival.second_model)))
