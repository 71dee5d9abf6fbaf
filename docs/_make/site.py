"""The documentation as a site that needs no network and no server: `make site`, then open site/index.html.

The pages are those of `docs`. Notebooks are added as they were run, the repository's own pages, and a list of decisions; links
between them are led to the site. Every version stands in a folder of its own.
"""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import argparse
import base64
import html
import json
import re
import shutil
import sys
import tempfile
from importlib.metadata import metadata, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Pages of the repository that the site has too, and what they are called there.
_OURS = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contribute.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
}
#: Folders that have a map of their own.
_MAPS = ("gallery", "reference")
#: The parts of the site, and which pages they have; a folder stands for all of its pages that no other part names.
PARTS = {
    "Start": ["readme", "tutorials", "notebooks"],
    "Do": ["how-to"],
    "Gallery": ["gallery/index", "gallery"],
    "Understand": ["explanation"],
    "Look up": ["reference"],
    "Proofs and decisions": ["proofs", "adr/index", "changes", "contribute", "security"],
}


def gather(folder: Path, /) -> None:
    """Write every page of the site, as Markdown, below a folder."""
    shutil.copytree(
        DOCS, folder, ignore=shutil.ignore_patterns("_make", "*.ipynb", "facts.json"), dirs_exist_ok=True
    )
    for notebook in sorted((DOCS / "notebooks").glob("*.ipynb")):
        page = folder / "notebooks" / f"{notebook.stem}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(notebook_page(notebook), "utf-8")
    for name, ours in _OURS.items():
        (folder / ours).write_text(_of_the_site((ROOT / name).read_text("utf-8")), "utf-8")
    (folder / "adr" / "index.md").write_text(decisions_page(), "utf-8")
    for page in folder.rglob("*.md"):
        page.write_text(_led(page.read_text("utf-8")), "utf-8")
    (folder / "README.md").rename(folder / "index.md")
    for part in _MAPS:
        (folder / part / "README.md").rename(folder / part / "index.md")
    index = folder / "index.md"
    first = index.read_text("utf-8").replace(
        "# Documentation\n", f"# noisegate\n\n{metadata('noisegate')['Summary']}\n", 1
    )
    index.write_text(first + contents(folder), "utf-8")


def contents(folder: Path, /) -> str:
    """The list of all pages, for the side of every page, in the order in which the first page names them."""
    found = ""
    for part, places in PARTS.items():
        pages = [page for place in places for page in _pages(folder, place)]
        found += f"\n```{{toctree}}\n:hidden:\n:caption: {part}\n\n" + "\n".join(pages) + "\n```\n"
    return found


def _pages(folder: Path, place: str, /) -> list[str]:
    if (folder / f"{place}.md").exists():
        return [place]
    named = re.findall(r"\]\(([\w/-]+)\.md\)", (folder / "index.md").read_text("utf-8"))
    pages = [f"{place}/{one.stem}" for one in sorted((folder / place).glob("*.md"))]
    if place == "gallery":  # its map stands for it, and comes first
        pages.remove("gallery/index")
    return sorted(pages, key=lambda one: named.index(one) if one in named else len(named))


def notebook_page(path: Path, /) -> str:
    """A notebook as a page: its text, its code, and what it showed."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    text = "\n\n".join(part for cell in cells for part in _cell(cell)) + "\n"
    return re.sub(r"^# (.*)$", r"# \1, in Python", text, count=1, flags=re.MULTILINE)


def _cell(cell: dict[str, Any], /) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return [source]
    return [f"```python\n{source}\n```", *(_output(one) for one in cell.get("outputs", []))]


def _output(output: dict[str, Any], /) -> str:
    data = output.get("data", {})
    if "image/svg+xml" in data:
        picture = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        inside = f'<img alt="what the cell draws" src="data:image/svg+xml;base64,{picture}">'
    elif "text/html" in data:
        # A blank line would end the block, and the rest would be read as Markdown.
        inside = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]))
    else:
        text = html.escape("".join(output.get("text") or data["text/plain"]).rstrip())
        inside = "<pre>" + text.replace("\n", "&#10;") + "</pre>"
    return f'<div class="output">\n{inside}\n</div>'


def decisions_page() -> str:
    """The list of decisions."""
    found = sorted((DOCS / "adr").glob("*.md"))
    names = [one.stem for one in found]
    lines = [f"- [{one.read_text('utf-8').splitlines()[0].lstrip('# ')}]({one.name})" for one in found]
    tree = "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
    return "# Decisions\n\nWhy things are as they are, half a page each.\n\n" + "\n".join(lines) + "\n" + tree


def _of_the_site(text: str, /) -> str:
    """A page of the repository with its links led to the site; what the site has not is text."""
    text = re.sub(r"\]\(docs/([^)]*)\)", r"](\1)", text.replace("](docs/README.md)", "](docs/index.md)"))
    for name, ours in _OURS.items():
        text = text.replace(f"]({name}", f"]({ours}")
    return re.sub(r"(?<!!)\[([^\]]*)\]\((?!https?:|#|[\w/.-]+\.(?:md|ipynb)|adr\))[^)]*\)", r"\1", text)


def _led(text: str, /) -> str:
    """Links that are meant for a forge, led to pages of the site."""
    text = re.sub(r"\]\(((?:\.\./)?notebooks/\w+)\.ipynb\)", r"](\1.md)", text)
    text = re.sub(r"\]\(((?:\.\./)?)adr\)", r"](\1adr/index.md)", text)
    for name, ours in _OURS.items():
        text = text.replace(f"](../../{name}", f"](../{ours}")
    return re.sub(r"\]\(((?:[\w./-]+/)?)README\.md(#[\w-]+)?\)", r"](\1index.md\2)", text)


def build(out: Path, /) -> int:
    """Make the site of this version below `out`; any warning, such as a link that leads nowhere, fails."""
    from sphinx.cmd.build import main as sphinx

    number = version("noisegate")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "pages"
        gather(source)
        options = ["-b", "html", "-q", "-W", "--keep-going", "-c", str(DOCS / "_make/site")]
        failed = sphinx([*options, "-d", f"{folder}/state", str(source), str(out / number)])
    if not failed:
        _lead(out, number)
    return int(failed)


def _lead(out: Path, number: str, /) -> None:
    """A first page that leads to the version just made, and names those that lie beside it."""
    others = sorted((one.name for one in out.iterdir() if one.is_dir()), reverse=True)
    links = "".join(f'<li><a href="{one}/index.html">{one}</a>' for one in others)
    out.joinpath("index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>noisegate</title>'
        f'<meta http-equiv="refresh" content="0; url={number}/index.html">\n<h1>noisegate</h1><ul>{links}</ul>\n',
        "utf-8",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    sys.exit(build(parser.parse_args().out))
