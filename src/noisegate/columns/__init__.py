"""Columns: on NumPy here, as Arrow streams and Parquet files for others, and back (docs/adr/032)."""

from noisegate.columns.frame import Frame, Mask, Values
from noisegate.columns.packing import PACKING_ERRORS, unpacked
from noisegate.columns.parquet import ROW_GROUP, ParquetWriter, parquet_octets, write_parquet

__all__ = [
    "PACKING_ERRORS",
    "ROW_GROUP",
    "Frame",
    "Mask",
    "ParquetWriter",
    "Values",
    "parquet_octets",
    "unpacked",
    "write_parquet",
]
