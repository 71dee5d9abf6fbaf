"""What lies on the workbench: releases and tables of a directory and files that were dropped, with what people said about each.

What people said is written at once, whole or not at all, to a directory that only they can read; a server that is killed loses nothing
that a page has been told is saved.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from noisegate import limits
from noisegate.errors import DataError, OutputError, SpecError
from noisegate.places import MARK, is_marked, read_octets, write_file

_TABLES = (".csv", ".tsv", ".txt", ".csv.gz", ".xlsx", ".xls", ".ods", ".parquet", ".pq")
_CARD = "card.json"
#: How deep releases are looked for below the directory.
_DEPTH = 3
_UNSAFE = re.compile(r"[^\w .,()+-]+")
_MOST_STATE = 64 << 20
_SKIPPED = frozenset({"assessment", "node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Tables that belong together: a release with its card, a folder of tables, or files that were dropped."""

    id: str
    name: str
    folder: Path
    sources: tuple[Path, ...]
    card: bool = False
    timetable: Path | None = None
    uploaded: bool = False

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON, without the place on disk."""
        return {
            "id": self.id,
            "name": self.name,
            "files": [one.name for one in self.sources],
            "card": self.card,
            "timetable": self.timetable is not None,
            "uploaded": self.uploaded,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a person says of one finding."""

    verdict: str = ""
    comment: str = ""
    by: str = ""
    at: str = ""

    @property
    def sentence(self) -> str:
        """All of it, for a report."""
        said = f"{self.verdict or 'remarked'}{f' by {self.by}' if self.by else ''}, {self.at}"
        return f"{said[0].upper()}{said[1:]}{f': {self.comment}' if self.comment else '.'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """What the attacker has beside the tables, on every page and for every release alike: the timetable, and so many trips of a person."""

    timetable: bool = False
    known: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What people said about a case: how to read its files, what the noise is, and what to make of the findings."""

    decisions: dict[str, Any] = field(default_factory=dict)
    noise: str = ""
    remarks: dict[str, Remark] = field(default_factory=dict)
    signed_by: str = ""
    signed_at: str = ""

    @property
    def digest(self) -> str:
        """Of all that changes the assessment."""
        said = json.dumps([self.decisions, self.noise], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @classmethod
    def of(cls, document: dict[str, Any], /) -> Notes:
        """Read back what `asdict` gave."""
        remarks = {str(key): Remark(**one) for key, one in document.get("remarks", {}).items()}
        # Earlier sessions kept the timetable here; it is on the dial now.
        said = {key: value for key, value in document.items() if key != "timetable"}
        return cls(**{**said, "remarks": remarks})


class Cases:
    """All cases of a directory, and what was said about them."""

    def __init__(self, root: Path, state: Path, /) -> None:
        self.root, self.state = root, state
        self._lock = threading.Lock()
        self._listed: dict[str, tuple[Case, int | None]] = {}
        make_private(state)
        make_private(state / "uploads")
        self._notes, self._dial = self._read()

    @property
    def dial(self) -> Dial:
        """What the attacker has."""
        return self._dial

    def turn(self, dial: Dial, /) -> None:
        """Let the attacker have something else; it is on disk when this returns."""
        with self._lock:
            self._write(self._notes, dial)

    def all(self) -> list[Case]:
        """Every case: dropped files first, then what lies in the directory."""
        found = [*self._dropped(), *self._found()][: limits.current().listed_releases]
        self._listed = {one.id: (one, _touched(one.folder)) for one in found}
        return found

    def get(self, number: str, /) -> Case:
        """The case of this id; everything is looked through again only if its folder was touched since."""
        case, touched = self._listed.get(number, (None, None))
        if case is not None and touched == _touched(case.folder):
            return case
        for one in self.all():
            if one.id == number:
                return one
        raise DataError("There is no such release here any more; go back to the start page and choose one.")

    def notes(self, case: Case, /) -> Notes:
        """What was said about a case."""
        return self._notes.get(case.id, Notes())

    def note(self, case: Case, /, **changes: Any) -> Notes:
        """Say something else about a case; it is on disk when this returns."""
        with self._lock:
            notes = replace(self.notes(case), **changes)
            self._write({**self._notes, case.id: notes}, self._dial)
        return notes

    def _write(self, every: dict[str, Notes], dial: Dial, /) -> None:
        notes = {key: asdict(one) for key, one in every.items()}
        octets = json.dumps({"version": 1, "dial": asdict(dial), "notes": notes}, indent=1).encode()
        if len(octets) > _MOST_STATE:
            raise SpecError("So much was said here that no more can be kept; write shorter comments.")
        write_file(self._file, octets)
        self._notes, self._dial = every, dial

    @property
    def _file(self) -> Path:
        return self.state / "notes.json"

    def _read(self) -> tuple[dict[str, Notes], Dial]:
        if not self._file.exists():
            return {}, Dial()
        octets = read_octets(self._file, most=_MOST_STATE, what="The saved session")
        try:
            document = json.loads(octets)
            notes = {str(key): Notes.of(one) for key, one in document["notes"].items()}
            return notes, Dial(**document.get("dial", {}))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise DataError(
                f"The saved session {str(self._file)!r} cannot be read; move it away to start anew."
            ) from None

    def take(self, files: list[tuple[str, Path]], /) -> Case:
        """A new case of files that were dropped: names as they were called, and where they are now."""
        for called, place in files:
            if is_marked(place):
                raise DataError(
                    f"{safe_name(called)} is marked '{MARK}': it was made with raw data, and no page shows it."
                )
        most = limits.current().kept_uploads
        if sum(1 for _ in (self.state / "uploads").iterdir()) >= most:
            raise SpecError(
                f"{most} sets of dropped files are kept already; discard one on the start page first."
            )
        folder = self.state / "uploads" / secrets.token_hex(8)
        make_private(folder)
        used: set[str] = set()
        for called, place in files:
            name = _distinct(safe_name(called), used)
            shutil.move(place, folder / name)
            (folder / name).chmod(0o600)
        found = next(self._dropped(folder), None)
        if found is None:
            shutil.rmtree(folder, ignore_errors=True)
            raise DataError("None of these files is a table; drop CSV, Excel or Parquet files.")
        return found

    def discard(self, case: Case, /) -> None:
        """Delete files that were dropped, and what was said about them."""
        if not case.uploaded:
            raise SpecError("Only files that were dropped here can be discarded; others are not ours.")
        with self._lock:
            self._write({key: one for key, one in self._notes.items() if key != case.id}, self._dial)
        shutil.rmtree(case.folder, ignore_errors=True)

    def _dropped(self, only: Path | None = None, /) -> Iterator[Case]:
        base = self.state / "uploads"
        folders = (
            [only] if only is not None else sorted(base.iterdir(), key=lambda one: -(_touched(one) or 0))
        )
        for folder in folders:
            tables = _tables(folder)
            if tables:
                yield Case(
                    id=folder.name,
                    name=", ".join(one.name for one in tables[:3]) + (" …" if len(tables) > 3 else ""),
                    folder=folder,
                    sources=tables,
                    card=(folder / _CARD).is_file(),
                    timetable=_timetable(folder, folder),
                    uploaded=True,
                )

    def _found(self) -> Iterator[Case]:
        for folder in _folders(self.root, _DEPTH):
            tables, card = _tables(folder), (folder / _CARD).is_file()
            # Where a spec lies, raw events lie too: those are the custodian's, and no page looks at them.
            if not tables or any(folder.glob("spec*.y*ml")):
                continue
            where = folder.relative_to(self.root).as_posix()
            if card:
                # A release has every table twice; one of the two is enough.
                tables = tuple(one for one in tables if one.suffix == ".csv") or tables
            yield Case(
                id=hashlib.sha256(where.encode()).hexdigest()[:12],
                name=self.root.name if where == "." else where.removesuffix("/release"),
                folder=folder,
                sources=tables,
                card=card,
                timetable=_timetable(folder, self.root),
            )


def _touched(folder: Path, /) -> int | None:
    """When something was last put into a folder or taken from it; None if it is gone."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return None


def make_private(folder: Path, /) -> None:
    """Make a directory that only this user can read, or refuse one that others can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.lstat()
        if not folder.is_dir() or folder.is_symlink() or about.st_uid != os.getuid():
            raise OutputError(f"{str(folder)!r} is not a directory of yours; move it away.")
        if about.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as problem:
        reason = problem.strerror or "unknown reason"
        raise OutputError(
            f"The directory {str(folder)!r} cannot be made: {reason}; set XDG_STATE_HOME."
        ) from None


def state_folder(root: Path, /) -> Path:
    """Where what is said about a directory is kept: one place for each directory, outside of it."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:12]
    return home / "noisegate" / "workbench" / digest


def safe_name(called: str, /) -> str:
    """A file's name without folders and without what has no place in one."""
    plain = _UNSAFE.sub("_", called.replace("\\", "/").rsplit("/", 1)[-1]).strip(" ._")
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:80]}{dot}{ending[:10]}" if dot else plain[:80] or "file"


def _distinct(name: str, used: set[str], /) -> str:
    found, k = name, 2
    while found.casefold() in used:
        found, k = f"{k}-{name}", k + 1
    used.add(found.casefold())
    return found


def _folders(folder: Path, depth: int, /) -> Iterator[Path]:
    yield folder
    if depth == 0 or (folder / _CARD).is_file():
        return
    try:
        inside = sorted(one for one in folder.iterdir() if one.is_dir() and not one.is_symlink())
    except OSError:
        return
    for one in inside:
        if not one.name.startswith(".") and one.name not in _SKIPPED:
            yield from _folders(one, depth - 1)


def _tables(folder: Path, /) -> tuple[Path, ...]:
    """The tables in a folder, without those that are for the custodian only."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return ()
    tables = (one for one in inside if one.name.lower().endswith(_TABLES) and one.is_file())
    return tuple(one for one in tables if not is_marked(one))


def _timetable(folder: Path, top: Path, /) -> Path | None:
    """A feed beside the tables, or in the city that a simulation made for them."""
    for place in (folder, *folder.parents):
        for candidate in (
            place / "gtfs.zip",
            place / "city" / "gtfs.zip",
            place / "gtfs",
            place / "city" / "gtfs",
        ):
            if candidate.exists():
                return candidate
        if place == top:
            return None
    return None
