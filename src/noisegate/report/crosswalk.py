"""What others ask of a release, in our own words.

The headings of ISO/IEC 27559:2022 are those of its public table of contents; what is said of an item does not
stand in for its text. The tiers are those of the OpenDP registry of deployments, the recommendations those of
the report on the Opal data of 2016 (Culnane, Rubinstein and Teague, 2017).

The cross-walk: what others ask of a release, what this assessment answers, what a person must still answer.

Answering an item is not compliance with it, and nothing here is a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisegate.assessment import LossSummary, short
from noisegate.report.page import Answer, AnsweredItem, Framework


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedItem:
    """One item as others ask it.

    Attributes
    ----------
    results
        Kinds of findings and checks that answer it.
    sections
        Sections of the report that answer it.
    facts
        Names of single facts of the assessment that answer it.
    person
        What a person must still answer.
    """

    name: str
    asks: str
    person: str
    results: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()


_CELLS = ("pinned-cells", "presence", "suppressed-cells", "missing-taps", "attack-score")
_LOSS = ("privacy-loss", "zeros-kept", "zeros")

ISO = (
    AskedItem(
        name="7.2 Data features",
        asks="Whose data it is, of what type, which attributes it has, and which properties of the set as a whole matter.",
        person="Who the people behind the events are, which of them are at special risk, and whether the set covers all of them or a sample.",
        results=("threshold", "summed-cells"),
        sections=("tables", "dropped"),
    ),
    AskedItem(
        name="7.3 Attack modelling",
        asks="Which attacks are thought of: the worst case or the average one, with which knowledge, under which model of privacy.",
        person="Who would try, with what to gain, and whether the worst case or the average one is the right measure here.",
        results=(*_LOSS, "coupled-cells", "vehicle-unique-cells", "inference"),
        sections=("who", "services"),
    ),
    AskedItem(
        name="8.2 Assessing identifiability",
        asks="How identifiable people are in figures, and what a test shows in which somebody really tries.",
        person="Which risk is acceptable for this disclosure, and whether the attacks tried here are the ones that matter.",
        results=(
            "unprotected",
            "known-exactly",
            "tables-together",
            "slivers",
            "noise-recovered",
            "no-noise",
            "coupled-cells",
            "independent-margins",
            *_CELLS,
            "vehicle-unique-cells",
            "microdata",
            "trajectories",
        ),
        sections=("cells", "services"),
    ),
    AskedItem(
        name="8.3.4 Re-evaluation",
        asks="That the assessment is made again after something was changed, and again as data and surroundings change.",
        person="When the next assessment is due, who makes it, and what happens if it fails. A pipeline can ask with --fail-on.",
        results=("more-weeks", "slivers", "card", "card-disagrees"),
        sections=("weeks",),
    ),
)

REGISTRY = (
    AskedItem(
        name="Tier 1: what it is",
        asks="Curator, intended use, description of the product, date of publication.",
        person="Curator, intended use and date of publication; who is accountable.",
        sections=("tables",),
    ),
    AskedItem(
        name="Tier 2: flavour of differential privacy",
        asks="Whether the guarantee is pure, approximate or of another kind.",
        person="Which guarantee was meant, and where it is stated to the public.",
        results=("zeros", "zeros-kept"),
        facts=("delta",),
    ),
    AskedItem(
        name="Tier 2: privacy unit and parameters",
        asks="What one unit of protection is (an event, a day of a person, a person), and the parameters of the loss.",
        person="Which unit was promised, if no card says so; how many events a person can add at most.",
        results=("privacy-loss",),
        facts=("unit", "epsilon"),
    ),
    AskedItem(
        name="Tier 2: deployment model",
        asks="Who holds the raw data and who adds the noise (central, local, something between).",
        person="All of it: tables alone do not show who added the noise.",
    ),
    AskedItem(
        name="Tier 3: data domain and unprotected quantities",
        asks="Which values are possible, and what is published without protection.",
        person="Whether the list of possible values was public before the data was seen, and what else was published from it.",
        results=("threshold",),
        sections=("tables", "dropped"),
    ),
    AskedItem(
        name="Tier 3: accounting",
        asks="How losses add up over tables and over time, and what is post-processing.",
        person="What else was released from the same events, and what the ledger says about it.",
        results=("independent-margins", "margins", "privacy-loss", "more-weeks"),
        sections=("weeks",),
    ),
    AskedItem(
        name="Tier 3: implementation and security",
        asks="How the noise is drawn and the raw data kept, with the reasons for the choices made.",
        person="Source of randomness, access to raw data, review of the code, and why these parameters.",
        results=(
            "card",
            "card-disagrees",
            "registry-disagrees",
            "hazards-disagrees",
            "crate-disagrees",
            "intruder-test-disagrees",
        ),
    ),
)

REPORT = (
    AskedItem(
        name="Decouple records of one trip",
        asks="No two published counts should record the same people, as at both ends of a closed ferry.",
        person="Whether analysts need both ends.",
        results=("coupled-cells", "close-series"),
    ),
    AskedItem(
        name="Publish method and parameters",
        asks="Say how counts were perturbed, totals included: it helps analysts, and it can be recovered anyway.",
        person="Publishing it.",
        results=(
            "noise-recovered",
            "noise-not-recovered",
            "stated-noise-disagrees",
            "card",
            "card-disagrees",
        ),
    ),
    AskedItem(
        name="Perturb zeros",
        asks="Empty cells should get noise like any other, or a published count proves presence.",
        person="Nothing, once the rule is stated on a card.",
        results=("zeros-kept", "zeros"),
    ),
    AskedItem(
        name="Derive totals from the protected table",
        asks="Tables by time and by place should follow from the protected one by both, not from raw data again.",
        person="Nothing, once the tables add up.",
        results=("independent-margins", "margins"),
    ),
    AskedItem(
        name="Weigh detection in realistic cases",
        asks="How likely it is that a person or a small group shows, before the release is judged safe.",
        person="Which cases are realistic, and who would be harmed.",
        results=("zeros-kept", "zeros", "presence"),
        sections=("who",),
    ),
    AskedItem(
        name="Look at the extremes of the timetable",
        asks="At night, bins hold one vehicle only, and aggregation stops protecting.",
        person="Whether to merge bins and places at those hours, at which cost to analysts.",
        results=("vehicle-unique-cells", "timetable", "closed-services"),
        sections=("services",),
    ),
    AskedItem(
        name="Suppressed values from differences",
        asks="Withheld counts must not follow from totals that are published.",
        person="How sharp is too sharp.",
        results=_CELLS,
        sections=("cells",),
    ),
    AskedItem(
        name="Count the rows removed correctly",
        asks="A stated share of dropped rows has to be possible.",
        person="What was meant, where a statement cannot be right.",
        results=("dropped-rows",),
        sections=("dropped",),
    ),
    AskedItem(
        name="Before more weeks are released",
        asks="How the risks grow with every further week.",
        person="How many weeks are worth it.",
        results=("more-weeks",),
        sections=("weeks",),
    ),
    AskedItem(
        name="No trip microdata by these means",
        asks="Linked trips of persons are not protected by noise on counts.",
        person="That nobody plans such a release.",
        results=("microdata", "trajectories"),
    ),
    AskedItem(
        name="Utility with suppression and aggregation",
        asks="Measure what analysts lose to every step, for the queries that the release was made for.",
        person="Which queries it was made for, and whether it should be made at all without any.",
        results=("utility",),
        sections=("utility",),
    ),
)


#: Said above the tables.
DISCLAIMER = (
    "Each row says what is asked, in our own words, what this assessment has to say to it, and what only a person can "
    "answer. It is no certificate, no legal advice, and no claim of conformity."
)


_FRAMEWORKS = (
    (
        "iso-27559",
        "ISO/IEC 27559, de-identification framework",
        "Headings 7.2, 7.3, 8.2 and 8.3.4. The standard itself is the only text that counts.",
        ISO,
    ),
    (
        "opendp-registry",
        "OpenDP registry of deployments",
        "Three tiers of openness, each asking for all of the one before.",
        REGISTRY,
    ),
    (
        "report-2017",
        "Recommendations of the 2017 report",
        "On the Opal data of 2016, by Culnane, Rubinstein and Teague.",
        REPORT,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where things stand on the page: the first finding of each kind, checks with their outcomes, sections."""

    findings: Mapping[str, str]
    checks: Mapping[str, tuple[str, frozenset[str]]]
    sections: Mapping[str, str]


def frameworks_of(
    privacy: LossSummary, places: Places, /, *, transport: bool = True
) -> tuple[Framework, ...]:
    """Every framework with what this assessment says to each of its items; what was asked of rides only if the tables are about them."""
    return tuple(
        Framework(
            anchor=anchor,
            title=title,
            note=note,
            items=tuple(_item(q, f"{anchor}-{n}", privacy, places) for n, q in enumerate(questions, 1)),
        )
        for anchor, title, note, questions in _FRAMEWORKS
        if transport or questions is not REPORT
    )


def _item(question: AskedItem, anchor: str, privacy: LossSummary, places: Places, /) -> AnsweredItem:
    found = {kind: places.findings[kind] for kind in question.results if kind in places.findings}
    looked = {kind: places.checks[kind] for kind in question.results if kind in places.checks}
    sections = [name for name in question.sections if name in places.sections]
    facts = [text for name in question.facts if (text := _fact(name, privacy))]
    answers = [Answer(text=f"Finding: {_words(kind)}", target=target) for kind, target in found.items()]
    answers += [
        Answer(text=f"Looked at: {_words(kind)}", target=target)
        for kind, (target, _) in looked.items()
        if kind not in found
    ]
    answers += [Answer(text=f"Section: {places.sections[name]}", target=name) for name in sections]
    answers += [Answer(text=text) for text in facts]
    outcomes = frozenset[str]().union(*(said for _, said in looked.values()))
    return AnsweredItem(
        anchor=anchor,
        name=question.name,
        asks=question.asks,
        status=_status(found=bool(found), outcomes=outcomes, other=bool(sections or facts)),
        answers=tuple(answers),
        person=question.person,
    )


def _words(kind: str, /) -> str:
    return kind.replace("-", " ")


def _status(*, found: bool, outcomes: frozenset[str], other: bool) -> str:
    """How far an item is answered: a finding says most, then what is in order or known, then a section."""
    if found:
        return "answered by a finding"
    if outcomes & {"fine", "known"}:
        return "looked at and in order" if "fine" in outcomes else "answered"
    if other:
        return "answered in part"
    return "these tables do not tell" if outcomes else "not looked at"


def _fact(name: str, privacy: LossSummary, /) -> str:
    delta, event, person = privacy.delta, privacy.event_epsilon, privacy.person_epsilon
    if name == "delta" and delta is not None:
        return "Pure: delta is 0." if delta == 0 else f"Approximate at best: delta is {short(delta)}."
    if name == "unit" and privacy.numbers.get("unit"):
        return f"The card names the unit: {privacy.numbers['unit']}."
    if name == "epsilon" and event is not None:
        return f"Epsilon {short(event)} for an event" + (
            "." if person is None else f", {short(person)} for a person."
        )
    return ""
