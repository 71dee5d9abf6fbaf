"""Published tables: read them as they are, and find how they hang together.

`read_table` reads one CSV or Parquet file or a frame, `read_tables` several; `find_structure` says which table is the base, which are
margins, and which base cells every margin cell sums; `summarise` puts the decisions into plain values;
`load_overrides` reads what a person decides instead. Everything here reads public tables only.
"""

from __future__ import annotations

from noisegate.reading.by_card import assemble, read_rows, read_structure
from noisegate.reading.counts import read_numbers
from noisegate.reading.hierarchy import LookupFile
from noisegate.reading.overrides import (
    DimensionOverride,
    Overrides,
    TableOverride,
    load_overrides,
    parse_overrides,
)
from noisegate.reading.published import (
    Codes,
    ExtraColumn,
    Hierarchy,
    MisplacedError,
    PublishedTable,
    SetAside,
    describe,
    place_rows,
    row_ids,
)
from noisegate.reading.reader import (
    Contents,
    TableSources,
    read_source,
    read_sources,
    read_table,
    read_tables,
)
from noisegate.reading.structure import Structure, find_structure
from noisegate.reading.summary import DimensionSummary, LinkSummary, MarkerSummary, TableSummary, summarise
from noisegate.reading.values import find_form

__all__ = [
    "Codes",
    "Contents",
    "DimensionOverride",
    "DimensionSummary",
    "ExtraColumn",
    "Hierarchy",
    "LinkSummary",
    "LookupFile",
    "MarkerSummary",
    "MisplacedError",
    "Overrides",
    "PublishedTable",
    "SetAside",
    "Structure",
    "TableOverride",
    "TableSources",
    "TableSummary",
    "assemble",
    "describe",
    "find_form",
    "find_structure",
    "load_overrides",
    "parse_overrides",
    "place_rows",
    "read_numbers",
    "read_rows",
    "read_source",
    "read_sources",
    "read_structure",
    "read_table",
    "read_tables",
    "row_ids",
    "summarise",
]
