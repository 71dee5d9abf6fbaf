"""How the tables were protected, if they were: the mechanism of each, and tables that nothing protects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from noisegate.assessment.finding import Check, Finding, Result, Severity
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.words import plural
from noisegate.recovery import Recognition
from noisegate.tables import Table

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: Of the counts that are not 0: a share of people whose last attribute follows from the others that is a high risk, and shares of ones and
#: twos that are a high and a medium one.
_TOLD, _MOST_SMALL, _MANY_SMALL = 0.01, 0.25, 0.1
#: So many of the places where people are alone are named.
_NAMED = 3

_KINDS = {
    "exact": "adds up to the last digit: published as counted, or made to add up afterwards",
    "adds-up": "perturbed or swapped, and made to add up",
    "hidden-ranges": "published as counted, some counts hidden",
    "nearest-rounding": "rounded to the nearest multiple of {base}",
    "random-rounding": "rounded at random to a multiple of {base}",
    "rounding": "rounded to multiples of {base}, at random or to the nearest",
    "rounding-up": "rounded up to a multiple of {base}",
    "rounding-down": "rounded down to a multiple of {base}",
    "graded-rounding": "rounded, the more coarsely the larger a count is",
    "uniform": "uniform noise within ±{bound}",
    "bounded": "noise with a bound, within ±{bound}",
    "laplace": "noise that looks like Laplace",
    "gaussian": "noise that looks like Gaussian",
    "growing": "noise that grows with the count",
    "summed": "summed from published counts",
    "unknown": "cannot tell",
    "noise": "noise of some kind",
}
#: What noise or rounding with a bound does, since there is no epsilon to say it.
_PROTECTS = {
    "nearest-rounding": "A raw count is known to within half the base, for certain; the same answer every time, so that repeating tells nothing.",
    "random-rounding": "A raw count is known to within one less than the base, for certain, and extremes give it away.",
    "rounding": "A raw count is known to within one less than the base, for certain.",
    "uniform": "A raw count is known to within the bound, for certain, and at the bound exactly.",
    "bounded": "A raw count is known to within the bound, for certain; whoever knows all others in a sum learns it at the bound.",
}

WORDS: Mapping[str, Words] = {
    "mechanism": Words(
        says="How a table was made: as counted, rounded, with noise of some kind, or that it cannot be told.",
    ),
    "identities": Words(
        says="A family of sums that does not hold among the raw counts, so nothing rests on it.",
    ),
    "unprotected": Words(
        says="Counts are published as they are: everything adds up and nothing is hidden.",
        meaning="Nothing shows that these tables are protected: small counts can be read off as they stand.",
        method=(
            "Every total that can be compared is the sum of its parts to the last digit, and no cell is hidden. Tables that "
            "were perturbed and made to add up afterwards, or whose records were swapped before they were counted, look the same; "
            "only whoever made them can say so. Small counts are "
            "those of one or two people; by dimension it is counted how many values hold a single person. Severe is what tells "
            "something: where a person is the only one with all attributes but one, these tell the last. A table of places by age "
            "with a few ones tells nobody's age to somebody who knows the place."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """How each table was made, and whether nothing protects the base."""
    stated = facts.card is not None and facts.card.about(facts.structure.base) is not None
    found = [about_mechanism(one) for one in facts.recognised.values()]
    results: list[Result] = [*found, *about_families(facts)]
    recognition = facts.recognised.get(facts.structure.base.name)
    if recognition is not None and recognition.kind == "exact" and not stated:
        results.append(about_unprotected(facts.structure.base, recognition))
    elif recognition is not None and recognition.noise_sd and not stated:
        results += [
            about_unprotected(one, facts.recognised[one.name], over_noise=True)
            for one in _exact_totals(facts)
        ]
    return results


def _exact_totals(facts: Facts, /) -> list[Table]:
    """The totals that stand as counted, without those that are sums of others of them."""
    exact = [one for one in facts.structure.tables[1:] if facts.recognised[one.name].kind == "exact"]
    names = {one.name: {dimension.name for dimension in one.dimensions} for one in exact}
    return [one for one in exact if not any(names[one.name] < names[other.name] for other in exact)]


_ALL_HOLDS = "all sums hold exactly and nothing is hidden"
_HARDLY_TOLD = {"exact", "hidden-ranges", "noise"}


def in_words(recognition: Recognition, /) -> str:
    """The mechanism in words."""
    said = _named(recognition.kind, recognition)
    if recognition.kind != "unknown" or not recognition.rivals:
        return said
    if set(recognition.rivals) <= _HARDLY_TOLD:
        # A few sums that hold say little, and how likely either is beforehand nobody knows: a number would look like evidence.
        return f"{said}: {' or '.join(_named(kind, recognition) for kind in recognition.rivals)}"
    rivals = ", ".join(
        f"{_named(kind, recognition)} {chance:.0%}"
        for kind, chance in recognition.rivals.items()
        if chance >= 0.01
    )
    return f"{said}: {rivals}"


def _named(kind: str, recognition: Recognition, /) -> str:
    """A kind in words, with its base or bound where that is known."""
    words = _KINDS[kind]
    if kind == "exact" and recognition.kind == "unknown":
        words = "no noise of its own" if recognition.noise_sd is not None else "published as counted"
    if "{bound}" in words and recognition.bound is None:
        words = words.partition(" within")[0].rstrip(",")
    return words.format(base=recognition.base, bound=recognition.bound)


def about_mechanism(recognition: Recognition, /) -> Check:
    """How one table was made."""
    proven = recognition.reach is not None or recognition.base is None
    protects = _PROTECTS.get(recognition.kind) if proven else None
    return Check(
        id="mechanism",
        outcome="cannot tell" if recognition.kind == "unknown" else "known",
        title=f"{recognition.table}: {in_words(recognition)} ({recognition.evidence})",
        numbers={"table": recognition.table, **recognition.to_json()},
        evidence=[f"It has no epsilon. {protects}"] if protects else [],
    )


def about_families(facts: Facts, /) -> list[Check]:
    """Families of sums that something refutes."""
    ledger = facts.identity_ledger
    return [
        Check(
            id="identities",
            outcome="refused",
            title=f"that {one.title} does not hold: {one.refuted_by[0]}",
            numbers=one.to_json(),
        )
        for one in (() if ledger is None else ledger.families)
        if one.refuted_by
    ]


def about_unprotected(table: Table, recognition: Recognition, /, *, over_noise: bool = False) -> Finding:
    """That nothing protects a table, and how many people that leaves alone; `over_noise`: that totals stand as counted over cells with noise."""
    numbers = _small(table)
    ones, twos, told = numbers["ones"], numbers["twos"], numbers["told_by_the_rest"]
    small = (
        f"{plural(ones, 'count')} of 1 and {twos:,} of 2 stand as they are"
        if ones + twos
        else "it holds no count of 1 or 2"
    )
    if told:
        small += f", and for {plural(told, 'person', 'people')} all but one attribute tell the last"
    seen = "its counts have no noise, though those of its parts have" if over_noise else _ALL_HOLDS
    return Finding(
        id="unprotected",
        severity=_severity(numbers),
        title=f"Nothing protects {table.name} that can be seen: {seen}; {small}",
        numbers={"table": table.name, **numbers, "identities": recognition.n},
        baseline={"from": "tables that were perturbed or rounded", "known": 0},
        evidence=[f"{recognition.evidence[0].upper()}{recognition.evidence[1:]}.", *_alone(table)],
        assumptions=(
            "records were not swapped before they were counted, and tables not perturbed and then made to add up: both look the same",
        ),
        advice=(
            "Perturb, round or merge small counts before tables are published; if that was done, say how on a card beside them."
        ),
    )


def _severity(numbers: Mapping[str, Any], /) -> Severity:
    """By what small counts give away: a person's last attribute from the others, or at least many people who stand alone.

    A 1 in a table of places by age tells nobody anything that is not known of whoever is that old and lives there. With a third
    dimension it tells that.
    """
    whole = max(numbers["not_empty"], 1)
    told, small = numbers["told_by_the_rest"] / whole, (numbers["ones"] + numbers["twos"]) / whole
    if told >= _TOLD or small >= _MOST_SMALL:
        return "high"
    return "medium" if told or small >= _MANY_SMALL else "low"


def _small(table: Table, /) -> dict[str, Any]:
    values = np.asarray(table.values)
    return {
        "ones": int((values == 1).sum()),
        "twos": int((values == 2).sum()),
        "not_empty": int((values > 0).sum()),
        "published": int(values.size),
        "unique_by_dimension": _unique(table),
        "told_by_the_rest": _told(table),
    }


def _told(table: Table, /) -> int:
    """How many people are alone among all who share all their attributes but one, so that these tell the last.

    What the others tell of everybody, as a small area tells its district, is no news.
    """
    values = np.asarray(table.values)
    codes = np.asarray(table.codes(table.cells), np.int64)
    if len(table.dimensions) < 2:
        return 0
    alone = np.zeros(values.size, bool)
    for place, dimension in enumerate(table.dimensions):
        if len(dimension.labels) > 1:
            _, line = np.unique(np.delete(codes, place, axis=0), axis=1, return_inverse=True)
            people = np.bincount(line.ravel(), weights=values)
            open_to_several = np.bincount(line.ravel()) > 1
            alone |= ((people == 1) & open_to_several)[line.ravel()] & (values > 0)
    return int(alone.sum())


def _unique(table: Table, /) -> dict[str, int]:
    """For each dimension, in how many of its values exactly one person is counted somewhere in the table."""
    alone = table.cells[np.asarray(table.values) == 1]
    codes = table.codes(alone)
    return {
        dimension.name: int(np.unique(row).size)
        for dimension, row in zip(table.dimensions, codes, strict=True)
    }


def _alone(table: Table, /) -> list[str]:
    """Some of the cells that hold one person, by name."""
    alone = table.cells[np.asarray(table.values) == 1][:_NAMED]
    labels = table.labels(alone)
    return [
        f"One person: {', '.join(f'{name} {values[place]}' for name, values in labels.items())}."
        for place in range(alone.size)
    ]


def show(assessment: Assessment, /) -> Exhibit:
    """The mechanism of each table."""
    return Exhibit(
        section="tables",
        grids=(
            Grid.of(
                "How the tables were made",
                ("table", "mechanism", "evidence"),
                [
                    (one.table, in_words(one), one.evidence)
                    for one in (table.recognition for table in assessment.tables)
                    if one is not None
                ],
            ),
        ),
    )
