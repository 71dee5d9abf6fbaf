"""Where a table starts in a sheet or a text file, and what its columns are called: one to four header rows, notes above them.

A header row has text over columns of numbers. Years, ages, dates or hours in a row over such columns are names as well. An upper
row may span several columns, so that a column is called by a path: `2018 / Female`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from noisegate.reading.markers import is_marker, own_least
from noisegate.reading.words import is_total, kind_of_labels, without_notes
from noisegate.tables import folded

Rows = Sequence[Sequence[str]]
#: First row, first column, last row, last column.
Span = tuple[int, int, int, int]

#: Header rows of one table at most.
_MOST_ROWS = 4
#: Rows that are looked at to find which columns hold numbers.
_LOOKED_AT = 400
_NUMBER = re.compile(
    r"[-+−]?[\d.,'’  \u202f]*\d[\d.,'’  \u202f]*(?:[eE][-+]?\d+)?\s?%?(?:\s?\(?[a-z]\)?)?"
    r"(?:\s*\([<>]?[\d.,]+\s?%?\)|\s?\*{1,3})?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a table.

    Attributes
    ----------
    first, start
        The first row of the header, and the row after it.
    paths
        What each column is called: the texts over it, from the top.
    """

    first: int
    start: int
    paths: tuple[tuple[str, ...], ...]


def is_number(text: str, /) -> bool:
    """Whether a cell holds a number, in any usual way to write one."""
    return text.isdecimal() or bool(_NUMBER.fullmatch(text))


def find_header(rows: Rows, /, *, merged: Sequence[Span] = (), at: int = 0) -> Header | None:
    """The first header at or below row `at`; None if no row of text stands over numbers."""
    values = _value_columns(rows[at:])
    if not values:
        return None
    data = _first_data(rows, values, at)
    if data is None:
        return None
    below = data
    corner = _corner(rows, data, values, at)
    if corner:
        return Header(first=corner[0], start=data, paths=_crossed_paths(rows, corner, values))
    while below > at and _is_section(rows[below - 1], values):
        below -= 1
    above = _header_rows(rows, below, values, at)
    if not above:
        return None
    paths = _paths(rows, above, values, merged)
    return Header(first=above[0], start=above[-1] + 1, paths=paths)


def side_by_side(rows: Rows, /) -> list[range]:
    """The columns of each table of a sheet: several where an empty column divides them and each has names of its own and numbers.

    What is behind an empty column without names of its own goes on with the table before it (years in groups), and without numbers it is notes.
    """
    some = [row for row in rows[:_LOOKED_AT] if sum(map(bool, row)) > 1]
    width = max(map(len, some), default=0)
    used = [any(k < len(row) and row[k] for row in some) for k in range(width)]
    edges = [k for k in range(width + 1) if (k < width and used[k]) != (k > 0 and used[k - 1])]
    parts = [range(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
    if len(parts) < 2 or not all(_stands_alone(some, part) for part in parts):
        return [range(max(map(len, rows), default=0))]
    return parts


def _stands_alone(rows: Rows, part: range) -> bool:
    """Whether columns hold a table: texts in the first, and numbers in the others, in three rows or more and in most."""
    cells = [[row[k] if k < len(row) else "" for k in part] for row in rows]
    filled = [row for row in cells if row[0] and sum(map(bool, row)) > 1]
    good = [row for row in filled if not is_number(row[0]) and any(is_number(text) for text in row[1:])]
    return len(good) >= 3 and len(good) > 0.6 * len(filled)


def next_header(rows: Rows, header: Header, /) -> int | None:
    """Where another header stands in the rows below; None if there is none. A repetition of the same is none."""
    values = _value_columns(rows[header.start :])
    names = {tuple(without_notes(text) for text in rows[k]) for k in range(header.first, header.start)}
    least = max(2, len(values) / 2) if len(values) > 1 else 1
    for place in range(header.start + 1, len(rows)):
        row = rows[place]
        if (
            _names_the_same(row, rows[header.start - 1], values)
            and tuple(map(without_notes, row)) not in names
        ):
            return place
        texts = [row[k] for k in values if k < len(row) and row[k] and not row[k][0].isdigit()]
        if len(texts) < least or (least == 1 and sum(map(bool, rows[place - 1])) > 1):
            continue
        words = [text for text in texts if not is_number(text) and not is_marker(text)]
        if len(words) >= least and sum(map(bool, row)) > 1 and tuple(map(without_notes, row)) not in names:
            return place
    return None


def _names_the_same(row: Sequence[str], header: Sequence[str], values: list[int]) -> bool:
    """Whether a row stands beside its columns of texts what the header does, and over the others no number but names, such as `1-2` and `5+`."""
    width = max(len(row), len(header))
    beside = [k for k in range(width) if k not in values]
    own, names = ([without_notes(one[k]) if k < len(one) else "" for k in beside] for one in (row, header))
    over = [row[k] for k in values if k < len(row) and row[k]]
    return any(own) and own == names and len(over) > 1 and not any(map(is_number, over))


def _value_columns(rows: Rows) -> list[int]:
    """The columns that hold numbers, once they have begun to."""
    width = max(map(len, rows), default=0)
    found = []
    for place in range(width):
        cells = [row[place] for row in rows[:_LOOKED_AT] if place < len(row) and row[place]]
        first = next((k for k, cell in enumerate(cells) if is_number(cell)), None)
        if first is None:
            continue
        good = sum(is_number(cell) or is_marker(cell) for cell in cells[first:])
        if good >= 0.6 * (len(cells) - first):
            found.append(place)
    return found


def _first_data(rows: Rows, values: list[int], at: int) -> int | None:
    """The first row of numbers that is no row of years or ages."""
    for place in range(at, len(rows)):
        cells = [rows[place][k] for k in values if k < len(rows[place])]
        filled = [cell for cell in cells if cell]
        numbers = [cell for cell in filled if is_number(cell)]
        good = len(numbers) + sum(map(is_marker, filled))
        if 2 * len(numbers) >= len(filled):  # a column of ages may begin with "All ages"
            good += sum(map(is_total, filled))
        if not numbers or good < 0.8 * len(filled):
            continue
        if not _names_columns(rows, place, values):
            return _markers_above(rows, place, values, at)
    return None


def _markers_above(rows: Rows, place: int, values: list[int], at: int) -> int:
    """The first data row may show nothing but markers; there must be a header row above it all the same."""
    first = place
    while first - 1 > at and _only_markers(rows[first - 1], values):
        first -= 1
    texts = any(
        sum(bool(rows[k][v]) and not is_marker(rows[k][v]) for v in values if v < len(rows[k]))
        for k in range(at, first)
    )
    return first if texts else place


def _only_markers(row: Sequence[str], values: list[int]) -> bool:
    filled = [row[k] for k in values if k < len(row) and row[k]]
    return (
        bool(filled)
        and all(is_marker(text) and own_least(text) is None for text in filled)  # 65+ is an age
        and any(row[k] for k in range(len(row)) if k not in values)
    )


def _names_columns(rows: Rows, place: int, values: list[int]) -> bool:
    """Whether the numbers in a row are names: years, dates, hours, or ages one after the other, over something else."""
    cells = [rows[place][k] for k in values if k < len(rows[place]) and rows[place][k]]
    beside = [rows[place][k] for k in range(len(rows[place])) if k not in values and rows[place][k]]
    twice = len(set(cells)) != len(cells)
    # A year over several columns is written over each of them, with nothing beside it.
    if (twice and (beside or not place)) or (len(cells) < 2 and len(values) > 1) or not cells:
        return False
    below = [
        [row[k] for k in values if k < len(row) and row[k]]
        for row in rows[place + 1 : place + 40]
        if any(k < len(row) and is_number(row[k]) for k in values)
    ]
    if not below:
        return False
    kind = kind_of_labels(cells)
    if kind in {"year", "date", "month", "time"}:
        same = sum(kind_of_labels(row) == kind for row in below if row)
        return same < 0.5 * len(below)
    if twice:
        return False
    whole = [int(cell) for cell in cells if re.fullmatch(r"\d{1,3}", cell)]
    steps = {b - a for a, b in itertools.pairwise(whole)}
    counted = len(whole) == len(cells) >= 3 and len(steps) == 1 and steps <= {1, 5, 10} and whole[0] in {0, 1}
    return counted and (not beside or not any(is_number(text) for text in beside))


def _is_section(row: Sequence[str], values: list[int]) -> bool:
    """Whether a row is blank, or names what the rows below it have in common."""
    return not any(k < len(row) and row[k] for k in values) and sum(map(bool, row)) <= 1


def _header_rows(rows: Rows, below: int, values: list[int], at: int) -> list[int]:
    """The rows of the header that ends above row `below`, from the top."""
    found: list[int] = []
    named: set[int] = set()
    for place in range(below - 1, at - 1, -1):
        row = rows[place]
        over, own = _texts(row, values)
        if not over:
            if found:
                break
            if len(own) > 1 and _names_keys(rows, place, values, at):
                found.append(place)
            continue
        keys_below = bool(found) and not _texts(rows[found[-1]], values)[0]
        if len(found) >= _MOST_ROWS or (found and any(map(_is_sentence, over))):
            break
        if found and own & named and not keys_below:
            break
        named |= own
        found.append(place)
    if found and not any(_texts(rows[place], values)[0] for place in found) and found[0] + 1 != below:
        return []
    return found[::-1]


def _corner(rows: Rows, data: int, values: list[int], at: int) -> list[int]:
    """The rows of a header that says in its corner what each row of it is, and below that what the rows of the table are; none if it does not.

    `Sex, Male, , Female` / `Age, 0-9, 10+, 0-9, 10+` / `Town, , ,`: statistical offices cross their tables so. A lower row that comes again
    between rows of numbers is a heading of these, not a name. The lowest row may say "number" over every column.
    """
    own = _texts(rows[data - 1], values)[1] if data > at else set()
    units = {folded(rows[data - 1][k]) if k < len(rows[data - 1]) else "" for k in values} if own else set()
    if len(own) != 1 or not (_is_section(rows[data - 1], values) or (len(values) > 1 and len(units) == 1)):
        return []
    (key,) = own
    found: list[int] = []
    for place in range(data - 2, at - 1, -1):
        over, keys = _texts(rows[place], values)
        if keys != own or not over or any(":" in text or ";" in text for text in (*over, rows[place][key])):
            break
        found.append(place)
    if not found or len(found) > _MOST_ROWS or len(_texts(rows[found[0]], values)[0]) < len(values):
        return []
    headings = (
        _is_section(row, values) and any(row) and _texts(below, values)[0]
        for row, below in itertools.pairwise(rows[data:])
    )
    return [] if any(headings) else found[::-1]


def _crossed_paths(rows: Rows, corner: list[int], values: list[int]) -> tuple[tuple[str, ...], ...]:
    """Each column called by all rows of a header with a corner: `Sex: Male; Age: 0-9`."""
    width = max(len(rows[place]) for place in corner)
    texts = [
        [without_notes(" ".join(cell.split())) for cell in rows[place]] + [""] * (width - len(rows[place]))
        for place in corner
    ]
    for level in range(len(texts) - 1):
        _fill_right(texts, level, values)
    key = next(k for k in range(width) if k not in values and texts[-1][k])
    named = without_notes(rows[corner[-1] + 1][key])
    return tuple(
        ("; ".join(f"{row[key]}: {row[k]}" for row in texts),)
        if k in values
        else (named,)
        if k == key
        else ()
        for k in range(width)
    )


def _texts(row: Sequence[str], values: list[int]) -> tuple[list[str], set[int]]:
    """The texts of a row over columns of numbers, and the other columns that have one."""
    over = [row[k] for k in values if k < len(row) and row[k]]
    return over, {k for k, text in enumerate(row) if text and k not in values}


def _names_keys(rows: Rows, place: int, values: list[int], at: int) -> bool:
    """Whether a row with nothing over the numbers names the other columns, and is no row of the table whose counts are hidden.

    Names do not come again below. What stands over the numbers is one row higher, and names fewer of the other columns; or nothing is.
    """
    row = rows[place]
    own = _texts(row, values)[1]
    if any(
        k < len(other) and other[k] == row[k] for k in own for other in rows[place + 1 : place + _LOOKED_AT]
    ):
        return False
    above = [_texts(rows[k], values) for k in range(at, place)]
    if not any(over for over, _ in above):
        return True
    over, keys = above[-1]
    return 2 * len(over) >= len(values) and not own <= keys


def _is_sentence(text: str) -> bool:
    return len(text) > 120


def _paths(
    rows: Rows, above: list[int], values: list[int], merged: Sequence[Span]
) -> tuple[tuple[str, ...], ...]:
    width = max(len(rows[place]) for place in above)
    texts = [
        [without_notes(" ".join(cell.split())) for cell in rows[place]] + [""] * (width - len(rows[place]))
        for place in above
    ]
    lead = _lead(texts, values)
    spans = [
        span for span in merged if any(span[0] <= place <= span[2] for place in above) and span[3] > span[1]
    ]
    for level, place in enumerate(above[:-1]):
        if spans:
            for first, left, _, right in spans:
                if first == place:
                    texts[level][left : right + 1] = [texts[level][left]] * (right + 1 - left)
        else:
            _fill_right(texts, level, values)
    found = [tuple(row[k] for row in texts if row[k]) for k in range(width)]
    return tuple((*lead, *path) if k in values and path else path for k, path in enumerate(found))


def _lead(texts: list[list[str]], values: list[int]) -> tuple[str, ...]:
    """What names the columns of numbers where the lowest row only names the others: a text higher up, beside them."""
    keys = [k for k in range(len(texts[-1])) if k not in values]
    if len(texts) < 2 or any(texts[-1][k] for k in values):
        return ()
    found: list[str] = []
    for level in texts[:-1]:
        for k in keys:
            if level[k] and texts[-1][k]:
                found.append(level[k])
                level[k] = ""
    return tuple(found[-1:])


def _fill_right(texts: list[list[str]], level: int, values: list[int]) -> None:
    """A text that spans columns stands over the first of them; those to the right that have a name below it are under it too."""
    last = ""
    for k in values:
        if texts[level][k]:
            last = texts[level][k]
        elif last and any(row[k] for row in texts[level + 1 :]):
            texts[level][k] = last
        else:
            last = ""
