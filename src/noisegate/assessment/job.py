"""The assessment job: read published tables, find out what they tell, judge it. Nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from noisegate.assessment.assessment import Assessment
from noisegate.assessment.claims import Claim
from noisegate.assessment.facts import Facts, Progress
from noisegate.assessment.inference import Attacker
from noisegate.assessment.judgement import judge
from noisegate.assessment.request import Outside, Request
from noisegate.assessment.services import LATE_MIN
from noisegate.mechanisms import parse_noise
from noisegate.reading import Overrides, TableSources, find_structure, read_tables
from noisegate.recovery import Statement, parse_lag
from noisegate.spec import load_spec
from noisegate.tables import find_card

AnyPath = str | os.PathLike[str]


def assess(
    tables: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    identities: Sequence[str] = (),
    lag: str | int | timedelta | None = None,
    summed_from: str | int | timedelta | None = None,
    card: AnyPath | None = None,
    noise: str | None = None,
    attacker: Attacker | None = "informed",
    truth: AnyPath | None = None,
    person: str | None = None,
    workload: AnyPath | None = None,
    gtfs: AnyPath | None = None,
    late: int = LATE_MIN,
    stops: AnyPath | None = None,
    k: int = 3,
    claims: Sequence[str] = (),
    weeks: int | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Assessment:
    """What published tables give away.

    Parameters
    ----------
    tables
        One or more tables of the same events: CSV or Parquet files, the directory of a release, or frames (pandas,
        Polars, Arrow). A mapping names them.
    overrides
        What is decided about the tables already, see `noisegate.reading.load_overrides`.
    pairs, lag
        Two sets of cells that hold the same raw counts, each written "dimension=value,dimension=value", the
        second `lag` later ("30min").
    identities
        Values of one dimension that add up: "Male + Female = Total".
    summed_from
        The bins in which the base was published before somebody summed it ("15min"); found if it shows.
    card
        The card of the release; found when it lies beside the tables.
    noise
        The noise of tables from which none can be recovered, as LAW:SCALE ("laplace:1.4").
    attacker
        Who infers the suppressed cells: "informed" learns from the tables how counts vary by place, time and
        day, "minimal" knows only the levels of the totals that were published; None leaves cells alone.
    truth, person
        Raw events or counts, which only the custodian has, to score the attack against; and their column
        that says whose event it is.
    workload
        A release spec whose questions the tables are measured by, in place of those on the card. It also says which of
        the raw events count.
    gtfs, late, stops
        A timetable (GTFS, zip or folder), by how many minutes at most cards are read off it, and a map of
        published locations to its stops (CSV with the columns location and stop).
    k
        How many vehicles every cell should mix: merges that achieve it are suggested.
    claims
        Shares that are said to be dropped, such as "lightrail off dropped 0.0005%".
    weeks
        How many weeks of such releases to look ahead.
    level
        Of all intervals.

    Raises
    ------
    DataError, SpecError
        One sentence: what is wrong, and the way out.
    """
    return judge(
        find_facts(
            tables,
            overrides=overrides,
            pairs=pairs,
            identities=identities,
            lag=lag,
            summed_from=summed_from,
            card=card,
            noise=noise,
            attacker=attacker,
            truth=truth,
            person=person,
            workload=workload,
            gtfs=gtfs,
            late=late,
            stops=stops,
            k=k,
            claims=claims,
            weeks=weeks,
            level=level,
            progress=progress,
        )
    )


def find_facts(
    tables: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    identities: Sequence[str] = (),
    lag: str | int | timedelta | None = None,
    summed_from: str | int | timedelta | None = None,
    card: AnyPath | None = None,
    noise: str | None = None,
    attacker: Attacker | None = "informed",
    truth: AnyPath | None = None,
    person: str | None = None,
    workload: AnyPath | None = None,
    gtfs: AnyPath | None = None,
    late: int = LATE_MIN,
    stops: AnyPath | None = None,
    k: int = 3,
    claims: Sequence[str] = (),
    weeks: int | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Facts:
    """What published tables tell, each fact worked out when it is first asked for; see `assess`."""
    request = Request(
        pairs=tuple((str(a), str(b)) for a, b in pairs),
        statements=tuple(Statement.parse(text) for text in identities),
        lag=parse_lag(lag),
        piece=None if summed_from is None else parse_lag(summed_from),
        level=level,
        attacker=attacker,
        noise=None if noise is None else parse_noise(noise),
        truth=None if truth is None else Path(truth),
        person=person,
        workload=None if workload is None else load_spec(workload),
        outside=Outside(
            gtfs=None if gtfs is None else Path(gtfs),
            late=late,
            stops=None if stops is None else Path(stops),
            k=k,
            claims=tuple(Claim.parse(text) for text in claims),
            weeks=weeks,
        ),
    )
    report = progress or (lambda _: None)
    read = read_tables(tables, overrides=overrides, progress=report)
    files = [file for table in read for file in table.files]
    stated = find_card(None if card is None else Path(card), files)
    report("finding the structure")
    structure = find_structure(read, overrides=overrides, card=stated)
    return Facts(structure, request, stated, report)
