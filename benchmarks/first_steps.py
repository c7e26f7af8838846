"""From a fresh clone to a first explanation in each ecosystem, as the README says it, timed.

    python benchmarks/first_steps.py

Clones the committed project, runs ``make demo``, installs all extras into the same environment, and runs the first block
of code of each quick start there. Takes some minutes and downloads a gigabyte the first time.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import report

PAGES = ("README.md", "docs/start/core.md", "docs/start/alibi.md", "docs/start/dice.md", "docs/start/sktime.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def main() -> None:
    """Take the steps, and write what they took."""
    parser = report.parser(__doc__)
    args = parser.parse_args()
    note = f"load of the machine (1 minute, of {os.cpu_count()} processors) when it began: {os.getloadavg()[0]:.1f}"
    header = report.made(args, note=note)
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        rows.append(["git clone", *timed(["git", "clone", "--quiet", str(report.ROOT), str(clone)], folder)])
        rows.append(["make demo", *timed(["make", "demo"], clone)])
        python = str(clone / ".venv" / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "-c", "constraints.txt", ".[all]"]
        rows.append(['pip install ".[all]"', *timed(install, clone)])
        for page in PAGES:
            block = BLOCK.search((clone / page).read_text(encoding="utf-8"))
            assert block is not None, page
            rows.append([f"the first code of {page}", *timed([python, "-c", block[1]], folder)])
    report.write_markdown(
        args.out / "first-steps.md",
        header,
        "What somebody who knows only the README does, in this order, in a fresh clone.",
        report.table(["step", "seconds", "works"], rows),
    )


def timed(command: list[str], folder: str | Path) -> tuple[str, str]:
    """Run a command as a newcomer would, without this project on the path; gives its seconds and whether it worked."""
    alone = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    begun = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return report.number(time.monotonic() - begun, 0), "no" if done.returncode else "yes"


if __name__ == "__main__":
    main()
