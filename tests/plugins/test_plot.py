import numpy as np
import pytest

from ntdcfe import NTDCFE, Features

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from ntdcfe_plugins.plot import plot_counterfactual  # noqa: E402


@pytest.mark.parametrize("n_features", [2, 61])
def test_the_four_panels(n_features, tmp_path):
    x = np.random.default_rng(0).normal(size=(20, n_features))
    names = [f"channel {i}" for i in range(n_features)]

    def predict(X):
        return X[:, -4:, 1].min(1) > 0.5

    cf = NTDCFE(predict, Features.continuous(n_features, names=names)).explain(x, True, max_queries=2000)
    figure = plot_counterfactual(cf)
    panels = figure.axes
    assert len(panels) == 4
    assert "counterfactual" in panels[1].get_title()
    shown = {line.get_label() for line in panels[2].get_lines()}
    assert shown == {change.feature for change in cf.changes}
    figure.savefig(tmp_path / "cf.png")
    assert (tmp_path / "cf.png").stat().st_size > 10_000


def test_only_a_series_that_was_found_can_be_drawn():
    nothing = NTDCFE(lambda X: np.zeros(len(X), int)).explain(np.zeros((4, 2)), 1, max_queries=50)
    static = NTDCFE(lambda X: X[:, 0] > 0).explain(np.full(3, -0.5), True, max_queries=500)
    for cf in (nothing, static):
        with pytest.raises(ValueError, match="was found, of a series"):
            plot_counterfactual(cf)
