"""The interview: from the columns of the events to a spec, one question for everything that only people can decide. No row is read."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import yaml

from noisegate import limits
from noisegate.api.releasing import read_spec
from noisegate.engine import draft_spec
from noisegate.errors import DataError, OutputError, SpecError
from noisegate.places import compose_yaml, write_file

_EVENTS = (".parquet", ".pq", ".csv", ".csv.gz")
_DEPTH = 3
_OPEN = "??"
_LINE = re.compile(r"^\s*(?P<key>[\w.-]+):\s*(?P<rest>.*?)\s*(?:#\s*(?P<said>.*))?$")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


def event_files(root: Path, /) -> dict[str, Path]:
    """Files below a directory that may hold events, by id: those that lie beside no card."""
    found = sorted(
        one
        for depth in range(_DEPTH)
        for one in root.glob("*/" * depth + "*")
        if one.name.lower().endswith(_EVENTS) and one.is_file() and not (one.parent / "card.json").exists()
    )
    return {
        hashlib.sha256(one.relative_to(root).as_posix().encode()).hexdigest()[:12]: one
        for one in found[: limits.current().listed_releases]
    }


def find_events(root: Path, number: str, /) -> Path:
    """The file of this id."""
    there = event_files(root)
    if number not in there:
        raise DataError("There is no such file here any more; choose another.")
    return there[number]


def questions(file: Path, /) -> dict[str, Any]:
    """The draft of a spec for a file of events, and what it leaves open, line by line."""
    text = draft_spec(file, folder=file.parent)
    asked = []
    for number, line in enumerate(text.splitlines()):
        found = _LINE.match(line)
        for k in range(line.split("#")[0].count(_OPEN) if found else 0):
            assert found is not None
            asked.append({"line": number, "nth": k, "key": found["key"], "why": found["said"] or ""})
    return {"name": file.name, "text": text, "questions": asked}


def judged(text: str, folder: Path, /) -> dict[str, Any]:
    """What is wrong with a spec, in one sentence, or what it says about itself."""
    try:
        compose_yaml(text, name="the spec")
        document = yaml.safe_load(text)
        spec = read_spec(document if isinstance(document, dict) else {}, folder=folder)
    except SpecError as problem:
        return {"problem": str(problem)}
    return {
        "problem": None,
        "name": spec.name,
        "cells": spec.domain.size,
        "tables": len(spec.tables),
        "unit": spec.privacy.unit,
    }


def keep_spec(text: str, folder: Path, /) -> dict[str, Any]:
    """Write a spec beside its events, if it is one and there is none of its name."""
    found = judged(text, folder)
    if found["problem"] is not None:
        raise SpecError(found["problem"])
    if not _NAME.fullmatch(found["name"]):
        raise SpecError.for_value("name", found=found["name"], allowed="small letters, digits and hyphens")
    place = folder / f"spec-{found['name']}.yaml"
    if place.exists():
        raise OutputError(f"There is a {place.name} already; choose another name.")
    write_file(place, text.encode())
    return {"file": place.name, "name": found["name"]}
