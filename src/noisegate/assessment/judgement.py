"""From facts to an assessment: every question that is asked of a release, in turn."""

from __future__ import annotations

from dataclasses import replace

from noisegate.assessment.assessment import AssessedTable, Assessment
from noisegate.assessment.evidence import AttackEvidence, consistent_tables
from noisegate.assessment.facts import Facts, Progress
from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.findings.card import about_card
from noisegate.assessment.findings.cells import about_cells, about_no_inference, about_score
from noisegate.assessment.findings.couplings import about_couplings
from noisegate.assessment.findings.loss import about_loss
from noisegate.assessment.findings.margins import about_margins
from noisegate.assessment.findings.noise import about_noise
from noisegate.assessment.findings.thresholds import about_thresholds
from noisegate.assessment.findings.usefulness import about_usefulness
from noisegate.assessment.findings.zeros import about_zeros
from noisegate.assessment.inference import Inference, infer_cells
from noisegate.assessment.loss import Privacy, privacy_of
from noisegate.assessment.outside import Look, Sections
from noisegate.assessment.request import Request
from noisegate.assessment.score import score
from noisegate.errors import DataError
from noisegate.reading.summary import summarise
from noisegate.recovery.card import Card
from noisegate.recovery.makers import Makers
from noisegate.recovery.margin_rows import perturbed_apart
from noisegate.recovery.zeros import ZeroRule
from noisegate.tables.table import Table
from noisegate.workload.answered import Answered, answer_questions
from noisegate.workload.frame import WorkloadSource, find_workload
from noisegate.workload.raw import merged_truth
from noisegate.workload.truth_file import Truth, TruthFile
from noisegate.workload.usefulness import Usefulness, usefulness


def judge(facts: Facts, request: Request, report: Progress, /) -> Assessment:
    """The assessment that follows from the facts."""
    tables = facts.structure.tables
    results: list[Result] = []
    for cells in tables:
        results += about_thresholds(cells)
    for cells in tables:
        results += about_noise(
            facts.noise[cells.name], facts.card.of(cells) if facts.card is not None else None
        )
    results += _about_pieces(facts)
    results += about_couplings(facts.couplings, facts.search, facts.noise, pieces=facts.pieces)
    for one in facts.rows:
        results += about_margins(one)
    agreement = about_card(facts.card, tables, facts.noise, facts.zeros)
    results += agreement
    card = None if any(isinstance(one, Finding) for one in agreement) else facts.card
    zeros = facts.zeros.or_as_stated(card)
    privacy = _privacy(facts, zeros, card)
    results += about_zeros(zeros, privacy)
    results += about_loss(privacy, card)
    inference, found = _infer(facts, request, zeros, card, report)
    results += found
    asked = find_workload(card, request.workload)
    truth = _truth(facts, request, asked, report)
    scored = score(inference, truth, report=report) if inference is not None and truth is not None else None
    results += about_score(scored)
    useful, answered = _ask(facts, request, truth, asked, report)
    results += about_usefulness(useful)
    makers = _makers(facts, request, zeros, card)
    sections = _look_outside(facts, request, makers, privacy, inference, report)
    results += sections.results
    return Assessment(
        tables=tuple(
            AssessedTable(summary=summary, noise=facts.noise[summary.name])
            for summary in summarise(facts.structure)
        ),
        findings=tuple(one for one in results if isinstance(one, Finding)),
        checks=tuple(one for one in results if isinstance(one, Check)),
        privacy=privacy,
        level=request.level,
        structure=facts.structure,
        couplings=facts.couplings,
        pieces=facts.pieces,
        inference=inference,
        score=scored,
        useful=useful,
        answered=answered,
        sections=sections,
    )


def _infer(
    facts: Facts, request: Request, zeros: ZeroRule, card: Card | None, report: Progress, /
) -> tuple[Inference | None, list[Result]]:
    """The posterior of every cell of the base, or why there is none."""
    if request.attacker is None:
        return None, []
    if facts.pieces is not None:
        return None, about_no_inference(
            "not inferred, because the cells of the base are sums of counts that were cut one by one"
        )
    makers = replace(_makers(facts, request, zeros, card), consistent=consistent_tables(facts.rows))
    zero = facts.linked.structural_zero()
    evidence = AttackEvidence.of(facts.structure, facts.rows, makers, couplings=facts.couplings, zero=zero)
    if evidence is None:
        return None, about_no_inference(
            "not inferred, because the noise is not known; state it with --noise, such as --noise laplace:1.4"
        )
    try:
        inference = infer_cells(evidence, attacker=request.attacker, level=request.level, report=report)
    except DataError as problem:
        return None, about_no_inference(f"not inferred: {problem}")
    return inference, about_cells(inference)


def _makers(facts: Facts, request: Request, zeros: ZeroRule, card: Card | None, /) -> Makers:
    return Makers(noise=facts.noise, card=card, stated=request.noise, zeros=zeros.rule)


def _look_outside(
    facts: Facts,
    request: Request,
    makers: Makers,
    privacy: Privacy,
    inference: Inference | None,
    report: Progress,
    /,
) -> Sections:
    """What follows from timetables, claims, more weeks and raw trips."""
    base = facts.structure.base
    look = Look(
        structure=facts.structure,
        rows=facts.rows,
        makers=makers,
        privacy=privacy,
        card=makers.card,
        level=request.level,
        totals={} if inference is None else inference.totals,
        truth=_raw_file(request, base),
        report=report,
    )
    return look.at(request.outside, facts.linked)


def _raw_file(request: Request, base: Table, /) -> TruthFile | None:
    """The raw data, if they are given."""
    if request.truth is None:
        return None
    return TruthFile.open(request.truth, base, person=request.person, spec=request.workload)


def _truth(facts: Facts, request: Request, asked: WorkloadSource | None, report: Progress, /) -> Truth | None:
    """The raw count of every cell, if it is given."""
    base = facts.structure.base
    file = _raw_file(request, base)
    if file is None:
        return None
    report("counting raw events")
    merged = None if asked is None else merged_truth(asked, facts.structure, file)
    return file.count_cells(base) if merged is None else merged


def _ask(
    facts: Facts,
    request: Request,
    truth: Truth | None,
    asked: WorkloadSource | None,
    report: Progress,
    /,
) -> tuple[Usefulness | None, Answered | None]:
    """The questions of the workload: against the raw data if they are given, else from the release alone."""
    if truth is not None:
        report("measuring the workload")
        return usefulness(facts.structure, truth, asked=asked), None
    if asked is None:
        return None, None
    return None, answer_questions(asked, level=request.level, report=report)


def _about_pieces(facts: Facts, /) -> list[Result]:
    pieces = facts.pieces
    if pieces is None:
        return []
    name = facts.structure.base.name
    if pieces.number is None:
        title = f"{name}: its cells are sums of counts that were cut one by one, nobody says how many"
    else:
        title = f"{name}: its cells are sums of up to {pieces.number} counts of {pieces.minutes} min"
    said = [pieces.evidence]
    fit = facts.noise[name].fit
    if pieces.number is not None:
        said.append(f"Assumed: {pieces.assumption}.")
    if pieces.number is not None and fit is not None:
        said.append(
            f"If each cell held one noise only, the scale would be about {fit.scale * pieces.number**0.5:.2g}."
        )
    return [
        Check(
            id="summed-cells",
            outcome="known",
            title=title,
            numbers={"pieces": pieces.number, "minutes": pieces.minutes, "cut": pieces.cut},
            evidence=said,
        )
    ]


def _privacy(facts: Facts, zeros: ZeroRule, card: Card | None, /) -> Privacy:
    """The loss, over all tables but those that are sums of published ones; the card's, if it can be relied on."""
    sums = {one.link.margin.name for one in facts.rows if perturbed_apart(one) is False}
    counted = [cells for cells in facts.structure.tables if cells.name not in sums]
    return privacy_of(counted, facts.noise, zeros=zeros.rule, card=card)
