"""Names and texts as SQL writes them."""

from __future__ import annotations


def quoted(name: str, /) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str, /) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
