"""A second model that an answer has to convince, too: a retrained one, or one of another kind."""

import numpy as np
import pytest

from ntdcfe import (
    NTDCFE,
    Counterfactual,
    Discrete,
    Features,
    InvalidInputError,
    PredictorError,
    SearchSettings,
    Survival,
)

X = np.full((10, 2), -0.5)
ROWS = 4000


def first(rows):
    """Whether the end of a feature is above 0."""
    return (rows[:, -3:, 0].mean(1) > 0).astype(int)


class Second:
    """Whether it is above 0.7; remembers what it was asked."""

    def __init__(self, threshold=0.7):
        self.threshold, self.asked = threshold, 0

    def __call__(self, rows):
        self.asked += len(rows)
        answer = (rows[:, -3:, 0].mean(1) > self.threshold).astype(int)
        rows[...] = 0  # what it writes into is a copy
        return answer


def never(rows):
    return np.zeros(len(rows), int)


def failing(rows):
    raise RuntimeError("no connection")


def explained(second, predict=first, target=1, x=X, features=None, **options):
    settings = SearchSettings(max_rows=ROWS, survival=Survival(second_model=second))
    return NTDCFE(predict, features, settings=settings, **options).explain(x, target)


@pytest.fixture(scope="module")
def convinced():
    second = Second()
    return explained(second), second


def test_an_answer_convinces_the_second_model_too(convinced):
    cf, _ = convinced
    assert first(cf.x[None]) == Second()(cf.x[None].copy()) == 1
    assert cf.survival.second_model is True
    assert cf.survival.share >= 0.95
    assert "The second model says so, too." in str(cf)


def test_without_it_the_answer_does_not():
    cf = NTDCFE(first, settings=SearchSettings(max_rows=ROWS)).explain(X, 1)
    assert Second()(cf.x[None].copy()) == 0
    assert cf.survival.second_model is None
    assert "second" not in str(cf)


def test_of_each_option_it_is_said_what_the_second_model_says(convinced):
    cf, _ = convinced
    assert set(cf.options) == {"simplest", "nearest", "sturdiest"}
    for option in cf.options.values():
        assert option.survival.second_model is bool(Second()(option.x[None].copy())[0])
    assert cf.options["nearest"].survival.second_model is False  # the nearest is the nearest for the model itself


def test_it_is_asked_no_more_rows_than_the_model_and_counted_apart(convinced):
    cf, second = convinced
    assert 0 < cf.survival.second_rows == second.asked <= ROWS
    assert cf.rows <= ROWS


def test_it_is_saved_and_read_back(convinced):
    cf, _ = convinced
    again = Counterfactual.from_dict(cf.to_dict())
    assert again == cf
    assert str(again) == str(cf)


def test_a_second_model_that_is_never_convinced_is_said_so():
    cf = explained(never)
    assert first(cf.x[None]) == 1
    assert cf.survival.second_model is False
    assert "The second model says otherwise: do not rely on it." in str(cf)


def test_a_second_model_that_fails_is_named():
    cf = explained(failing)
    assert cf.status == "model_failed"
    assert isinstance(cf.cause, PredictorError)
    assert "second_model: the model raised RuntimeError" in str(cf.cause)


@pytest.mark.parametrize("second", [3, "model", [first]])
def test_what_is_no_function_is_refused_at_the_door(second):
    with pytest.raises(InvalidInputError, match="second_model must be a function of rows"):
        Survival(second_model=second)


def test_labels_will_do_where_the_model_gives_probabilities():
    def graded(rows):
        p = 1 / (1 + np.exp(-5 * rows[:, -3:, 0].mean(1)))
        return np.column_stack([1 - p, p])

    cf = explained(Second(), graded)
    assert cf.survival.second_model is True


def test_other_than_now_is_other_than_the_model_says_now():
    cf = explained(Second(), target="other")
    assert cf.survival.second_model is True


def test_rows_of_a_table_and_small_spaces():
    features = Features([Discrete(range(6)), Discrete(range(6))])
    cf = explained(
        lambda X: (X.sum(1) >= 6).astype(int), lambda X: (X.sum(1) >= 3).astype(int), x=np.zeros(2), features=features
    )
    assert cf.x.sum() == 6
    assert cf.survival.second_model is True
    assert cf.options["nearest"].x.sum() == 3
    assert cf.options["nearest"].survival.second_model is False


@pytest.mark.parametrize("backend", [None, "threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_a_batch_gives_the_same_on_every_backend_and_from_a_checkpoint(backend, tmp_path):
    settings = SearchSettings(max_rows=900, survival=Survival(second_model=lambda rows: Second()(rows)))
    explainer = NTDCFE(first, settings=settings)
    alone = explainer.explain(X, 1)
    path = tmp_path / "run"
    found = explainer.explain_batch([X, X - 0.1], 1, backend=backend, n_jobs=2, checkpoint=path)
    np.testing.assert_array_equal(found[0].x, alone.x)
    assert str(found[0].survival) == str(alone.survival)
    again = NTDCFE(failing, settings=settings).explain_batch([X, X - 0.1], 1, checkpoint=path)
    assert again == found
    other = NTDCFE(first, settings=SearchSettings(max_rows=900, survival=Survival(second_model=Second())))
    with pytest.raises(InvalidInputError, match="survival was"):
        other.explain_batch([X, X - 0.1], 1, checkpoint=path)


def test_a_session_asks_it_as_well():
    settings = SearchSettings(max_rows=ROWS, survival=Survival(second_model=Second()))
    session = NTDCFE(None, settings=settings).session(X, 1)
    while (rows := session.ask()) is not None:
        session.tell(first(rows))
    assert session.result().survival.second_model is True
