"""The keys of a release spec, read from its Pydantic models."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from markdown import code, page, plain, table
from pydantic_core import PydanticUndefined

from noisegate.spec import (
    BandDimension,
    BoundChoice,
    Budget,
    CalendarDimension,
    DateDimension,
    Events,
    ListedDimension,
    LookupDimension,
    Merge,
    Privacy,
    Publication,
    QuestionBlock,
    ReleaseSpec,
    Series,
    SpecBlock,
    Suppress,
    TimeDimension,
)

#: The blocks of a spec, in the order in which people write them: where it stands, and its model.
_BLOCKS: tuple[tuple[str, type[SpecBlock]], ...] = (
    ("The whole spec", ReleaseSpec),
    ("events", Events),
    ("dimensions: a list of values", ListedDimension),
    ("dimensions: days", DateDimension),
    ("dimensions: times of day", TimeDimension),
    ("dimensions: bands of a number", BandDimension),
    ("dimensions: days of the week, weeks, months", CalendarDimension),
    ("dimensions: a lookup, or a level of a hierarchy", LookupDimension),
    ("privacy", Privacy),
    ("privacy.suppress", Suppress),
    ("privacy.choose_bound", BoundChoice),
    ("merge", Merge),
    ("budget", Budget),
    ("workload", QuestionBlock),
    ("series", Series),
    ("publication", Publication),
)

#: What each key means; a key without a line here stops the script.
_MEANINGS: Mapping[str, str] = {
    "ReleaseSpec.name": "name of the release, on the card and in the ledger",
    "ReleaseSpec.population": "the people whose budget is spent: the same name in every release about them; needed unless noise is repeatable",
    "ReleaseSpec.events": "where the raw events are",
    "ReleaseSpec.dimensions": "the public values that events are counted by, one block for each dimension",
    "ReleaseSpec.tables": "what is published: for each table, its dimensions; one table has all that others have",
    "ReleaseSpec.privacy": "what is promised, and how the noise is made",
    "ReleaseSpec.merge": "cells made wider where they would be thin",
    "ReleaseSpec.budget": "what the population may spend, if it has no budget yet",
    "ReleaseSpec.workload": "questions that people will ask, by name",
    "ReleaseSpec.series": "one release for each week of the dates, all on one budget; `release --week K` makes one",
    "ReleaseSpec.publication": "what only people know of a release, for its record in a registry of deployments (`registry.yaml`)",
    "Publication.curators": "who publishes",
    "Publication.summary": "what is published, in a sentence; made from the tables if absent",
    "Publication.intended_use": "what for",
    "Publication.region": "which region it is about",
    "Publication.sector": "of the registry's list",
    "Publication.justification": "why unit, bounds and epsilon were chosen so",
    "Publication.license": "under which licence the tables are published: its name, or better its address (for `ro-crate-metadata.json`)",
    "Publication.sources": "where more is written",
    "Publication.authors": "who filled in the record; the curators if absent",
    "Series.weeks": "how many weeks; the dates must be so many times 7 days",
    "Events.source": "a file, a glob, `file.duckdb::table`, or a table of the engine",
    "Events.person": "column that says whose event it is",
    "Events.timezone": "whose clock the tables are about, if times carry a UTC offset",
    "Events.dates": "what comes first in dates that are text, such as 25/07/2016 06:15, if it is not the year",
    "ListedDimension.column": "column of the events",
    "ListedDimension.header": "whether the first line of a values file of one column is a header; asked for where it may be one",
    "ListedDimension.values": "the values themselves, or a CSV file with one in the first column of each row",
    "ListedDimension.group_by": "show values as what a column of their file says, everywhere or under conditions",
    "ListedDimension.only": "pairs that can be: another dimension, and the column of the file that names its value",
    "DateDimension.column": "column of the events",
    "DateDimension.from": "first day",
    "DateDimension.to": "last day, included",
    "TimeDimension.column": "column of the events",
    "TimeDimension.every": "width of a bin; must divide the day",
    "BandDimension.column": "column of the events",
    "BandDimension.bands": "borders, such as `[0, 15, 65+]` or `[<15, 15, 65+]`, or `0..100 by 10`",
    "CalendarDimension.column": "column of the events",
    "CalendarDimension.each": "`weekday`, `week` (Monday to Sunday) or `month`",
    "CalendarDimension.from": "a day of the first week or month",
    "CalendarDimension.to": "a day of the last week or month",
    "LookupDimension.column": "column of the events; with `of`, the column of that dimension's values file",
    "LookupDimension.join": "a CSV file whose first column holds what the events hold, or the pairs themselves",
    "LookupDimension.take": "the column of the file that is shown",
    "Privacy.unit": "what the promise is about",
    "Privacy.max_cells": "most base cells that one unit may add to; not for unit `event`",
    "Privacy.max_per_cell": "most events of one unit that count in a cell",
    "Privacy.epsilon": "privacy loss of one unit, for all tables together",
    "Privacy.delta": "with `epsilon` and Gaussian noise: chance by which the promise may fail",
    "Privacy.scale": "instead of `epsilon`: scale of the noise of every table",
    "Privacy.law": "law of the noise",
    "Privacy.zeros": "whether empty cells get noise; `keep` needs `unsafe`",
    "Privacy.suppress": "which small values are left out; nothing if absent",
    "Privacy.margins": "how totals come about; `independent` needs `unsafe`",
    "Privacy.report_clipped": "epsilon for telling, on the card, which share of units and events is beyond the bound",
    "Privacy.choose_bound": "in place of `max_cells`: the bound is chosen privately",
    "BoundChoice.epsilon": "what the choice costs a unit, on top of `epsilon`",
    "BoundChoice.among": "the bounds to choose from, ascending",
    "BoundChoice.keeps": "the share of units that should lose nothing; 0.95 unless said otherwise",
    "Privacy.split": "share of the budget for each measured table, adding up to 1: of epsilon, or of rho for Gaussian noise",
    "Privacy.strategy": "`tables`: the split serves all tables; `workload`: tables, bins of time and shares are chosen for the questions of the workload",
    "Privacy.unsafe": "admits choices that break the promise; the card says so",
    "Suppress.below": "leave out values below this",
    "Suppress.spurious": "choose the cut so that at most this share of the empty cells is published",
    "Merge.dimension": "dimension whose values become wider",
    "Merge.by": "column of the values file that names the wider value",
    "Merge.into": "time span, or a new label",
    "Merge.where": "conditions: for each dimension a list of values, or `from` and `to`",
    "Budget.dataset": "name of the account",
    "Budget.epsilon": "what it may spend in all, if it has no budget yet",
    "Budget.delta": "the same for delta",
    "QuestionBlock.where": "conditions: `mode: ferry`, `mode: [ferry, train]`, `time: 07:00..09:00`",
    "QuestionBlock.by": "dimensions to tell apart",
    "QuestionBlock.top": "only so many of the largest groups",
    "QuestionBlock.wanted": "mean absolute error to aim for",
}

#: What the readers of values accept, by the name of the function that reads.
_WANTED: Mapping[str, str] = {
    "_text": "text",
    "word": "name of letters, digits, dots, dashes and underscores",
    "_positive": "number above 0",
    "_share": "number between 0 and 1",
    "_at_least_one": "whole number from 1",
    "_flag": "`true` or `false`",
    "day": "date, `2016-07-25`",
    "seconds": "time span: `15min`, `1h`, `30s`",
    "_value_list": "list, or name of a CSV file",
    "_group_by": "column, or `{column: conditions}`",
    "_pairs": "block: dimension, then column",
    "_people": "name, or list of names",
    "_tables": "block: name, then list of dimensions",
    "_shares": "block: table, then number",
    "_conditions": "block of conditions",
    "_where": "block of conditions",
    "_names": "dimension, or list of dimensions",
    "_zone": "time zone: `Australia/Sydney`",
}


def spec_page() -> str:
    """`release-spec.md`: every key, what it wants, its default and its meaning."""
    parts = [
        (
            "A release spec is one YAML file; relative paths in it start at its own folder. How to write one, with reasons, "
            "is in [Write a release spec](../how-to/write-a-spec.md). Numbers are taken exactly as written: `2.0`, `1/3`."
        )
    ]
    for place, model in _BLOCKS:
        said = plain((model.__doc__ or "").split("\n\n")[0])
        parts.append(f"## {place}\n\n{said}\n\n{_keys(model)}")
    return page("Release spec", "\n\n".join(parts))


def _keys(model: type[SpecBlock], /) -> str:
    rows = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        place = f"{model.__name__}.{key}"
        if place not in _MEANINGS:
            raise SystemExit(f"{place} has no meaning in docs/_make/spec_page.py: add one.")
        rows.append((code(key), _wanted(field), _default(field), _MEANINGS[place]))
    return table(("key", "value", "default", "meaning"), rows)


def _wanted(field: Any, /) -> str:
    """What a key accepts, from its type: a fixed list of words, or the function that reads it."""
    choices = _choices(field.annotation)
    if choices:
        return ", ".join(code(one) for one in choices)
    readers = [*_readers(field.metadata), *_readers(_metadata(field.annotation))]
    return next((_WANTED[one] for one in readers if one in _WANTED), "block of keys")


def _choices(kind: Any, /) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((found for inner in get_args(kind) if (found := _choices(inner))), ())


def _metadata(kind: Any, /) -> list[Any]:
    """All that annotations inside a type carry, in order; values of blocks are left to their own models."""
    if get_origin(kind) in {dict, tuple, list}:
        return []
    own = list(getattr(kind, "__metadata__", ()))
    return own + [one for inner in get_args(kind) for one in _metadata(inner)]


def _readers(metadata: Any, /) -> list[str]:
    return [one.func.__name__ for one in list(metadata)[::-1] if hasattr(one, "func")]


def _default(field: Any, /) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or value in ({}, ()):
        return ""
    return code(str(value).lower() if isinstance(value, bool) else str(value))
