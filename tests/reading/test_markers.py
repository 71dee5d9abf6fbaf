"""What markers mean: the range of counts that each can stand for, decided with evidence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from noisegate.errors import SpecError
from noisegate.reading import Structure, find_structure, parse_overrides, read_table, summarise

Cell = int | str


def _read(folder: Path, cells: Iterable[tuple[str, str, Cell]], **said: object) -> Structure:
    file = folder / "t.csv"
    file.write_text("area,age,count\n" + "".join(f"{a},{b},{c}\n" for a, b, c in cells))
    overrides = parse_overrides({"tables": {"t": said}}) if said else None
    return find_structure([read_table(file, overrides=overrides)], overrides=overrides)


def _grid(marker: str, *, below: int, zeros: bool, seed: int = 3) -> list[tuple[str, str, Cell]]:
    """Forty areas by five ages; counts from 1 to below - 1 show the marker, zeros are shown or have no row."""
    counts = np.random.default_rng(seed).negative_binomial(0.7, 0.05, (40, 5))
    rows: list[tuple[str, str, Cell]] = []
    for (i, j), count in np.ndenumerate(counts):
        if count >= below or (count == 0 and zeros):
            rows.append((f"A{i:02d}", f"g{j}", int(count)))
        elif count:
            rows.append((f"A{i:02d}", f"g{j}", marker))
    return rows


@pytest.mark.parametrize("zeros", [True, False])
@pytest.mark.parametrize(
    ("marker", "below"),
    [
        ("<5", 5),
        ("<10", 10),
        ("1-9", 10),
        ("*", 5),
        ("..", 6),
        ("-", 10),
        ("c", 3),
        ("x", 7),
        ("", 10),
        ("[c]", 5),
    ],
)
def test_a_marker_stands_for_what_is_never_shown(tmp_path, marker, below, zeros):
    structure = _read(tmp_path, _grid(marker, below=below, zeros=zeros))
    base = structure.base
    (found,) = base.markers
    assert (found.text, found.low, found.high, found.cause) == (marker, 1, below - 1, "primary")
    low, high = base.ranges(base.hidden)
    assert set(low) == {1}
    assert set(high) == {below - 1}
    assert (base.absent is None) is zeros
    if base.absent is not None:
        assert (base.absent.low, base.absent.high) == (0, 0)
    (told, *_) = summarise(structure)[0].markers
    assert told.cells == base.hidden.size
    assert told.to_json()["low"] == 1
    assert told.marker.evidence


def test_a_marker_that_is_also_used_for_empty_cells_may_hide_a_zero(tmp_path):
    rows = [(a, b, "<5" if c == 0 else c) for a, b, c in _grid("<5", below=5, zeros=True)]
    (marker,) = _read(tmp_path, rows).base.markers
    assert (marker.low, marker.high) == (0, 4)


def test_a_dash_is_an_empty_cell_where_ones_are_shown_and_zeros_never(tmp_path):
    rows = [(a, b, "-" if c == 0 else c) for a, b, c in _grid("*", below=1, zeros=True)]
    (marker,) = _read(tmp_path, rows).base.markers
    assert (marker.text, marker.low, marker.high) == ("-", 0, 0)


def test_a_sign_beside_a_bound_can_hide_any_count(tmp_path):
    rows = _grid("<5", below=5, zeros=True)
    large = [place for place, row in enumerate(rows) if isinstance(row[2], int) and row[2] > 20][:3]
    rows = [(a, b, "*") if k in large else (a, b, c) for k, (a, b, c) in enumerate(rows)]
    base = _read(tmp_path, rows).base
    found = {one.text: (one.low, one.high, one.cause) for one in base.markers}
    assert found == {"<5": (1, 4, "primary"), "*": (0, None, "secondary")}
    _, high = base.ranges(base.hidden)
    assert sorted(set(high)) == [4, np.inf]


def test_a_few_large_counts_tell_nothing_of_a_sign(tmp_path):
    (marker,) = _read(
        tmp_path, [("a", "x", 250), ("a", "y", "*"), ("b", "x", 900), ("b", "y", 700)]
    ).base.markers
    assert (marker.low, marker.high) == (0, None)
    assert "too few" in marker.evidence


def test_a_sign_for_a_whole_place_and_nowhere_else_is_no_rule_for_small_counts(tmp_path):
    """Counts rounded to 3 leave 1 and 2 out everywhere; `..C` for all of one place does not say what is in it."""
    rng = np.random.default_rng(8)
    cells = [
        (f"p{k:02d}", f"g{j:02d}", "..C" if k == 7 else str(3 * int(rng.poisson(2.0))))
        for k in range(20)
        for j in range(12)
    ]
    (marker,) = _read(tmp_path, cells).base.markers
    assert (marker.low, marker.high) == (0, None)
    assert "all of" in marker.evidence
    assert "p07" in marker.evidence


def test_where_ones_are_shown_a_sign_is_not_for_small_counts(tmp_path):
    rows = _grid("..", below=1, zeros=True)
    rows[7] = (*rows[7][:2], "..")
    (marker,) = _read(tmp_path, rows).base.markers
    assert (marker.low, marker.high) == (0, None)


@pytest.mark.parametrize(("said", "expected"), [([2, 6], (2, 6)), (0, (0, 0)), ("any", (0, None))])
def test_the_spec_decides_what_a_marker_means(tmp_path, said, expected):
    (marker,) = _read(tmp_path, _grid("*", below=5, zeros=True), markers={"*": said}).base.markers
    assert (marker.low, marker.high) == expected


def test_a_range_that_is_none_is_refused():
    with pytest.raises(SpecError, match="two counts such as"):
        parse_overrides({"tables": {"t": {"markers": {"*": "few"}}}})


def _rounded_with_stars(seed, *, zeros):
    """Providers by measure to the nearest 5, `*` below 5, and the total of each measure as counted."""
    rng = np.random.default_rng(seed)
    raw = rng.poisson(np.where(rng.random((60, 12)) < 0.7, 0.1, rng.gamma(1.0, 30.0, size=(60, 12))))
    if zeros:  # these have no sign
        raw[::7] = 0
    rows = []
    for j in range(12):
        for k, count in enumerate(raw[:, j].tolist()):
            empty = zeros and k % 7 == 0
            rows.append(
                (f"p{k:02d}", f"m{j:02d}", "0" if empty else "*" if count < 5 else str(5 * round(count / 5)))
            )
        rows.append(("Total", f"m{j:02d}", str(int(raw[:, j].sum()))))
    return rows


def test_totals_of_rounded_counts_tell_that_a_sign_stands_for_empty_cells_too(tmp_path):
    """Rows are left out where a provider has no such service, so empty cells seem to have no row: 0.1 for each `*` says otherwise."""
    rows = _rounded_with_stars(3, zeros=False)
    rows = [row for row in rows if not (row[0] in {"p01", "p02"} and row[1] > "m05")]
    (marker,) = _read(tmp_path, rows).base.markers
    assert (marker.low, marker.high) == (0, 4)
    assert "less than one for each" in marker.evidence


def test_where_zeros_are_shown_a_sign_with_too_little_under_it_hides_anything(tmp_path):
    (marker,) = _read(tmp_path, _rounded_with_stars(3, zeros=True)).base.markers
    assert (marker.low, marker.high) == (0, None)
