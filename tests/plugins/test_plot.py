"""Pictures and notebook representations say what the counterfactual says."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from ntdcfe import NTDCFE, Causal, Continuous, Discrete, Features, OneHot, SearchSettings
from ntdcfe.problem.edits import Edit

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from ntdcfe_plugins._shared.answer import value_in_words  # noqa: E402
from ntdcfe_plugins._shared.changes import cells, n_segments  # noqa: E402
from ntdcfe_plugins.plot import (  # noqa: E402
    plot_counterfactual,
    plot_learning,
    plot_methods,
    plot_options,
    plot_tradeoff,
)

QUICK = SearchSettings(max_rows=2000, batch_rows=50)
NEAREST = SearchSettings(max_rows=2000, batch_rows=50, options=["nearest"], prefer="nearest")
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


@pytest.mark.parametrize("n_features", [2, 61])
def test_the_four_panels_name_the_changed_features(n_features, tmp_path):
    cf = series(n_features, NEAREST)
    assert not cf.edits
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
    cf = series(2, NEAREST)
    before, after = cf.plot().axes[2:]
    x = cf.x[:, 1]
    drawn = after.get_lines()[-1].get_ydata()
    assert np.corrcoef(drawn, x)[0, 1] == pytest.approx(1)
    assert np.corrcoef(before.get_lines()[-1].get_ydata(), cf.original[:, 1])[0, 1] == pytest.approx(1)


def test_of_many_changed_features_the_largest_are_shown():
    x = np.full((6, 12), -1.0) * np.arange(1, 13)
    settings = SearchSettings(reach=None, options=["nearest"])
    cf = NTDCFE(lambda X: (X[:, -1] > 0).all(1), settings=settings).explain(x, True)
    assert cf.found
    panel = plot_counterfactual(cf, max_features=4).axes[2]
    assert len(panel.get_yticklabels()) == 4
    assert "12 of 12; the largest 4" in panel.get_title()


def said(figure):
    texts = figure.findobj(matplotlib.text.Text)
    return " ".join(" ".join(t.get_text() for t in texts).replace("\\$", "$").split())


def edited(*edits, x=None, after=None, features=None):
    """A counterfactual with these edits, as the engine would hand it out."""
    x = np.zeros((20, 3)) if x is None else x
    features = features or Features.continuous(3, names=["a", "b", "c"])
    cf = NTDCFE(lambda X: np.ones(len(X), int), features, missing="fixed").explain(x, 1)
    after = x.copy() if after is None else after
    return dataclasses.replace(
        cf, status="found", present=0, x=after, candidates=(after,), edits=edits, sparsity=3, proximity=1.5
    )


def test_each_edit_has_a_lane_with_its_sentence_and_what_it_costs():
    cf = series(61)
    assert cf.edits
    figure = cf.plot(title="which channels?")
    lanes = [axis for axis in figure.axes if axis.get_title(loc="left")]
    assert [lane.get_title(loc="left") for lane in lanes] == [edit.text for edit in cf.edits]
    told = said(figure)
    for part in ("which channels?", "The model says False. For True instead:", str(cf.survival)):
        assert part in told
    assert f"{61 - len({change.feature for change in cf.changes})} of 61 features unchanged: channel 0" in told
    assert f"{cf.sparsity} cells changed, proximity {cf.proximity:.4g}" in told


@pytest.mark.parametrize(
    ("kind", "value", "after", "mark"),
    [
        ("shift", 2.0, lambda v: v + 2, "+2"),
        ("at_least", 0.5, lambda v: np.maximum(v, 0.5), "≥ 0.5"),
        ("at_most", -0.5, lambda v: np.minimum(v, -0.5), "≤ -0.5"),
        ("level", 0.25, lambda v: 0 * v + 0.25, "= 0.25"),
        ("swing", 0.5, lambda v: v.mean() + 0.5 * (v - v.mean()), "swing 50%"),
        ("ramp", -3.0, lambda v: v - 3 * np.arange(1, len(v) + 1) / len(v), "-3"),
        ("bump", 3.0, lambda v: v + 3 * np.array([1, 2, 3, 4, 5, 5, 4, 3, 2, 1]) / 5, "+3"),
    ],
)
def test_a_lane_shows_before_after_the_window_and_the_number(kind, value, after, mark):
    x = np.random.default_rng(0).normal(size=(20, 3))
    new = x.copy()
    new[5:15, 1] = after(x[5:15, 1])
    cf = edited(Edit("b", 5, 14, kind, value, "the sentence", "b"), x=x, after=new)
    (lane,) = cf.plot().axes
    assert lane.get_title(loc="left") == "the sentence"
    before, then = lane.get_lines()[:2]
    assert np.array_equal(before.get_ydata(), x[:, 1])
    shown = ~np.isnan(then.get_ydata())
    assert np.array_equal(then.get_ydata()[shown], new[shown, 1])
    assert set(np.flatnonzero(new[:, 1] != x[:, 1])) <= set(np.flatnonzero(shown)) <= set(range(4, 16))
    window = lane.patches[0].get_extents().transformed(lane.transData.inverted())
    assert (window.x0, window.x1) == (pytest.approx(4.5), pytest.approx(14.5))
    assert mark in [text.get_text() for text in lane.texts]


def test_an_arrow_says_where_a_limit_stopped_it():
    new = np.zeros((20, 3))
    new[:, 0] = 1.0
    cf = edited(Edit("a", 0, 19, "shift", 2.0, "raise 'a' by 2 throughout, not above 1", "a"), after=new)
    assert "+2, not above 1" in [text.get_text() for text in cf.plot().axes[0].texts]


def test_neighbouring_features_of_one_edit_share_a_lane():
    x = np.random.default_rng(0).normal(size=(10, 30))
    new = x.copy()
    new[:, 4:20] += 1
    features = Features.continuous(30)
    cf = edited(Edit("feature 4", 0, 9, "shift", 1.0, "raise", "feature 19"), x=x, after=new, features=features)
    (lane,) = cf.plot().axes
    assert len(lane.get_lines()) == 2 * 16 + 2  # and the means before and after
    assert "14 of 30 features unchanged" in said(cf.plot())


def test_lanes_stand_gaps_listed_values_names_of_steps_and_dollars(tmp_path):
    rng = np.random.default_rng(1)
    numbers, plan, rate = rng.normal((20, 0), size=(24, 2)), np.tile([1.0, 0, 0], (24, 1)), np.full((24, 1), 2.0)
    x = np.concatenate([numbers, plan, rate], axis=1)
    x[5:8, 0] = np.nan
    features = Features(
        [
            Continuous(name="price in $ per $x^2_{a}$"),
            Continuous(name="$\\frac{1}{$"),
            OneHot(name="plan", categories=["basic", "pro", "$max$"]),
            Discrete(name="rate $", values=[1, 2, 3]),
        ],
        step_names=[str(2000 + i) for i in range(24)],
    )

    def predict(X):
        yes = (np.nanmean(X[:, -8:, 0], 1) > 23) & (X[:, -6:, 4].sum(1) >= 5) & (X[:, -5:, 5].min(1) > 2)
        return np.where(yes, "yes $1", "no $$")

    cf = NTDCFE(predict, features, missing="fixed").explain(x, "yes $1")
    assert len(cf.edits) >= 2
    figure = cf.plot(title="a $ title")
    told = said(figure)
    for part in ("price in $ per $x^2_{a}$", "$max$", "For yes $1 instead", "a $ title", "$\\frac{1}{$"):
        assert part in told
    figure.savefig(tmp_path / "mixed.png")  # a formula that is none would raise here
    assert "2008" in [label.get_text() for label in figure.axes[-1].get_xticklabels()]
    plot_options(cf).savefig(tmp_path / "options.png")
    plot_counterfactual(cf, option="nearest").savefig(tmp_path / "panels.png")
    plot_methods(x, {"a $_{": cf.x}, features, title="$x_{").savefig(tmp_path / "methods.png")
    cf._repr_html_()


def test_a_feature_that_follows_by_a_rule_has_a_lane_of_its_own():
    features = Features([Continuous(name="load"), Continuous(name="heat", role="non_actionable")])
    x = np.random.default_rng(0).normal(size=(12, 2))
    rule = Causal("heat", "load", lambda load: 2 * load)
    cf = NTDCFE(lambda X: X[:, 6:, 1].min(1) > 1, features, [rule], settings=QUICK).explain(x, True)
    assert {edit.feature for edit in cf.edits} == {"load"}
    titles = [axis.get_title(loc="left") for axis in cf.plot().axes]
    assert len(titles) == 2
    assert "'heat'" in titles[1]


def test_two_edits_of_a_feature_share_a_lane_each_with_its_sentence():
    new = np.zeros((20, 3))
    new[:5, 0], new[10:, 0] = 1.0, 2.0
    one, two = Edit("a", 0, 4, "level", 1.0, "hold one", "a"), Edit("a", 10, 19, "level", 2.0, "hold two", "a")
    cf = edited(one, two, after=new)
    (lane,) = cf.plot().axes
    assert lane.get_title(loc="left").split("\n") == ["hold one", "hold two"]
    assert len(lane.patches) == 2


def test_arrows_of_overlapping_edits_stand_on_each_other():
    new = np.zeros((20, 3))
    new[:10, 0], new[10:, 0] = 3.0, 1.0
    one, two = Edit("a", 0, 9, "shift", 2.0, "raise", "a"), Edit("a", 0, 19, "shift", 1.0, "raise", "a")
    (lane,) = edited(one, two, after=new).plot().axes
    arrows = [(text.xyann[1], text.xy[1]) for text in lane.texts if text.arrow_patch]
    assert arrows[0] == (0, 2)
    assert arrows[1][1] - arrows[1][0] == 1


def test_more_edits_than_lanes_are_named_below():
    new = np.ones((20, 3))
    edits = [Edit(name, 0, 19, "shift", 1.0, f"raise {name!r} by 1", name) for name in "abc"]
    cf = edited(*edits, after=new)
    figure = plot_counterfactual(cf, max_features=2)
    assert len(figure.axes) == 2
    assert "further: raise 'c' by 1" in said(figure)


def test_what_has_to_be_said_beside_the_changes_stands_above_the_picture(static):
    for cf in (series(2), series(2, NEAREST), static):
        unsure = dataclasses.replace(cf, confirmed=False, widened=4.0)
        for picture in (unsure.plot(), plot_options(unsure)):
            for reservation in unsure.reservations():
                assert " ".join(reservation.split()) in said(picture)


def test_a_row_tells_each_change_from_value_to_value(static, tmp_path):
    figure = static.plot(title="a credit", units={"debt": "k€"})
    told = said(figure)
    debt = f"{static.x[1]:.6g}"
    for part in ("a credit", "debt", "30 k€", f"{debt} k€", "home", "rent", "own", "The model says False. For True"):
        assert part in told
    assert "3 of 5 features unchanged: income 40, rating 2, age 35" in told.replace(" …", "")
    figure.savefig(tmp_path / "static.png")


def test_large_amounts_are_written_out():
    features = Features.from_dict({"income": {"bounds": (0, 2_000_000)}, "note": {"values": [0, 1]}})
    cf = NTDCFE(lambda X: X[:, 0] > 1_234_500, features, settings=QUICK).explain(np.array([123456.0, 1]), True)
    told = said(cf.plot())
    assert "123456" in told
    assert f"{cf.x[0]:.0f}" in told


def test_options_are_compared_by_edits_distance_and_survival():
    cf = series(6)
    figure = plot_options(cf, title="which one?")
    told = said(figure)
    for name, option in cf.options.items():
        assert f"{name}: " in told
        assert f"proximity {option.proximity:.4g}" in told
        if option.survival is not None and option.survival.draws:
            assert f"holds in {100 * option.survival.share:.0f}%" in told
    assert "which one?" in told
    points = [c.get_offsets()[0] for c in figure.axes[0].collections]
    assert {round(float(y), 9) for _, y in points} == {round(o.proximity, 9) for o in cf.options.values()}


def test_a_sum_of_money_is_told_without_powers_of_ten():
    cf = NTDCFE(lambda X: X[:, 0] < 12_000, Features.continuous(1, names=["loan"])).explain(np.array([15_000.0]), True)
    assert cf.sentences()[0].startswith("lower 'loan' from 15000 to ")


def test_options_of_a_row_stand_side_by_side_with_what_tells_them_apart(static):
    figure = plot_options(static, title="which one?")
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    heads = {text.get_text(): text.get_position()[0] for text in texts if text.get_text() in static.options}
    assert set(heads) == set(static.options)
    for name, option in static.options.items():
        column = [text.get_text() for text in texts if text.get_position()[0] == heads[name]]
        assert f"{option.proximity:.4g}" in column
        assert (f"{100 * option.survival.share:.0f}%" if option.survival.draws else "not asked") in column
        before, after = (static.features.encode(row[None])[0] for row in (static.original, option.x))
        assert {value_in_words(static.features[int(i)], after[i]) for i in np.flatnonzero(after != before)} <= {*column}
    assert "which one?" in said(figure)
    first = next(iter(static.options))
    still = dataclasses.replace(static.options[first], x=static.original, edits=(), sparsity=0)
    assert "as now" in said(plot_options(dataclasses.replace(static, options={**static.options, first: still})))


def test_one_option_can_be_drawn_alone():
    cf = series(2)
    assert len(plot_counterfactual(cf, option="nearest").axes) == 4
    with pytest.raises(ValueError, match=r"option must be one of .*'best'"):
        plot_counterfactual(cf, option="best")
    now = NTDCFE(lambda X: np.ones(len(X), int)).explain(np.zeros((4, 2)), 1)
    with pytest.raises(ValueError, match="no options"):
        plot_options(now)


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
    assert "3 of 3 features unchanged" in said(static_now.plot())


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

    def predict(X):
        return X[:, -4:, 1].min(1) > 0.5

    NTDCFE(predict, settings=QUICK, missing="fixed").explain(x, True).plot().savefig(tmp_path / "lanes.png")
    cf = NTDCFE(predict, settings=NEAREST, missing="fixed").explain(x, True)
    figure = cf.plot()
    assert "changed features, before (1 of 3" in figure.axes[2].get_title()
    assert len(figure.axes[2].collections) == n_segments((x != cf.x) & ~np.isnan(x))
    figure.savefig(tmp_path / "gaps.png")
    assert plot_methods(x, {"ours": cf.x, "none": None})
    assert cells(x, cf.x, None)[1].sum() == cf.sparsity
