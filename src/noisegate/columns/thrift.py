"""Thrift's compact form, as far as the footer of a Parquet file needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 8, 9, 12


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number of 8, 16, 32 or 64 bits."""

    value: int
    bits: int


def i8(value: int, /) -> Whole:
    """A number of 8 bits."""
    return Whole(value, 8)


def i16(value: int, /) -> Whole:
    """A number of 16 bits."""
    return Whole(value, 16)


def i32(value: int, /) -> Whole:
    """A number of 32 bits."""
    return Whole(value, 32)


def i64(value: int, /) -> Whole:
    """A number of 64 bits."""
    return Whole(value, 64)


_WHOLE = {8: _BYTE, 16: _I16, 32: _I32, 64: _I64}


def struct(fields: Mapping[int, Any], /) -> bytes:
    """A structure: its fields by their numbers, those that are None left out.

    Values are whole numbers of a stated width, truth values, octets, text, lists of one kind, and structures as dictionaries.
    """
    out, before = bytearray(), 0
    for number, value in sorted(fields.items()):
        if value is None:
            continue
        kind = (_TRUE if value else _FALSE) if isinstance(value, bool) else _kind(value)
        step = number - before
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _zigzag(number)
        if not isinstance(value, bool):
            out += _content(value)
        before = number
    return bytes(out) + b"\0"


def varint(value: int, /) -> bytes:
    """A whole number of at least 0, seven bits to an octet."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int, /) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _kind(value: Any, /) -> int:
    if isinstance(value, Whole):
        return _WHOLE[value.bits]
    if isinstance(value, bytes | str):
        return _BINARY
    return _STRUCT if isinstance(value, Mapping) else _LIST


def _content(value: Any, /) -> bytes:
    if isinstance(value, Whole):
        return value.value.to_bytes(1, "little", signed=True) if value.bits == 8 else _zigzag(value.value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(len(value)) + value
    return struct(value) if isinstance(value, Mapping) else _list(value)


def _list(values: Sequence[Any], /) -> bytes:
    kind = _kind(values[0]) if values else _STRUCT
    size = len(values)
    head = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + varint(size)
    return head + b"".join(map(_content, values))
