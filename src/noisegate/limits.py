"""One table of limits: how much of anything is held, counted, read or simulated before the tool refuses or takes another way.

They bound memory and time; none of them changes what is true. Whoever has a larger machine, or a test that wants to meet a
limit, sets them for a while:

>>> from noisegate import limits
>>> with limits.override(file_columns=9_000):
...     limits.current().file_columns
9000
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from noisegate.errors import SpecError


def _limit(value: int, meaning: str, beyond: str, /) -> Any:
    return field(default=value, metadata={"help": meaning, "beyond": beyond})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most of each thing. `help_of` says what each is."""

    domain_cells: int = _limit(
        2**62,
        "Cells of a domain: they are numbered in 64-bit integers, with room for a sign and a sum.",
        "refused: merge values, or leave a dimension out",
    )
    domain_blocks: int = _limit(
        256,
        "Blocks that merges cut a domain into: each is one more term for every event that is counted.",
        "refused: merge with fewer conditions",
    )
    question_groups: int = _limit(
        5_000_000, "Rows of the answer to one question.", "refused: tell fewer dimensions apart"
    )
    spec_days: int = _limit(
        36_525, "Days of a date dimension.", "refused: the range of dates is longer than any release needs"
    )
    events_at_once: int = _limit(
        1 << 26,
        "Events of persons that are held in memory at once, 8 bytes each; half as many if persons are numbered too widely.",
        "the rest goes to a private temporary file, in the order of persons; the source is still read once",
    )
    glob_entries: int = _limit(
        1_000_000,
        "Names of files and folders that a pattern such as `taps/**/*.parquet` looks at.",
        "refused: name a folder in the pattern",
    )
    csv_line_bytes: int = _limit(
        1 << 21,
        "Bytes of a line of a CSV file of events.",
        "the line is no row: it is counted as outside the domain, which `--check` says",
    )
    keys_at_once: int = _limit(
        1 << 17,
        "Events whose contributions are bounded at once.",
        "done in several parts, no unit in two of them",
    )
    key_bits: int = _limit(
        63,
        "Bits that a person's unit and a cell share while events are counted.",
        "persons, and then cells, are numbered in order first; the same counts",
    )
    pairs_at_once: int = _limit(
        1 << 22,
        "Cells with their counts, or published rows, that are held in memory at once where a domain is large: 16 bytes each.",
        "kept in private temporary files, sorted, and read slice by slice",
    )
    engine_megabytes: int = _limit(
        1_000,
        "Megabytes that the embedded engine may take for itself.",
        "it writes to its private temporary directory",
    )
    dense_cells: int = _limit(
        1 << 24,
        "Cells that are counted in one array; larger domains are counted as sorted pairs.",
        "counted by sorting; the same counts",
    )
    reconciled_cells: int = _limit(
        150_000_000,
        "Cells or rows of a table that is held whole to be reconciled: about 6 GB while it is being rounded.",
        "reconciled part by part if every table keeps the first dimension of the base; else refused: use `margins: derive`, suppress more, or split the release",
    )
    stretched_cells: int = _limit(
        1_500_000_000,
        "Cells of a base that is reconciled part by part: 16 bytes each in private temporary files.",
        "refused: use `margins: derive`, or split the release",
    )
    nested_entries: int = _limit(
        1_000_000,
        "Combinations of a nested axis whose margins are reconciled: each is a noise of its own in the law of an error.",
        "refused: use `margins: derive`, or keep in every margin what the merges depend on",
    )
    summed_cells: int = _limit(
        50_000_000,
        "Cells of a margin that is summed in one array; larger ones are sorted.",
        "summed by sorting; the same sums",
    )
    looked_at_change: int = _limit(
        1_000_000,
        "Change of one cell whose loss is worked out; a larger one is taken to show itself for certain.",
        "taken to show itself for certain: the stated loss is larger, never smaller",
    )
    predicted_groups: int = _limit(
        2_000,
        "Groups of a question whose errors are worked out; with more, these stand for all.",
        "predicted for that many groups, evenly spread",
    )
    measured_cells: int = _limit(
        50_000_000,
        "Cells of a release whose utility is measured against the raw events.",
        "refused; the release itself is not",
    )
    kept_megabytes: int = _limit(
        4_000,
        "Megabytes of private files in which what queries worked out is kept for the next one.",
        "what was not asked for longest is removed; what is larger by itself is worked out each time",
    )
    questioned_cells: int = _limit(
        20_000_000,
        "Cells of a release whose questions are taken apart by cause of error.",
        "refused; the rest of the assessment is not",
    )
    rehearsed_cells: int = _limit(
        20_000_000,
        "Cells of a domain whose utility is predicted by drawing noise again and again.",
        "not measured when the release is made",
    )
    listed_answers: int = _limit(
        1_000,
        "Answers of one question that are written down; `noisegate query` gives all.",
        "the rest is left to `noisegate query`",
    )
    query_cells: int = _limit(
        60_000_000,
        "Cells of a published table that a query holds in memory.",
        "refused: the table is too fine to be held",
    )
    fitted_cells: int = _limit(
        8_000_000,
        "Cells that a query fits together where rows are missing.",
        "refused: ask for less, or for what is published",
    )
    inferred_cells: int = _limit(
        12_000_000,
        "Cells of a table that are inferred one by one, with bounded memory.",
        "cells are not inferred, which the assessment says: assess a mode or some days at a time",
    )
    whole_cells: int = _limit(
        2_000_000,
        "Cells under totals with noise of their own that are worked out all at once; fewer where several laws of noise are possible.",
        "worked out block by block, as far as a question touches them; an assessment looks at some blocks, chosen at random, and says so",
    )
    looked_cells: int = _limit(
        400_000,
        "Cells of very many that an assessment looks at, or that the blocks have which a question touches; fewer where several laws of noise are possible.",
        "counts are estimates, with their errors; sums come from whole rows, profiles and records",
    )
    series_cells: int = _limit(
        20_000_000,
        "Combinations of labels that are looked up; beyond, all are taken to be possible.",
        "not looked up: all are taken to be possible",
    )
    weighed_counts: int = _limit(
        20_000,
        "Counts that a missing cell may have, by its noise and threshold: about 700 MB while they are weighed.",
        "refused in a query; not inferred in an assessment, which says so",
    )
    weeks: int = _limit(520, "Further weeks that an assessment looks ahead.", "refused")
    merged_vehicles: int = _limit(
        1_000, "Vehicles that suggested merges leave in every cell (`--k`).", "refused"
    )
    held_bytes: int = _limit(
        1 << 30, "Bytes of memory for the encoded columns of one file.", "refused: assess the table in parts"
    )
    file_columns: int = _limit(5_000, "Columns of one file.", "refused: put one count per row")
    dimension_values: int = _limit(
        1_000_000,
        "Different values of a column that is a dimension.",
        "refused: leave the column out, or sum over it",
    )
    sheet_cells: int = _limit(
        30_000_000, "Cells of one sheet of a workbook.", "refused: save the part that holds the table as CSV"
    )
    rejected_lines: int = _limit(
        1_000_000,
        "Lines of a file that do not fit its header, before it is given up.",
        "refused: that is not one table",
    )
    margin_cells: int = _limit(
        50_000_000,
        "Cells of a margin that is compared with its base.",
        "not compared, or read without the cells that the card states, which the assessment says",
    )
    spec_bytes: int = _limit(
        2_000_000,
        "Bytes of a release spec; long lists of values are files of their own.",
        "refused: put long lists into CSV files",
    )
    yaml_values: int = _limit(
        200_000,
        "Values in a spec, or in a file that says how to read tables, with aliases written out.",
        "refused: write down what is meant",
    )
    values_bytes: int = _limit(
        256 << 20, "Bytes of a file with the values of a dimension, a map of stops or of places.", "refused"
    )
    linked_cells: int = _limit(
        10_000_000,
        "Cells of linked tables whose sums are weighed and whose hidden counts are bounded.",
        "sums are not weighed and hidden counts not bounded; how tables were made is then told from their values alone",
    )
    together_cells: int = _limit(
        20_000,
        "Cells of linked tables among which sets of tables are looked for that give counts away together.",
        "such sets are not looked for, which is said",
    )
    assessed_beside: int = _limit(
        60,
        "Other measures and tables that overlap which are assessed beside the first.",
        "left out; assess them by themselves",
    )
    overrides_bytes: int = _limit(
        1 << 20, "Bytes of a file that says how to read tables; such a file is written by hand.", "refused"
    )
    card_bytes: int = _limit(64 << 20, "Bytes of a card.", "refused: that is no card")
    feed_dates: int = _limit(
        3_660, "Dates of a timetable that are looked at together.", "refused: give fewer dates"
    )
    feed_departures: int = _limit(5_000_000, "Departures of a day that frequencies stand for.", "refused")
    feed_calls: int = _limit(
        50_000_000,
        "Calls of all departures of a feed that a simulation rides, about 80 bytes each.",
        "refused: simulate fewer days",
    )
    vehicle_cells: int = _limit(
        1 << 26,
        "Cells whose vehicles are counted in one array; more are sorted.",
        "counted by sorting; the same counts",
    )
    candidate_counts: int = _limit(
        1_000_000, "Counts that are weighed as what is missing from a total.", "refused: use linked inference"
    )
    compared_values: int = _limit(
        50_000_000,
        "Moments of all series that are searched for couplings.",
        "only the series with the most published counts are compared, which the assessment says",
    )
    feed_file_bytes: int = _limit(8 << 30, "Bytes of one table of a feed.", "refused")
    feed_ratio: int = _limit(
        200,
        "Unpacked to packed size of a table of a feed, unless it is small.",
        "refused: that is an archive made to fill a disk",
    )
    feed_small_bytes: int = _limit(
        1 << 24, "Bytes of a table of a feed whose ratio is not asked.", "its ratio is asked"
    )
    feed_entries: int = _limit(10_000, "Entries in the archive of a feed.", "refused")
    close_cells: int = _limit(
        20_000,
        "Cells that are solved again with one that is looked at closely.",
        "only the totals that count the cell itself are looked at, which the page says",
    )
    close_looks: int = _limit(
        48,
        "Sets of cells that were solved again for close looks and are kept, about 3 MB each.",
        "the former ones are worked out again",
    )
    map_cells: int = _limit(
        1_000_000, "Cells of one map in the workbench.", "refused: choose a day, or other dimensions"
    )
    upload_bytes: int = _limit(
        200 << 20, "Bytes of all files that are dropped on the workbench at once.", "refused: use a path"
    )
    upload_files: int = _limit(50, "Files that are dropped on the workbench at once.", "refused")
    kept_uploads: int = _limit(
        100, "Sets of dropped files that the workbench keeps for a directory.", "refused: discard one"
    )
    note_characters: int = _limit(
        4_000, "Characters of a comment or of decisions about files in the workbench.", "refused"
    )
    open_releases: int = _limit(
        6,
        "Assessed releases that the workbench holds in memory.",
        "the one not used longest is worked out again",
    )
    listed_releases: int = _limit(
        200,
        "Releases and folders of tables that the workbench lists in a directory.",
        "the rest is not listed",
    )
    waiting_jobs: int = _limit(50, "Jobs of the workbench that wait or run.", "refused: cancel one")
    simulated_days: int = _limit(366, "Days of a simulated season.", "refused")
    simulated_persons: int = _limit(
        10_000_000, "Persons of a simulated city, about 100 bytes each.", "refused"
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise SpecError.for_value(
                    f"the limit {one.name}", found=value, allowed="a whole number of at least 0"
                )


@dataclass(slots=True)
class _State:
    limits: Limits


_STATE = _State(Limits())


def current() -> Limits:
    """The limits that hold now, in all threads of this process."""
    return _STATE.limits


@contextmanager
def override(**changes: int) -> Iterator[Limits]:
    """Other limits while the block runs, in all threads of this process; the former ones afterwards."""
    unknown = sorted(changes.keys() - {one.name for one in fields(Limits)})
    if unknown:
        raise SpecError.for_choice("limit", found=unknown[0], allowed=[one.name for one in fields(Limits)])
    before = _STATE.limits
    _STATE.limits = replace(before, **changes)
    try:
        yield _STATE.limits
    finally:
        _STATE.limits = before


def help_of(name: str, /) -> str:
    """What the limit called `name` bounds."""
    return str(next(one.metadata["help"] for one in fields(Limits) if one.name == name))


def beyond(name: str, /) -> str:
    """What happens where there is more than the limit called `name` allows."""
    return str(next(one.metadata["beyond"] for one in fields(Limits) if one.name == name))
