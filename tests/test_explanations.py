"""The figures beside TSEvo and CoMTE are of samples that both solve, and every case that misses an aim is named."""
# ruff: noqa: E402 (the modules of benchmarks are found only after the path is set, and only in a checkout)

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("a source distribution has no benchmarks", allow_module_level=True)
pytest.importorskip("sklearn")
pytest.importorskip("sktime")
sys.path.insert(0, str(ROOT / "benchmarks"))

import explanations
import in_distribution


def row(method, sample, success=1, dataset="ERing", model="knn", **measures):
    values = dict.fromkeys((*explanations.MEASURES, *explanations.COSTS), "1")
    values |= {name: str(value) for name, value in measures.items()}
    about = {"dataset": dataset, "model": model, "method": method, "sample": str(sample), "success": str(success)}
    return about | values


def test_beside_another_method_only_samples_count_that_both_solve():
    samples = explanations.Samples(
        [
            row("simplest", 0, l1=1), row("simplest", 1, l1=100), row("simplest", 2, l1=3),
            row("TSEvo", 0, l1=2), row("TSEvo", 1, success=0), row("TSEvo", 2, l1=4), row("TSEvo", 9, l1=50),
        ]
    )  # fmt: skip
    (pair,) = explanations.beside(samples, "simplest", "TSEvo")
    assert pair["n"] == 2
    assert pair["l1"] == (2, 3)


def test_what_was_not_solved_has_no_measures_but_costs():
    samples = explanations.Samples([row("simplest", 0, rows=10), row("simplest", 1, success=0, l1=9, rows=30)])
    figures = samples.figures(("ERing", "knn"), "simplest")
    assert (figures["success"], figures["l1"], figures["rows"]) == (50, 1, 20)


def test_rows_of_others_whose_answers_are_gone_are_kept():
    rows = [row(name, 0) | {"commit": commit} for name, commit in (("TSEvo", "old"), ("CFRL", "old"), ("CoMTE", "new"))]
    there = {("CFRL", "ERing", "knn", "0"): {}, ("CoMTE", "ERing", "knn", "0"): {}}
    present = {"old": False, "new": True}
    assert explanations.kept(rows, present, [("ERing", "knn")], there) == [rows[0], rows[2]]
    assert explanations.kept(rows, present, [("ERing", "knn")], None) == [rows[2]]
    assert explanations.kept(rows, present, [("NATOPS", "knn")], None) == rows


def test_roughness_is_a_geometric_mean_in_which_smoothing_counts_no_more_than_tenfold():
    ones = dict.fromkeys(explanations.MEASURES, 1.0)
    averages = explanations.averages([ones | {"roughness": 0.0}, ones | {"roughness": 10.0}])
    assert averages["roughness"] == pytest.approx(1)
    assert averages["mean_roughness"] == 5
    assert math.isnan(explanations.averages([])["roughness"])


def test_every_case_that_misses_an_aim_is_named():
    samples = explanations.Samples(
        [
            row("simplest", 0, edits=2), row("simplest", 0, model="random_forest", edits=5),
            row("simplest", 0, dataset="NATOPS", edits=7), row("simplest", 0, dataset="Libras", edits=6),
        ]
    )  # fmt: skip
    lines = {what: (value, met) for what, _, value, met in explanations.of_simplest(samples)}
    value, met = lines["edits, worst case but NATOPS KNN and Heartbeat"]
    assert met is False
    assert "ERing random forest" in value
    assert "Libras KNN" in value
    assert lines["edits, worst of NATOPS KNN and Heartbeat"] == ("7.00 (NATOPS KNN)", True)
    assert lines["edits, average over cases"][1] is False


def test_beside_the_paper_only_its_own_series_and_full_success_count():
    samples = explanations.Samples(
        [
            row("simplest", 0, l1=10), row("simplest", 0, dataset="Libras", l1=99),
            row("simplest", 0, dataset="NATOPS", success=0),
        ]
    )  # fmt: skip
    of_paper = {"success": 100.0, "proximity": 40.0}
    paper = {(name, "knn"): of_paper for name in ("ERing", "Libras", "NATOPS")}
    ((what, _, value, met),) = explanations.of_the_paper(samples, paper)
    assert "1 cases" in what
    assert value.startswith("0.25")
    assert met is True


def test_a_sample_that_only_the_search_without_the_test_solves_is_a_shortfall():
    def sample(test, number, found, plausible):
        values = dict.fromkeys(in_distribution.FIGURES, "1") | {"found": str(found), "plausible_20": str(plausible)}
        return {"dataset": "ERing", "model": "knn", "test": test, "sample": str(number), **values}

    rows = [sample("none", 0, 1, 1), sample("none", 1, 1, 0), sample("20", 0, 0, 0), sample("20", 1, 1, 1)]
    (figures,) = in_distribution.summarise(rows, {("ERing", "knn"): {"success": 40.0, "proximity": 5.0}})
    assert (figures["success"], figures["without_plausible"], figures["lost"]) == (50, 50, "0")
    assert len(in_distribution.shortfalls([figures])) == 1
