"""A parser of sentences, apart from the engine: what is said, applied to the original, has to be the answer.

It knows the words of the sentences and nothing of the engine. Series are arrays ``(K, F)``, rows of a table
``(1, F)``, with one value a feature.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
WINDOW = r"(?: (throughout)| at (\S+ ?\S*)| from (.+?) to (the end|\S+))?"


class Sentences:
    """Sentences about series with these features.

    Parameters
    ----------
    names : sequence of str
        Of the features.
    choices : mapping of name to mapping of text to value, optional
        What the values of discrete features are called.
    step_names : sequence of str, optional
    """

    def __init__(
        self,
        names: Sequence[str],
        choices: Mapping[str, Mapping[str, float]] | None = None,
        step_names: Sequence[str] | None = None,
    ) -> None:
        self.names = list(names)
        self.choices = choices or {}
        self.step_names = step_names

    def typed(self, original: np.ndarray, sentences: Sequence[str]) -> np.ndarray:
        """The original with all sentences applied, in their order."""
        x = original.astype(float).copy()
        for sentence in sentences:
            for part in sentence.split("; "):
                self._apply(x, part)
        return x

    def _apply(self, x: np.ndarray, text: str) -> None:
        name = next(n for n in sorted(self.names, key=len, reverse=True) if repr(n) in text)
        i = self.names.index(name)
        text = re.sub(r" \((not|no more than \d+%) further\)$", "", text.replace(repr(name), "@"))
        text, caps = re.split(r", not (?=above|below)", text, maxsplit=1)[0], re.findall(
            rf"not (above|below) {NUMBER}", text
        )
        verb, window = self._window(text, len(x))
        now = x[window, i]
        if name in self.choices:
            said = re.sub(r"^(set|switch) @( from .*?)? to ", "", verb)
            values = [self.choices[name][value] for value in said.split(", ")]
            x[window, i] = values if len(values) > 1 else values[0]
            return
        after = self._number(verb, now)
        for side, limit in caps:
            after = np.minimum(after, float(limit)) if side == "above" else np.maximum(after, float(limit))
        x[window, i] = after

    def _number(self, verb: str, now: np.ndarray) -> np.ndarray:
        if match := re.fullmatch(rf"(raise|lower) @ by {NUMBER}", verb):
            return now + float(match[2]) * (1 if match[1] == "raise" else -1)
        if match := re.fullmatch(rf"keep @ at {NUMBER} or (above|below)", verb):
            return (np.maximum if match[2] == "above" else np.minimum)(now, float(match[1]))
        if match := re.fullmatch(rf"hold @ at {NUMBER}", verb):
            return np.full(len(now), float(match[1]))
        if match := re.fullmatch(rf"scale the swing of @ to {NUMBER}%", verb):
            return now.mean() + float(match[1]) / 100 * (now - now.mean())
        if match := re.fullmatch(rf"let @ (rise|fall) by {NUMBER}", verb):
            grown = np.arange(1, len(now) + 1) / len(now)
            return now + grown * float(match[2]) * (1 if match[1] == "rise" else -1)
        if match := re.fullmatch(r"(?:raise|lower|move) @(?: from \S+)? to (.+)", verb):
            values = [float(value) for value in match[1].split(", ")]
            return np.array(values if len(values) > 1 else values * len(now))
        raise AssertionError(f"not understood: {verb}")

    def _window(self, text: str, n_steps: int) -> tuple[str, slice]:
        """The sentence without its window, and the steps of the window."""
        if n_steps == 1:
            return text, slice(0, 1)
        if text.endswith(" throughout"):
            return text.removesuffix(" throughout"), slice(0, n_steps)
        if self.step_names is None:
            if match := re.search(r" at step (\d+)$", text):
                return text[: match.start()], slice(int(match[1]), int(match[1]) + 1)
            match = re.search(r" from step (\d+) to (the end|\d+)$", text)
            assert match, text
            last = n_steps - 1 if match[2] == "the end" else int(match[2])
            return text[: match.start()], slice(int(match[1]), last + 1)
        for first, one in enumerate(self.step_names):
            if text.endswith(f" at {one}"):
                return text.removesuffix(f" at {one}"), slice(first, first + 1)
            for last, other in [*enumerate(self.step_names), (n_steps - 1, "the end")]:
                if text.endswith(window := f" from {one} to {other}"):
                    return text.removesuffix(window), slice(first, last + 1)
        raise AssertionError(f"not understood: {text}")
