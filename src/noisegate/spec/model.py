"""The release spec: events, dimensions, tables, privacy, and what they must agree on."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, PlainValidator, PrivateAttr, model_validator

from noisegate.errors import SpecError
from noisegate.margins import pieces
from noisegate.spec.dimensions import Conditions, DateDimension, ListedDimension
from noisegate.spec.fields import (
    Positive,
    Share,
    SpecBlock,
    Text,
    Word,
    one_of,
    placed,
    refusal,
    shown,
    word,
)
from noisegate.spec.kinds import DimensionSpec, resolve_levels
from noisegate.spec.privacy import Privacy
from noisegate.spec.public_domain import LeftOut, MergeRule, PublicDomain, build_domain, known, merge_rule
from noisegate.spec.series import Series, check_series
from noisegate.spec.workload import QuestionBlock
from noisegate.tables import Domain, Margin, Question

#: What a population may be called: one line that says nothing about a place.
_POPULATION = re.compile(r"[^\W_][\w .-]{0,99}")


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ValueError, OSError, KeyError):
        raise refusal(f"must be a time zone such as Australia/Sydney, got {shown(value)}") from None
    return value


def _tables(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise refusal(f"must be a block of tables, each a list of dimensions, got {shown(value)}")
    tables = {}
    for name, names in value.items():
        placed(word, name, at=[str(name)])
        if not isinstance(names, list | tuple) or not names:
            raise refusal(f"must be a list of dimensions such as [date, time], got {shown(names)}", at=[name])
        tables[str(name)] = tuple(str(inner) for inner in names)
    return tables


def _people(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if (
        not isinstance(names, list | tuple)
        or not names
        or not all(isinstance(one, str) and one.strip() for one in names)
    ):
        raise refusal(f"must be a name or a list of names, got {shown(value)}")
    return tuple(names)


def _population(value: object) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool) or not _POPULATION.fullmatch(str(value)):
        raise refusal(
            f"must be a name for the people whose budget is spent, such as opal-cards, got {shown(value)}"
        )
    return str(value)


#: What comes first in dates that are text, if it is not the year.
DateOrder = Literal["day-first", "month-first"]


class Events(SpecBlock):
    """Where the raw events are: a file, a glob, or a table of the engine; and whose they are."""

    source: Text
    person: Text | None = None
    timezone: Annotated[Text, AfterValidator(_zone)] | None = None
    dates: DateOrder | None = None


class Merge(SpecBlock):
    """Values of one dimension that become one, wherever the conditions hold."""

    dimension: Text
    by: Text | None = None
    into: Text | None = None
    where: Conditions = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_target(self) -> Merge:
        if (self.by is None) == (self.into is None):
            raise refusal(
                "must have exactly one of by (a column of the values file) and into (a time span or a new label)"
            )
        return self


class Budget(SpecBlock):
    """What the population may spend in all; `dataset` is an older name of `population`."""

    dataset: Text | None = None
    epsilon: Positive | None = None
    delta: Share | None = None


class Publication(SpecBlock):
    """What only people know of a release, for the record that registries of deployments ask for."""

    curators: Annotated[tuple[str, ...], PlainValidator(_people)] = ()
    summary: Text | None = None
    intended_use: Text | None = None
    region: Text | None = None
    sector: (
        Annotated[str, one_of("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")]
        | None
    ) = None
    justification: Text | None = None
    sources: Text | None = None
    license: Text | None = None
    authors: Annotated[tuple[str, ...], PlainValidator(_people)] = ()


class ReleaseSpec(SpecBlock):
    """A release as a custodian writes it down; complete and consistent once it exists.

    `folder` is where relative paths start. `domain` is the public domain of the base table; it is a
    function of this spec and its values files alone.
    """

    name: Word
    population: Annotated[str, PlainValidator(_population)] | None = None
    events: Events
    dimensions: dict[Word, DimensionSpec]
    tables: Annotated[dict[str, tuple[str, ...]], PlainValidator(_tables)]
    privacy: Privacy
    merge: tuple[Merge, ...] = ()
    budget: Budget | None = None
    workload: dict[Word, QuestionBlock] = Field(default_factory=dict)
    series: Series | None = None
    # Not in the digest of a spec, which ledgers keep: it changes no number.
    publication: Publication | None = Field(default=None, repr=False)
    _folder: Path = PrivateAttr(default=Path())

    def model_post_init(self, context: Any, /) -> None:
        """Remember the folder that the spec was read from."""
        self._folder = (context or {}).get("folder", Path())

    @model_validator(mode="before")
    @classmethod
    def _levels(cls, data: Any) -> Any:
        """Levels of a hierarchy are lookups in the file of the dimension that they are levels of."""
        if isinstance(data, dict) and isinstance(data.get("dimensions"), dict):
            return {**data, "dimensions": resolve_levels(data["dimensions"])}
        return data

    @model_validator(mode="after")
    def _agrees(self) -> ReleaseSpec:
        check_population(self)
        check_tables(self)
        check_unit(self)
        check_split(self)
        check_workload(self)
        if self.series is not None:
            check_series(self.series, dimensions=self.dimensions, tables=self.tables, privacy=self.privacy)
        _ = self.domain, self.margins
        return self

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of the workload."""
        return tuple(block.named(name) for name, block in self.workload.items())

    @property
    def account(self) -> str | None:
        """The population that pays; None if the spec names none."""
        return self.population or (self.budget.dataset if self.budget is not None else None)

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self._folder

    def bounded_by(self, cells: int, /) -> ReleaseSpec:
        """The same release with a bound that was chosen."""
        return self.model_copy(update={"privacy": self.privacy.model_copy(update={"max_cells": cells})})

    def changed(self, **update: Any) -> ReleaseSpec:
        """The same spec with other blocks; what follows from them is worked out anew. Nothing is checked."""
        made = self.model_copy(update=update)
        for name in ("domain", "margins"):
            made.__dict__.pop(name, None)
        return made

    def of_week(self, week: int, /) -> ReleaseSpec:
        """What is counted for one week of the series, from 1 on: the same cells, the dates of that week."""
        if self.series is None or not 1 <= week <= self.series.weeks:
            raise SpecError(
                f"there is no week {week}: {'the spec has no series' if self.series is None else f'the series has weeks 1 to {self.series.weeks}'}."
            )
        return self.model_copy(update={"dimensions": self.series.cut(self.dimensions, week)})

    @property
    def base(self) -> str:
        """The name of the finest table, which all others are sums of."""
        return max(self.tables, key=lambda name: len(self.tables[name]))

    @cached_property
    def domain(self) -> Domain:
        """The public domain of the base table."""
        return self._public_domain().domain

    @property
    def nesting_left_out(self) -> tuple[LeftOut, ...]:
        """What values files rule out and the domain has all the same."""
        return self._public_domain().left_out

    def _public_domain(self) -> PublicDomain:
        return build_domain(
            self.dimensions, self.tables[self.base], self.merge_rules, check=self._check_tables
        )

    def _check_tables(self, domain: Domain, /) -> None:
        """Refuse a domain that the tables of this spec could not be made on."""
        margins = {
            name: Margin.over(domain, names) for name, names in self.tables.items() if name != self.base
        }
        if self.privacy.margins == "reconcile":
            pieces(domain, margins)

    @cached_property
    def margins(self) -> dict[str, Margin]:
        """The tables other than the base, by name."""
        return {name: self._margin(name) for name in self.tables if name != self.base}

    def _margin(self, name: str, /) -> Margin:
        try:
            return Margin.over(self.domain, self.tables[name])
        except SpecError as error:
            raise refusal(f"cannot be made: {error}", at=("tables", name)) from None

    @property
    def day(self) -> DateDimension | None:
        """The date dimension that days of a person are counted by."""
        days = [dim for dim in self.dimensions.values() if isinstance(dim, DateDimension)]
        return days[0] if days else None

    @property
    def merge_rules(self) -> list[MergeRule]:
        """Every merge, those of `group_by` first."""
        return [
            merge_rule(
                self.dimensions,
                name,
                by=dim.group_by.column,
                where=dim.group_by.where,
                at=("dimensions", name, "group_by"),
            )
            for name, dim in self.dimensions.items()
            if isinstance(dim, ListedDimension) and dim.group_by is not None
        ] + [
            merge_rule(
                self.dimensions,
                rule.dimension,
                by=rule.by,
                into=rule.into,
                where=rule.where,
                at=("merge", index),
            )
            for index, rule in enumerate(self.merge)
        ]


_RESERVED = frozenset({"count"})


def check_population(spec: ReleaseSpec, /) -> None:
    """One name for the people who pay."""
    older = spec.budget.dataset if spec.budget is not None else None
    if older is not None and spec.population not in {None, older}:
        raise refusal(
            f"is {shown(older)}, but population is {shown(spec.population)}; both name who pays, keep population",
            at=("budget", "dataset"),
        )


def check_tables(spec: ReleaseSpec, /) -> None:
    """Tables use dimensions that exist, one of them holds all, and no two hold the same."""
    for name in spec.dimensions:
        if name in _RESERVED:
            raise refusal(
                "is the name of the column that holds the counts; choose another", at=("dimensions", name)
            )
    seen: dict[frozenset[str], str] = {}
    for table, names in spec.tables.items():
        for name in names:
            known(spec.dimensions, name, at=("tables", table))
        if len(set(names)) != len(names):
            raise refusal("names a dimension twice; name each once", at=("tables", table))
        if frozenset(names) in seen:
            raise refusal(
                f"has the same dimensions as {seen[frozenset(names)]}; keep one of them", at=("tables", table)
            )
        seen[frozenset(names)] = table
    union = frozenset[str]().union(*spec.tables.values())
    if union not in seen:
        wanted = [name for name in spec.dimensions if name in union]
        raise refusal(
            f"need one base table that has all their dimensions; add one with [{', '.join(wanted)}]",
            at=["tables"],
        )


def check_unit(spec: ReleaseSpec, /) -> None:
    """A unit of persons knows who the person is and what a day is."""
    unit, person = spec.privacy.unit, spec.events.person
    if unit != "event" and person is None:
        raise refusal(
            f"is missing; unit {unit} needs the column that says whose event it is", at=("events", "person")
        )
    if person is None and not spec.privacy.unsafe:
        phrase = "is 'event' without a person column, which protects single events and no person; name events.person, or admit it with unsafe: true"
        raise refusal(phrase, at=("privacy", "unit"))
    days = [name for name, dim in spec.dimensions.items() if isinstance(dim, DateDimension)]
    if unit == "person-day" and len(days) != 1:
        found = ", ".join(days) or "none"
        raise refusal(
            f"is person-day, which needs exactly one dimension of dates, found {found}",
            at=("privacy", "unit"),
        )


def check_split(spec: ReleaseSpec, /) -> None:
    """The split names every table and nothing else, and leaves the base something."""
    split = spec.privacy.split
    if split is None:
        return
    at = ("privacy", "split")
    for name in split:
        if name not in spec.tables:
            raise refusal(
                f"names a table {name!r} that does not exist; there are {', '.join(spec.tables)}", at=at
            )
    for name in spec.tables:
        if name not in split:
            raise refusal(
                "is missing; give every table its share, 0 for one that is only derived", at=(*at, name)
            )
    if split[spec.base] == 0:
        raise refusal("is 0, but the base table must be measured; give it a share", at=(*at, spec.base))


def check_workload(spec: ReleaseSpec, /) -> None:
    """Questions use dimensions that the spec has; whether its tables can answer them is worked out later."""
    for name, question in spec.workload.items():
        for key, used in (("where", question.where), ("by", question.by)):
            for dimension in used:
                known(spec.dimensions, dimension, at=("workload", name, key))
        if question.top is not None and not question.by:
            raise refusal(
                "needs 'by': the dimension whose largest groups are asked for", at=("workload", name, "top")
            )
    if spec.privacy.strategy == "workload":
        at = ("privacy", "strategy")
        if not spec.workload:
            raise refusal(
                "is 'workload', but the spec has none; write down the questions that will be asked", at=at
            )
        if spec.series is not None:
            raise refusal("is 'workload', but a series has a strategy of its own; remove one of them", at=at)
