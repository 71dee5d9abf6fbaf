"""What documents show is the public interface: nothing else is imported, and every public name is shown somewhere."""

import ast
import json
import re
from pathlib import Path

import pytest

import noisegate

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
NOTEBOOKS = sorted(ROOT.glob("docs/notebooks/*.ipynb"))
#: Modules that are documented as such.
MODULES = {"limits", "testing"}
#: Pages that are made from the list of public names, and so show all of them.
MADE = ROOT / "docs" / "reference"


def blocks_of(page):
    """The Python of a page: blocks, sessions without what they print, the cells of a notebook."""
    if page.suffix == ".ipynb":
        cells = json.loads(page.read_text())["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    text = page.read_text()
    sessions = re.findall(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    typed = [
        "\n".join(line[4:] for line in one.splitlines() if line[:4] in (">>> ", "... ")) for one in sessions
    ]
    return [*re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE), *typed]


def reached(code):
    """Every name of ours that a piece of code imports or reaches through the package, by its full path."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "noisegate")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "noisegate":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "noisegate"
        ):
            yield f"noisegate.{node.attr}"


def allowed(path):
    _, _, rest = path.partition(".")
    first = rest.split(".")[0]
    return rest in ("", "__version__", *noisegate.__all__) or first in MODULES


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_imports_public_names_only(page):
    inner = sorted({path for code in blocks_of(page) for path in reached(code) if not allowed(path)})
    assert not inner, f"not public: {', '.join(inner)}"


@pytest.mark.parametrize("name", noisegate.__all__)
def test_every_public_name_is_used_on_a_page(name):
    pages = [page for page in [*PAGES, *NOTEBOOKS] if MADE not in page.parents]
    used = {path for page in pages for code in blocks_of(page) for path in reached(code)}
    text = "\n".join(page.read_text() for page in pages)
    assert f"noisegate.{name}" in used or re.search(rf"`(noisegate\.)?{name}[`(.]", text), (
        f"no page outside the reference speaks of {name}"
    )


@pytest.mark.parametrize(
    ("code", "fine"),
    [
        ("import noisegate\nnoisegate.assess('x')", True),
        ("from noisegate import limits\nfrom noisegate.testing import make_world", True),
        ("from noisegate import Mechanism", True),
        ("from noisegate.laws import Laplace", False),
        ("import noisegate.laws", False),
        ("import noisegate\nnoisegate.laws.Laplace", False),
        ("from noisegate import laws", False),
        ("import numpy.random", True),
    ],
)
def test_what_is_inner_is_seen(code, fine):
    assert all(map(allowed, reached(code))) is fine
