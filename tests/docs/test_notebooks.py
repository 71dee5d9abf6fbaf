"""The notebooks run from top to bottom in an empty folder, and show what they have kept."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def runner():
    found = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "_make" / "notebooks.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def texts(outputs):
    """The text of what a cell shows."""
    return [
        "".join(one.get("text", ())) + "".join(one.get("data", {}).get("text/plain", ())) for one in outputs
    ]


def test_there_is_one_for_each_user():
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "assessor", "custodian"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_keeps(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text())
    kept = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, shown in zip(kept, runner().run(notebook), strict=True):
        assert texts(cell["outputs"]) == texts(shown), "".join(cell["source"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_to_read(path):
    cells = json.loads(path.read_text())["cells"]
    assert 10 <= len(cells) <= 24
    assert path.stat().st_size < 200_000
    for cell in cells:
        for text in texts(cell.get("outputs", ())):
            assert len(text) < 2000
            assert "/tmp" not in text
