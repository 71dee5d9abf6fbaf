"""Two releases that differ in a sliver: planted ones are found, none is seen where there is none, and noise is allowed for."""

from __future__ import annotations

import csv
import itertools
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc_compute
import pyarrow.csv as pc
import pytest

import noisegate
from noisegate.assessment import DifferenceNoise, find_slivers_between
from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace, Laplace
from noisegate.mechanisms import Marker
from noisegate.tables import Dimension, Domain, Table

SHAPES = ((10, 6), (40, 6, 2), (200,), (30,), (25, 25))
MEANS = (3.0, 20.0, 200.0, 50.0, 1.5)


def table(name, counts, *, hidden_below=0):
    dims = [
        Dimension(name=f"d{k}", values=tuple(f"v{v}" for v in range(size)))
        for k, size in enumerate(counts.shape)
    ]
    values = counts.ravel()
    cells = np.flatnonzero((values >= hidden_below) | (values == 0))
    gone = np.setdiff1d(np.arange(values.size), cells)
    return Table(
        name=name,
        domain=Domain.product(dims),
        cells=cells,
        values=values[cells],
        hidden=gone,
        markers=(Marker(text="<", low=1, high=max(hidden_below - 1, 1)),),
        marks=np.zeros(gone.size, np.int64),
    )


def counts_of(k, rng):
    shape, mean = SHAPES[k % 5], MEANS[(k // 5) % 5]
    return rng.poisson(mean * rng.gamma(1.0, 1.0, shape) + 0.5)


def planted(counts, rng):
    """The same counts but for one to three slivers of one to five people, who come or go."""
    new, n = counts.ravel().copy(), int(rng.integers(1, 4))
    where = rng.choice(new.size, n, replace=False)
    size = rng.integers(1, 6, n) * rng.choice([-1, 1], n)
    size = np.where(new[where] + size < 0, -size, size)
    new[where] += size
    return new.reshape(counts.shape), dict(zip(where.tolist(), size.tolist(), strict=True))


def places(found, shape):
    codes = [tuple(int(label[1:]) for _, label in one.labels) for one in found.slivers]
    return {
        int(np.ravel_multi_index(code, shape)): int(one.size)
        for code, one in zip(codes, found.slivers, strict=True)
    }


@pytest.mark.parametrize("k", range(50))
def test_every_planted_sliver_is_found_and_nothing_else(k):
    rng = np.random.default_rng(100 + k)
    old = counts_of(k, rng)
    new, truth = planted(old, rng)
    found = find_slivers_between(table("old", old), table("new", new))
    assert found.verdict == "slivers"
    assert places(found, old.shape) == truth
    assert [one.low for one in found.slivers] == sorted(abs(one) for one in truth.values())
    assert all(one.low == one.high == abs(one.size) for one in found.slivers)


@pytest.mark.parametrize("k", range(50))
def test_different_people_raise_no_alarm(k):
    """Two weeks of the same town, the second up to 4 % busier: other people, whose counts differ by chance."""
    rng = np.random.default_rng(200 + k)
    mean = counts_of(k, rng) + 1.0
    pair = [
        table(name, rng.poisson(mean * growth))
        for name, growth in (("one", 1.0), ("two", 1 + 0.02 * (k % 3)))
    ]
    found = find_slivers_between(*pair)
    assert found.verdict in {"different people", "cannot tell"}


def test_the_same_twice_is_no_alarm():
    counts = counts_of(2, np.random.default_rng(0))
    assert find_slivers_between(table("a", counts), table("b", counts)).verdict == "the same"


@pytest.mark.parametrize("told", [True, False])
def test_noise_alone_is_no_sliver_and_a_sliver_beyond_it_has_an_interval(told):
    rng, law = np.random.default_rng(5), Laplace(2.0).rounded()
    spread = DifferenceNoise(law=law.difference()) if told else None
    alarms, covered, seen = 0, 0, 0
    for _ in range(40):
        counts = rng.poisson(300 * rng.gamma(2.0, 1.0, (30, 8)) + 30)
        quiet, moved = counts.copy(), counts.copy()
        moved[3, 4] += 60
        first, second, third = (
            table(name, one + law.sample(one.size, rng=rng).reshape(one.shape))
            for name, one in (("first", counts), ("second", quiet), ("third", moved))
        )
        alarms += find_slivers_between(first, second, spread=spread).verdict == "slivers"
        found = find_slivers_between(first, third, spread=spread)
        assert found.seen_from < 60
        hit = [one for one in found.slivers if dict(one.labels) == {"d0": "v3", "d1": "v4"}]
        seen += len(hit)
        covered += sum(one.low <= 60 <= one.high for one in hit)
    assert alarms <= 1
    assert seen == 40
    assert covered >= 33  # of 40 at 95 %: fewer has a chance below 1e-3


def test_a_few_who_left_everywhere_are_not_taken_for_noise():
    """Two in a hundred were taken out of the second release: every difference is a count of them."""
    rng = np.random.default_rng(6)
    old = rng.poisson(rng.gamma(1.0, 60.0, (40, 10)))
    new = rng.binomial(old, 0.98)
    found = find_slivers_between(table("old", old), table("new", new))
    assert found.verdict == "slivers"
    assert found.found == int((old != new).sum())


def test_rounded_counts_give_a_range():
    rng = np.random.default_rng(7)
    old = rng.poisson(200, (30, 5)) // 3 * 3
    new = old.copy()
    new[2, 2] += 9
    found = find_slivers_between(table("old", old), table("new", new))
    assert [(one.size, one.low, one.high) for one in found.slivers] == [(9, 5, 13)]
    assert any("multiples of 3" in one for one in found.assumes)


def test_a_count_that_one_release_hides():
    rng = np.random.default_rng(8)
    old = rng.poisson(60, (20, 5))
    old[4, 2] = 12
    new = old.copy()
    new[4, 2] = 3
    found = find_slivers_between(table("old", old), table("new", new, hidden_below=10))
    (one,) = found.slivers
    assert (one.first, one.second, one.low, one.high) == (12, None, 3, 11)


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_that_is_only_in_one_release(turned):
    """Exact tables leave empty cells out: who is alone in a cell makes a row come or go."""
    rng = np.random.default_rng(12)
    old = rng.poisson(3, (40, 6))
    old[5, 5] = 0
    new = old.copy()
    new[5, 5] = 1

    def rows_only(name, counts):
        whole = table(name, counts)
        kept = whole.values > 0
        return Table(name=name, domain=whole.domain, cells=whole.cells[kept], values=whole.values[kept])

    pair = [rows_only("old", old), rows_only("new", new)]
    found = find_slivers_between(*(pair[::-1] if turned else pair))
    assert [(dict(one.labels), one.size) for one in found.slivers] == [
        ({"d0": "v5", "d1": "v5"}, -1 if turned else 1)
    ]
    assert any("means that nobody is there" in one for one in found.assumes)


def test_bands_with_other_edges_give_the_ages_between_them():
    rng = np.random.default_rng(9)
    ages = rng.poisson(rng.gamma(2.0, 3.0, (25, 90)))

    def banded(name, edges):
        labels = tuple(f"{a}-{b - 1}" if b < 90 else f"{a}+" for a, b in itertools.pairwise(edges))
        counts = np.stack([ages[:, a:b].sum(axis=1) for a, b in itertools.pairwise(edges)], axis=1)
        dims = [
            Dimension(name="area", values=tuple(f"A{k}" for k in range(25))),
            Dimension(name="age", values=labels),
        ]
        return Table(
            name=name, domain=Domain.product(dims), cells=np.arange(counts.size), values=counts.ravel()
        )

    found = find_slivers_between(banded("a", [0, 15, 65, 90]), banded("b", [0, 16, 65, 90]))
    truth = {f"A{k}": n for k, n in enumerate(ages[:, 15].tolist()) if n}
    assert {dict(one.labels)["area"]: one.size for one in found.slivers} == truth
    assert {dict(one.labels)["age"] for one in found.slivers} == {"15"}


def test_two_geographies_give_the_ground_between_them(tmp_path):
    """Thirty districts of four blocks; wards follow their borders but for two blocks on the wrong side."""
    rng = np.random.default_rng(13)
    blocks = rng.poisson(60, (120, 3))
    district, ward = np.arange(120) // 4, np.arange(120) // 4
    ward = ward.copy()
    ward[7], ward[50] = 2, 13  # a block of district 1 and one of district 12 lie in the next ward
    blocks[7], blocks[50] = (2, 0, 5), (1, 3, 4)
    lookup = "district,ward\n" + "".join(f"D{d},W{w}\n" for d, w in zip(district, ward, strict=True))
    (tmp_path / "areas.csv").write_text(lookup)
    for name, letter, of in (("district", "D", district), ("ward", "W", ward)):
        sums = np.stack([blocks[of == k].sum(axis=0) for k in range(30)])
        rows = "".join(f"{letter}{k},b{j},{n}\n" for (k, j), n in np.ndenumerate(sums))
        (tmp_path / f"{name}s.csv").write_text(f"{name},band,count\n{rows}")
    found = noisegate.find_slivers(
        tmp_path / "districts.csv", tmp_path / "wards.csv", areas=tmp_path / "areas.csv"
    )
    assert found.verdict == "slivers"
    pieces = {(dict(one.labels)["area"], dict(one.labels)["band"]): one.low for one in found.slivers}
    assert pieces["W2 beyond D2", "b0"] == pieces["D1 beyond W1", "b0"] == 2
    assert pieces["W13 beyond D13", "b1"] == 3
    assert ("W2 beyond D2", "b1") not in pieces  # nobody is there
    assert len(pieces) == 10
    assessed = noisegate.assess(
        tmp_path / "districts.csv",
        against=[tmp_path / "wards.csv"],
        areas=tmp_path / "areas.csv",
        attacker=None,
    )
    (finding,) = [one for one in assessed.findings if one.id == "slivers"]
    assert finding.severity == "high"


def test_few_cells_say_so_and_take_a_persons_word():
    old, new = np.array([40, 51, 77]), np.array([40, 52, 77])
    found = find_slivers_between(table("old", old), table("new", new))
    assert found.verdict == "cannot tell"
    assert found.found == 1
    assert find_slivers_between(table("old", old), table("new", new), same=True).verdict == "slivers"


def test_tables_of_other_dimensions_are_refused():
    with pytest.raises(SpecError, match="the same dimensions"):
        find_slivers_between(table("a", np.ones((3, 3), int)), table("b", np.ones(3, int)))


@pytest.mark.slow
def test_a_million_cells_take_seconds():
    rng = np.random.default_rng(10)
    old = rng.poisson(rng.gamma(0.5, 20.0, (1000, 1000)))
    new, truth = planted(old, rng)
    pair = table("old", old), table("new", new)
    begun = time.process_time()
    found = find_slivers_between(*pair)
    assert time.process_time() - begun < 5
    assert places(found, old.shape) == truth


def write(path, counts):
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["area", "age", "count"])
        for (area, age), count in np.ndenumerate(counts):
            out.writerow([f"A{area:02d}", f"{10 * age}-{10 * age + 9}", count])


def test_assess_finds_them_in_one_set_of_files_and_against_another_release(tmp_path):
    rng = np.random.default_rng(11)
    old = rng.poisson(20, (30, 6))
    new = old.copy()
    new[3, 2] += 1
    new[20, 0] += 4
    write(tmp_path / "old.csv", old)
    write(tmp_path / "new.csv", new)
    write(tmp_path / "other.csv", rng.poisson(20, (30, 6)))
    together = noisegate.assess([tmp_path / "old.csv", tmp_path / "new.csv"], attacker=None)
    against = noisegate.assess(tmp_path / "new.csv", against=[tmp_path / "old.csv"], attacker=None)
    for found in (together, against):
        (finding,) = [one for one in found.findings if one.id == "slivers"]
        assert finding.severity == "high"
        assert "2 slivers, the smallest of 1 person" in finding.title
        assert finding.evidence[0].startswith("area A03, age 20-29: ")
        assert finding.baseline["slivers"] == 0
    quiet = noisegate.assess(tmp_path / "new.csv", against=[tmp_path / "other.csv"], attacker=None)
    assert not [one for one in quiet.findings if one.id == "slivers"]
    assert [one.outcome for one in quiet.checks if one.id == "slivers"] == ["fine"]
    assert noisegate.find_slivers(tmp_path / "old.csv", tmp_path / "new.csv").found == 2
    noisy = noisegate.find_slivers(tmp_path / "old.csv", tmp_path / "new.csv", noise="laplace:1.4")
    assert noisy.verdict != "slivers"


def test_releases_of_one_name_are_told_apart_by_their_folders(tmp_path):
    counts = np.random.default_rng(14).poisson(20, (30, 6))
    for folder in ("march", "april"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "towns.csv", counts)
    found = noisegate.find_slivers(tmp_path / "march" / "towns.csv", tmp_path / "april" / "towns.csv")
    assert (found.verdict, found.first, found.second) == ("the same", "towns (march)", "towns (april)")


OPAL = Path(__file__).parents[3] / "shared" / "data" / "opal_2016" / "time-loc-hourly_20160808-14.csv"


@pytest.mark.skipif(not OPAL.is_file(), reason="the tables of 2016 are not here")
def test_two_days_of_2016_are_different_people_and_a_sliver_planted_in_one_is_found():
    rows = pc.read_csv(OPAL)
    day = pc_compute.cast(rows["date"], pa.string())
    tuesday, wednesday = (
        rows.filter(pc_compute.equal(day, one)).drop_columns(["date"]) for one in ("20160809", "20160810")
    )
    assert (
        noisegate.find_slivers({"tuesday": tuesday}, {"wednesday": wednesday}).verdict == "different people"
    )
    place = tuesday.schema.get_field_index("count")
    counts = tuesday["count"].to_numpy().copy()
    counts[1234] += 1
    corrected = tuesday.set_column(place, "count", pa.array(counts))
    found = noisegate.find_slivers({"tuesday": tuesday}, {"corrected": corrected})
    assert (found.verdict, found.found, found.slivers[0].size) == ("slivers", 1, 1)


def test_stated_noise_of_a_whole_law_is_that_of_both():
    law = DiscreteLaplace(3.0)
    assert DifferenceNoise(law=law.difference()).variance == pytest.approx(2 * law.variance)
