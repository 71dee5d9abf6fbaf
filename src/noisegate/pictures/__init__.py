"""Pictures: drawn with Altair from plain data, and written offline as SVG, PNG or HTML.

What draws takes half a second to load, so nothing is loaded before somebody asks for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisegate.pictures.canvas import save
    from noisegate.pictures.cells import posterior_picture
    from noisegate.pictures.draw import draw
    from noisegate.pictures.mechanism import groups_of, groups_picture, mechanism_picture, response_picture
    from noisegate.pictures.noise import differences_of, differences_picture
    from noisegate.pictures.queries import outlook_picture

__all__ = [
    "differences_of",
    "differences_picture",
    "draw",
    "groups_of",
    "groups_picture",
    "mechanism_picture",
    "outlook_picture",
    "posterior_picture",
    "response_picture",
    "save",
]

_HOMES = {
    "differences_of": "noise",
    "differences_picture": "noise",
    "draw": "draw",
    "groups_of": "mechanism",
    "groups_picture": "mechanism",
    "mechanism_picture": "mechanism",
    "outlook_picture": "queries",
    "posterior_picture": "cells",
    "response_picture": "mechanism",
    "save": "canvas",
}


def __getattr__(name: str, /) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
