"""Counting and noise on Spark: events, persons and raw counts stay with the workers; only tallies and noisy rows come here.

1. Events are coded by broadcast lookups and shuffled once: by cell where every event counts, else by person.
2. Workers hold each unit to its bound, with the operating system's randomness, and write partial counts. That is durable
   before anything is reserved, and whatever follows reads what was committed.
3. For each table workers add up its cells, one slice a task, draw noise and write; margins that are derived are summed from what
   was committed. The driver reads committed slices only.
"""

from __future__ import annotations

import math
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from noisegate import limits
from noisegate.engine.counts import Counts, Tally
from noisegate.engine.duck import refuse_unreadable
from noisegate.engine.plan import CellPlan, CountPlan, plan_cells
from noisegate.engine.remote import asking
from noisegate.engine.session import private_folder
from noisegate.engine.sliced import NoiseWork, PublishedSlices
from noisegate.engine.spark_cells import EventCode
from noisegate.engine.spark_session import settings, shared_staging
from noisegate.engine.spark_work import (
    BEYOND,
    REPEATED,
    BoundWork,
    MarginWork,
    SliceNoise,
    SliceSum,
    WorkerEntropy,
    added_up,
)
from noisegate.errors import DataError, InternalError
from noisegate.laws import Entropy
from noisegate.mechanisms import PublishedCells
from noisegate.tables import Ints, Margin

_COUNTED, _NOISY = "cell BIGINT, count BIGINT", "cell BIGINT, value BIGINT"
#: Events of persons that one worker bounds at once, and pairs of cell and count that it adds noise to.
_EVENTS_A_TASK, _PAIRS_A_TASK = 1 << 21, 1 << 21
#: A task's files are moved into place when the whole job is done; nobody sees half of one.
_COMMIT = {"mapreduce.fileoutputcommitter.algorithm.version": "1", "compression": "zstd"}


@contextmanager
def count_with_spark(
    wanted: CountPlan, session: Any, /, *, entropy: Entropy, progress: Callable[[int], None] | None
) -> Iterator[SparkCounts]:
    """The counts of a plan, with the workers of a session for as long as the context."""
    if wanted.weight is not None:
        raise InternalError("rows that stand for several events are counted by DuckDB only")
    with settings(session, timezone=wanted.timezone), _staging(session) as place:
        with asking(wanted.source_name):
            plan = plan_cells(wanted)
            raw = f"{place}/bounded"
            _write(_bounded(wanted, plan, session, entropy), raw)
            counts = SparkCounts.committed(session, raw, wanted=wanted, plan=plan)
        if progress is not None:
            progress(counts.tally.events)
        yield counts


def _bounded(wanted: CountPlan, plan: CellPlan, session: Any, entropy: Entropy, /) -> Any:
    """Partial counts of cells, and tallies below 0, as they are written."""
    code = EventCode(wanted, plan, session)
    if wanted.bound is None:
        return code.coded().groupBy("key").count().selectExpr("key AS cell", "count")
    work = BoundWork(
        bound=wanted.bound,
        cells=wanted.domain.size,
        cell_bits=code.cell_bits,
        days=code.days,
        reasons=len(plan.reasons),
        entropy=WorkerEntropy.of(entropy),
    )
    tasks = max(_parallelism(session), math.ceil(code.rows() / _EVENTS_A_TASK))
    shuffled = code.coded().repartition(tasks, "spread").select("key", "person")
    return shuffled.mapInArrow(work, _COUNTED)


def _write(table: Any, path: str, /) -> None:
    table.write.options(**_COMMIT).parquet(path)


@contextmanager
def _staging(session: Any, /) -> Iterator[str]:
    """A new folder that workers and driver share, removed at the end."""
    shared = shared_staging(session)
    if shared is None:
        with private_folder() as folder:
            yield f"file://{folder}"
        return
    place = f"{shared.rstrip('/')}/noisegate-{secrets.token_hex(8)}"
    try:
        yield place
    finally:
        _remove(session, place)


def _remove(session: Any, place: str, /) -> None:
    """Remove a folder of the workers; where the driver cannot reach files, at least what is in them."""
    if place.startswith("file://"):
        shutil.rmtree(place.removeprefix("file://"), ignore_errors=True)
    elif hasattr(session, "_jvm"):
        path = session._jvm.org.apache.hadoop.fs.Path(place)  # noqa: SLF001 - the one way to a file system of Spark's
        path.getFileSystem(session._jsc.hadoopConfiguration()).delete(path, True)  # noqa: SLF001
    else:
        for name in ("bounded",):
            session.createDataFrame([], _COUNTED).write.mode("overwrite").parquet(f"{place}/{name}")


def _parallelism(session: Any, /) -> int:
    if hasattr(session, "sparkContext") and "connect" not in type(session).__module__:
        return int(session.sparkContext.defaultParallelism)
    return int(session.conf.get("spark.sql.shuffle.partitions", "16"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparkCounts:
    """Bounded counts that workers have written: `raw` is the path of committed files."""

    session: Any
    raw: str
    pairs: int
    size: int
    tally: Tally
    clipping: None = None

    @classmethod
    def committed(cls, session: Any, raw: str, /, *, wanted: CountPlan, plan: CellPlan) -> SparkCounts:
        """What was written; refuses it if nothing was, or what cannot be."""
        table = session.read.schema(_COUNTED).parquet(raw)
        said = table.selectExpr("least(cell, 0L) AS cell", "count", "1L AS parts").groupBy("cell")
        rows = said.sum("count", "parts").toDF("cell", "events", "parts").toArrow().to_pylist()
        found = {row["cell"]: row for row in rows}
        reasons, sums = len(plan.reasons), {cell: int(row["events"]) for cell, row in found.items()}
        if not all(-reasons - BEYOND <= cell <= 0 for cell in found):
            raise DataError(
                f"{wanted.source_name} cannot be counted: the engine answers with reasons that do not exist."
            )
        for cell in () if wanted.total else found:
            if -reasons <= cell < 0:
                refuse_unreadable(plan, cell, name=wanted.source_name)
        if not wanted.total and not any(sums.values()):
            raise DataError(f"{wanted.source_name} holds no events.")
        outside = {
            str(plan.reasons[-1 - cell]): sums[cell]
            for cell in sorted(sums, reverse=True)
            if -reasons <= cell < 0
        }
        tally = Tally(
            events=sum(sums.values()),
            outside=outside,
            repeated=sums.get(-reasons - REPEATED, 0),
            beyond=sums.get(-reasons - BEYOND, 0),
        )
        pairs = int(found[0]["parts"]) if 0 in found else 0
        return cls(session=session, raw=raw, pairs=pairs, size=wanted.domain.size, tally=tally)

    def histogram(self) -> tuple[Ints, Ints]:
        """Which raw counts there are, ascending, and how many cells have each."""
        cells = self._table().groupBy("cell").sum("count").toDF("cell", "count")
        rows = cells.groupBy("count").count().toDF("count", "times").toArrow()
        counts, times = (rows[name].to_numpy().astype(np.int64) for name in ("count", "times"))
        order = np.argsort(counts)
        return counts[order], times[order]

    def whole(self) -> Counts:
        """All counts in memory, for the custodian's own measurements."""
        rows = self._table().groupBy("cell").sum("count").toDF("cell", "count").toArrow()
        cells, counts = added_up(*(rows[name].to_numpy().astype(np.int64) for name in ("cell", "count")))
        return Counts(cells=cells, raw_counts=counts, tally=self.tally)

    def publish(self, works: Sequence[NoiseWork], /, *, entropy: Entropy) -> dict[str, PublishedSlices]:
        """Noisy tables: drawn by the workers, committed, and read from what was committed."""
        with asking("The noise"):
            return {work.name: self._published(n, work, entropy) for n, work in enumerate(works)}

    def _table(self) -> Any:
        return self.session.read.schema(_COUNTED).parquet(self.raw).where("cell >= 0")

    def _published(self, number: int, work: NoiseWork, entropy: Entropy, /) -> PublishedSlices:
        table = self._table()
        if work.margin is not None:
            table = table.mapInArrow(MarginWork(margin=work.margin), _COUNTED)
        slices, width = _cut(work.cells, self._slices(work))
        markers = self.session.range(slices).selectExpr(f"id * {width}L AS cell", "0L AS count")
        noise = SliceNoise(work=replace(work, margin=None), width=width, entropy=WorkerEntropy.of(entropy))
        path = f"{self.raw}-noisy-{number}"
        _write(_by_slice(table.unionAll(markers), slices, width).mapInArrow(noise, _NOISY), path)
        return self._committed(path, slices=slices, width=width)

    def _summed(self, path: str, margin: Margin, /, *, whole: bool) -> PublishedSlices:
        """The sums of committed noisy cells, added up by the workers."""
        with asking("The sums"):
            table = self.session.read.schema(_NOISY).parquet(path)
            summed = table.mapInArrow(MarginWork(margin=margin, adds="value"), _COUNTED)
            cells = margin.domain.size
            slices, width = _cut(
                cells, min(cells, max(_parallelism(self.session), math.ceil(cells / _PAIRS_A_TASK)))
            )
            to = f"{path}-{'-'.join(map(str, margin.sources))}-sums"
            _write(_by_slice(summed, slices, width).mapInArrow(SliceSum(whole=whole), _NOISY), to)
            return self._committed(to, slices=slices, width=width)

    def _slices(self, work: NoiseWork, /) -> int:
        """How many tasks draw noise: each adds up some millions of pairs at most, and as many cells if it visits all."""
        wanted = max(_parallelism(self.session), math.ceil(self.pairs / _PAIRS_A_TASK))
        if work.visits_all:
            wanted = max(wanted, math.ceil(work.cells / limits.current().dense_cells))
        return min(wanted, work.cells)

    def _committed(self, path: str, /, *, slices: int, width: int) -> PublishedSlices:
        table = self.session.read.schema(_NOISY).parquet(path)
        summing = partial(self._summed, path)
        if not path.startswith("file://"):
            parts: list[Callable[[], PublishedCells]] = [
                partial(_of_slice, table, slice_, width) for slice_ in range(slices)
            ]
            return PublishedSlices(rows=int(table.count()), parts=parts, summing=summing)
        # The number of a task is that of its slice, so the names of files are in the order of cells.
        files = sorted(Path(path.removeprefix("file://")).glob("part-*.parquet"))
        rows = sum(pq.read_metadata(one).num_rows for one in files)
        return PublishedSlices(rows=rows, parts=[partial(_of_file, one) for one in files], summing=summing)


def _cut(cells: int, wanted: int, /) -> tuple[int, int]:
    """How many slices of how many cells: about so many as are wanted, none beyond the end."""
    width = -(-cells // wanted)
    return -(-cells // width), width


def _by_slice(table: Any, slices: int, width: int, /) -> Any:
    """Cells and counts, those of one slice with one task."""
    numbered = table.selectExpr("cell", "count", f"CAST(cell div {width}L AS INT) AS slice")
    return numbered.repartitionById(slices, "slice").select("cell", "count")


def _of_file(path: Path, /) -> PublishedCells:
    return _published(pq.ParquetFile(path).read())


def _of_slice(table: Any, number: int, width: int, /) -> PublishedCells:
    start, stop = number * width, (number + 1) * width
    return _published(table.where(f"cell >= {start}L AND cell < {stop}L").orderBy("cell").toArrow())


def _published(rows: pa.Table, /) -> PublishedCells:
    cells, values = (rows[name].to_numpy().astype(np.int64, copy=False) for name in ("cell", "value"))
    if cells.size > 1 and not (np.diff(cells) > 0).all():
        raise InternalError("a committed slice is not in ascending order")
    return PublishedCells(cells=cells, values=values)
