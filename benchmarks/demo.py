"""What ``make demo`` prints and draws, as the README shows it.

    python benchmarks/demo.py

Runs ``examples/quickstart.py``, writes what it prints to ``results/demo.md`` and its picture to
``docs/quickstart.png``. Seconds are left out, since they differ from run to run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import report

from ntdcfe import SearchSettings

EXAMPLE = report.ROOT / "examples" / "quickstart.py"
PICTURE = "quickstart.png"


def main() -> None:
    """Run the example and keep what it shows."""
    parser = report.parser(__doc__)
    parser.add_argument("--pictures", type=Path, default=report.ROOT / "docs", help="folder of the picture")
    args = parser.parse_args()
    header = report.made(SearchSettings(), args, packages=("sktime", "scikit-learn", "matplotlib"))
    with tempfile.TemporaryDirectory() as folder:
        # The example is run elsewhere, so that its picture does not land beside the user's files.
        paths = os.pathsep.join([str(report.ROOT / "core"), str(report.ROOT), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, str(EXAMPLE)],
            cwd=folder, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        args.pictures.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(folder) / PICTURE, args.pictures / PICTURE)
    report.write_markdown(args.out / "demo.md", header, f"```\n{without_seconds(done.stdout)}\n```")


def without_seconds(text: str) -> str:
    """What was printed, but for how long it took."""
    return re.sub(r", [0-9.]+ s\)", ")", text.strip("\n"))


if __name__ == "__main__":
    main()
