"""Many findings of one kind as two: the first, and one that lists the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisegate.assessment.finding import Finding
from noisegate.assessment.words import plural

#: So many findings of one kind and severity stand by themselves.
_BY_THEMSELVES = 3
#: So many of a group are named in its title, and stand among its evidence.
_NAMED, _SHOWN = 3, 20
#: What a group says, with the sums of what its members counted.
_SAID = {
    "known-exactly": "In {tables} {cells:,} of {hidden:,} counts are known exactly as well, by subtraction",
    "known-within-one": "In {tables} {cells:,} of {hidden:,} counts are known to within one as well, by subtraction",
    "surely-not-empty": "In {tables} {cells:,} of {hidden:,} counts surely hold somebody as well, by subtraction",
    "independent-margins": "{more} were published apart from their parts as well, and {complete_off:,} of {complete:,} rows do not add up",
    "noise-recovered": "The noise of {more} can be recovered as well",
    "privacy-loss": "The same holds of the privacy loss in {tables}",
    "tables-together": "In {tables} hidden counts are given away by tables together as well",
    "zeros-kept": "In {tables} empty cells stay empty as well",
}
_MEMBERS = {"independent-margins": "more total", "noise-recovered": "more table"}


def grouped(findings: Sequence[tuple[str, Finding]], /) -> tuple[Finding, ...]:
    """The findings, each with the name of the tables that it is about; of many of one kind and severity the first, and one for the rest.

    The rest is whole in the numbers of its group, under `members`.
    """
    kinds: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    for name, one in findings:
        kinds.setdefault((one.id, one.severity), []).append((name, one))
    found: list[Finding] = []
    for several in kinds.values():
        if len(several) <= _BY_THEMSELVES:
            found += [one for _, one in several]
        else:
            found += [several[0][1], _group(several[1:], several[0][1])]
    order = {id(one): place for place, (_, one) in enumerate(findings)}
    # A group stands right after the finding that it goes on.
    places, last = [], 0.0
    for one in found:
        last = float(order[id(one)]) if id(one) in order else last + 0.5
        places.append(last)
    return tuple(one for _, one in sorted(zip(places, found, strict=True), key=lambda both: both[0]))


def _group(several: Sequence[tuple[str, Finding]], first: Finding, /) -> Finding:
    names = list(dict.fromkeys(name for name, _ in several))
    sums: dict[str, Any] = {}
    for _, one in several:
        for key, value in one.numbers.items():
            if isinstance(value, int) and not isinstance(value, bool):
                sums[key] = sums.get(key, 0) + value
    rest = [one.title for _, one in several[_SHOWN:]]
    left = [f"{len(rest):,} more are in assessment.json"] if rest else []
    return Finding(
        id=first.id,
        severity=first.severity,
        title=f"{_said(first, len(several), names, sums)} ({_listed(names)})",
        numbers={
            "findings": len(several),
            "tables": names,
            **{key: sums[key] for key in ("cells", "hidden", "complete", "complete_off") if key in sums},
            "members": [{"about": name, **one.to_json()} for name, one in several],
        },
        baseline={},
        evidence=[*(one.title for _, one in several[:_SHOWN]), *left],
        assumptions=tuple(dict.fromkeys(line for _, one in several[:_SHOWN] for line in one.assumptions)),
        advice=first.advice,
    )


def _said(first: Finding, many: int, names: Sequence[str], sums: dict[str, Any], /) -> str:
    more = plural(many, _MEMBERS.get(first.id, "more finding"))
    tables = plural(len(names), "more table")
    pattern = _SAID.get(first.id, "The same is found {more_times}: {kind}")
    kind = first.id.replace("-", " ")
    try:
        return pattern.format(more=more, tables=tables, more_times=f"{many:,} more times", kind=kind, **sums)
    except KeyError:
        return f"The same is found {many:,} more times: {kind}"


def _listed(names: Sequence[str], /) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
