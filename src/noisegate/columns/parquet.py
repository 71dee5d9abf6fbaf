"""Parquet files, written from columns that are numbered already.

The columns of a release are numbers of public labels, so a dictionary page is the list of labels and a data page the numbers, without
looking at any text. Files are packed by Zstandard. They are read by DuckDB, here and elsewhere, and by whatever else reads Parquet.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.columns.arrow_schema import arrow_schema
from noisegate.columns.frame import Columns, Mask, Values
from noisegate.columns.packing import zstandard
from noisegate.columns.thrift import i8, i16, i32, i64, struct, varint
from noisegate.errors import InternalError

_MAGIC = b"PAR1"
_MAKER = "noisegate"
#: Rows of a page: readers unpack one at a time.
_PAGE = 1 << 17
#: Rows of a row group.
ROW_GROUP = 1 << 20
#: Whole numbers that lie this close together are written by their distinct values, if these are few.
_SPAN, _DISTINCT = 1 << 20, 1 << 16
#: How hard Zstandard tries: more takes longer than all the rest.
_LEVEL = 1
#: Octets of the longest text that is given as the least or the greatest of a column.
_LONGEST_BOUND = 1 << 12
_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE, _BYTE_ARRAY = 0, 1, 2, 4, 5, 6
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_ZSTD = 6
_CONVERTED = {"i1": 15, "i2": 16, "u1": 11, "u2": 12, "u4": 13, "u8": 14}
_UNITS = {"ms": (1, 9), "us": (2, 10), "ns": (3, None)}


class ParquetWriter:
    """A Parquet file that grows by whole row groups; what its columns are is settled by the first of them."""

    def __init__(
        self, file: Path | BinaryIO, /, *, notes: Mapping[str, str] | None = None, typed: bool = True
    ) -> None:
        self._file = file.open("wb") if isinstance(file, Path) else file
        self._owned = isinstance(file, Path)
        self._notes, self._typed = dict(notes or {}), typed
        self._place = self._file.write(_MAGIC)
        self._schema: list[_Kind] | None = None
        self._groups: list[dict[int, Any]] = []
        self._rows = 0
        self._lists: dict[str, tuple[tuple[str, ...], _Labels]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            if self._owned:
                self._file.close()

    def write(self, frame: Columns, /) -> None:
        """Append rows, as many row groups as they need."""
        kinds = [_Kind.of(name, column) for name, column in frame.columns.items()]
        if self._schema is None:
            self._schema = kinds
        if kinds != self._schema:
            raise InternalError("the columns of a Parquet file change on the way")
        for start in range(0, frame.num_rows, ROW_GROUP):
            self._group(frame, kinds, slice(start, min(start + ROW_GROUP, frame.num_rows)))

    def _group(self, frame: Columns, kinds: list[_Kind], here: slice, /) -> None:
        start, chunks = self._place, []
        for kind, column in zip(kinds, frame.columns.values(), strict=True):
            missing = None if column.missing is None else column.missing[here]
            chunks.append(self._chunk(kind, column, column.values[here], missing))
        rows = here.stop - here.start
        sizes = [chunk[3] for chunk in chunks]
        self._groups.append(
            {
                1: chunks,
                2: i64(sum(one[6].value for one in sizes)),
                3: i64(rows),
                5: i64(start),
                6: i64(self._place - start),
                7: i16(len(self._groups) & 0x7FFF),
            }
        )
        self._rows += rows

    def _chunk(
        self, kind: _Kind, column: Values, values: NDArray[Any], missing: Mask | None, /
    ) -> dict[int, Any]:
        there = values if missing is None else values[~missing]
        coded = self._coded(kind, column, there)
        start, plain_size = self._place, 0
        if coded is not None:
            plain_size += self._page({1: i32(2), 7: {1: i32(len(coded)), 2: i32(_PLAIN)}}, coded.octets)
        first = self._place
        for count, levels, part in _pages(len(values), missing, there if coded is None else coded.codes):
            content = kind.plain(part) if coded is None else _hybrid(part)
            encoding = _PLAIN if coded is None else _RLE_DICTIONARY
            head = {1: i32(count), 2: i32(encoding), 3: i32(_RLE), 4: i32(_RLE)}
            plain_size += self._page({1: i32(0), 5: head}, levels + content)
        least, greatest = kind.bounds(there, coded)
        about = {
            1: i32(kind.physical),
            2: [i32(one) for one in ((_PLAIN, _RLE) if coded is None else (_PLAIN, _RLE, _RLE_DICTIONARY))],
            3: [kind.name],
            4: i32(_ZSTD),
            5: i64(len(values)),
            6: i64(plain_size),
            7: i64(self._place - start),
            9: i64(first),
            11: None if coded is None else i64(start),
            12: {3: i64(len(values) - len(there)), 5: greatest, 6: least},
        }
        return {2: i64(start), 3: about}

    def _coded(self, kind: _Kind, column: Values, there: NDArray[Any], /) -> _Dictionary | None:
        """The distinct values of a part and the number of each row's; None if they are better written one by one."""
        if column.labels is None:
            return _distinct(kind, there)
        known = self._lists.get(kind.name)
        if known is None or known[0] is not column.labels:
            known = self._lists[kind.name] = (column.labels, _Labels(column.labels))
        return known[1].used_by(there)

    def _page(self, header: dict[int, Any], content: bytes, /) -> int:
        """Write a page; how long it is unpacked, with its header."""
        packed = zstandard().compress(content, level=_LEVEL)
        head = struct({**header, 2: i32(len(content)), 3: i32(len(packed))})
        self._place += self._file.write(head) + self._file.write(packed)
        return len(head) + len(content)

    def _finish(self) -> None:
        schema = self._schema or []
        notes = dict(self._notes)
        if self._typed and any(kind.coded for kind in schema):
            fields = [(kind.name, kind.dtype, kind.texts, kind.coded) for kind in schema]
            notes["ARROW:schema"] = arrow_schema(fields, self._notes)
        root = {3: i32(0), 4: "schema", 5: i32(len(schema))}
        footer = struct(
            {
                1: i32(2),
                2: [root, *(kind.element for kind in schema)],
                3: i64(self._rows),
                4: self._groups,
                5: [{1: key, 2: value} for key, value in notes.items()] or None,
                6: _MAKER,
                7: [{1: {}} for _ in schema],
            }
        )
        self._file.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)


def write_parquet(frame: Columns, file: Path, /, *, notes: Mapping[str, str] | None = None) -> None:
    """Write a frame as a Parquet file."""
    with ParquetWriter(file, notes=notes) as writer:
        writer.write(frame)


def parquet_octets(frame: Columns, /) -> bytes:
    """A frame as the octets of a Parquet file."""
    out = io.BytesIO()
    with ParquetWriter(out) as writer:
        writer.write(frame)
    return out.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """What a column is in the file."""

    name: str
    dtype: str
    texts: bool
    coded: bool

    @classmethod
    def of(cls, name: str, column: Values, /) -> _Kind:
        texts = column.labels is not None
        return cls(
            name=name,
            dtype="" if texts else column.values.dtype.str.lstrip("<|="),
            texts=texts,
            coded=texts and not column.plain,
        )

    @property
    def physical(self) -> int:
        if self.texts:
            return _BYTE_ARRAY
        if self.dtype in {"f4", "f8"}:
            return _FLOAT if self.dtype == "f4" else _DOUBLE
        if self.dtype == "b1":
            return _BOOLEAN
        return _INT64 if self.dtype in {"i8", "u8"} or self.unit else _INT32

    @property
    def unit(self) -> str:
        """The unit of a moment in time; empty for anything else."""
        return self.dtype[3:-1] if self.dtype.startswith("M8") and self.dtype != "M8[D]" else ""

    @property
    def element(self) -> dict[int, Any]:
        """The entry of the schema."""
        converted, logical = self._meaning()
        return {
            1: i32(self.physical),
            3: i32(1),
            4: self.name,
            6: None if converted is None else i32(converted),
            10: logical,
        }

    def _meaning(self) -> tuple[int | None, dict[int, Any] | None]:
        if self.texts:
            return 0, {1: {}}
        if self.dtype == "M8[D]":
            return 6, {6: {}}
        if self.unit:
            number, converted = _UNITS[self.unit]
            return converted, {8: {1: False, 2: {number: {}}}}
        if self.dtype in _CONVERTED:
            return _CONVERTED[self.dtype], {10: {1: i8(8 * int(self.dtype[1])), 2: self.dtype[0] == "i"}}
        return None, None

    def plain(self, values: NDArray[Any], /) -> bytes:
        """Values one after the other."""
        if self.dtype == "b1":
            return np.packbits(values, bitorder="little").tobytes()
        return self._stored(values).tobytes()

    def _stored(self, values: NDArray[Any], /) -> NDArray[Any]:
        if self.dtype == "M8[D]":
            return values.astype(np.int64).astype("<i4")
        if self.physical == _INT32:
            return values.astype("<u4" if self.dtype[0] == "u" else "<i4")
        return values.astype(values.dtype.newbyteorder("<"), copy=False)

    def bounds(self, values: NDArray[Any], coded: _Dictionary | None, /) -> tuple[bytes | None, bytes | None]:
        """The least and the greatest value; nothing for floats, among which some are no numbers."""
        if not values.size or self.dtype in {"f4", "f8", "b1"}:
            return None, None
        if coded is not None:
            least, greatest = coded.ends
            return (least, greatest) if max(len(least), len(greatest)) <= _LONGEST_BOUND else (None, None)
        return self.plain(values.min(keepdims=True)), self.plain(values.max(keepdims=True))


class _Dictionary:
    """Distinct values in a page, and the number of each row's value."""

    def __init__(self, size: int, octets: bytes, codes: NDArray[Any], ends: tuple[bytes, bytes], /) -> None:
        self._size, self.octets, self.codes, self.ends = size, octets, codes, ends

    def __len__(self) -> int:
        return self._size


class _Labels:
    """The texts of a column, those that come twice once: readers number them by themselves."""

    def __init__(self, texts: tuple[str, ...], /) -> None:
        place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        self._items = [text.encode() for text in place]
        self._octets = _length_first(self._items)
        self._recode = (
            None if len(place) == len(texts) else np.array([place[text] for text in texts], np.int32)
        )

    def used_by(self, codes: NDArray[Any], /) -> _Dictionary:
        """The texts that some rows need, and the numbers of these rows among them."""
        if not codes.size:
            return _Dictionary(0, b"", codes, (b"", b""))
        own = codes if self._recode is None else self._recode[codes]
        used = np.flatnonzero(np.bincount(own, minlength=len(self._items)))
        items = [self._items[place] for place in used.tolist()]
        ends = min(items), max(items)
        if 2 * len(items) > len(self._items):
            return _Dictionary(len(self._items), self._octets, own, ends)
        rank = np.zeros(len(self._items), np.int32)
        rank[used] = np.arange(used.size)
        return _Dictionary(len(items), _length_first(items), rank[own], ends)


def _length_first(items: list[bytes], /) -> bytes:
    return b"".join(len(item).to_bytes(4, "little") + item for item in items)


def _distinct(kind: _Kind, values: NDArray[Any], /) -> _Dictionary | None:
    """Numbers by their distinct values, if they lie close together and few are distinct; of floats only one that repeats all along."""
    if not values.size or kind.dtype == "b1":
        return None
    if values.dtype.kind == "f":
        bits = values.view(f"u{values.dtype.itemsize}")
        return (
            _numbered(kind, values[:1], np.zeros(values.size, np.int32)) if (bits == bits[0]).all() else None
        )
    wide = values if kind.dtype == "u8" else values.astype(np.int64)
    least, greatest = int(wide.min()), int(wide.max())
    if greatest - least >= min(_SPAN, 4 * values.size):
        return None
    codes = (wide - wide.dtype.type(least)).astype(np.int64, copy=False)
    used = np.flatnonzero(np.bincount(codes))
    if used.size > _DISTINCT:
        return None
    rank = np.zeros(greatest - least + 1, np.int32)
    rank[used] = np.arange(used.size)
    items = (used.astype(wide.dtype) + wide.dtype.type(least)).astype(values.dtype)
    return _numbered(kind, items, rank[codes])


def _numbered(kind: _Kind, items: NDArray[Any], codes: NDArray[Any], /) -> _Dictionary:
    octets = kind.plain(items)
    width = len(octets) // items.size
    return _Dictionary(items.size, octets, codes, (octets[:width], octets[-width:]))


def _pages(
    rows: int, missing: Mask | None, there: NDArray[Any], /
) -> Iterator[tuple[int, bytes, NDArray[Any]]]:
    """For each page its rows, which of them hold something, and what these hold."""
    before = 0
    for start in range(0, rows, _PAGE):
        count = min(_PAGE, rows - start)
        if missing is None:
            levels, held = varint(count << 1) + b"\1", count
        else:
            full = ~missing[start : start + count]
            held = int(full.sum())
            levels = varint((count + 7) // 8 << 1 | 1) + np.packbits(full, bitorder="little").tobytes()
        yield count, len(levels).to_bytes(4, "little") + levels, there[before : before + held]
        before += held


def _hybrid(codes: NDArray[Any], /) -> bytes:
    """Numbers in as few whole octets as the greatest needs, after their width; one that repeats all along is written once.

    Zstandard finds what bits would save, and whole octets take no time to put together.
    """
    if not codes.size:
        return b"\0"
    least, greatest = int(codes.min()), int(codes.max())
    octets = 1 if greatest < 1 << 8 else 2 if greatest < 1 << 16 else 4
    if least == greatest:
        return bytes([8 * octets]) + varint(codes.size << 1) + greatest.to_bytes(octets, "little")
    short = -codes.size % 8
    packed = codes.astype(f"<u{octets}").tobytes() + bytes(short * octets)
    return bytes([8 * octets]) + varint((codes.size + 7) // 8 << 1 | 1) + packed
