"""The public interface is what it says, and costs nothing to import."""

import subprocess
import sys

import pytest

import noisegate


def test_every_public_name_can_be_had():
    assert noisegate.__all__ == sorted(noisegate.__all__)
    for name in noisegate.__all__:
        assert getattr(noisegate, name).__doc__


def test_no_public_name_is_hidden_by_a_module():
    import pkgutil

    modules = {module.name for module in pkgutil.iter_modules(noisegate.__path__)}
    assert not modules & set(noisegate.__all__)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        noisegate.nothing_of_the_kind  # noqa: B018


def test_importing_the_package_loads_no_library():
    code = "import sys, noisegate; print(*[m for m in ('numpy', 'scipy', 'duckdb', 'resvg_py') if m in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == ""
    )
