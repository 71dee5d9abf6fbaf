"""The cross-walk: what others ask of a release, what this assessment answers, what a person must still answer.

Answering an item is not compliance with it, and nothing here is a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisegate.report.page import Answer, Framework, Item
from noisegate.report.questions import ISO, REGISTRY, REPORT, Question
from noisegate.report.source import Source
from noisegate.report.words import short

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


def frameworks_of(source: Source, places: Places, /) -> tuple[Framework, ...]:
    """Every framework with what this assessment says to each of its items."""
    return tuple(
        Framework(
            anchor=anchor,
            title=title,
            note=note,
            items=tuple(_item(q, f"{anchor}-{n}", source, places) for n, q in enumerate(questions, 1)),
        )
        for anchor, title, note, questions in _FRAMEWORKS
    )


def _item(question: Question, anchor: str, source: Source, places: Places, /) -> Item:
    found = {kind: places.findings[kind] for kind in question.results if kind in places.findings}
    looked = {kind: places.checks[kind] for kind in question.results if kind in places.checks}
    sections = [name for name in question.sections if name in places.sections]
    facts = [text for name in question.facts if (text := _fact(name, source))]
    answers = [Answer(text=f"Finding: {_words(kind)}", target=target) for kind, target in found.items()]
    answers += [
        Answer(text=f"Looked at: {_words(kind)}", target=target)
        for kind, (target, _) in looked.items()
        if kind not in found
    ]
    answers += [Answer(text=f"Section: {places.sections[name]}", target=name) for name in sections]
    answers += [Answer(text=text) for text in facts]
    outcomes = frozenset[str]().union(*(said for _, said in looked.values()))
    return Item(
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


def _fact(name: str, source: Source, /) -> str:
    privacy = source.privacy
    if name == "delta" and isinstance(privacy.get("delta"), int | float):
        delta = float(privacy["delta"])
        return "Pure: delta is 0." if delta == 0 else f"Approximate at best: delta is {short(delta)}."
    if name == "unit" and privacy.get("unit"):
        return f"The card names the unit: {privacy['unit']}."
    if name == "epsilon" and isinstance(privacy.get("event_epsilon"), int | float):
        said = f"Epsilon {short(float(privacy['event_epsilon']))} for an event"
        person = privacy.get("person_epsilon")
        return said + (f", {short(float(person))} for a person." if isinstance(person, int | float) else ".")
    return ""
