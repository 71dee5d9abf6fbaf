"""Where an assessment comes from: when it was made, by which command, from which files, and what it is called."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that was read: its name, its size and the SHA-256 digest of its content."""

    name: str
    octets: int
    sha256: str

    @classmethod
    def of(cls, path: Path, /) -> Self:
        """The file as it is now."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(name=path.name, octets=path.stat().st_size, sha256=digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where an assessment comes from.

    Attributes
    ----------
    made
        When, in universal time; what the environment variable `SOURCE_DATE_EPOCH` says, if it is set.
    title
        What somebody calls it; empty if nobody does.
    command
        The command line; empty if it was made from Python.
    files
        The files that were read.
    """

    made: str
    title: str = ""
    command: str = ""
    files: tuple[SourceFile, ...] = ()

    @classmethod
    def of(cls, files: Iterable[Path], /, *, title: str = "", command: str = "") -> Self:
        """Now, of these files."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        at = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() else datetime.now(UTC)
        distinct = dict.fromkeys(files)
        return cls(
            made=at.isoformat(timespec="seconds"),
            title=title.strip(),
            command=command,
            files=tuple(map(SourceFile.of, distinct)),
        )

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {
            "made": self.made,
            "title": self.title or None,
            "command": self.command or None,
            "files": [{"name": one.name, "bytes": one.octets, "sha256": one.sha256} for one in self.files],
        }

    def lines(self) -> tuple[str, ...]:
        """In words, for a report."""
        said = [f"Made {self.made}" + (f" by: {self.command}" if self.command else "")]
        said += [f"{one.name}: {one.octets:,} bytes, SHA-256 {one.sha256}" for one in self.files]
        return tuple(said)
