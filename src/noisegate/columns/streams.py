"""Columns as Arrow streams and from them, by the interface that every reader of Arrow shares; and files and frames through DuckDB, which gives and takes such streams.

Nothing else in the package knows of `arro3`, which carries them. DuckDB is loaded when somebody asks it, not before: it costs as much as all that a short command does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import arro3.core as arrow
import numpy as np
from numpy.typing import NDArray

from noisegate.columns.frame import Columns, Mask, Values

if TYPE_CHECKING:
    import duckdb

_NESTED = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "VARIANT", "GEOMETRY")
_FRACTIONS = {"TIMESTAMP": ".%f", "TIMESTAMP_S": "", "TIMESTAMP_MS": ".%g", "TIMESTAMP_NS": ".%n"}
#: Floats from here on are not all told apart from their neighbours, and are written with an exponent.
_LARGE = 10**15

_TEXT = arrow.DataType.utf8()
_CODED = arrow.DataType.dictionary(arrow.DataType.int32(), _TEXT)
Codes = NDArray[np.int32]


def arrow_table(frame: Columns, /) -> Any:
    """The frame as a table of Arrow."""
    arrays = [_array(column) for column in frame.columns.values()]
    fields = [
        arrow.Field(name, array.type, nullable=True)
        for name, array in zip(frame.columns, arrays, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, schema=arrow.Schema(fields))


def _array(column: Values, /) -> Any:
    if column.labels is None:
        values = arrow.Array.from_numpy(np.ascontiguousarray(column.values))
        return values if column.missing is None else values.take(_places(column.missing))
    words = arrow.Array(list(column.labels or ("",)), _TEXT)
    codes = np.ascontiguousarray(column.values, dtype=np.int32)
    rows = arrow.Array.from_numpy(codes) if column.missing is None else _places(column.missing, codes)
    return (words if column.plain else words.cast(_CODED)).take(rows)


def _places(missing: Mask, places: Codes | None = None, /) -> Any:
    """Places to take values from, nothing where they are missing: not-a-number is the only gap that NumPy hands on."""
    own = np.arange(missing.size, dtype=np.float64) if places is None else places.astype(np.float64)
    return arrow.Array.from_numpy(np.where(missing, np.nan, own)).cast(arrow.DataType.uint32())


class StreamError(RuntimeError):
    """Whatever went wrong on the other side of a stream; its words are those of the other side."""


def batches(source: Any, /) -> Iterator[Any]:
    """What gives an Arrow stream, piece by piece: each has `num_rows`, `num_columns` and `column`.

    Raises
    ------
    StreamError
        If the other side fails.
    """
    reader = arrow.RecordBatchReader.from_stream(source)
    while True:
        try:
            batch = next(reader)
        except StopIteration:
            return
        except Exception as error:
            if type(error) is not Exception:
                raise
            raise StreamError(str(error)) from error
        yield batch


def whole(frame: Any, /) -> Any:
    """A stream of what gives one, or a single batch."""
    if hasattr(frame, "__arrow_c_stream__"):
        return arrow.RecordBatchReader.from_stream(frame)
    return arrow.Table.from_batches([arrow.RecordBatch.from_arrow(frame)])


class CodedTexts:
    """Columns of texts as they come in, piece by piece: the number of each distinct text, in the order in which they appear."""

    def __init__(self, width: int, /) -> None:
        self._places: list[dict[str, int]] = [{} for _ in range(width)]
        self._codes: list[list[Codes]] = [[] for _ in range(width)]
        self.rows = 0
        #: Octets that the columns take, their texts included.
        self.held = 0

    def add(self, batch: Any, /) -> None:
        """Take in a piece; its columns are texts without gaps."""
        self.rows += batch.num_rows
        for number, (places, codes) in enumerate(zip(self._places, self._codes, strict=True)):
            coded = batch.column(number).cast(_CODED)
            labels = arrow.dictionary_dictionary(coded).to_pylist()
            before = len(places)
            recode = [places.setdefault(label, len(places)) for label in labels]
            self.held += sum(len(label) for label, code in zip(labels, recode, strict=True) if code >= before)
            codes.append(np.array(recode or [0], np.int32)[numbers(arrow.dictionary_indices(coded))])
            self.held += codes[-1].nbytes

    def column(self, number: int, /) -> tuple[Codes, list[str]]:
        """The numbers of a column and what they stand for."""
        codes = self._codes[number]
        return np.concatenate([np.zeros(0, np.int32), *codes]), list(self._places[number])


def coded_texts(source: Any, width: int, /, *, check: Callable[[int], None] = lambda _: None) -> CodedTexts:
    """The columns of a stream of texts without gaps; `check` is told how many octets they take, as they grow."""
    found = CodedTexts(width)
    for batch in batches(source):
        found.add(batch)
        check(found.held)
    return found


def numbers(array: Any, /) -> NDArray[Any]:
    """An array of numbers without gaps on NumPy."""
    return np.asarray(array.to_numpy())


def numbers_or_gaps(array: Any, /) -> tuple[NDArray[Any], Mask | None]:
    """An array of numbers on NumPy, whatever they are where something is missing, and where that is; None if nothing is."""
    if not array.null_count:
        return numbers(array), None
    kind = numbers(array.slice(0, 0)).dtype
    _, capsule = array.__arrow_c_array__()
    held = _ArrowArray.from_address(_pointer(capsule, b"arrow_array"))
    start, stop = held.offset, held.offset + held.length
    values = np.frombuffer((ctypes.c_char * (stop * kind.itemsize)).from_address(held.buffers[1]), kind)[
        start:
    ]
    octets = np.frombuffer((ctypes.c_char * ((stop + 7) // 8)).from_address(held.buffers[0]), np.uint8)
    there = np.unpackbits(octets, count=stop, bitorder="little")[start:]
    # Copies, since the memory is only lent as long as the capsule lives.
    return values.copy(), there == 0


class _ArrowArray(ctypes.Structure):
    """The start of an array in Arrow's C interface, whose layout never changes: `arro3` does not hand out arrays with gaps."""

    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ]


def _pointer(capsule: object, name: bytes, /) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, name))


def concatenated(parts: Sequence[NDArray[Any]], kind: Any, /) -> NDArray[Any]:
    """Parts of a column as one, of this kind even if there are none."""
    return np.concatenate([np.zeros(0, kind), *parts])


@contextmanager
def own_duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection without any tables, that loads nothing from elsewhere; it closes with the context."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection


@contextmanager
def registered(connection: duckdb.DuckDBPyConnection, name: str, source: Any, /) -> Iterator[None]:
    """A frame that can be asked under a name, as long as the context."""
    connection.register(name, arrow_table(source) if isinstance(source, Columns) else source)
    try:
        yield
    finally:
        connection.unregister(name)


def store(
    connection: duckdb.DuckDBPyConnection, name: str, frame: Columns, /, *, shared: bool = False
) -> None:
    """Keep a small frame as a temporary table, so that the optimiser knows how small it is; cursors of the connection see it only if it is `shared`."""
    kind = "TABLE" if shared else "TEMP TABLE"
    with registered(connection, f"{name}_frame", frame):
        connection.execute(f"CREATE {kind} {name} AS FROM {name}_frame")


def quoted(name: str, /) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str, /) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def kinds_of(relation: duckdb.DuckDBPyRelation, /) -> dict[str, str]:
    """The columns of a relation and their types, in DuckDB's words."""
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def is_nested(kind: str, /) -> bool:
    """Whether a type of DuckDB's has parts, or is made of octets."""
    return kind.endswith("]") or kind.startswith(_NESTED)


def text_sql(name: str, kind: str, /) -> str:
    """SQL for the text of a column, blank where there is nothing: moments to the unit they are kept in, whole floats without a point."""
    column = quoted(name)
    text = f"{column}::VARCHAR"
    if kind in {"FLOAT", "DOUBLE"}:
        whole = f"{column} = trunc({column}) AND abs({column}) < {_LARGE}"
        text = f"CASE WHEN {whole} THEN {column}::BIGINT::VARCHAR ELSE {text} END"
    elif kind in _FRACTIONS:
        text = f"strftime({column}, '%Y-%m-%d %H:%M:%S{_FRACTIONS[kind]}')"
    elif kind == "TIMESTAMP WITH TIME ZONE":
        text = f"strftime({column} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S.%fZ')"
    return f"coalesce({text}, '')"


def read_texts(
    relation: duckdb.DuckDBPyRelation,
    kinds: Mapping[str, str],
    /,
    *,
    check: Callable[[int], None] = lambda _: None,
) -> CodedTexts:
    """Columns of a relation as texts; `check` is told how many octets they take, as they grow."""
    select = ", ".join(
        f"{text_sql(name, kind)} AS c{place}" for place, (name, kind) in enumerate(kinds.items())
    )
    return coded_texts(relation.project(select), len(kinds), check=check)


def read_numbers(relation: Any, names: Sequence[str], /, *, kind: Any = np.int64) -> dict[str, NDArray[Any]]:
    """Columns of numbers without gaps, each whole."""
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for batch in batches(relation):
        for name, held in parts.items():
            held.append(numbers(batch.column(name)))
    return {name: concatenated(held, kind) for name, held in parts.items()}
