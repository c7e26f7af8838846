"""Pictures and notebook representations say what the counterfactual says."""

import subprocess
import sys

import numpy as np
import pytest

from ntdcfe import NTDCFE, Features, SearchSettings

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from ntdcfe_plugins._shared.changes import cells, n_segments  # noqa: E402
from ntdcfe_plugins.plot import plot_counterfactual, plot_learning, plot_methods, plot_tradeoff  # noqa: E402

QUICK = SearchSettings(max_rows=2000, batch_rows=50)
CREDIT = Features.from_dict(
    {
        "income": {"bounds": (0, 200)},
        "debt": {"bounds": (0, 100)},
        "home": {"categories": ["rent", "own", "mortgage"]},
        "rating": {"values": [1, 2, 3]},
        "age": {"role": "immutable"},
    }
)


def credit(X):
    return (X[:, 1] < 20) & (X[:, 3] == 1)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.fixture(scope="module")
def static():
    cf = NTDCFE(credit, CREDIT, settings=QUICK).explain(np.array([40.0, 30, 1, 0, 0, 2, 35]), True)
    assert cf.found
    return cf


def series(n_features, settings=QUICK):
    x = np.random.default_rng(0).normal(size=(20, n_features))
    names = [f"channel {i}" for i in range(n_features)]

    def predict(X):
        return X[:, -4:, 1].min(1) > 0.5

    return NTDCFE(predict, Features.continuous(n_features, names=names), settings=settings).explain(x, True)


def text_of(axis):
    return " ".join(t.get_text() for t in [*axis.texts, *axis.get_yticklabels(), axis.title, axis.xaxis.label])


@pytest.mark.parametrize("n_features", [2, 61])
def test_the_four_panels_name_the_changed_features(n_features, tmp_path):
    cf = series(n_features)
    figure = cf.plot()
    panels = figure.axes
    assert len(panels) == 4
    assert "the model says False" in panels[0].get_title()
    assert "the model says True" in panels[1].get_title()
    changed = {change.feature for change in cf.changes}
    assert {label.get_text().split("\n")[0] for label in panels[2].get_yticklabels()} == changed
    assert f"{len(changed)} of {n_features}" in panels[2].get_title()
    for panel in panels[2:]:
        assert panel.get_xlabel() == "time step"
    figure.savefig(tmp_path / "cf.png")
    assert (tmp_path / "cf.png").stat().st_size > 10_000


def test_the_lanes_hold_the_values_before_and_after():
    cf = series(2)
    before, after = cf.plot().axes[2:]
    x = cf.x[:, 1]
    drawn = after.get_lines()[-1].get_ydata()
    assert np.corrcoef(drawn, x)[0, 1] == pytest.approx(1)
    assert np.corrcoef(before.get_lines()[-1].get_ydata(), cf.original[:, 1])[0, 1] == pytest.approx(1)


def test_of_many_changed_features_the_largest_are_shown():
    x = np.full((6, 12), -1.0) * np.arange(1, 13)
    cf = NTDCFE(lambda X: (X[:, -1] > 0).all(1), settings=SearchSettings(reach=None)).explain(x, True)
    assert cf.found
    panel = plot_counterfactual(cf, max_features=4).axes[2]
    assert len(panel.get_yticklabels()) == 4
    assert "12 of 12; the largest 4" in panel.get_title()


def test_a_static_row_tells_values_and_categories_before_and_after(static, tmp_path):
    figure = static.plot(title="a credit")
    said = text_of(figure.axes[0])
    for word in ("debt", "home", "rent", "own", "mortgage", "a credit", "3 of 5 features unchanged"):
        assert word in said
    assert f"{static.x[1]:.4g}" in said
    figure.savefig(tmp_path / "static.png")


def test_what_was_not_found_cannot_be_drawn():
    nothing = NTDCFE(lambda X: np.zeros(len(X), int)).explain(np.zeros((4, 2)), 1, max_rows=50)
    with pytest.raises(ValueError, match="no counterfactual was found"):
        nothing.plot()
    with pytest.raises(ValueError, match="max_features must be at least 1"):
        plot_counterfactual(series(2), max_features=0)


def test_nothing_to_change_can_be_drawn():
    series_now = NTDCFE(lambda X: np.ones(len(X), int)).explain(np.zeros((4, 2)), 1)
    static_now = NTDCFE(lambda X: np.ones(len(X), int)).explain(np.zeros(3), 1)
    assert "0 of 2" in series_now.plot().axes[2].get_title()
    assert "3 of 3 features unchanged" in text_of(static_now.plot().axes[0])


def test_the_learning_curve_ends_at_the_answer():
    cf = series(6, SearchSettings(max_rows=3000))
    share, best = plot_learning(cf, "learning").axes
    assert list(share.get_lines()[0].get_xdata()) == [update.rows for update in cf.history]
    end = best.get_lines()[-1]
    assert (end.get_xdata()[0], end.get_ydata()[0]) == (cf.rows, pytest.approx(cf.proximity))
    now = NTDCFE(lambda X: np.ones(len(X), int)).explain(np.zeros((4, 2)), 1)
    with pytest.raises(ValueError, match="no history"):
        plot_learning(now)


def test_the_trade_off_tells_who_failed():
    table = [
        {"method": method, "success": ok, "l1": l1, "sparsity": cells}
        for method, ok, l1, cells in [
            ("a", True, 1.0, 2),
            ("a", True, 3.0, 4),
            ("b", True, 9.0, 9),
            ("b", False, np.nan, np.nan),
            ("c", False, np.nan, np.nan),
        ]
    ]
    figure = plot_tradeoff(table)
    axis = figure.axes[0]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a (100%)", "b (50%)", "c (0%)"]
    assert "sparsity" in axis.get_xlabel()
    assert "proximity" in axis.get_ylabel()
    means = {line.get_label(): line for line in axis.get_lines()}
    assert (means["a (100%)"].get_xdata()[0], means["a (100%)"].get_ydata()[0]) == (3, 2)
    assert means["b (50%)"].get_markerfacecolor() == "white"


@pytest.mark.parametrize("shape", [(20, 3), (20, 100), (5,), (40,)])
def test_methods_side_by_side(shape):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    x2 = np.where(rng.random(shape) < 0.5, x + 1, x)
    figure = plot_methods(x, {"ours": x2, "theirs": None, "third": x + 1, "fourth": x}, title="who changes what")
    titles = [axis.get_title() for axis in figure.axes if axis.axison]
    assert len(titles) == 4
    assert titles[1] == "theirs\nnone found"
    assert f"{np.count_nonzero(x2 != x)} cells" in titles[0]


def test_a_notebook_shows_the_changes_with_names_escaped():
    features = Features.continuous(2, names=["<script>alert(1)</script>", "b & c"])
    cf = NTDCFE(lambda X: np.where((X[:, -1] > 0).all(1), "<yes>", "no"), features, settings=QUICK).explain(
        np.full((4, 2), -0.5), "<yes>"
    )
    shown = cf._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "b &amp; c" in shown
    assert "For &lt;yes&gt; instead" in shown
    assert f"{cf.rows} rows in {cf.calls} calls" in shown
    nothing = NTDCFE(lambda X: np.zeros(len(X), int)).explain(np.zeros((4, 2)), 1, max_rows=50)
    assert "No counterfactual found" in nothing._repr_html_()


def test_a_notebook_shows_a_static_row_without_steps(static):
    shown = static._repr_html_()
    assert "steps" not in shown
    assert "switch &#x27;home&#x27; from rent to own" in shown


@pytest.mark.slow
def test_pictures_need_matplotlib_only_when_drawn():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np\n"
        "from ntdcfe import NTDCFE\n"
        "import ntdcfe_plugins.plot\n"
        "cf = NTDCFE(lambda X: X[:, 0] > 0).explain(np.full(2, -0.5), True, max_rows=300)\n"
        "cf._repr_html_()\n"
        "try:\n    cf.plot()\n"
        "except ImportError as e:\n    assert 'ntdcfe-plugins[plot]' in str(e)\n"
        "else:\n    raise SystemExit('drew without matplotlib')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_gaps_are_gaps_not_changes(tmp_path):
    x = np.random.default_rng(0).normal(size=(20, 3))
    x[5:9, 1], x[12, 0], x[:, 2] = np.nan, np.nan, np.nan
    cf = NTDCFE(lambda X: X[:, -4:, 1].min(1) > 0.5, settings=QUICK, missing="fixed").explain(x, True)
    figure = cf.plot()
    assert "changed features, before (1 of 3" in figure.axes[2].get_title()
    assert len(figure.axes[2].collections) == n_segments((x != cf.x) & ~np.isnan(x))
    figure.savefig(tmp_path / "gaps.png")
    assert plot_methods(x, {"ours": cf.x, "none": None})
    assert cells(x, cf.x, None)[1].sum() == cf.sparsity
