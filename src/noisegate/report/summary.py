"""What a decision-maker takes away: the verdict, five numbers, what to do; and the words of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice

from noisegate.assessment import (
    Assessment,
    LossSummary,
    chance,
    ends,
    interval,
    percent,
    plural,
    short,
    words_of,
)
from noisegate.report.page import Standing, Step, Tile, Verdict

#: As many as people remember.
_MANY = 5


def tiles_of(assessment: Assessment, /) -> tuple[Tile, ...]:
    """At most five numbers, what matters to persons first."""
    known = (tile for find in _FINDERS if (tile := find(assessment)) is not None)
    return tuple(islice(known, _MANY))


def _person(assessment: Assessment, /) -> Tile | None:
    privacy = assessment.privacy
    if privacy.unbounded:
        return Tile(value="no bound", label="privacy loss of one person", note=_why_none(privacy))
    if privacy.person_epsilon is None:
        return None
    events = privacy.numbers.get("person_events")
    whose = "one person" if events is None else f"a person with {events} events"
    return Tile(
        value=f"ε = {short(privacy.person_epsilon)}",
        label=f"privacy loss of {whose}",
        note="as the card states" if privacy.source == "card" else _on_condition(privacy),
    )


def _on_condition(privacy: LossSummary, /) -> str:
    """What a recovered epsilon rests on."""
    condition = privacy.numbers.get("condition")
    if condition is None:
        return "from the recovered noise; 1 is strong, 10 is little"
    law, upto = condition["law"].capitalize(), condition["excluded_up_to"]
    return f"if the noise is {law}; within ±{upto} is excluded. 1 is strong, 10 is little"


def _why_none(privacy: LossSummary, /) -> str:
    """Why there is no epsilon, in a few words."""
    laws = set(privacy.numbers["laws"].values())
    if "none" in laws:
        return "there is no noise"
    if privacy.numbers.get("doubt"):
        return "noise with a bound is not excluded, and has none"
    if privacy.numbers.get("grows"):
        return "the noise depends on the count"
    rounded = laws & {"nearest-rounding", "random-rounding", "rounding", "graded-rounding"}
    return "values are rounded" if rounded else "the noise has a largest value"


def _shows(assessment: Assessment, /) -> Tile | None:
    delta, if_kept = assessment.privacy.delta, assessment.privacy.numbers.get("delta_if_zeros_kept")
    if delta is not None:
        return Tile(
            value=chance(delta),
            label="chance that one event proves somebody's presence",
            note="per event, in a cell that would otherwise be empty",
        )
    if if_kept is not None:
        return Tile(
            value=chance(if_kept),
            label="chance that one event proves somebody's presence",
            note="if empty cells stay empty, which these tables do not decide",
        )
    return None


def _scale(assessment: Assessment, /) -> Tile | None:
    for table in assessment.tables:
        fit = table.noise.fit
        made = table.recognition
        if made is not None and made.kind == "bounded" and made.noise_sd is not None:
            return Tile(
                value=short(made.noise_sd),
                label=f"standard deviation of the noise in {table.summary.name}, recovered from the tables",
                note=f"never more than {made.bound} either way; {plural(made.n, 'identity', 'identities')}",
            )
        if fit is not None and fit.law != "none":
            return Tile(
                value=short(fit.scale),
                label=f"scale of the noise in {table.summary.name}, recovered from the tables",
                note=f"{fit.level:.0%}: {interval(fit.interval)}; {plural(fit.n, 'identity', 'identities')}",
            )
    return None


def _present(assessment: Assessment, /) -> Tile | None:
    found = assessment.finding("presence")
    if found is None:
        return None
    numbers = found.numbers
    return Tile(
        value=f"{numbers['present']:,}",
        label="suppressed cells shown to hold somebody",
        note=f"of {numbers['suppressed']:,}, with more than {numbers['probability']:.0%}",
    )


def _exact(assessment: Assessment, /) -> Tile | None:
    found = assessment.finding("known-exactly")
    if found is None:
        return None
    condition = ", if the shown ones are exact" if found.assumptions else ""
    every = assessment.numbers("known-exactly")
    return Tile(
        value=f"{sum(one['cells'] for one in every):,}",
        label=f"{found.numbers.get('how', 'hidden or rounded')} counts that are known exactly{condition}",
        note=f"of {sum(one['hidden'] for one in every):,}; none from each cell by itself",
    )


def _alone(assessment: Assessment, /) -> Tile | None:
    found = assessment.finding("vehicle-unique-cells")
    if found is None:
        return None
    return Tile(
        value=f"{found.numbers['published_one_vehicle']:,}",
        label="published cells that belong to one vehicle",
        note=f"of {found.numbers['published']:,} published",
    )


def _twice(assessment: Assessment, /) -> Tile | None:
    found = assessment.finding("coupled-cells")
    if found is None:
        return None
    pairs = found.numbers["pairs"]
    return Tile(value=f"{pairs:,}", label="raw counts published twice", note="by two ends of one service")


def _dropped(assessment: Assessment, /) -> Tile | None:
    whole = assessment.dropped.trips(assessment.structure.base, {})
    if whole is None or not assessment.base.suppressed:
        return None
    return Tile(
        value=percent(whole.share),
        label="of all events are in cells that were dropped",
        note=f"{whole.level:.0%}: {ends(list(whole.interval))}",
    )


def _published(assessment: Assessment, /) -> Tile | None:
    base = assessment.base
    if not base.domain_size:
        return None
    return Tile(
        value=percent(base.rows / base.domain_size),
        label=f"of the possible cells of {base.name} are published",
        note=f"{base.rows:,} of {base.domain_size:,}",
    )


def _threshold(assessment: Assessment, /) -> Tile | None:
    base = assessment.base
    if base.threshold.value is None:
        return None
    return Tile(
        value=short(base.threshold.value),
        label=f"least count above 0 that {base.name} shows",
        note=f"{percent(round(base.threshold.sure, 6))} sure",
    )


def _tables(assessment: Assessment, /) -> Tile:
    rows = sum(table.summary.rows for table in assessment.tables)
    return Tile(value=f"{rows:,}", label=f"published counts in {plural(len(assessment.tables), 'table')}")


_FINDERS: tuple[Callable[[Assessment], Tile | None], ...] = (
    _person,
    _shows,
    _scale,
    _exact,
    _present,
    _alone,
    _twice,
    _dropped,
    _published,
    _threshold,
    _tables,
)

_HEADLINES: dict[Standing, str] = {
    "high": "This release gives away more than it seems to.",
    "medium": "This release has weaknesses that can be used.",
    "low": "No serious weakness was found.",
    "open": "No weakness was found, but these tables leave questions open.",
}
#: So many reasons are given with the verdict.
_NAMED = 4


def verdict_of(assessment: Assessment, anchors: Mapping[int, str], /) -> Verdict:
    """The verdict: as severe as the most severe finding; open if there is none and something cannot be told.

    `anchors` gives the place of each finding on the page, by its number.
    """
    severities = Counter[str](one.severity for one in assessment.findings)
    outcomes = Counter[str](one.outcome for one in assessment.checks)
    standing: Standing = "low"
    if severities["high"] or severities["medium"]:
        standing = "high" if severities["high"] else "medium"
    elif assessment.unrecognised or (not assessment.findings and outcomes["cannot tell"]):
        standing = "open"
    reasons: dict[str, str] = {}
    for place, one in enumerate(assessment.findings):
        reasons.setdefault(words_of(one.id, one.title).meaning, anchors[place])
    return Verdict(
        standing=standing,
        headline=_headline(standing, assessment),
        reasons=tuple(reasons.items())[:_NAMED],
        tally=_tally(severities, outcomes),
        gaps=_gaps(assessment),
    )


def _gaps(assessment: Assessment, /) -> tuple[str, ...]:
    """What was not examined and why; totals of recognised tables, of which nothing tells how they were made, in one."""
    roots = {table.summary.name for table in assessment.tables if table.summary.link is None}
    gone = assessment.not_examined
    margins = [name for name in gone if name in assessment.unrecognised and name not in roots]
    found = [f"{name}: {why}" for name, why in gone.items() if name not in margins]
    if len(margins) > 1:
        found.append(
            f"{len(margins)} margins: too few of their sums can be checked to tell how they were made"
        )
    else:
        found += [f"{name}: {gone[name]}" for name in margins]
    return tuple(found)


def _headline(standing: Standing, assessment: Assessment, /) -> str:
    """The verdict in a sentence; where no protection was recognised it says that, and why."""
    if standing == "low" and any(one.id == "unprotected" for one in assessment.findings):
        return "Nothing protects these tables that can be seen."
    if standing != "open" or not assessment.unrecognised:
        return _HEADLINES[standing]
    name, why = next(iter(assessment.unrecognised.items()))
    more = len(assessment.unrecognised) - 1
    others = f" and {plural(more, 'other table')}" if more else ""
    return f"No protection was recognised in {name}{others}, so nothing is said about safety: {why}."


def _tally(severities: Counter[str], outcomes: Counter[str], /) -> str:
    counted = ", ".join(f"{severities[s]} {s}" for s in ("high", "medium", "low") if severities[s])
    parts = [plural(sum(severities.values()), "finding") + (f" ({counted})" if counted else "")]
    if outcomes["fine"]:
        parts.append(f"{plural(outcomes['fine'], 'point')} in order")
    if outcomes["cannot tell"]:
        parts.append(f"{plural(outcomes['cannot tell'], 'question')} that these tables do not decide")
    return "; ".join(parts) + "."


def steps_of(assessment: Assessment, anchors: Mapping[int, str], /) -> tuple[Step, ...]:
    """What to do: each advice once, in the order of the most severe finding that asks for it, with the first finding of each kind.

    `anchors` gives the place of each finding on the page, by its number.
    """
    asked: dict[str, dict[str, str]] = {}
    for place, one in enumerate(assessment.findings):
        if one.advice:
            asked.setdefault(one.advice, {}).setdefault(one.id.replace("-", " "), anchors[place])
    return tuple(Step(text=text, findings=tuple(who.items())) for text, who in asked.items())


def glossary_of(assessment: Assessment, /) -> tuple[tuple[str, str], ...]:
    """The words of the report; examples are about rides only where the tables are."""
    return (*(_OF_RIDES if assessment.about_transport else _OF_ANYTHING), *_GLOSSARY)


_OF_RIDES = (
    ("event, person", "One raw record (a tap), and whoever is behind many of them (a card)."),
    (
        "identity",
        "An equation that holds among raw counts: a total is the sum of its parts, those who board a ferry without stops leave it.",
    ),
)
_OF_ANYTHING = (
    ("event, person", "One raw record, and whoever is behind one or many of them."),
    ("identity", "An equation that holds among raw counts: a total is the sum of its parts."),
)
_GLOSSARY: tuple[tuple[str, str], ...] = (
    (
        "cell, table, base, margin",
        "A cell is one combination of dimensions, a table counts over some of them. The base is the finest table, a margin a coarser one.",
    ),
    ("suppressed", "Not published because the value was too small. It is not the same as empty."),
    ("scale", "How wide the noise is. Laplace noise of scale b is off by b on average."),
    (
        "epsilon (ε)",
        "How much one event or person can change what is published: by a factor of e to the epsilon at most. Smaller is more private.",
    ),
    ("delta (δ)", "The chance that this promise does not hold. With 0, it always does."),
    ("interval", "The raw value lies inside with the stated probability, if the assumptions listed hold."),
    (
        "severity",
        "Low: worth knowing. Medium: weakens the protection. High: the protection is not what it seems.",
    ),
)
