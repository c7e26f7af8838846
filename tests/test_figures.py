"""A figure has one home: the documents show what the result files say, and these say how they were made."""
# ruff: noqa: E402 (the modules of benchmarks are found only after the path is set, and only in a checkout)

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("there is no folder of benchmarks beside these tests", allow_module_level=True)
sys.path.insert(0, str(ROOT / "benchmarks"))

import evidence
import figures
import readme
import report

RESULTS = sorted(path for path in report.RESULTS.rglob("*") if path.suffix in (".md", ".csv"))
HEADER = report.Header("1234567", "n=3", "python benchmarks/x.py", "2026-01-01", "python 3.11", 'says "so": # yes')


def test_documents_show_the_figures_of_the_result_files():
    assert not readme.stale(), "run: python benchmarks/readme.py"


def test_every_figure_is_shown_somewhere():
    shown = "\n".join(path.read_text(encoding="utf-8") for path in readme.documents())
    assert [name for name in figures.FIGURES if f"<!-- figures: {name} -->" not in shown] == []


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_result_file_says_how_it_was_made(path):
    header = report.read_header(path)
    assert evidence.commits_in(header), "its header names no commit"
    assert header.settings
    assert str(ROOT) not in path.read_text(encoding="utf-8"), "it names a folder of one machine"
    # "/knn" names the KNN of every dataset; a path has more than that.
    assert not [part for part in shlex.split(header.command) if part.startswith("/") and "/" in part[1:]]


def test_every_result_file_can_be_made_again_by_its_name():
    known = {file for entry in evidence.EVIDENCE.values() for file in entry.files}
    there = {path.relative_to(report.RESULTS).as_posix() for path in report.RESULTS.rglob("*") if path.is_file()}
    assert there == known


def test_scripts_that_make_evidence_exist():
    commands = [shlex.split(command) for entry in evidence.EVIDENCE.values() for command in entry.commands]
    assert [words[1] for words in commands if not (ROOT / words[1]).is_file()] == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<!-- figures: nobody -->\n<!-- /figures -->", "there is no figure 'nobody'"),
        ("<!-- figures: demo -->\n", "demo is not closed"),
        ("<!-- /figures -->", "no figure is open"),
        ("<!-- figures: demo -->\n<!-- figures: load -->\n<!-- /figures -->", "demo is not closed"),
    ],
)
def test_a_wrong_marker_is_named(text, complaint):
    with pytest.raises(readme.MarkerError, match=complaint):
        readme.rendered(text)


def test_what_stood_between_markers_is_replaced_and_the_rest_is_kept():
    text = "before\n<!-- figures: demo -->\nold\n<!-- /figures -->\nafter"
    begin, *middle, end = readme.rendered(text).split("\n")
    assert (begin, end) == ("before", "after")
    assert "old" not in middle
    assert readme.rendered(readme.rendered(text)) == readme.rendered(text)


def test_a_marker_within_an_example_is_text():
    text = "```\n<!-- figures: nobody -->\n```"
    assert readme.rendered(text) == text


def test_markdown_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "some.md"
    report.write_markdown(path, HEADER, "Words.", report.table(["a", "b", "b"], [["x", 1, report.number(2.345, 1)]]))
    assert report.read_markdown(path) == (HEADER, "Words.\n\n| a | b | b |\n| --- | --- | --- |\n| x | 1 | 2.3 |")
    assert report.read_tables(path) == [[{"a": "x", "b": "1", "b (2)": "2.3"}]]


def test_csv_comes_back_as_it_was_written_and_rows_can_be_added(tmp_path):
    path = tmp_path / "some.csv"
    with report.appending(path, HEADER, ["a", "b"], [{"a": 1, "b": 0.123456}]) as add:
        add({"a": "x, y", "b": float("nan"), "not a column": 3})
    assert report.read_csv(path) == (HEADER, [{"a": "1", "b": "0.1235"}, {"a": "x, y", "b": "nan"}])


@pytest.mark.parametrize("name", ["some.md", "some.csv"])
def test_a_file_without_header_is_refused_by_name(tmp_path, name):
    path = tmp_path / name
    path.write_text("a,b\n1,2\n")
    with pytest.raises(report.NoHeaderError, match=name):
        report.read_header(path)


def test_a_command_line_has_no_folder_of_one_machine_and_keeps_what_names_every_case_of_a_model():
    line = report.command_line(["benchmarks/x.py", "--cases", "/knn", "--data", str(ROOT.parent / "shared" / "data")])
    assert line == "python benchmarks/x.py --cases /knn --data ../shared/data"


def test_a_run_that_adds_to_a_file_names_the_commits_of_all_rows():
    rows = [{"commit": "aaaaaaa"}, {"commit": "bbbbbbb"}, {"commit": "aaaaaaa"}]
    header = report.continued(HEADER, report.Header("bbbbbbb", "n=2", "python old.py", "", ""), rows)
    assert header.commit == "aaaaaaa, bbbbbbb, 1234567"
    assert header.command == "python old.py && python benchmarks/x.py"
    assert report.continued(HEADER, header, []) == HEADER


def test_evidence_of_the_nearest_search_is_not_told_changed_by_answers_made_of_edits():
    head = "# numpy 1\ncase,status,proximity,sparsity,rows,calls,hash\n"
    before = f"{head}series,found,1,2,30,4,aa\nsimplest_of_a,found,3,1,9,9,bb\n"
    after = before.replace("bb", "cc").replace("30,4", "31,5")
    of = evidence._answers
    assert of(before, "nearest") == of(after, "nearest") == {"series": ["found", "1", "2", "aa"]}
    assert of(before, "all") != of(after, "all")
