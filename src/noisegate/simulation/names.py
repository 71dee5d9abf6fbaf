"""Invented place names, each used once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np


def _words(line: str, /) -> tuple[str, ...]:
    return tuple(line.split())


_HEADS = _words(
    "Alder Amber Ash Bram Briar Cinder Clover Copper Coral Cran Dapple Drift Dun Elder Ember Fallow Fern Flint "
    "Gorse Gull Harrow Hazel Heron Holm Iron Ivy Juniper Kestrel Lark Linden Loam Marl Mallow Nettle Osier Otter "
    "Pebble Pine Quill Reed Rowan Rush Sable Sedge Sorrel Tansy Thistle Wren"
)
_TAILS = _words(
    "bank beck brook burn by combe cote croft dale dean fell field ford garth gate hay hollow holt hurst ing lea "
    "leigh march mead mere mill moor ness ridge rise scar stead stow thorpe toft vale well wick wold worth"
)
_PARTS = ("", " North", " South", " East", " West", " Heights", " Junction", " Park")
_STREETS = _words(
    "Anvil Barrel Beacon Bellows Bobbin Candle Cartwright Chandler Cooper Crane Dyer Fuller Furnace Glazier Granary "
    "Hammer Kiln Lamplighter Loom Mariner Mason Millrace Orchard Oven Potter Quarry Ropewalk Saddler Sawyer Sexton "
    "Smithy Spindle Tanner Thatcher Tiller Turner Wagon Weaver Wharfinger Wheelwright"
)
_ROADS = ("Rd", "St", "Ave", "Lane")

CAPACITY = len(_HEADS) * len(_TAILS) * len(_PARTS)
"""How many suburbs can be named."""


def suburbs(*, rng: np.random.Generator) -> Iterator[str]:
    """Suburb names in random order, plain ones first; none comes twice."""
    plain = [head + tail for head, tail in product(_HEADS, _TAILS)]
    order = rng.permutation(len(plain))
    for part in _PARTS:
        for index in order:
            yield plain[index] + part


def corners(suburb: str, /, *, rng: np.random.Generator) -> Iterator[str]:
    """Names of bus stops in a suburb, in random order; none comes twice."""
    streets = [f"{street} {road}" for street, road in product(_STREETS, _ROADS)]
    for index in rng.permutation(len(streets)):
        yield f"{streets[index]} at {suburb}"
