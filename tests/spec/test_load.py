"""What a good spec means."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from pydantic import ValidationError

from noisegate.errors import SpecError
from noisegate.spec import ContributionBound, load_spec, parse_spec

RECIPE_OF_2016 = """\
privacy:
  unit: event
  scale: 1.4
  law: laplace
  zeros: keep
  margins: independent
  suppress: {below: 18}
  unsafe: true
"""


def test_the_spec_of_the_design_works_as_it_stands(write, design):
    spec = load_spec(write(design))
    assert spec.base == "time-loc"
    assert spec.domain.names == ("mode", "date", "tap", "time", "location")
    # Each place goes with the mode that its file names, and UNKNOWN with all four.
    assert spec.domain.size == 7 * 2 * 96 * (5 + 4)
    assert {name: margin.domain.size for name, margin in spec.margins.items()} == {
        "time": 4 * 7 * 2 * 96,
        "loc": 7 * 2 * (5 + 4),
    }
    assert spec.privacy.epsilon == 2
    assert spec.privacy.scale is None
    assert spec.privacy.suppress.spurious == Fraction(1, 1000)
    assert spec.privacy.contribution == ContributionBound(cells=4, per_cell=1)
    assert spec.privacy.contribution.total == 4
    assert (spec.day.first, spec.day.days) == (date(2016, 7, 25), 7)
    assert spec.dimensions["location"].values[2] == "Lee St, Stand A"
    assert spec.dimensions["tap"].values == ("on", "off")
    assert spec.dimensions["time"].values[:2] == ("00:00", "00:15")


def test_the_recipe_of_2016_works_if_it_is_admitted(write, design):
    spec = load_spec(write(design.partition("privacy:")[0] + RECIPE_OF_2016))
    assert spec.privacy.scale == Fraction(14, 10)
    assert spec.privacy.suppress.below == 18
    assert spec.privacy.contribution == ContributionBound(cells=1, per_cell=1)


def test_paths_start_at_the_folder_of_the_spec(write, design, monkeypatch, tmp_path_factory):
    path = write(design)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert load_spec(path).folder == path.parent
    monkeypatch.chdir(path.parent)
    assert load_spec("week.yaml").folder == path.parent.resolve()


def test_quotes_make_no_difference(folder, design):
    plain = design.replace('["on", "off"]', "[on, off]").replace("2016-07-25", '"2016-07-25"')
    plain = plain.replace("unsafe: false", "unsafe: no").replace("epsilon: 2.0", "epsilon: '2'")
    assert parse_spec(plain, folder=folder) == parse_spec(design, folder=folder)


def test_values_are_the_text_that_was_written(folder, design):
    values = "[007, 1e3, 06:00, yes, null-island, 2016-07-25, 'null']"
    spec = parse_spec(design.replace("[train, bus, ferry, lightrail]", values), folder=folder)
    assert spec.dimensions["mode"].values == (
        "007",
        "1e3",
        "06:00",
        "yes",
        "null-island",
        "2016-07-25",
        "null",
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("1e-3", Fraction(1, 1000)), ("2", Fraction(2))],
)
def test_numbers_are_exact(folder, design, text, value):
    assert parse_spec(design.replace("2.0", text), folder=folder).privacy.epsilon == value


def test_a_dictionary_will_do(folder):
    spec = parse_spec(
        {
            "name": "x",
            "events": {"source": "taps.csv", "person": "card"},
            "dimensions": {"date": {"column": "d", "from": date(2016, 1, 1), "to": date(2016, 1, 2)}},
            "tables": {"days": ["date"]},
            "privacy": {"unit": "person", "max_cells": 2, "epsilon": 0.1, "unsafe": False},
        },
        folder=folder,
    )
    assert spec.privacy.epsilon == Fraction(1, 10)
    assert spec.domain.size == 2


def test_a_spec_cannot_be_changed(folder, design):
    spec = parse_spec(design, folder=folder)
    with pytest.raises(ValidationError):
        spec.privacy.epsilon = Fraction(9)


def test_a_key_with_nothing_after_it_is_not_given(folder, design):
    text = design.replace("unsafe: false", "split:\n  scale: ~\n  max_per_cell: null") + "merge:\nbudget:\n"
    assert parse_spec(text, folder=folder) == parse_spec(design, folder=folder)


def test_budget_and_split(folder, design):
    text = design + "  split: {time-loc: 0.5, time: 1/3, loc: 1/6}\nbudget: { epsilon: 10}\n"
    spec = parse_spec(text, folder=folder)
    assert spec.privacy.split == {"time-loc": Fraction(1, 2), "time": Fraction(1, 3), "loc": Fraction(1, 6)}
    assert (spec.account, spec.budget.epsilon) == ("opal-cards", 10)


def test_several_events_in_a_cell(folder, design):
    spec = parse_spec(design.replace("max_cells: 4", "max_cells: 4\n  max_per_cell: 3"), folder=folder)
    assert spec.privacy.contribution == ContributionBound(cells=4, per_cell=3)
    assert spec.privacy.contribution.total == 12


def labels(spec, name, **where):
    """The labels of one dimension in the cells whose other labels are given."""
    columns = spec.domain.labels(np.arange(spec.domain.size))
    meets = np.logical_and.reduce([columns[key] == value for key, value in where.items()])
    return list(dict.fromkeys(columns[name][meets].tolist()))


def test_stops_grouped_by_postcode_for_one_mode(folder, design):
    text = design.replace("values: stops.csv", "values: stops.csv, group_by: {postcode: {mode: [bus]}}")
    spec = parse_spec(text, folder=folder)
    assert sorted(labels(spec, "location", mode="bus")) == ["2000", "2016", "UNKNOWN"]
    assert labels(spec, "location", mode="train") == ["Central", "Redfern", "UNKNOWN"]
    assert spec.domain.size == 7 * 2 * 96 * (3 + 3 + 2 + 1)
    whole = parse_spec(text.replace("group_by", "only: {}, group_by"), folder=folder)
    assert labels(whole, "location", mode="train") == list(spec.dimensions["location"].values)
    assert whole.domain.size == 7 * 2 * 96 * (3 * 6 + 3)


def test_a_postcode_that_is_also_a_stop_is_refused(folder, design):
    (folder / "stops.csv").write_text("stop,postcode\n2000,2016\nCentral,2000\n")
    text = design.replace("values: stops.csv", "values: stops.csv, group_by: postcode")
    with pytest.raises(SpecError, match=r"dimension 'location' would show '2000' for two things"):
        parse_spec(text, folder=folder)


def test_stops_grouped_by_postcode_throughout(folder, design):
    (folder / "stops.csv").write_text("stop,postcode\nCentral,2000\nTown Hall,2000\nRedfern,2016\n")
    spec = parse_spec(
        design.replace("values: stops.csv", "values: stops.csv, group_by: postcode"), folder=folder
    )
    assert labels(spec, "location", mode="train") == ["2000", "2016"]
    assert spec.margins["loc"].domain.size == 4 * 7 * 2 * 2


NIGHT = """\
merge:
  - {dimension: time, into: 1h, where: {time: {from: "22:00", to: "05:00"}, mode: [bus]}}
  - {dimension: time, into: night, where: {time: {from: 01:00, to: 04:00}, mode: [ferry, train]}}
privacy:
"""


def test_nights_in_wider_bins(folder, design):
    spec = parse_spec(design.replace("privacy:\n", NIGHT), folder=folder)
    bus = labels(spec, "time", mode="bus")
    assert sorted(bus)[:6] == [
        "00:00-01:00",
        "01:00-02:00",
        "02:00-03:00",
        "03:00-04:00",
        "04:00-05:00",
        "05:00",
    ]
    assert sorted(bus)[-2:] == ["22:00-23:00", "23:00-24:00"]
    assert len(bus) == 7 + 17 * 4
    assert len(labels(spec, "time", mode="train")) == 96 - 12 + 1
    assert len(labels(spec, "time", mode="lightrail")) == 96
    assert spec.margins["time"].domain.size == 7 * 2 * (75 + 2 * 85 + 96)


def test_places_merged_at_night(folder, design):
    merge = 'merge: [{dimension: location, by: postcode, where: {time: {from: "00:00", to: "05:00"}}}]\nprivacy:\n'
    text = design.replace("privacy:\n", merge).replace("  loc:      [mode, date, tap, location]\n", "")
    spec = parse_spec(text, folder=folder)
    assert sorted(labels(spec, "location", time="04:45")) == ["2000", "2016", "UNKNOWN"]
    assert sorted(labels(spec, "location", time="05:00")) == sorted(spec.dimensions["location"].values)


def test_days_can_be_merged_too(folder, design):
    merge = "merge: [{dimension: date, into: weekend, where: {date: {from: 2016-07-30, to: 2016-07-31}}}]\nprivacy:\n"
    spec = parse_spec(design.replace("privacy:\n", merge), folder=folder)
    assert labels(spec, "date", mode="bus")[-2:] == ["2016-07-29", "weekend"]


def test_stops_of_one_mode_only(folder, design):
    text = design.replace("values: stops.csv", "values: stops.csv, only: {mode: mode}")
    spec = parse_spec(text, folder=folder)
    assert labels(spec, "location", mode="ferry") == ["Circular Quay", "UNKNOWN"]
    assert labels(spec, "location", mode="lightrail") == ["UNKNOWN"]
    assert spec.domain.size == 7 * 2 * 96 * (3 + 3 + 2 + 1)


def test_a_column_called_like_a_dimension_rules_combinations_out(folder, design):
    told = parse_spec(design, folder=folder)
    asked = parse_spec(
        design.replace("values: stops.csv", "values: stops.csv, only: {mode: mode}"), folder=folder
    )
    assert told.domain.nests == asked.domain.nests == ((0, 4),)
    assert told.domain.size == asked.domain.size
    assert told.nesting_left_out == ()
    free = parse_spec(design.replace("values: stops.csv", "values: stops.csv, only: {}"), folder=folder)
    assert free.domain.is_product


def test_what_a_column_says_is_left_out_where_it_cannot_be(folder, design):
    (folder / "stops.csv").write_text("stop,mode\nCentral,train\nTown Hall,tram\n")
    spec = parse_spec(design, folder=folder)
    assert spec.domain.is_product
    (left_out,) = spec.nesting_left_out
    assert (left_out.dimension, left_out.within) == ("location", "mode")
    assert left_out.reason == "column mode of stops.csv has 'tram', which is no value of mode"


def test_places_of_several_modes_are_not_nested_where_margins_cross(folder, design):
    """UNKNOWN goes with all modes, so a margin by place and one by mode cross; the way margins are made decides."""
    text = design.replace("[mode, date, tap, location]", "[date, tap, location]")
    (left_out,) = parse_spec(text, folder=folder).nesting_left_out
    assert "in ways that cross" in left_out.reason
    assert parse_spec(text.replace("reconcile", "derive"), folder=folder).domain.nests == ((0, 4),)


def test_hundreds_of_suburbs(folder, design):
    rows = "".join(f"stop {n},{('train', 'bus')[n % 2]},suburb {n // 4}\n" for n in range(1_600))
    (folder / "stops.csv").write_text("stop,mode,suburb\n" + rows)
    suburbs = ", ".join(f"suburb {n}" for n in range(400))
    text = design.replace("  tap: ", f"  suburb: {{column: suburb, values: [{suburbs}]}}\n  tap: ")
    text = text.replace("[mode, date, tap, time, location]", "[mode, suburb, date, tap, time, location]")
    spec = parse_spec(text, folder=folder)
    assert spec.domain.nests == ((0, 1, 5),)
    assert spec.domain.size == 7 * 2 * 96 * 1_600


def test_only_and_group_by_together(folder, design):
    options = "values: stops.csv, only: {mode: mode}, group_by: {postcode: {mode: [bus, ferry]}}"
    spec = parse_spec(design.replace("values: stops.csv", options), folder=folder)
    assert sorted(labels(spec, "location", mode="bus")) == ["2000", "2016", "UNKNOWN"]
    assert sorted(labels(spec, "location", mode="ferry")) == ["2000", "UNKNOWN"]
    assert labels(spec, "location", mode="train") == ["Central", "Redfern", "UNKNOWN"]


def test_a_values_file_of_one_column(folder, design):
    (folder / "stops.csv").write_text("Central\nRedfern\n")
    assert parse_spec(design, folder=folder).dimensions["location"].values == ("Central", "Redfern")
    (folder / "stops.csv").write_text("\ufeffStop\r\nCentral\r\n\r\nRedfern\r\n", encoding="utf-8")
    assert parse_spec(design, folder=folder).dimensions["location"].values == ("Central", "Redfern")


def test_the_laws_of_a_spec_are_known_to_the_core():
    from typing import get_args

    from noisegate.laws import LAWS
    from noisegate.spec import Law

    assert set(get_args(Law)) <= set(LAWS)
