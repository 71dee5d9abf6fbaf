"""A wheel has the built pages, and one without any of them cannot be made."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
ROOT = Path(__file__).resolve().parents[2]
STATIC = Path("src", "noisegate", "workbench", "static")
NEEDED = tuple(
    one.relative_to(ROOT / STATIC).as_posix() for one in sorted((ROOT / STATIC).rglob("*")) if one.is_file()
)


@pytest.fixture
def sources(tmp_path):
    """What a wheel is made of, without the programs: the pages, and a package to put them into."""
    place = tmp_path / "sources"
    shutil.copytree(ROOT / STATIC, place / STATIC)
    for one in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / one, place / one)
    (place / "src" / "noisegate" / "__init__.py").write_bytes(
        (ROOT / "src" / "noisegate" / "__init__.py").read_bytes()
    )
    return place


def build(place):
    made = place / "dist"
    code = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    made.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", code, str(made)], check=False, cwd=place, capture_output=True, text=True
    )
    return done.returncode, next(made.glob("*.whl"), None), done.stderr


def test_a_wheel_has_the_pages(sources):
    code, wheel, said = build(sources)
    assert code == 0, said[-2000:]
    assert {"index.html", "assets/workbench.js", "assets/index.css"} <= set(NEEDED)
    with zipfile.ZipFile(wheel) as packed:
        assert {f"noisegate/workbench/static/{one}" for one in NEEDED} <= set(packed.namelist())


@pytest.mark.parametrize("missing", NEEDED)
def test_a_wheel_without_them_cannot_be_made(sources, missing):
    (sources / STATIC / missing).unlink()
    code, wheel, _ = build(sources)
    assert code != 0
    assert wheel is None
