"""A draft of a release spec from the names and types of the columns of a file; no row is read."""

from __future__ import annotations

import os
import re
from pathlib import Path

from noisegate.engine.session import own_connection
from noisegate.engine.source import open_source

_PERSON = re.compile(
    r"card|person|user|customer|patient|member|client|subscriber|passenger|household", re.IGNORECASE
)
_TIME = re.compile(r"time|date|_at$|^at$|day|when", re.IGNORECASE)
_NUMBERS = ("DOUBLE", "FLOAT", "DECIMAL", "HUGEINT")

_HEAD = """\
# A draft from the names and types of columns. Answer every ?? before anything is released; see the how-to "Write a spec".
name: {name}
population: ??            # who these people are, such as opal-cards: the same name in every release about them
events:
  source: {source}
  person: {person}
dimensions:
"""
_TAIL = """\
tables:
  base: [{names}]
privacy:
  unit: ??                # event | person-day | person: whom the promise is about
  max_cells: ??           # most cells of the base that one unit adds to: from a survey or last year, not from these events
  epsilon: ??             # for all tables together; it is spent for good
  suppress: {{spurious: 0.001}}
"""


def draft_spec(events: Path, /, *, folder: Path) -> str:
    """The text of a draft for the events in a file, to be kept in `folder`."""
    with own_connection() as connection:
        source = open_source(str(events.resolve()), connection, folder=Path(), own=True)
    kinds = source.columns
    person = next((name for name in kinds if _PERSON.search(name)), None)
    lines, names = [], []
    for column, kind in kinds.items():
        if column == person:
            continue
        for name, block in _dimension(column, kind):
            lines.append(f"  {name}: {block}")
            names.append(name)
    where = os.path.relpath(events.resolve(), folder.resolve())
    head = _HEAD.format(
        name=_word(events.name.split(".")[0]), source=_text(where), person=_text(person) if person else "??"
    )
    return head + "\n".join(lines) + "\n" + _TAIL.format(names=", ".join(names))


def _dimension(column: str, kind: str, /) -> list[tuple[str, str]]:
    """The dimensions that a column may stand for: a time is a date and a time of day; a measurement is none."""
    text, word = _text(column), _word(column)
    date = f"{{column: {text}, from: ??, to: ??}}              # first and last day that are published"
    time = f"{{column: {text}, every: 1h}}"
    if kind.startswith("TIMESTAMP") or (kind == "VARCHAR" and _TIME.search(column)):
        return [(f"{word}-date", date), (f"{word}-time", time)]
    if kind == "DATE":
        return [(word, date)]
    if kind == "TIME":
        return [(word, time)]
    if kind.startswith(_NUMBERS):
        return []
    return [
        (
            word,
            f"{{column: {text}, values: ??}}           # a public list: [a, b, c], or a CSV file; not what the events happen to hold",
        )
    ]


def _word(text: str, /) -> str:
    """A name that a spec takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._") or "column"


def _text(value: str, /) -> str:
    """A text as YAML takes it."""
    return value if re.fullmatch(r"[A-Za-z0-9_./-]+", value) else "'" + value.replace("'", "''") + "'"
