import numpy as np
import pytest

from ntdcfe import NTDCFE, InvalidInputError, PredictorError, Target
from ntdcfe.problem.prediction import Prediction

THREE = Prediction(
    np.array(["a", "b", "c"]),
    np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]]),
    np.array(["a", "b", "c"]),
)
LABELS = Prediction(np.array([0, 1, 2]))


@pytest.mark.parametrize(
    ("wanted", "reached"),
    [(1, [False, True, False]), ([1, 2], [False, True, True]), ({0}, [True, False, False]),
     (np.int64(1), [False, True, False]),
     (np.array([0, 2]), [True, False, True])],
)  # fmt: skip
def test_labels(wanted, reached):
    assert Target.of(wanted).reached(LABELS).tolist() == reached
    assert Target.of(wanted).score(LABELS) is None


def test_other_is_any_class_but_the_present_one():
    target = Target.of("other").given(Prediction(np.array(["b"])))
    assert target.reached(THREE).tolist() == [True, False, True]
    np.testing.assert_allclose(target.score(THREE), [(1 + 0.3) / 2, (1 - 0.2) / 2, (1 + 0.5) / 2], atol=0.01)
    assert str(target) == "any class but b"


@pytest.mark.parametrize("wanted", ["b", ["a", "b"], "other"])
def test_score_is_above_a_half_exactly_where_reached(wanted):
    target = Target.of(wanted).given(Prediction(np.array(["a"])))
    np.testing.assert_array_equal(target.score(THREE) > 0.5, target.reached(THREE))


def probabilities(*columns):
    p = np.column_stack(columns).astype(float)
    return Prediction(p.argmax(1), p, np.arange(p.shape[1]))


@pytest.mark.parametrize("target", [Target.label(1), Target.probability(1, 0.5)])
def test_score_tells_one_in_a_billion_from_one_in_a_trillion(target):
    """A saturated model differs in its odds alone; rounded as for the search, they still rise."""
    rising = np.array([0, 1e-300, 1e-40, 1e-20, 1e-12, 1e-9, 1e-3, 0.2, 0.5, 0.8, 1 - 1e-9])
    score = target.score(probabilities(1 - rising, rising, 0 * rising)).round(6)
    assert (np.diff(score) > 0).all()
    assert score[rising == 0.5] == 0.5
    assert 0 <= score.min() <= score.max() <= 1
    two = target.score(probabilities(1 - rising, rising)).round(6)
    assert (np.diff(two[1:]) > 0).all()


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_score_ignores_the_noise_of_one_minus_p(label, dtype):
    p = 1 - np.arange(4, dtype=dtype) * np.finfo(dtype).epsneg
    assert len(set(p)) == 4
    assert np.ptp(Target.label(label).score(probabilities(1 - p, p))) < 1e-6


def test_score_of_labels_in_one_hot_columns_has_two_values():
    hot = np.array([0, 1, 1, 0])
    score = Target.label(1).score(probabilities(1 - hot, hot))
    assert len(set(score)) == 2
    np.testing.assert_allclose(score, hot, atol=0.01)


def test_least_probability():
    target = Target.probability("b", at_least=0.3)
    assert target.reached(THREE).tolist() == [True, True, False]
    assert (target.score(THREE) >= 0.5).tolist() == [True, True, False]
    with pytest.raises(PredictorError, match="labels only"):
        target.reached(LABELS)


def test_interval():
    target = Target.interval(1.0, 2.0)
    values = Prediction(np.array([0.0, 1.0, 1.5, 2.0, 2.5]))
    assert target.reached(values).tolist() == [False, True, True, True, False]
    score = target.given(values[:1]).score(values)
    assert score[0] == 0
    assert ((score >= 0.5) == target.reached(values)).all()
    assert Target.interval(None, 2).reached(values).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(
    "make",
    [lambda: Target.interval(2, 1), lambda: Target.labels([]), lambda: Target.probability(1, 1.5),
     lambda: Target.of(None), lambda: Target.interval(float("nan"), 1)],
)  # fmt: skip
def test_targets_that_make_no_sense(make):
    with pytest.raises(InvalidInputError):
        make()


def test_unknown_labels_are_named():
    with pytest.raises(InvalidInputError, match=r"\['x'\].*\['a', 'b'\]"):
        Target.of(["a", "x"]).check_classes(np.array(["a", "b"]))


class TestLabelsOfTheWrongKind:
    """A target that no prediction can reach is refused after the first look, not when the budget is spent."""

    def explained(self, labels, target, **options):
        calls = []

        def model(X):
            calls.append(len(X))
            return np.array(labels)[(X[:, -1, 0] > 0).astype(int)]

        try:
            return NTDCFE(model, **options).explain(np.full((4, 2), -1.0), target, max_rows=300)
        finally:
            self.calls = calls

    def test_text_where_labels_are_numbers(self):
        with pytest.raises(InvalidInputError, match=r"\['1'\].* text.*numbers: it says 0"):
            self.explained([0, 1], "1")
        assert len(self.calls) == 1

    def test_numbers_where_labels_are_text(self):
        with pytest.raises(InvalidInputError, match=r"numbers.*text: it says 'no'"):
            self.explained(["no", "yes"], 1)

    def test_in_a_batch(self):
        with pytest.raises(InvalidInputError, match="it says 0"):
            NTDCFE(lambda X: (X[:, -1, 0] > 0).astype(int)).explain_batch(np.full((3, 4, 2), -1.0), "1")

    @pytest.mark.parametrize("target", [True, 1, 1.0, np.int8(1), [1, "yes"], {"1", 1}])
    def test_numbers_of_any_kind_are_numbers(self, target):
        assert self.explained([0, 1], target).prediction == 1
        assert self.explained([False, True], target).prediction is True

    @pytest.mark.parametrize("target", ["yes", [1, "yes"], np.array(["yes"])])
    def test_text_beside_numbers(self, target):
        assert self.explained(["no", "yes"], target).prediction == "yes"

    def test_a_class_that_is_called_other(self):
        labels = ["one", "other"]
        assert self.explained(labels, Target.label("other")).prediction == "other"
        assert self.explained(["other", "one"], Target.other()).prediction == "one"
        with pytest.raises(InvalidInputError, match=r"Target\.label\('other'\)"):
            self.explained(labels, "other", classes=labels, output="labels")
        assert not self.calls


def test_a_pair_with_none_is_no_interval_and_the_message_says_how_to_write_one():
    with pytest.raises(InvalidInputError, match=r"Target\.interval\(lower, upper\)"):
        Target.of((3.0, None))


@pytest.mark.parametrize("make", [Target.of, Target.label, lambda label: Target.probability(label, 0.5)])
@pytest.mark.parametrize("label", [float("nan"), np.float32("nan")])
def test_nan_is_no_label(make, label):
    with pytest.raises(InvalidInputError, match="which no model says"):
        make(label)
