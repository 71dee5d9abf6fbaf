"""The front end: its types, its own tests, and that what is committed is what its sources build."""

import fcntl
import filecmp
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import noisegate.workbench

SOURCES = Path(__file__).resolve().parents[2] / "frontend"
BUILT = Path(noisegate.workbench.__file__).parent / "static"
#: What the built pages may weigh, in bytes.
MOST = 1_000_000


@pytest.fixture(scope="session")
def npm():
    """Run npm in the front end; its packages are installed from the lock once."""
    program = shutil.which("npm")
    if program is None:
        pytest.skip("Node is not here; the built pages are committed")

    def run(*words, seconds=120):
        return subprocess.run(
            [program, *words], check=False, cwd=SOURCES, capture_output=True, text=True, timeout=seconds
        )

    # One at a time: tests run in several processes.
    with (Path(tempfile.gettempdir()) / "noisegate-npm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((SOURCES / "node_modules" / ".bin" / one).exists() for one in ("vite", "oxlint")):
            done = run("ci", "--no-audit", "--no-fund", "--ignore-scripts", seconds=300)
            if done.returncode:
                pytest.skip(f"npm ci does not work here: {done.stderr.strip()[-200:]}")
    return run


def test_what_is_built_is_small_and_whole():
    files = [one for one in BUILT.rglob("*") if one.is_file()]
    assert sum(one.stat().st_size for one in files) < MOST
    assert {"index.html", "workbench.js", "index.css"} <= {one.name for one in files}


def test_the_linter_has_nothing_to_say(npm):
    done = npm("run", "-s", "lint")
    assert done.returncode == 0, done.stdout[-2000:]


def test_types_hold(npm):
    done = npm("run", "-s", "check")
    assert done.returncode == 0, done.stdout[-2000:]


def test_its_own_tests_pass(npm):
    done = npm("run", "-s", "test")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_the_committed_pages_are_those_that_the_sources_build(npm, tmp_path):
    done = npm("run", "-s", "build", "--", "--outDir", str(tmp_path / "built"), "--emptyOutDir")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    compared = filecmp.dircmp(tmp_path / "built", BUILT)
    assets = filecmp.dircmp(tmp_path / "built" / "assets", BUILT / "assets")
    for one in (compared, assets):
        assert (one.left_only, one.right_only) == ([], []), "run 'npm run build' in frontend"
        same = filecmp.cmpfiles(one.left, one.right, one.common_files, shallow=False)
        assert same[1:] == ([], []), "run 'npm run build' in frontend"


def test_the_lock_names_no_host():
    text = (SOURCES / "package-lock.json").read_text()
    assert '"resolved"' not in text
    assert '"integrity"' in text
