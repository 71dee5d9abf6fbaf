"""Letters of pictures: how wide they are, where lines break, and what is escaped.

A picture is drawn without asking a font, so widths are those of Helvetica, Arial and Liberation Sans, with a little room for
wider ones; letters that these lack are taken as wide as they are in most fonts.
"""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape

FONTS = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, Noto Sans, sans-serif"
#: Characters that XML does not know, and those that turn the direction of what follows; and what is shown for them.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_BOX = "\ufffd"
#: Thousandths of the size, from the space on (Adobe's metrics of Helvetica).
_WIDTHS = (
    (278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278)
    + (556,) * 10
    + (278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833)
    + (722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556)
    + (556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556)
    + (500, 722, 500, 500, 500, 334, 260, 334, 584)
)
_OTHER, _WIDE = 640, 1000
#: What most letters have more when they are bold.
_BOLD = 56
#: Fonts that stand in for these are wider (DejaVu Sans by a sixth); more room than this looks loose where they do not.
_ROOM = 1.06


def width_of(text: str, size: float = 12, /, *, bold: bool = False) -> float:
    """How wide `text` is in letters of this size."""
    return (sum(map(_letter, text)) + bold * _BOLD * len(text)) * size * _ROOM / 1000


def _letter(letter: str, /) -> int:
    code = ord(letter) - 32
    if 0 <= code < len(_WIDTHS):
        return _WIDTHS[code]
    if unicodedata.combining(letter):
        return 0
    return _WIDE if unicodedata.east_asian_width(letter) in "WF" else _OTHER


def shortened(text: str, width: float, size: float = 12, /, *, bold: bool = False) -> str:
    """`text`, or what of it fits into `width` with three dots behind it."""
    if width_of(text, size, bold=bold) <= width:
        return text
    kept = text
    while kept and width_of(f"{kept}…", size, bold=bold) > width:
        kept = kept[: min(len(kept) - 1, int(width / size * 5))]
    return f"{kept.rstrip()}…"


def wrapped(text: str, width: float, size: float = 12, /, *, most: int = 3, bold: bool = False) -> list[str]:
    """`text` in at most so many lines of this width; what does not fit is shortened."""
    lines: list[str] = []
    words = text.split(" ") if text else []
    while words and len(lines) < most - 1:
        line = words.pop(0)
        while words and width_of(f"{line} {words[0]}", size, bold=bold) <= width:
            line = f"{line} {words.pop(0)}"
        lines.append(shortened(line, width, size, bold=bold))
    return [*lines, shortened(" ".join(words), width, size, bold=bold)] if words else lines


def escaped(text: str, /) -> str:
    """`text` as it stands between tags or in an attribute: nothing of it is markup, nothing turns the writing round."""
    return escape(calm(text), {'"': "&quot;"})


def calm(text: str, /) -> str:
    """`text` with a box for every character that is none, or that turns the direction of what follows."""
    return _CONTROLS.sub(_BOX, text)
