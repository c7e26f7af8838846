"""What mkdocs does beside rendering ``docs``: pages whose home is elsewhere in the repository.

The notebooks of ``examples``, every file of ``benchmarks/results`` and the documents at the root become pages, so that
nothing is written twice and every link can be checked.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files

log = get_plugin_logger("site")
ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
AT_THE_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
HEADER = re.compile(r"---\n(.*?)\n---\n", flags=re.DOTALL)
SOURCE = "https://github.com/ntdcfe/ntdcfe-plugins/blob/main"


@event_priority(100)  # before the plugin that renders notebooks looks for them
def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of other files of the repository."""

    def add(address: str, **content: Any) -> None:
        files.append(File.generated(config, address, **content))

    for notebook in sorted((ROOT / "examples").glob("*.ipynb")):
        # The plugin for notebooks asks for a folder and a path within it.
        files.append(File(f"examples/{notebook.name}", str(ROOT), config.site_dir, config.use_directory_urls))
    for source, name in AT_THE_ROOT.items():
        add(f"project/{name}", content=(ROOT / source).read_text(encoding="utf-8"))
    results = sorted(RESULTS.glob("*.md"))
    for path in results:
        add(f"results/{path.name}", content=_result(path))
    for picture in sorted(RESULTS.glob("*.png")):
        add(f"results/{picture.name}", abs_src_path=str(picture))
    add("results/index.md", content=_index(results))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links between files of the repository to their pages; turn the names of results and examples into links."""
    here = posixpath.dirname(page.file.src_uri)
    folder = posixpath.dirname(_in_repository(page.file.src_uri))

    def leading(match: re.Match[str]) -> str:
        target, hash_, anchor = match[1].partition("#")
        if "://" in target or not target:
            return match[0]
        return f"]({_address(posixpath.normpath(posixpath.join(folder, target)), here)}{hash_}{anchor})"

    def named(match: re.Match[str]) -> str:
        return f"[`{match[1]}`]({_address(match[1], here)})" if (ROOT / match[1]).exists() else match[0]

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    for i in range(0, len(parts), 2):  # the others are blocks of code
        text = re.sub(r"\]\(([^)\s]+)\)", leading, parts[i])
        parts[i] = re.sub(r"(?<!\[)`((?:examples|benchmarks/results)/[\w/-]+\.(?:py|ipynb|md))`", named, text)
    return "".join(parts)


def on_post_page(output: str, page: Any, **_: Any) -> None:
    """Warn, which ends the build, if a page would fetch something from elsewhere."""
    for fetched in re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?://[^"]+)', output):
        log.warning("%s would fetch %s", page.file.src_uri, fetched)


def _in_repository(src_uri: str) -> str:
    """Where a page has its home in the repository."""
    if src_uri.startswith("results/"):
        return f"benchmarks/{src_uri}"
    of_root = {f"project/{name}": source for source, name in AT_THE_ROOT.items()}
    return of_root.get(src_uri, f"docs/{src_uri}")


def _address(path: str, here: str) -> str:
    """What leads from a page in the folder `here` to a file of the repository: a page, else its source."""
    if path.startswith("docs/"):
        page = path.removeprefix("docs/")
    elif path in AT_THE_ROOT:
        page = f"project/{AT_THE_ROOT[path]}"
    elif path == "benchmarks/results":
        page = "results/index.md"
    elif re.fullmatch(r"benchmarks/results/[^/]+\.(md|png)", path):
        page = path.removeprefix("benchmarks/")
    elif re.fullmatch(r"examples/[^/]+\.ipynb", path):
        page = path
    else:
        return f"{SOURCE}/{path}"
    return posixpath.relpath(page, here or ".")


def on_page_content(content: str, **_: Any) -> str:
    """Show what docstrings refer to by reST roles as plain code; leave out what notebooks would fetch for diagrams."""
    content = re.sub(r"<script[^>]*>(?:(?!</script>).)*cdnjs\.cloudflare.*?</script>", "", content, flags=re.DOTALL)
    return re.sub(r":(?:class|meth|func|data|attr|mod):<code>~?(.*?)</code>", r"<code>\1</code>", content)


def _result(path: Path) -> str:
    """A result file as a page: its header below the tables."""
    text = path.read_text(encoding="utf-8")
    header = HEADER.match(text)
    assert header, path
    facts = [line.partition(": ") for line in header[1].splitlines()]
    made = "\n".join(f"<dt>{name}</dt><dd><code>{html.escape(value[1:-1])}</code></dd>" for name, _, value in facts)
    body = text[header.end() :]
    title = path.stem.replace("-", " ").capitalize()
    return f"# {title}\n\n{body}\n\n## How it was made\n\n<dl>\n{made}\n</dl>\n"


def _index(results: list[Path]) -> str:
    lines = "\n".join(f"- [{path.stem}]({path.name})" for path in results)
    return f"""# Every result

The files of `benchmarks/results`, as the scripts in `benchmarks` wrote them. Each names the commit, the settings
and the command it was made with. Tables of single samples are beside them in the repository, as CSV.

{lines}
"""
