"""How a file is laid out: which columns hold counts, and whether these are several measures or the values of a dimension.

    area, 2018, 2019                     a dimension (year) runs over the columns
    area, Male, Female, Total            so it does here: the last column is the sum of the others
    area, births, deaths                 two measures, a table each
    area, Number, %                      one measure; proportions are set aside

Whatever the layout is, long tables come out: a row for each count. Where two layouts are possible, both are named and none is chosen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from noisegate.errors import DataError, SpecError
from noisegate.reading.columns import Column, RawTable
from noisegate.reading.counts import (
    Numbers,
    checked,
    is_plain_value,
    name_score,
    numeric_share,
    read_numbers,
    varies,
)
from noisegate.reading.markers import is_marker
from noisegate.reading.overrides import TableOverride
from noisegate.reading.published import ExtraColumn, row_ids
from noisegate.reading.words import (
    in_equal_steps,
    is_counted,
    is_key,
    is_no_count,
    is_total,
    kind_of_labels,
    spaced,
)
from noisegate.tables import folded

#: Share of rows that may repeat a cell; beyond it a dimension was missed.
MOST_REPEATED = 0.05
#: What a dimension is called whose name no header gives.
_NAMELESS = "category"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Columns that belong together.

    Attributes
    ----------
    positions
        Where they stand.
    measure
        What they count; empty if nothing says so.
    dimensions
        For each dimension that runs over the columns its name and the value in each column; none for a measure of one column.
    renamed
        Other columns that are called otherwise from now on: "origin / destination" has the origins.
    """

    positions: tuple[int, ...]
    measure: str = ""
    dimensions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Laid:
    """A table in long form: rows, the column of counts, and these as numbers."""

    raw: RawTable
    position: int
    numbers: Numbers
    measure: str = ""
    name: str = ""
    extra: tuple[ExtraColumn, ...] = ()
    notes: tuple[str, ...] = ()


def lay_out(
    raw: RawTable, /, *, table: str, delimiter: str, override: TableOverride, over: str = ""
) -> list[Laid] | None:
    """The tables of a file in long form; None if it has no column of counts. `over` is what the columns are values of, if told."""
    numeric = {
        place: read_numbers(column.labels, delimiter=delimiter)
        for place, column in enumerate(raw.columns)
        if numeric_share(column, delimiter) >= (0.5 if name_score(column.name) else 0.75)
    }
    values = _values(raw, numeric, override, table)
    if not values:
        return None
    for place in values:
        if place not in numeric:
            numeric[place] = checked(raw.columns[place], table, delimiter)
    extra = [
        ExtraColumn(name=raw.columns[place].name, reason=reason)
        for place in values
        if len(values) > 1 and (reason := _no_count(raw.columns[place], numeric[place], values, numeric))
    ]
    gone = {one.name for one in extra}
    kept = [place for place in values if raw.columns[place].name not in gone]
    if not kept:
        kept, extra = values, []
    spreads = _spreads(raw, kept, numeric, override, table, over)
    idle = (
        [] if override.dimensions else [k for k in range(len(raw.columns)) if _says_nothing(raw.columns[k])]
    )
    idle = [place for place in idle if place not in values]
    extra += [
        ExtraColumn(name=raw.columns[k].name, reason="proportions or the like, by its name") for k in idle
    ]
    keys = [place for place in range(len(raw.columns)) if place not in values and place not in idle]
    found = [_laid(raw, keys, spread, delimiter) for spread in spreads]
    return [replace(one, extra=tuple(extra) if place == 0 else ()) for place, one in enumerate(found)]


def _values(raw: RawTable, numeric: dict[int, Numbers], override: TableOverride, table: str) -> list[int]:
    """The columns that hold counts or other measurements; the rest are dimensions, codes and remarks."""
    names = [column.name for column in raw.columns]
    for given in (override.measures or ()) if override.count is None else (override.count,):
        if given not in names:
            raise SpecError.for_choice(f"count of table {table}", found=given, allowed=names)
    if override.count is not None:
        return [names.index(override.count)]
    if override.measures:
        return [names.index(name) for name in override.measures]
    told = {*override.dimensions, *override.ignore}
    able = [place for place in numeric if names[place] not in told and _can_count(raw.columns[place])]
    sure = [place for place in able if name_score(names[place]) >= 0.9] or [
        place for place in able if is_plain_value(names[place])
    ]
    if len(sure) == 1 and not any(_says_count(raw.columns[place]) for place in able if place not in sure):
        return sure
    return _spared(raw, able)


def _says_count(column: Column) -> bool:
    """Whether what stands over a column says that it holds counts, proportions, or those of one value."""
    path = column.path or (column.name,)
    return (
        len(path) > 1
        or is_counted(column.name)
        or is_no_count(column.name)
        or is_total(path[-1])
        or bool(kind_of_labels(path[-1:]))
    )


def _can_count(column: Column) -> bool:
    """Whether a column of numbers can hold counts: it is no date, no time, and not named like a dimension."""
    if len(column.path) > 1 or name_score(column.name) > 0:
        return True
    if kind_of_labels([column.name]) or is_counted(column.name):
        return True
    if folded(column.name) in {"no", "nr"}:  # the answer, unless it numbers the rows
        return not _is_running(column, column.codes.size)
    return not is_key(column.name) and varies(column)


def _spared(raw: RawTable, able: list[int]) -> list[int]:
    """The columns of numbers without which rows are told apart all the same; the others are dimensions."""
    keys = [
        place
        for place in range(len(raw.columns))
        if place not in able and not _is_running(raw.columns[place], raw.rows)
    ]
    free = sorted(
        (
            place
            for place in able
            if not _says_count(raw.columns[place]) and not name_score(raw.columns[place].name)
        ),
        key=lambda place: len(raw.columns[place].labels),
    )
    while free and len(keys) + 1 < len(raw.columns) and _repeats(raw, keys) > MOST_REPEATED:
        keys.append(free.pop(0))
    return [place for place in able if place not in keys]


def _is_running(column: Column, rows: int) -> bool:
    """Whether a column numbers the rows: it tells all of them apart and says nothing of what they count."""
    texts = column.labels
    if rows < 3 or len(texts) < rows or not all(text.isdecimal() and len(text) < 10 for text in texts):
        return False
    numbers = np.array([int(texts[code]) for code in column.codes.tolist()], dtype=np.int64)
    return bool((np.diff(numbers) == 1).all())


def _repeats(raw: RawTable, keys: Sequence[int]) -> float:
    """The share of rows that have the same values in these columns as an earlier one."""
    if not raw.rows or not keys:
        return 1.0 if raw.rows > 1 else 0.0
    columns = [raw.columns[place] for place in keys]
    ids = row_ids(np.stack([c.codes for c in columns]), tuple(len(c.labels) for c in columns))
    return 1.0 - np.unique(ids).size / ids.size


def _says_nothing(column: Column) -> bool:
    """Whether a column is named for proportions and holds marks that replace them, and at most a few numbers."""
    return (
        is_no_count(" ".join(column.path) or column.name)
        and column.share(lambda text: not text or is_marker(text) or text[:1].isdecimal()) > 0.5
    )


def _no_count(column: Column, numbers: Numbers, values: list[int], numeric: dict[int, Numbers]) -> str:
    """Why a column of numbers is no measure of its own; empty if it may be one."""
    if is_no_count(" ".join(column.path) or column.name):
        return "proportions or the like, by its name"
    others = [numeric[place] for place in values if numeric[place] is not numbers]
    if (
        _has_decimals(numbers)
        and not name_score(column.name)
        and any(not _has_decimals(other) for other in others)
    ):
        return "decimal numbers beside counts"
    return ""


def _has_decimals(numbers: Numbers) -> bool:
    known = numbers.values[numbers.is_number]
    return bool((known != np.rint(known)).any())


def _spreads(
    raw: RawTable,
    values: list[int],
    numeric: dict[int, Numbers],
    override: TableOverride,
    table: str,
    over: str,
) -> list[Spread]:
    columns = {place: raw.columns[place] for place in values}
    if (override.wide or over) and not override.measures and (len(values) > 1 or over):
        labels = tuple(columns[place].name for place in values)
        return [Spread(positions=tuple(values), dimensions=((override.wide or over, labels),))]
    if len(values) == 1:
        return [Spread(positions=tuple(values))]
    if override.measures:
        return [Spread(positions=(place,), measure=columns[place].name) for place in values]
    paths = {place: _steps(column.path or (column.name,)) for place, column in columns.items()}
    matrix = _matrix(raw, {place: path[0] for place, path in paths.items() if len(path) == 1}, values)
    return matrix or _by_paths(_without_units(paths), "", _Sums(raw, numeric), table)


def _steps(path: tuple[str, ...]) -> tuple[str, ...]:
    """A path with its steps apart where one text holds them all, as the American Community Survey writes them."""
    return tuple(step.strip(" :") or step for text in path for step in text.split("!!"))


_BOTH = re.compile(r"(?P<rows>[^\\/]+?)\s*(?:\\|/|→|->|\bto\b|\bby\b)\s*(?P<columns>[^\\/]+)", re.IGNORECASE)


def _matrix(raw: RawTable, names: dict[int, str], values: list[int]) -> list[Spread]:
    """A square table: its columns are called by the values of its first column, such as origins by destinations."""
    plain = [name for name in names.values() if not is_total(name)]
    stub = next((column for k, column in enumerate(raw.columns) if k not in values), None)
    if stub is None or len(names) < len(values) or len(plain) < 3:
        return []
    known = {folded(label) for label in stub.labels}
    if sum(folded(name) in known for name in plain) < 0.8 * len(plain):
        return []
    match = _BOTH.fullmatch(stub.name)
    title = match["columns"] if match else f"{stub.name} (columns)"
    renamed = ((stub.name, match["rows"]),) if match else ()
    return [Spread(positions=tuple(names), dimensions=((title, tuple(names.values())),), renamed=renamed)]


#: Rows with hidden parts that must not exceed a total before its name is believed.
_SOME_ROWS = 5


@dataclass(frozen=True, slots=True, kw_only=False, eq=False)
class _Sums:
    """Tells whether one column is the sum of others."""

    raw: RawTable
    numeric: dict[int, Numbers]

    def add_up(self, total: int, parts: Sequence[int], /) -> bool:
        """Whether the numbers in one column are the sums of those in others, but for noise and rounding; no less than what is shown, where some are hidden."""
        every = np.stack([self.numeric[k].values[self.raw.columns[k].codes] for k in (total, *parts)])
        full = every[:, np.isfinite(every).all(axis=0)]
        if not full.shape[1]:
            some = every[:, np.isfinite(every[0]) & np.isfinite(every[1:]).any(axis=0)]
            shown = np.nansum(some[1:], axis=0)
            return some.shape[1] >= _SOME_ROWS and bool((shown <= 1.02 * some[0] + 3 * len(parts)).all())
        gap = np.abs(full[0] - full[1:].sum(axis=0))
        return bool(np.median(gap) <= 3 * np.sqrt(len(parts) + 1.0) + 0.02 * np.median(np.abs(full[0])))

    def equal(self, total: int, parts: Sequence[int], /) -> bool:
        """Whether they are these sums to the last digit, in three rows or more that are not empty."""
        every = np.stack([self.numeric[k].values[self.raw.columns[k].codes] for k in (total, *parts)])
        full = every[:, np.isfinite(every).all(axis=0)]
        gap = full[0] - full[1:].sum(axis=0)
        return bool((full[0] != 0).sum() >= 3 and not gap.any())


_Paths = dict[int, tuple[str, ...]]
_UNIT = frozenset(
    {
        "number",
        "numbers",
        "count",
        "counts",
        "n",
        "no.",
        "no",
        "value",
        "freq",
        "frequency",
        "persons",
        "people",
        "estimate",
        "estimates",
        "anzahl",
        "nombre",
        "número",
        "numero",
        "aantal",
        "antal",
        "effectif",
        "effectifs",
        "antall",
        "liczba",
    }
)


def _without_units(paths: _Paths) -> _Paths:
    """The paths without levels that say "Number" or "Estimate" everywhere, and without a top that is the same everywhere."""
    for level in (-1, 0, 1):
        deep = [path for path in paths.values() if len(path) > 1]
        if level == 1 and any(len(path) < 3 for path in paths.values()):
            break
        same = {folded(path[level]) for path in (deep if level < 0 else paths.values())}
        if deep and same <= _UNIT and (level < 0 or len(deep) == len(paths)):
            paths = {
                place: tuple(step for k, step in enumerate(path) if k != level % len(path))
                if len(path) > 1
                else path
                for place, path in paths.items()
            }
    return paths


def _tree(paths: _Paths) -> list[Spread]:
    """Columns of which some are sums of those under them: Total, Total / Male, Total / Male / 0-4. Each level is a dimension."""
    known = set(paths.values())
    deep = [path for path in known if len(path) > 1]
    if not deep or len(known) < len(paths) or not all(path[:-1] in known for path in deep):
        return []
    tops = {path[0] for path in known}
    if len(tops) == 1 and not is_total(next(iter(tops))):
        return []
    depth = max(map(len, known))
    padded = {place: (*path, *("Total",) * (depth - len(path))) for place, path in paths.items()}
    dimensions: list[tuple[str, tuple[str, ...]]] = []
    for level in range(1 if len(tops) == 1 else 0, depth):
        labels = tuple(path[level] for path in padded.values())
        name = kind_of_labels(list(dict.fromkeys(labels))) or _NAMELESS
        taken = [one for one, _ in dimensions]
        dimensions.append((name if name not in taken else f"{name} {level + 1}", labels))
    return [Spread(positions=tuple(paths), dimensions=tuple(dimensions))]


def _by_paths(paths: _Paths, about: str, sums: _Sums | None, table: str) -> list[Spread]:
    """The columns by what stands over them, level by level."""
    deep = {place: path for place, path in paths.items() if len(path) > 1}
    if not deep or (tree := _tree(paths)):
        return tree if deep else _flat({place: path[0] for place, path in paths.items()}, about, sums, table)
    tops = list(dict.fromkeys(path[0] for path in deep.values()))
    under = {top: {place: path[1:] for place, path in deep.items() if path[0] == top} for top in tops}
    alone = {place: path for place, path in paths.items() if place not in deep}
    if about and any(not is_total(path[0]) for path in alone.values()):
        return _flat({place: ": ".join(path) for place, path in paths.items()}, about, sums, table)
    if len(tops) == 1:
        return _under_one(tops[0], under[tops[0]], alone, about, sums, table)
    rests = [set(rest.values()) for rest in under.values()]
    if (
        all(len(rest & rests[0]) >= max(1, 0.5 * len(rest | rests[0])) for rest in rests)
        and max(map(len, rests)) > 1
    ):
        return _product(under, alone, about, sums, table)
    if all(len(path) == 1 for rest in under.values() for path in rest.values()) and not kind_of_labels(tops):
        # Side by side stand several ways to tell the same people apart, so that a total of all is one of each.
        whole = {place: path for place, path in alone.items() if is_total(path[0])}
        found = [one for top in tops for one in _under_one(top, under[top], whole, about, sums, table)]
        return found + [
            Spread(positions=(place,), measure=path[0]) for place, path in alone.items() if place not in whole
        ]
    joined = {place: " / ".join(path) for place, path in paths.items()}
    return _flat(joined, about or _NAMELESS, sums, table)


def _under_one(
    top: str, under: _Paths, alone: _Paths, about: str, sums: _Sums | None, table: str
) -> list[Spread]:
    """Columns that one text spans: it is the name of their dimension. Totals beside it belong to them."""
    totals = {place: path for place, path in alone.items() if is_total(path[0], top)}
    rest = [
        Spread(positions=(place,), measure=path[0]) for place, path in alone.items() if place not in totals
    ]
    measure = top if is_counted(top) and kind_of_labels([path[0] for path in under.values()]) else ""
    # A year over all columns says when they were counted, not what they are.
    name = about or _NAMELESS if kind_of_labels([top]) else top or about
    found = _by_paths({**under, **totals}, "" if measure else name, sums, table)
    return [replace(one, measure=one.measure or measure) for one in found] + rest


def _product(
    under: dict[str, _Paths], alone: _Paths, about: str, sums: _Sums | None, table: str
) -> list[Spread]:
    """Columns that repeat under several texts: each text is a value of a dimension, or a measure."""
    tops = list(under)
    inner = list(dict.fromkeys(rest for rests in under.values() for rest in rests.values()))
    own = {top: {rest: place for place, rest in rests.items()} for top, rests in under.items()}
    lone = {place: path[0] for place, path in alone.items()}
    if not kind_of_labels(tops) and all(map(is_counted, tops)):
        return [
            replace(one, measure=" ".join(filter(None, (top, one.measure))))
            for top in tops
            for one in _by_paths(under[top], about, sums, table)
        ] + [Spread(positions=(place,), measure=name) for place, name in lone.items()]
    name = kind_of_labels(tops) or about or _NAMELESS
    flat = [rest[-1] for rest in inner]
    if not kind_of_labels(flat) and all(map(is_counted, flat)) and not any(map(is_total, flat)):
        return [
            Spread(
                positions=tuple(own[top][rest] for top in tops if rest in own[top]),
                measure=" ".join(rest),
                dimensions=((name, tuple(top for top in tops if rest in own[top])),),
            )
            for rest in inner
        ]
    within = _by_paths(dict(enumerate(inner)), "", None, table)
    found = []
    for spread in within:
        pairs = [
            (top, k)
            for top in tops
            for k in range(len(spread.positions))
            if inner[spread.positions[k]] in own[top]
        ]
        dimensions = [(name, tuple(top for top, _ in pairs))]
        dimensions += [(inside, tuple(labels[k] for _, k in pairs)) for inside, labels in spread.dimensions]
        found.append(
            Spread(
                positions=tuple(own[top][inner[spread.positions[k]]] for top, k in pairs),
                measure=spread.measure,
                dimensions=tuple(dimensions),
            )
        )
    return _beside(found, lone, sums)


def _beside(found: list[Spread], lone: dict[int, str], sums: _Sums | None) -> list[Spread]:
    """What columns that repeat were found to be, with the columns beside them: a total of all of them, which is a table of its own, or a measure."""
    more = []
    for place, name in lone.items():
        every = [k for one in found for k in one.positions]
        is_sum = is_total(name) and (sums is None or sums.add_up(place, every))
        more.append(Spread(positions=(place,), measure="" if is_sum and len(found) == 1 else name))
    return [*found, *more]


_HAS_LETTER = re.compile(r"[^\W\d]").search
_TEMPLATE = re.compile(r"(?P<name>[^:;]{1,60}?)\s*:\s*(?P<value>[^;]+?)\s*(?:;\s*(?P<rest>.*))?")


def _flat(names: dict[int, str], about: str, sums: _Sums | None, table: str) -> list[Spread]:
    """The columns by their names alone; `about` is what stands over all of them."""
    if len(names) == 1:
        ((place, name),) = names.items()
        return [Spread(positions=(place,), measure=name)]
    said = {
        place: match
        for place, name in names.items()
        if (match := _TEMPLATE.fullmatch(name)) and _HAS_LETTER(match["name"])
    }
    if len(said) == len(names) and len({match["rest"] for match in said.values()}) == 1:
        found = []
        for title in dict.fromkeys(match["name"] for match in said.values()):
            own = {place: match["value"] for place, match in said.items() if match["name"] == title}
            found.append(Spread(positions=tuple(own), dimensions=((title, tuple(own.values())),)))
        return found
    if pairs := _by_pairs(names):
        return pairs
    if about:
        return [
            Spread(
                positions=tuple(names),
                dimensions=((_named(about, list(names.values())), tuple(names.values())),),
            )
        ]
    return _by_kind(names) or _by_sums(names, sums) or _by_nouns(names, table)


def _by_pairs(names: dict[int, str]) -> list[Spread]:
    """Columns that say a value of each of several dimensions: `Sex: Male; Age: 0-9`; what all of them say is no dimension."""
    split = [[part.partition(":") for part in name.split(";")] for name in names.values()]
    titles = [tuple(title.strip() for title, _, _ in parts) for parts in split]
    if len(set(titles)) > 1 or len(set(titles[0])) < len(titles[0]) or not all(map(_HAS_LETTER, titles[0])):
        return []
    labels = [tuple(parts[k][2].strip() for parts in split) for k in range(len(titles[0]))]
    dimensions = [(title, own) for title, own in zip(titles[0], labels, strict=True) if len(set(own)) > 1]
    told_apart = len(set(zip(*labels, strict=True))) == len(names)
    if len(dimensions) < 2 or not told_apart or not all(all(own) for _, own in dimensions):
        return []
    return [Spread(positions=tuple(names), dimensions=tuple(dimensions))]


def _named(about: str, labels: list[str]) -> str:
    """What the dimension is called that runs over columns: by what stands over them, unless that says what is counted."""
    kind = kind_of_labels(labels, about=about)
    return kind or _NAMELESS if about == _NAMELESS else kind if kind and is_counted(about) else about


def _by_kind(names: dict[int, str]) -> list[Spread]:
    """Columns named by years, sexes, ages and the like, perhaps with what is counted in front or behind."""
    totals = [place for place, name in names.items() if is_total(name)]
    words = {
        place: tuple(re.split(r"[\s_]+", name.strip()))
        for place, name in names.items()
        if place not in totals
    }
    if len(words) < 2:
        return []
    lead, tail = _common(list(words.values())), _common([one[::-1] for one in words.values()])
    for front, back in dict.fromkeys([(0, 0), (lead, 0), (0, tail), (lead, tail)]):
        parts = {place: one[front : len(one) - back] for place, one in words.items()}
        if not all(parts.values()):
            continue
        first = next(iter(words.values()))
        measure = " ".join((*first[:front], *(first[len(first) - back :] if back else ())))
        dimensions = _kinds(parts, measure)
        if dimensions:
            return [
                _with_totals(parts, totals, names, dimensions, measure if is_counted(measure) else ""),
                *_rest(names, parts, totals),
            ]
    if in_equal_steps([names[place] for place in words]):  # codes: nobody calls measures so
        codes = {place: names[place] for place in words}
        return [_with_totals(words, totals, names, {_NAMELESS: codes}, "")]
    some = {
        place: one
        for place, one in words.items()
        if kind_of_labels([" ".join(one)]) in {"year", "date", "month", "quarter", "time"}
    }
    if len(some) >= 2 and (dimensions := _kinds(some, "")):
        return [_with_totals(some, totals, names, dimensions, ""), *_rest(names, some, totals)]
    return []


def _rest(names: dict[int, str], parts: dict[int, tuple[str, ...]], totals: list[int]) -> list[Spread]:
    return [
        Spread(positions=(place,), measure=name)
        for place, name in names.items()
        if place not in parts and place not in totals
    ]


def _with_totals(
    parts: dict[int, tuple[str, ...]],
    totals: list[int],
    names: dict[int, str],
    dimensions: dict[str, dict[int, str]],
    measure: str,
) -> Spread:
    places = [place for place in names if place in parts or place in totals]
    labels = tuple(
        (name, tuple(own.get(place, names[place]) for place in places)) for name, own in dimensions.items()
    )
    return Spread(positions=tuple(places), measure=measure, dimensions=labels)


def _kinds(parts: dict[int, tuple[str, ...]], about: str) -> dict[str, dict[int, str]]:
    """The one or two dimensions that the names are values of, with the value of each column; none if that is not clear."""
    joined = {place: " ".join(words) for place, words in parts.items()}
    kind = kind_of_labels(list(joined.values()), about=about)
    if kind and len(set(joined.values())) == len(joined):
        return {kind: joined}
    if min(map(len, parts.values())) < 2:
        return {}
    for cut in (1, -1):
        left = {place: " ".join(words[:cut]) for place, words in parts.items()}
        right = {place: " ".join(words[cut:]) for place, words in parts.items()}
        kinds = [kind_of_labels(sorted(set(side.values())), about="age") for side in (left, right)]
        if all(kinds) and kinds[0] != kinds[1]:
            return {kinds[0]: left, kinds[1]: right}
    return {}


def _common(words: list[tuple[str, ...]]) -> int:
    """How many words all names have in common at their start."""
    count = 0
    for column in zip(*words, strict=False):
        if len({folded(word) for word in column}) > 1:
            break
        count += 1
    return min(count, min(map(len, words)) - 1)


def _by_sums(names: dict[int, str], sums: _Sums | None) -> list[Spread]:
    """Columns of which one is worded like a total and is the sum of the others; not asked of texts that repeat under others.

    The first or the last may be called anything, such as "All towns", if it is that sum in every row, or in about every row and called "all" of something.
    """
    totals = [place for place, name in names.items() if is_total(name)]
    if not totals and sums is not None and len(names) > 3:
        places = [*names]
        for total in (places[0], places[-1]):
            others = [place for place in places if place != total]
            like = names[total].lower().startswith("all ")
            if sums.equal(total, others) or (like and sums.add_up(total, others)):
                title = names[total][4:].strip() if like else _NAMELESS
                label = names[total] if is_total(names[total], title) else f"Total ({names[total]})"
                named = {**names, total: label}
                return [Spread(positions=tuple(named), dimensions=((title, tuple(named.values())),))]
    parts = [place for place in names if place not in totals]
    if len(parts) < 2 or not totals or not any(sums is None or sums.add_up(total, parts) for total in totals):
        return []
    return [Spread(positions=tuple(names), dimensions=((_NAMELESS, tuple(names.values())),))]


def _by_nouns(names: dict[int, str], table: str) -> list[Spread]:
    """Columns that say what each of them counts. Anything else may be measures or values; nobody can tell."""
    if not all(map(is_counted, names.values())):
        shown = ", ".join(repr(name[:30]) for name in list(names.values())[:4]) + (
            ", ..." if len(names) > 4 else ""
        )
        raise DataError(
            f"{table} has {len(names)} columns of numbers ({shown}), which can be {len(names)} measures or the values of one "
            f"dimension; say which in the spec: 'measures: [{next(iter(names.values()))}, ...]' or 'wide: name of the dimension', "
            "or choose one with 'count'."
        )
    return [Spread(positions=(place,), measure=spaced(name)) for place, name in names.items()]


def _laid(raw: RawTable, keys: list[int], spread: Spread, delimiter: str) -> Laid:
    """The columns of a spread as a long table."""
    if not spread.dimensions:
        (place,) = spread.positions
        columns = (*(raw.columns[k] for k in keys), raw.columns[place])
        long = replace(raw, columns=columns)
    else:
        long = _melted(raw, keys, spread)
    counts = long.columns[-1]
    numbers = read_numbers(counts.labels, delimiter=delimiter)
    notes = tuple(
        f"the columns {labels[0]!r} to {labels[-1]!r} are values of {name}"
        for name, labels in spread.dimensions
        if len(labels) > 1
    )
    return Laid(
        raw=long, position=len(long.columns) - 1, numbers=numbers, measure=spread.measure, notes=notes
    )


def _melted(raw: RawTable, keys: list[int], spread: Spread) -> RawTable:
    """A row for each row and column; the columns become values of new dimensions."""
    width = len(spread.positions)
    origin = np.repeat(np.arange(raw.rows), width)
    called = dict(spread.renamed)
    columns = [raw.columns[k].take(origin) for k in keys]
    columns = [replace(column, name=called.get(column.name, column.name)) for column in columns]
    taken = {column.name for column in columns}
    for name, labels in spread.dimensions:
        one = Column.of(name if name not in taken else f"{name} (columns)", labels)
        columns.append(replace(one, codes=np.tile(one.codes, raw.rows)))
    place: dict[str, int] = {}
    codes = np.empty((raw.rows, width), np.int32)
    for k, position in enumerate(spread.positions):
        column = raw.columns[position]
        recode = np.array([place.setdefault(label, len(place)) for label in column.labels], np.int32)
        codes[:, k] = recode[column.codes]
    columns.append(Column(name=spread.measure or "count", codes=codes.ravel(), labels=tuple(place)))
    return raw.made(tuple(columns), origin)
