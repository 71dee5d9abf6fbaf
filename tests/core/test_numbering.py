"""Numbers that stand for cells: which there are, and the place of each, whether they lie close together or far apart."""

import numpy as np
import pytest

from noisegate.tables import compact, how_many, numbered, paired, sorted_by, summed

SPANS = [10, 10**9]
SIZES = [0, 200, 8_000]


def codes_of(span, size):
    return np.random.default_rng(span + size).integers(-3, span, size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("span", SPANS)
def test_compact_codes(span, size):
    codes = codes_of(span, size)
    distinct, place = compact(codes)
    np.testing.assert_array_equal(distinct, np.unique(codes))
    np.testing.assert_array_equal(distinct[place], codes)
    assert how_many(codes) == np.unique(codes).size


@pytest.mark.parametrize("span", SPANS)
def test_none_has_no_number(span):
    codes = np.maximum(codes_of(span, 300), -1)
    distinct, place = numbered(codes)
    assert (distinct >= 0).all()
    np.testing.assert_array_equal(np.where(place < 0, -1, distinct[place]), codes)


@pytest.mark.parametrize("size", [200, 8_000])
def test_pairs_are_found_once(size):
    rng = np.random.default_rng(size)
    groups, rows = rng.integers(0, 7, size), rng.integers(0, 50, size)
    group, row, place = paired(groups, rows, 50)
    assert len({*zip(group.tolist(), row.tolist(), strict=True)}) == len(group)
    np.testing.assert_array_equal(group[place], groups)
    np.testing.assert_array_equal(row[place], rows)


@pytest.mark.parametrize("every", [True, False])
def test_pairs_where_each_row_is_of_one_group(every):
    """Also if some rows have no cells."""
    rows = np.random.default_rng(3).integers(0, 12, 300)
    rows = rows if every else rows[rows != 5]
    group, at, place = paired(rows // 3, rows, 12)
    np.testing.assert_array_equal(at, np.unique(rows))
    np.testing.assert_array_equal(at[place], rows)
    np.testing.assert_array_equal(group, at // 3)


@pytest.mark.parametrize("size", SIZES)
def test_places_by_code_and_sums_by_group(size):
    rng = np.random.default_rng(size)
    codes, values = rng.integers(0, 7, size), rng.normal(size=50)
    order, starts = sorted_by(codes.astype(np.int32), 7)
    np.testing.assert_array_equal(order, np.argsort(codes, kind="stable"))
    np.testing.assert_array_equal(np.diff(starts), np.bincount(codes, minlength=7))
    cells = rng.integers(0, 50, size)
    wanted = np.bincount(codes, weights=values[cells], minlength=9)
    np.testing.assert_allclose(summed(values, cells, codes, 9), wanted, rtol=1e-12)
