"""Counting the events of a spec, wherever they are."""

from __future__ import annotations

from typing import Any

import duckdb

from noisegate.engine.counts import Counts
from noisegate.engine.duck import Progress, count_with_duckdb
from noisegate.laws.entropy import Entropy, as_entropy
from noisegate.spec import ReleaseSpec


def count(
    spec: ReleaseSpec, /, *, entropy: Entropy, connection: Any = None, progress: Progress | None = None
) -> Counts:
    """The raw counts of the base table of `spec`, each privacy unit held to its bound.

    Parameters
    ----------
    spec
        Names the events, the public domain and the privacy unit.
    noise
        Decides which cells a unit with too many keeps.
    connection
        Where the source is a table: an Ibis connection of any engine, or a DuckDB connection. Without
        one, the source is a file, a glob or a DuckDB database that is read here.
    progress
        Called with the number of events of each batch as they are read.

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
    as_entropy(entropy)
    if connection is None:
        with duckdb.connect() as own:
            own.execute("SET preserve_insertion_order = false; SET enable_progress_bar = false")
            return count_with_duckdb(spec, own, own=True, entropy=entropy, progress=progress)
    if getattr(connection, "name", None) == "duckdb":
        connection = connection.con
    if isinstance(connection, duckdb.DuckDBPyConnection):
        return count_with_duckdb(spec, connection, own=False, entropy=entropy, progress=progress)
    # Ibis takes a third of a second to import, so only who needs it pays for it.
    from noisegate.engine.remote import count_with_ibis

    return count_with_ibis(spec, connection, entropy=entropy, progress=progress)
