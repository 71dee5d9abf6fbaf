"""The reference that is committed is the one that the code makes; every page is on the map, and no picture is large."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "reference"
SCRIPT = ROOT / "docs" / "_make" / "reference.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_as_the_code_makes_it(made):
    assert {path.name for path in KEPT.iterdir()} == {path.name for path in made.iterdir()}
    for path in sorted(made.iterdir()):
        assert (KEPT / path.name).read_text() == path.read_text(), (
            f"{path.name} is out of date: run 'make docs'"
        )


def test_every_option_is_there(made):
    import typer.main

    from noisegate.cli.main import app

    text = (made / "commands.md").read_text()
    for name, command in typer.main.get_command(app).commands.items():
        inner = getattr(command, "commands", {"": command})
        for below, one in inner.items():
            title = f"## noisegate {name} {below}".rstrip()
            assert f"\n{title}\n" in text
            section = text.split(f"\n{title}\n")[1].split("\n## ")[0]
            for option in (opt for param in one.params for opt in param.opts if opt.startswith("--")):
                assert f"`{option}`" in section or option == "--help"


def test_every_key_of_a_spec_is_there(made):
    from noisegate.spec import Privacy, ReleaseSpec

    text = (made / "release-spec.md").read_text()
    for key in (*ReleaseSpec.known_keys(), *Privacy.known_keys()):
        assert f"| `{key}` |" in text


def test_no_page_depends_on_the_machine(made):
    for path in made.iterdir():
        assert " at 0x" not in path.read_text()
        assert str(ROOT) not in path.read_text()


@pytest.mark.parametrize("room", ["tutorials", "how-to", "explanation"])
def test_every_page_is_on_the_map(room):
    text = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs" / room).glob("*.md"):
        assert f"({room}/{page.name})" in text


def test_pictures_are_small_and_used():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text() for page in pages)
    for picture in (ROOT / "docs" / "images").iterdir():
        assert picture.stat().st_size < 300_000
        assert f"images/{picture.name})" in text
