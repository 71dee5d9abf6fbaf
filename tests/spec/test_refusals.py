"""Every bad spec gets its sentence, word for word: file, line, key, what is wrong, the way out."""

import pytest

from noisegate.errors import SpecError
from noisegate.spec import load_spec, parse_spec

#: What to replace in the design's spec, by what, and the sentence that follows.
CASES = [
    # Keys
    ("epsilon: 2.0", "epslion: 2.0", "line 19: privacy.epslion is not a known key; did you mean 'epsilon'?"),
    (
        "max_cells: 4",
        "max_cell: 4\n  epslion: 3\n  xyz: 1",
        "line 18: privacy.max_cell is not a known key; did you mean 'max_cells'? (2 more errors after this one).",
    ),
    ("name: week", "name: week\nowner: me", "line 2: owner is not a known key; known here: name, population, events, dimensions, tables, privacy, merge, budget, workload, series, publication."),
    ("name: week\n", "", "name is missing."),
    ("name: week", "name: week\nname: x", "line 2: name is given twice; keep one of them."),
    ("name: week", "name: a/b", "line 1: name must be a name of letters, digits, dots, dashes and underscores, got 'a/b'."),
    ("  source: taps.parquet", "  file: taps.parquet", "line 4: events.file is not a known key; known here: source, person, timezone, dates."),
    ("  person: card_id", "  person: card_id\n  timezone: Sydney", "line 6: events.timezone must be a time zone such as Australia/Sydney, got 'Sydney'."),
    # Numbers
    ("epsilon: 2.0", "epsilon: 0", "line 19: privacy.epsilon must be more than 0, got '0'."),
    ("epsilon: 2.0", "epsilon: -1", "line 19: privacy.epsilon must be more than 0, got '-1'."),
    ("epsilon: 2.0", "epsilon: two", "line 19: privacy.epsilon must be a number such as 2, 0.5 or 1/3, got 'two'."),
    ("epsilon: 2.0", "epsilon: .inf", "line 19: privacy.epsilon must be a number such as 2, 0.5 or 1/3, got '.inf'."),
    ("epsilon: 2.0", "epsilon: 1/0", "line 19: privacy.epsilon must be a number such as 2, 0.5 or 1/3, got '1/0'."),
    ("epsilon: 2.0", "epsilon: 1e999", "line 19: privacy.epsilon must be a number such as 2, 0.5 or 1/3, got '1e999'."),
    ("epsilon: 2.0", "epsilon: [1]", "line 19: privacy.epsilon must be a number such as 2, 0.5 or 1/3, got a list."),
    ("epsilon: 2.0", "scale: 0", "line 19: privacy.scale must be more than 0, got '0'."),
    ("epsilon: 2.0", "scale: 1.4\n  epsilon: 2", "line 16: privacy must have epsilon or scale, not both; the one determines the other."),
    ("  epsilon: 2.0", "  ", "line 16: privacy must state its noise: give epsilon (for all tables together) or scale."),
    ("max_cells: 4", "max_cells: 0", "line 18: privacy.max_cells must be a whole number of at least 1, got '0'."),
    ("max_cells: 4", "max_cells: 1.5", "line 18: privacy.max_cells must be a whole number of at least 1, got '1.5'."),
    ("  max_cells: 4", "  ", "line 16: privacy.max_cells is missing; unit person-day needs the most cells that one unit may add to."),
    ("spurious: 0.001", "spurious: 1", "line 22: privacy.suppress.spurious must lie between 0 and 1, got '1'."),
    ("spurious: 0.001", "below: 0", "line 22: privacy.suppress.below must be a whole number of at least 1, got '0'."),
    ("spurious: 0.001", "below: 5, spurious: 0.1", "line 22: privacy.suppress must have exactly one of below (a number) and spurious (a share of the empty cells)."),
    ("{spurious: 0.001}", "18", "line 22: privacy.suppress must be a block of keys (below, spurious), got '18'."),
    # Words
    ("unit: person-day", "unit: person_day", "line 17: privacy.unit must be one of event, person-day, person, got 'person_day'; did you mean 'person-day'?"),
    ("law: discrete-laplace", "law: laplacian", "line 20: privacy.law must be one of discrete-laplace, laplace, rounded-laplace, discrete-gaussian, got 'laplacian'; did you mean 'laplace'?"),
    ("law: discrete-laplace", "law: discrete-gaussian", "line 16: privacy.delta is missing; Gaussian noise keeps a promise of epsilon only together with a delta."),
    ("law: discrete-laplace", "delta: 1e-6", "line 20: privacy.delta belongs to epsilon with law: discrete-gaussian; remove it."),
    ("unsafe: false", "unsafe: maybe", "line 24: privacy.unsafe must be true or false, got 'maybe'."),
    # What must be admitted
    ("zeros: perturb", "zeros: keep", "line 21: privacy.zeros is 'keep', which shows for certain that somebody was there; use perturb, or admit it with unsafe: true."),
    ("margins: reconcile", "margins: independent", "line 23: privacy.margins is 'independent', which leaks by differences between tables; use reconcile or derive, or admit it with unsafe: true."),
    ("  person: card_id", "", "line 3: events.person is missing; unit person-day needs the column that says whose event it is."),
    ("unit: person-day                # event | person-day | person\n  max_cells: 4", "unit: event\n  max_cells: 4", "line 18: privacy.max_cells bounds what a person adds, but an event always adds one to one cell; remove it."),
    # Dimensions
    ("from: 2016-07-25", "from: 25.7.2016", "line 9: dimensions.date.from must be a date such as 2016-07-25, got '25.7.2016'."),
    ("to: 2016-07-31", "to: 2016-07-24", "line 9: dimensions.date.to must not be before 'from' (2016-07-25), got '2016-07-24'."),
    (", to: 2016-07-31", "", "line 9: dimensions.date.to is missing."),
    ("from: 2016-07-25", "from: 1066-07-25", "line 9: dimensions.date.to is 346988 days after 'from'; at most a century is allowed."),
    ("every: 15min", "every: 7min", "line 10: dimensions.time.every must divide a day into equal bins, such as 15min, 30min or 1h, got '7min'."),
    ("every: 15min", "every: 15", "line 10: dimensions.time.every must be a time span such as 15min, 1h or 30s, got '15'."),
    ("every: 15min", "evry: 15min", "line 10: dimensions.time must have values (a list or a CSV file), every (a time span), from and to (dates), bands (of a number), each (weekday, week or month), join (a lookup), or of (a level)."),
    ("every: 15min", "every: 15min, values: [a]", "line 10: dimensions.time.every is not a known key; known here: column, header, values, group_by, only."),
    ("column: tap, ", "", "line 8: dimensions.tap.column is missing."),
    ('["on", "off"]', "[]", "line 8: dimensions.tap.values is an empty list; list at least one value."),
    ('["on", "off"]', "[on, on]", "line 8: dimensions.tap.values lists 'on' twice; list each value once."),
    ('["on", "off"]', "[on, [off]]", "line 8: dimensions.tap.values must list plain values, found a list."),
    ('["on", "off"]', "[on, ]]", "line 8: this is not YAML (did not find expected ',' or '}')."),
    ("stops.csv}", "stop.csv}", "line 11: dimensions.location.values names a file 'stop.csv' that does not exist beside the spec."),
    ("stops.csv}", "twice.csv}", "line 11: dimensions.location.values names twice.csv, which lists 'Central' twice (lines 2 and 4); keep one."),
    ("stops.csv}", "empty.csv}", "line 11: dimensions.location.values names empty.csv, which holds no values; list at least one."),
    ("stops.csv}", "header.csv}", "line 11: dimensions.location.values names header.csv, which holds no values; list at least one."),
    ("stops.csv}", "gap.csv}", "line 11: dimensions.location.values names gap.csv, whose line 3 has an empty value; fill it in or remove the line."),
    ("stops.csv}", "wide.csv}", "line 11: dimensions.location.values names wide.csv, whose line 2 has more columns than its header; quote its commas."),
    ("stops.csv}", "latin.csv}", "line 11: dimensions.location.values names latin.csv, which is not a CSV file in UTF-8."),
    ("stops.csv}", "folder.csv}", "line 11: dimensions.location.values names folder.csv, which cannot be read: Is a directory."),
    ("  tap:  ", "  count:", "line 8: dimensions.count is the name of the column that holds the counts; choose another."),
    # Tables
    ("[mode, date, tap, time]", "[mode, date, tap, tim]", "line 14: tables.time names a dimension 'tim' that does not exist; did you mean 'time'?"),
    ("[mode, date, tap, time]", "[mode, date, mode]", "line 14: tables.time names a dimension twice; name each once."),
    ("[mode, date, tap, time]", "[mode, date, location, tap]", "line 15: tables.loc has the same dimensions as time; keep one of them."),
    ("[mode, date, tap, time]", "time", "line 14: tables.time must be a list of dimensions such as [date, time], got 'time'."),
    ("  time-loc: [mode, date, tap, time, location]", "", "line 12: tables need one base table that has all their dimensions; add one with [mode, tap, date, time, location]."),
    ("  time:     [mode", "  a/b:     [mode", "line 14: tables.a/b must be a name of letters, digits, dots, dashes and underscores, got 'a/b'."),
    # The split
    ("unsafe: false", "split: {time-loc: 0.5, time: 0.25, loc: 0.2}", "line 24: privacy.split must add up to 1, got 0.95."),
    ("unsafe: false", "split: {time-loc: 0.5, time: 0.5}", "line 24: privacy.split.loc is missing; give every table its share, 0 for one that is only derived."),
    ("unsafe: false", "split: {time-loc: 0, time: 0.5, loc: 0.5}", "line 24: privacy.split.time-loc is 0, but the base table must be measured; give it a share."),
    ("unsafe: false", "split: {time-loc: 1.5, time: -0.5, loc: 0}", "line 24: privacy.split.time must not be negative, got '-1/2'."),
    ("unsafe: false", "split: {base: 1}", "line 24: privacy.split names a table 'base' that does not exist; there are time-loc, time, loc."),
    ("reconcile ", "derive\n  split: {time-loc: 1}", "line 24: privacy.split divides epsilon over measured tables, but derived margins have no noise of their own; remove it."),
    # Merging
    ("stops.csv}", "stops.csv, group_by: {postcod: {mode: [bus]}}}", "line 11: dimensions.location.group_by names a column 'postcod' that stops.csv does not have; did you mean 'postcode'?"),
    ("stops.csv}", "stops.csv, group_by: {postcode: {mode: [buss]}}}", "line 11: dimensions.location.group_by.where.mode lists 'buss', which is not a value of it; did you mean 'bus'?"),
    ("stops.csv}", "stops.csv, group_by: {postcode: {mood: [bus]}}}", "line 11: dimensions.location.group_by.where names a dimension 'mood' that does not exist; did you mean 'mode'?"),
    ("stops.csv}", "stops.csv, group_by: [postcode]}", "line 11: dimensions.location.group_by must be a column, or one column with its conditions: {postcode: {mode: [bus]}}, got a list."),
    ("stops.csv}", "stops.csv, group_by: {postcode: {mode: {from: bus}}}}", "line 11: dimensions.location.group_by must be a list of values or a block with from and to, got keys from."),
    ("stops.csv}", "stops.csv, group_by: {postcode: {mode: {from: bus, to: train}}}}", "line 11: dimensions.location.group_by.where.mode must be a list of values; from and to are for dates and times."),
    ("stops.csv}", "[a, b], group_by: postcode}", "line 11: dimensions.location.group_by names a column 'postcode', but the values are a written list; put them into a CSV file."),
    ("stops.csv}", "stops.csv, group_by: mode}", "line 11: dimensions.location.group_by merges by mode, which is empty for 'UNKNOWN'; fill it in."),
    ("stops.csv}", "stops.csv, only: {mode: postcode}}", "line 11: dimensions.location.only.mode reads '2000' for 'Central' in stops.csv, which is not a value of mode."),
    ("stops.csv}", "stops.csv, only: mode}", "line 11: dimensions.location.only must be a block such as {mode: mode}: dimension, then column of the values file, got 'mode'."),
    ("privacy:\n", "merge: [{dimension: time, where: {mode: bus}}]\nprivacy:\n", "line 16: merge[0] must have exactly one of by (a column of the values file) and into (a time span or a new label)."),
    ("privacy:\n", "merge: [{dimension: time, into: 50min}]\nprivacy:\n", "line 16: merge[0].into must be a multiple of the 15min bins that divides the day, got '50min'."),
    ("privacy:\n", "merge: [{dimension: time, by: postcode}]\nprivacy:\n", "line 16: merge[0] merges by a column 'postcode', which only listed values have; use into."),
    ("privacy:\n", "merge: [{dimension: time, into: 1h, where: {time: {from: 00:30, to: 05:00}}}]\nprivacy:\n", "line 16: merge[0].where.time covers only a part of '00:00-01:00'; widen it to whole groups."),
    ("privacy:\n", "merge: [{dimension: time, into: 1h, where: {time: {from: 00:10, to: 05:00}}}]\nprivacy:\n", "line 16: merge[0].where.time.from must lie on a border of the 15min bins."),
    ("privacy:\n", "merge: [{dimension: time, into: 1h, where: {time: {from: dawn, to: 05:00}}}]\nprivacy:\n", "line 16: merge[0].where.time.from must be a time of day such as 06:00, got 'dawn'."),
    ("privacy:\n", "merge: [{dimension: date, into: x, where: {date: {from: 2017-01-01, to: 2017-01-02}}}]\nprivacy:\n", "line 16: merge[0].where.date meets none of the days from 2016-07-25 to 2016-07-31."),
    (
        "privacy:\n",
        "merge: [{dimension: location, by: postcode, where: {time: {from: 00:00, to: 05:00}}}]\nprivacy:\n",
        ("line 15: tables.loc cannot be made: a table over [mode, date, tap, location] would mix cells of different "
        "widths, because location is merged under a condition on a dimension that the table leaves out; list that "
        "dimension in the table too."),
    ),
    (
        "privacy:\n",
        "merge:\n  - {dimension: time, into: 1h}\n  - {dimension: time, into: 2h, where: {mode: bus}}\nprivacy:\n",
        ("line 18: merge[1] cannot be done: two merges of time meet in the same cells and disagree; make their "
        "conditions disjoint."),
    ),
    ("dimensions:\n", "dimensions: all\nold:\n", "line 7: old is not a known key; known here: name, population, events, dimensions, tables, privacy, merge, budget, workload, series, publication."),
    ("privacy:\n", "merge: all\nprivacy:\n", "line 16: merge must be a list."),
]  # fmt: skip


@pytest.fixture
def files(folder):
    """Values files with something wrong in each."""
    (folder / "twice.csv").write_text("stop,mode\nCentral,train\nRedfern,train\nCentral,bus\n")
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("stop,mode\n")
    (folder / "gap.csv").write_text("stop,mode\nCentral,train\n,train\n")
    (folder / "wide.csv").write_text("stop,mode\nLee St, Stand A,bus\n")
    (folder / "latin.csv").write_bytes("stop\nCafé\n".encode("latin-1"))
    (folder / "folder.csv").mkdir()
    return folder


@pytest.mark.parametrize(("old", "new", "sentence"), CASES)
def test_the_sentence(files, design, old, new, sentence):
    assert design.count(old) >= 1
    with pytest.raises(SpecError) as caught:
        parse_spec(design.replace(old, new, 1), folder=files, name="week.yaml")
    comma = ", " if sentence.startswith("line") else ": "
    assert str(caught.value) == f"week.yaml{comma}{sentence}"
    assert caught.value.__cause__ is None


def test_an_event_needs_a_person_or_an_admission(folder, design):
    head, _, _ = design.partition("privacy:")
    text = (
        head.replace("  person: card_id\n", "")
        + "privacy: {unit: event, scale: 1.4, suppress: {below: 18}}\n"
    )
    with pytest.raises(SpecError) as caught:
        parse_spec(text, folder=folder)
    assert str(caught.value) == (
        "spec, line 15: privacy.unit is 'event' without a person column, which protects single events and no person; "
        "name events.person, or admit it with unsafe: true."
    )
    assert parse_spec(text.replace("{unit", "{unsafe: true, unit"), folder=folder).events.person is None


def test_days_of_a_person_need_days(folder, design):
    text = design.replace(
        "{column: tapped_at, from: 2016-07-25, to: 2016-07-31}", "{column: day, values: [mo, tu]}"
    )
    with pytest.raises(SpecError) as caught:
        parse_spec(text, folder=folder)
    assert str(caught.value) == (
        "spec, line 17: privacy.unit is person-day, which needs exactly one dimension of dates, found none."
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "week.yaml is empty; a release spec has name, events, dimensions, tables and privacy."),
        ("- a\n- b\n", "week.yaml: the spec must be a block of keys (name, population, events, dimensions, tables, privacy, merge, budget, workload, series, publication), got a list."),
        ("name: &a [*a]\n", "week.yaml, line 1: an alias contains itself; write the value out."),
        ("? [a]\n: b\n", "week.yaml, line 1: a key must be a single word, not a list or a block."),
        ("name: 'x\n", "week.yaml, line 2: this is not YAML (found unexpected end of stream)."),
    ],
)  # fmt: skip
def test_a_file_that_is_no_spec(write, text, sentence):
    with pytest.raises(SpecError) as caught:
        load_spec(write(text))
    assert str(caught.value) == sentence


def test_a_list_where_a_block_belongs(folder, design):
    head, _, tail = design.partition("dimensions:\n")
    text = head + "dimensions: [mode]\ntables:" + tail.partition("tables:")[2]
    with pytest.raises(SpecError) as caught:
        parse_spec(text, folder=folder)
    assert str(caught.value) == "spec, line 6: dimensions must be a block of keys."


def test_a_file_that_cannot_be_read(folder):
    with pytest.raises(SpecError, match=r"^The spec '.*none\.yaml' does not exist\.$"):
        load_spec(folder / "none.yaml")
    with pytest.raises(SpecError, match=r"^The spec '.*' cannot be read: Is a directory\.$"):
        load_spec(folder)
    (folder / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(SpecError, match=r"^The spec '.*latin\.yaml' is not UTF-8 text\.$"):
        load_spec(folder / "latin.yaml")


def test_tags_build_nothing(write):
    with pytest.raises(SpecError, match="is missing"):
        load_spec(write("name: !!python/object/apply:os.getcwd []\n"))
