"""Markdown that is the same on every run."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Stands at the head of every page that is made.
MADE = "<!-- Made by docs/_make/reference.py from the code (make docs). Edit the code, not this page. -->"


def page(title: str, body: str, /) -> str:
    """A page with a title and a note on where it comes from."""
    return f"{MADE}\n\n# {title}\n\n{body.strip()}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], /) -> str:
    """A table; bars in its cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: str, /) -> str:
    """Text as code."""
    return f"`{text}`"


def plain(text: str | None, /) -> str:
    """Text on one line."""
    return " ".join((text or "").split())
