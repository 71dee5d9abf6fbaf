"""What is loaded, and when: importing the package loads nothing that costs time."""

import subprocess
import sys

import pytest

COSTLY = (
    "numba",
    "scipy",
    "resvg_py",
    "duckdb",
    "ibis",
    "pydantic",
    "jinja2",
    "numpy",
    "arro3",
    "pyarrow",
    "rich",
)


def loaded(code):
    """Which costly libraries a new process has loaded after `code`."""
    tail = f"\nimport sys; print('\\n' + ' '.join(name for name in {COSTLY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_the_package_loads_nothing():
    assert loaded("import noisegate") == []


def test_the_probe_sees_what_is_loaded():
    assert loaded("import noisegate, jinja2") == ["jinja2"]


@pytest.mark.parametrize("command", [("--version",), ("mechanism",), ("ledger", "show")], ids=" ".join)
def test_commands_load_what_they_do_today(hold, tmp_path, command):
    more = ("--ledger", str(tmp_path / "ledger.sqlite")) if command[0] == "ledger" else ()
    found = loaded(f"from noisegate.cli.main import main; assert main({[*command, *more]!r}) == 0")
    name = "-".join(command).strip("-")
    hold(f"imports/{name}", found)


def test_public_names(hold):
    import noisegate

    hold("public-names", list(noisegate.__all__))
