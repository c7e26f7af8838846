import pytest

from ntdcfe import PAPER, SearchSettings, Term
from ntdcfe.search.refine.race import RefineTuning
from ntdcfe.settings import Tuning


@pytest.mark.parametrize(
    "wrong", [{"max_episodes": 0}, {"discount": 1.5}, {"learning_rate": 0}, {"max_rows": 0}, {"on_violation": "x"},
              {"entropy": -1}, {"learn": 1}, {"hidden": 3}, {"terms": [1]}, {"moves": [1]}, {"tuning": None}]
)  # fmt: skip
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        SearchSettings(**wrong)


def test_a_field_without_effect_is_refused():
    for algorithm, field in [("algorithm_1", {"batch_rows": 40}), ("default", {"max_episodes": 7})]:
        with pytest.raises(ValueError, match=f"{next(iter(field))}: no effect"):
            SearchSettings(algorithm=algorithm, **field)


def test_the_text_of_settings_types_back_and_shows_what_differs():
    settings = SearchSettings(max_rows=500, tuning=Tuning(refine=RefineTuning(racers=8)))
    assert repr(settings) == "SearchSettings(max_rows=500, tuning=Tuning(refine=RefineTuning(racers=8)))"
    assert eval(repr(settings)) == settings
    assert eval(repr(PAPER)) == PAPER
    assert repr(SearchSettings()) == "SearchSettings()"


def test_help_shows_every_field():
    for name in SearchSettings.__dataclass_fields__:
        assert f"\n    {name} : " in SearchSettings.__doc__


def test_what_a_call_gives_takes_the_place_of_the_settings():
    assert SearchSettings().given(max_rows=5, max_seconds=None) == SearchSettings(max_rows=5)


def test_terms_are_terms():
    class Free(Term):
        def cost(self, x, original, features):
            return 0 * x[:, 0, 0]

    assert SearchSettings(terms=[Free()]).terms[0].name == "Free"
