"""The look that all pictures share, and writing them to files without a network or a browser."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt

from noisegate.errors import OutputError
from noisegate.places import MARK, write_file

#: Colours that stay apart for colour-blind readers and in grey print (Okabe and Ito).
INK = "#222222"
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
GREY = "#8A8A8A"

#: An Altair chart of any kind; Altair's own types are too loose to tell them apart.
Picture: TypeAlias = Any

_KINDS = (".svg", ".png", ".html")


def in_order(names: Iterable[Any], /) -> list[Any] | None:
    """Names in the order that a picture shows them in; None for one of them.

    Vega-Lite takes a list of one name for the name itself, and one that is called `constructor` for a part of every object.
    """
    found = list(names)
    return found if len(found) > 1 else None


def styled(chart: Picture, /) -> Picture:
    """`chart` with the fonts, colours and spacing of all our pictures."""
    return (
        chart.configure(font="sans-serif", padding=12, background="white")
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            gridColor="#ECECEC",
            domainColor=GREY,
            tickColor=GREY,
        )
        .configure_title(color=INK, anchor="start", fontSize=14, subtitleColor="#555555", subtitleFontSize=11)
        .configure_legend(labelColor=INK, titleColor=INK, orient="top", titleFontWeight="normal")
        .configure_view(stroke=None)
    )


def save(chart: Picture, path: Path, /, *, marked: bool = False) -> None:
    """Write `chart` to `path`; the ending (.svg, .png, .html) says how, `marked` that it is for the custodian only."""
    if path.suffix.lower() not in _KINDS:
        raise OutputError(f"a picture is written as {', '.join(_KINDS)}, got {path.name!r}.")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write the picture {path}: there is no folder {str(path.parent)!r}.")
    kind = path.suffix.lower().removeprefix(".")
    drawn = io.BytesIO() if kind == "png" else io.StringIO()
    styled(chart).save(drawn, format=kind, **({"scale_factor": 2} if kind == "png" else {}))
    content = drawn.getvalue()
    octets = content if isinstance(content, bytes) else content.encode()
    write_file(path, _marked(octets, kind) if marked else octets)


def _marked(octets: bytes, kind: str, /) -> bytes:
    """A picture that says in its file that it is for the custodian only."""
    if kind == "png":
        # A chunk of text after the header, which is always 33 bytes long.
        chunk = b"tEXtComment\0" + MARK.encode()
        text = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        return octets[:33] + text + octets[33:]
    note = f"<!-- {MARK} -->".encode()
    return octets + b"\n" + note if kind == "svg" else octets.replace(b"<head>", b"<head>" + note, 1)


def rows(**columns: Any) -> Picture:
    """Inline data for a chart from columns of equal length."""
    names = list(columns)
    values = [
        {name: _plain(value) for name, value in zip(names, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]
    return alt.InlineData(values=values)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
