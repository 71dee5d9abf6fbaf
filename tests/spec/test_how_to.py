"""Every spec and every fragment in the how-to loads, and every key is in it."""

import re
from pathlib import Path

import pytest
import yaml

from noisegate.spec import (
    BandDimension,
    Budget,
    CalendarDimension,
    DateDimension,
    Events,
    ListedDimension,
    LookupDimension,
    Merge,
    Privacy,
    Publication,
    ReleaseSpec,
    Series,
    TimeDimension,
    parse_spec,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-a-spec.md"
FIRST, *FRAGMENTS = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def plain(text):
    return yaml.load(text, Loader=yaml.BaseLoader)


@pytest.mark.parametrize("fragment", ["", *FRAGMENTS])
def test_a_block_of_the_page_loads(folder, fragment):
    stops = (folder / "stops.csv").read_text().splitlines()
    levels = [",suburb,city", *(f",suburb {n % 2},city" for n in range(len(stops) - 1))]
    (folder / "stops.csv").write_text("\n".join(map(str.__add__, stops, levels)) + "\n")
    (folder / "zones.csv").write_text("stop,zone\nCentral,inner\nRedfern,inner\n")
    document = plain(FIRST)
    for key, value in (plain(fragment) or {}).items():
        document[key] = document[key] | value if key == "dimensions" else value
    assert parse_spec(document, folder=folder).domain.size > 0


@pytest.mark.parametrize(
    "block",
    [
        ReleaseSpec,
        Events,
        ListedDimension,
        DateDimension,
        TimeDimension,
        BandDimension,
        CalendarDimension,
        LookupDimension,
        Merge,
        Privacy,
        Budget,
        Series,
        Publication,
    ],
)
def test_every_key_is_on_the_page(block):
    text = PAGE.read_text(encoding="utf-8")
    assert [key for key in block.known_keys() if not re.search(rf"\b{key}\b", text)] == []
