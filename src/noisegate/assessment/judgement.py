"""From facts to an assessment: every question that is asked of a release, in turn."""

from __future__ import annotations

from noisegate.assessment import (
    card,
    cells,
    claims,
    couplings,
    dropped,
    exposure,
    known_counts,
    loss,
    margins,
    microdata,
    missing_taps,
    noise,
    protection,
    score,
    slivers,
    thresholds,
    timetable,
    together,
    trajectories,
    usefulness,
    weeks,
    zeros,
)
from noisegate.assessment import evidence as summed
from noisegate.assessment import services as closed
from noisegate.assessment.assessment import AssessedTable, Assessment
from noisegate.assessment.facts import Facts
from noisegate.assessment.finding import Check, Finding
from noisegate.assessment.inquiry import Exhibit, Figure, Inquiry, Words
from noisegate.reading import summarise

#: The questions in the order in which they are asked.
INQUIRIES: tuple[Inquiry, ...] = (
    protection,
    known_counts,
    together,
    thresholds,
    noise,
    summed,
    couplings,
    margins,
    slivers,
    card,
    zeros,
    loss,
    cells,
    score,
    usefulness,
    timetable,
    exposure,
    missing_taps,
    closed,
    dropped,
    claims,
    weeks,
    microdata,
    trajectories,
)

#: What is said of a kind of finding that no question has words for.
_GENERAL = "Worked out from the published tables alone; the evidence and the numbers say how far it carries."


def judge(facts: Facts, /) -> Assessment:
    """The assessment that follows from the facts."""
    results = [one for inquiry in INQUIRIES for one in inquiry.ask(facts)]
    return Assessment(
        tables=tuple(
            AssessedTable(
                summary=summary,
                noise=facts.noise[summary.name],
                recognition=facts.recognised.get(summary.name),
            )
            for summary in summarise(facts.structure)
        ),
        findings=tuple(one for one in results if isinstance(one, Finding)),
        checks=tuple(one for one in results if isinstance(one, Check)),
        privacy=facts.privacy,
        zeros=facts.zeros,
        level=facts.request.level,
        structure=facts.structure,
        couplings=facts.couplings,
        pieces=facts.pieces,
        inference=facts.inference,
        known_counts=facts.known_counts,
        score=facts.score,
        useful=facts.useful,
        answered=facts.answered,
        vehicles=facts.vehicles,
        dropped=facts.dropped,
        claims=facts.claims,
        weeks=facts.weeks,
        microdata=facts.microdata,
        slivers=facts.slivers,
        table_sets=facts.table_sets,
        movement=facts.movement,
    )


def exhibits_of(assessment: Assessment, /) -> tuple[Exhibit, ...]:
    """What every question has to show, in the order in which they are asked."""
    return tuple(shown for one in INQUIRIES if (shown := one.show(assessment)) is not None)


def figures_of(assessment: Assessment, /) -> dict[str, Figure]:
    """Every figure of an assessment as plain data, by its name."""
    return {figure.key: figure for shown in exhibits_of(assessment) for figure in shown.figures}


def words_of(kind: str, title: str, /) -> Words:
    """The words of a kind of finding; its own title if nobody wrote any."""
    for one in INQUIRIES:
        if kind in one.WORDS:
            return one.WORDS[kind]
    sentence = title.rstrip(".") + "."
    return Words(says=sentence, meaning=sentence, method=_GENERAL)
