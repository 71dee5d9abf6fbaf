"""A picture: plots under and beside each other, as SVG, PNG or a page, written without a network or a browser.

The same data gives the same bytes. A picture holds no script, no link, no name of its own and nothing to be fetched; every text is escaped.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from noisegate.errors import OutputError
from noisegate.pictures.colours import DARK, PAPER, QUIET, dark_rules
from noisegate.pictures.frame import fmt
from noisegate.pictures.letters import FONTS, escaped, wrapped
from noisegate.pictures.plot import LEADING, SIZE, Plot, drawn, text
from noisegate.places import MARK, write_file

#: Width of a picture inside a page, in its own units: narrow enough for a phone to show its letters.
WIDTH = 420.0
_KINDS = (".svg", ".png", ".html")
_BESIDE, _TITLE = 28.0, 14.0
#: Dots of a PNG for each unit.
_DENSITY = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picture:
    """Rows of plots; `svg` is its text, `save` writes it, and a notebook shows it."""

    rows: Sequence[Sequence[Plot]]
    title: str = ""
    subtitle: str = ""
    gap: float = 14.0

    @property
    def svg(self) -> str:
        """The picture with its title, on white."""
        return _svg(self, padding=12, alone=True)

    def inline(self) -> str:
        """The picture for a page: without a title, a ground or a size, hidden from readers of the page's own alternative."""
        return _svg(self, padding=4, alone=False)

    def png(self) -> bytes:
        """The picture in dots, two for each unit; needs a font on this machine."""
        return _png(self.svg)

    def save(self, path: Path | str, /, *, marked: bool = False) -> None:
        """Write it; the ending (.svg, .png, .html) says how, `marked` that it is for the custodian only."""
        save(self, Path(path), marked=marked)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        count = sum(map(len, self.rows))
        return f"Picture({self.title!r}, {count} plot{'' if count == 1 else 's'})"


def of(plot: Plot, /, *, title: str = "", subtitle: str = "") -> Picture:
    """A picture of one plot."""
    return Picture(rows=[[plot]], title=title, subtitle=subtitle)


def _svg(picture: Picture, /, *, padding: float, alone: bool) -> str:
    wide = max(
        (sum(plot.width for plot in row) + _BESIDE * (len(row) - 1) for row in picture.rows), default=WIDTH
    )
    elements, down = _headed(picture, wide, padding) if alone else ([], padding)
    margin = max((row[0].margin() for row in picture.rows if len(row) == 1), default=0.0)
    for place, row in enumerate(picture.rows):
        across, top = padding, down + (picture.gap if place else 0.0)
        for plot in row:
            inside, end = drawn(plot, across, top, margin=margin if len(row) == 1 else None)
            elements += inside
            across, down = across + plot.width + _BESIDE, max(down, end)
    width, height = fmt(wide + 2 * padding), fmt(down + padding)
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    look = f'font-family="{FONTS}" font-size="{fmt(SIZE)}"'
    body = "".join(elements)
    if not alone:
        return f'{opening} aria-hidden="true" focusable="false" {look}>{body}</svg>'
    titles = f"<title>{escaped(picture.title or 'picture')}</title>"
    titles += f"<desc>{escaped(picture.subtitle)}</desc>" if picture.subtitle else ""
    ground = f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    return f'{opening} width="{width}" height="{height}" role="img" {look}>{titles}{ground}{body}</svg>'


def _headed(picture: Picture, wide: float, padding: float, /) -> tuple[list[str], float]:
    """Title and subtitle, and where they end."""
    elements, down = [], padding
    for words in wrapped(picture.title, wide, _TITLE, bold=True):
        elements.append(text(words, padding, down + LEADING / 2, size=_TITLE, more=' font-weight="bold"'))
        down += LEADING + 3
    for words in wrapped(picture.subtitle, wide):
        elements.append(text(words, padding, down + LEADING / 2, colour=QUIET))
        down += LEADING
    return elements, down + (8 if elements else 0)


def save(picture: Picture, path: Path, /, *, marked: bool = False) -> None:
    """Write `picture` to `path`; the ending (.svg, .png, .html) says how, `marked` that it is for the custodian only."""
    if path.suffix.lower() not in _KINDS:
        raise OutputError(f"a picture is written as {', '.join(_KINDS)}, got {path.name!r}.")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write the picture {path}: there is no folder {str(path.parent)!r}.")
    kind = path.suffix.lower().removeprefix(".")
    octets = picture.png() if kind == "png" else (picture.svg if kind == "svg" else _page(picture)).encode()
    write_file(path, _marked(octets, kind) if marked else octets)


def _page(picture: Picture, /) -> str:
    """A page with the picture alone, dark on a dark screen."""
    rules = "".join(dark_rules("svg"))
    style = f"body{{margin:0;background:{PAPER}}}svg{{max-width:100%;height:auto}}"
    dark = f"@media (prefers-color-scheme:dark){{body{{background:{DARK[PAPER]}}}{rules}}}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escaped(picture.title or 'picture')}</title><style>{style}{dark}</style></head>\n<body>{picture.svg}</body></html>\n"
    )


def _png(svg: str, /) -> bytes:
    import resvg_py  # three megabytes that only dots need

    if not _letters_drawn():
        raise OutputError(
            "no .png here: no font was found to draw its letters with; install one (Debian: apt install fonts-liberation), or write .svg or .html."
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_DENSITY))


def _letters_drawn() -> bool:
    """Whether a letter is more than nothing: without a font it is left out in silence."""
    import resvg_py

    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" font-family="{FONTS}">'
    letter, nothing = (f"{opening}{inside}</svg>" for inside in ('<text y="15">M</text>', ""))
    return bytes(resvg_py.svg_to_bytes(svg_string=letter)) != bytes(resvg_py.svg_to_bytes(svg_string=nothing))


def _marked(octets: bytes, kind: str, /) -> bytes:
    """A picture that says in its file that it is for the custodian only."""
    if kind == "png":
        # A chunk of text after the header, which is always 33 bytes long.
        chunk = b"tEXtComment\0" + MARK.encode()
        said = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        return octets[:33] + said + octets[33:]
    note = f"<!-- {MARK} -->".encode()
    return octets + b"\n" + note if kind == "svg" else octets.replace(b"<head>", b"<head>" + note, 1)
