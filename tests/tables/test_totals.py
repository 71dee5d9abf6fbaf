"""Totals inside a column: Male, Female, Total."""

from itertools import product

import numpy as np
import pytest

from noisegate.reading import find_structure, parse_overrides, read_table

REGIONS = [f"Region {k}" for k in range(6)]
SEXES = ["Male", "Female"]
AGES = ["0-14", "15-64", "65+"]


@pytest.fixture
def census(write):
    """Counts by region, sex and age with all totals, noise on each; `drop` leaves small ones out."""

    def to(*, total="Total", scale=1.4, drop=0, means=False):
        rng = np.random.default_rng(3)
        raw = rng.poisson(rng.lognormal(4.5, 1.0, (6, 2, 3)))
        wide = np.zeros((7, 3, 4))
        wide[:6, :2, :3] = raw
        combine = np.mean if means else np.sum
        wide[6] = combine(wide[:6], axis=0)
        wide[:, 2] = combine(wide[:, :2], axis=1)
        wide[:, :, 3] = combine(wide[:, :, :3], axis=2)
        noisy = np.rint(wide + rng.laplace(0, scale, wide.shape)).astype(int)
        labels = ([*REGIONS, total], [*SEXES, total], [*AGES, total])
        rows = [
            f"{labels[0][r]},{labels[1][s]},{labels[2][a]},{noisy[r, s, a]}\n"
            for r, s, a in product(range(7), range(3), range(4))
            if noisy[r, s, a] >= drop
        ]
        return write("census.csv", "region,sex,age,count\n" + "".join(rows))

    return to


@pytest.mark.parametrize("total", ["Total", "ALL", "_T", "All persons"])
@pytest.mark.parametrize("drop", [0, 60])
def test_totals_become_margins(census, total, drop):
    structure = find_structure([read_table(census(total=total, drop=drop))])
    assert structure.base.name == "census"
    assert structure.base.shape == (6, 2, 3)
    assert {link.summed for link in structure.links} == {
        ("region",),
        ("sex",),
        ("age",),
        ("region", "sex"),
        ("region", "age"),
        ("sex", "age"),
        ("region", "sex", "age"),
    }
    for link in structure.links:
        whole = link.complete
        gap = np.abs(link.margin.dense()[whole] - link.parts[whole])
        assert (gap < 40).all()
        assert set(link.members.tolist()) == {36 // link.margin.size}
    if not drop:
        assert all(link.complete.all() for link in structure.links)


def test_the_grand_total_is_a_margin_of_one_cell(census):
    structure = find_structure([read_table(census())])
    (grand,) = [link for link in structure.links if not link.margin.dimensions]
    assert (grand.margin.size, grand.members.tolist()) == (1, [36])
    assert set(grand.groups().tolist()) == {0}


def test_a_word_alone_does_not_make_a_total(census):
    """Means are labelled like totals; their counts say that they are not."""
    structure = find_structure([read_table(census(means=True))])
    assert structure.links == ()
    assert structure.base.shape == (7, 3, 4)
    notes = structure.sources[0].notes
    assert "'Total' of sex does not add up; it was kept as a value like any other" in notes


def test_numbers_in_many_rows_make_a_total_whatever_it_is_called(census):
    structure = find_structure([read_table(census(total="Everyone"))])
    assert len(structure.links) == 7
    notes = " ".join(structure.sources[0].notes)
    assert "'Everyone' of sex is the total of its other values: it is their sum, within noise" in notes


def test_the_spec_names_a_total(census):
    path = census(total="Everyone")
    wanted = {name: {"total": "Everyone"} for name in ("region", "sex", "age")}
    told = parse_overrides({"tables": {"census": {"dimensions": wanted}}})
    structure = find_structure([read_table(path, overrides=told)], overrides=told)
    assert len(structure.links) == 7


def test_a_table_of_totals_only_stays_a_table(write):
    structure = find_structure([read_table(write("t.csv", "region,sex,count\nN,Total,90\nS,Total,80\n"))])
    assert structure.base.size == 2
