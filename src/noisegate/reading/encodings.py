"""Text that is not Unicode: which encoding it has, or that it cannot be told.

Letters of Western encodings stand alone among plain ones. Where most of what is not plain stands in rows, the text is East Asian, Cyrillic, Greek
or the like, and read as Western it would be labels of nonsense that nobody notices. One encoding is taken only if no other reads the same text as
well.
"""

from __future__ import annotations

import codecs
import itertools
import re
from pathlib import Path

from noisegate.errors import DataError

#: Encodings of several bytes a letter: the usual signs of each, which few other texts happen to spell, and the wider one to read by.
_EAST_ASIAN = {"cp932": "cp932", "euc_jp": "euc_jp", "gb2312": "gb18030", "euc_kr": "cp949", "big5": "big5"}
_SIGNS = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff01-\uff5e]+")
#: Signs of one language alone, by the encodings that spell it.
_OWN = {"cp932": "[\u3040-\u30ff]", "euc_jp": "[\u3040-\u30ff]", "euc_kr": "[\uac00-\ud7a3]"}
#: So large a share of the letters that are not plain stands in rows of East Asian text, and of text in another script.
_IN_ROWS, _OTHER_SCRIPT = 0.8, 0.5
#: From such a share of them on a text is in that language: kana stand among other signs, Korean has hardly any others.
_TELLS = {"cp932": 0.05, "euc_jp": 0.05, "euc_kr": 0.9}


def legacy_encoding(start: bytes, path: Path, /) -> str:
    """The encoding of text that is not UTF-8; refused where several are as likely."""
    found = [name for name in _EAST_ASIAN if _in_rows(_decoded(start, name)) >= _IN_ROWS]
    told = [name for name in found if name in _OWN and _own(start, name) >= _TELLS[name]]
    if len(told) == 1 or len(found) == 1:
        return _EAST_ASIAN[(told or found)[0]]
    if found or _rows_of_bytes(start) >= _OTHER_SCRIPT:
        some = ", ".join(told or found) or "cp1251, cp1253, koi8_r, iso8859_8 or another"
        raise DataError(
            f"{path} is written neither in Unicode nor in a Western encoding, and which one it is cannot be told ({some}); "
            "give its encoding in the spec."
        )
    return western(start)


def western(start: bytes, /) -> str:
    """The Western single-byte encoding of text that is not UTF-8."""
    try:
        start.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _decoded(start: bytes, encoding: str, /) -> str:
    """The text in an encoding; empty if it cannot be."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return ""


def _in_rows(text: str, /) -> float:
    """The share of the letters that are not plain which are East Asian signs beside others."""
    odd = sum(char > "\x7f" for char in text)
    return sum(len(run) for run in _SIGNS.findall(text) if len(run) > 1) / odd if odd else 0.0


def _own(start: bytes, encoding: str, /) -> float:
    """The share of signs that belong to one language alone."""
    signs = "".join(_SIGNS.findall(_decoded(start, encoding)))
    return len(re.findall(_OWN[encoding], signs)) / len(signs) if signs else 0.0


def _rows_of_bytes(start: bytes, /) -> float:
    """The share of bytes that are not plain which stand in rows of three or more."""
    rows = [
        len(list(run)) for high, run in itertools.groupby(start[:65536], key=lambda one: one >= 0xC0) if high
    ]
    return sum(size for size in rows if size > 2) / sum(rows) if rows else 0.0
