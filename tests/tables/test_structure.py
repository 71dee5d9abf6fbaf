"""Base, margins, domains and links: found in any order, under other names, over other slices."""

from collections import defaultdict
from itertools import permutations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.errors import DataError, InputError
from noisegate.inference import Sums
from noisegate.laws import Laplace
from noisegate.mechanisms import Mechanism
from noisegate.reading import find_structure, parse_overrides, read_table, summarise


def labelled(cells, flat):
    """For each cell, its values by dimension, as a set."""
    columns = cells.labels(np.asarray(flat))
    return [frozenset(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def check_link(link, *, rename=None):
    """Every base cell lies in the margin cell whose values are its own; numbers agree with brute force."""
    rename = rename or {}
    base, margin = link.base, link.margin
    cells = np.arange(base.size)
    groups = link.groups()
    names = {d.name for d in margin.dimensions}
    wanted = {frozenset(values): k for k, values in enumerate(labelled(margin, np.arange(margin.size)))}
    for values, group in zip(labelled(base, cells), groups.tolist(), strict=True):
        mine = frozenset((rename.get(n, n), v) for n, v in values if rename.get(n, n) in names)
        assert wanted.get(mine, -1) == group
    dense = base.dense()
    inside = groups >= 0
    np.testing.assert_array_equal(link.members, np.bincount(groups[inside], minlength=margin.size))
    seen = inside & np.isfinite(dense)
    np.testing.assert_array_equal(link.shown, np.bincount(groups[seen], minlength=margin.size))
    np.testing.assert_allclose(link.parts, np.bincount(groups[seen], dense[seen], minlength=margin.size))


@pytest.mark.parametrize("order", list(permutations(["time-loc", "time", "loc"])))
def test_the_base_is_found_in_any_order(week_files, week, order):
    structure = find_structure([read_table(week_files[name]) for name in order])
    assert structure.base.name == "time-loc"
    assert {link.margin.name: link.summed for link in structure.links} == {"time": ("loc",), "loc": ("time",)}
    assert structure.nests == (("mode", "loc"),)
    assert structure.base.size == week["raw"].size
    assert structure.base.suppressed == week["raw"].size - structure.base.published
    sizes = {link.margin.name: link.margin.size for link in structure.links}
    assert sizes == {"time": 3 * 7 * 2 * 72, "loc": 25 * 7 * 2}
    assert [cells.threshold.value for cells in structure.tables[:1]] == [18]


def test_links_agree_with_brute_force(week_files):
    structure = find_structure([read_table(path) for path in week_files.values()])
    for link in structure.links:
        check_link(link)
        assert link.comparable.all()
        whole = link.complete
        assert whole.any() == (link.margin.name == "loc")
        if not whole.any():
            continue
        # What is complete differs from the sum of its parts by noise alone.
        residual = link.margin.dense()[whole] - link.parts[whole]
        assert np.abs(residual).mean() < 3 * 1.4 * np.sqrt(1 + link.members[whole].max())
    assert all(np.array_equal(c.locate(c.codes(c.cells)), c.cells) for c in structure.tables)


def test_links_feed_the_linked_inference(week_files):
    structure = find_structure([read_table(path) for path in week_files.values()])
    link = structure.links[0]
    mechanism = Mechanism(law=Laplace(1.4), threshold=35, rule="ge", rounding="nearest")
    sums = Sums.by(link.groups(), link.margin.dense(), mechanism=mechanism, name=link.margin.name)
    assert sums.rows == link.margin.size
    np.testing.assert_array_equal(np.diff(sums.indptr), link.members)


def test_other_names_and_wider_bins(week_rows, write, as_csv, modes):
    hours = defaultdict(int)
    for mode, date, tap, time, count in week_rows["time"]:
        hours[mode, f"{date[6:]}/{date[4:6]}/{date[:4]}", tap, int(time[:2])] += count
    base = write("base.csv", as_csv(["mode", "stop", "date", "tap", "time", "count"], week_rows["time-loc"]))
    margin = write(
        "hourly.csv",
        as_csv(["transport_mode", "day", "direction", "hour", "n"], [(*k, v) for k, v in hours.items()]),
    )
    structure = find_structure([read_table(margin), read_table(base)])
    (link,) = structure.links
    assert structure.base.name == "base"
    assert (link.summed, link.coarser) == (("stop",), ("hour",))
    assert link.margin.shape == (3, 7, 2, 18)
    shown = {mode: len({row[1] for row in week_rows["time-loc"] if row[0] == mode}) for mode in modes}
    assert set(link.members.tolist()) == {4 * stops for stops in shown.values()}
    # The group of a base cell is the hour that its quarter lies in.
    cells = structure.base.cells[:500]
    own = structure.base.labels(cells)
    there = link.margin.labels(link.group_of(cells))
    assert [int(time[:2]) for time in own["time"]] == [int(hour) for hour in there["hour"]]
    # Dates are written as the base writes them, whatever the margin's format is.
    assert own["date"].tolist() == there["day"].tolist()


def test_a_slice_of_the_base_is_recognised(week_files, week_rows, write, as_csv):
    rows = [row for row in week_rows["time-loc"] if row[0] == "train" and row[3] == "on"]
    base = write("train-on.csv", as_csv(["mode", "loc", "date", "tap", "time", "count"], rows))
    structure = find_structure([read_table(week_files["time"]), read_table(base)])
    (link,) = structure.links
    assert structure.base.name == "train-on"
    assert structure.base.shape[0] == 1
    assert {part.dimensions: part.inside for part in link.coverage()} == {
        ("mode",): ("train",),
        ("tap",): ("on",),
    }
    assert link.comparable.sum() == 7 * 72
    assert link.margin.size == 3 * 7 * 2 * 72
    check_link(link)


def test_a_large_stop_left_out_is_not_suppressed_but_a_small_one_is(week_files, week_rows, write, as_csv):
    totals = defaultdict(int)
    for _, stop, *_, count in week_rows["loc"]:
        totals[stop] += count
    shown = {row[1] for row in week_rows["time-loc"]}
    largest = max(totals, key=totals.get)
    small = [stop for stop in totals if stop not in shown]
    assert small, "the simulated week should have a stop whose quarters are all suppressed"
    rows = [row for row in week_rows["time-loc"] if row[1] != largest]
    base = write("base.csv", as_csv(["mode", "loc", "date", "tap", "time", "count"], rows))
    structure = find_structure([read_table(base), read_table(week_files["loc"])])
    (link,) = structure.links
    (part,) = link.coverage()
    assert part.dimensions == ("mode", "loc")
    assert [value.split(" / ")[1] for value in part.outside] == [largest]
    assert structure.base.shape[0] == 24
    assert f"all but {part.outside[0]} (24 of 25)" in part.describe()


def test_a_margin_that_covers_less_than_the_base(week_files, week_rows, write, as_csv):
    rows = [row for row in week_rows["loc"] if row[0] == "bus"]
    margin = write("bus.csv", as_csv(["mode", "loc", "date", "tap", "count"], rows))
    structure = find_structure([read_table(week_files["time-loc"]), read_table(margin)])
    (link,) = structure.links
    assert link.margin.size == 12 * 7 * 2
    groups = link.group_of(structure.base.cells)
    assert set(structure.base.labels(structure.base.cells[groups < 0])["mode"]) == {"ferry", "train"}
    assert link.coverage() == []


def test_values_that_the_base_does_not_list_are_named(week_rows, write, as_csv):
    unknown = [("bus", "20160808", "on", "-1", 900), ("train", "20160808", "on", "-1", 700)]
    time = write("time.csv", as_csv(["mode", "date", "tap", "time", "count"], week_rows["time"] + unknown))
    base = write("base.csv", as_csv(["mode", "loc", "date", "tap", "time", "count"], week_rows["time-loc"]))
    loc = write("loc.csv", as_csv(["mode", "loc", "date", "tap", "count"], week_rows["loc"]))
    structure = find_structure([read_table(path) for path in (loc, time, base)])
    links = {link.margin.name: link for link in structure.links}
    assert links["loc"].unlisted == ("time=-1",)
    assert links["time"].unlisted == ()
    assert [part.outside for part in links["time"].coverage()] == [("-1",)]


def test_cells_named_without_a_count_are_part_of_the_domain(write):
    base = write("base.csv", "loc,tap,count\na,on,40\na,off,50\nb,on,60\nc,off,np\n")
    margin = write("margin.csv", "loc,count\na,91\nb,62\nc,30\nd,<5\n")
    structure = find_structure([read_table(margin), read_table(base)])
    (link,) = structure.links
    assert [labels.tolist() for labels in structure.base.labels(structure.base.hidden).values()] == [
        ["c"],
        ["off"],
    ]
    assert link.margin.labels(link.margin.hidden)["loc"].tolist() == ["d"]


def test_time_grids_are_filled_between_the_first_and_the_last_bin(write):
    base = write("t.csv", "time,tap,count\n06:00,on,40\n06:15,on,50\n07:30,off,60\n")
    assert find_structure([read_table(base)]).base.shape == (7, 2)


def test_the_grid_reaches_to_the_end_of_a_wide_bin(write):
    """The hour of 07 has four quarters, also when the last ones are suppressed."""
    base = write("base.csv", "time,loc,count\n06:00,a,40\n06:15,b,50\n07:15,a,60\n")
    margin = write("margin.csv", "hour,count\n6,95\n7,70\n")
    (link,) = find_structure([read_table(base), read_table(margin)]).links
    assert link.base.shape == (8, 2)
    assert link.members.tolist() == [8, 8]


def test_one_table_alone(week_files):
    structure = find_structure([read_table(week_files["loc"])])
    assert structure.links == ()
    assert structure.base.name == "loc"


def test_pieces_of_one_table_are_put_together(week_files, week_rows, write, as_csv):
    header = ["mode", "loc", "date", "tap", "time", "count"]
    first = write("a.csv", as_csv(header, [r for r in week_rows["time-loc"] if r[2] < "20160811"]))
    second = write("b.csv", as_csv(header, [r for r in week_rows["time-loc"] if r[2] >= "20160811"]))
    whole = find_structure([read_table(week_files["time-loc"])]).base
    pieces = find_structure([read_table(second), read_table(week_files["time"]), read_table(first)])
    assert pieces.base.name == "b + a"
    assert (pieces.base.size, pieces.base.published) == (whole.size, whole.published)
    assert sorted(pieces.sources[0].files) == [first, second]
    np.testing.assert_array_equal(pieces.base.cells, whole.cells)
    np.testing.assert_array_equal(pieces.base.values, whole.values)


def _of_areas(name, counts, write, as_csv):
    rows = [(f"{name} {k}", f"{10 * j} to {10 * j + 9}", int(n)) for (k, j), n in np.ndenumerate(counts)]
    return read_table(write(f"{name}.csv", as_csv(["area", "age", "count"], rows)))


def test_districts_and_regions_that_count_the_same_people_are_not_one_table(write, as_csv):
    """Perturbed each by itself, so that sums over areas are not quite equal; as pieces of one table they would count everybody twice."""
    rng = np.random.default_rng(3)
    raw = rng.poisson(rng.gamma(2.0, 60.0, (24, 12)))
    districts = _of_areas("district", raw + rng.integers(-1, 2, raw.shape), write, as_csv)
    wider = raw.reshape(4, 6, 12).sum(axis=1)
    regions = _of_areas("region", wider + rng.integers(-1, 2, wider.shape), write, as_csv)
    for tables in ([districts, regions], [regions, districts]):
        with pytest.raises(DataError, match=r"no area in common.*lookup file"):
            find_structure(tables)


def test_areas_with_other_people_are_pieces_of_one_table_however_alike(write, as_csv):
    rng = np.random.default_rng(4)
    mean = rng.gamma(2.0, 60.0, (6, 12))
    tables = [_of_areas(name, rng.poisson(mean), write, as_csv) for name in ("north", "south")]
    assert find_structure(tables).base.size == 12 * 12


def test_a_second_publication_of_the_same_cells_is_a_margin_of_single_cells(
    week_files, week_rows, write, as_csv
):
    again = [(*row[:-1], row[-1] + 1) for row in week_rows["time-loc"][::2]]
    second = write("again.csv", as_csv(["mode", "loc", "date", "tap", "time", "count"], again))
    structure = find_structure([read_table(second), read_table(week_files["time-loc"])])
    (link,) = structure.links
    assert structure.base.name == "time-loc"
    assert link.summed == ()
    assert set(link.members[link.published].tolist()) == {1}
    whole = link.complete
    np.testing.assert_array_equal(link.margin.dense()[whole] - link.parts[whole], 1)


def test_a_base_of_two_rows_still_has_its_margins(write, week_files, week_rows, as_csv):
    """A cautious release suppresses nearly all of its base; the margins then tell the domain."""
    header = ["mode", "loc", "date", "tap", "time", "count"]
    few = sorted(week_rows["time-loc"], key=lambda row: -row[-1])[:2]
    base = write("few.csv", as_csv(header, [(*row[:-1], 400) for row in few]))
    structure = find_structure([read_table(path) for path in (week_files["loc"], week_files["time"], base)])
    assert structure.base.name == "few"
    assert structure.base.size == 25 * 7 * 2 * 72
    assert all(link.comparable.all() for link in structure.links)


def test_copies_of_a_table_are_left_out(week_files, week_rows, tmp_path):
    header = ["mode", "loc", "date", "tap", "time", "count"]
    columns = dict(zip(header, zip(*reversed(week_rows["time-loc"]), strict=True), strict=True))
    copy = tmp_path / "time-loc.parquet"
    pq.write_table(pa.table({key: list(column) for key, column in columns.items()}), copy)
    for tables in ([week_files["time-loc"]] * 2, [week_files["time-loc"], copy]):
        structure = find_structure([read_table(path) for path in tables])
        assert structure.links == ()
        assert structure.base.published == len(week_rows["time-loc"])
        assert structure.base.name == "time-loc"
        assert "holds the same table once more; it was left out" in structure.sources[0].notes[-1]


def test_tables_of_one_name_are_told_apart_by_their_folders(tmp_path, week_files):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "t.csv").write_text(week_files["time-loc"].read_text())
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "t.csv").write_text(week_files["time"].read_text())
    structure = find_structure([read_table(tmp_path / folder / "t.csv") for folder in ("one", "two")])
    assert [cells.name for cells in structure.tables] == ["one/t", "two/t"]


def test_few_rows_do_not_make_wide_bins(write):
    """Rows at 06:00 and 06:45 are quarters, not bins of 45 minutes."""
    base = write("base.csv", "time,loc,count\n06:00,a,40\n06:15,a,50\n06:30,b,60\n06:45,a,70\n")
    margin = write("margin.csv", "time,count\n06:00,45\n06:45,90\n")
    (link,) = find_structure([read_table(base), read_table(margin)]).links
    assert link.coarser == ()
    told = parse_overrides({"tables": {"margin": {"dimensions": {"time": {"every": "30min"}}}}})
    wide = write("margin.csv", "time,count\n06:00,95\n06:30,130\n")
    tables = [read_table(base), read_table(wide, overrides=told)]
    assert find_structure(tables, overrides=told).links[0].coarser == ("time",)


def test_columns_that_say_nothing_do_not_hide_a_margin(week_files, week_rows, write, as_csv):
    rows = [(*row[:2], f"Area of {row[1]}", "persons", *row[2:]) for row in week_rows["loc"]]
    margin = write("loc.csv", as_csv(["mode", "loc", "suburb", "unit", "date", "tap", "count"], rows))
    structure = find_structure([read_table(margin), read_table(week_files["time-loc"])])
    (link,) = structure.links
    assert [d.name for d in link.margin.dimensions] == ["mode", "loc", "date", "tap"]
    check_link(link)


def test_suppression_is_not_mistaken_for_nesting(write):
    """Small regions are published for the commonest cause only; any cause could occur in them."""
    lines = [
        f"Region {k},{cause},{age},{50 + k}\n"
        for k in range(40)
        for cause in (["flu", "cold"] if k < 3 else ["flu"])
        for age in ("young", "middle", "old", "very old", "oldest", "any age at all")
    ]
    structure = find_structure([read_table(write("t.csv", "region,cause,age,count\n" + "".join(lines)))])
    assert structure.nests == ()
    assert structure.base.size == 40 * 2 * 6


def test_a_release_in_parquet(tmp_path, week_rows):
    headers = {
        "time-loc": ["mode", "loc", "date", "tap", "time", "count"],
        "loc": ["mode", "loc", "date", "tap", "count"],
    }
    for name, header in headers.items():
        columns = dict(zip(header, zip(*week_rows[name], strict=True), strict=True))
        pq.write_table(
            pa.table({key: list(column) for key, column in columns.items()}), tmp_path / f"{name}.parquet"
        )
    structure = find_structure([read_table(tmp_path / f"{name}.parquet") for name in headers])
    assert structure.base.name == "time-loc"
    assert structure.links[0].members.max() == 72


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (
            "region,count\nN,40\nS,50\n",
            "colour,count\nred,40\nblue,50\n",
            "share no dimension; assess them separately",
        ),
        (
            "date,tap,loc,count\n20160808,on,a,40\n20160809,off,b,50\n",
            "date,tap,count\n20160901,on,90\n20160902,off,80\n",
            "have no date in common, so nothing can be compared",
        ),
        (
            "origin,destination,count\na,b,40\nb,a,50\nb,c,60\nc,b,61\nc,a,62\na,c,66\n",
            "loc,count\na,90\nb,99\nc,95\n",
            "'loc' of second could be 'origin' or 'destination' of first; say which with 'as'",
        ),
    ],
)
def test_tables_that_do_not_belong_together(write, first, second, words):
    tables = [read_table(write("first.csv", first)), read_table(write("second.csv", second))]
    for given in (tables, tables[::-1]):
        with pytest.raises(DataError) as caught:
            find_structure(given)
        assert words.split(":")[0] in str(caught.value)
    with pytest.raises(DataError) as caught:
        find_structure(tables)
    assert words in str(caught.value)


def test_a_margin_too_large_to_hold(write):
    """Two publications of a table whose columns are free text: 4e9 possible cells."""
    rows = [f"a{k},b{k},c{k}" for k in range(1600)]
    tables = [
        read_table(
            write(
                f"{name}.csv",
                "x,y,z,count\n" + "".join(f"{row},{40 + k % 9 + n}\n" for k, row in enumerate(rows)),
            )
        )
        for n, name in enumerate(("one", "two"))
    ]
    assert find_structure(tables[:1]).base.published == 1600
    independent = [row.split(",") for row in rows]
    shuffled = [
        f"{a},{independent[-k][1]},{independent[k * 7 % 1600][2]}" for k, (a, _, _) in enumerate(independent)
    ]
    both = sorted({*rows, *shuffled})
    tables = [
        read_table(
            write(
                f"{name}.csv",
                "x,y,z,count\n" + "".join(f"{row},{40 + k % 9 + n}\n" for k, row in enumerate(both)),
            )
        )
        for n, name in enumerate(("one", "two"))
    ]
    with pytest.raises(DataError, match=r"combine to 4\.1e\+09 cells, fewer than 5e\+07 are allowed"):
        find_structure(tables)


POOLS = {
    "mode": ["bus", "train", "ferry"],
    "loc": [f"stop {k}" for k in range(12)],
    "date": [f"2016-08-{day:02d}" for day in range(1, 9)],
    "time": [f"{minutes // 60:02d}:{minutes % 60:02d}" for minutes in range(360, 720, 15)],
    "hour": [str(hour) for hour in range(24)],
    "age": [str(age) for age in range(30)],
    "sex": ["Male", "Female", "Total", "UNKNOWN"],
    "code": ["-1", "2000", "2001", "abc"],
    "at": ["2016-08-01 07:15", "2016-08-01 07:30"],
}


def random_table(rng, columns):
    """A table over some columns with few or many rows, some of them without a count."""
    values = [POOLS[name][: rng.integers(1, len(POOLS[name]) + 1)] for name in columns]
    cells = {tuple(str(rng.choice(pool)) for pool in values) for _ in range(rng.choice([1, 5, 60]))}
    counts = [
        str(rng.choice(["<5", ""])) if rng.random() < 0.05 else str(int(rng.pareto(1) * 20) + 1)
        for _ in cells
    ]
    lines = [",".join([*cell, count]) for cell, count in zip(sorted(cells), counts, strict=True)]
    return "\n".join([",".join([*columns, "count"]), *lines]) + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_random_tables_end_in_a_structure_or_in_a_sentence(write, seed):
    rng = np.random.default_rng(seed)
    columns = list(rng.choice(list(POOLS), size=rng.integers(1, 6), replace=False))
    picks = [columns, *([c for c in columns if rng.random() < 0.7] or columns[:1] for _ in range(2))]
    paths = [write(f"t{k}.csv", random_table(rng, pick)) for k, pick in enumerate(picks)]
    try:
        structure = find_structure([read_table(path) for path in paths])
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is fine, a traceback is not
        return
    for cells in structure.tables:
        assert ((cells.cells >= 0) & (cells.cells < cells.size)).all()
        assert (np.diff(cells.cells) > 0).all()
        assert (cells.hidden >= 0).all()
        np.testing.assert_array_equal(cells.locate(cells.codes(cells.cells)), cells.cells)
    for link in structure.links:
        groups = link.groups()
        np.testing.assert_array_equal(
            np.bincount(groups[groups >= 0], minlength=link.margin.size), link.members
        )
        assert (link.shown <= link.members).all()
    assert all(table.to_json() for table in summarise(structure))


def test_no_tables():
    with pytest.raises(DataError, match="There is no table to assess"):
        find_structure([])


def test_summary_says_what_was_decided(week_files):
    structure = find_structure([read_table(week_files[name]) for name in ("loc", "time-loc")])
    base, margin = (table.to_json() for table in summarise(structure))
    assert {"name", "rows", "dimensions", "domain_size", "suppressed", "threshold"} <= base.keys()
    assert base["domain_size"] == base["rows"] + base["suppressed"]
    assert {"value", "rule"} <= base["threshold"].keys()
    assert (base["role"], margin["role"]) == ("base", "margin")
    assert margin["link"]["summed"] == ["time"]
    assert margin["link"]["comparable"] == margin["rows"]
    assert [detail["name"] for detail in base["details"]] == ["mode", "loc", "date", "tap", "time"]
    assert base["details"][4] == {
        "name": "time",
        "kind": "time",
        "written": "times HH:MM, every 15 min",
        "values": 72,
        "shown": 72,
        "first": "05:00",
        "last": "22:45",
        "unknown": [],
    }
