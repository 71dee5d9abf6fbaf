"""Tables on a domain that a card states: it wins over what the tables reveal, unless they publish more."""

import numpy as np
import pyarrow as pa
import pytest

from noisegate import limits
from noisegate.reading import MisplacedError, describe, find_structure, place_rows, read_table, summarise
from noisegate.tables import (
    Card,
    Dimension,
    Domain,
    Kind,
    StatedDomain,
    StatedLosses,
    StatedMechanism,
    StatedTable,
)

MODE = Dimension(name="mode", values=("train", "ferry"))
STOP = Dimension(name="stop", values=("Central", "Manly", "Quay", "UNKNOWN"))
TIME = Dimension(name="time", values=tuple(f"{hour:02d}:00" for hour in range(24)))
#: A ferry does not call at Central, a train not at Manly.
PAIRS = [[0, 2, 3, 1, 2, 3], [0, 0, 0, 1, 1, 1]]
DOMAIN = Domain.product([MODE, STOP, TIME]).nest("stop", "mode", PAIRS)


def card(domain, /, **more):
    """A card that states a domain."""
    stated = StatedTable(name="base", dimensions=domain.names, noise=None, threshold=None, base=True)
    losses = StatedLosses(event=None, person_day=None, person=None, example=None)
    mechanism = StatedMechanism(
        law=None, sampler=None, rounding=None, zeros=None, margins=None, margins_description=None
    )
    told = {"domain": StatedDomain.of(domain), "tables": (stated,)} | more
    return Card(name="taps", unit="event", losses=losses, mechanism=mechanism, **told)


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
    stated = card(DOMAIN)
    structure = find_structure([base(), margin()], card=stated)
    assert structure.release.card is stated
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
    structure = find_structure(tables, card=card(DOMAIN))
    assert structure.base.size == find_structure(tables).base.size
    (note,) = [note for note in structure.sources[0].notes if "the card" in note]
    assert note.startswith(f"the domain on the card was not used: {reason}")


def test_values_may_be_merged_in_places():
    groups = ["night"] * 6 + list(TIME.values[6:])
    merged = DOMAIN.merge("time", groups=groups, where={})
    assert find_structure([base()], card=card(merged)).base.size == 6 * 19
    trains = Domain.product([MODE, STOP, TIME]).merge(
        "time", groups=groups, where={"mode": np.array([True, False])}
    )
    structure = find_structure([base(), margin()], card=card(trains))
    assert structure.base.size == 4 * 19 + 4 * 24
    (link,) = structure.links
    assert link.members.tolist() == [19 + 24] * 4
    np.testing.assert_array_equal(link.members, np.bincount(link.groups()))
    assert link.coverage() == []
    assert [one.values for one in summarise(structure)[0].details] == [2, 4, 25]


def test_combinations_that_cannot_be_are_left_out_where_the_card_does_not_say():
    """A card of a spec without nesting lists ferries at railway stations; the tables know better."""
    stops = tuple(f"{mode} {k}" for mode in ("train", "ferry") for k in range(10))
    stop = Dimension(name="stop", values=(*stops, "nowhere"))
    product = Domain.product([MODE, stop, TIME])
    rows = [(name.split()[0], name, time) for name in stops for time in TIME.values[5:20]]
    mode, place, time = zip(*rows, strict=True)
    table = read_table(
        pa.table({"mode": mode, "stop": place, "time": time, "count": range(20, 20 + len(rows))})
    )
    structure = find_structure([table], card=card(product))
    assert structure.nests == (("mode", "stop"),)
    assert structure.base.size == (20 + 2) * 24  # a stop that nobody shows may be of either mode
    assert (
        structure.sources[0]
        .notes[-1]
        .startswith("its cells are those that the card states, less combinations")
    )


def test_cards_that_state_no_cells_change_nothing():
    found = find_structure([base()])
    assert find_structure([base()], card=card(DOMAIN, domain=None)).base.size == found.base.size
    note = find_structure([base()], card=card(DOMAIN, tables=())).sources[0].notes[-1]
    assert note == "the domain on the card was not used: it does not state the cells of its tables."
    with limits.override(margin_cells=100):
        note = find_structure([base()], card=card(DOMAIN)).sources[0].notes[-1]
    assert note.endswith("it has 144 cells, too many to look at one by one")


def test_other_dimensions_are_misplaced():
    table = base()
    with pytest.raises(MisplacedError, match="it is stated over mode, stop, time, the table has stop"):
        place_rows(margin().dimensions, margin().codes, DOMAIN)
    assert place_rows(table.dimensions, table.codes, DOMAIN).min() >= 0
