"""The spec of the design document, and the files beside it."""

from pathlib import Path

import pytest

STOPS = """\
stop,mode,postcode
Central,train,2000
Redfern,train,2016
"Lee St, Stand A",bus,2000
Cleveland St,bus,2016
Circular Quay,ferry,2000
UNKNOWN,,UNKNOWN
"""


@pytest.fixture
def design():
    return (Path(__file__).parents[1] / "specs" / "design.yaml").read_text()


@pytest.fixture
def folder(tmp_path):
    """A folder with stops.csv."""
    (tmp_path / "stops.csv").write_text(STOPS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def write(folder):
    """Write a spec and give its path."""

    def write(text):
        path = folder / "week.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
