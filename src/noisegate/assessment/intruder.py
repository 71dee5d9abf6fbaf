"""The protocol of a motivated-intruder test: who was assumed, what was tried on which files, and what came of it.

The test is that of the guidance of the Information Commissioner's Office on anonymisation ("How do we ensure anonymisation is
effective?", 2025), in our own words: somebody who wants to find people out, is competent, uses what is public, and has neither inside
knowledge nor special equipment. Here a program stands in for them. An assessment writes the protocol; where one lies beside tables
that are assessed, it is held against what is found now.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from noisegate.assessment.assessment import Assessment
from noisegate.assessment.finding import SEVERITIES, Check, Finding
from noisegate.assessment.judgement import INQUIRIES
from noisegate.assessment.words import plain
from noisegate.errors import DataError
from noisegate.places import MARK, MARK_KEY, read_json
from noisegate.tables import NOT_STATED, PROTOCOL, Agreement, Card, same

GUIDANCE: Final = (
    "Information Commissioner's Office, guidance on anonymisation, 'How do we ensure anonymisation is effective?', March 2025, "
    "https://ico.org.uk/for-organisations/uk-gdpr-guidance-and-resources/data-sharing/anonymisation/how-do-we-ensure-anonymisation-is-effective"
)
_NOTE: Final = (
    "A program stood in for the intruder: it tried what is listed here and nothing else. It interviewed nobody, searched no register and "
    "no social network. This is no certificate and no claim of conformity; what was not tried is not safe for that."
)
_ASSUMED: Final = (
    "knows nobody in the data beforehand, unless a finding says what is known",
    "is competent, patient, and has this program",
    "reads what is public: the tables, their card, and the further sources that are listed",
    "has no inside knowledge, breaks into nothing and breaks no law",
)
#: What the mathematics rests on, by the names of their packages.
_LIBRARIES: Final = ("numpy", "scipy", "numba", "highspy", "arro3-core", "duckdb")
_MOST: Final = 16 << 20
#: Clocks differ.
_AHEAD: Final = timedelta(days=1)


def protocol_of(assessment: Assessment, /) -> dict[str, Any]:
    """The protocol of the test that an assessment is, dated and repeatable; what only people know is left for them to say."""
    origin = assessment.provenance
    content: dict[str, Any] = plain(
        {
            "test": "motivated intruder",
            "guidance": GUIDANCE,
            "note": _NOTE,
            MARK_KEY: assessment.custodian_only,
            "notice": f"{MARK}: not private, not to be published" if assessment.custodian_only else None,
            "made": None if origin is None else origin.made,
            "software": {
                "name": "noisegate",
                "version": metadata.version("noisegate"),
                "python": platform.python_version(),
                "libraries": {name: metadata.version(name) for name in _LIBRARIES},
            },
            "people": {"tested_by": NOT_STATED, "reviewed_by": NOT_STATED, "test_again_on": NOT_STATED},
            "intruder_assumed": list(_ASSUMED),
            "sources": _sources(assessment),
            "repeat_with": None if origin is None else origin.command or None,
            "tried": _tried(assessment),
            "not_tried": _not_tried(assessment),
            "results": {
                "findings": [
                    {"id": one.id, "severity": one.severity, "title": one.title}
                    for one in assessment.findings
                ],
                "privacy": assessment.privacy.to_json(),
            },
        }
    )
    return {**content, "sha256_of_the_rest": _digest(content)}


def with_protocol(assessment: Assessment, folder: Path | None, card: Card | None, /) -> Assessment:
    """The assessment with what it finds about a protocol that lies beside the tables; as it is if there is none."""
    if folder is None or not (folder / PROTOCOL).exists():
        return assessment
    try:
        good, bad = protocol_against(
            read_json(folder / PROTOCOL, most=_MOST, what="the protocol of the test"), assessment, card
        )
    except DataError as problem:
        good, bad = [], [str(problem)]
    numbers = {"record": PROTOCOL}
    if not bad:
        title = f"the protocol of a motivated-intruder test agrees with this assessment in {len(good)} points"
        check = Check(id="intruder-test", outcome="fine", title=title, numbers=numbers, evidence=good)
        return replace(assessment, checks=(*assessment.checks, check))
    finding = Finding(
        id="intruder-test-disagrees",
        severity="high",
        title=f"The protocol of a motivated-intruder test is not what this assessment finds: {bad[0]}",
        numbers={**numbers, "disagreements": len(bad)},
        evidence=bad,
        advice="Make the test again, with 'noisegate assess --out', and put the new protocol in place of this one.",
    )
    return replace(assessment, findings=(*assessment.findings, finding))


def protocol_against(protocol: Mapping[str, Any], assessment: Assessment, card: Card | None, /) -> Agreement:
    """In which points a protocol says what an assessment finds; findings that only other options bring are passed over."""
    found = Agreement([], [])

    def say(point: str, problem: str) -> None:
        if problem:
            found.bad.append(f"{point}: {problem}")
        else:
            found.good.append(point)

    stated = protocol.get("sha256_of_the_rest")
    rest = {name: value for name, value in protocol.items() if name != "sha256_of_the_rest"}
    say("its own digest", "" if stated == _digest(rest) else "it was changed after it was written")
    say("its date", _date_problem(protocol.get("made"), card))
    say("who may read it", "it is for the custodian only" if protocol.get(MARK_KEY) else "")
    say("its files", _files_problem(protocol, assessment))
    results = protocol.get("results")
    told = results if isinstance(results, Mapping) else {}
    for name, mine in (
        ("event_epsilon", assessment.privacy.event_epsilon),
        ("delta", assessment.privacy.delta),
    ):
        privacy = told.get("privacy")
        theirs = privacy.get(name) if isinstance(privacy, Mapping) else None
        say(
            name.replace("_", " "),
            "" if same(theirs, plain(mine)) else f"it says {theirs}, this assessment {mine}",
        )
    listed = _severities(told.get("findings"))
    for one in assessment.findings:
        theirs = listed.get(one.id, -1)
        least = SEVERITIES.index(one.severity)
        words = "it does not list it" if theirs < 0 else f"it says {SEVERITIES[theirs]}"
        say(f"finding {one.id}", "" if theirs >= least else f"{words}, this assessment {one.severity}")
    return found


def _digest(content: Mapping[str, Any], /) -> str:
    """Of everything but what people complete."""
    rest = {name: value for name, value in content.items() if name != "people"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _sources(assessment: Assessment, /) -> dict[str, Any]:
    files = () if assessment.provenance is None else assessment.provenance.files
    further = {
        "timetable": assessment.vehicles is not None,
        "other releases": bool(assessment.slivers),
        "raw data, to score the attack": assessment.score is not None or assessment.microdata is not None,
    }
    return {
        "files": [{"name": one.name, "bytes": one.octets, "sha256": one.sha256} for one in files],
        "further": [name for name, used in further.items() if used],
    }


def _kinds(inquiry: Any, /) -> tuple[str, tuple[str, ...]]:
    return inquiry.__name__.rpartition(".")[2].replace("_", " "), tuple(inquiry.WORDS)


def _tried(assessment: Assessment, /) -> list[dict[str, Any]]:
    """Each question with what came of it, most severe first."""
    entries = []
    for name, kinds in map(_kinds, INQUIRIES):
        came = [one for one in assessment.results if one.id in kinds]
        entries += [
            {
                "attack": name,
                "result": one.id,
                "outcome": f"finding, {one.severity}" if isinstance(one, Finding) else one.outcome,
                "says": one.title,
            }
            for one in came
        ]
    return entries


def _not_tried(assessment: Assessment, /) -> dict[str, str]:
    known = {one.id for one in assessment.results}
    silent = {
        name: "these tables do not call for it, or it needs a source or an option that was not given"
        for name, kinds in map(_kinds, INQUIRIES)
        if known.isdisjoint(kinds)
    }
    return {**silent, **assessment.not_examined}


def _date_problem(made: object, card: Card | None, /) -> str:
    try:
        at = datetime.fromisoformat(str(made))
    except ValueError:
        return f"{str(made)[:60]!r} is no date"
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    if at > datetime.now(UTC) + _AHEAD:
        return "it is in the future"
    if (
        card is not None
        and card.published is not None
        and at.astimezone(UTC).date().isoformat() < card.published
    ):
        return f"it is before the release, which was made on {card.published}"
    return ""


def _files_problem(protocol: Mapping[str, Any], assessment: Assessment, /) -> str:
    sources = protocol.get("sources")
    listed = sources.get("files") if isinstance(sources, Mapping) else None
    named = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    digests = {str(one.get("name")): one.get("sha256") for one in named}
    files = () if assessment.provenance is None else assessment.provenance.files
    common = [one for one in files if one.name in digests]
    if not common:
        return "it is about other files"
    other = [one.name for one in common if digests[one.name] != one.sha256]
    return f"{other[0]} is not the file that was tested" if other else ""


def _severities(listed: object, /) -> dict[str, int]:
    """The worst severity that a protocol states of each kind."""
    found: dict[str, int] = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, Mapping) and one.get("severity") in SEVERITIES:
            kind = str(one.get("id"))
            found[kind] = max(found.get(kind, -1), SEVERITIES.index(one["severity"]))
    return found
