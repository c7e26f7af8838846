import numpy as np
import pytest

from ntdcfe import InvalidInputError, PredictorError
from ntdcfe.model.predictor import Predictor

ROWS = np.linspace(-1, 1, 5)[:, None, None] * np.ones((1, 3, 2))  # (5, 3, 2)


def test_labels():
    prediction = Predictor(lambda x: np.where(x[:, 0, 0] > 0, "yes", "no"))(ROWS)
    assert prediction.outcomes.tolist() == ["no", "no", "no", "yes", "yes"]
    assert prediction.probabilities is None


def test_probabilities_with_class_labels():
    prediction = Predictor(lambda x: np.tile([0.2, 0.8], (len(x), 1)), classes=["bad", "good"])(ROWS)
    assert prediction.outcomes.tolist() == ["good"] * 5
    assert prediction.probabilities.shape == (5, 2)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_probability(shape):
    predictor = Predictor(lambda x: np.linspace(0, 1, len(x)).reshape(shape), output="probability")
    prediction = predictor(ROWS)
    assert prediction.outcomes.tolist() == [0, 0, 0, 1, 1]  # 0.5 is no majority
    np.testing.assert_allclose(prediction.probabilities[:, 1], [0, 0.25, 0.5, 0.75, 1])


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_values(shape):
    prediction = Predictor(lambda x: x[:, 0, 0].reshape(shape), regression=True)(ROWS)
    np.testing.assert_allclose(prediction.outcomes, [-1, -0.5, 0, 0.5, 1])


def test_counts_and_splits():
    sizes = []
    predictor = Predictor(lambda x: sizes.append(len(x)) or np.zeros(len(x), int), max_batch_size=2)
    assert len(predictor(ROWS)) == 5
    assert sizes == [2, 2, 1]
    assert (predictor.n_rows, predictor.n_calls) == (5, 3)


def test_a_model_that_writes_into_its_input_does_no_harm():
    rows = ROWS.copy()

    def predict(x):
        x += 100
        return np.zeros(len(x), int)

    Predictor(predict)(rows)
    np.testing.assert_array_equal(rows, ROWS)


@pytest.mark.parametrize(
    ("answer", "output", "message"),
    [
        (np.zeros(4, int), "auto", r"shape \(5, 3, 2\) it returned shape \(4,\).*expected \(n,\)"),
        (np.zeros((5, 2, 2)), "auto", "wrong shape"),
        (np.float64(1.0), "auto", "wrong shape"),
        (np.full(5, np.nan), "labels", "NaN"),
        (np.full((5, 2), np.nan), "auto", "NaN"),
        (np.full((5, 1), 0.5), "auto", 'output="probability"'),
        (np.full((5, 2), 3.0), "auto", "outside 0 to 1"),
        (np.full(5, 3.0), "probability", "outside 0 to 1"),
        (np.zeros((5, 3)), "labels", "several columns"),
        (np.array(["a"] * 5), "values", "not a number"),
        (np.full((5, 1), 0.5), "probabilities", "no probability columns"),
    ],
)
def test_answers_that_are_no_predictions(answer, output, message):
    with pytest.raises(PredictorError, match=message):
        Predictor(lambda x: answer, output=output)(ROWS)


def test_a_changing_number_of_classes():
    answers = iter([np.full((5, 2), 0.5), np.full((5, 3), 1 / 3)])
    predictor = Predictor(lambda x: next(answers))
    predictor(ROWS)
    with pytest.raises(PredictorError, match="another number of classes than 2"):
        predictor(ROWS)


def test_an_exception_inside_the_model_is_named_with_its_cause():
    def predict(x):
        raise KeyError("no such column")

    with pytest.raises(PredictorError, match=r"raised KeyError.*\(5, 3, 2\).*no such column") as error:
        Predictor(predict)(ROWS)
    assert isinstance(error.value.__cause__, KeyError)


@pytest.mark.parametrize("options", [{"output": "logits"}, {"max_batch_size": 0}])
def test_bad_options(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        Predictor(lambda x: x, **options)
    with pytest.raises(InvalidInputError, match="predict must be"):
        Predictor("model")
