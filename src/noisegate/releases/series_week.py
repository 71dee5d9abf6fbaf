"""One week of a series: what is measured now, what earlier weeks have measured, and the tables that come of both.

A measurement may be a sum over earlier weeks. These are counted again from the events, so that nothing secret has to be kept between two
releases; each count holds every unit to its bound, by lots of its own, and so the sensitivity of a row is what it was planned to be. What
was measured before is public: it lies in the folder `measured` of each release, and its card has the digests.
"""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from noisegate.columns import Columns, Values, literal, own_duckdb, quoted, read_numbers, write_parquet
from noisegate.engine import Counts, LocalCounts, NoiseWork, PublishedSlices
from noisegate.errors import DataError
from noisegate.laws import Entropy
from noisegate.ledger import Reservation
from noisegate.mechanisms import Perturbation
from noisegate.releases.plan import Plan, SeriesPart
from noisegate.releases.tables import tables_of_values
from noisegate.tables import CARD, Ints, read_document, stated_payment

#: Where a release of a series keeps what was measured for it, and the running totals up to its week.
MEASURED, RUNNING = "measured", "running"
#: By measurement and table the noisy value of every cell.
Measurements = dict[int, dict[str, Ints]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekCounts:
    """Raw weighted sums of weeks, one for each measurement that is made now. To be perturbed before anybody sees them."""

    rows: Mapping[int, Counts]
    gone: tuple[int, ...] = ()


def needed_before(plan: Plan, running: Plan | None, /) -> tuple[int, ...]:
    """The measurements of earlier weeks that the tables of this one are made of."""
    part = _part(plan)
    parts = [part] if running is None else [part, _part(running)]
    own = part.terms.measured_in(part.week)
    return tuple(sorted({row for one in parts for row in one.by.rows} - set(own)))


def count_rows(
    plan: Plan, counts: Counts, /, *, count_week: Callable[[int], Counts], report: Callable[[str], None]
) -> WeekCounts:
    """The weighted sums of raw counts that are measured now; earlier weeks are counted again."""
    part = _part(plan)
    rows = {row: part.terms.row(row) for row in part.terms.measured_in(part.week)}
    sums = {row: np.zeros(plan.base.cells, np.int64) for row in rows}
    gone = []
    for week in range(1, part.week + 1):
        weights = {row: row_weights[week - 1] for row, row_weights in rows.items()}
        if not any(weights.values()):
            continue
        if week != part.week:
            report(f"counting week {week} of {part.terms.weeks} again")
        found = counts if week == part.week else count_week(week)
        if week != part.week and not found.tally.counted:
            gone.append(week)
        for row, weight in weights.items():
            sums[row][found.cells] += weight * found.raw_counts
    return WeekCounts(
        rows={
            row: Counts(cells=np.flatnonzero(values), raw_counts=values[values != 0], tally=counts.tally)
            for row, values in sums.items()
        },
        gone=tuple(gone),
    )


def measure(plan: Plan, counts: WeekCounts, /, *, entropy: Entropy) -> Measurements:
    """Draw what is measured now. The loss must have been charged."""
    terms = _part(plan).terms
    found: Measurements = {}
    for row, raw in counts.rows.items():
        works = [
            NoiseWork(
                name=table.name,
                margin=plan.spec.margins.get(table.name),
                perturbation=Perturbation(noise=terms.noise(row, table.name)),
                cells=table.cells,
            )
            for table in plan.tables
            if table.name in terms.scales
        ]
        drawn = LocalCounts.held(raw, cells=plan.base.cells).publish(works, entropy=entropy)
        found[row] = {name: slices.values for name, slices in drawn.items()}
    return found


def estimated_tables(plan: Plan, measured: Measurements, /) -> dict[str, PublishedSlices]:
    """The published tables of a week, or of all weeks so far: by what was measured, all of it public."""
    by, terms = _part(plan).by, _part(plan).terms
    values = {}
    for name in terms.scales:
        pairs = zip(by.rows, by.weights, strict=True)
        values[name] = (
            measured[by.rows[0]][name]
            if by.exact
            else np.rint(sum(weight * measured[row][name] for row, weight in pairs)).astype(np.int64)
        )
    return tables_of_values(plan, values)


def write_measured(folder: Path, measured: Measurements, /) -> dict[str, str]:
    """Write what was measured, one file for each table; their digests by name."""
    (folder / MEASURED).mkdir()
    digests = {}
    for name in next(iter(measured.values())):
        path = folder / MEASURED / f"{name}.parquet"
        frame = Columns({str(row): Values.numbers(values[name]) for row, values in measured.items()})
        write_parquet(frame, path)
        digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def read_measured(
    plan: Plan, rows: Sequence[int], /, *, weeks: Mapping[int, Reservation], beside: Path
) -> Measurements:
    """What earlier weeks measured, from their releases: where the ledger says, or beside the new one.

    Raises
    ------
    DataError
        If a week was not released, or its release is not there any more, or was altered.
    """
    terms = _part(plan).terms
    found: Measurements = {}
    for row in rows:
        week = terms.strategy.ends[row]
        if week not in weeks:
            raise DataError(
                f"Week {_part(plan).week} of the series is told from what week {week} measured, and week {week} is not released. Release it first."
            )
        folder = _folder(weeks[week], week, beside)
        found[row] = _read(folder, row, [table.name for table in plan.tables if table.name in terms.scales])
        for table in plan.tables:
            if table.name in found[row] and len(found[row][table.name]) != table.cells:
                raise _altered(folder)
    return found


def _folder(one: Reservation, week: int, beside: Path, /) -> Path:
    """The release that a reservation paid for, wherever it lies."""
    for folder in (one.output, *_children(beside)):
        try:
            octets = (folder / CARD).read_bytes()
        except OSError:
            continue
        if stated_payment(octets).reservation == one.id:
            if one.card_digest not in {None, hashlib.sha256(octets).hexdigest()}:
                raise _altered(folder)
            return folder
    raise DataError(
        f"Week {week} of the series was released as {one.output.name}, which is neither there any more nor beside the new release. Its folder "
        f"{MEASURED} is needed for this week: put it back."
    )


def _children(folder: Path, /) -> Iterable[Path]:
    try:
        return sorted(
            child for child in folder.iterdir() if child.is_dir() and not child.name.startswith(".")
        )
    except OSError:
        return ()


def _read(folder: Path, row: int, names: Sequence[str], /) -> dict[str, Ints]:
    stated = read_document(folder / CARD).get("series")
    digests: Any = stated.get(MEASURED) if isinstance(stated, dict) else None
    found = {}
    for name in names:
        path = folder / MEASURED / f"{name}.parquet"
        try:
            octets = path.read_bytes()
            if not isinstance(digests, dict) or hashlib.sha256(octets).hexdigest() != digests.get(name):
                raise _altered(folder)
            found[name] = _read_row(path, row)
        except (OSError, duckdb.Error, ValueError, RuntimeError) as problem:
            if isinstance(problem, DataError):
                raise
            raise DataError(f"{path} cannot be read; it is needed to go on with the series.") from None
    return found


def _read_row(path: Path, row: int, /) -> Ints:
    """One measurement of a table, cell by cell."""
    with own_duckdb() as connection:
        sql = f"SELECT {quoted(str(row))}::BIGINT AS value FROM read_parquet([{literal(glob.escape(str(path)))}])"  # noqa: S608 - quoted parts
        values: Ints = read_numbers(connection.sql(sql), ["value"])["value"]
    return values


def _altered(folder: Path, /) -> DataError:
    return DataError(
        f"{folder} was altered after it was published; the series cannot go on with it. Put back what was published."
    )


def series_statement(plan: Plan, /, *, measured: Mapping[str, str], running: bool) -> dict[str, Any]:
    """What a card says of a series: which part of it this is, what was measured when, and what that is good for."""
    part = _part(plan)
    terms, strategy = part.terms, part.terms.strategy
    spec = plan.spec.of_week(part.week)
    gaussian = strategy.law == "gaussian"
    assert plan.spec.day is not None
    assert spec.day is not None
    return {
        "name": plan.spec.name,
        "of": "all weeks so far" if part.running else "one week",
        "week": part.week,
        "weeks": terms.weeks,
        "first_day": (plan.spec.day if part.running else spec.day).first.isoformat(),
        "last_day": spec.day.last.isoformat(),
        "strategy": strategy.name,
        "measurements": len(strategy.entries),
        "variance_of_a_week": strategy.week,
        "variance_of_a_running_total": strategy.running if gaussian else None,
        "variance_of_the_total": terms.variance_of_total,
        "over": "the variance of one of as many independent weeks on the same budget, on average",
        "estimated_from": [
            {
                "week": strategy.ends[row],
                "weights": _shortened(terms.row(row)),
                "counts_for": weight,
                "scale": {name: float(terms.noise(row, name).scale) for name in terms.scales},
            }
            for row, weight in zip(part.by.rows, part.by.weights, strict=True)
        ],
        "running": RUNNING if running else None,
        MEASURED: dict(measured),
    }


def _shortened(row: Sequence[int], /) -> list[int]:
    """The weights of a measurement up to the last week that it is about."""
    return list(row[: max(place for place, weight in enumerate(row) if weight) + 1])


def series_digest(plan: Plan, /) -> str:
    """A digest of all that a series promises and measures; where its events lie may change from week to week."""
    spec, terms = plan.spec, _part(plan).terms
    anywhere = spec.model_copy(update={"events": spec.events.model_copy(update={"source": ""})})
    content = [repr(anywhere), terms.strategy.entries.tolist(), {k: str(v) for k, v in terms.scales.items()}]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _part(plan: Plan, /) -> SeriesPart:
    assert plan.series is not None
    return plan.series
