"""A parser of sentences, apart from the engine: what is said, applied to the original, has to give the target.

It knows the words of the sentences and what features, their values and steps are called, and nothing of the engine.
Series are arrays ``(K, F)``, rows of a table ``(1, F)``, with one value a feature.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?|-?inf)"
# How a sentence begins: several of one feature stand in one line, separated by semicolons.
VERBS = r"(?:raise|lower|move|set|switch|keep|hold|increase the swing of|reduce the swing of|let)"
NAME = "@"


class NotUnderstoodError(AssertionError):
    """A sentence that this parser does not know."""


class Sentences:
    """Sentences about series with these features.

    Parameters
    ----------
    names : sequence of str
        Of the features.
    choices : mapping of name to mapping of text to value, optional
        What the values of discrete features are called.
    step_names : sequence of str, optional
        What the steps are called; those without a name are "step 3" and so on.
    """

    def __init__(
        self,
        names: Sequence[str],
        choices: Mapping[str, Mapping[str, float]] | None = None,
        step_names: Sequence[str] | None = None,
    ) -> None:
        self.names = list(names)
        self.choices = choices or {}
        self.step_names = list(step_names or ())
        longest = sorted(self.names, key=len, reverse=True)
        self._quoted = re.compile("|".join(re.escape(repr(name)) for name in longest))

    def printed(self, original: np.ndarray, text: str) -> np.ndarray:
        """The original ``(K, F)`` with what a printed counterfactual says applied: its lines that begin with a dash."""
        return self.typed(original, [line[4:] for line in text.splitlines() if line.startswith("  - ")])

    def typed(self, original: np.ndarray, sentences: Sequence[str]) -> np.ndarray:
        """The original ``(K, F)`` with all sentences applied, in their order."""
        x = original.copy()
        for sentence in sentences:
            for part in re.split(rf"; (?={VERBS} (?:each of )?['\"])", sentence):
                self._apply(x, part)
        return x

    def _apply(self, x: np.ndarray, sentence: str) -> None:
        quoted = self._quoted.findall(sentence)
        if not quoted:
            raise NotUnderstoodError(f"it names no feature: {sentence}")
        places = [next(i for i, name in enumerate(self.names) if repr(name) == text) for text in quoted]
        text = self._quoted.sub(NAME, sentence).replace(f"each of {NAME} to {NAME}", NAME)
        text = re.sub(r" \((not|no more than \d+%) further\)$", "", text)
        text, *spans = re.split(", but not(?= from | at )", text)
        caps = re.findall(rf", not (above|below) {NUMBER}", text)
        text = re.sub(rf"(, not (above|below) {NUMBER})+$", "", text)
        verb, window = self._window(text, len(x))
        frozen = np.zeros(len(x), bool)
        for span in re.split(" and(?= from | at )", spans[0]) if spans else ():
            frozen[self._window(span, len(x))[1]] = True
        for i in range(places[0], places[-1] + 1):
            now = x[window, i].astype(float)
            if self.names[i] in self.choices:
                after = self._choice(verb, self.choices[self.names[i]], len(now))
            else:
                after = self._number(verb, now)
            for side, limit in caps:
                after = np.minimum(after, float(limit)) if side == "above" else np.maximum(after, float(limit))
            # What is missing stays missing, what is frozen as it is.
            x[window, i] = np.where(np.isnan(now) | frozen[window], now, after)

    def _choice(self, verb: str, values: Mapping[str, float], n: int) -> np.ndarray:
        """The values ``(n,)`` of a discrete feature: one for all steps, or one for each."""
        match = re.fullmatch(rf"(?:set|switch|raise|lower) {NAME}(.*)", verb)
        if match:
            said = match[1]
            for text, value in values.items():
                olds = ["", *(f" from {old}" for old in values)]
                if said in [f"{old} to {text}" for old in olds]:
                    return np.full(n, value)
            listed = said.removeprefix(" to ").split(", ")
            if len(listed) == n and set(listed) <= set(values):
                return np.array([values[text] for text in listed])
        raise NotUnderstoodError(verb)

    def _number(self, verb: str, now: np.ndarray) -> np.ndarray:
        """The values ``(n,)`` of a continuous feature that are `now` so."""
        if match := re.fullmatch(rf"(raise|lower) {NAME} by {NUMBER}", verb):
            return now + float(match[2]) * (1 if match[1] == "raise" else -1)
        if match := re.fullmatch(rf"keep {NAME} at {NUMBER} or (above|below)", verb):
            return (np.maximum if match[2] == "above" else np.minimum)(now, float(match[1]))
        if match := re.fullmatch(rf"hold {NAME} at {NUMBER}", verb):
            return np.full(len(now), float(match[1]))
        if match := re.fullmatch(rf"(increase|reduce) the swing of {NAME} by {NUMBER}%", verb):
            mean, percent = np.nanmean(now), float(match[2]) * (1 if match[1] == "increase" else -1)
            return np.asarray(mean + (100 + percent) / 100 * (now - mean))
        if match := re.fullmatch(rf"let {NAME} (rise|fall) by {NUMBER}", verb):
            grown = np.arange(1, len(now) + 1) / len(now)
            return np.asarray(now + grown * float(match[2]) * (1 if match[1] == "rise" else -1))
        if match := re.fullmatch(rf"let {NAME} (rise|fall) by up to {NUMBER} and come back", verb):
            place = np.arange(1, len(now) + 1)
            share = np.minimum(place, place[::-1]) / ((len(now) + 1) // 2)
            return np.asarray(now + share * float(match[2]) * (1 if match[1] == "rise" else -1))
        if match := re.fullmatch(rf"(?:raise|lower|move) {NAME}(?: from \S+)? to (.+)", verb):
            values = [float(value) for value in match[1].split(", ")]
            if len(values) in (1, len(now)):
                return np.array(values if len(values) > 1 else values * len(now))
        raise NotUnderstoodError(verb)

    def _window(self, text: str, n_steps: int) -> tuple[str, slice]:
        """The sentence without its window, and the steps of the window."""
        if n_steps == 1:
            return text, slice(0, 1)
        if text.endswith(" throughout"):
            return text.removesuffix(" throughout"), slice(0, n_steps)
        full = [*self.step_names[:n_steps], *(f"step {i}" for i in range(len(self.step_names), n_steps))]
        bare = [*self.step_names[:n_steps], *(str(i) for i in range(len(self.step_names), n_steps))]
        for first, name in enumerate(full):
            if text.endswith(f" at {name}"):
                return text.removesuffix(f" at {name}"), slice(first, first + 1)
        for last, name in [*enumerate(bare), (n_steps - 1, "the end")]:
            if not text.endswith(f" to {name}"):
                continue
            rest = text.removesuffix(f" to {name}")
            for first, begins in enumerate(full[: last + 1]):
                if rest.endswith(f" from {begins}"):
                    return rest.removesuffix(f" from {begins}"), slice(first, last + 1)
        raise NotUnderstoodError(text)
