"""Counting events, wherever they are: from the name of an engine to raw counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import duckdb

from noisegate.engine.counts import Counts, ExpectedCounts
from noisegate.engine.duck import Progress, count_with_duckdb, expect_with_duckdb, sizes_with_duckdb
from noisegate.engine.plan import CountPlan
from noisegate.engine.private_log import keep_words
from noisegate.engine.session import believing_no_statistics, heeding_interrupts, own_connection
from noisegate.engine.sliced import LocalCounts, SlicedCounts
from noisegate.engine.spark_session import connect_spark, is_spark, session_of
from noisegate.engine.spill import SpillPlace
from noisegate.errors import DataError, NoisegateError, SpecError
from noisegate.laws import Entropy, OsNoise, as_entropy
from noisegate.spec import ReleaseSpec
from noisegate.tables import Ints


def count(
    wanted: CountPlan | ReleaseSpec,
    /,
    *,
    entropy: Entropy | None = None,
    connection: Any = None,
    progress: Progress | None = None,
    total: bool = False,
) -> Counts:
    """The raw counts of the cells of a plan, each privacy unit held to its bound.

    Parameters
    ----------
    wanted
        Names the events, the public domain and the privacy unit; a spec stands for what its release counts.
    entropy
        Decides which cells a unit with too many keeps; not needed where every event counts.
    connection
        Where the source is a table: an Ibis connection of any engine, or a DuckDB connection. Without
        one, the source is a file, a glob or a DuckDB database that is read here.
    progress
        Called with the number of events of each batch as they are read.
    total
        Count whatever the rows hold, as a release must: no event at all, or a text that should be a time and is none, is no
        error but falls outside.

    Returns
    -------
    Counts
        Raw data: to be perturbed before anybody else sees it.

    Raises
    ------
    DataError
        The source is missing, unreadable, empty, lacks a column or has it in the wrong type.

    Notes
    -----
    Assumes that the person column names the person behind an event. Guarantee: see
    `noisegate.engine.bounding`. Events outside the domain are counted in the tally only; they never
    change the domain.
    """
    with count_slices(
        wanted, entropy=entropy, connection=connection, progress=progress, total=total
    ) as counts:
        return counts.whole()


@contextmanager
def count_slices(
    wanted: CountPlan | ReleaseSpec,
    /,
    *,
    entropy: Entropy | None = None,
    connection: Any = None,
    progress: Progress | None = None,
    total: bool = False,
) -> Iterator[SlicedCounts]:
    """The same as `count`, in slices: in memory, in private files or with the workers, as long as the context.

    The parameters, errors and guarantees are those of `count`.
    """
    plan = wanted if isinstance(wanted, CountPlan) else CountPlan.of(wanted)
    plan = replace(plan, total=total or plan.total)
    # Where every event counts no lot is drawn.
    lots = OsNoise() if entropy is None and plan.bound is None else as_entropy(entropy)
    if connection is None or _duckdb(connection) is not None:
        with ExitStack() as stack:
            place = SpillPlace(stack)
            with _connected(connection) as (duck, own):
                counts = count_with_duckdb(plan, duck, own=own, entropy=lots, progress=progress, place=place)
            yield counts
        return
    if plan.clipping:
        raise SpecError(
            "privacy.report_clipped is worked out from single units, which other engines do not hand over; count a copy "
            "of the events with DuckDB, or leave it out."
        )
    session = session_of(connection)
    if session is not None:
        from noisegate.engine.spark_counts import count_with_spark

        with count_with_spark(plan, session, entropy=lots, progress=progress) as spread:
            yield spread
        return
    if getattr(connection, "name", None) == "postgres":
        from noisegate.engine.postgres import count_with_postgres

        with ExitStack() as stack:
            yield count_with_postgres(plan, connection.con, progress=progress, place=SpillPlace(stack))
        return
    _refuse_untried(str(getattr(connection, "name", type(connection).__name__)))
    # Ibis takes a third of a second to import, so only who needs it pays for it.
    from noisegate.engine.remote import count_with_ibis

    whole = count_with_ibis(plan, connection, entropy=lots, progress=progress)
    yield LocalCounts.held(whole, cells=plan.domain.size)


#: Engines by the start of their URLs: whatever else Ibis speaks is under no test of ours.
_TRIED = ("duckdb", "postgres", "postgresql", "sqlite", "pyspark")


def _refuse_untried(kind: str, /) -> None:
    """Refuse an engine that nobody has seen count persons as it must: one that takes "a" and "A" for one person breaks a promise silently."""
    if kind not in _TRIED:
        raise SpecError(
            f"The engine {kind!r} is not one of those that are tried to hold persons to their bounds: duckdb, spark, postgresql "
            "and sqlite. Write the events as Parquet files and count them with one of these."
        )


def unit_sizes(wanted: CountPlan | ReleaseSpec, /, *, connection: Any = None) -> Ints:
    """How many cells each unit is in, in no order that means anything. Raw data: to be perturbed before anybody sees it.

    `connection` is None or one of DuckDB.
    """
    plan = wanted if isinstance(wanted, CountPlan) else CountPlan.of(wanted)
    if connection is not None and _duckdb(connection) is None:
        raise SpecError(
            "privacy.choose_bound looks at single units, which other engines do not hand over; count a copy of the "
            "events with DuckDB, or state max_cells."
        )
    with ExitStack() as stack, _connected(connection) as (duck, own):
        return sizes_with_duckdb(plan, duck, own=own, place=SpillPlace(stack))


def expected_counts(wanted: CountPlan, /, *, connection: Any = None) -> ExpectedCounts:
    """The mean of what `count` gives, over the lots that decide which cells a unit with too many keeps.

    Raw data, for the custodian's eyes only. `connection` is None or one of DuckDB.

    Raises
    ------
    DataError
        As for `count`.
    """
    with ExitStack() as stack, _connected(connection) as (duck, own):
        return expect_with_duckdb(wanted, duck, own=own, place=SpillPlace(stack))


def _duckdb(connection: Any, /) -> duckdb.DuckDBPyConnection | None:
    """DuckDB's own connection, also behind one of Ibis; None if it is another engine's."""
    inner = connection.con if getattr(connection, "name", None) == "duckdb" else connection
    return inner if isinstance(inner, duckdb.DuckDBPyConnection) else None


@contextmanager
def _connected(connection: Any, /) -> Iterator[tuple[duckdb.DuckDBPyConnection, bool]]:
    """A connection of DuckDB that believes no statistics, and whether it is our own."""
    given = None if connection is None else _duckdb(connection)
    with (
        heeding_interrupts(),
        nullcontext(given) if given is not None else own_connection() as used,
        believing_no_statistics(used),
    ):
        yield used, given is None


def connect(engine: str, /) -> Any:
    """The connection of an engine: None for DuckDB, which `count` opens itself, else one of Ibis.

    `engine` is `duckdb`, `spark`, a master or Connect server of Spark (`spark://…`, `local[2]`, `sc://…`), or the URL of a database, such
    as `postgresql://host/database` or `sqlite://taps.sqlite`. What is
    wrong is said without the URL, which may hold a password.
    """
    if engine == "duckdb":
        return None
    if is_spark(engine):
        return connect_spark(engine)
    if "://" not in engine:
        raise SpecError.for_choice(
            "engine", found=engine, allowed=["duckdb", "spark", "a URL such as postgresql://…"]
        )
    kind = engine.partition("://")[0]
    _refuse_untried(kind)
    try:
        import ibis
    except ImportError:
        extra = "postgres" if kind.startswith("postgres") else "sqlite"
        raise SpecError(
            f"The engine {kind!r} is reached by Ibis, which is not installed; install it with: pip install 'noisegate[{extra}]'."
        ) from None
    try:
        return ibis.connect(engine)
    except NoisegateError:
        raise
    except (ImportError, AttributeError, ibis.common.exceptions.IbisError):
        raise SpecError(f"The engine {kind!r} is not installed or not known; install Ibis with it.") from None
    except Exception as error:  # noqa: BLE001 - every driver has errors of its own
        raise DataError(
            f"The engine {kind!r} cannot be reached; check its address and that it is running.{keep_words(error)}"
        ) from None
