"""How far the edits of every option hold: said where the model was asked, and true."""

import re
from dataclasses import replace

import numpy as np

from ntdcfe import NTDCFE, Continuous, Features, SearchSettings

X = np.column_stack([np.linspace(-1, 0, 12), np.linspace(0, -1, 12)])
NAMES = ["a", "b"]
FURTHER = (1.05, 1.1, 1.25, 1.5)


class Band:
    """Says 1 where the last four values of a feature are 1 to 1.4 on average; remembers what it was asked."""

    def __init__(self):
        self.seen = set()

    def __call__(self, rows):
        self.seen |= {row.round(9).tobytes() for row in rows}
        mean = rows[:, -4:].mean(1)
        return ((mean > 1) & (mean < 1.4)).any(1).astype(int)


def said_range(text):
    """The factor up to which a sentence says that its edit holds, infinity if it says nothing."""
    if text.endswith("(not further)"):
        return 1.0
    found = re.search(r"\(no more than (\d+)% further\)$", text)
    return 1 + int(found[1]) / 100 if found else np.inf


def ranges_checked(seed):
    """How many shifts of options were taken further, as their sentences say, and by how much more."""
    model, settings = Band(), SearchSettings(max_rows=2500, reach=8.0)
    cf = NTDCFE(model, Features.continuous(2, NAMES), settings=settings, seed=seed).explain(X, 1)
    edited = {name: option for name, option in cf.options.items() if option.edits}
    assert set(edited) == {"simplest", "sturdiest"}
    assert cf.options["simplest"].text.splitlines() == [edit.text for edit in cf.edits]
    asked, model.seen = model.seen, set()
    shifts = [(option, e) for option in edited.values() for e in option.edits if e.kind == "shift"]
    for option, edit in shifts:
        place, window = NAMES.index(edit.feature), slice(edit.first_step, edit.last_step + 1)
        limit = said_range(edit.text)
        for factor in FURTHER:
            further = option.x.copy()
            further[window, place] += (factor - 1) * edit.value
            if factor <= limit:
                assert further.round(9).tobytes() in asked  # nothing is said that was not asked
                assert model(further[None]) == 1
            elif factor == min(f for f in FURTHER if f > limit):
                assert model(further[None]) == 0
    return len(shifts)


def test_the_edits_of_every_option_say_how_far_they_hold():
    assert sum(ranges_checked(seed) for seed in range(10)) >= 4


def test_in_a_table_the_nearest_row_says_how_far_it_holds_too():
    def rule(rows):
        return ((rows[:, 0] > 1) & (rows[:, 0] < 1.15)).astype(int)

    features = Features([Continuous(name="a", scale=1.0), Continuous(name="b", scale=1.0)])
    cf = NTDCFE(rule, features).explain(np.zeros(2), 1, max_rows=2000)
    assert set(cf.options) >= {"simplest", "nearest"}
    for option in cf.options.values():
        assert said_range(option.text) < 1.25, option.text


def test_without_rows_left_nothing_is_said_of_the_options():
    settings = SearchSettings(confirmations=1, max_rows=40)
    cf = NTDCFE(Band(), Features.continuous(2, NAMES), settings=settings).explain(X, 1)
    for option in cf.options.values():
        assert "further" not in option.text


def test_what_is_asked_about_effects_fits_into_the_memory_as_a_batch_does():
    """An answer of many edits was taken further in as many rows, times four, at once: gigabytes of a wide series."""
    x = np.random.default_rng(0).normal(-0.5, 0.3, 60)  # the nearest answer has one edit for each feature
    plain = SearchSettings(max_rows=3000)
    tuning = replace(plain.tuning, budget=replace(plain.tuning.budget, values_in_a_batch=40 * x.size))
    session, most = NTDCFE(None, settings=plain.given(tuning=tuning)).session(x, 1), 0
    while (rows := session.ask()) is not None:
        most = max(most, len(rows))
        session.tell((rows.min(1) > 0.3).astype(int))
    assert session.result().found
    assert most <= 80
