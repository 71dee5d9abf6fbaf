"""The card: the public statement of how a release was made, as one type that release writes and all others read.

Field names follow the OpenDP deployments registry where it has one. A card that another program wrote may lack what only
our own tables need: the domain, the base, the ledger. What an assessment rests on must be there: the unit, the losses, the
mechanism, and for each table its dimensions, noise and threshold.

Guarantee: `Card.read` takes at most 64 MiB and only the types below, or raises `DataError`; `Card.read(card.to_json()) == card`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol, Self, cast

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.places import read_octets
from noisegate.tables.domain import Domain
from noisegate.tables.question import Question
from noisegate.tables.stated import state_domain, stated_domain

#: What a card is called when it lies beside the tables.
CARD: Final = "card.json"
#: The form of cards that this program writes.
VERSION: Final = 1
_MOST_DEPTH: Final = 12
_KEYS: Final = frozenset(
    [
        "name",
        "software",
        "simulated",
        "privacy_unit",
        "privacy_unit_description",
        "neighbours",
        "dp_variant",
        "privacy_parameters",
        "privacy_loss",
        "bounding",
        "composition",
        "mechanism",
        "tables",
        "post_processing",
        "unsafe",
        "attacker",
        "not_protected",
        "domain",
        "workload",
        "ledger",
        "series",
        "published",
        "version",
    ]
)
Number = int | float
Json = dict[str, Any]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


class NamedCells(Protocol):
    """A table that a card may be about."""

    @property
    def name(self) -> str:
        """The name of its file."""
        ...

    @property
    def dimensions(self) -> Sequence[_Named]:
        """Its dimensions, by name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """The program that made a release."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CardLoss:
    """A privacy loss as a card states it, never below the exact one."""

    epsilon: Number | None
    delta: Number | None

    def to_json(self) -> Json:
        """As it stands on a card."""
        return {"epsilon": self.epsilon, "delta": self.delta}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleLoss:
    """The loss of somebody with so many events, stated where only events are protected."""

    events: int
    each: str
    loss: CardLoss


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedLosses:
    """The losses of one event, one person on one day, and one person; None where nothing of the kind is bounded."""

    event: CardLoss | None
    person_day: CardLoss | None
    person: CardLoss | None
    example: ExampleLoss | None
    days: int | None = None
    parts_of_a_unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCertainty:
    """How often the best test is right about whether somebody is in the data, at most; `guessing` is right without any table."""

    whose: str
    right: Number
    guessing: Number

    def to_json(self) -> Json:
        """As it stands on a card."""
        return {"whose": self.whose, "right": self.right, "guessing": self.guessing}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clipped:
    """What the bound leaves out, as noise shows it: shares of units and of events, with 95 % intervals.

    Of one unit at most as many lost events are counted as its bound, so the share of events is a lower bound where some
    units are far beyond it.
    """

    epsilon: float
    units: float
    units_low: float
    units_high: float
    events: float
    events_low: float
    events_high: float

    def to_json(self) -> Json:
        """As it stands on a card."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounding:
    """The most that one unit adds: so many cells, each so many times; and what is kept beyond that."""

    max_cells: int
    max_per_cell: int
    kept: str
    clipped: Clipped | None = None

    def to_json(self) -> Json:
        """As it stands on a card."""
        found: Json = {
            "max_cells": self.max_cells,
            "max_per_cell": self.max_per_cell,
            "l0": self.max_cells,
            "l1": self.max_cells * self.max_per_cell,
            "linf": self.max_per_cell,
            "kept": self.kept,
        }
        if self.clipped is not None:
            found["clipped"] = self.clipped.to_json()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedMechanism:
    """How counts became published ones, in the words of a spec."""

    law: str | None
    sampler: str | None
    rounding: str | None
    zeros: str | None
    margins: str | None
    margins_description: str | None

    def to_json(self) -> Json:
        """As it stands on a card."""
        return {
            "law": self.law,
            "sampler": self.sampler,
            "rounding": self.rounding,
            "zeros": self.zeros,
            "margins": self.margins,
            "margins_description": self.margins_description,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CardNoise:
    """The noise of one measured table."""

    law: str
    scale: Number
    scale_exact: str | None = None
    variance: Number | None = None

    def to_json(self) -> Json:
        """As it stands on a card."""
        return {
            "law": self.law,
            "scale": self.scale,
            "scale_exact": self.scale_exact,
            "variance": self.variance,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedError:
    """The error of one published cell."""

    terms: Number
    standard_deviation: Number
    expected_absolute: Number
    level: Number
    half_width: Number
    holds_for: str

    def to_json(self) -> Json:
        """As it stands on a card."""
        return {
            "terms": self.terms,
            "standard_deviation": self.standard_deviation,
            "expected_absolute": self.expected_absolute,
            "level": self.level,
            "half_width": self.half_width,
            "holds_for": self.holds_for,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTable:
    """What a card says of one table; `noise` is None where it was summed from others.

    `threshold` is the least count that is shown, None if all are.
    """

    name: str
    dimensions: tuple[str, ...]
    noise: CardNoise | None
    threshold: Number | None
    cells: int | None = None
    rows: int | None = None
    base: bool = False
    share: Number | None = None
    spurious_share: Number | None = None
    error: StatedError | None = None

    @property
    def law(self) -> str | None:
        """The law of its own noise."""
        return None if self.noise is None else self.noise.law

    @property
    def scale(self) -> Number | None:
        """The scale of its own noise."""
        return None if self.noise is None else self.noise.scale

    def to_json(self) -> Json:
        """As it stands on a card."""
        known = self.cells is not None and self.rows is not None
        return {
            "dimensions": list(self.dimensions),
            "cells": self.cells,
            "rows": self.rows,
            "suppressed": cast("int", self.cells) - cast("int", self.rows) if known else None,
            "base": self.base,
            "share": self.share,
            "noise": None if self.noise is None else self.noise.to_json(),
            "threshold": None if self.threshold is None else {"value": self.threshold, "rule": "ge"},
            "spurious_share": self.spurious_share,
            "error": None if self.error is None else self.error.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPrediction:
    """What noise does to the groups of one question, all cells being published."""

    table: str
    groups: int
    cells_of_a_group: Number
    standard_deviation: Number
    expected_absolute: Number
    half_width: Number
    level: Number
    gap: Number | None = None

    def to_json(self) -> Json:
        """As it stands on a card."""
        return {
            "table": self.table,
            "groups": self.groups,
            "cells_of_a_group": self.cells_of_a_group,
            "standard_deviation": self.standard_deviation,
            "expected_absolute": self.expected_absolute,
            "half_width": self.half_width,
            "level": self.level,
            "gap": self.gap,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedQuestion:
    """A question that the release was made for: what noise does to it, or the reason why it is not answered."""

    question: Question
    noise: StatedPrediction | None = None
    depends_on_counts: bool | None = None

    def to_json(self) -> Json:
        """As it stands on a card."""
        entry = self.question.to_json()
        if self.noise is None:
            return {**entry, "answered": False, "reason": self.question.reason}
        return {
            **entry,
            "answered": True,
            "noise": self.noise.to_json(),
            "depends_on_counts": self.depends_on_counts,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Dimensions that depend on each other, and the combinations that exist: label by label, the last ones in lists."""

    dimensions: tuple[str, ...]
    combinations: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NestingLeftOut:
    """A dimension whose values file says what it goes with, and why the domain has all combinations all the same."""

    dimension: str
    within: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedDomain:
    """The public cells of a release in words.

    Attributes
    ----------
    dimensions
        All labels of each dimension: values, then merged ones.
    merged
        For each dimension that has any, the values that each merged label stands for.
    blocks
        The labels of each block, if the domain has several.
    nesting
        The combinations of dimensions that depend on each other.
    nesting_left_out
        Dimensions that depend on each other and of which the domain has all combinations.
    described
        What the labels of a dimension mean, where they do not say so themselves.
    """

    cells: int | None
    product: bool
    dimensions: Mapping[str, tuple[str, ...]]
    merged: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    blocks: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    nesting: tuple[Nesting, ...] = ()
    nesting_left_out: tuple[NestingLeftOut, ...] = ()
    described: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, domain: Domain, /) -> Self:
        """The cells of a domain in words."""
        return cast("Self", _domain(_Block(state_domain(domain), "domain")))

    def build(self, names: Iterable[str], /) -> Domain:
        """The domain over the dimensions `names`, cell by cell as it was.

        Raises
        ------
        SpecError
            If the words make no sense.
        """
        try:
            return stated_domain(self.to_json(), list(names))
        except (KeyError, ValueError, TypeError, IndexError) as problem:
            if isinstance(problem, SpecError):
                raise
            raise SpecError("its domain names labels or dimensions that it does not list.") from None

    def to_json(self) -> Json:
        """As it stands on a card."""
        found: Json = {
            "cells": self.cells,
            "product": self.product,
            "dimensions": {name: list(labels) for name, labels in self.dimensions.items()},
        }
        if self.merged:
            found["merged"] = {
                name: {label: list(values) for label, values in groups.items()}
                for name, groups in self.merged.items()
            }
        if self.blocks:
            found["blocks"] = [
                {name: list(labels) for name, labels in block.items()} for block in self.blocks
            ]
        if self.nesting:
            found["nesting"] = [
                {"dimensions": list(nest.dimensions), "combinations": dict(nest.combinations)}
                for nest in self.nesting
            ]
        if self.nesting_left_out:
            found["nesting_left_out"] = [
                {"dimension": one.dimension, "within": one.within, "reason": one.reason}
                for one in self.nesting_left_out
            ]
        if self.described:
            found["described"] = dict(self.described)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedPayment:
    """The reservation that paid for a release, and the public name of its account if it has one.

    What is `simulated` has repeatable noise, and is no release about anybody.
    """

    dataset: str | None
    reservation: str | None
    simulated: bool = field(default=False, compare=False)

    def to_json(self) -> Json:
        """As it stands on a card; older cards call the population a dataset."""
        return {"dataset": self.dataset, "population": self.dataset, "reservation": self.reservation}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """How a release was made: everything an analyst or assessor needs, and nothing secret.

    Attributes
    ----------
    unit, unit_description
        What is protected, in the words of a spec and in plain ones.
    parameters, losses
        The loss that was charged, for all tables together; and that of events, days and persons.
    bounding
        The most that one unit adds; None if every event counts.
    tables
        In the order of the spec.
    unsafe
        Each unsafe choice with its measured consequence.
    attacker
        What the best test achieves against events, days and persons; empty on cards that do not say.
    domain
        The public cells of the base; None on cards of other programs.
    series
        Which week of a series it is, or which weeks it sums, and what that was estimated from; None if it stands alone.
    published
        The day on which the release was made, in universal time; None on cards that do not say.
    extra
        Keys that this version does not know, kept as they are.
    path
        Where it was read from.
    """

    name: str | None
    unit: str
    losses: StatedLosses
    mechanism: StatedMechanism
    tables: tuple[StatedTable, ...]
    version: int = VERSION
    software: Software | None = None
    simulated: bool = False
    unit_description: str | None = None
    neighbours: str | None = None
    dp_variant: str | None = None
    parameters: CardLoss | None = None
    bounding: Bounding | None = None
    composition: str | None = None
    post_processing: tuple[str, ...] = ()
    unsafe: tuple[Mapping[str, Any], ...] = ()
    attacker: tuple[StatedCertainty, ...] = ()
    not_protected: tuple[str, ...] = ()
    domain: StatedDomain | None = None
    workload: tuple[StatedQuestion, ...] = ()
    payment: StatedPayment = StatedPayment(dataset=None, reservation=None)
    series: Mapping[str, Any] | None = None
    published: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = field(default=None, compare=False)

    @classmethod
    def read(cls, source: Path | bytes | Mapping[str, Any], /) -> Self:
        """The card in a file, in its bytes, or in what they hold.

        Raises
        ------
        DataError
            If it cannot be read, is too large, or is no card of a release.
        """
        path = source if isinstance(source, Path) else None
        document = source if isinstance(source, Mapping) else read_document(source)
        try:
            return cast("Self", replace(_card(_Block(document, "")), path=path))
        except RecursionError:
            raise DataError(
                f"{'The card' if path is None else path} nests too deep; that is no card."
            ) from None
        except _NotSo as problem:
            raise DataError(
                f"{'The card' if path is None else path} is not the card of a release: {problem}. "
                "Leave --card out, or move the file away from the tables."
            ) from None

    def to_json(self) -> Json:
        """The card as plain data, in the order in which it is written."""
        return {
            "name": self.name,
            "software": None
            if self.software is None
            else {"name": self.software.name, "version": self.software.version},
            "simulated": self.simulated,
            "privacy_unit": self.unit,
            "privacy_unit_description": self.unit_description,
            "neighbours": self.neighbours,
            "dp_variant": self.dp_variant,
            "privacy_parameters": _loss_json(self.parameters),
            "privacy_loss": self._losses(),
            "bounding": None if self.bounding is None else self.bounding.to_json(),
            "composition": self.composition,
            "mechanism": self.mechanism.to_json(),
            "tables": {table.name: table.to_json() for table in self.tables},
            "post_processing": list(self.post_processing),
            "unsafe": [dict(choice) for choice in self.unsafe],
            **({"attacker": [one.to_json() for one in self.attacker]} if self.attacker else {}),
            "not_protected": list(self.not_protected),
            "domain": None if self.domain is None else self.domain.to_json(),
            **({"workload": [entry.to_json() for entry in self.workload]} if self.workload else {}),
            "ledger": self.payment.to_json(),
            **({} if self.series is None else {"series": dict(self.series)}),
            **({} if self.published is None else {"published": self.published}),
            "version": self.version,
            **self.extra,
        }

    def _losses(self) -> Json:
        losses = self.losses
        example = None
        if losses.example is not None:
            example = {
                "events": losses.example.events,
                "each": losses.example.each,
                **losses.example.loss.to_json(),
            }
        return {
            "event": _loss_json(losses.event),
            "person_day": _loss_json(losses.person_day),
            "person": _loss_json(losses.person),
            "person_example": example,
            "days": losses.days,
            "parts_of_a_unit": losses.parts_of_a_unit,
        }

    def about(self, cells: NamedCells, /) -> StatedTable | None:
        """What the card says of a table: of the one of its name, else of the only one with its dimensions."""
        named = [table for table in self.tables if table.name == cells.name]
        wanted = frozenset(dimension.name for dimension in cells.dimensions)
        alike = [table for table in self.tables if frozenset(table.dimensions) == wanted]
        return named[0] if named else alike[0] if len(alike) == 1 else None

    @property
    def base(self) -> StatedTable | None:
        """The finest table, which all others are sums of; None if the card does not say."""
        return next((table for table in self.tables if table.base), None)

    @property
    def complete(self) -> bool:
        """Whether it is a card of ours, with all that its tables need to be read and computed with."""
        ours = self.software is not None and self.software.name == "noisegate"
        return ours and None not in (self.domain, self.base, self.name, self.zeros, self.margins)

    @property
    def zeros(self) -> str | None:
        """Whether empty cells get noise: `keep` or `perturb`."""
        return self.mechanism.zeros

    @property
    def margins(self) -> str | None:
        """How totals came about: `derive`, `reconcile` or `independent`."""
        return self.mechanism.margins

    @property
    def event_epsilon(self) -> Number | None:
        """The loss of one event; None if it is not bounded."""
        return None if self.losses.event is None else self.losses.event.epsilon

    @property
    def person_epsilon(self) -> Number | None:
        """The loss of a person, or of one with `person_events` events."""
        if self.losses.person is not None:
            return self.losses.person.epsilon
        return None if self.losses.example is None else self.losses.example.loss.epsilon

    @property
    def person_events(self) -> int | None:
        """For how many events the loss of a person is stated; None if it holds for any number."""
        if self.losses.person is not None or self.losses.example is None:
            return None
        return self.losses.example.events

    @property
    def delta(self) -> Number | None:
        """The chance by which the promise about one event may fail."""
        return None if self.losses.event is None else self.losses.event.delta

    def build_domain(self) -> Domain:
        """The public cells of the base.

        Raises
        ------
        SpecError
            If the card does not state them, or states them in a way that makes no sense.
        """
        if self.domain is None or self.base is None:
            raise SpecError("it does not state the cells of its tables.")
        return self.domain.build(self.base.dimensions)


def _loss_json(loss: CardLoss | None, /) -> Json | None:
    return None if loss is None else loss.to_json()


def read_document(source: Path | bytes, /) -> Mapping[str, Any]:
    """What the bytes of a card hold.

    Raises
    ------
    DataError
        If they are no JSON object of at most 64 MiB.
    """
    what = "The card" if isinstance(source, bytes) else f"The card {source}"
    most = limits.current().card_bytes
    octets = source if isinstance(source, bytes) else _octets(source, most)
    if len(octets) > most:
        raise DataError(f"{what} is larger than {most >> 20} MiB; that is no card.")
    try:
        document = json.loads(octets)
        # What cannot be written again, such as half of a character, cannot be a label either.
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise DataError(f"{what} is not JSON; name the card.json of the release.") from None
    if not isinstance(document, dict):
        raise DataError(f"{what} is not the card of a release: it is no block of keys.")
    return document


def _octets(path: Path, most: int, /) -> bytes:
    """The bytes of a file, not many more than `most`."""
    return read_octets(path, most=most, what="The card", way_out="that is no card")


def stated_payment(octets: bytes, /) -> StatedPayment:
    """What paid for a release, by the bytes of its card, whatever else these say; nothing if they are no card."""
    try:
        card = read_document(octets)
    except DataError:
        card = {}
    facts = card.get("ledger")
    named = facts if isinstance(facts, dict) else {}
    dataset, reservation = named.get("dataset"), named.get("reservation")
    return StatedPayment(
        dataset=dataset if isinstance(dataset, str) else None,
        reservation=reservation if isinstance(reservation, str) else None,
        simulated=card.get("simulated") is True,
    )


def find_card(given: Path | None, tables: Iterable[Path], /) -> Card | None:
    """The card that was named, or the one that lies beside the tables; None if there is none.

    Raises
    ------
    DataError
        If it cannot be read.
    """
    if given is not None:
        return Card.read(given)
    folders = {table.parent for table in tables}
    beside = folders.pop() / CARD if len(folders) == 1 else None
    return None if beside is None or not beside.is_file() else Card.read(beside)


#: Whole numbers on a card are counts, which have 64 bits.
_LARGEST = 2**63 - 1


class _NotSo(Exception):  # noqa: N818 - never leaves this module
    """A card does not say what it must, or says it in another form."""


class _Block:
    """A block of keys on a card, which remembers where it stands."""

    def __init__(self, content: object, at: str, /) -> None:
        if not isinstance(content, Mapping):
            raise _NotSo(f"{at or 'it'} must be a block of keys, got {_shown(content)}")
        self.content, self.at = content, at

    def _get(self, name: str, kinds: tuple[type, ...], words: str, /) -> Any:
        """The value of a key; None if there is none or it is null."""
        value = self.content.get(name)
        if value is None:
            return None
        good = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        if not good or (isinstance(value, float) and not math.isfinite(value)):
            raise _NotSo(f"{self._place(name)} must be {words}, got {_shown(value)}")
        return value

    def _place(self, name: str, /) -> str:
        return f"{self.at}.{name}" if self.at else name

    def required(self, name: str, found: Any, /) -> Any:
        """What was found; refuses nothing."""
        if found is None:
            raise _NotSo(f"it does not say how the tables were made ({self._place(name)} is missing)")
        return found

    def text(self, name: str, /) -> str | None:
        """A text."""
        return cast("str | None", self._get(name, (str,), "text"))

    def number(self, name: str, /) -> Number | None:
        """A number as it is written."""
        found = cast("Number | None", self._get(name, (int, float), "a finite number"))
        if isinstance(found, int) and abs(found) > _LARGEST:
            raise _NotSo(f"{self._place(name)} must be a finite number, got {_shown(found)}")
        return found

    def whole(self, name: str, /) -> int | None:
        """A whole number."""
        found = cast("int | None", self._get(name, (int,), "a whole number"))
        if found is not None and abs(found) > _LARGEST:
            raise _NotSo(f"{self._place(name)} must be a whole number of 64 bits, got {_shown(found)}")
        return found

    def flag(self, name: str, /) -> bool:
        """Yes or no; no if it is not there."""
        return bool(self._get(name, (bool,), "true or false"))

    def block(self, name: str, /) -> _Block | None:
        """A block inside this one."""
        found = self._get(name, (dict,), "a block of keys")
        return None if found is None else _Block(found, self._place(name))

    def needed(self, name: str, /) -> _Block:
        """A block that must be there."""
        return cast("_Block", self.required(name, self.block(name)))

    def blocks(self, name: str, /) -> list[_Block]:
        """A list of blocks."""
        found = self._get(name, (list,), "a list") or []
        return [_Block(one, f"{self._place(name)}[{place}]") for place, one in enumerate(found)]

    def texts(self, name: str, /) -> tuple[str, ...]:
        """A list of texts."""
        found = self._get(name, (list,), "a list of texts") or []
        if not all(isinstance(one, str) for one in found):
            raise _NotSo(f"{self._place(name)} must be a list of texts")
        return tuple(found)


def _shown(value: object, /) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _card(top: _Block, /) -> Card:
    mechanism, software = top.needed("mechanism"), top.block("software")
    domain, payment = top.block("domain"), top.block("ledger")
    tables = top.needed("tables")
    bounding = top.block("bounding")
    return Card(
        version=top.whole("version") or VERSION,
        name=top.text("name"),
        software=None
        if software is None
        else Software(name=software.text("name") or "", version=software.text("version") or ""),
        simulated=top.flag("simulated"),
        unit=top.required("privacy_unit", top.text("privacy_unit")),
        unit_description=top.text("privacy_unit_description"),
        neighbours=top.text("neighbours"),
        dp_variant=top.text("dp_variant"),
        parameters=_loss(top.block("privacy_parameters")),
        losses=_losses(top.needed("privacy_loss")),
        bounding=None if bounding is None else _bounding(bounding),
        composition=top.text("composition"),
        mechanism=StatedMechanism(
            law=mechanism.text("law"),
            sampler=mechanism.text("sampler"),
            rounding=mechanism.text("rounding"),
            zeros=mechanism.text("zeros"),
            margins=mechanism.text("margins"),
            margins_description=mechanism.text("margins_description"),
        ),
        tables=tuple(_table(name, tables.needed(name)) for name in map(str, tables.content)),
        post_processing=top.texts("post_processing"),
        unsafe=tuple(_plain(choice.content, choice.at) for choice in top.blocks("unsafe")),
        attacker=tuple(_certainty(one) for one in top.blocks("attacker")),
        not_protected=top.texts("not_protected"),
        domain=None if domain is None else _domain(domain),
        workload=tuple(_question(entry) for entry in top.blocks("workload")),
        payment=StatedPayment(dataset=None, reservation=None)
        if payment is None
        else StatedPayment(dataset=payment.text("dataset"), reservation=payment.text("reservation")),
        series=None if (series := top.block("series")) is None else _plain(series.content, series.at),
        published=top.text("published"),
        extra={key: _plain(value, key) for key, value in top.content.items() if key not in _KEYS},
    )


def _certainty(block: _Block, /) -> StatedCertainty:
    return StatedCertainty(
        whose=block.required("whose", block.text("whose")),
        right=block.required("right", block.number("right")),
        guessing=block.required("guessing", block.number("guessing")),
    )


def _loss(block: _Block | None, /) -> CardLoss | None:
    if block is None:
        return None
    for name in ("epsilon", "delta"):
        if name not in block.content:
            block.required(name, None)
    return CardLoss(epsilon=block.number("epsilon"), delta=block.number("delta"))


def _losses(block: _Block, /) -> StatedLosses:
    found = block.block("person_example")
    example = None
    if found is not None:
        loss = cast("CardLoss", _loss(found))
        events = found.required("events", found.whole("events"))
        example = ExampleLoss(events=events, each=found.text("each") or "", loss=loss)
    person = _loss(block.block("person"))
    if person is None and example is None:
        block.required("person_example", None)
    return StatedLosses(
        event=_loss(block.block("event")),
        person_day=_loss(block.block("person_day")),
        person=person,
        example=example,
        days=block.whole("days"),
        parts_of_a_unit=block.text("parts_of_a_unit"),
    )


def _bounding(block: _Block, /) -> Bounding:
    return Bounding(
        max_cells=block.required("max_cells", block.whole("max_cells")),
        max_per_cell=block.required("max_per_cell", block.whole("max_per_cell")),
        kept=block.text("kept") or "",
        clipped=None if (told := block.block("clipped")) is None else _clipped(told),
    )


def _clipped(block: _Block, /) -> Clipped:
    names = Clipped.__slots__
    return Clipped(**{name: float(block.required(name, block.number(name))) for name in names})


def _table(name: str, block: _Block, /) -> StatedTable:
    for key in ("dimensions", "noise", "threshold"):
        if key not in block.content:
            block.required(key, None)
    noise, threshold, error = block.block("noise"), block.block("threshold"), block.block("error")
    return StatedTable(
        name=name,
        dimensions=block.texts("dimensions"),
        noise=None if noise is None else _noise(noise),
        threshold=None
        if threshold is None
        else cast("Number", threshold.required("value", threshold.number("value"))),
        cells=block.whole("cells"),
        rows=block.whole("rows"),
        base=block.flag("base"),
        share=block.number("share"),
        spurious_share=block.number("spurious_share"),
        error=None if error is None else _error(error),
    )


def _noise(block: _Block, /) -> CardNoise:
    return CardNoise(
        law=block.required("law", block.text("law")),
        scale=block.required("scale", block.number("scale")),
        scale_exact=block.text("scale_exact"),
        variance=block.number("variance"),
    )


def _error(block: _Block, /) -> StatedError:
    names = ("terms", "standard_deviation", "expected_absolute", "level", "half_width")
    numbers = {name: block.required(name, block.number(name)) for name in names}
    return StatedError(**numbers, holds_for=block.text("holds_for") or "")


def _question(block: _Block, /) -> StatedQuestion:
    try:
        question = Question.from_json(block.content)
    except DataError:
        raise _NotSo(f"{block.at} is a question in another form than this program writes") from None
    if not block.flag("answered"):
        return StatedQuestion(question=question)
    noise = block.needed("noise")
    names = ("cells_of_a_group", "standard_deviation", "expected_absolute", "half_width", "level")
    numbers = {name: noise.required(name, noise.number(name)) for name in names}
    prediction = StatedPrediction(
        table=noise.required("table", noise.text("table")),
        groups=noise.required("groups", noise.whole("groups")),
        gap=noise.number("gap"),
        **numbers,
    )
    return StatedQuestion(
        question=question, noise=prediction, depends_on_counts=block.flag("depends_on_counts")
    )


def _domain(block: _Block, /) -> StatedDomain:
    dimensions = block.needed("dimensions")
    merged, described = block.block("merged"), block.block("described")
    return StatedDomain(
        cells=block.whole("cells"),
        product=block.flag("product"),
        dimensions=_labels(dimensions),
        merged={}
        if merged is None
        else {str(name): _labels(merged.needed(str(name))) for name in merged.content},
        blocks=tuple(_labels(one) for one in block.blocks("blocks")),
        nesting=tuple(
            Nesting(
                dimensions=one.texts("dimensions"),
                combinations=_plain(one.needed("combinations").content, one.at),
            )
            for one in block.blocks("nesting")
        ),
        nesting_left_out=tuple(
            NestingLeftOut(
                **{name: one.required(name, one.text(name)) for name in ("dimension", "within", "reason")}
            )
            for one in block.blocks("nesting_left_out")
        ),
        described={}
        if described is None
        else {str(name): described.text(str(name)) or "" for name in described.content},
    )


def _labels(block: _Block, /) -> dict[str, tuple[str, ...]]:
    return {str(name): block.texts(str(name)) for name in block.content}


def _plain(value: Any, at: str, /, *, depth: int = 0) -> Any:
    """Plain data of a bounded depth."""
    if depth > _MOST_DEPTH:
        raise _NotSo(f"{at} holds blocks in blocks, more than {_MOST_DEPTH} deep")
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, at, depth=depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, at, depth=depth + 1) for inner in value]
    return value
