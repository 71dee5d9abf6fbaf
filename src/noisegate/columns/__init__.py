"""Columns: on NumPy here, as Arrow streams and Parquet files for others, and back (docs/adr/032)."""

from noisegate.columns.arrow import (
    CodedTexts,
    StreamError,
    arrow_table,
    batches,
    coded_texts,
    concatenated,
    numbers,
    numbers_or_gaps,
    whole,
)
from noisegate.columns.frame import Columns, Mask, Values
from noisegate.columns.packing import PACKING_ERRORS, unpacked, zstandard
from noisegate.columns.parquet import ROW_GROUP, ParquetWriter, parquet_octets, write_parquet
from noisegate.columns.queries import (
    is_nested,
    kinds_of,
    literal,
    own_duckdb,
    quoted,
    read_numbers,
    read_texts,
    registered,
    store,
    text_sql,
)

__all__ = [
    "PACKING_ERRORS",
    "ROW_GROUP",
    "CodedTexts",
    "Columns",
    "Mask",
    "ParquetWriter",
    "StreamError",
    "Values",
    "arrow_table",
    "batches",
    "coded_texts",
    "concatenated",
    "is_nested",
    "kinds_of",
    "literal",
    "numbers",
    "numbers_or_gaps",
    "own_duckdb",
    "parquet_octets",
    "quoted",
    "read_numbers",
    "read_texts",
    "registered",
    "store",
    "text_sql",
    "unpacked",
    "whole",
    "write_parquet",
    "zstandard",
]
