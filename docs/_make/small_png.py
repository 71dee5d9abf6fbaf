"""Small PNG files: read one as browsers write it, cut it, and write it with a palette of at most 256 colours."""  # noqa: INP001

from __future__ import annotations

import struct
import zlib

import numba
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
_HEAD = b"\x89PNG\r\n\x1a\n"
_MOST_COLOURS = 256


def read(data: bytes, /) -> Pixels:
    """The pixels of a PNG with eight bits a channel, without interlace: height, width, red-green-blue."""
    assert data.startswith(_HEAD)
    place, packed, channels, width, height = len(_HEAD), b"", 0, 0, 0
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + size]
        if kind == b"IHDR":
            width, height, bits, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert bits == 8
            assert interlace == 0
            channels = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            packed += body
        place += size + 12
    rows = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(height, width * channels + 1)
    lines = _unfiltered(rows[:, 1:].copy(), rows[:, 0].copy(), channels)
    return np.ascontiguousarray(lines.reshape(height, width, channels)[:, :, :3])


@numba.njit(cache=False)
def _unfiltered(lines: Pixels, kinds: Pixels, channels: int) -> Pixels:
    """Undo the five filters of the PNG standard, line by line."""
    for y in range(lines.shape[0]):
        for x in range(lines.shape[1]):
            left = int(lines[y, x - channels]) if x >= channels else 0
            above = int(lines[y - 1, x]) if y > 0 else 0
            corner = int(lines[y - 1, x - channels]) if y > 0 and x >= channels else 0
            guess = 0
            if kinds[y] == 1:
                guess = left
            elif kinds[y] == 2:
                guess = above
            elif kinds[y] == 3:
                guess = (left + above) // 2
            elif kinds[y] == 4:
                by_left, by_above, by_corner = (
                    abs(above - corner),
                    abs(left - corner),
                    abs(left + above - 2 * corner),
                )
                guess = corner
                if by_left <= by_above and by_left <= by_corner:
                    guess = left
                elif by_above <= by_corner:
                    guess = above
            lines[y, x] = (int(lines[y, x]) + guess) % 256
    return lines


def write(pixels: Pixels, /) -> bytes:
    """The pixels as a PNG with a palette; colours that are nearly the same become one."""
    codes, palette = _palette(pixels)
    height, width = codes.shape
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), codes], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    packed = zlib.compress(lines.tobytes(), 9)
    parts = ((b"IHDR", head), (b"PLTE", palette.tobytes()), (b"IDAT", packed), (b"IEND", b""))
    return _HEAD + b"".join(_chunk(kind, body) for kind, body in parts)


def _palette(pixels: Pixels, /) -> tuple[Pixels, Pixels]:
    """A code for each pixel and the colour of each code: the mean of the colours it stands for."""
    flat = pixels.reshape(-1, 3).astype(np.int64)
    for lost in range(8):
        keys = ((flat >> lost) * np.array([65536, 256, 1])).sum(axis=1)
        found, codes = np.unique(keys, return_inverse=True)
        if len(found) <= _MOST_COLOURS:
            break
    size = np.bincount(codes)
    sums = [np.bincount(codes, weights=flat[:, channel]) for channel in range(3)]
    colours = np.rint(np.stack(sums, axis=1) / size[:, None]).astype(np.uint8)
    return codes.astype(np.uint8).reshape(pixels.shape[:2]), colours


def _chunk(kind: bytes, body: bytes, /) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
