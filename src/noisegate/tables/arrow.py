"""Arrow arrays on memory that is there already.

`pyarrow.array` does more for its caller, but its first call loads pandas wherever that is installed, to see
whether it was given a series. That takes longer than writing a table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def arrow_numbers(values: NDArray[Any], /) -> Any:
    """Integers or floats as an Arrow array without nulls, on the same memory."""
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def arrow_texts(texts: Iterable[str], /) -> Any:
    """Texts as an Arrow array without nulls; all together must be less than 2 GB."""
    octets = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, octets)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(octets), pa.py_buffer(ends), pa.py_buffer(b"".join(octets)))
