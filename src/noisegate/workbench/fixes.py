"""From findings to a changed spec: what would answer each of them, as an edit that leaves the rest of the file as somebody wrote it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from noisegate import limits
from noisegate.api.releasing import read_spec, release
from noisegate.errors import SpecError
from noisegate.places import compose_yaml, read_octets, write_file
from noisegate.workbench.jobs import CancelledError, Say

_SHARED = 3
_WIDER = {"5min": "15min", "10min": "30min", "15min": "1h", "30min": "1h", "1h": "3h"}
_FOUND_BY_TOTALS = frozenset(
    {
        "independent-margins",
        "presence",
        "suppressed-cells",
        "suppressed-total",
        "summed-cells",
        "pinned-cells",
        "sharpest-rows",
        "tables-together",
        "noise-recovered",
    }
)

Changes = dict[tuple[str, ...], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One change of a spec: what it does, what it costs, and the kinds of findings that it answers."""

    key: str
    title: str
    costs: str
    answers: frozenset[str]


FIXES = (
    Fix(
        key="zeros",
        title="Give empty cells noise too",
        costs="Some cells that held nobody will be printed; a printed count proves nothing any more.",
        answers=frozenset({"zeros-kept", "presence", "more-weeks", "missing-taps"}),
    ),
    Fix(
        key="totals",
        title="Make totals agree with their cells",
        costs="Nothing: the same noise, put together so that differences of tables tell nothing new.",
        answers=_FOUND_BY_TOTALS,
    ),
    Fix(
        key="person",
        title="Promise to a person, not to a tap",
        costs="More noise at the same epsilon, and taps beyond the bound are left out.",
        answers=frozenset({"privacy-loss", "more-weeks"}),
    ),
    Fix(
        key="times",
        title="Publish wider spans of time",
        costs="Questions about shorter times cannot be asked any more.",
        answers=frozenset({"vehicle-unique-cells", "closed-services", "presence"}),
    ),
)
#: What a person has to say for some changes: the key, what is asked, and where the field starts.
ASKS = {
    "max_cells": ("cells that one person fills in a day at most; from a survey, not from these events", 4.0),
    "epsilon": ("epsilon for all tables together", 2.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A spec with some changes: its text before and after, and what is wrong with it, if anything."""

    name: str
    before: str
    after: str
    able: tuple[str, ...]
    problem: str | None

    @property
    def diff(self) -> list[dict[str, str]]:
        """The lines that differ, with some around them."""
        lines = difflib.unified_diff(
            self.before.splitlines(), self.after.splitlines(), lineterm="", n=_SHARED
        )
        return [
            {"sign": "…", "text": ""} if line.startswith("@@") else {"sign": line[0], "text": line[1:]}
            for line in list(lines)[2:]
        ]


def drafted(file: Path, wanted: Collection[str], values: Mapping[str, float], name: str, /) -> Draft:
    """The spec in a file with the wanted changes, under a new name."""
    octets = read_octets(file, most=limits.current().spec_bytes, what="The spec", error=SpecError)
    before = octets.decode("utf-8", "replace")
    document = _document(before, file.name)
    able = tuple(one.key for one in FIXES if changes_of(one.key, document, values))
    changes: Changes = {}
    for one in FIXES:
        if one.key in wanted and one.key in able:
            changes |= changes_of(one.key, document, values)
    after = _changed(before, {**changes, ("name",): name}, file.name) if changes else before
    problem = None
    if changes:
        after, problem = _admitted(after, file)
    return Draft(name=name, before=before, after=after, able=able, problem=problem)


def changes_of(key: str, document: Mapping[str, Any], values: Mapping[str, float], /) -> Changes:
    """What a fix changes in this spec; nothing if it is so already."""
    privacy = document.get("privacy")
    if not isinstance(privacy, dict):
        return {}
    if key == "zeros" and privacy.get("zeros", "perturb") == "keep":
        return {("privacy", "zeros"): "perturb"}
    if key == "totals" and privacy.get("margins", "reconcile") == "independent":
        return {("privacy", "margins"): "reconcile"}
    if key == "person" and privacy.get("unit") == "event":
        return _of_person(document, values)
    if key == "times":
        return {
            ("dimensions", str(name), "every"): _WIDER[one["every"]]
            for name, one in (document.get("dimensions") or {}).items()
            if isinstance(one, dict) and one.get("every") in _WIDER
        }
    return {}


def _of_person(document: Mapping[str, Any], values: Mapping[str, float], /) -> Changes:
    """A promise to a person's day where there are days, else to a person; the noise follows from epsilon."""
    dated = any(
        isinstance(one, dict) and "from" in one for one in (document.get("dimensions") or {}).values()
    )
    return {
        ("privacy", "unit"): "person-day" if dated else "person",
        ("privacy", "max_cells"): int(values.get("max_cells", ASKS["max_cells"][1])),
        ("privacy", "epsilon"): float(values.get("epsilon", ASKS["epsilon"][1])),
        ("privacy", "scale"): None,
    }


def _admitted(text: str, file: Path, /) -> tuple[str, str | None]:
    """The spec without `unsafe: true` if nothing in it needs that any more, and what is wrong with it, if anything."""
    document = _document(text, file.name)
    if (document.get("privacy") or {}).get("unsafe") is True:
        calmer = _changed(text, {("privacy", "unsafe"): False}, file.name)
        if _wrong(calmer, file) is None:
            return calmer, None
    return text, _wrong(text, file)


def _wrong(text: str, file: Path, /) -> str | None:
    try:
        read_spec(_document(text, file.name), folder=file.parent)
    except SpecError as problem:
        return str(problem)
    return None


def _document(text: str, name: str, /) -> dict[str, Any]:
    compose_yaml(text, name=name)
    document = yaml.safe_load(text)
    if not isinstance(document, dict):
        raise SpecError(f"{name}: this is no release spec.")
    return document


def _changed(text: str, changes: Changes, name: str, /) -> str:
    for path, value in changes.items():
        text = _edited(text, path, value, name)
    return text


def _edited(text: str, path: Sequence[str], value: Any, name: str, /) -> str:
    """The text with one key set, or removed if the value is None; comments and order stay."""
    node = compose_yaml(text, name=name)
    for key in path[:-1]:
        node = next((found for said, found in _entries(node) if said.value == key), None)
    if not isinstance(node, yaml.MappingNode):
        raise SpecError(f"{name}: there is no {'.'.join(path[:-1])!r} to change; write it by hand.")
    known = next(((said, found) for said, found in _entries(node) if said.value == path[-1]), None)
    if node.flow_style:
        return _in_flow(text, node, path[-1], value)
    if known is not None and value is not None:
        return _spliced(text, known[1], _scalar(value))
    lines = text.splitlines(keepends=True)
    if known is not None:
        del lines[known[0].start_mark.line : max(known[1].end_mark.line, known[0].start_mark.line + 1)]
        return "".join(lines)
    if value is None:
        return text
    first = node.value[0]
    lines.insert(
        first[1].end_mark.line + 1, f"{' ' * first[0].start_mark.column}{path[-1]}: {_scalar(value)}\n"
    )
    return "".join(lines)


def _entries(node: yaml.Node | None, /) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        yield from node.value


def _in_flow(text: str, node: yaml.MappingNode, key: str, value: Any, /) -> str:
    """A mapping in braces is written anew."""
    start, end = _place(text, node.start_mark), _place(text, node.end_mark)
    content = yaml.safe_load(text[start:end])
    content = {name: one for name, one in {**content, key: value}.items() if one is not None}
    written = yaml.safe_dump(content, default_flow_style=True, sort_keys=False, width=10**6).strip()
    return text[:start] + written + text[end:]


def _spliced(text: str, node: yaml.Node, written: str, /) -> str:
    return text[: _place(text, node.start_mark)] + written + text[_place(text, node.end_mark) :]


def _place(text: str, mark: Any, /) -> int:
    """The place of a mark: readers count characters or bytes, lines and columns they agree on."""
    return sum(len(line) for line in text.splitlines(keepends=True)[: mark.line]) + int(mark.column)


def _scalar(value: Any, /) -> str:
    return str(yaml.safe_dump(value, default_flow_style=True)).removesuffix("\n").removesuffix("\n...")


def next_name(name: str, file: Path, root: Path, /) -> str:
    """What the changed release is called: the old name with an ending that nothing here has yet."""
    stem = re.sub(r"-fixed(-\d+)?$", "", name)
    for k in range(1, 1000):
        found = f"{stem}-fixed" if k == 1 else f"{stem}-fixed-{k}"
        if not (root / found).exists() and not _spec_file(file, found).exists():
            return found
    raise SpecError("There are a thousand changed releases here already; make room, or use the command line.")


def _spec_file(file: Path, name: str, /) -> Path:
    return file.with_name(f"spec-{name}.yaml")


def publish(draft: Draft, file: Path, root: Path, ledger: str | None, say: Say, /) -> dict[str, Any]:
    """Write the changed spec beside the old one and make its release; the ledger is charged as from the command line."""
    say("writing the changed spec")
    folder = root / draft.name
    spec = _spec_file(file, draft.name)
    write_file(spec, draft.after.encode())
    folder.mkdir()

    def tell(step: str) -> None:
        # A release that has begun may have been charged: it is brought to its end, whoever left the page.
        try:
            say(step)
        except CancelledError:
            return

    try:
        release(spec, out=folder / "release", ledger=ledger, progress=tell)
    except BaseException:
        if not (folder / "release").exists():
            folder.rmdir()
            spec.unlink(missing_ok=True)
        raise
    return {"name": draft.name}
