"""How the house is built: packages meet at their fronts, and an idea has one home."""

import ast
import importlib
import re
from collections import defaultdict
from pathlib import Path

import pytest

import noisegate

ROOT = Path(noisegate.__file__).parent
TESTS = Path(__file__).parent
MODULES = {
    ".".join(("noisegate", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py" and name.count(".") == 1}
#: Packages of shells, which nobody imports, and modules that are documented as such.
OPEN = {"noisegate.cli", "noisegate.api", "noisegate.testing"}
#: The report draws the figures of two questions on their own.
BEHIND = {
    ("noisegate.report.write", "noisegate.assessment.noise"),
    ("noisegate.report.write", "noisegate.assessment.weeks"),
}


def imported(path):
    """Every module that a file imports from, and each name with it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("noisegate."):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                # A name that is also a module is the front's function unless the front has none.
                yield node.module, whole if whole in MODULES and not _has(node.module, alias.name) else None


def _has(module, name):
    tree = ast.parse(MODULES[module].read_text())
    names = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    return name in names


def package(module):
    return ".".join(module.split(".")[:2])


def past_the_front(path, here=""):
    for module, inner in imported(path):
        home = package(module)
        if home not in PACKAGES or home in OPEN or home == package(here):
            continue
        if module != home or inner is not None:
            yield inner or module


def test_packages_are_imported_by_their_fronts():
    found = {
        (name, module)
        for name, path in MODULES.items()
        if name != "noisegate"
        for module in past_the_front(path, name)
    }
    assert found == BEHIND


def test_no_public_class_name_stands_twice():
    homes = defaultdict(list)
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_tests_go_through_fronts():
    """A test may look behind a front at a private helper or a module; few do."""
    inside = [path.name for path in sorted(TESTS.rglob("*.py")) if any(True for _ in past_the_front(path))]
    assert len(inside) <= 20, inside


@pytest.mark.parametrize("script", sorted((TESTS.parent / "bench").glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_asks_for_what_is_there(script):
    """Also in the programs that it writes down as text and runs in processes of their own."""
    for module, names in re.findall(
        r"^from (noisegate[\w.]*) import ([\w, ]+)$", script.read_text(), re.MULTILINE
    ):
        found = importlib.import_module(module)
        assert [name for name in names.split(", ") if not hasattr(found, name.split(" as ")[0])] == []
