"""Kinds of service: from GTFS route types, and from the words that tables use, to one list of modes."""

from __future__ import annotations

import re

MODES = ("train", "bus", "ferry", "lightrail", "other")
TRAIN, BUS, FERRY, LIGHTRAIL, OTHER = range(len(MODES))

_MODE_OF_TYPE = {
    0: LIGHTRAIL,
    1: TRAIN,
    2: TRAIN,
    3: BUS,
    4: FERRY,
    5: LIGHTRAIL,
    7: LIGHTRAIL,
    11: BUS,
    12: TRAIN,
}
#: Extended route types come in hundreds.
_MODE_OF_HUNDRED = {
    1: TRAIN,
    2: BUS,
    4: TRAIN,
    7: BUS,
    8: BUS,
    9: LIGHTRAIL,
    10: FERRY,
    12: FERRY,
    14: LIGHTRAIL,
}
_WORDS = {
    TRAIN: "train trains rail railway heavyrail metro subway underground commuterrail intercity",
    BUS: "bus buses coach trolleybus brt nightbus",
    FERRY: "ferry ferries boat water waterbus",
    LIGHTRAIL: "lightrail tram trams tramway streetcar lrt monorail funicular cablecar",
}
_MODE_OF_WORD = {word: mode for mode, words in _WORDS.items() for word in words.split()}


def mode_of_type(route_type: int, /) -> int:
    """The mode of a GTFS route type, plain or extended."""
    return _MODE_OF_TYPE.get(route_type, _MODE_OF_HUNDRED.get(route_type // 100, OTHER))


def mode_of_word(word: str, /) -> int | None:
    """The mode that a table means by a word such as "Light Rail"; None for a word we do not know."""
    return _MODE_OF_WORD.get(re.sub(r"[^a-z]", "", word.casefold()))
