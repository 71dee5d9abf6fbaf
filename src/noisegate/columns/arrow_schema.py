"""The note by which readers of Arrow know that texts in a Parquet file are categories: a schema as a message of Arrow's, in Base64.

The message is a FlatBuffer (Arrow's `Schema.fbs` and `Message.fbs`). Everything in it lies behind what points to it.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SCHEMA, _VERSION = 1, 4
_INT, _FLOAT, _TEXT, _BOOL, _DATE, _TIMESTAMP = 2, 3, 5, 6, 8, 10
_UNITS = {"s": 0, "ms": 1, "us": 2, "ns": 3}
_CODES = 32


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A number inside of a table, by its form in `struct`."""

    form: str
    value: int


_Table = dict[int, Any]


def arrow_schema(fields: Sequence[tuple[str, str, bool, bool]], notes: Mapping[str, str], /) -> str:
    """The note for columns: each a name, a kind of NumPy's, whether it is text, and whether it is categories; with the other notes.

    Readers of Arrow look for these in here alone.
    """
    columns = [_field(number, *one) for number, one in enumerate(fields)]
    message = {
        0: _Scalar("h", _VERSION),
        1: _Scalar("B", _SCHEMA),
        2: {0: _Scalar("h", 0), 1: columns, 2: [{0: key, 1: value} for key, value in notes.items()]},
        3: _Scalar("q", 0),
    }
    octets = _flat(message)
    octets += bytes(-len(octets) % 8)
    return base64.b64encode(b"\xff\xff\xff\xff" + struct.pack("<i", len(octets)) + octets).decode()


def _field(number: int, name: str, dtype: str, texts: bool, coded: bool, /) -> _Table:  # noqa: FBT001 - a row of a table
    kind, about = (_TEXT, {}) if texts else _type(dtype)
    index = {0: _Scalar("i", _CODES), 1: _Scalar("B", 1)}
    return {
        0: name,
        1: _Scalar("B", 1),
        2: _Scalar("B", kind),
        3: about,
        **({4: {0: _Scalar("q", number), 1: index}} if coded else {}),
        5: [],
    }


def _type(dtype: str, /) -> tuple[int, _Table]:
    if dtype == "b1":
        return _BOOL, {}
    if dtype[0] == "f":
        return _FLOAT, {0: _Scalar("h", 1 if dtype == "f4" else 2)}
    if dtype == "M8[D]":
        return _DATE, {0: _Scalar("h", 0)}
    if dtype.startswith("M8"):
        return _TIMESTAMP, {0: _Scalar("h", _UNITS[dtype[3:-1]])}
    return _INT, {0: _Scalar("i", 8 * int(dtype[1])), 1: _Scalar("B", dtype[0] == "i")}


def _flat(table: _Table, /) -> bytes:
    out = bytearray(8)
    struct.pack_into("<I", out, 0, _add(out, table))
    return bytes(out)


def _add(out: bytearray, thing: Any, /) -> int:
    """Append a text, a list of tables or a table; where it starts."""
    out += bytes(-len(out) % 8)
    if isinstance(thing, str):
        octets, start = thing.encode(), len(out)
        out += struct.pack("<I", len(octets)) + octets + b"\0"
        return start
    if isinstance(thing, list):
        start = len(out)
        out += struct.pack("<I", len(thing)) + bytes(4 * len(thing))
        for number, one in enumerate(thing):
            _point(out, start + 4 + 4 * number, one)
        return start
    return _add_table(out, thing)


def _add_table(out: bytearray, table: _Table, /) -> int:
    """A list of the places of all fields, then the table: how far back the list lies, and the fields, the widest first."""
    slots = max(table, default=-1) + 1
    sizes = {
        slot: struct.calcsize(one.form) if isinstance(one, _Scalar) else 4 for slot, one in table.items()
    }
    places, end = {}, 4
    for slot in sorted(sizes, key=lambda slot: -sizes[slot]):
        end += -end % sizes[slot]
        places[slot] = end
        end += sizes[slot]
    listed = 4 + 2 * slots
    out += bytes(-(len(out) + listed) % 8)
    out += struct.pack(f"<{2 + slots}H", listed, end, *(places.get(slot, 0) for slot in range(slots)))
    start = len(out)
    out += struct.pack("<i", listed) + bytes(end - 4)
    for slot, one in table.items():
        if isinstance(one, _Scalar):
            struct.pack_into(f"<{one.form}", out, start + places[slot], one.value)
    for slot, one in table.items():
        if not isinstance(one, _Scalar):
            _point(out, start + places[slot], one)
    return start


def _point(out: bytearray, place: int, thing: Any, /) -> None:
    """Append a thing and say in four octets at a place how far behind it lies."""
    start = _add(out, thing)
    struct.pack_into("<I", out, place, start - place)
