"""Which commit every result file was made at, how much has changed since, and how to make it again.

    python benchmarks/evidence.py                  # lists all
    python benchmarks/evidence.py speed scale      # makes these again
    python benchmarks/evidence.py all              # makes everything again, in this order

Afterwards ``python benchmarks/readme.py`` puts the new figures into the README.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass

import report

RECORDED = "tests/recorded.csv"
NO_ANSWERS = "no answers of ours"
# tscf-eval and cfnow need numpy 2, so they have an environment of their own; `make compare` sets it up.
OTHER_PYTHON = ".venv-peers/bin/python"
ENGINE = "core"
ADAPTERS = "ntdcfe_plugins"
PROTOCOL = "benchmarks/protocol"
PEERS = "benchmarks/peers"
PAPER = "benchmarks/paper.py"
EXPLANATIONS = "benchmarks/explanations.py"
LIMITS = "benchmarks/limits.py"
COMPARE = "ntdcfe_plugins/compare"


@dataclass(frozen=True)
class Evidence:
    """How result files are made.

    Attributes
    ----------
    files
        The files, in ``benchmarks/results``.
    commands
        What makes them, from the project's root; "python" is the one that runs this script.
    sources
        What decides their figures: files and folders of the project.
    minutes
        About how long it takes on two cores: by the seconds in the files where they have them, else an estimate.
    made_of
        Other result files that these are made of.
    answers
        Which recorded cases tell whether the answers in them would be others today: those of "nearest" alone, of
        "edits" (a series, all kinds of answers, as by default), of "rows" of a table, of "algorithm_1", or "all".
    """

    files: tuple[str, ...]
    commands: tuple[str, ...]
    sources: tuple[str, ...]
    minutes: float
    made_of: tuple[str, ...] = ()
    answers: str = "all"


def _script(
    name: str, minutes: float, *sources: str, arguments: str = "", files: tuple[str, ...] = (), answers: str = "all"
) -> Evidence:
    """One script that writes files of its own, of the engine and of `sources`."""
    command = f"python benchmarks/{name}.py {arguments}".strip()
    return Evidence(files, (command,), (ENGINE, f"benchmarks/{name}.py", *sources), minutes, answers=answers)


def _paper(layout: str, minutes: float, *arguments: str, kind: str = "") -> Evidence:
    """Cases of the paper; with several `arguments` the file is made by several runs."""
    stem = f"paper-{layout}{kind}"
    commands = tuple(
        f"python {PAPER} --layout {layout} {more} --again".replace("  ", " ") for more in arguments or ("",)
    )
    answers = "algorithm_1" if kind == "-algorithm-1" else "nearest"
    files = (f"{stem}.md", f"{stem}.csv", f"{stem}-samples.csv")
    return Evidence(files, commands, (ENGINE, PROTOCOL, PAPER), minutes, answers=answers)


def _of_peers(*methods: str) -> tuple[str, ...]:
    return tuple(f"peers/{method}.csv" for method in methods)


PEERS_LAYOUT = "--layout published"
# The answers of the others to the samples of explanations.py, which are not kept in the repository.
OTHERS_ANSWERS = f"{PEERS}/cases/explanations"
EXPLAINED = (
    "--layout true --n 10 --datasets ERing NATOPS JapaneseVowels LifeExpectancy RacketSports BasicMotions Libras "
    f"Heartbeat --out {OTHERS_ANSWERS}"
)
OURS = ("ntd-cfe", "ntd-cfe-prob")
OTHERS = (
    "fastar", "cfrl", "dice-random", "dice-genetic", "dice-kdtree", "cfwot", "cfnow", "comte", "native-guide", "tsevo",
)  # fmt: skip
ALGORITHM_1 = "RacketSports/rule_2 BasicMotions/rule_2 ERing/knn Libras/knn RacketSports/knn ERing/rule_1 ERing/rule_2"
EVIDENCE: dict[str, Evidence] = {
    "demo": _script("demo", 0.2, "examples/quickstart.py", ADAPTERS, files=("demo.md",), answers="edits"),
    "paper-true": _paper("true", 17),
    "paper-published": _paper("published", 15),
    "paper-published-probabilities": _paper(
        "published", 2, "--probabilities --max-rows 5300 --n 5 --cases /knn /random_forest", kind="-probabilities"
    ),
    "paper-published-algorithm-1": _paper(
        "published", 26,
        f"--search algorithm-1 --cases {ALGORITHM_1}", "--search algorithm-1 --n 10 --cases Libras/rule_1 Libras/rule_2",
        kind="-algorithm-1",
    ),
    "explanations-peers": Evidence(
        ("explanations-peers-samples.csv",),
        (
            f"python {PEERS}/cases.py {EXPLAINED}",
            f"{OTHER_PYTHON} {PEERS}/run.py --folder {OTHERS_ANSWERS} --out {OTHERS_ANSWERS}/costs "
            "--methods TSEvo CoMTE Native-Guide CFWoT",
            f"python {PEERS}/run.py --folder {OTHERS_ANSWERS} --out {OTHERS_ANSWERS}/costs --methods CFRL 'DiCE genetic'",
            f"python {PEERS}/run.py --folder {OTHERS_ANSWERS} --out {OTHERS_ANSWERS}/costs --max-seconds 30 "
            "--methods 'DiCE random'",
            f"python {EXPLANATIONS} --of peers --again",
        ),
        (COMPARE, PROTOCOL, PEERS, EXPLANATIONS), 75,
    ),
    "explanations-algorithm-1": Evidence(
        ("explanations-algorithm-1-samples.csv",), (f"python {EXPLANATIONS} --of algorithm-1 --again",),
        (ENGINE, COMPARE, PROTOCOL, EXPLANATIONS), 90, answers="algorithm_1",
    ),
    "explanations": Evidence(
        ("explanations.md", "explanations.csv", "explanations-samples.csv"),
        (f"python {EXPLANATIONS} --of ours --again",), (ENGINE, COMPARE, PROTOCOL, EXPLANATIONS), 3,
        made_of=("explanations-peers-samples.csv", "explanations-algorithm-1-samples.csv"),
        answers="edits",
    ),
    "limits": Evidence(
        ("limits.md", "limits.csv"),
        (
            # Five seeds for the spread; what more and fewer rows gain, and probabilities, shows with fewer.
            f"python {LIMITS} --rows 10000 --answers labels --again",
            f"python {LIMITS} --rows 1000 2000 5000 20000 --answers labels --seeds 0 1",
            f"python {LIMITS} --rows 1000 10000 --answers probabilities --seeds 0 1 2",
        ),
        (ENGINE, PROTOCOL, "benchmarks/optimum", LIMITS, "benchmarks/limits_tables.py"), 180, answers="nearest",
    ),
    "in-distribution": _script(
        "in_distribution", 15, PROTOCOL, arguments="--again",
        files=("in-distribution.md", "in-distribution.csv", "in-distribution-samples.csv"),
        answers="edits",
    ),
    "many-classes": _script("many_classes", 5, files=("many-classes.md",), answers="edits"),
    "typed-back": _script("typed_back", 3, ADAPTERS, PROTOCOL, "tests", files=("typed-back.md",)),
    "plausibility": Evidence(
        ("plausibility.md",), ("python benchmarks/plausibility.py",), (PROTOCOL, "benchmarks/plausibility.py"), 0.2,
        made_of=("paper-published-algorithm-1-samples.csv",), answers="algorithm_1",
    ),
    "peers-ours": Evidence(
        _of_peers(*OURS),
        (
            f"python {PEERS}/cases.py {PEERS_LAYOUT}",
            f"python {PEERS}/run.py {PEERS_LAYOUT} --methods NTD-CFE 'NTD-CFE (prob.)' --again",
        ),
        (ENGINE, ADAPTERS, PROTOCOL, PEERS), 4, answers="nearest",
    ),
    "peers-others": Evidence(
        _of_peers(*OTHERS),
        (
            f"python {PEERS}/cases.py {PEERS_LAYOUT}",
            f"python {PEERS}/run.py {PEERS_LAYOUT} --again "
            "--methods FastAR CFRL 'DiCE random' 'DiCE genetic' 'DiCE kdtree'",
            f"{OTHER_PYTHON} {PEERS}/run.py {PEERS_LAYOUT} --again --methods CFWoT CFNOW CoMTE Native-Guide TSEvo",
        ),
        (ADAPTERS, PROTOCOL, PEERS), 200,
    ),
    "peers": Evidence(
        ("peers-published.md", "peers-published.csv"), (f"python {PEERS}/merge.py {PEERS_LAYOUT}",),
        (f"{PEERS}/merge.py",), 0.1, made_of=_of_peers(*OURS, *OTHERS), answers="nearest",
    ),
    "tscf-eval": Evidence(
        ("tscf-eval.md",),
        (
            f"python {PEERS}/cases.py {EXPLAINED}",
            f"{OTHER_PYTHON} {PEERS}/harness.py --folder {OTHERS_ANSWERS}",
        ),
        (ENGINE, "ntdcfe_plugins/tscf_eval.py", PROTOCOL, PEERS), 5,
        answers="edits",
    ),
    "seeds": _script(
        "seeds", 10, ADAPTERS, f"{PEERS}/fastar.py", files=("seeds.md", "seeds-public.csv"),
        arguments="--german benchmarks/peers/cases/fastar/german_redone.csv",
        answers="rows",
    ),
    "speed": _script("speed", 5, PROTOCOL, arguments="--max-seconds 30", files=("speed.md",), answers="edits"),
    "beside-commit": _script("beside_commit", 3, PROTOCOL, files=("beside-commit.md",), answers="nearest"),
    "scale": _script("scale", 2, arguments="--n 1", files=("scale.md",), answers="edits"),
    "ablation": _script("ablation", 20, PROTOCOL, arguments="--n 8 --seeds 0 1",
                        files=("ablation.md", "ablation.csv"), answers="nearest"),
    "parts": _script("parts", 15, PROTOCOL, LIMITS, files=("parts.md",), answers="nearest"),
    "raw-features": _script("raw_features", 3, PROTOCOL, files=("raw-features.md",), answers="edits"),
    "life-expectancy": _script("life_expectancy", 5, PROTOCOL, files=("life-expectancy.md",), answers="edits"),
    "alibi": _script("alibi_side_by_side", 3, ADAPTERS, files=("alibi.md",), answers="rows"),
    "dice": _script("dice_side_by_side", 3, ADAPTERS, files=("dice.md",), answers="rows"),
    "dice-diversity": _script("dice_diversity", 4, "benchmarks/dice_side_by_side.py", ADAPTERS, "tests/tabular.py",
                              files=("dice-diversity.md",), answers="rows"),
    "sktime": _script("sktime_matrix", 20, ADAPTERS, files=("sktime.md",), answers="edits"),
    "first-steps": _script(
        "first_steps", 6, ADAPTERS, "examples/quickstart.py", "README.md", "docs/start", files=("first-steps.md",),
        answers="edits",
    ),
    "page": _script(
        "page", 1, ADAPTERS, "examples/app_basic_motions.py", "tests/browser.py", files=("page.md",), answers="edits"
    ),
    "load-backends": _script("load/backends", 3, files=("load-backends.md",), answers="edits"),
    "load-budgets": _script("load/budgets", 3, files=("load-budgets.md",), answers="edits"),
    "load-deadlines": _script("load/deadlines", 15, files=("load-deadlines.md",)),
    "load-faults": _script("load/faults", 8, files=("load-faults.md",), answers="edits"),
    "load-fuzz": _script("load/fuzz", 5, "tests", files=("load-fuzz.md",)),
    "load-fuzz-adapters": _script(
        "load/fuzz", 8, ADAPTERS, "tests", arguments="--adapters", files=("load-fuzz-adapters.md",)
    ),
    "load-growth": _script("load/growth", 12, files=("load-growth.md", "load-growth.png")),
    "load-kill": _script("load/kill", 8, files=("load-kill.md",), answers="edits"),
    "load-soak": _script("load/soak", 5, files=("load-soak.md",), answers="edits"),
}  # fmt: skip


def commits_in(header: report.Header) -> list[str]:
    """Give the hashes that a header names."""
    return re.findall(r"\b[0-9a-f]{7,40}\b", header.commit)


def evidence_of(file: str) -> Evidence:
    """Give how a result file is made."""
    return next(evidence for evidence in EVIDENCE.values() if file in evidence.files)


def since(file: str, engine: bool) -> int | None:
    """Count the commits since a result file, and what it is made of, was made.

    Parameters
    ----------
    file
        In ``benchmarks/results``.
    engine
        Whether commits to the engine are counted, or those to its other sources.

    Returns
    -------
    int or None
        The most of all commits that its header names; None where git does not know one of them.
    """
    evidence = evidence_of(file)
    sources = [source for source in evidence.sources if (source == ENGINE) == engine]
    counts: list[int | None] = [since(other, engine) for other in evidence.made_of]
    commits = commits_in(report.read_header(report.RESULTS / file))
    for commit in commits if sources else ():
        count = report.git("rev-list", "--count", f"{commit}..HEAD", "--", *sources)
        counts.append(int(count) if count else None)
    return None if None in counts or not commits else max(counts, default=0)


def recorded(file: str) -> str:
    """Say whether the recorded answers of small cases are still what they were when a result file was made."""
    evidence = evidence_of(file)
    if not any(source == ENGINE for source in evidence.sources):  # the others' answers, or made of other files
        of_others = {recorded(other) for other in evidence.made_of} - {NO_ANSWERS}
        return max(of_others - {"same"}, default="same") if of_others else NO_ANSWERS
    now = _answers(report.git("show", f"HEAD:{RECORDED}"), evidence.answers)
    changed: set[str] = set()
    for commit in commits_in(report.read_header(report.RESULTS / file)):
        then = _answers(report.git("show", f"{commit}:{RECORDED}"), evidence.answers)
        changed |= {case for case, answer in now.items() if then.get(case) != answer}
    return f"{len(changed)} of {len(now)} changed" if changed else "same"


def _answers(text: str, whose: str) -> dict[str, list[str]]:
    """Status, proximity, sparsity and hash of the recorded cases of one search, by their names."""
    answers = {}
    for case, *columns in (line.split(",") for line in text.splitlines()[2:]):
        if whose in ("all", _search_of(case)):
            answers[case] = [*columns[:3], columns[-1]]
    return answers


def _search_of(case: str) -> str:
    """The search that a recorded case is of."""
    if case.startswith("paper_"):
        return "algorithm_1"
    if case.startswith("row_") or case.endswith("_a_row"):
        return "rows"
    return "edits" if "simplest" in case or "sturdiest" in case else "nearest"


def listing() -> list[str]:
    """Give a line for every result file that has a header."""
    rows = []
    for name, evidence in EVIDENCE.items():
        for file in evidence.files:
            if file.endswith(".png"):  # made with the Markdown file of its name
                continue
            if not (report.RESULTS / file).exists():
                rows.append([name, file, "not made yet", "", "", "", "", f"{evidence.minutes:g}"])
                continue
            header = report.read_header(report.RESULTS / file)
            counts = ["unknown" if (n := since(file, engine)) is None else n for engine in (True, False)]
            rows.append([name, file, header.commit, header.date, *counts, recorded(file), f"{evidence.minutes:g}"])
    head = ["name", "file", "made at", "date", "engine commits since", "other commits since", "recorded answers", "minutes"]
    return report.table(head, rows)


def make_again(name: str) -> bool:
    """Run the commands of one name, and tell whether all went well."""
    started = time.perf_counter()
    path = os.pathsep.join([str(report.ROOT / "core"), str(report.ROOT), os.environ.get("PYTHONPATH", "")])
    for command in EVIDENCE[name].commands:
        print(f"{name}: {command}", flush=True)
        program, *arguments = shlex.split(command)
        program = sys.executable if program == "python" else program
        if os.sep in program and not (report.ROOT / program).exists():
            print(f"{name}: there is no {program}", flush=True)
            return False
        done = subprocess.run(
            [program, *arguments], cwd=report.ROOT, env={**os.environ, "PYTHONPATH": path}, check=False
        )
        if done.returncode:
            print(f"{name}: ended with {done.returncode}", flush=True)
            return False
    print(f"{name}: made again in {(time.perf_counter() - started) / 60:.1f} minutes", flush=True)
    return True


def main() -> None:
    """List, or make again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or some of: {', '.join(EVIDENCE)}")
    names = parser.parse_args().names
    if not names:
        print("\n".join(listing()))
        return
    if unknown := [name for name in names if name not in (*EVIDENCE, "all")]:
        parser.error(f"not known: {', '.join(unknown)}; known are all, {', '.join(EVIDENCE)}")
    failed = [name for name in EVIDENCE if (name in names or "all" in names) and not make_again(name)]
    print("Now: python benchmarks/readme.py")
    if failed:
        sys.exit(f"not made again: {', '.join(failed)}")


if __name__ == "__main__":
    main()
