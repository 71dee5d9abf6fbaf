"""Tables on a domain that a card states: it wins over what the tables reveal, unless they publish more."""

import numpy as np
import pyarrow as pa
import pytest

from noisegate import limits
from noisegate.reading import find_structure, read_table
from noisegate.reading.placing import MisplacedError, describe, place_rows
from noisegate.tables.dimension import Dimension, Kind
from noisegate.tables.domain import Domain

MODE = Dimension(name="mode", values=("train", "ferry"))
STOP = Dimension(name="stop", values=("Central", "Manly", "Quay", "UNKNOWN"))
TIME = Dimension(name="time", values=tuple(f"{hour:02d}:00" for hour in range(24)))
#: A ferry does not call at Central, a train not at Manly.
PAIRS = [[0, 2, 3, 1, 2, 3], [0, 0, 0, 1, 1, 1]]
DOMAIN = Domain.product([MODE, STOP, TIME]).nest("stop", "mode", PAIRS)


def base(**columns):
    shown = {
        "time": ["06:00", "07:00", "08:00", "06:00"],
        "Stop": ["central", "Quay", "Manly", "unknown"],
        "mode": ["train", "train", "ferry", "ferry"],
        "count": [40, 50, 60, 70],
    }
    return read_table(pa.table(shown | columns), name="base")


def margin(**columns):
    shown = {"stop": ["Central", "Quay", "Manly"], "count": [45, 55, 60]}
    return read_table(pa.table(shown | columns), name="stops")


def test_the_domain_of_the_card_wins():
    structure = find_structure([base(), margin()], domain=DOMAIN)
    assert structure.base.size == DOMAIN.size == 6 * 24
    assert find_structure([base(), margin()]).base.size < DOMAIN.size
    assert structure.nests == (("mode", "stop"),)
    labels = structure.base.labels(structure.base.cells)
    rows = set(
        zip(labels["mode"], labels["stop"], labels["time"], structure.base.values.tolist(), strict=True)
    )
    assert rows == {
        ("train", "Central", "06:00", 40),
        ("train", "Quay", "07:00", 50),
        ("ferry", "Manly", "08:00", 60),
        ("ferry", "UNKNOWN", "06:00", 70),
    }
    (link,) = structure.links
    assert link.margin.size == 4
    assert link.members.tolist() == [24, 24, 48, 48]
    np.testing.assert_allclose(link.parts, [40, 60, 50, 70])
    assert (link.summed, link.unlisted, link.coverage()) == (("mode", "time"), (), [])
    assert structure.sources[0].notes[-1] == "its cells are those that the card states"


def test_the_labels_of_a_stated_domain_are_understood():
    whole = describe(DOMAIN)
    assert [one.kind for one in whole.dimensions] == [Kind.TEXT, Kind.TEXT, Kind.TIME]
    assert whole.dimensions[2].step == 60
    assert whole.dimensions[1].unknown.tolist() == [False, False, False, True]
    assert whole.dimensions == DOMAIN.dimensions
    assert whole.size == DOMAIN.size


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        ([base(mode=["train", "train", "ferry", "bus"])], "base shows time=06:00, Stop=unknown, mode=bus"),
        ([base(Stop=["Manly", "Quay", "Manly", "unknown"])], "base shows time=06:00, Stop=Manly, mode=train"),
        ([base(), margin(stop=["Central", "Quay", "Kirribilli"])], "stops shows stop=Kirribilli"),
    ],
)
def test_tables_that_publish_more_than_the_card_lists_are_placed_as_they_are(tables, reason):
    structure = find_structure(tables, domain=DOMAIN)
    assert structure.base.size == find_structure(tables).base.size
    (note,) = [note for note in structure.sources[0].notes if "the card" in note]
    assert note.startswith(f"the domain on the card was not used: {reason}")


def test_domains_that_cannot_be_looked_at_are_not_used():
    merged = DOMAIN.merge("time", groups=["night"] * 6 + list(TIME.values[6:]), where={})
    halves = Domain.product([MODE, STOP, TIME]).merge(
        "time", groups=["night"] * 6 + list(TIME.values[6:]), where={"mode": np.array([True, False])}
    )
    assert find_structure([base()], domain=merged).base.size == 6 * 19
    found = find_structure([base()], domain=halves)
    assert "it merges values in places" in found.sources[0].notes[-1]
    with limits.override(margin_cells=100):
        found = find_structure([base()], domain=DOMAIN)
    assert "too many to look at one by one" in found.sources[0].notes[-1]


def test_other_dimensions_are_misplaced():
    table = base()
    with pytest.raises(MisplacedError, match="it is stated over mode, stop, time, the table has stop"):
        place_rows(margin().dimensions, margin().codes, DOMAIN)
    assert place_rows(table.dimensions, table.codes, DOMAIN).min() >= 0
