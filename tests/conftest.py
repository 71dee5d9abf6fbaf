"""What every test shares: floating-point mistakes are errors, where the real data lies, the command line."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Machines differ in speed: an example may take as long as it needs, and there are not too many.
settings.register_profile("noisegate", deadline=None, max_examples=60)
settings.load_profile("noisegate")


#: Files whose set-up takes long and serves all their tests.
_TOGETHER = ("demo/test_story.py", "docs/test_reference.py", "docs/test_architecture.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests go to whichever worker is free, but the sections of a tutorial follow each other on one, and the demo runs once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            test, _, example = nodeid.partition("[")
            if "test_tutorials.py" in test:
                return f"{test}[{example.partition('-')[0]}"
            file = test.partition("::")[0]
            return file if file.endswith(_TOGETHER) else nodeid

    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def heads(tmp_path_factory):
    """Where ledgers ended is kept in a place of the tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOISEGATE_HEADS", str(tmp_path_factory.mktemp("heads")))
        yield


@pytest.fixture(scope="session", autouse=True)
def nothing_kept():
    """What a test works out is not there for the next one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOISEGATE_CACHE", "off")
        yield


@pytest.fixture(autouse=True, scope="session")
def logs_of_engines(tmp_path_factory):
    """What engines say in their own words goes to a folder of the tests."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before


@pytest.fixture(autouse=True)
def strict_floats():
    with np.errstate(divide="raise", over="raise", invalid="raise", under="ignore"):
        yield


@pytest.fixture(scope="session")
def shared_data():
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real tables (../shared/data) are not on this machine")
    return folder


@pytest.fixture
def noisegate(capsys):
    """The command line in this process: exit code, output, errors."""
    from noisegate.cli.main import main

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
