"""A values file of one column: its first line is a header, a value, or somebody is asked."""

import pytest

from noisegate.errors import SpecError
from noisegate.spec import parse_spec


def labels(folder, lines, **more):
    (folder / "places.csv").write_text("\n".join(lines) + "\n")
    spec = {
        "name": "day",
        "population": "riders",
        "events": {"source": "taps.csv", "person": "card"},
        "dimensions": {"place": {"column": "stop_nr", "values": "places.csv", **more}},
        "tables": {"places": ["place"]},
        "privacy": {"unit": "person", "max_cells": 2, "epsilon": 1},
    }
    return parse_spec(spec, folder=folder).dimensions["place"].values


@pytest.mark.parametrize(
    "lines",
    [
        ["stop", "Central", "Redfern"],
        ["Stop", "Central", "Redfern"],
        ["stop_name", "Central", "Redfern"],
        ["STOP_ID", "Central", "Redfern"],
        ["number", "200060", "200070"],
        ["wharf", "Circular Quay", "Manly"],
        ["Platz", "S1", "S2"],
        ["Haltestelle", "Halt 1", "Halt 2"],
        ["Stop_Nr Alt", "Central", "Redfern"],
    ],
)
def test_what_may_be_a_header_is_asked_about_and_then_known(tmp_path, lines):
    with pytest.raises(SpecError, match="may be a header; say header: yes or header: no"):
        labels(tmp_path, lines)
    assert labels(tmp_path, lines, header="yes") == tuple(lines[1:])
    assert labels(tmp_path, lines, header="no") == tuple(lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["Central", "Redfern"],
        ["bus", "ferry", "train"],
        ["200060", "200070"],
        ["A", "B"],
        ["S1", "S2", "S3"],
        ["Central", "Redfern", "Platform 3"],
        ["only"],
    ],
)
def test_plain_values_are_not_asked_about(tmp_path, lines):
    assert labels(tmp_path, lines) == tuple(lines)


def test_the_name_of_the_column_is_a_header(tmp_path):
    assert labels(tmp_path, ["Stop_Nr", "Central", "Redfern"]) == ("Central", "Redfern")
    assert labels(tmp_path, ["stop_nr", "Central", "Redfern"], header="no") == (
        "stop_nr",
        "Central",
        "Redfern",
    )


def test_several_columns_have_a_header(tmp_path):
    with pytest.raises(SpecError, match="has several columns and so a header"):
        labels(tmp_path, ["stop,mode", "Central,train"], header="no")
