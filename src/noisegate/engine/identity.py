"""What events were counted from, so that the same events are known again under another name.

A file is known by its resolved path and the SHA-256 of its content, a table by the address of its engine without a password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from noisegate.engine.source import database_parts, event_files, is_remote
from noisegate.errors import DataError
from noisegate.places import file_digest
from noisegate.spec import ReleaseSpec

_SCHEME = re.compile(r"[a-z0-9+]+://", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsIdentity:
    """One file or table that events come from; `digest` is None where the content cannot be told apart."""

    name: str
    digest: str | None = None


def identify_events(spec: ReleaseSpec, /, *, engine: Any = None) -> tuple[EventsIdentity, ...]:
    """The files or the table that a spec's events come from.

    `engine` is the name or URL of one, or an open connection; None where the spec names files. Nothing is known of a frame.
    """
    source = spec.events.source
    if engine is not None and engine != "duckdb":
        where = _address(engine)
        return (EventsIdentity(name=f"{where} {source}"),) if where else ()
    if is_remote(source):
        return (EventsIdentity(name=source.partition("?")[0]),)
    database = database_parts(source, spec.folder)
    if database is not None:
        path, table = database
        return (EventsIdentity(name=f"{path.resolve()}::{table}", digest=_digest(path)),)
    return tuple(
        EventsIdentity(name=str(file.resolve()), digest=_digest(file))
        for file in event_files(source, spec.folder)
    )


def _address(engine: Any, /) -> str:
    """Where an engine is, without a password; empty for a connection that does not say."""
    if not isinstance(engine, str):
        return ""
    if not _SCHEME.match(engine):
        return engine
    try:
        parts = urlsplit(engine)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return engine.partition("://")[0]
    return f"{parts.scheme}://{host}{parts.path}"


def _digest(file: Path, /) -> str:
    """The SHA-256 of a file's content."""
    try:
        return file_digest(file)
    except OSError as problem:
        raise DataError(f"{file.name} cannot be read: {problem.strerror or 'unknown reason'}.") from None
