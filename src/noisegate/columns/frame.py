"""Columns in memory, on NumPy: what leaves this package for pandas, Polars, DuckDB, Arrow, Parquet and plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, InternalError

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Values:
    """One column: numbers, moments (datetime64) or truth values; with `labels`, texts by their numbers.

    Attributes
    ----------
    values
        Row by row. Where there are labels, row i holds `labels[values[i]]`.
    labels
        The texts.
    missing
        Rows that hold nothing; None if there is none. Whatever `values` has there is not looked at.
    plain
        That others get texts, and no categories.
    """

    values: NDArray[Any]
    labels: tuple[str, ...] | None = None
    missing: Mask | None = None
    plain: bool = False

    def __post_init__(self) -> None:
        if self.missing is not None and (self.missing.shape != self.values.shape or not self.missing.any()):
            if self.missing.shape != self.values.shape:
                raise InternalError("what is missing does not line up with its column")
            object.__setattr__(self, "missing", None)

    @classmethod
    def numbers(cls, values: NDArray[Any], /, *, missing: Mask | None = None) -> Self:
        """Numbers, truth values, dates or times."""
        return cls(values=values, missing=missing)

    @classmethod
    def coded(cls, codes: NDArray[Any], labels: Sequence[str], /, *, missing: Mask | None = None) -> Self:
        """Categories: the number of the label of each row."""
        return cls(values=codes, labels=tuple(labels), missing=missing)

    @classmethod
    def texts(cls, texts: Iterable[str | None], /) -> Self:
        """Texts; None where there is nothing."""
        rows = list(texts)
        place = {
            text: code for code, text in enumerate(dict.fromkeys(row for row in rows if row is not None))
        }
        codes = np.fromiter(
            (place.get(row, -1) if row is not None else -1 for row in rows), np.int32, len(rows)
        )
        missing = codes < 0
        return cls(values=np.where(missing, 0, codes), labels=tuple(place), missing=missing, plain=True)

    @classmethod
    def joined(cls, parts: Sequence[Values], /) -> Self:
        """Columns one below the other, with the same labels."""
        first = parts[0]
        if any(part.labels != first.labels for part in parts):
            raise InternalError("columns with other labels cannot be put together")
        missing = None
        if any(part.missing is not None for part in parts):
            missing = np.concatenate(
                [np.zeros(len(one), bool) if one.missing is None else one.missing for one in parts]
            )
        values = np.concatenate([part.values for part in parts])
        return cls(values=values, labels=first.labels, missing=missing, plain=first.plain)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_pylist())

    def to_pylist(self) -> list[Any]:
        """As plain Python values; None where there is nothing."""
        rows: list[Any]
        if self.labels is None:
            rows = self.values.tolist()
        else:
            labels = self.labels or ("",)
            rows = [labels[code] for code in self.values.tolist()]
        if self.missing is None:
            return rows
        return [None if gone else row for row, gone in zip(rows, self.missing.tolist(), strict=True)]

    def to_numpy(self) -> NDArray[Any]:
        """As an array: of floats with NaN where a number is missing, of objects where texts or anything else is."""
        if self.labels is not None or (self.missing is not None and self.values.dtype.kind not in "iuf"):
            return np.array(self.to_pylist(), dtype=object)
        return self.values if self.missing is None else np.where(self.missing, np.nan, self.values)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Columns:
    """Named columns of one length. Polars, DuckDB, Arrow and whatever else reads an Arrow stream take it as it is.

    Examples
    --------
    >>> frame = Columns({"town": Values.texts(["A", "B"]), "count": Values.numbers(np.array([4, 7]))})
    >>> frame.to_pylist()
    [{'town': 'A', 'count': 4}, {'town': 'B', 'count': 7}]
    """

    columns: Mapping[str, Values]
    _rows: int = field(init=False)

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self.columns.values()}
        if len(lengths) > 1:
            raise InternalError("the columns of a frame differ in length")
        object.__setattr__(self, "_rows", max(lengths, default=0))

    @classmethod
    def joined(cls, parts: Iterable[Columns], /) -> Self:
        """Frames one below the other, with the same columns and the same labels; at least one."""
        frames = list(parts)
        first = frames[0]
        if len(frames) == 1:
            return cls(first.columns)
        return cls({name: Values.joined([one.columns[name] for one in frames]) for name in first.columns})

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._rows

    @property
    def column_names(self) -> list[str]:
        """What the columns are called."""
        return list(self.columns)

    def __len__(self) -> int:
        return self._rows

    def column(self, name: str, /) -> Values:
        """One column."""
        return self.columns[name]

    __getitem__ = column

    def equals(self, other: Columns, /) -> bool:
        """Whether another frame has the same columns with the same values."""
        return self.to_pydict() == other.to_pydict()

    def to_pydict(self) -> dict[str, list[Any]]:
        """The columns as lists."""
        return {name: column.to_pylist() for name, column in self.columns.items()}

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        columns = self.to_pydict()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __arrow_c_schema__(self) -> object:
        from noisegate.columns.streams import arrow_table

        return arrow_table(self).schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        from noisegate.columns.streams import arrow_table

        return arrow_table(self).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """A table of pyarrow.

        Raises
        ------
        DataError
            If pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError:
            raise DataError(
                "to_arrow() makes a table of pyarrow, which is not installed; pip install pyarrow, or hand this over as it is: "
                "Polars and DuckDB take it."
            ) from None
        return pa.table(self)

    def to_pandas(self) -> Any:
        """A pandas frame: categories stay categories, whole numbers with gaps become floats.

        Raises
        ------
        DataError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise DataError(
                "to_pandas() makes a pandas frame, and pandas is not installed; pip install pandas, or hand this over as it is: "
                "Polars and DuckDB take it."
            ) from None
        return pd.DataFrame({name: _series(column, pd) for name, column in self.columns.items()})

    def __repr__(self) -> str:
        return f"{self._rows:,} rows of {', '.join(self.columns)}"


def _series(column: Values, pd: Any, /) -> Any:
    """A column as pandas has it."""
    values, missing = column.values, column.missing  # noqa: PD011 - NumPy's
    if column.labels is not None and not column.plain:
        if len(set(column.labels)) < len(column.labels):
            return pd.Categorical(column.to_pylist(), dict.fromkeys(column.labels))
        codes = values if missing is None else np.where(missing, -1, values)
        return pd.Categorical.from_codes(codes, pd.Index(column.labels))
    if (
        column.labels is not None
        or values.dtype == "datetime64[D]"
        or (missing is not None and values.dtype == bool)
    ):
        return pd.Series(
            column.to_pylist(), dtype=None if column.labels is not None and len(column) else object
        )
    if missing is None:
        return values
    gone = np.datetime64("NaT") if values.dtype.kind == "M" else np.nan
    return np.where(missing, gone, values)
