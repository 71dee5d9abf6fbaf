"""Run the command line in this process, and see what it printed."""

import pytest

from noisegate.cli.main import main


@pytest.fixture
def noisegate(capsys):
    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
