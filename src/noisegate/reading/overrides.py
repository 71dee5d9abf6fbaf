"""What a person decides instead of the tool: the file behind `--spec` of an assessment.

    tables:
      time-loc.csv:                  # the file, by name or path, with or without endings
        count: n
        measures: [births, deaths]     # several columns of counts, a table each
        wide: diagnosis                # or: the columns of counts are values of this dimension
        base: true
        ignore: [note]
        missing: ["-1", UNKNOWN]
        delimiter: ";"
        encoding: latin-1
        columns: [mode, date, count]   # only for a file without a header
        threshold: {value: 18, rule: ge, cut: after}    # or: none
        markers: {"*": [1, 4], "-": 0, "..": any}       # the counts that each can stand for
        dimensions:
          tap_date: {as: date, kind: date, format: "%d/%m/%Y"}
          hour:     {as: time, kind: time, every: 60min}
          stop:     {as: location, total: All stops}
    domain:                            # values that exist although no table shows them
      location: [Manly Wharf, Circular Quay]

Everything is optional; what is not said is found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, cast

import yaml

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.mechanisms import Cut, Marker, Rule, Threshold
from noisegate.places import compose_yaml, read_octets
from noisegate.reading.published import PublishedTable, Source, source_name, table_name
from noisegate.tables import Kind

_TABLE_KEYS = (
    "count",
    "measures",
    "wide",
    "base",
    "ignore",
    "missing",
    "delimiter",
    "encoding",
    "columns",
    "threshold",
    "markers",
    "dimensions",
)
_DIMENSION_KEYS = ("as", "kind", "format", "every", "total")
_THRESHOLD_KEYS = ("value", "rule", "cut")
_WIDTH = re.compile(r"(\d{1,4})\s*(min|h)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionOverride:
    """What is decided about one column; `name` is what the dimension is called in all tables."""

    name: str | None = None
    kind: Kind | None = None
    pattern: str | None = None
    step: int | None = None
    total: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOverride:
    """What is decided about one file."""

    count: str | None = None
    measures: tuple[str, ...] | None = None
    wide: str | None = None
    base: bool | None = None
    ignore: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    delimiter: str | None = None
    encoding: str | None = None
    columns: tuple[str, ...] | None = None
    threshold: Threshold | None = None
    markers: Mapping[str, Marker] = field(default_factory=dict)
    dimensions: Mapping[str, DimensionOverride] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """All decisions: by table, and for the domain of each dimension."""

    tables: Mapping[str, TableOverride] = field(default_factory=dict)
    domain: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, source: Source, table: str = "", /) -> TableOverride:
        """What is decided about a file, a frame or the table in it; nothing, when it is not named."""
        for name in (*_names(source), table):
            if name in self.tables:
                return self.tables[name]
        return TableOverride()

    def check(self, tables: Iterable[PublishedTable], /) -> None:
        """Refuse decisions about tables or dimensions that are not there."""
        there = list(tables)
        sources = [source for table in there for source in table.sources]
        known = {table.name for table in there}.union(*map(_names, sources))
        for name in self.tables:
            if name not in known:
                raise SpecError.for_choice(
                    "a table in the spec", found=name, allowed=dict.fromkeys(map(source_name, sources))
                )
        named = sorted({name for table in there for name in table.names})
        for name in self.domain:
            if name not in named:
                raise SpecError.for_choice("a dimension under 'domain'", found=name, allowed=named)


def _names(source: Source, /) -> tuple[str, ...]:
    """What a spec may call a table by."""
    if isinstance(source, str):
        return (source,)
    return os.fspath(source), source.name, table_name(source)


def load_overrides(path: Path | str, /) -> Overrides:
    """The decisions in a YAML file.

    Raises
    ------
    SpecError
        If the file cannot be read, is not YAML, or says something that is not understood.
    """
    where = Path(path)
    most, way_out = limits.current().overrides_bytes, "it should hold a few decisions about tables"
    octets = read_octets(where, most=most, what="The spec", error=SpecError, way_out=way_out)
    try:
        text = octets.decode("utf-8-sig")
        compose_yaml(text, name=where.name)
        document = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeError, RecursionError, ValueError, OverflowError) as error:
        if isinstance(error, SpecError):
            raise
        mark = getattr(error, "problem_mark", None)
        at = f" (line {mark.line + 1})" if mark else ""
        raise SpecError(
            f"The spec {where} is not YAML{at}; indent with blanks and quote odd values."
        ) from error
    return parse_overrides(document if document is not None else {})


def parse_overrides(document: object, /) -> Overrides:
    """The decisions in a document that was read from YAML or JSON."""
    top = _mapping(document, "the spec", ("tables", "domain"))
    tables = _mapping(top.get("tables", {}), "'tables'")
    domain = _mapping(top.get("domain", {}), "'domain'")
    return Overrides(
        tables={name: _table(name, value) for name, value in tables.items()},
        domain={name: _texts(value, f"domain of {name}") for name, value in domain.items()},
    )


def _table(name: str, document: object) -> TableOverride:
    given = _mapping(document, f"table {name}", _TABLE_KEYS)
    where = f"of table {name}"
    base = given.get("base")
    if base is not None and not isinstance(base, bool):
        raise SpecError.for_value(f"base {where}", found=_scalar(base), allowed="true or false")
    dimensions = _mapping(given.get("dimensions", {}), f"dimensions {where}")
    delimiter = _text(given.get("delimiter"), f"delimiter {where}")
    if delimiter is not None and len(delimiter) != 1:
        raise SpecError.for_value(f"delimiter {where}", found=delimiter, allowed="one character")
    return TableOverride(
        count=_text(given.get("count"), f"count {where}"),
        measures=_texts(given["measures"], f"measures {where}") if "measures" in given else None,
        wide=_text(given.get("wide"), f"wide {where}"),
        base=base,
        ignore=_texts(given.get("ignore", []), f"ignore {where}"),
        missing=_texts(given["missing"], f"missing {where}") if "missing" in given else None,
        delimiter=delimiter,
        encoding=_text(given.get("encoding"), f"encoding {where}"),
        columns=_texts(given["columns"], f"columns {where}") if "columns" in given else None,
        threshold=_threshold(given["threshold"], where) if "threshold" in given else None,
        markers={
            text: _marker(text, value, where)
            for text, value in _mapping(given.get("markers", {}), f"markers {where}").items()
        },
        dimensions={key: _dimension(key, value, where) for key, value in dimensions.items()},
    )


def _dimension(name: str, document: object, where: str) -> DimensionOverride:
    what = f"dimension {name} {where}"
    given = _mapping(document, what, _DIMENSION_KEYS)
    kind = _choice(given.get("kind"), f"kind of {what}", [str(kind) for kind in Kind])
    return DimensionOverride(
        name=_text(given.get("as"), f"'as' of {what}"),
        kind=Kind(kind) if kind else None,
        pattern=_text(given.get("format"), f"format of {what}"),
        step=_minutes(given["every"], f"every of {what}") if "every" in given else None,
        total=_text(given.get("total"), f"total of {what}"),
    )


def _minutes(value: object, what: str) -> int:
    """A width such as 15min or 1h in minutes."""
    match = _WIDTH.fullmatch(value) if isinstance(value, str) else None
    minutes = int(match[1]) * (60 if match[2] == "h" else 1) if match else 0
    if not minutes or (24 * 60) % minutes:
        raise SpecError.for_value(what, found=_scalar(value), allowed="a part of a day such as 15min or 1h")
    return minutes


def _threshold(document: object, where: str) -> Threshold:
    stated = "stated in the spec"
    if document is None or document == "none":
        return Threshold(value=None, rule=None, cut=None, sure=1.0, evidence=stated)
    given = _mapping(document, f"threshold {where}", _THRESHOLD_KEYS)
    value = given.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise SpecError.for_value(
            f"threshold value {where}", found=_scalar(value), allowed="a number of at least 0"
        )
    rule = _choice(given.get("rule", "ge"), f"threshold rule {where}", ["ge", "gt"])
    cut = _choice(given.get("cut", "after"), f"threshold cut {where}", ["before", "after"])
    return Threshold(
        value=float(value), rule=cast("Rule", rule), cut=cast("Cut", cut), sure=1.0, evidence=stated
    )


def _marker(text: str, document: object, where: str) -> Marker:
    """A marker that stands for a count, a range of counts, or any count."""
    stated = "stated in the spec"
    if document == "any":
        return Marker(text=text, evidence=stated)
    ends = document if isinstance(document, list) else [document] * 2
    whole = [end for end in ends if isinstance(end, int) and not isinstance(end, bool) and 0 <= end < 2**53]
    if len(ends) != 2 or len(whole) != 2:
        raise SpecError.for_value(
            f"marker {text!r} {where}",
            found=_scalar(document),
            allowed="a count, two counts such as [1, 4], or any",
        )
    low, high = whole
    return Marker(text=text, low=low, high=high, cause="primary" if high else "unknown", evidence=stated)


def _choice(value: object, what: str, allowed: list[str]) -> str | None:
    if value is not None and value not in allowed:
        raise SpecError.for_choice(what, found=_scalar(value), allowed=allowed)
    return None if value is None else str(value)


def _mapping(document: object, what: str, allowed: tuple[str, ...] | None = None) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise SpecError(f"{what} must be a list of 'name: value' lines, got {type(document).__name__}.")
    found = {str(key): value for key, value in document.items()}
    for key in found:
        if allowed is not None and key not in allowed:
            raise SpecError.for_choice(f"a setting of {what}", found=key, allowed=allowed)
    return found


def _text(value: object, what: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SpecError.for_value(what, found=_scalar(value), allowed="text", way_out="Put it in quotes.")
    return value


def _texts(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise SpecError.for_value(what, found=_scalar(value), allowed="a list")
    for one in value:
        # YAML reads a bare on, off, yes or no as a truth value.
        if isinstance(one, bool) or not isinstance(one, str | int | float | date):
            raise SpecError.for_value(
                f"an entry of {what}", found=_scalar(one), allowed="text", way_out="Put it in quotes."
            )
    return tuple(str(one) for one in value)


def _scalar(value: object) -> object:
    """The value for a message, or only its type when it is a structure."""
    return value if isinstance(value, str | int | float | date | None) else type(value).__name__
