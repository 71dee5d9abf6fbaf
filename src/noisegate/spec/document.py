"""A YAML file as plain data, with the line of every key; a release spec from it; one sentence for whatever is wrong.

All scalars stay the text that was written. YAML 1.1 would turn `on` and `off` into booleans, `06:00`
into 360, `2.0` into a binary float and `007` into 7; here the model says what a value is, so none of
these traps exists and quotes make no difference. Only a plain empty value, `~` or `null` means
"nothing".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from noisegate import limits
from noisegate.errors import InputError, SpecError
from noisegate.places import compose_yaml, read_octets
from noisegate.spec.kinds import KINDS
from noisegate.spec.model import ReleaseSpec

Place = tuple[str | int, ...]

_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a spec file says, and where it says it."""

    name: str
    data: Any
    lines: dict[Place, int]

    def line(self, place: Place, /) -> int | None:
        """The line of the innermost known part of `place`."""
        for end in range(len(place), 0, -1):
            if place[:end] in self.lines:
                return self.lines[place[:end]]
        return None


def read_document(path: Path, /) -> Document:
    """The contents of a YAML file, or a `SpecError` that says why there are none."""
    most, way_out = limits.current().spec_bytes, "put long lists of values into a CSV file"
    octets = read_octets(path, most=most, what="The spec", error=SpecError, way_out=way_out)
    try:
        text = octets.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpecError(f"The spec {str(path)!r} is not UTF-8 text.") from None
    return parse_document(text, name=path.name)


def parse_document(text: str, /, *, name: str) -> Document:
    """The contents of YAML text; `name` is what messages call it."""
    root = compose_yaml(text, name=name)
    if root is None:
        raise SpecError(f"{name} is empty; a release spec has name, events, dimensions, tables and privacy.")
    lines: dict[Place, int] = {}
    data = _Reader(name, lines).read(root, ())
    return Document(name=name, data=data, lines=lines)


class _Reader:
    """Turns nodes into text, lists and dictionaries, and notes their lines."""

    def __init__(self, name: str, lines: dict[Place, int], /) -> None:
        self._name = name
        self._lines = lines

    def read(self, node: yaml.Node, place: Place, /) -> Any:
        self._lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            plain = not node.style
            return None if plain and node.value in _NOTHING else node.value
        return self._list(node, place) if isinstance(node, yaml.SequenceNode) else self._dict(node, place)

    def _list(self, node: yaml.SequenceNode, place: Place, /) -> list[Any]:
        return [self.read(item, (*place, index)) for index, item in enumerate(node.value)]

    def _dict(self, node: yaml.Node, place: Place, /) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise SpecError(f"{self._at(key)}: a key must be a single word, not a list or a block.")
            here = (*place, key.value)
            if key.value in found:
                raise SpecError(f"{self._at(key)}: {dotted(here)} is given twice; keep one of them.")
            self._lines[here] = key.start_mark.line + 1
            found[key.value] = self.read(value, here)
        return found

    def _at(self, node: yaml.Node, /) -> str:
        return f"{self._name}, line {node.start_mark.line + 1}"


def dotted(place: Place, /) -> str:
    """A place as a person writes it: `privacy.epsilon`, `merge[0].where`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


#: What is wrong, for the kinds of error that do not bring a phrase of their own.
_PHRASES = {
    "missing": "is missing",
    "no_kind": "must have values (a list or a CSV file), every (a time span), from and to (dates), bands (of a number), each (weekday, week or month), join (a lookup), or of (a level)",
    "dict_type": "must be a block of keys",
    "tuple_type": "must be a list",
}


def explain(error: ValidationError, /, *, document: Document) -> SpecError:
    """The first thing that is wrong, with its place, and how many more there are."""
    found = sorted(error.errors(include_url=False), key=lambda e: document.line(_place(e)) or 0)
    first = found[0]
    more = len(found) - 1 + sum(int(e.get("ctx", {}).get("more", 0)) for e in found)
    place = _place(first)
    line = document.line(place)
    where = f"{document.name}, line {line}: " if line else f"{document.name}: "
    tail = f" ({more} more {'error' if more == 1 else 'errors'} after this one)" if more else ""
    sentence = _sentence(first, place)
    return SpecError(
        f"{where}{sentence.rstrip('.')}{tail}{'' if not tail and sentence.endswith('?') else '.'}"
    )


def _place(error: ErrorDetails, /) -> Place:
    """The place in the file: without the tags of a union, and as deep as the refusal says."""
    loc = error["loc"]
    kept = [part for n, part in enumerate(loc) if not (n == 2 and loc[0] == "dimensions" and part in KINDS)]
    return (*(part for part in kept if part != "[key]"), *error.get("ctx", {}).get("at", ()))


def _sentence(error: ErrorDetails, place: Place, /) -> str:
    subject = dotted(place) or "the spec"
    context = error.get("ctx", {})
    if error["type"] == "refused":
        return f"{subject} {context['phrase']}"
    if isinstance(context.get("error"), InputError):
        return str(context["error"])
    return f"{subject} {_PHRASES.get(error['type'], 'has a value that cannot be used here')}"


def load_spec(path: str | os.PathLike[str], /) -> ReleaseSpec:
    """The release spec in a YAML file.

    Relative paths in it start at the folder of the file. Whatever is wrong raises a `SpecError` of one
    sentence that names the file, the line and the key.
    """
    file = Path(path)
    return _checked(read_document(file), folder=file.resolve().parent)


def parse_spec(text: str | Mapping[str, Any], /, *, folder: Path, name: str = "spec") -> ReleaseSpec:
    """The release spec in YAML text or in a dictionary; relative paths start at `folder`."""
    if isinstance(text, str):
        return _checked(parse_document(text, name=name), folder=folder)
    return _checked(Document(name=name, data=dict(text), lines={}), folder=folder)


def _checked(document: Document, /, *, folder: Path) -> ReleaseSpec:
    try:
        return ReleaseSpec.model_validate(document.data, context={"folder": folder})
    except ValidationError as error:
        raise explain(error, document=document) from None
