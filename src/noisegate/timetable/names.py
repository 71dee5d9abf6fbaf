"""Names of places in one spelling, so that "Circular Quay No. 3 Wharf" and "Circular Quay, Wharf 3" are the same."""

from __future__ import annotations

import re
import unicodedata

#: Words that say what kind of place it is, or nothing.
_IDLE = frozenset(
    {
        *("station", "stations", "stn", "railway", "train", "trains", "bus", "ferry"),
        *("wharf", "pier", "jetty", "terminal", "no", "number", "the", "at", "stop"),
    }
)
#: A part of a place at the end of its name: "platform 14", "stand D".
_PART = re.compile(r" (platforms?|stand|track|berth) (\d+[a-z]?|[a-z]\d*)$")
_SHORT = {
    "st": "street",
    "rd": "road",
    "av": "avenue",
    "ave": "avenue",
    "pde": "parade",
    "hwy": "highway",
    "tce": "terrace",
    "pl": "place",
    "dr": "drive",
    "sq": "square",
    "mt": "mount",
    "jn": "junction",
    "jct": "junction",
    "int": "interchange",
    "intg": "interchange",
    "nth": "north",
    "sth": "south",
    "opp": "opposite",
    "nr": "near",
}
_MARKS = re.compile(r"[^\w]+")

UNKNOWN = frozenset({"", "-", "-1", "?", "unknown", "n/a", "na", "null", "none", "missing", "not known"})


def folded(name: str, /) -> str:
    """The name without case, accents, punctuation, platforms, and words that only say what kind of place it is.

    Examples
    --------
    >>> folded("Circular Quay No. 3 Wharf") == folded("Circular Quay, Wharf 3")
    True
    >>> folded("Central Station, Platform 14")
    'central'
    """
    plain = unicodedata.normalize("NFKD", name).casefold().replace("&", " and ").replace("'", "")
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = _PART.sub("", " ".join(_MARKS.sub(" ", plain.replace("_", " ")).split())).split()
    kept = [_SHORT.get(word, word) for word in words if word not in _IDLE]
    return " ".join(kept or words)


def is_unknown(label: str, /) -> bool:
    """Whether a published location means that the place is not known."""
    return label.strip().casefold() in UNKNOWN
