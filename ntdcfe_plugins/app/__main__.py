"""``python -m ntdcfe_plugins.app examples/app_basic_motions.py``: serve the model and the series of a file."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

from ntdcfe_plugins.app.serving import serve


def main(arguments: list[str] | None = None) -> None:
    """Run the file, take `explainer` (or `predict`), `X` (or `X_test`) and, if it has them, `names` and `title`."""
    parser = argparse.ArgumentParser(
        prog="python -m ntdcfe_plugins.app",
        description="A local page for a model and some series. The file is run; it has to define explainer (an "
        "ntdcfe.NTDCFE) or predict, and X (or X_test); it may define names and title.",
    )
    parser.add_argument("file", type=Path, help="a Python file of your own: it is run with your rights")
    parser.add_argument("--port", type=int, default=0, help="any that is free if not given")
    parser.add_argument("--folder", type=Path, default=Path("."), help="where letters are saved")
    parser.add_argument("--browser", action="store_true", help="open a browser")
    given = parser.parse_args(arguments)
    if not given.file.is_file():
        parser.error(f"there is no file {given.file}")
    sys.path.insert(0, str(given.file.resolve().parent))
    defined = runpy.run_path(str(given.file), run_name="__page__")
    explainer, X = _first(defined, "explainer", "predict"), _first(defined, "X", "X_test")
    if explainer is None or X is None:
        parser.error(f"{given.file} has to define explainer (or predict) and X (or X_test)")
    options = {name: defined[name] for name in ("names", "title") if defined.get(name) is not None}
    serve(explainer, X, port=given.port, folder=given.folder, show=given.browser, wait=True, **options)


def _first(defined: dict[str, Any], *names: str) -> Any:
    return next((defined[name] for name in names if defined.get(name) is not None), None)


if __name__ == "__main__":
    main()
