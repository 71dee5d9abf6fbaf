"""The page on the architecture names packages and functions that are there."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import noisegate

ROOT = Path(noisegate.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "architecture.md").read_text()
PACKAGES = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"errors", "limits"}


def test_every_package_is_drawn_and_described():
    drawn = set(re.findall(r"[a-z]+", PAGE.split("```")[1]))
    assert drawn >= PACKAGES
    described = set(re.findall(r"`(\w+)`", PAGE.split("## The walk of one tap")[0]))
    assert PACKAGES - {"errors"} <= described


def test_every_name_on_the_page_is_there():
    names = re.findall(r"`((?:" + "|".join(sorted(PACKAGES)) + r")(?:\.\w+)+)`", PAGE)
    assert len(names) > 20
    for name in names:
        assert _there(f"noisegate.{name}"), name


@pytest.fixture(scope="module")
def walks(tmp_path_factory):
    """How many modules each walk runs, and how many representations it has; in a process that nothing has warmed up."""
    script = Path(__file__).parents[2] / "docs" / "_make" / "walk.py"
    program = f"""
import json, pathlib, runpy
walks = runpy.run_path({str(script)!r})["walks"](pathlib.Path({str(tmp_path_factory.mktemp("walk"))!r}))
print(json.dumps([(len(one.ran), len(one.representations)) for one in walks.values()]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_tap_and_a_cell_walk_as_far_as_the_page_says(walks):
    said = [int(number) for number in re.findall(r"(?:through|runs) (\d+)", PAGE)]
    assert [modules for modules, _ in walks] == said


def test_a_cell_has_fewer_than_eight_representations_and_walks_through_sixty_modules_at_most(walks):
    assert walks[1][0] <= 60
    assert walks[2][1] < 8


def _there(name):
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False
