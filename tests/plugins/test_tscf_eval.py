"""Ours as a method of tscf-eval's harness: its constructor, its shapes, its notion of failure."""

import numpy as np
import pytest

from ntdcfe import SearchSettings
from ntdcfe_plugins.compare import OfCfts, compare
from ntdcfe_plugins.tscf_eval import NTDCFE

QUICK = SearchSettings(max_rows=500, batch_rows=25)


class Model:
    """Says 1 if the first channel of series (n, C, T), or the series (n, T), is positive at the end."""

    def predict(self, X):
        first = X if X.ndim == 2 else X[:, 0]
        return (first[:, -2:].mean(1) > 0).astype(int)


class Constant:
    """Never says anything else."""

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def series(shape):
    return np.random.default_rng(0).normal(-1, 0.2, size=shape)


@pytest.mark.parametrize("shape", [(12,), (3, 12)])
def test_explains_in_the_shape_of_the_harness(shape):
    x = series(shape)
    model = Model()
    explainer = NTDCFE(model=model, data=(x[None], np.array([0])), settings=QUICK, random_state=0)
    answer, label, notes = explainer.explain(x, y_pred=0)
    assert answer.shape == shape
    assert label == model.predict(answer[None])[0] == 1
    assert notes["found"]
    assert notes["sentences"]
    assert notes["rows"] > 0
    if len(shape) == 2:
        np.testing.assert_array_equal(answer[1:], x[1:])  # the model does not look at the others


def test_several_at_once_are_as_many_as_asked_for():
    x = series((3, 12))
    rows, labels, notes = NTDCFE(Model(), settings=QUICK).explain_k(x, k=3)
    assert rows.shape == (3, 3, 12)
    assert labels.tolist() == [1, 1, 1]
    assert len(notes) == 3


def test_what_is_not_found_is_the_series_itself_as_the_harness_expects_of_a_failure():
    x = series((2, 12))
    answer, label, notes = NTDCFE(Constant(), settings=QUICK).explain(x)
    np.testing.assert_array_equal(answer, x)
    assert (label, notes["found"]) == (0, False)
    rows, _, _ = NTDCFE(Constant(), settings=QUICK).explain_k(x, k=2)
    np.testing.assert_array_equal(rows, np.stack([x, x]))


def test_a_class_and_an_option_can_be_asked_for():
    x = series((2, 12))
    explainer = NTDCFE(Model(), settings=QUICK, option="nearest")
    nearest = np.abs(explainer.explain(x, class_of_interest=1)[0] - x).sum()
    assert nearest <= np.abs(NTDCFE(Model(), settings=QUICK).explain(x)[0] - x).sum()


def test_functions_of_cfts_are_asked_with_a_counted_torch_model():
    torch = pytest.importorskip("torch")
    asked = []

    def lifted(sample, model, target_class=None, dataset=None, size=0):
        device = next(model.parameters()).device
        said = model(torch.as_tensor(sample[None], device=device))
        asked.append((sample.shape, said.shape, target_class, len(dataset), dataset[0][0].shape, dataset[1][1]))
        return sample + size, said

    X = np.full((2, 6, 3), -0.5)
    none = OfCfts(lambda *_, **__: (None, None))
    explainers = {"lifted": OfCfts(lifted, X, ["no", "yes"], {"size": 2}), "none": none}
    model = lambda rows: np.where(rows[:, -1, 0] > 0, "yes", "no")  # noqa: E731
    table = compare(explainers, X[:1], model, "yes", classes=["no", "yes"], progress=False).table
    assert asked == [((3, 6), (1, 2), 1, 2, (3, 6), 1)]
    assert (table[0]["status"], table[0]["rows"]) == ("found", 1)
    assert (table[1]["status"], table[1]["note"]) == ("not found", "returned nothing")
