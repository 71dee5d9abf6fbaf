"""Files from outside, and files for others: what is read, where is written, and what must not be handed on.

Read: regular files only, up to a length that is said beforehand; a pipe or a device would never end. YAML only as far as it
stays small once its aliases are written out.
Written: aside, flushed, and renamed into place, so that a reader sees the whole or what was there before. Only what this
program writes itself is ever replaced: never an input, a ledger, a release or a directory.
Marked: what was measured against raw data carries `MARK` in the file itself, where `is_marked` finds it again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisegate import limits
from noisegate.errors import DataError, InputError, OutputError, SpecError

if TYPE_CHECKING:
    import yaml

#: What a file says that must not be published, near its start or its end.
MARK = "for the custodian only"
#: The key of the mark in the metadata of a Parquet file, and in JSON.
MARK_KEY = "custodian_only"
#: Standard output, as commands name it in place of a file.
STANDARD_OUTPUT = Path("-")
#: The files by which the directory of a release is known.
_CARDS = ("card.json", "CARD.md")
_LOOKED_AT = 1 << 16
_DEEPEST = 50
#: How files start that this program writes, by the ending of their names; others are never replaced.
_OURS = {
    ".json": (b"{", b"["),
    ".svg": (b"<svg", b"<?xml", b"<!--"),
    ".png": (b"\x89PNG",),
    ".html": (b"<!doctype html", b"<html", b"<!--"),
}


def read_octets(
    path: Path, /, *, most: int, what: str, error: type[InputError] = DataError, way_out: str = ""
) -> bytes:
    """All bytes of a regular file, if there are at most so many; `what` is what messages call it.

    Raises
    ------
    InputError
        Of the kind `error`: if it is missing, no regular file, too long, or cannot be read.
    """
    octets, reason = try_reading(path, most=most)
    if reason:
        tail = f"; {way_out}" if way_out and reason.startswith("is longer") else ""
        raise error(f"{what} {str(path)!r} {reason}{tail}.")
    return octets


def begin_digest(path: Path, /) -> None:
    """Start to work out the digest of a file, in a thread that nobody waits for unless `file_digest` is asked for it."""
    state = _state(path)
    found: list[str] = []

    def work() -> None:
        with suppress(OSError):
            found.append(_digest(path))

    thread = threading.Thread(target=work, daemon=True)
    _BEGUN[path.resolve()] = (state, thread, found)
    thread.start()


def file_digest(path: Path, /) -> str:
    """The SHA-256 of a file's content; one that was begun is used if the file has not changed since.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    state, thread, found = _BEGUN.get(path.resolve(), (None, None, []))
    if thread is not None:
        thread.join()
    return found[0] if found and state is not None and state == _state(path) else _digest(path)


#: Digests that are being worked out: what the file was like before, the thread, and what it has found.
_BEGUN: dict[Path, tuple[tuple[int, ...] | None, threading.Thread, list[str]]] = {}
_BLOCK = 1 << 22


def _state(path: Path, /) -> tuple[int, ...] | None:
    """What changes with a file's content; None if there is no such file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _digest(path: Path, /) -> str:
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def read_json(path: Path, /, *, most: int, what: str, lists: str = "") -> dict[str, Any]:
    """The object in a JSON file; `lists` names a list that it must have.

    Raises
    ------
    DataError
        If it cannot be read, or is no such document.
    """
    octets = read_octets(path, most=most, what=what)
    try:
        found = json.loads(octets)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or (lists and not isinstance(found.get(lists), list)):
        raise DataError(f"{what} {path.name!r} is not JSON{f' with a list {lists!r}' if lists else ''}.")
    return found


def try_reading(path: Path, /, *, most: int) -> tuple[bytes, str]:
    """All bytes of a regular file, and why there are none; the reason is empty if all is well."""
    try:
        # Not to wait for a writer, should it be a pipe.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:  # noqa: PTH123 - of a handle
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return b"", "is not a regular file"
            octets = file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b"", "does not exist"
    except ValueError:
        return b"", "cannot be the name of a file"
    except OSError as problem:
        return b"", f"cannot be read: {problem.strerror or 'unknown reason'}"
    return (octets, "") if len(octets) <= most else (b"", f"is longer than {_bytes_text(most)}")


def compose_yaml(text: str, /, *, name: str) -> yaml.Node | None:
    """The nodes of YAML text, once it is known how many values it holds with its aliases written out; None if it is empty.

    Raises
    ------
    SpecError
        If it is no YAML, or holds too many values, or nests them too deep, or an alias contains itself.
    """
    import yaml

    try:
        _refuse_depth(text, name)  # the quick reader would exhaust the stack
        root: yaml.Node | None = yaml.compose(text, Loader=_loader())
        if root is not None:
            _Written(name).values(root, 1)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{name}, line {mark.line + 1}" if mark else name
        raise SpecError(f"{where}: this is not YAML ({error.problem}).") from None
    except (yaml.YAMLError, UnicodeError, RecursionError):
        raise SpecError(f"{name}: this is not YAML text.") from None
    return root


def _loader() -> type:
    """The quick reader of YAML where it is installed; both give the same nodes."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _refuse_depth(text: str, name: str, /) -> None:
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _too_deep(f"{name}, line {event.start_mark.line + 1}")


def _too_deep(at: str, /) -> SpecError:
    return SpecError(f"{at}: lists and blocks nest deeper than {_DEEPEST} levels; no spec needs that.")


class _Written:
    """Counts the values of YAML nodes as if every alias were written out, without doing so."""

    def __init__(self, name: str, /) -> None:
        self._name, self._most = name, limits.current().yaml_values
        self._known: dict[int, tuple[int, int]] = {}
        self._open: set[int] = set()

    def values(self, node: yaml.Node, depth: int, /) -> tuple[int, int]:
        """How many values a node stands for, and how deep they nest."""
        import yaml

        at = f"{self._name}, line {node.start_mark.line + 1}"
        if id(node) in self._open:
            raise SpecError(f"{at}: an alias contains itself; write the value out.")
        if isinstance(node, yaml.ScalarNode):
            _refuse_surrogates(node.value, at)
            return 1, 1
        if id(node) not in self._known:
            if depth > _DEEPEST:
                raise SpecError(
                    f"{at}: lists and blocks nest deeper than {_DEEPEST} levels; no spec needs that."
                )
            self._open.add(id(node))
            pairs = isinstance(node, yaml.MappingNode)
            inner = [one for pair in node.value for one in (pair if pairs else (pair,))]
            found = [self.values(one, depth + 1) for one in inner]
            self._open.remove(id(node))
            self._known[id(node)] = (1 + sum(n for n, _ in found), 1 + max((d for _, d in found), default=0))
        many, deep = self._known[id(node)]
        if many > self._most or depth + deep > _DEEPEST + 2:
            raise SpecError(
                f"{at}: with its aliases written out it holds too much; write down what is meant."
            )
        return many, deep


def _refuse_surrogates(text: str, at: str, /) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise SpecError(
            f"{at}: a text holds half of a character (a lone surrogate); write the character out."
        )


def _bytes_text(number: int, /) -> str:
    if number % (1 << 20) == 0:
        return f"{number >> 20} MiB"
    return f"{number / 1e6:g} MB" if number >= 10**6 else f"{number:,} bytes"


def check_file(path: Path | None, /, *, option: str, inputs: Iterable[Path | None] = ()) -> None:
    """Refuse a place that a file must not be written to, before any work is done.

    Parameters
    ----------
    path
        Where `option` wants to write; None and standard output are fine.
    inputs
        What the command reads: files, and directories whose files it reads.

    Raises
    ------
    OutputError
        If it is a directory, in none that exists, an input, part of a release, or a file that this program did not write.
    """
    if path is None or path == STANDARD_OUTPUT:
        return
    try:
        _check_file(path, option, [one for one in inputs if one is not None])
    except (OSError, ValueError) as problem:
        if isinstance(problem, OutputError):
            raise
        reason = getattr(problem, "strerror", None) or "no such name can be"
        raise OutputError(
            f"The file {path} for {option} cannot be written: {reason}. Name another one."
        ) from None


def _check_file(path: Path, option: str, inputs: list[Path], /) -> None:
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise OutputError(
            f"The file {path} for {option} is a directory or in none that exists. Name another one."
        )
    real = path.resolve()
    if any(_same(real, one) for one in inputs):
        raise OutputError(f"The file {path} for {option} is an input of this command. Name another one.")
    if _is_stream(real):
        return
    folder = real.parent
    if is_in_release(real):
        raise OutputError(
            f"The file {path} for {option} would lie in a release, which is never changed. Name another one."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"The directory {folder} for {option} cannot be written. Name another one.")
    if real.exists() and not _is_ours(real):
        raise OutputError(
            f"The file {path} for {option} exists and was not written by noisegate. Remove it, or name another one."
        )


def is_in_release(path: Path, /) -> bool:
    """Whether a place lies in the directory of a release, however deep."""
    return any(all((folder / name).is_file() for name in _CARDS) for folder in path.resolve().parents)


def _same(path: Path, given: Path, /) -> bool:
    """Whether a path is an input, or lies in a directory that is one."""
    there = given.resolve()
    return path == there or (there.is_dir() and path.is_relative_to(there))


def _is_stream(path: Path, /) -> bool:
    """Whether it is a terminal, a pipe or nothing at all, which are written to and not replaced."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _is_ours(path: Path, /) -> bool:
    """Whether an existing file may be replaced: it is empty, or of the kind that is about to be written."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    kinds = _OURS.get(path.suffix.lower(), _OURS[".json"])
    return not start or start.lower().startswith(tuple(one.lower() for one in kinds))


def write_file(path: Path, content: bytes, /) -> None:
    """Write a file whole or not at all: aside, flushed, and renamed into place.

    Raises
    ------
    OutputError
        If it cannot be written; what was there before stays.
    """
    try:
        real = path.resolve()
        if _is_stream(real):
            with real.open("wb") as stream:
                stream.write(content)
            return
        aside = real.with_name(f".{real.name[:100]}.{secrets.token_hex(4)}.partial")
        try:
            _write_through(aside, content)
            if real.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            aside.replace(real)
        finally:
            with suppress(FileNotFoundError):
                aside.unlink()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "no such name can be"
        raise OutputError(
            f"cannot write {path}: {reason}. Choose a folder that exists and can be written."
        ) from None


def _write_through(path: Path, content: bytes, /) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def check_directory(folder: Path, /) -> None:
    """Refuse a place for a new directory that exists or cannot be written, before any work is done."""
    if folder.exists() or folder.is_symlink():
        raise OutputError(f"The output directory {folder} exists already; remove it, or choose another name.")
    parent = folder.resolve().parent
    if is_in_release(folder):
        raise OutputError(
            f"The output directory {folder} would lie in a release, which is never changed. Name another one."
        )
    if not parent.is_dir():
        raise OutputError(f"There is no directory {parent} to put {folder.name} in; make it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"The directory {parent} cannot be written; choose another place.")


@contextmanager
def new_directory(folder: Path, /, *, parents: bool = False) -> Iterator[Path]:
    """A directory to write into that becomes `folder` when all is well and disappears otherwise; `parents` makes those it lies in.

    Raises
    ------
    OutputError
        If the folder exists, or cannot be written.
    """
    if parents:
        _make_parents(folder)
    check_directory(folder)
    staging = folder.parent / f".{folder.name[:100]}.{secrets.token_hex(4)}.partial"
    try:
        staging.mkdir()
        yield staging
        staging.rename(folder)
    except OSError as problem:
        reason = problem.strerror or "unknown reason"
        raise OutputError(f"The output directory {folder} cannot be written: {reason}.") from problem
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _make_parents(folder: Path, /) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        reason = problem.strerror or "unknown reason"
        raise OutputError(f"The output directory {folder} cannot be made: {reason}.") from problem


def is_marked(path: Path, /) -> bool:
    """Whether a file carries the mark that it is for the custodian only; False for what cannot be read."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            start = file.read(_LOOKED_AT)
            file.seek(-min(_LOOKED_AT, file.seek(0, os.SEEK_END)), os.SEEK_END)
            end = file.read()
    except (OSError, ValueError):
        return False
    mark = MARK.encode()
    return mark in start.lower() or mark in end.lower()


def refuse_marked(path: Path, /) -> None:
    """Refuse to publish anything of a file that is for the custodian only."""
    if is_marked(path):
        raise DataError(
            f"{path.name} is marked '{MARK}': it was made with raw data, and nothing of it may be published."
        )
