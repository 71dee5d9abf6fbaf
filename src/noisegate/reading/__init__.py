"""Published tables: read them as they are, and find how they hang together.

`read_table` reads one CSV or Parquet file; `find_structure` says which table is the base, which are
margins, and which base cells every margin cell sums; `summarise` puts the decisions into plain values;
`load_overrides` reads what a person decides instead. Everything here reads public files only.
"""

from __future__ import annotations

from noisegate.reading._cells import Axis, Cells
from noisegate.reading._links import Coverage, Link
from noisegate.reading._overrides import (
    DimensionOverride,
    Overrides,
    TableOverride,
    load_overrides,
    parse_overrides,
)
from noisegate.reading._reader import read_table
from noisegate.reading._structure import Structure, find_structure
from noisegate.reading._summary import DimensionSummary, LinkSummary, TableSummary, summarise
from noisegate.reading._table import Dimension, ExtraColumn, Kind, PublishedTable, SetAside

__all__ = [
    "Axis",
    "Cells",
    "Coverage",
    "Dimension",
    "DimensionOverride",
    "DimensionSummary",
    "ExtraColumn",
    "Kind",
    "Link",
    "LinkSummary",
    "Overrides",
    "PublishedTable",
    "SetAside",
    "Structure",
    "TableOverride",
    "TableSummary",
    "find_structure",
    "load_overrides",
    "parse_overrides",
    "read_table",
    "summarise",
]
