"""Files beside their card are read as it says, and come out as they do when nothing is known of them."""

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import noisegate
from noisegate.reading import read_source, read_structure


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    return noisegate.simulate(tmp_path_factory.mktemp("worlds") / "town", days=2, persons=12_000, seed=5)


@pytest.fixture(scope="module", params=["spec", "spec_2016"])
def release(request, town, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    noisegate.release(getattr(town, request.param), out=folder / "release", ledger=folder / "ledger.db")
    return folder / "release"


def _as_file(table, file):
    """The table as another office would spell it, so that only looking helps."""
    rows = pa_csv.read_csv(file, convert_options=pa_csv.ConvertOptions(strings_can_be_null=False))
    pa_csv.write_csv(rows, table, pa_csv.WriteOptions(delimiter=";"))


@pytest.fixture
def spelled(release, tmp_path):
    for file in release.glob("*.csv"):
        _as_file(tmp_path / file.name, file)
    (tmp_path / "card.json").write_bytes((release / "card.json").read_bytes())
    return tmp_path


def _told(structure):
    return [
        (
            table.name,
            table.domain.names,
            [(d.labels, d.keys, d.kind, d.step, d.ordinals.tolist()) for d in table.domain.dimensions],
            table.size,
            table.cells.tolist(),
            table.values.tolist(),
            table.threshold,
            table.hidden.size,
            table.absent,
        )
        for table in structure.tables
    ]


def test_the_card_and_a_look_at_the_files_give_the_same(release, spelled):
    by_card, by_looking = read_structure(release), read_structure(spelled)
    assert by_card.sources[0].dialect != by_looking.sources[0].dialect
    assert _told(by_card) == _told(by_looking)
    assert by_card.release.card.name == by_looking.release.card.name
    assert by_card.sources[0].notes == by_looking.sources[0].notes


def test_parquet_is_read_as_csv_is(release, tmp_path):
    for file in release.glob("*.csv"):
        rows = pa_csv.read_csv(
            file,
            convert_options=pa_csv.ConvertOptions(
                column_types={"count": pa.int64()}, strings_can_be_null=False
            ),
        )
        pq.write_table(rows, tmp_path / f"{file.stem}.parquet")
    (tmp_path / "card.json").write_bytes((release / "card.json").read_bytes())
    assert _told(read_structure(tmp_path)) == _told(read_structure(release))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + text.splitlines(keepends=True)[-1],
        lambda text: text.replace("count", "trips", 1),
        lambda text: text.rstrip("\n") + ".0\n",
        lambda text: text.replace("\n", ",x\n"),
    ],
    ids=["a row twice", "another name of the count", "a decimal", "a column more"],
)
def test_files_that_are_not_as_their_card_says_are_looked_at(release, tmp_path, change):
    for file in release.glob("*.csv"):
        text = file.read_text()
        (tmp_path / file.name).write_text(
            change(text) if len(read_source(file).tables[0].names) > 2 else text
        )
    (tmp_path / "card.json").write_bytes((release / "card.json").read_bytes())
    assert [table[3:6] for table in _told(read_structure(tmp_path))] == [
        table[3:6] for table in _told(read_structure(release))
    ]


def test_a_place_that_the_card_does_not_list_is_seen(release, tmp_path):
    for file in release.glob("*.csv"):
        text = file.read_text()
        first = text.splitlines()[1].split(",")
        (tmp_path / file.name).write_text(text + ",".join([*first[:-2], "Nowhere", "40"]) + "\n")
    (tmp_path / "card.json").write_bytes((release / "card.json").read_bytes())
    found = read_structure(tmp_path)
    assert "the domain on the card was not used" in " ".join(found.sources[0].notes)
