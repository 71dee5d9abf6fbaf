"""`cells.parquet`: what is known about every cell of the base."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from noisegate.assessment.inference import Inference
from noisegate.tables.arrow import arrow_numbers, arrow_texts

#: What the file is called.
CELLS = "cells.parquet"
_ROWS_AT_ONCE = 1_000_000
_ESTIMATES = ("published", "mean", "sd", "mode_count", "lo", "hi", "p_zero", "level")


def write_cells(folder: Path, inference: Inference, /) -> None:
    """Write `cells.parquet`: dimensions, published count (null when suppressed), and the estimate."""
    cells, posterior, values = inference.cells, inference.posterior, inference.evidence.base.values
    words = [arrow_texts(dimension.labels) for dimension in cells.dimensions]
    writer: pq.ParquetWriter | None = None
    try:
        for start in range(0, cells.size, _ROWS_AT_ONCE):
            here = slice(start, min(start + _ROWS_AT_ONCE, cells.size))
            flat = np.arange(here.start, here.stop)
            columns = {
                _column(dimension.name): pa.DictionaryArray.from_arrays(arrow_numbers(codes), text)
                for dimension, codes, text in zip(cells.dimensions, cells.codes(flat), words, strict=True)
            }
            hidden = np.isnan(values[here])
            shown = np.where(hidden, 0, values[here]).astype(np.int64)
            columns["published"] = pa.array(shown, mask=hidden)
            columns["mean"] = arrow_numbers(posterior.mean[here])
            columns["sd"] = arrow_numbers(posterior.sd[here])
            columns["mode_count"] = arrow_numbers(posterior.mode[here])
            columns["lo"] = arrow_numbers(posterior.low[here])
            columns["hi"] = arrow_numbers(posterior.high[here])
            columns["p_zero"] = arrow_numbers(posterior.p_zero[here])
            columns["level"] = arrow_numbers(np.full(flat.size, posterior.level))
            table = pa.table(columns)
            if writer is None:
                writer = pq.ParquetWriter(folder / CELLS, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _column(name: str, /) -> str:
    """The name of a dimension's column; a dimension called like an estimate gets a line below its name."""
    return f"{name}_" if name in _ESTIMATES else name
